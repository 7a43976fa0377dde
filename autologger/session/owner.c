/* owner.c - files of sessions that another user started: made with that user's rights to files, as Windows makes a log file with the
 * caller's identity. Linux keeps these rights by thread; the capabilities to pass over them go with the user id, and come back with it.
 * In a file of its own, which the early program does not have: all there is root's. See session.h. */
#include "autologger/session/careful.h"
#include "autologger/session/session.h"

#include <errno.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

static __thread struct {
    gid_t group[STATE_GROUPS];
    int   count;
    uid_t uid;
    gid_t gid;
} former;

static void end(const struct state_owner *o)
{
    (void)o;
    setfsuid(former.uid); /* first: with it the rest is allowed again */
    setfsgid(former.gid);
    if (former.count >= 0)
        (void)syscall(SYS_setgroups, (size_t)former.count, former.group);
}

/* glibc's setgroups would change every thread. */
static wstatus begin(const struct state_owner *o, struct reason *why)
{
    former.count = getgroups(STATE_GROUPS, former.group);
    former.gid   = (gid_t)setfsgid((gid_t)-1);
    former.uid   = (uid_t)setfsuid((uid_t)-1);
    if (former.count < 0 || syscall(SYS_setgroups, (size_t)o->group_count, o->group) < 0) {
        former.count = -1;
        return reason_set(why, W_ACCESS_DENIED, "the daemon cannot take on the groups of uid %u, whose session it is: %s", o->uid, strerror(errno));
    }
    setfsgid(o->gid);
    setfsuid(o->uid);
    if ((uid_t)setfsuid((uid_t)-1) == o->uid && (gid_t)setfsgid((gid_t)-1) == o->gid)
        return W_SUCCESS;
    end(o);
    return reason_set(why, W_ACCESS_DENIED, "the daemon cannot make files for uid %u, whose session it is", o->uid);
}

const struct session_owner_part session_owner = {begin, end, careful_os};
