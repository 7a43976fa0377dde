/* nettap.c - loading nettap.bpf.c. See nettap.h. */
#include "autologger/kernel/source/nettap.h"
#include "autologger/kernel/source/reach.h"
#include "autologger/kernel/source/rights.h"
#include "autologger/kernel/source/sources.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifdef AL_ARGV_BPF
#include <nettap_both.skel.h> /* made by bpftool; need libc alone */
#include <nettap_calls.skel.h>
#include <nettap_sent.skel.h>
#endif

enum {
    FD_SENT,
    FD_RECEIVED,
    FD_TOLD,
    FD_SOFTIRQ,
    FD_SOFTIRQ_END,
    FD_CALL,
    FD_CALL_END = FD_CALL + 5,
    FDS         = FD_CALL_END
};
static const char *const nettap_fd_name[FDS] = {
    "nettap.sent", "nettap.received", "nettap.told",     "nettap.softirq", "nettap.softirq-end",
    "nettap.send", "nettap.send6",    "nettap.sendpage", "nettap.receive", "nettap.receive6"};
/* FD_RECEIVED: -1 where the kernel cannot call BPF programs from its functions; from FD_CALL on: -1 where the kernel
 * has tracepoints for the calls */
struct nettap {
    int fd[FDS];
};

static unsigned nettap_source_of(const struct rawlog *log, uint32_t kind)
{
    const struct raw_header *h = log->header;
    unsigned                 i = 0;
    while (i < h->source_count && (h->source[i].kind != kind || (h->state[i] != RAW_OPEN && h->state[i] != RAW_ARMING)))
        i++;
    return i;
}
static unsigned nettap_source_index(const struct rawlog *log) { return nettap_source_of(log, SRC_UDP_ENDS); }

bool nettap_wanted(const struct rawlog *log) { return nettap_source_index(log) < log->header->source_count; }
bool nettap_calls_wanted(const struct rawlog *log)
{
    return nettap_wanted(log) && nettap_source_of(log, SRC_SEND_LENGTH) == log->header->source_count;
}

static struct nettap *nettap_new(void)
{
    struct nettap *t = malloc(sizeof *t);
    for (int i = 0; t && i < FDS; i++)
        t->fd[i] = -1;
    return t;
}

void nettap_close(struct nettap *t)
{
    for (int i = 0; t && i < FDS; i++)
        if (t->fd[i] >= 0)
            close(t->fd[i]);
    free(t);
}

void nettap_fds(const struct nettap *t, void (*show)(void *ctx, const char *name, int fd, size_t ring_bytes), void *ctx)
{
    for (int i = 0; t && i < FDS; i++)
        if (t->fd[i] >= 0)
            show(ctx, nettap_fd_name[i], t->fd[i], 0);
}

struct nettap *nettap_adopt(int (*find)(void *ctx, const char *name), void *ctx)
{
    struct nettap *t = nettap_new();
    for (int i = 0; t && i < FDS; i++)
        t->fd[i] = find(ctx, nettap_fd_name[i]);
    if (t && t->fd[FD_SENT] >= 0 && t->fd[FD_TOLD] >= 0 && t->fd[FD_SOFTIRQ] >= 0 && t->fd[FD_SOFTIRQ_END] >= 0)
        return t;
    nettap_close(t);
    return NULL;
}

const char *nettap_advice(wstatus status)
{
#ifdef AL_ARGV_BPF
    return status == W_SUCCESS ? "use a kernel with CONFIG_FUNCTION_TRACER and CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS"
           : status == W_PRIVILEGE_NOT_HELD ? "run with CAP_BPF and CAP_PERFMON, or as root"
                                            : "use a kernel with BTF";
#else
    (void)status;
    return "use a build with clang, bpftool and libbpf-dev, as the packages are";
#endif
}

static const char *nothing(const struct rawlog *log)
{
    return nettap_calls_wanted(log)
               ? "this kernel has no sock:sock_send_length (Linux 6.3 has it): what programs send and receive is not recorded"
               : "addresses of UDP are not recorded";
}

#ifdef AL_ARGV_BPF
static int nettap_fd_take(int *fd)
{
    int taken = *fd > 0 ? *fd : -1;
    *fd       = 0;
    return taken;
}

static int nettap_map_set(int map, uint32_t cpu, const int *fd)
{
    union bpf_attr attr = {.map_fd = (uint32_t)map, .key = (uint64_t)(uintptr_t)&cpu, .value = (uint64_t)(uintptr_t)fd};
    return syscall(SYS_bpf, BPF_MAP_UPDATE_ELEM, &attr, sizeof attr) < 0 ? -errno : 0;
}

static int map_fill(int map, const struct rings *rings, unsigned source)
{
    int r = 0;
    for (uint32_t c = 0; c < rings->cpus && r >= 0 && source < rings->count; c++)
        if (rings->ring[c].fd[source] >= 0)
            r = nettap_map_set(map, c, &rings->ring[c].fd[source]);
    return r;
}

void nettap_cpu(const struct nettap *t, const struct rings *rings, const struct rawlog *log, unsigned cpu)
{
    unsigned source = nettap_source_index(log);
    if (t && source < rings->count && rings->ring[cpu].fd[source] >= 0)
        nettap_map_set(t->fd[FD_TOLD], cpu, &rings->ring[cpu].fd[source]);
}

