/* rings.c - opening, mapping and counting perf events. See rings.h. */
#include "autologger/kernel/source/rings.h"
#include "autologger/kernel/source/memcalls.h"
#include "autologger/kernel/source/probes.h"
#include "autologger/kernel/source/reach.h"
#include "autologger/kernel/source/rights.h"
#include "autologger/kernel/source/sources.h"
#include "autologger/kernel/source/tracepoints.h"
#include "autologger/wire/stack_copy.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    NO_SYSCONFIG   = 0x10000000,
    RING_DEFAULT   = 4 << 20,
    RING_LEAST     = 64 << 10,
    RINGS_TOGETHER = 64 << 20,
    RING_ROOM      = 3 << 19,
    PMC_PERIOD     = 1000003 /* a prime: in step with nothing */
};

/* The drainer is woken when a ring is half full, or later if that still leaves it enough room until it runs: its work
 * during a boot is part of the boot's cost. Rings larger than usual have larger records. */
static uint32_t wake_at(size_t ring_bytes)
{
    bool late = ring_bytes > 2 * (size_t)RING_ROOM && ring_bytes <= RING_DEFAULT;
    return (uint32_t)(late ? ring_bytes - RING_ROOM : ring_bytes / 2);
}

static struct perf_event_attr base_attr(size_t ring_bytes)
{
    return (struct perf_event_attr){.size             = sizeof(struct perf_event_attr),
                                    .disabled         = 1,
                                    .sample_id_all    = 1,
                                    .use_clockid      = 1,
                                    .clockid          = CLOCK_MONOTONIC_RAW,
                                    .watermark        = 1,
                                    .wakeup_watermark = wake_at(ring_bytes),
                                    .sample_type =
                                        PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
                                    .read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST};
}

static wstatus rings_refused(int error, struct reason *why)
{
    struct source_rights r;
    rights_read("", &r);
    return rights_refused(&r, error, why);
}

/* The side-band event carries fork, exec, exit and mappings, and holds the ring. Old kernels lack some of its
 * attributes. */
static int sideband_open(const struct klog_config *config, struct perf_event_attr attr, unsigned cpu)
{
    bool alone = config->tracepoint_count && config->mask[0] == NO_SYSCONFIG && !config->mask[1] && !config->mask[2] &&
                 !config->mask[4];
    attr.type   = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_DUMMY;
    attr.task   = 1; /* shows which threads are the kernel's */
    attr.mmap = attr.mmap2 = attr.comm = attr.comm_exec = attr.build_id = !alone; /* not needed for tracepoints alone */
    int fd                                                              = reach_perf(&attr, cpu);
    if (fd == -EINVAL) { /* before 5.12 */
        attr.build_id = 0;
        fd            = reach_perf(&attr, cpu);
    }
    if (fd == -EINVAL) { /* before 6.0 */
        attr.read_format = PERF_FORMAT_ID;
        fd               = reach_perf(&attr, cpu);
    }
    return fd;
}

/* Events that perf counts itself, without a tracepoint. Mappings have no count: they are records of the side band. The
 * usual side band has only code mappings, with build ids instead of inode numbers. */
static void software_attr(struct perf_event_attr *attr, unsigned kind)
{
    attr->type          = PERF_TYPE_SOFTWARE;
    attr->config        = kind == SRC_FAULT_MINOR   ? PERF_COUNT_SW_PAGE_FAULTS_MIN
                          : kind == SRC_FAULT_MAJOR ? PERF_COUNT_SW_PAGE_FAULTS_MAJ
                                                    : PERF_COUNT_SW_DUMMY;
    attr->sample_period = kind != SRC_MAPPINGS;
    attr->mmap_data = attr->mmap2 = kind == SRC_MAPPINGS;
    attr->sample_type |= kind == SRC_MAPPINGS ? 0 : PERF_SAMPLE_ADDR;
}

