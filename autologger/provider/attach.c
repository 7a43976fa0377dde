/* attach.c - mapping the memory that the daemon shares, and giving it up without pulling it from under a writer. See
 * process.h P2. */
#include "autologger/provider/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { POPULATE_CHUNKS = 1 };

/* Kept by fork: a child gives up its parent's attachments. */
struct attachment {
    struct attachment *next; /* all there ever were: late writers may hold a view */
    struct ring_view   view;
    uint32_t           session, generation;
    bool               doubted; /* not attached again since the program closed the connection */
    dev_t              device;  /* of the file that `data` is */
    ino_t              inode;
    void              *control, *data; /* NULL after the detach */
    size_t             control_size, data_size;
};
static struct attachment *attached[SHM_SESSIONS];
static struct attachment *retired;
/* Event descriptors keep their numbers for ever: a late writer may still signal, and must not hit a file of the
 * program. */
static struct known_fd wake_fd[SHM_SESSIONS];

static struct {
    const struct shm_directory *map;
    size_t                      size;
    dev_t                       device; /* of the file that it is */
    ino_t                       inode;
    const uint8_t              *filters; /* set after filter_bytes; keeps a past directory's address (P2) */
    size_t                      filter_bytes;
} directory;

/* The mapping of a sealed memfd, or NULL. Without the seal a truncation would be a SIGBUS in the program. */
static void *map_sealed(int fd, int protection, size_t *size)
{
    struct stat st;
    int         seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &st) < 0 || st.st_size <= 0)
        return NULL;
    void *map = mmap(NULL, (size_t)st.st_size, protection, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return NULL;
    *size = (size_t)st.st_size;
    return map;
}

/* Maps pages of zeros at the same place, for ever. Only address space is kept: nothing is committed. The kernel
 * exchanges the pages under readers, who see the old ones or zeros. The system call is made directly, since
 * ThreadSanitizer would take mmap() for a write of all of them. */
static void map_zeros(void *map, size_t size, int protection)
{
    (void)syscall(SYS_mmap, map, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0L);
}

bool attach_is_directory(int fd)
{
    struct stat st;
    return directory.map && fstat(fd, &st) == 0 && st.st_dev == directory.device && st.st_ino == directory.inode;
}

bool attach_directory(int fd)
{
    if (attach_is_directory(fd)) {
        close(fd);
        return true;
    }
    struct stat                 st    = {0};
    size_t                      size  = 0;
    const bool                  known = fstat(fd, &st) == 0;
    const struct shm_directory *d     = known ? map_sealed(fd, PROT_READ, &size) : NULL;
    close(fd);
    if (!d)
        return false;
    if (size < sizeof *d || d->header.magic != SHM_MAGIC_DIRECTORY || d->header.major != SHM_MAJOR ||
        d->provider_offset < sizeof *d || d->provider_offset % 8 != 0 || d->provider_offset > size ||
        (size - d->provider_offset) / sizeof(struct shm_provider) < d->provider_count) {
        munmap((void *)(uintptr_t)d, size);
        return false;
    }
    directory.map      = d;
    directory.size     = size;
    directory.device   = st.st_dev;
    directory.inode    = st.st_ino;
    const bool filters = d->filter_bytes && d->filter_offset % 8 == 0 && d->filter_offset <= size &&
                         size - d->filter_offset >= d->filter_bytes;
    __atomic_store_n(&directory.filters, NULL, __ATOMIC_RELEASE);
    __atomic_store_n(&directory.filter_bytes, filters ? d->filter_bytes : 0, __ATOMIC_RELEASE);
    __atomic_store_n(&directory.filters, filters ? (const uint8_t *)d + d->filter_offset : NULL, __ATOMIC_RELEASE);
    return true;
}

const void *attach_filter(uint32_t offset, size_t *room)
{
    const uint8_t *filters = __atomic_load_n(&directory.filters, __ATOMIC_ACQUIRE);
    const size_t   bytes   = __atomic_load_n(&directory.filter_bytes, __ATOMIC_ACQUIRE);
    if (!filters || !offset || offset % 8 || offset >= bytes)
        return NULL;
    *room = bytes - offset;
    return filters + offset;
}

const struct shm_provider *attach_slot(uint32_t slot)
{
    const struct shm_directory *d = directory.map;
    if (!d || slot >= d->provider_count)
        return NULL;
    return (const struct shm_provider *)(const void *)((const char *)d + d->provider_offset) + slot;
}

static void retire(struct attachment *a)
{
    map_zeros(a->control, a->control_size, PROT_READ);
    map_zeros(a->data, a->data_size, PROT_READ | PROT_WRITE);
    a->control = a->data = NULL;
    a->next              = retired;
    retired              = a;
}

static void detach(struct attachment *a)
{
    __atomic_store_n(&al_views[a->session], NULL, __ATOMIC_RELEASE);
    attached[a->session] = NULL;
    retire(a);
}

