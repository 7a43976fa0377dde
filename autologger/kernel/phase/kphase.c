/* kphase.c - the files of the kernel's trace buffer: sync points, stopping, reading, giving back. See kphase.h. */
#include "autologger/kernel/phase/kphase.h"
#include "autologger/kernel/source/probes.h"
#include "autologger/kernel/source/sources.h"
#include "autologger/kernel/source/tracepoints.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAIL_NS = 20000000, NO_SYSCONFIG = 0x10000000 };

static const char *word_find(const char *line, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = line; (p = strstr(p, word)); p += n)
        if ((p == line || p[-1] == ' ' || p[-1] == '\n') && (!p[n] || p[n] == ' ' || p[n] == '\n'))
            return p;
    return NULL;
}

bool kphase_asked(const char *command_line) { return word_find(command_line, "autologger=kernel") != NULL; }

bool kphase_asked_here(void)
{
    char    line[4096] = "";
    int     fd         = open("/proc/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n          = fd < 0 ? -1 : read(fd, line, sizeof line - 1);
    if (fd >= 0)
        close(fd);
    return n > 0 && kphase_asked(line);
}

bool kphase_wants(const struct source_row *row, const struct klog_config *config)
{
    /* the names of tasks are needed with any flag */
    bool any = (config->mask[0] & ~(uint32_t)NO_SYSCONFIG) || config->mask[1] || config->mask[2] || config->mask[4];
    if (row->flags & SOURCE_KPROBE)
        return config->devices;
    return strchr(row->name, ':') && any && !(row->flags & SOURCE_LIVE) &&
           (source_wanted(row, config) || row == &source_table[SRC_EXEC]);
}

size_t kphase_arguments(const struct klog_config *config, char *out, size_t size)
{
    size_t n      = 0;
    bool   stacks = false;
#define ADD(...) n += (size_t)snprintf(n < size ? out + n : NULL, n < size ? size - n : 0, __VA_ARGS__)
    ADD("autologger=kernel trace_event=initcall:*");
    for (unsigned i = 0; i < SRC_COUNT; i++)
        if (kphase_wants(&source_table[i], config) && strncmp(source_table[i].name, "initcall:", 9) != 0 &&
            !(source_table[i].flags & SOURCE_KPROBE)) {
            ADD(",%s", source_table[i].name);
            stacks |= source_wants_chain(&source_table[i], config);
        }
    ADD(" trace_buf_size=8M trace_clock=perf%s", stacks ? " trace_options=stacktrace" : "");
    if (config->devices) { /* a probe on the command line records as soon as it is defined */
        ADD(" ");
        n += probes_argument(n < size ? out + n : NULL, n < size ? size - n : 0);
    }
#undef ADD
    return n;
}

/* ---- clocks, and the end of the buffer ---- */

static int kphase_file_open(const struct kphase *p, int flags, const char *name)
{
    return openat(p->dir, name, flags | O_CLOEXEC);
}

static bool kphase_file_write(const struct kphase *p, const char *name, const char *text)
{
    int     fd = kphase_file_open(p, O_WRONLY, name);
    ssize_t n  = fd < 0 ? -1 : write(fd, text, strlen(text));
    if (fd >= 0)
        close(fd);
    return n > 0;
}

static bool stats_read(const struct kphase *p, unsigned cpu, struct trace_stats *out)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "per_cpu/cpu%u/stats", cpu);
    return tracefs_read(p->dir, path, text, sizeof text) > 0 && trace_stats_parse(text, out);
}

static bool run_on(unsigned cpu, cpu_set_t *set, size_t bytes)
{
    CPU_ZERO_S(bytes, set);
    CPU_SET_S(cpu, bytes, set);
    return sched_setaffinity(0, bytes, set) == 0;
}