/* Copies the program's registers and stack memory, instead of following its frame pointers. */
static void user_copy_attr(struct perf_event_attr *attr, uint32_t bytes)
{
    attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    attr->sample_regs_user       = STACK_COPY_MASK;
    attr->sample_stack_user      = bytes;
    attr->exclude_callchain_user = 1;
}

static int ring_source_open_one(const struct raw_source *s, const struct klog_config *config,
                                struct perf_event_attr attr, int id, unsigned cpu)
{
    attr.type   = PERF_TYPE_TRACEPOINT;
    attr.config = (uint64_t)id;
    if (s->kind == SRC_CLOCK) {
        attr.type   = PERF_TYPE_SOFTWARE;
        attr.config = PERF_COUNT_SW_CPU_CLOCK;
        attr.sample_period =
            (config->profile_interval ? config->profile_interval : KERNEL_PROFILE_INTERVAL) * UINT64_C(100);
    } else if (s->kind == SRC_PMC) {
        attr.type          = PERF_TYPE_HARDWARE;
        attr.config        = PERF_COUNT_HW_CPU_CYCLES;
        attr.sample_period = PMC_PERIOD;
    } else if (s->kind == SRC_MAPPINGS || (s->flags & RAW_SOURCE_ADDRESS)) {
        software_attr(&attr, s->kind);
    } else {
        if (source_table[s->kind].flags & SOURCE_TAP) {
            attr.type   = PERF_TYPE_SOFTWARE;
            attr.config = PERF_COUNT_SW_BPF_OUTPUT;
        }
        attr.sample_period = 1;
        attr.sample_type |= PERF_SAMPLE_RAW;
    }
    if (sample_shift(s))
        attr.sample_type |= PERF_SAMPLE_IP;
    if (s->flags & RAW_SOURCE_CHAIN)
        attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
    if (s->flags & RAW_SOURCE_CGROUP)
        attr.sample_type |= PERF_SAMPLE_CGROUP;
    if (s->flags & RAW_SOURCE_USER)
        user_copy_attr(&attr, config->user_stack_bytes);
    int fd = reach_perf(&attr, cpu);
    if (fd == -EINVAL) {
        attr.read_format = PERF_FORMAT_ID;
        fd               = reach_perf(&attr, cpu);
    }
    char filter[256];
    if (fd >= 0 && (s->flags & RAW_SOURCE_MEMCALLS) && memcalls_filter(config->mask, filter, sizeof filter))
        ioctl(fd, PERF_EVENT_IOC_SET_FILTER,
              filter); /* a kernel without filters delivers all calls: the converter filters, too */
    return fd;
}

/* Most socket traffic is local between processes (family 1); the kernel filters it at a lower price than we can.
 * Filtered events are not counted. */
static void filter_set(int fd, unsigned kind)
{
    if (fd >= 0 && (kind == SRC_SEND_LENGTH || kind == SRC_RECV_LENGTH))
        ioctl(fd, PERF_EVENT_IOC_SET_FILTER,
              "family == 2 || family == 10"); /* without the filter the converter leaves them out */
}

static wstatus source_ring_map(struct rings *rings, unsigned cpu, struct reason *why)
{
    size_t       page = (size_t)sysconf(_SC_PAGESIZE);
    struct ring *r    = &rings->ring[cpu];
    r->page           = mmap(NULL, rings->bytes + page, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd[0], 0);
    if (r->page == MAP_FAILED) {
        r->page = NULL;
        if (errno == EPERM)
            return reason_set(why, W_PRIVILEGE_NOT_HELD,
                              "a ring of %zu KB for CPU %u is over kernel.perf_event_mlock_kb: CAP_IPC_LOCK is missing",
                              rings->bytes / 1024, cpu);
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for a ring of %zu KB for CPU %u: %s",
                          rings->bytes / 1024, cpu, strerror(errno));
    }
    r->data = (uint8_t *)r->page + page;
    return W_SUCCESS;
}

static void condition(const struct klog_config *config, const char *item, const char *reason, const char *advice)
{
    if (config->condition)
        config->condition(config->condition_ctx, W_NOT_SUPPORTED, false, item, reason, advice);
}

