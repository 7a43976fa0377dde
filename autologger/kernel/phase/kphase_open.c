/* kphase_open.c - opens a trace buffer, the main one or an instance: the events that it records, their numbers and
 * fields; also for the successor of a program that died before it had read the buffer. See kphase.h. */
#include "autologger/kernel/phase/kphase.h"
#include "autologger/kernel/source/probes.h"
#include "autologger/kernel/source/sources.h"
#include "autologger/kernel/source/tracepoints.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STACK_ID = 4, MARK_ID = 5, FORMAT_MOST = 8192 };

void kphase_tell(const struct kphase *p, wstatus number, bool note, const char *advice, const char *format, ...)
{
    char    text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (p->config->condition)
        p->config->condition(p->config->condition_ctx, number, note, "kernel phase", text, advice);
}

struct kphase *kphase_new(const struct klog_config *config, unsigned cpus)
{
    struct kphase *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    *p       = (struct kphase){.config       = config,
                               .dir          = -1,
                               .proc         = -1,
                               .cpus         = cpus,
                               .stack_id     = STACK_ID,
                               .mark_id      = MARK_ID,
                               .stack_size   = {8, 4},
                               .stack_frames = {16, 8},
                               .mark_text    = {16, 0},
                               .page_size    = 4096,
                               .tail_from    = UINT64_MAX,
                               .clock        = "perf"};
    p->cpu   = calloc(cpus, sizeof *p->cpu);
    p->sync  = calloc((size_t)cpus * KPHASE_SYNCS + 1, sizeof *p->sync);
    p->chunk = malloc(KPHASE_CHUNK);
    p->page  = malloc(TRACE_PAGE_MAX);
    if (p->cpu && p->sync && p->chunk && p->page)
        return p;
    kphase_close(p);
    return NULL;
}

static bool clock_find(struct kphase *p)
{
    static const char *const in_ns[] = {"local", "global", "perf", "mono", "mono_raw", "boot", "tai"};
    char                     text[256];
    if (tracefs_read(p->dir, "trace_clock", text, sizeof text) < 0)
        return false;
    const char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;
    if (!close || (size_t)(close - open) > sizeof p->clock)
        return false;
    memset(p->clock, 0, sizeof p->clock);
    memcpy(p->clock, open + 1, (size_t)(close - open - 1));
    for (size_t i = 0; i < sizeof in_ns / sizeof *in_ns; i++)
        if (strcmp(p->clock, in_ns[i]) == 0)
            return true;
    return false;
}

/* One row of the table as this kernel has it; false if the kernel lacks it. */
static bool source_find(struct kphase *p, unsigned kind, unsigned index)
{
    const struct source_row *row = &source_table[kind];
    struct raw_source        s   = {.kind = kind, .flags = RAW_SOURCE_PHASE | RAW_SOURCE_RAW};
    const char              *missing;
    char                     field[32];
    int                      id = tracefs_tracepoint(p->dir, row, &s, &missing, field);
    if (id <= 0 || id >= KPHASE_IDS)
        return false;
    snprintf(s.name, sizeof s.name, RAW_PHASE_NAME "%s", row->name);
    if (source_wants_chain(row, p->config))
        s.flags |= RAW_SOURCE_CHAIN;
    p->source[index] = s;
    p->by_id[id]     = (uint8_t)index;
    return true;
}

static void formats_read(struct kphase *p)
{
    char text[4096];
    if (tracefs_read(p->dir, "events/ftrace/kernel_stack/format", text, sizeof text) > 0) {
        format_field(text, "size", 4, &p->stack_size);
        format_field(text, "caller", 6, &p->stack_frames);
    }
    if (tracefs_read(p->dir, "events/ftrace/print/format", text, sizeof text) > 0)
        format_field(text, "buf", 3, &p->mark_text);
    if (tracefs_read(p->dir, "events/header_page", text, sizeof text) > 0)
        p->page_size = trace_page_size(text);
}

