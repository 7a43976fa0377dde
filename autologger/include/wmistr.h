/* wmistr.h - WNODE_HEADER and the requests to a classic provider's callback, with the SDK's names. */
#include "autologger_classic.h"