/* Calls `what` (NULL: only visits) on every CPU that this thread may use. */
static void each_cpu(struct kphase *p, void (*what)(struct kphase *p, unsigned cpu, int fd), int fd)
{
    size_t     bytes = CPU_ALLOC_SIZE(p->cpus > 1024 ? p->cpus : 1024);
    cpu_set_t *old = malloc(bytes), *one = malloc(bytes);
    if (old && one && sched_getaffinity(0, bytes, old) >= 0) {
        for (unsigned c = 0; c < p->cpus; c++)
            if (run_on(c, one, bytes) && what)
                what(p, c, fd);
        sched_setaffinity(0, bytes, old);
    }
    free(old);
    free(one);
}

static void sync_here(struct kphase *p, unsigned cpu, int fd)
{
    for (unsigned i = 0; i < KPHASE_SYNCS && p->syncs < p->cpus * KPHASE_SYNCS; i++) {
        char                text[64];
        struct kphase_sync *s = &p->sync[p->syncs];
        int n     = snprintf(text, sizeof text, KPHASE_MARK "%llx %u", (unsigned long long)p->marker, p->syncs);
        s->before = raw_now();
        bool good = write(fd, text, (size_t)n) == n;
        s->after  = raw_now();
        s->cpu    = cpu;
        p->syncs += good;
    }
}

/* The stats file gives the trace clock too, in microseconds: exact enough to find the entries near the seam, and the
 * last resort when no mark can be written. */
static void sync_by_stats(struct kphase *p)
{
    struct trace_stats stats;
    uint64_t           before = raw_now();
    bool               good   = stats_read(p, 0, &stats) && stats.now_ns;
    uint64_t           after  = raw_now();
    if (!good)
        return;
    p->tail_from        = stats.now_ns > TAIL_NS ? stats.now_ns - TAIL_NS : 0;
    p->sync[p->syncs++] = (struct kphase_sync){before, after + 1000, stats.now_ns, 0}; /* wider than any mark */
}

/* An instance has a clock of its own ('local'), which began with that of the main buffer. Their difference now is the
 * error between the times of both buffers before perf. */
static void clocks_compare(const struct kphase *p, int root)
{
    enum { APART_NS = 1000000 };
    struct trace_stats main[2], own;
    char               text[1024];
    for (unsigned i = 0; i < 2; i++) /* before and after */
        if ((i && !stats_read(p, 0, &own)) || tracefs_read(root, "per_cpu/cpu0/stats", text, sizeof text) <= 0 ||
            !trace_stats_parse(text, &main[i]))
            return;
    uint64_t apart = own.now_ns < main[0].now_ns   ? main[0].now_ns - own.now_ns
                     : own.now_ns > main[1].now_ns ? own.now_ns - main[1].now_ns
                                                   : 0;
    if (apart > APART_NS && main[0].now_ns)
        kphase_tell(p, W_NOT_SUPPORTED, true, "apply again, or boot with trace_clock=local",
                    "the clock '%s' of %s and that of the kernel's main buffer have come %llu us "
                    "apart: so much may times before perf be off against those of its session",
                    p->clock, p->config->phase_instance, (unsigned long long)apart / 1000);
}

void kphase_sync(struct kphase *p)
{
    int fd    = kphase_file_open(p, O_WRONLY, "trace_marker");
    int root  = p->config->phase_instance ? tracefs_open() : -1;
    p->marker = raw_now() * 31 + (uint64_t)getpid();
    if (root >= 0) {
        clocks_compare(p, root);
        close(root);
    }
    if (fd >= 0) {
        each_cpu(p, sync_here, fd);
        close(fd);
    }
    sync_by_stats(p);
    p->arming = raw_now();
    if (p->late_start) /* any entry may be in perf too */
        p->arming = p->tail_from = 0;
}

/* Waits longer than a slow machine needs between the two records of one event, with a stack in between: so every event
 * has a record made while both certainly record. */
void kphase_armed(struct kphase *p)
{
    enum { BOTH_US = 1000 };
    p->armed = raw_now();
    usleep(BOTH_US);
}