static int instance_open(const struct klog_config *config)
{
    int root = tracefs_open();
    if (root < 0 || !config->phase_instance || !*config->phase_instance)
        return root;
    char path[128];
    snprintf(path, sizeof path, "instances/%s", config->phase_instance);
    int dir = openat(root, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int why = dir < 0 ? -errno : 0;
    close(root);
    return dir < 0 ? why : dir;
}

/* Opens the buffer's folder. NULL: not asked for, or a condition says why not. */
static struct kphase *kphase_open_folder_open(const struct klog_config *config, unsigned cpus)
{
    struct kphase *p = config->kernel_phase ? kphase_new(config, cpus) : NULL;
    if (!p || (p->dir = instance_open(config)) >= 0)
        return p;
    if (p->dir == -ENOENT && config->tracepoint_count && config->phase_instance)
        kphase_tell(p, W_NOT_SUPPORTED, true, "use Linux 6.3 or newer, and apply again",
                    "tracepoints before the initramfs are not recorded: there is no trace instance %s",
                    config->phase_instance);
    else
        kphase_tell(p, W_NOT_SUPPORTED, false,
                    "mount tracefs, and use a kernel with CONFIG_FTRACE that is not locked down",
                    "the kernel's trace buffer cannot be opened: %s", strerror(-p->dir));
    kphase_close(p);
    return NULL;
}

static bool is_stopped(const struct kphase *p)
{
    char on[8];
    return tracefs_read(p->dir, "tracing_on", on, sizeof on) > 0 && on[0] == '0';
}

/* False, with a condition: the buffer's clock does not count nanoseconds. */
static bool clock_good(struct kphase *p)
{
    if (clock_find(p))
        return true;
    kphase_tell(p, W_NOT_SUPPORTED, false, "boot with trace_clock=perf",
                "the kernel's trace buffer has the clock '%s', which does not count nanoseconds", p->clock);
    return false;
}

struct kphase *kphase_open(const struct klog_config *config, unsigned cpus, struct raw_source sources[RAW_SOURCES],
                           unsigned *count)
{
    struct kphase *p = kphase_open_folder_open(config, cpus);
    if (p && is_stopped(p)) {
        kphase_tell(
            p, W_NOT_SUPPORTED, true, "look for the early program's own file (autologger recover)",
            "the time before the initramfs is not in this session: the kernel's trace buffer was stopped before it began, by another session or program");
    } else if (p && clock_good(p)) {
        kphase_sources(p, sources, count);
        return p;
    }
    kphase_close(p);
    return NULL;
}

/* True if the log's sources from `first` on are those that the buffer has now. */
static bool sources_agree(const struct kphase *p, const struct raw_header *h, unsigned first)
{
    unsigned count = 0;
    for (unsigned i = first; i < h->source_count; i++)
        count += (h->source[i].flags & RAW_SOURCE_PHASE) != 0;
    return count == p->count && memcmp(h->source + first, p->source + first, count * sizeof *h->source) == 0;
}

struct kphase *kphase_adopt(const struct klog_config *config, const struct rawlog *log, bool armed)
{
    const struct raw_header *h     = log->header;
    struct raw_source       *found = NULL;
    unsigned                 first = 0, count;
    while (first < h->source_count && !(h->source[first].flags & RAW_SOURCE_PHASE))
        first++;
    count            = first;
    struct kphase *p = first < h->source_count ? kphase_open_folder_open(config, h->cpus) : NULL;
    if (!p)
        return NULL;
    const bool imported = h->phase.entries != 0; /* it died after the import: only give the buffer back */
    if (!imported && (found = calloc(RAW_SOURCES, sizeof *found)) && clock_good(p)) {
        kphase_sources(p, found, &count);
        if (sources_agree(p, h, first)) {
            p->late_start = armed;
            p->late_stop  = is_stopped(p);
            free(found);
            return p;
        }
        kphase_tell(
            p, W_INVALID_DATA, false, "boot again; change no events below tracefs while a boot is traced",
            "the time before the initramfs is lost: a program that began to read the kernel's trace buffer has died, and the buffer has other events now");
    }
    free(found);
    kphase_stop(p);
    kphase_close(p);
    return NULL;
}

/* A tracepoint that the session wants as a provider, and that the command line has armed. The first of two providers
 * gets it. The seam compares its fields. */
static void wish_find(void *ctx, const char *name, const char *folder)
{
    struct kphase          *p     = ctx;
    const unsigned          index = p->first + p->count;
    struct raw_source       s = {.kind = SRC_TRACEPOINT, .flags = RAW_SOURCE_PHASE | RAW_SOURCE_RAW, .wish = p->wish};
    struct tracepoint_field f;
    char                    path[224], text[FORMAT_MOST];
    const char             *next = NULL;
    snprintf(path, sizeof path, "%s/enable", folder);
    if (tracefs_read(p->dir, path, text, sizeof text) <= 0 || *text != '1' || index >= RAW_SOURCES)
        return;
    snprintf(path, sizeof path, "%s/id", folder);
    int id = tracefs_read(p->dir, path, text, sizeof text) > 0 ? atoi(text) : 0;
    int n  = snprintf(s.name, sizeof s.name, RAW_PHASE_NAME "%s", name);
    snprintf(path, sizeof path, "%s/format", folder);
    if (id <= 0 || id >= KPHASE_IDS || p->by_id[id] || (size_t)n >= sizeof s.name ||
        tracefs_read(p->dir, path, text, sizeof text) <= 0)
        return;
    for (unsigned i = 0; i < RAW_FIELDS; i++)
        s.field[i] = tracepoint_field_next(text, &next, &f) ? (struct raw_field){f.offset, f.size}
                                                            : (struct raw_field){RAW_NO_FIELD, 0};
    if (p->config->tracepoints[p->wish].stacks)
        s.flags |= RAW_SOURCE_CHAIN;
    p->source[index] = s;
    p->by_id[id]     = (uint8_t)index;
    p->count++;
}

void kphase_sources(struct kphase *p, struct raw_source sources[RAW_SOURCES], unsigned *count)
{
    formats_read(p);
    p->proc  = proc_open(p->config->proc_fd);
    p->first = *count;
    for (unsigned kind = 0; kind < SRC_COUNT && p->first + p->count < RAW_SOURCES; kind++)
        if (kphase_wants(&source_table[kind], p->config) && source_find(p, kind, p->first + p->count))
            p->count++;
    for (p->wish = 0; p->wish < p->config->tracepoint_count; p->wish++)
        if (!*p->config->tracepoints[p->wish].filter) /* the buffer is not filtered */
            tracepoints_match(p->dir, p->config->tracepoints[p->wish].pattern, wish_find, p);
    probes_instance_end(p->dir);
    memcpy(sources + p->first, p->source + p->first, p->count * sizeof *sources);
    *count += p->count;
}

void kphase_ids(const struct kphase *p, struct rawlog *log)
{
    for (unsigned c = 0; c < p->cpus; c++)
        for (unsigned i = p->first; i < p->first + p->count; i++)
            rawlog_ids(log, c)[i] = RAW_ID_SOURCE | i;
}