/* Reports a field that a tracepoint lacks. Fields of newer kernels are absent by design and documented
 * (docs/DIFFERENCES.md). */
static void field_missing(const struct klog_config *config, const struct source_row *row, const char *field)
{
    char text[160];
    if (row->flags & SOURCE_NEWER)
        return;
    snprintf(text, sizeof text, "the tracepoint has no field '%s' on this kernel; it is written as 0", field);
    condition(config, row->name, text, "report the kernel version");
}

/* Can samples carry the cgroup? Since 5.7, with CONFIG_CGROUP_PERF. */
static bool cgroup_sampled(void)
{
    struct perf_event_attr attr = base_attr((size_t)sysconf(_SC_PAGESIZE));
    attr.type                   = PERF_TYPE_SOFTWARE;
    attr.config                 = PERF_COUNT_SW_DUMMY;
    attr.read_format            = PERF_FORMAT_ID;
    attr.sample_type |= PERF_SAMPLE_CGROUP;
    int fd = reach_perf(&attr, 0);
    if (fd >= 0)
        close(fd);
    return fd >= 0 || fd == -ENODEV;
}

/* Reports a tracepoint that can't be had. */
static void source_missing(const struct klog_config *config, const struct source_row *row, int error, bool root)
{
    struct source_rights r;
    char                 text[160];
    const char          *advice = root ? "use a newer kernel (with CONFIG_FTRACE), or leave the flag out"
                                       : "run with CAP_SYS_ADMIN, or mount tracefs at /sys/kernel/tracing";
    rights_read("", &r);
    if (!rights_tracefs(&r, -error, text, sizeof text, &advice))
        snprintf(text, sizeof text, root ? "this kernel has no such tracepoint: %s" : "tracefs cannot be opened: %s",
                 strerror(-error));
    condition(config, row->name, text, advice);
}

/* Can samples carry registers and stack? Not if the kernel lacks user registers, nor with another processor's register
 * numbers. */
static bool user_copied(const struct klog_config *config)
{
    struct perf_event_attr attr = base_attr((size_t)sysconf(_SC_PAGESIZE));
    int                    fd   = -1;
    if (!config->user_stack_bytes)
        return false;
    attr.type        = PERF_TYPE_SOFTWARE;
    attr.config      = PERF_COUNT_SW_DUMMY;
    attr.read_format = PERF_FORMAT_ID;
    user_copy_attr(&attr, config->user_stack_bytes);
    if (STACK_COPY_MASK)
        fd = reach_perf(&attr, 0);
    if (fd >= 0)
        close(fd);
    else if (fd != -ENODEV)
        condition(
            config, "UserStacks",
            "this kernel, or this processor, gives no registers and no stack of programs: their stacks go by frame pointers",
            "leave UserStacks out");
    return fd >= 0 || fd == -ENODEV;
}

/* Reports a kernel that has kprobes but not the functions: its compiler may have renamed them. */
static void probes_check(const struct klog_config *config, int root, const struct raw_source *sources, unsigned count)
{
    unsigned found = 0;
    for (unsigned i = 0; i < count; i++)
        found += sources[i].kind == SRC_PROBE_START || sources[i].kind == SRC_PROBE_END;
    probes_instance_end(root);
    if (found < 2 && config->condition && faccessat(root, "kprobe_events", F_OK, 0) == 0)
        config->condition(
            config->condition_ctx, W_NOT_SUPPORTED, true, "DeviceEvents",
            "which driver took which device is not recorded: the kernel lets no event be defined at really_probe",
            "nothing: the rest is recorded");
}

