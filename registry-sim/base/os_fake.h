/* os_fake.h - a struct os for tests: files and folders in memory, and every way in which a machine can fail.
 * Tests set the fields of struct os_fake at any time. Paths are absolute. Links are followed in the last part only.
 * Invariants  F1 every file and folder that is created through `os` is listed in `created`
 *             F2 the bytes of a volume's files never exceed its capacity; a write that reaches it is short, the next
 *             one gives -ENOSPC
 * Threads: one at a time. Ownership: os_fake_destroy frees all. Not for: products; it is a library of its own. */
#ifndef REGISTRY_SIM_BASE_OS_FAKE_H
#define REGISTRY_SIM_BASE_OS_FAKE_H
#include "registry-sim/base/os.h"

enum os_fake_call {
    FAKE_OPEN,
    FAKE_PREAD,
    FAKE_PWRITE,
    FAKE_FTRUNCATE,
    FAKE_FSYNC,
    FAKE_MKDIR,
    FAKE_UNLINK,
    FAKE_RENAME,
    FAKE_STAT,
    FAKE_SHM,
    FAKE_CALLS,
};

struct os_fake_volume {
    const char *prefix; /* "/" or "/mnt": a path belongs to the volume with the longest prefix that matches */
    uint64_t    capacity;
    uint64_t    used;
    bool        read_only; /* also: the file system is not ready yet */
};
struct os_fake_node;
struct os_fake_file;

struct os_fake {
    struct os os; /* pass &fake->os */
    /* the machine */
    uint64_t realtime_ns, raw_ns;
    uint64_t step_ns; /* each reading advances both clocks by this */
    int      cpu_count;
    uint64_t ram_bytes;
    uint64_t shm_bytes; /* bytes that shm_create may still populate */
    /* failures: call number `at` (1 = the next; 0 = none) returns -error; `forever`: all later calls do too */
    struct {
        unsigned at;
        int      error;
        bool     forever;
    } fail[FAKE_CALLS];
    unsigned calls[FAKE_CALLS]; /* how often each was called */
    size_t   max_write;         /* a pwrite takes at most this many bytes; 0 = all */
    /* volumes: the first is "/" */
    struct os_fake_volume volumes[8];
    unsigned              volume_count;
    /* F1 */
    char   **created;
    unsigned created_count;
    /* private */
    struct os_fake_node **nodes;
    struct os_fake_file  *files;
    unsigned              node_count, file_count;
    uint64_t              inodes;
};

/* An empty machine: 4 CPUs, 8 GB, one endless volume that holds only "/". NULL when out of memory. */
struct os_fake *os_fake_create(void);
void            os_fake_destroy(struct os_fake *fake);
/* Adds a volume and its folder. Returns it, so that a test can fill it or make it read-only later. */
struct os_fake_volume *os_fake_mount(struct os_fake *fake, const char *prefix, uint64_t capacity, bool read_only);
/* Creates a file and its folders, without the failures above and without an entry in `created`. 0 or -errno. */
int os_fake_put(struct os_fake *fake, const char *path, const void *data, size_t size);
int os_fake_put_folder(struct os_fake *fake, const char *path);
int os_fake_put_link(struct os_fake *fake, const char *path, const char *target);
/* The bytes of a file, borrowed until it changes; NULL: no such file. */
const uint8_t *os_fake_bytes(struct os_fake *fake, const char *path, size_t *size);
/* The number of open descriptors: 0 at the end of a test that closes all. */
unsigned os_fake_open_files(const struct os_fake *fake);
#endif
