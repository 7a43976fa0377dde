#include "autologger/daemon/created.h"

#include <errno.h>
#include <fcntl.h>

static void daemon_created_count(struct created *c)
{
    __atomic_fetch_add(c->files, 1, __ATOMIC_RELAXED);
    if (!__atomic_load_n(c->fs_ready, __ATOMIC_RELAXED))
        __atomic_fetch_add(c->files_early, 1, __ATOMIC_RELAXED);
}

static int created_open(struct os *os, const char *path, int flags, unsigned mode)
{
    struct created *c  = os->self;
    int             fd = c->real->open(c->real, path, flags, mode);
    if (fd >= 0 && flags & O_CREAT)
        daemon_created_count(c);
    return fd;
}

static int created_mkdir(struct os *os, const char *path, unsigned mode)
{
    struct created *c = os->self;
    int             r = c->real->mkdir(c->real, path, mode);
    if (r >= 0)
        daemon_created_count(c);
    return r;
}

/* The lock's holder, a predecessor, will never write again. */
static int created_lock(struct os *os, int fd, bool on)
{
    struct created *c = os->self;
    const int       r = c->real->lock(c->real, fd, on);
    return r == -EAGAIN && on && c->left_behind ? -EOPNOTSUPP : r;
}

void created_init(struct created *c, struct os *real, uint64_t *files, uint64_t *files_early, const uint32_t *fs_ready)
{
    *c = (struct created){.os = *real, .real = real, .files = files, .files_early = files_early, .fs_ready = fs_ready};
    c->os.self  = c;
    c->os.open  = created_open;
    c->os.mkdir = created_mkdir;
    c->os.lock  = created_lock;
}
