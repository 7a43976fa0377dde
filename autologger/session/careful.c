/* careful.c - see careful.h. */
#include "autologger/session/careful.h"

#include "autologger/kernel/source/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

enum { LINKS_MOST = 40, PATH_MOST = 4096 };

static struct {
    pthread_mutex_t lock;
    struct mounts   mounts; /* under lock */
    int             proc;
    struct os       os, *inner;
} careful = {.lock = PTHREAD_MUTEX_INITIALIZER, .proc = -1};

/* The id of its mount, without a call to its file system. Kernels before 5.8 have it only in /proc, for which a user's
 * rights to files may not be enough. */
static bool careful_mount_of(int fd, uint32_t *id)
{
    struct statx      x;
    struct mount_file at;
    if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &x) == 0 && x.stx_mask & STATX_MNT_ID)
        *id = (uint32_t)x.stx_mnt_id;
    else if (mounts_file(&careful.mounts, fd, &at))
        *id = at.id;
    else
        return false;
    return true;
}

/* Checks whether any call may be made on what `fd` is open on. 0 or -errno. */
static int careful_look(int fd)
{
    uint32_t id;
    pthread_mutex_lock(&careful.lock);
    const enum mount_kind kind = careful_mount_of(fd, &id) ? mounts_own(&careful.mounts, id) : MOUNT_UNKNOWN;
    pthread_mutex_unlock(&careful.lock);
    return kind == MOUNT_PROGRAM || kind == MOUNT_UNKNOWN ? -EXDEV : 0;
}

