/* os.h - the edge: all requests of the boot, plan and session code to the machine go through this table. os_linux() is
 * the real one; os_fake (tests) can fill the disk at byte N, jump the clock and keep the file system from being ready.
 * Results are >= 0, or -errno.
 * Threads: os_linux from any thread; a fake from one. Ownership: the table outlives every user of it. */
#ifndef REGISTRY_SIM_BASE_OS_H
#define REGISTRY_SIM_BASE_OS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct os_stat {
    uint64_t size;
    uint64_t device;
    uint64_t inode;
    uint32_t mode; /* as st_mode */
};
struct os_space {
    uint64_t free_bytes; /* for unprivileged users */
    uint64_t total_bytes;
    bool     read_only;
};

struct os {
    void *self;
    /* files; `flags` and `mode` as open(2) */
    int (*open)(struct os *os, const char *path, int flags, unsigned mode);
    int (*close)(struct os *os, int fd);
    ssize_t (*pread)(struct os *os, int fd, void *data, size_t size, uint64_t offset);
    ssize_t (*pwrite)(struct os *os, int fd, const void *data, size_t size, uint64_t offset); /* may be short */
    int (*ftruncate)(struct os *os, int fd, uint64_t size);
    /* reserves space for `size` bytes, and makes the file that long */
    int (*allocate)(struct os *os, int fd, uint64_t size);
    int (*fsync)(struct os *os, int fd);
    /* Locks the whole file for this descriptor until it is closed or unlocked (`on` false); it must be open for
     * writing. Descriptors of separate open() calls exclude each other, within this process too. -EAGAIN: another one
     * holds the lock; -EOPNOTSUPP: the file system has no locks. */
    int (*lock)(struct os *os, int fd, bool on);
    int (*mkdir)(struct os *os, const char *path, unsigned mode);
    int (*unlink)(struct os *os, const char *path);
    int (*rename)(struct os *os, const char *from, const char *to);
    int (*stat)(struct os *os, const char *path, struct os_stat *out);   /* follows links */
    int (*lstat)(struct os *os, const char *path, struct os_stat *out);  /* does not */
    int (*space)(struct os *os, const char *path, struct os_space *out); /* of the volume that holds `path` */
    /* the machine */
    uint64_t (*realtime_ns)(struct os *os); /* CLOCK_REALTIME, ns since 1970 */
    uint64_t (*raw_ns)(struct os *os);      /* CLOCK_MONOTONIC_RAW */
    int (*cpu_count)(struct os *os);        /* possible CPUs: indexes are below it */
    uint64_t (*ram_bytes)(struct os *os);
    /* memory that can be shared and handed over: a memfd of `size` bytes (zeros); allocates the first `populate` bytes
     * now or fails with -ENOMEM */
    int (*shm_create)(struct os *os, const char *name, uint64_t size, uint64_t populate);
};

struct os *os_linux(void);

/* Writes all `size` bytes, going on after short writes and EINTR. 0 or -errno. */
int os_pwrite_all(struct os *os, int fd, const void *data, size_t size, uint64_t offset);
/* Creates every missing folder above `path` (not `path` itself). 0 or -errno. Links on the way are followed. */
int os_mkdir_parents(struct os *os, const char *path, unsigned mode);
#endif