/* Adds the sources that this kernel has; ids[] gets the tracepoints' numbers. */
unsigned rings_sources(const struct klog_config *config, struct raw_source *sources, int *ids)
{
    unsigned   count  = 0;
    int        root   = tracefs_open();
    const bool copied = user_copied(config);
    for (unsigned kind = 0; kind < SRC_COUNT; kind++) {
        const struct source_row *row = &source_table[kind];
        const char              *missing;
        char                     text[160], field[32];
        if (kind != SRC_SIDEBAND &&
            (row->flags & SOURCE_DEVICES ? !config->devices || kind == SRC_UEVENT
                                         : !source_wanted(row, config) || (row->flags & SOURCE_PHASE)))
            continue;
        struct raw_source s  = {.kind = kind};
        int               id = 0;
        snprintf(s.name, sizeof s.name, "%s", row->name);
        if (strchr(row->name, ':')) {
            id = root < 0 ? root : tracefs_tracepoint(root, row, &s, &missing, field);
            if (id < 0 && root >= 0 && (row->flags & SOURCE_OPTIONAL))
                continue;
            if (id < 0) {
                source_missing(config, row, id, root >= 0);
                continue;
            }
            if (missing)
                field_missing(config, row, missing);
            s.flags |= RAW_SOURCE_COUNTER | RAW_SOURCE_RAW;
        }
        if (row->flags & SOURCE_ADDRESS)
            s.flags |= RAW_SOURCE_ADDRESS | RAW_SOURCE_COUNTER;
        if (row->flags & SOURCE_TAP)
            s.flags |= RAW_SOURCE_RAW | (config->mask[0] & 0x02000000 ? RAW_SOURCE_ENDS : 0);
        if ((kind == SRC_SYS_ENTER || kind == SRC_SYS_EXIT) && memcalls_filter(config->mask, text, sizeof text))
            s.flags |= RAW_SOURCE_MEMCALLS;
        if (source_wants_chain(row, config))
            s.flags |= copied ? RAW_SOURCE_CHAIN | RAW_SOURCE_USER : RAW_SOURCE_CHAIN;
        if (kind == SRC_EXEC && config->units && cgroup_sampled())
            s.flags |= RAW_SOURCE_CGROUP;
        ids[count]       = id;
        sources[count++] = s;
    }
    count = tracepoints_find(root, config, sources, ids, count);
    if (config->devices && root >= 0)
        probes_check(config, root, sources, count);
    if (root >= 0)
        close(root);
    return count;
}

/* Sets the provider's own filter. If the kernel refuses it, the source is closed again, so that not everything
 * passes. */
static void wish_filter(const struct klog_config *config, const struct raw_source *source, struct tracepoint_wish *w,
                        int *fd, unsigned cpu)
{
    char text[224];
    if (*fd < 0 || !*w->filter || ioctl(*fd, PERF_EVENT_IOC_SET_FILTER, w->filter) == 0)
        return;
    close(*fd);
    *fd = -1;
    if (cpu != 0)
        return;
    w->opened--;
    if (!config->condition)
        return;
    snprintf(text, sizeof text, "the kernel does not take the filter '%.80s' for %s: it is not recorded", w->filter,
             source->name);
    config->condition(config->condition_ctx, W_INVALID_PARAMETER, false, w->name, text,
                      "use the names of its fields: autologger providers --tracepoints --fields");
}

wstatus rings_source_open(struct rings *rings, const struct klog_config *config, const struct raw_source *s, int id,
                          unsigned slot, unsigned cpu, struct reason *why)
{
    struct ring *r = &rings->ring[cpu];
    char         text[160];
    int          fd = ring_source_open_one(s, config, base_attr(rings->bytes), id, cpu);

    filter_set(fd, s->kind);
    if (s->kind == SRC_TRACEPOINT && fd >= 0) {
        wish_filter(config, s, &config->tracepoints[s->wish], &fd, cpu);
        if (fd < 0)
            return W_SUCCESS;
    }
    if (fd == -EMFILE || fd == -ENFILE)
        return rings_refused(-fd, why);
    if (fd >= 0 && ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, r->fd[0]) < 0) {
        int error = errno;
        close(fd);
        fd = -error;
    }
    if (fd == -ENOENT && s->kind == SRC_PMC) { /* once, not for each CPU */
        if (cpu == 0)
            condition(config, s->name,
                      "this machine has no hardware performance counters, or its hypervisor shows none",
                      "use PROFILE, which samples by time");
    } else if (fd < 0) {
        snprintf(text, sizeof text, "the source cannot be opened on CPU %u: %s", cpu, strerror(-fd));
        condition(config, s->name, text, "check CAP_PERFMON and kernel.perf_event_paranoid");
    }
    r->fd[slot] = fd < 0 ? -1 : fd;
    return W_SUCCESS;
}

