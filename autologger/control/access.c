#include "autologger/control/access.h"

#include <unistd.h>

bool access_may_control(uint32_t uid) { return uid == 0 || uid == geteuid(); }
