#include "autologger/daemon/end/merge_guest.h"

#include "autologger/consumer/unwinding.h"
#include "autologger/daemon/end/merge_ask.h"
#include "registry-sim/base/opening.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct os merge_guest_edge;
static int       merge_guest_host;

/* The result, or -errno; a passed descriptor becomes the result. */
static int merge_guest_asked(enum merge_asked what, const char *path, const char *to, int flags, unsigned mode,
                             struct merge_reply *reply)
{
    static struct merge_ask ask;
    int                     fd;

    if (strlen(path) >= sizeof ask.path || strlen(to) >= sizeof ask.to)
        return -ENAMETOOLONG;
    memset(&ask, 0, sizeof ask); /* no byte of this process goes along */
    ask.what  = what;
    ask.flags = flags;
    ask.mode  = mode;
    snprintf(ask.path, sizeof ask.path, "%s", path);
    snprintf(ask.to, sizeof ask.to, "%s", to);
    if (!merge_ask_send(merge_guest_host, &ask, sizeof ask, -1) ||
        !merge_ask_receive(merge_guest_host, reply, sizeof *reply, &fd))
        _exit(1); /* the host is gone */
    return fd >= 0 ? fd : reply->result;
}

static int guest_open(struct os *os, const char *path, int flags, unsigned mode)
{
    struct merge_reply reply;
    (void)os;
    return merge_guest_asked(flags & (O_CREAT | O_WRONLY | O_RDWR) ? MERGE_CREATE : MERGE_OPEN, path, "", flags, mode,
                             &reply);
}

static int guest_unlink(struct os *os, const char *path)
{
    struct merge_reply reply;
    (void)os;
    return merge_guest_asked(MERGE_UNLINK, path, "", 0, 0, &reply);
}

static int guest_rename(struct os *os, const char *from, const char *to)
{
    struct merge_reply reply;
    (void)os;
    return merge_guest_asked(MERGE_RENAME, from, to, 0, 0, &reply);
}

static int stat_by(enum merge_asked what, const char *path, struct os_stat *out)
{
    struct merge_reply reply;
    const int          result = merge_guest_asked(what, path, "", 0, 0, &reply);
    if (result >= 0)
        *out = reply.stat;
    return result;
}

static int guest_stat(struct os *os, const char *path, struct os_stat *out)
{
    (void)os;
    return stat_by(MERGE_STAT, path, out);
}

static int guest_lstat(struct os *os, const char *path, struct os_stat *out)
{
    (void)os;
    return stat_by(MERGE_LSTAT, path, out);
}

static int to_read(void *ctx, const char *path)
{
    struct merge_reply reply;
    const int          result = merge_guest_asked(MERGE_OPEN, path, "", 0, 0, &reply);
    (void)ctx;
    errno = result < 0 ? -result : errno;
    return result < 0 ? -1 : result;
}

static int merge_guest_unwind_start(void *ctx, pid_t *pid, char *why, size_t size)
{
    struct merge_reply reply;
    const int          fd = merge_guest_asked(MERGE_UNWIND, "", "", 0, 0, &reply);
    (void)ctx;
    *pid = reply.pid;
    if (!reply.passed)
        snprintf(why, size, "%.199s", reply.why);
    return reply.passed ? fd : -1;
}

static void merge_guest_unwind_stop(void *ctx)
{
    struct merge_reply reply;
    (void)ctx;
    merge_guest_asked(MERGE_UNWIND_STOP, "", "", 0, 0, &reply);
}

struct os *merge_guest(int socket)
{
    static const struct opening        by     = {to_read, NULL};
    static const struct unwinding_host starts = {merge_guest_unwind_start, merge_guest_unwind_stop, NULL};

    merge_guest_host        = socket;
    merge_guest_edge        = *os_linux();
    merge_guest_edge.open   = guest_open;
    merge_guest_edge.unlink = guest_unlink;
    merge_guest_edge.rename = guest_rename;
    merge_guest_edge.stat   = guest_stat;
    merge_guest_edge.lstat  = guest_lstat;
    opening_by(&by);
    unwinding_by(&starts);
    return &merge_guest_edge;
}
