/* argv.c - loading argv.bpf.c, and its ring. See argv.h. */
#include "autologger/kernel/source/argv.h"
#include "autologger/kernel/source/argv_load.h"
#include "autologger/kernel/source/argv_record.h"
#include "autologger/kernel/source/reach.h"
#include "autologger/kernel/source/rights.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef AL_ARGV_BPF
#include <argv_types.skel.h> /* made by bpftool; needs libc alone */
#endif

enum { INDEX = 4096, PASSES_KEPT = 8 };
/* The number of the first pid namespace, the same on every kernel (PROC_PID_INIT_INO). */
#define FIRST_PID_NAMESPACE UINT32_C(0xEFFFFFFC)

struct argv_seen {
    uint64_t    time, pos;
    const char *text;
    uint32_t    pid, bytes, uid, flags;
    int32_t     code;
    unsigned    pass;
    bool        used, cut;
};
/* The descriptors that hold the programs; all but the ring may be -1. */
enum { FD_RING, FD_EXEC, FD_EXIT, FDS };
static const char *const argv_fd_name[FDS] = {"argv.ring", "argv.exec", "argv.exit"};
struct argv {
    int              fd[FDS];
    int              wake;     /* epoll, edge-triggered: the ring itself is readable as soon as it holds anything */
    uint64_t        *consumer; /* a page: the position up to which the ring may be overwritten */
    const uint8_t   *producer; /* a page, then the ring twice in a row; read only */
    size_t           page;
    uint64_t         next; /* first position not indexed yet */
    unsigned         pass, first, count;
    struct argv_seen seen[INDEX]; /* a ring, in the order of time */
};

static wstatus argv_ring_map(struct argv *a, struct reason *why)
{
    a->page     = (size_t)sysconf(_SC_PAGESIZE);
    void *write = mmap(NULL, a->page, PROT_READ | PROT_WRITE, MAP_SHARED, a->fd[FD_RING], 0);
    if (write != MAP_FAILED)
        a->consumer = write;
    void *read = mmap(NULL, a->page + 2 * (size_t)ARGV_RING, PROT_READ, MAP_SHARED, a->fd[FD_RING], (off_t)a->page);
    if (read != MAP_FAILED)
        a->producer = read;
    if (!a->consumer || !a->producer)
        return reason_set(why, W_NOT_SUPPORTED, "the ring of the BPF program cannot be mapped: %s", strerror(errno));
    a->next = __atomic_load_n(a->consumer, __ATOMIC_RELAXED);
    a->wake = epoll_create1(EPOLL_CLOEXEC);
    if (a->wake >= 0)
        epoll_ctl(a->wake, EPOLL_CTL_ADD, a->fd[FD_RING], &(struct epoll_event){.events = EPOLLIN | EPOLLET});
    return W_SUCCESS; /* without epoll the drainer's own rhythm has to do */
}

#ifdef AL_ARGV_BPF
static wstatus argv_refused(const char *what, int error, struct reason *why)
{
    struct source_rights r;
    rights_read("", &r);
    return rights_bpf(&r, error, what, why);
}

/* Takes a descriptor out of a skeleton, where 0 means none. */
static int argv_fd_take(int *fd)
{
    int taken = *fd > 0 ? *fd : -1;
    *fd       = 0;
    return taken;
}

#if defined __x86_64__
static int  load_by_registers(int *fd, bool *attached)
{
    struct argv_loaded l;
    int                r = argv_load(&l, attached);
    fd[FD_RING]          = l.ring;
    fd[FD_EXEC]          = l.on_exec;
    fd[FD_EXIT]          = l.on_exit;
    return r;
}
#else
static int load_by_registers(int *fd, bool *attached)
{
    (void)fd, (void)attached;
    return -ENOTSUP;
}
#endif

static int load_by_types(int *fd, bool *attached)
{
    struct argv_types *p = argv_types__open();
    int                r = p ? argv_types__load(p) : -ENOMEM;
    *attached            = r >= 0;
    if (r >= 0)
        r = argv_types__attach(p);
    if (r >= 0) {
        fd[FD_RING] = argv_fd_take(&p->maps.ring.map_fd);
        fd[FD_EXEC] = argv_fd_take(&p->links.on_exec_fd);
    }
    argv_types__destroy(p);
    return r;
}