wstatus rings_cpu_open(struct rings *rings, const struct klog_config *config, const struct raw_source *sources,
                       const int *ids, unsigned cpu, struct reason *why)
{
    struct ring *r  = &rings->ring[cpu];
    int          fd = sideband_open(config, base_attr(rings->bytes), cpu);
    if (fd == -ENODEV)
        return W_SUCCESS; /* possible, but not online */
    if (fd < 0)
        return rings_refused(-fd, why);
    r->fd[0]       = fd;
    wstatus status = source_ring_map(rings, cpu, why);
    for (unsigned i = 1; i < rings->count && !status; i++)
        if (ids[i] >= 0)
            status = rings_source_open(rings, config, &sources[i], ids[i], i, cpu, why);
    return status;
}

size_t rings_size(unsigned cpus, size_t asked, uint64_t session_bytes, size_t page)
{
    const uint64_t bound = session_bytes > RINGS_TOGETHER ? session_bytes : RINGS_TOGETHER;
    size_t         bytes = page;
    while (bytes < asked)
        bytes *= 2;
    while (bytes > RING_LEAST && bytes > page && (uint64_t)bytes * cpus > bound)
        bytes /= 2;
    return bytes;
}

static size_t ring_asked(const struct klog_config *config)
{
    return config->ring_bytes ? config->ring_bytes : RING_DEFAULT;
}

void rings_tell_smaller(const struct rings *rings, const struct klog_config *config)
{
    char text[200];
    if (rings->bytes >= ring_asked(config) || !config->condition)
        return;
    snprintf(
        text, sizeof text,
        "%u processors: the rings of kernel events have %zu KB each instead of %zu KB, so that they take %llu MB together",
        rings->cpus, rings->bytes / 1024, ring_asked(config) / 1024,
        (unsigned long long)rings->bytes * rings->cpus >> 20);
    config->condition(config->condition_ctx, W_NOT_ENOUGH_MEMORY, true, "rings", text,
                      "raise MaximumBuffers or BufferSize, if events of a ring are lost");
}

static wstatus rings_init(struct rings *rings, const struct klog_config *config, struct reason *why)
{
    long cpus    = sysconf(_SC_NPROCESSORS_CONF);
    *rings       = (struct rings){.cpus = cpus < 1 ? 1 : (unsigned)cpus};
    rings->bytes = rings_size(rings->cpus, ring_asked(config), config->raw_bytes, (size_t)sysconf(_SC_PAGESIZE));
    rings->ring  = calloc(rings->cpus, sizeof *rings->ring);
    if (!rings->ring)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for %u CPUs", rings->cpus);
    for (unsigned c = 0; c < rings->cpus; c++)
        for (unsigned i = 0; i < RAW_SOURCES; i++)
            rings->ring[c].fd[i] = -1;
    return W_SUCCESS;
}

/* A kernel without kprobes is reported once; its devices and modules are still recorded. */
static void probes_prepare(const struct klog_config *config)
{
    const int root  = tracefs_open();
    const int error = root < 0 ? 0 : probes_define(root); /* tracefs has a condition of its own */
    char      text[160];
    if (root >= 0)
        close(root);
    if (!error || !config->condition)
        return;
    snprintf(text, sizeof text,
             error == -ENOENT
                 ? "this kernel has no kprobes: which driver took which device, and how long that was, is not recorded"
                 : "how drivers take their devices is not recorded: tracefs' kprobe_events: %s",
             strerror(-error));
    config->condition(config->condition_ctx, W_NOT_SUPPORTED, true, "DeviceEvents", text,
                      error == -ENOENT ? "use a kernel with CONFIG_KPROBE_EVENTS"
                                       : "run as root, on a kernel that is not locked down");
}