#define RECEIVED_calls(p) RECEIVED_both(p)
#define RECEIVED_both(p) nettap_fd_take(&(p)->links.on_received_fd)
#define RECEIVED_sent(p) -1
#define CALLS_calls(p, fd) \
    (fd)[FD_CALL]     = nettap_fd_take(&(p)->links.on_send_fd); \
    (fd)[FD_CALL + 1] = nettap_fd_take(&(p)->links.on_send6_fd); \
    (fd)[FD_CALL + 2] = nettap_fd_take(&(p)->links.on_sendpage_fd); \
    (fd)[FD_CALL + 3] = nettap_fd_take(&(p)->links.on_receive_fd); \
    (fd)[FD_CALL + 4] = nettap_fd_take(&(p)->links.on_receive6_fd)
#define CALLS_both(p, fd)
#define CALLS_sent(p, fd)
/* Three skeletons of one shape: LOAD(nettap_both, both) defines a function that loads and attaches it; 0 or -errno. */
#define LOAD(skeleton, way) \
    static int load_##skeleton(unsigned cpus, int *fd, bool *attached) \
    { \
        struct skeleton *p = skeleton##__open(); \
        int              r = p ? 0 : -ENOMEM; \
        if (!r) { \
            p->maps.told.max_entries = cpus; \
            r                        = skeleton##__load(p); \
        } \
        *attached = r >= 0; \
        if (r >= 0) \
            r = skeleton##__attach(p); \
        if (r >= 0) { \
            fd[FD_SENT]        = nettap_fd_take(&p->links.on_queue_fd); \
            fd[FD_RECEIVED]    = RECEIVED_##way(p); \
            fd[FD_TOLD]        = nettap_fd_take(&p->maps.told.map_fd); \
            fd[FD_SOFTIRQ]     = nettap_fd_take(&p->links.on_softirq_fd); \
            fd[FD_SOFTIRQ_END] = nettap_fd_take(&p->links.on_softirq_end_fd); \
            CALLS_##way(p, fd); \
        } \
        skeleton##__destroy(p); \
        return r < 0 ? r : 0; \
    }
LOAD(nettap_calls, calls)
LOAD(nettap_both, both)
LOAD(nettap_sent, sent)

int nettap_programs(enum reach_program what, unsigned cpus, int fd[REACH_FDS], bool *attached)
{
    switch (what) {
    case REACH_NET_CALLS: return load_nettap_calls(cpus, fd, attached);
    case REACH_NET_BOTH: return load_nettap_both(cpus, fd, attached);
    case REACH_NET_SENT: return load_nettap_sent(cpus, fd, attached);
    default: return -EINVAL;
    }
}

/* The programs record nothing until the map has events to write to. */
static int load(enum reach_program what, const struct rings *rings, unsigned source, struct nettap *t)
{
    int  fd[REACH_FDS];
    bool attached = false;
    for (unsigned i = 0; i < REACH_FDS; i++)
        fd[i] = -1;
    int r = reach_is_far() ? reach_load(what, rings->cpus, fd, &attached)
                           : nettap_programs(what, rings->cpus, fd, &attached);
    if (r < 0)
        return r;
    memcpy(t->fd, fd, sizeof t->fd);
    r = map_fill(t->fd[FD_TOLD], rings, source);
    for (int i = 0; r < 0 && i < FDS; i++) {
        if (t->fd[i] >= 0)
            close(t->fd[i]);
        t->fd[i] = -1;
    }
    return r;
}

wstatus nettap_open(const struct rings *rings, const struct rawlog *log, struct nettap **out, struct reason *why)
{
    unsigned       source = nettap_source_index(log);
    struct nettap *t = *out = nettap_new();
    bool           calls    = nettap_calls_wanted(log);
    int            r        = !t ? -ENOMEM : load(calls ? REACH_NET_CALLS : REACH_NET_BOTH, rings, source, t);
    if (!r)
        return W_SUCCESS;
    if (calls && t && r != -EPERM && r != -EACCES &&
        (!load(REACH_NET_BOTH, rings, source, t) || !load(REACH_NET_SENT, rings, source, t)))
        return reason_set(
            why, W_NOT_SUPPORTED,
            "what programs send and receive is not recorded: this kernel has no sock:sock_send_length (Linux 6.3 has it), "
            "and lets no BPF program be called from its functions (%s)",
            strerror(-r));
    if (!calls && t && !load(REACH_NET_SENT, rings, source, t))
        return reason_set(
            why, W_SUCCESS,
            "addresses of UDP datagrams that programs receive are not recorded: this kernel lets no BPF program be "
            "called from its functions (%s)",
            strerror(-r));
    *out = NULL;
    nettap_close(t);
    struct source_rights rights;
    char                 what[200];
    snprintf(what, sizeof what, "%s: their BPF program cannot be loaded (it needs BTF)", nothing(log));
    rights_read("", &rights);
    return rights_bpf(&rights, -r, what, why);
}
#else
void nettap_cpu(const struct nettap *t, const struct rings *rings, const struct rawlog *log, unsigned cpu)
{
    (void)t, (void)rings, (void)log, (void)cpu;
}

int nettap_programs(enum reach_program what, unsigned cpus, int fd[REACH_FDS], bool *attached)
{
    (void)what, (void)cpus, (void)fd, (void)attached;
    return -ENOTSUP;
}

wstatus nettap_open(const struct rings *rings, const struct rawlog *log, struct nettap **out, struct reason *why)
{
    (void)rings;
    *out = NULL;
    return reason_set(why, W_NOT_SUPPORTED, "%s: this program was built without clang, bpftool and libbpf-dev",
                      nothing(log));
}
#endif