void attach_detach(uint32_t session, uint32_t generation)
{
    if (session < SHM_SESSIONS && attached[session] && attached[session]->generation == generation)
        detach(attached[session]);
}

void attach_drop_all(void)
{
    for (unsigned i = 0; i < SHM_SESSIONS; i++)
        if (attached[i])
            detach(attached[i]);
    if (directory.map)
        map_zeros((void *)(uintptr_t)directory.map, directory.size, PROT_READ);
    directory.map = NULL;
}

void attach_doubt_all(void)
{
    for (unsigned i = 0; i < SHM_SESSIONS; i++)
        if (attached[i]) {
            attached[i]->doubted = true;
            if (!known_fd_ok(&wake_fd[i])) /* the program may have reused the number for a file by now */
                __atomic_store_n(&attached[i]->view.eventfd, -1, __ATOMIC_RELAXED);
        }
}

void attach_drop_doubted(void)
{
    for (unsigned i = 0; i < SHM_SESSIONS; i++)
        if (attached[i] && attached[i]->doubted)
            detach(attached[i]);
}

/* A first touch costs as much as twenty events: touches the chunks that are taken next. */
static void populate(const struct ring_view *v)
{
#ifdef MADV_POPULATE_WRITE
    const uint32_t first = shm_pool_index(__atomic_load_n(&v->data->pool_head, __ATOMIC_ACQUIRE));
    for (uint32_t i = first; i < v->chunk_count && i - first < POPULATE_CHUNKS; i++)
        if (v->pool[i] >= v->chunk_count || madvise(v->chunks + ((uint64_t)v->pool[i] << v->chunk_shift),
                                                    (size_t)v->chunk_mask + 1, MADV_POPULATE_WRITE) < 0)
            return;
#else
    (void)v;
#endif
}

/* True when the session is attached already, with the same streams. After a change of its user a program gets
 * others. */
static bool attached_already(uint32_t session, uint32_t generation, int data_fd)
{
    const struct attachment *a = session < SHM_SESSIONS ? attached[session] : NULL;
    struct stat              st;
    return a && a->doubted && a->generation == generation && fstat(data_fd, &st) == 0 && st.st_dev == a->device &&
           st.st_ino == a->inode;
}

/* Moves the eventfd to the session's own number; -1 when that fails. */
static int keep_eventfd(uint32_t session, int fd)
{
    if (known_fd_ok(&wake_fd[session])) {
        int kept = dup3(fd, wake_fd[session].fd, O_CLOEXEC);
        close(fd);
        return known_fd_init(&wake_fd[session], kept) ? kept : -1;
    }
    if (!known_fd_init(&wake_fd[session], fd)) {
        close(fd);
        return -1;
    }
    return fd;
}

void attach_session(uint32_t session, uint32_t generation, const int fd[3])
{
    struct attachment *a = NULL;
    struct stat        st;
    if (attached_already(session, generation, fd[0])) {
        attached[session]->doubted = false;
        /* the program may have closed the old one, too */
        __atomic_store_n(&attached[session]->view.eventfd, keep_eventfd(session, fd[2]), __ATOMIC_RELAXED);
        close(fd[0]);
        close(fd[1]);
        return;
    }
    if (session >= SHM_SESSIONS ||
        (attached[session] && attached[session]->generation == generation && !attached[session]->doubted))
        goto refuse;
    struct attachment *const before = attached[session]; /* serves until the new one is attached */
    if (!(a = calloc(1, sizeof *a)))
        goto refuse;
    a->session    = session;
    a->generation = generation;
    if (fstat(fd[0], &st) < 0)
        goto refuse;
    a->device  = st.st_dev;
    a->inode   = st.st_ino;
    a->data    = map_sealed(fd[0], PROT_READ | PROT_WRITE, &a->data_size);
    a->control = map_sealed(fd[1], PROT_READ, &a->control_size);
    if (!a->data || !a->control ||
        ring_view_init(&a->view, a->control, a->control_size, a->data, a->data_size, -1, NULL) != W_SUCCESS)
        goto refuse;
    close(fd[0]);
    close(fd[1]);
    a->view.eventfd = keep_eventfd(session, fd[2]);
    populate(&a->view);
    attached[session] = a;
    if (ring_rseq.usable && !al_near.near.rseq.usable) {
        __atomic_store_n(&al_near.near.rseq.offset, ring_rseq.offset, __ATOMIC_RELAXED);
        __atomic_store_n(&al_near.near.rseq.usable, true, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&al_views[session], &a->view, __ATOMIC_RELEASE);
    if (before)
        retire(before);
    return;
refuse:
    if (session < SHM_SESSIONS && attached[session] &&
        (attached[session]->generation != generation || attached[session]->doubted))
        detach(attached[session]); /* the daemon has other memory for it, which can't be attached */
    if (a && a->data)
        munmap(a->data, a->data_size);
    if (a && a->control)
        munmap(a->control, a->control_size);
    free(a);
    for (unsigned i = 0; i < 3; i++)
        close(fd[i]);
}