int argv_programs(int fd[REACH_FDS], bool *attached)
{
    const int r = load_by_registers(fd, attached);
    return r < 0 ? load_by_types(fd, attached) : r;
}

static wstatus programs_load(int proc, struct argv *a, struct reason *why)
{
    struct stat st;
    bool        attached      = false;
    int         fd[REACH_FDS] = {-1, -1, -1};
    if (fstatat(proc, "self/ns/pid", &st, 0) < 0 || (uint32_t)st.st_ino != FIRST_PID_NAMESPACE)
        return reason_set(why, W_NOT_SUPPORTED, "this process is in a pid namespace of its own, or /proc is missing");
    if (access("/sys/kernel/btf/vmlinux", R_OK) < 0 && errno == ENOENT && access("/sys/kernel", X_OK) == 0)
        return reason_set(why, W_NOT_SUPPORTED, "this kernel does not describe its types (CONFIG_DEBUG_INFO_BTF)");
    const int r = reach_is_far() ? reach_load(REACH_ARGV, 0, fd, &attached) : argv_programs(fd, &attached);
    memcpy(a->fd, fd, sizeof a->fd);
    if (r < 0)
        return argv_refused(attached ? "the BPF program cannot be attached to sched_process_exec"
                                     : "the BPF program cannot be loaded",
                            -r, why);
    return argv_ring_map(a, why);
}
#else
int argv_programs(int fd[REACH_FDS], bool *attached)
{
    (void)fd, (void)attached;
    return -ENOTSUP;
}

static wstatus programs_load(int proc, struct argv *a, struct reason *why)
{
    (void)proc, (void)a;
    return reason_set(why, W_NOT_SUPPORTED, "this program was built without clang, bpftool and libbpf-dev");
}
#endif

static struct argv *argv_new(void)
{
    struct argv *a = calloc(1, sizeof *a);
    for (int i = 0; a && i < FDS; i++)
        a->fd[i] = a->wake = -1;
    return a;
}

wstatus argv_open(int proc, struct argv **out, struct reason *why)
{
    struct argv *a = argv_new();
    *out           = NULL;
    if (!a)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory");
    wstatus status = programs_load(proc, a, why);
    if (status) {
        argv_close(a);
        return status;
    }
    *out = a;
    return W_SUCCESS;
}

struct argv *argv_adopt(int (*find)(void *ctx, const char *name), void *ctx)
{
    struct argv *a = argv_new();
    for (int i = 0; a && i < FDS; i++)
        a->fd[i] = find(ctx, argv_fd_name[i]);
    if (a && a->fd[FD_RING] >= 0 && a->fd[FD_EXEC] >= 0 && argv_ring_map(a, NULL) == W_SUCCESS)
        return a;
    argv_close(a);
    return NULL;
}

void argv_close(struct argv *a)
{
    if (!a)
        return;
    if (a->producer)
        munmap((void *)(uintptr_t)a->producer, a->page + 2 * (size_t)ARGV_RING);
    if (a->consumer)
        munmap(a->consumer, a->page);
    if (a->wake >= 0)
        close(a->wake);
    for (int i = FDS; i-- > 0;)
        if (a->fd[i] >= 0)
            close(a->fd[i]);
    free(a);
}

void argv_fds(const struct argv *a, void (*show)(void *ctx, const char *name, int fd, size_t ring_bytes), void *ctx)
{
    for (int i = 0; a && i < FDS; i++)
        if (a->fd[i] >= 0)
            show(ctx, argv_fd_name[i], a->fd[i], 0);
}

int argv_wake_fd(const struct argv *a) { return a ? a->wake : -1; }

static uint64_t argv_clock_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* CLOCK_MONOTONIC_RAW minus CLOCK_MONOTONIC. A thread that loses its processor between two readings reads them far
 * apart, so the closest of several pairs counts. */
static uint64_t raw_offset(void)
{
    enum { TRIES = 8, CLOSE_NS = 5000 };
    uint64_t offset = 0, closest = UINT64_MAX;
    for (unsigned i = 0; i < TRIES && closest > CLOSE_NS; i++) {
        const uint64_t before = argv_clock_ns(CLOCK_MONOTONIC), raw = argv_clock_ns(CLOCK_MONOTONIC_RAW),
                       apart = argv_clock_ns(CLOCK_MONOTONIC) - before;
        if (apart < closest) {
            closest = apart;
            offset  = raw - before - apart / 2;
        }
    }
    return offset;
}

