/* wmistr.h - WNODE_HEADER and what a classic provider's callback is asked for, with the SDK's names. */
#include "autologger_classic.h"
