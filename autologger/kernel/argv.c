/* argv.c - loading argv.bpf.c, and its ring. See argv.h. */
#include "autologger/kernel/argv.h"
#include "autologger/kernel/argv_record.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef AL_ARGV_BPF
#include <argv.skel.h> /* made by bpftool; needs libc alone */
#endif

enum { INDEX = 4096, PASSES_KEPT = 8 };
/* The number of the first pid namespace, the same on every kernel (PROC_PID_INIT_INO). */
#define FIRST_PID_NAMESPACE UINT32_C(0xEFFFFFFC)

struct seen {
    uint64_t    time, pos;
    const char *text;
    uint32_t    pid, bytes;
    unsigned    pass;
    bool        used, cut;
};
struct argv {
    struct argv_bpf *program;
    uint64_t        *consumer; /* a page: how far the ring may be written again */
    const uint8_t   *producer; /* a page, then the ring twice in a row; read only */
    size_t           page;
    uint64_t         next; /* position not looked at yet */
    unsigned         pass, first, count;
    struct seen      seen[INDEX]; /* a ring, in the order of their times */
};

#ifdef AL_ARGV_BPF
static wstatus refused(const char *what, int error, struct reason *why)
{
    if (error == EPERM || error == EACCES)
        return reason_set(why, W_PRIVILEGE_NOT_HELD, "%s: CAP_BPF and CAP_PERFMON are needed", what);
    return reason_set(why, W_NOT_SUPPORTED, "%s: %s", what, strerror(error));
}

static wstatus program_load(int proc, struct argv *a, struct reason *why)
{
    struct stat st;
    if (fstatat(proc, "self/ns/pid", &st, 0) < 0 || (uint32_t)st.st_ino != FIRST_PID_NAMESPACE)
        return reason_set(why, W_NOT_SUPPORTED, "this process is in a pid namespace of its own, or /proc is missing");
    if (access("/sys/kernel/btf/vmlinux", R_OK) < 0 && errno == ENOENT && access("/sys/kernel", X_OK) == 0)
        return reason_set(why, W_NOT_SUPPORTED, "this kernel does not describe its types (CONFIG_DEBUG_INFO_BTF)");
    a->program = argv_bpf__open();
    if (!a->program)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory");
    int r = argv_bpf__load(a->program);
    if (r < 0)
        return refused("the BPF program cannot be loaded", -r, why);
    a->page     = (size_t)sysconf(_SC_PAGESIZE);
    int   fd    = a->program->maps.ring.map_fd;
    void *write = mmap(NULL, a->page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (write != MAP_FAILED)
        a->consumer = write;
    void *read = mmap(NULL, a->page + 2 * (size_t)ARGV_RING, PROT_READ, MAP_SHARED, fd, (off_t)a->page);
    if (read != MAP_FAILED)
        a->producer = read;
    if (!a->consumer || !a->producer)
        return refused("the ring of the BPF program cannot be mapped", errno, why);
    if (argv_bpf__attach(a->program) < 0)
        return refused("the BPF program cannot be attached to sched_process_exec", errno, why);
    return W_SUCCESS;
}

static void program_unload(struct argv_bpf *program) { argv_bpf__destroy(program); }
#else
static wstatus program_load(int proc, struct argv *a, struct reason *why)
{
    (void)proc, (void)a;
    return reason_set(why, W_NOT_SUPPORTED, "this program was built without clang, bpftool and libbpf-dev");
}

static void program_unload(struct argv_bpf *program) { (void)program; }
#endif

wstatus argv_open(int proc, struct argv **out, struct reason *why)
{
    struct argv *a = calloc(1, sizeof *a);
    *out           = NULL;
    if (!a)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory");
    wstatus status = program_load(proc, a, why);
    if (status) {
        argv_close(a);
        return status;
    }
    *out = a;
    return W_SUCCESS;
}

void argv_close(struct argv *a)
{
    if (!a)
        return;
    if (a->producer)
        munmap((void *)(uintptr_t)a->producer, a->page + 2 * (size_t)ARGV_RING);
    if (a->consumer)
        munmap(a->consumer, a->page);
    program_unload(a->program);
    free(a);
}

static uint64_t clock_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void record_add(struct argv *a, const uint8_t *record, uint32_t size, uint64_t pos, uint64_t offset)
{
    const struct argv_record *r    = (const void *)record;
    uint32_t                  text = size - ARGV_HEAD;
    a->seen[(a->first + a->count++) % INDEX] = (struct seen){
        .time = r->time + offset, .pos = pos, .text = r->text, .pid = r->tgid, .bytes = text, .pass = a->pass, .cut = r->size > text};
}

void argv_poll(struct argv *a)
{
    if (!a)
        return;
    uint64_t head   = __atomic_load_n((const uint64_t *)(const void *)a->producer, __ATOMIC_ACQUIRE);
    uint64_t offset = clock_ns(CLOCK_MONOTONIC_RAW) - clock_ns(CLOCK_MONOTONIC);
    while (a->next < head && a->count < INDEX) {
        const uint8_t *p      = a->producer + a->page + (a->next & (ARGV_RING - 1));
        uint32_t       length = __atomic_load_n((const uint32_t *)(const void *)p, __ATOMIC_ACQUIRE);
        uint32_t       size   = length & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
        if (length & BPF_RINGBUF_BUSY_BIT)
            break; /* being written */
        if (!(length & BPF_RINGBUF_DISCARD_BIT) && size >= ARGV_HEAD && size <= sizeof(struct argv_record))
            record_add(a, p + BPF_RINGBUF_HDR_SZ, size, a->next, offset);
        a->next += (size + BPF_RINGBUF_HDR_SZ + 7) & ~UINT32_C(7);
    }
}

const char *argv_take(struct argv *a, uint32_t pid, uint64_t from, uint64_t until, size_t *size, bool *cut)
{
    for (unsigned i = 0; a && i < a->count; i++) {
        struct seen *s = &a->seen[(a->first + i) % INDEX];
        if (s->used || s->pid != pid || s->time + ARGV_SLACK_NS < from || s->time > until)
            continue;
        s->used = true;
        *size   = s->bytes;
        *cut    = s->cut;
        return s->text;
    }
    return NULL;
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