wstatus rings_open(struct rings *rings, const struct klog_config *config, struct raw_source sources[RAW_SOURCES],
                   struct reason *why)
{
    int     ids[RAW_SOURCES] = {0};
    wstatus status           = rings_init(rings, config, why);
    if (status)
        return status;
    struct perf_event_attr attr = base_attr(rings->bytes);
    /* check the right first: a session that is refused reports no conditions */
    int fd = sideband_open(config, attr, 0);
    if (fd < 0 && fd != -ENODEV)
        status = rings_refused(-fd, why);
    else if (fd >= 0)
        close(fd);
    if (!status && config->devices)
        probes_prepare(config);
    if (!status)
        rings->count = rings_sources(config, sources, ids);
    if (!status)
        rings_tell_smaller(rings, config);
    for (unsigned c = 0; c < rings->cpus && !status; c++)
        status = rings_cpu_open(rings, config, sources, ids, c, why);
    if (status)
        rings_close(rings);
    return status;
}

void rings_name(char out[64], unsigned slot, const char *source, unsigned cpu)
{
    snprintf(out, 64, "perf.%u.%.40s.%u", slot, source, cpu);
}

wstatus rings_adopt(struct rings *rings, const struct klog_config *config, const struct rawlog *log,
                    int (*find)(void *ctx, const char *name), void *ctx, struct reason *why)
{
    wstatus status = rings_init(rings, config, why);
    if (!status && rings->cpus != log->header->cpus)
        status = reason_set(why, W_INVALID_DATA, "the predecessor saw %u CPUs, this process %u", log->header->cpus,
                            rings->cpus);
    rings->count = log->header->source_count; /* closed sources are not found */
    for (unsigned c = 0; c < rings->cpus && !status; c++) {
        for (unsigned i = 0; i < rings->count; i++) {
            char name[64];
            rings_name(name, i, log->header->source[i].name, c);
            int fd = rawlog_ids(log, c)[i] ? find(ctx, name) : -1;
            if (fd >= 0 &&
                log->header->state[i] == RAW_CLOSED) { /* the predecessor died before it closed the descriptor */
                close(fd);
                fd = -1;
            }
            rings->ring[c].fd[i] = fd;
        }
        if (rings->ring[c].fd[0] >= 0)
            status = source_ring_map(rings, c, why);
    }
    return status;
}

void rings_ids(const struct rings *rings, struct rawlog *log)
{
    for (unsigned c = 0; c < rings->cpus; c++)
        for (unsigned i = 0; i < rings->count; i++)
            if (rings->ring[c].fd[i] >= 0)
                ioctl(rings->ring[c].fd[i], PERF_EVENT_IOC_ID, &rawlog_ids(log, c)[i]);
}

