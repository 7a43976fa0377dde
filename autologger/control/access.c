#include "autologger/control/access.h"

#include <unistd.h>

bool access_may_control(uint32_t uid) { return uid == 0 || uid == geteuid(); }

bool access_granted(const struct control_rights *r, int fd, uint32_t uid, const struct guid *object, uint32_t wanted)
{
    if (access_may_control(uid))
        return true;
    return r ? r->granted(r, fd, uid, object, wanted) : !(wanted & ~(uint32_t)(ACCESS_QUERY | ACCESS_REGISTER_GUIDS));
}