static void argv_record_add(struct argv *a, const uint8_t *record, uint32_t size, uint64_t pos, uint64_t offset)
{
    const struct argv_record *r              = (const void *)record;
    uint32_t                  text           = size - ARGV_HEAD;
    bool                      gone           = r->flags & ARGV_EXIT;
    a->seen[(a->first + a->count++) % INDEX] = (struct argv_seen){.time  = r->time + offset,
                                                                  .pos   = pos,
                                                                  .text  = r->text,
                                                                  .pid   = r->tgid,
                                                                  .bytes = text,
                                                                  .uid   = r->uid,
                                                                  .flags = r->flags,
                                                                  .code  = gone ? (int32_t)r->size : 0,
                                                                  .pass  = a->pass,
                                                                  .cut   = !gone && r->size > text};
}

void argv_poll(struct argv *a)
{
    struct epoll_event edge;
    if (!a)
        return;
    if (a->wake >= 0 && epoll_wait(a->wake, &edge, 1, 0) < 0)
        return;
    uint64_t head   = __atomic_load_n((const uint64_t *)(const void *)a->producer, __ATOMIC_ACQUIRE);
    uint64_t offset = raw_offset();
    while (a->next < head && a->count < INDEX) {
        const uint8_t *p      = a->producer + a->page + (a->next & (ARGV_RING - 1));
        uint32_t       length = __atomic_load_n((const uint32_t *)(const void *)p, __ATOMIC_ACQUIRE);
        uint32_t       size   = length & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
        if (length & BPF_RINGBUF_BUSY_BIT)
            break; /* being written */
        if (!(length & BPF_RINGBUF_DISCARD_BIT) && size >= ARGV_HEAD && size <= sizeof(struct argv_record))
            argv_record_add(a, p + BPF_RINGBUF_HDR_SZ, size, a->next, offset);
        a->next += (size + BPF_RINGBUF_HDR_SZ + 7) & ~UINT32_C(7);
    }
}

/* Removes used entries from the front of the index; only argv_expire releases the ring. */
static void index_trim(struct argv *a)
{
    while (a->count && a->seen[a->first].used) {
        a->first = (a->first + 1) % INDEX;
        a->count--;
    }
}

bool argv_take(struct argv *a, uint32_t pid, uint64_t from, uint64_t until, struct argv_exec *out)
{
    for (unsigned i = 0; a && i < a->count; i++) {
        struct argv_seen *s = &a->seen[(a->first + i) % INDEX];
        if (s->used || s->pid != pid || (s->flags & ARGV_EXIT) || s->time + ARGV_SLACK_NS < from || s->time > until)
            continue;
        s->used = true;
        *out    = (struct argv_exec){.text        = s->text,
                                     .size        = s->bytes,
                                     .uid         = s->uid,
                                     .cut         = s->cut,
                                     .width_known = s->flags & ARGV_WIDTH_KNOWN,
                                     .is32        = s->flags & ARGV_32BIT};
        index_trim(a);
        return true;
    }
    return false;
}

bool argv_exit_take(struct argv *a, uint32_t pid, uint64_t until, int32_t *code)
{
    bool found = false;
    for (unsigned i = 0; a && i < a->count; i++) {
        struct argv_seen *s = &a->seen[(a->first + i) % INDEX];
        if (s->used || s->pid != pid || !(s->flags & ARGV_EXIT) || s->time > until + ARGV_SLACK_NS)
            continue;
        s->used = found = true;
        *code           = s->code; /* the last one counts: the pid may have been reused */
    }
    if (found)
        index_trim(a);
    return found;
}

void argv_expire(struct argv *a)
{
    if (!a)
        return;
    a->pass++;
    while (a->count && (a->seen[a->first].used || a->pass - a->seen[a->first].pass > PASSES_KEPT)) {
        a->first = (a->first + 1) % INDEX;
        a->count--;
    }
    __atomic_store_n(a->consumer, a->count ? a->seen[a->first].pos : a->next, __ATOMIC_RELEASE);
}
