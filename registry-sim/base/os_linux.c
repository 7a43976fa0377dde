/* os_linux.c - the real edge. See os.h. */
#include "registry-sim/base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

static int os_linux_result(int r) { return r < 0 ? -errno : r; }

static int lin_open(struct os *os, const char *path, int flags, unsigned mode)
{
    (void)os;
    return os_linux_result(open(path, flags | O_CLOEXEC, (mode_t)mode));
}
static int lin_close(struct os *os, int fd)
{
    (void)os;
    return os_linux_result(close(fd));
}
static ssize_t lin_pread(struct os *os, int fd, void *data, size_t size, uint64_t offset)
{
    (void)os;
    ssize_t n = pread(fd, data, size, (off_t)offset);
    return n < 0 ? -errno : n;
}
static ssize_t lin_pwrite(struct os *os, int fd, const void *data, size_t size, uint64_t offset)
{
    (void)os;
    ssize_t n = pwrite(fd, data, size, (off_t)offset);
    return n < 0 ? -errno : n;
}
static int lin_ftruncate(struct os *os, int fd, uint64_t size)
{
    (void)os;
    return os_linux_result(ftruncate(fd, (off_t)size));
}
static int lin_allocate(struct os *os, int fd, uint64_t size)
{
    (void)os;
    int r = os_linux_result(fallocate(fd, 0, 0, (off_t)size));
    /* a file system without fallocate gets the size alone */
    return r == -EOPNOTSUPP ? os_linux_result(ftruncate(fd, (off_t)size)) : r;
}
static int lin_fsync(struct os *os, int fd)
{
    (void)os;
    return os_linux_result(fsync(fd));
}
static int lin_lock(struct os *os, int fd, bool on)
{
    struct flock whole = {.l_type = on ? F_WRLCK : F_UNLCK, .l_whence = SEEK_SET};
    (void)os;
    int r = os_linux_result(fcntl(fd, F_OFD_SETLK, &whole));
    if (r == -EACCES)
        return -EAGAIN;
    return r == -ENOLCK || r == -ENOSYS || r == -EINVAL ? -EOPNOTSUPP : r;
}
static int lin_mkdir(struct os *os, const char *path, unsigned mode)
{
    (void)os;
    return os_linux_result(mkdir(path, (mode_t)mode));
}
static int lin_unlink(struct os *os, const char *path)
{
    (void)os;
    return os_linux_result(unlink(path));
}
static int lin_rename(struct os *os, const char *from, const char *to)
{
    (void)os;
    return os_linux_result(rename(from, to));
}
static int os_linux_fill(int r, const struct stat *st, struct os_stat *out)
{
    if (r < 0)
        return -errno;
    *out = (struct os_stat){(uint64_t)st->st_size, st->st_dev, st->st_ino, st->st_mode};
    return 0;
}
static int lin_stat(struct os *os, const char *path, struct os_stat *out)
{
    struct stat st;
    (void)os;
    return os_linux_fill(stat(path, &st), &st, out);
}
static int lin_lstat(struct os *os, const char *path, struct os_stat *out)
{
    struct stat st;
    (void)os;
    return os_linux_fill(lstat(path, &st), &st, out);
}
static int lin_space(struct os *os, const char *path, struct os_space *out)
{
    struct statvfs v;
    (void)os;
    if (statvfs(path, &v) < 0)
        return -errno;
    *out = (struct os_space){.free_bytes  = (uint64_t)v.f_bavail * v.f_frsize,
                             .total_bytes = (uint64_t)v.f_blocks * v.f_frsize,
                             .read_only   = v.f_flag & ST_RDONLY};
    return 0;
}
static uint64_t os_linux_now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
static uint64_t lin_realtime(struct os *os)
{
    (void)os;
    return os_linux_now(CLOCK_REALTIME);
}
static uint64_t lin_raw(struct os *os)
{
    (void)os;
    return os_linux_now(CLOCK_MONOTONIC_RAW);
}
static int lin_cpu_count(struct os *os)
{
    long n = sysconf(_SC_NPROCESSORS_CONF);
    (void)os;
    return n < 1 ? 1 : (int)n;
}
static uint64_t lin_ram(struct os *os)
{
    struct sysinfo info;
    (void)os;
    return sysinfo(&info) < 0 ? 0 : (uint64_t)info.totalram * info.mem_unit;
}
static int lin_shm_create(struct os *os, const char *name, uint64_t size, uint64_t populate)
{
    (void)os;
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    int r = ftruncate(fd, (off_t)size) < 0 ? -errno : 0;
    if (r == 0 && populate)
        r = fallocate(fd, 0, 0, (off_t)populate) < 0 ? -errno : 0;
    if (r < 0) {
        close(fd);
        return r == -ENOSPC ? -ENOMEM : r;
    }
    return fd;
}

static struct os linux_os = {
    .open        = lin_open,
    .close       = lin_close,
    .pread       = lin_pread,
    .pwrite      = lin_pwrite,
    .ftruncate   = lin_ftruncate,
    .allocate    = lin_allocate,
    .fsync       = lin_fsync,
    .lock        = lin_lock,
    .mkdir       = lin_mkdir,
    .unlink      = lin_unlink,
    .rename      = lin_rename,
    .stat        = lin_stat,
    .lstat       = lin_lstat,
    .space       = lin_space,
    .realtime_ns = lin_realtime,
    .raw_ns      = lin_raw,
    .cpu_count   = lin_cpu_count,
    .ram_bytes   = lin_ram,
    .shm_create  = lin_shm_create,
};

struct os *os_linux(void) { return &linux_os; }