void kphase_stop(struct kphase *p)
{
    p->stop_before = raw_now();
    if (!kphase_file_write(p, "tracing_on", "0"))
        kphase_tell(p, W_ACCESS_DENIED, false, "run as root, on a kernel that is not locked down",
                    "the kernel's trace buffer could not be stopped: %s", strerror(errno));
    /* a probe runs with preemption off: once this thread has run on a CPU, no entry there is half written */
    each_cpu(p, NULL, -1);
    p->stop_after = raw_now();
}

/* ---- reading ---- */

static void cpu_read(struct kphase *p, unsigned cpu)
{
    char               path[64];
    struct trace_stats stats;
    ssize_t            n;
    if (!stats_read(p, cpu, &stats))
        return;
    uint64_t gone       = stats.overrun + stats.commit_overrun + stats.dropped + stats.read;
    p->cpu[cpu].entries = stats.entries + gone;
    p->cpu[cpu].lost    = gone;
    snprintf(path, sizeof path, "per_cpu/cpu%u/trace_pipe_raw", cpu);
    int fd = kphase_file_open(p, O_RDONLY | O_NONBLOCK, path);
    while (fd >= 0 && ((n = read(fd, p->page, p->page_size)) > 0 || (n < 0 && errno == EINTR)))
        if (n > 0)
            kphase_page(p, cpu, p->page, (size_t)n);
    if (fd >= 0)
        close(fd);
    kphase_cpu_end(p, cpu);
    /* P1: entries of pages that could not be read, or not to their end. (`seen` is at most the count: the kernel counts
     * an entry before it can be read.) */
    uint64_t damaged = stats.entries > p->cpu[cpu].seen ? stats.entries - p->cpu[cpu].seen : 0;
    p->sum.entries += stats.entries + gone;
    p->sum.lost += gone;
    p->sum.damaged += damaged;
    p->cpu[cpu].lost += damaged;
}

/* Maps the time of every record since log_from from the trace clock to CLOCK_MONOTONIC_RAW. The chunks are our own, so
 * they are not checked. */
static void times_map(struct kphase *p)
{
    for (uint64_t pos = p->log_from; pos < p->log->work->write_pos;) {
        struct raw_chunk chunk;
        memcpy(&chunk, rawlog_at(p->log, pos), sizeof chunk);
        uint64_t at = pos + sizeof chunk, end = at + chunk.bytes;
        while (at < end) {
            uint8_t *r = rawlog_at(p->log, at);
            uint32_t type;
            uint16_t size;
            uint64_t time;
            memcpy(&type, r, sizeof type);
            memcpy(&size, r + 6, sizeof size);
            uint8_t *where = type == 9 /* a sample */ ? r + SAMPLE_TIME_AT : r + size - 24;
            memcpy(&time, where, sizeof time);
            time = trace_map_raw(&p->cpu[chunk.cpu].map, time);
            memcpy(where, &time, sizeof time);
            at += size;
        }
        pos = end;
    }
}

static void names_write(struct kphase *p, struct drain *d)
{
    for (size_t i = 0; i < p->names; i++) {
        struct raw_name *r = &p->name[i].record;
        r->own.time        = trace_map_raw(&p->cpu[p->name[i].cpu].map, r->own.time);
        own_add(d, d->notes, r, sizeof *r, NULL, 0);
    }
    for (size_t i = 0; i < p->execs; i++) {
        const struct kphase_exec *x = &p->exec[i];
        enrich_exec(d, x->pid, x->tid, trace_map_raw(&p->cpu[x->cpu].map, x->time), x->before, x->name);
    }
    for (unsigned cpu = 0; cpu < p->cpus; cpu++) {
        const struct kphase_cpu *c = &p->cpu[cpu];
        struct raw_phase_end     r = {.own         = {RAW_PHASE, 0, 0, p->stop_before, 0, 0},
                                      .cpu         = cpu,
                                      .offset_ns   = c->map.offset,
                                      .error_ns    = p->error_ns,
                                      .squeezed_ns = c->map.squeeze,
                                      .first_ns    = c->first,
                                      .entries     = c->entries,
                                      .kept        = c->kept,
                                      .lost        = c->lost};
        memcpy(r.clock, p->clock, sizeof r.clock);
        own_add(d, d->notes, &r, sizeof r, NULL, 0);
    }
    own_flush(d, d->notes);
}