void rings_enable(const struct rings *rings, bool on)
{
    for (unsigned c = 0; c < rings->cpus; c++)
        for (unsigned i = 0; i < rings->count; i++)
            if (rings->ring[c].fd[i] >= 0)
                ioctl(rings->ring[c].fd[i], on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

void rings_source_enable(const struct rings *rings, unsigned slot, bool on)
{
    for (unsigned c = 0; c < rings->cpus; c++)
        if (rings->ring[c].fd[slot] >= 0)
            ioctl(rings->ring[c].fd[slot], on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

bool rings_present(const struct rings *rings)
{
    for (unsigned c = 0; c < rings->cpus; c++)
        if (rings->ring[c].fd[0] >= 0)
            return true;
    return false;
}

bool rings_hold(const struct rings *rings)
{
    for (unsigned c = 0; c < rings->cpus; c++)
        if (rings->ring[c].page && __atomic_load_n(&rings->ring[c].page->data_head, __ATOMIC_ACQUIRE))
            return true;
    return false;
}

/* A ring mapped read-only is overwritten, never full: so each event wakes the drainer. */
static struct bell bell_open(unsigned cpu, int id)
{
    struct perf_event_attr attr = {.type          = PERF_TYPE_TRACEPOINT,
                                   .size          = sizeof attr,
                                   .config        = (uint64_t)id,
                                   .sample_period = 1,
                                   .wakeup_events = 1};
    struct bell            b    = {.fd = reach_perf(&attr, cpu), .page = NULL};
    if (b.fd < 0)
        return (struct bell){.fd = -1};
    b.page = mmap(NULL, 2 * (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, b.fd, 0);
    if (b.page != MAP_FAILED)
        return b;
    close(b.fd);
    return (struct bell){.fd = -1};
}

static void bell_close(struct bell *b)
{
    if (b->page)
        munmap(b->page, 2 * (size_t)sysconf(_SC_PAGESIZE));
    if (b->fd >= 0)
        close(b->fd);
}

void rings_bell(struct rings *rings)
{
    struct raw_source s = {0};
    const char       *missing;
    char              text[32];
    int               root = tracefs_open(),
        id                 = root < 0 ? root : tracefs_tracepoint(root, &source_table[SRC_EXEC], &s, &missing, text);
    if (root >= 0)
        close(root);
    if (id < 0 || rings->bell || !(rings->bell = calloc(rings->cpus, sizeof *rings->bell)))
        return;
    for (unsigned c = 0; c < rings->cpus; c++)
        rings->bell[c] = rings->ring[c].page ? bell_open(c, id) : (struct bell){.fd = -1};
}

void rings_close(struct rings *rings)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (unsigned c = 0; c < rings->cpus && rings->bell; c++)
        bell_close(&rings->bell[c]);
    free(rings->bell);
    for (unsigned c = 0; c < rings->cpus && rings->ring; c++) {
        struct ring *r = &rings->ring[c];
        if (r->page)
            munmap(r->page, rings->bytes + page);
        for (unsigned i = RAW_SOURCES; i-- > 0;)
            if (r->fd[i] >= 0)
                close(r->fd[i]);
    }
    free(rings->ring);
    *rings = (struct rings){0};
}

bool rings_count(const struct rings *rings, unsigned cpu, unsigned source, uint64_t *value, uint64_t *lost)
{
    uint64_t out[3] = {0}; /* value, id, lost */
    int      fd     = rings->ring[cpu].fd[source];
    if (fd < 0 || read(fd, out, sizeof out) < 16)
        return false;
    *value = out[0];
    *lost  = out[2];
    return true;
}

void rings_wait(const struct rings *rings, pthread_mutex_t *lock, int wake_fd, const int other_fd[RINGS_OTHERS],
                int timeout_ms)
{
    enum { POLL_MAX = 1024 };
    struct pollfd p[POLL_MAX];
    nfds_t        n = 0;
    uint64_t      drop;
    p[n++] = (struct pollfd){wake_fd, POLLIN, 0};
    for (int i = 0; i < RINGS_OTHERS; i++)
        p[n++] = (struct pollfd){other_fd[i], POLLIN, 0};
    pthread_mutex_lock(lock);
    for (unsigned c = 0; c < rings->cpus && n < POLL_MAX; c++)
        if (rings->ring[c].page)
            p[n++] = (struct pollfd){rings->ring[c].fd[0], POLLIN, 0};
    for (unsigned c = 0; c < rings->cpus && n < POLL_MAX && rings->bell; c++)
        p[n++] = (struct pollfd){rings->bell[c].fd, POLLIN, 0}; /* poll skips -1 */
    pthread_mutex_unlock(lock);
    if (poll(p, n, timeout_ms) > 0 && (p[0].revents & POLLIN) && read(wake_fd, &drop, sizeof drop) < 0)
        return;
}