/* One step: a descriptor with O_PATH, for a link that of the link itself; or -errno. */
static int careful_step(int from, const char *name)
{
    const int fd = openat(from, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    const int r = careful_look(fd);
    if (r < 0)
        close(fd);
    return r < 0 ? r : fd;
}

/* ---- a path ---- */

struct careful_walk {
    char     rest[PATH_MOST];    /* what is left to walk, from `at` */
    char     name[NAME_MAX + 1]; /* the last part */
    int      at;                 /* the folder */
    unsigned links;
};

static int careful_walk_begin(struct careful_walk *w, const char *path)
{
    *w = (struct careful_walk){.at = -1};
    if (path[0] != '/')
        return -EINVAL;
    if (strlen(path) >= sizeof w->rest)
        return -ENAMETOOLONG;
    strcpy(w->rest, path);
    w->at = careful_step(AT_FDCWD, "/");
    return w->at < 0 ? w->at : 0;
}

/* Moves the next part of the path to w->name. Returns its length, 0: no more parts, or -errno. */
static int walk_part(struct careful_walk *w)
{
    const char  *from = w->rest + strspn(w->rest, "/");
    const size_t size = strcspn(from, "/");
    if (size > NAME_MAX)
        return -ENAMETOOLONG;
    memcpy(w->name, from, size);
    w->name[size] = 0;
    memmove(w->rest, from + size, strlen(from + size) + 1);
    return (int)size;
}

/* Continues at the target of the link `fd`, which lies in w->at. */
static int walk_link(struct careful_walk *w, int fd)
{
    char          target[PATH_MOST];
    struct statfs fs;
    const ssize_t n = readlinkat(fd, "", target, sizeof target - 1);
    if (n < 0)
        return -errno;
    if (++w->links > LINKS_MOST || fstatfs(fd, &fs) < 0 || fs.f_type == PROC_SUPER_MAGIC)
        return -ELOOP;
    if ((size_t)n + 1 + strlen(w->rest) + 1 > sizeof w->rest)
        return -ENAMETOOLONG;
    target[n] = '/';
    memmove(w->rest + n + 1, w->rest, strlen(w->rest) + 1);
    memcpy(w->rest, target, (size_t)n + 1);
    if (target[0] != '/')
        return 0;
    close(w->at);
    w->at = careful_step(AT_FDCWD, "/");
    return w->at < 0 ? w->at : 0;
}

static int walk_into(struct careful_walk *w)
{
    struct stat st;
    int         fd = careful_step(w->at, w->name), r = 0;
    if (fd < 0)
        return fd;
    if (fstat(fd, &st) < 0)
        r = -errno;
    else if (S_ISLNK(st.st_mode))
        r = walk_link(w, fd);
    else if (!S_ISDIR(st.st_mode))
        r = -ENOTDIR;
    else {
        close(w->at);
        w->at = fd;
        return 0;
    }
    close(fd);
    return r;
}

static bool more_follows(const struct careful_walk *w) { return w->rest[strspn(w->rest, "/")] != 0; }

/* Walks to the folder of the last part; w->name is that part then ("." if the path ends in none). On failure nothing
 * stays open. */
static int walk_on(struct careful_walk *w)
{
    int r = 0;
    while (r == 0 && (r = walk_part(w)) > 0) {
        if (!more_follows(w))
            return 0;
        r = walk_into(w);
    }
    if (r == 0) {
        strcpy(w->name, ".");
        return 0;
    }
    if (w->at >= 0)
        close(w->at);
    return r;
}

static int careful_walk(struct careful_walk *w, const char *path)
{
    const int r = careful_walk_begin(w, path);
    return r < 0 ? r : walk_on(w);
}

static int walk_end(const struct careful_walk *w, int result)
{
    const int r = result < 0 ? -errno : result;
    close(w->at);
    return r;
}

/* ---- operations ---- */

/* Opens an existing file: checks it, then opens it through its descriptor. */
static int open_there(const struct careful_walk *w, int flags)
{
    char        shown[40];
    struct stat st;
    const int   at = careful_step(w->at, w->name);
    if (at < 0)
        return at;
    snprintf(shown, sizeof shown, "self/fd/%d", at);
    int fd = fstat(at, &st) < 0 ? -1
             : S_ISLNK(st.st_mode)
                 ? (errno = ELOOP, -1)
                 : openat(careful.proc, shown, (flags & ~(O_CREAT | O_EXCL | O_NOFOLLOW)) | O_CLOEXEC);
    if (fd < 0)
        fd = -errno;
    close(at);
    return fd;
}

static int careful_open(struct os *os, const char *path, int flags, unsigned mode)
{
    struct careful_walk w;
    (void)os;
    int r = careful_walk(&w, path);
    if (r < 0)
        return r;
    /* only a file that it creates itself */
    r = flags & O_CREAT ? openat(w.at, w.name, flags | O_EXCL | O_NOFOLLOW | O_CLOEXEC, (mode_t)mode) : -1;
    r = flags & O_CREAT && r < 0 ? -errno : r;
    if (!(flags & O_CREAT) || (r == -EEXIST && !(flags & O_EXCL)))
        r = open_there(&w, flags);
    close(w.at);
    return r;
}

static int careful_mkdir(struct os *os, const char *path, unsigned mode)
{
    struct careful_walk w;
    (void)os;
    const int r = careful_walk(&w, path);
    return r < 0 ? r : walk_end(&w, mkdirat(w.at, w.name, (mode_t)mode));
}

static int careful_unlink(struct os *os, const char *path)
{
    struct careful_walk w;
    (void)os;
    const int r = careful_walk(&w, path);
    return r < 0 ? r : walk_end(&w, unlinkat(w.at, w.name, 0));
}

static int careful_rename(struct os *os, const char *from, const char *to)
{
    struct careful_walk a, b;
    (void)os;
    int r = careful_walk(&a, from);
    if (r < 0)
        return r;
    r = careful_walk(&b, to);
    if (r == 0)
        r = walk_end(&b, renameat(a.at, a.name, b.at, b.name));
    close(a.at);
    return r;
}

static int stat_at(const char *path, bool follow, struct os_stat *out)
{
    struct careful_walk w;
    struct stat         st;
    int                 r = careful_walk(&w, path);
    while (r == 0) {
        const int fd  = careful_step(w.at, w.name);
        r             = fd < 0 ? fd : fstat(fd, &st) < 0 ? -errno : 0;
        const bool on = r == 0 && follow && S_ISLNK(st.st_mode);
        if (on)
            r = walk_link(&w, fd);
        if (fd >= 0)
            close(fd);
        if (on && r == 0) {
            r = walk_on(&w);
            continue;
        }
        if (w.at >= 0)
            close(w.at);
        break;
    }
    if (r == 0)
        *out = (struct os_stat){(uint64_t)st.st_size, st.st_dev, st.st_ino, st.st_mode};
    return r;
}

static int careful_lstat(struct os *os, const char *path, struct os_stat *out)
{
    (void)os;
    return stat_at(path, false, out);
}

static int careful_stat(struct os *os, const char *path, struct os_stat *out)
{
    (void)os;
    return stat_at(path, true, out);
}

static int careful_space(struct os *os, const char *path, struct os_space *out)
{
    struct careful_walk w;
    struct statfs       v;
    (void)os;
    const int r = careful_walk(&w, path);
    if (r < 0)
        return r;
    const int got = walk_end(&w, fstatfs(w.at, &v));
    if (got < 0)
        return got;
    *out = (struct os_space){.free_bytes  = (uint64_t)v.f_bavail * (uint64_t)v.f_bsize,
                             .total_bytes = (uint64_t)v.f_blocks * (uint64_t)v.f_bsize,
                             .read_only   = v.f_flags & 1 /* ST_RDONLY */};
    return 0;
}

static void careful_make(void)
{
    careful.os   = *careful.inner; /* for calls without a path */
    careful.proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    mounts_open(&careful.mounts, careful.proc);
    careful.os.open   = careful_open;
    careful.os.mkdir  = careful_mkdir;
    careful.os.unlink = careful_unlink;
    careful.os.rename = careful_rename;
    careful.os.stat   = careful_stat;
    careful.os.lstat  = careful_lstat;
    careful.os.space  = careful_space;
}

struct os *careful_os(struct os *inner)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_mutex_lock(&careful.lock);
    if (!careful.inner)
        careful.inner = inner;
    pthread_mutex_unlock(&careful.lock);
    pthread_once(&once, careful_make);
    return &careful.os;
}