static int kphase_by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void functions_sort(struct kphase *p)
{
    p->function = malloc((p->functions.count + 1) * sizeof *p->function);
    for (size_t i = 0; p->function && i < p->functions.capacity; i++)
        if (p->functions.slot[i].value)
            p->function[p->function_count++] = p->functions.slot[i].key;
    if (p->function)
        qsort(p->function, p->function_count, sizeof *p->function, kphase_by_value);
}

static void say_how(struct kphase *p)
{
    bool     known = false;
    uint64_t kept  = 0;
    for (unsigned c = 0; c < p->cpus; c++)
        kept += p->cpu[c].kept;
    for (unsigned i = 0; i < p->syncs; i++)
        known |= p->sync[i].trace != 0;
    if (!known)
        kphase_tell(p, W_NOT_SUPPORTED, false, "boot with trace_clock=perf, and leave the marker option on",
                    "no sync point could be taken: the times of the kernel phase are those of its clock '%s'",
                    p->clock);
    else
        kphase_tell(p, W_SUCCESS, true, "nothing",
                    "clocks joined within %llu us ('%s' to CLOCK_MONOTONIC_RAW); %llu of %llu entries, the "
                    "rest are stacks, or in perf too",
                    ((unsigned long long)p->error_ns + 999) / 1000, p->clock, (unsigned long long)kept,
                    (unsigned long long)p->sum.entries);
    const uint64_t gone = p->sum.lost + p->sum.damaged;
    if (gone)
        kphase_tell(p, W_NOT_ENOUGH_MEMORY, false, "raise trace_buf_size= on the kernel command line",
                    "%llu entries of the kernel's trace buffer are gone", (unsigned long long)gone);
}

void kphase_begin(struct kphase *p, struct drain *d)
{
    p->log      = d->log;
    p->log_from = d->log->work->write_pos;
}

void kphase_end(struct kphase *p, struct drain *d)
{
    kphase_join(p);
    kphase_seam(p, d->rings);
    for (unsigned c = 0; c < p->cpus; c++) {
        kphase_late_append(p, c);
        kphase_chunk_end(p);
    }
    times_map(p);
    names_write(p, d);
    functions_sort(p);
    p->sum.error_ns       = p->error_ns;
    d->log->header->phase = p->sum;
    rawlog_publish(d->log);
    say_how(p);
}

void kphase_import(struct kphase *p, struct drain *d)
{
    kphase_begin(p, d);
    for (unsigned c = 0; c < p->cpus; c++)
        cpu_read(p, c);
    kphase_end(p, d);
}

const uint64_t *kphase_functions(const struct kphase *p, unsigned *count)
{
    *count = p->function_count;
    return p->function;
}

static void map_free(struct idmap *map)
{
    for (size_t i = 0; i < map->capacity; i++)
        free(map->slot[i].value);
    idmap_finish(map);
}

void kphase_close(struct kphase *p)
{
    if (!p)
        return;
    if (p->stop_after) { /* the tracepoints would slow every later event, and the buffer holds memory */
        kphase_file_write(p, "events/enable", "0");
        kphase_file_write(p, "buffer_size_kb", "1");
    }
    for (unsigned c = 0; p->cpu && c < p->cpus; c++) {
        free(p->cpu[c].late);
        free(p->cpu[c].tail_bytes);
    }
    map_free(&p->tasks);
    idmap_finish(&p->functions);
    free(p->function);
    free(p->name);
    free(p->exec);
    free(p->cpu);
    free(p->sync);
    free(p->chunk);
    free(p->page);
    if (p->dir >= 0)
        close(p->dir);
    if (p->proc >= 0)
        close(p->proc);
    free(p);
}
