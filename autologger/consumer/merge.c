#include "autologger/consumer/merge.h"

#include "autologger/consumer/embedding.h"
#include "autologger/consumer/identity.h"
#include "autologger/consumer/kernel_names.h"
#include "autologger/consumer/redact.h"
#include "autologger/consumer/write_behind.h"
#include "autologger/etl/header.h"
#include "autologger/etl/line.h"
#include "autologger/etl/reader.h"
#include "autologger/etl/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD = sizeof(struct etl_buffer_header), BUFFER_LEAST = 128 << 10, BUFFER_MOST = 16 << 20, PEEK = 1000 };

struct input {
    const char                   *path;
    struct etl_reader            *reader;
    const struct etl_file_header *header;
    struct etl_event              event;
    bool                          has_event, kernel, told; /* told: merged before, has its Session events */
    uint64_t                      events;                  /* so far, without header events */
};
/* The sort key of an input's next event. */
struct merge_head {
    int64_t  time;
    uint32_t cpu, input;
};
struct merge_output {
    uint8_t *data;
    uint32_t filled;
    int64_t  last;
};
struct merge {
    struct os                  *os;
    struct input               *inputs;
    unsigned                    count, leader;
    struct merge_head          *heads; /* a heap of the inputs with an event; the first is the next */
    unsigned                    head_count;
    struct merge_output        *outputs; /* one per CPU */
    uint32_t                    processors, buffer_size;
    struct etl_writer          *writer;
    struct write_behind         behind;
    struct identity            *identity;
    struct kernel_names        *names;
    struct unwinding           *unwinding;
    struct embedding           *embedding;
    const struct merge_options *options;
    struct provenance           provenance; /* the provenance that the files have already */
    uint8_t                    *changed;    /* a record, for the redactor; 64 KB */
    uint64_t                    bytes;      /* of all files */
    struct merge_counts         counts;
};

/* Is the file a kernel session's, by its header or by its first events? */
static bool is_kernel(const struct input *in)
{
    struct etl_reader *look;
    struct etl_event   e;
    bool               kernel = in->header->raw.log_file_mode & ETL_MODE_SYSTEM_LOGGER;

    if (kernel || etl_reader_open(in->path, &look, NULL) != W_SUCCESS)
        return kernel;
    for (unsigned i = 0; i < PEEK && !kernel && etl_next(look, &e); i++)
        kernel = (e.kind == ETL_KIND_SYSTEM || e.kind == ETL_KIND_PERFINFO) && e.hook >> 8 != ETL_GROUP_HEADER;
    etl_reader_close(look);
    return kernel;
}

static const char *merge_clock_name(const struct etl_file_header *h, char text[64])
{
    static const char *const names[] = {"system time", "performance counter", "system time", "CPU cycles"};
    unsigned                 type    = h->raw.clock_type;

    if (type == 3)
        snprintf(text, 64, "%s at %u MHz", names[3], h->raw.cpu_mhz);
    else if (type == 1)
        snprintf(text, 64, "%s at %" PRId64 " Hz", names[1], h->raw.perf_freq);
    else
        snprintf(text, 64, "%s", type < 4 ? names[type] : "an unknown clock");
    return text;
}

/* One clock, one line? */
static wstatus check_clock(const struct merge *m, const struct input *a, const struct input *b, struct reason *why)
{
    char     one[64], two[64];
    uint64_t off;

    switch (etl_lines_compare(a->header, b->header, &off)) {
    case ETL_LINES_CLOCKS:
        return reason_set(
            why, W_INVALID_PARAMETER,
            "%s has the clock %s, %s has %s: files of different clocks can't be merged. Do: merge those of one clock, and give the sessions one ClockType",
            a->path, merge_clock_name(a->header, one), b->path, merge_clock_name(b->header, two));
    case ETL_LINES_APART:
        if (m->options->one_boot)
            return W_SUCCESS;
        return reason_set(
            why, W_INVALID_PARAMETER,
            "%s and %s are not of one boot: by the first one's clock the second starts %" PRIu64 ".%03" PRIu64
            " s away from where it says. Do: merge only files of one boot; if they are, and the date was set "
            "between them, say --one-boot",
            a->path, b->path, off / 10000000, off / 10000 % 1000);
    default: return W_SUCCESS;
    }
}

/* Gives all inputs the line whose date was written last: the system's date may have been set, or corrected, after the
 * others. */
static void lines_join(struct merge *m)
{
    const struct etl_file_header *line = m->inputs[m->leader].header;
    for (unsigned i = 0; i < m->count; i++)
        if (etl_line_later(line, m->inputs[i].header))
            line = m->inputs[i].header;
    const struct etl_file_header to = *line;
    for (unsigned i = 0; i < m->count; i++)
        etl_reader_follow(m->inputs[i].reader, &to);
}

/* One file under two names, too, would give every event twice. */
static wstatus check_once(const struct merge *m, unsigned i, struct reason *why)
{
    struct os_stat a, b;

    if (m->os->stat(m->os, m->inputs[i].path, &a) < 0)
        return W_SUCCESS; /* the reader has it open, and reports what is wrong with it */
    for (unsigned j = 0; j < i; j++)
        if (m->os->stat(m->os, m->inputs[j].path, &b) == 0 && a.device == b.device && a.inode == b.inode)
            return reason_set(why, W_INVALID_PARAMETER,
                              "%s is given twice%s%s: each event would be in the result twice. Do: name each file once",
                              m->inputs[i].path, strcmp(m->inputs[i].path, m->inputs[j].path) ? ", also as " : "",
                              strcmp(m->inputs[i].path, m->inputs[j].path) ? m->inputs[j].path : "");
    return W_SUCCESS;
}

/* They are of one boot: else they would not be merged. */
static bool same_newfile(const struct etl_file_header *a, const struct etl_file_header *b)
{
    return a->raw.log_file_mode & b->raw.log_file_mode & ETL_MODE_NEWFILE && a->logger_name && b->logger_name &&
           strcmp(a->logger_name, b->logger_name) == 0;
}

/* The events that input i has lost beyond earlier inputs: the files of a NEWFILE session count on from one to the
 * next. */
static uint64_t lost_since(const struct merge *m, unsigned i)
{
    const struct etl_file_header *h    = m->inputs[i].header;
    uint64_t                      most = 0;

    for (unsigned j = 0; j < i; j++)
        if (same_newfile(h, m->inputs[j].header) && m->inputs[j].header->raw.events_lost > most)
            most = m->inputs[j].header->raw.events_lost;
    return h->raw.events_lost > most ? h->raw.events_lost - most : 0;
}

static wstatus open_inputs(struct merge *m, const char *const *files, struct reason *why)
{
    bool kernel = false;

    for (unsigned i = 0; i < m->count; i++) {
        struct input *in = &m->inputs[i];
        in->path         = files[i];
        wstatus st       = etl_reader_open(files[i], &in->reader, why);
        if (st != W_SUCCESS)
            return st;
        if ((st = check_once(m, i, why)) != W_SUCCESS)
            return st;
        in->header = etl_reader_header(in->reader);
        in->kernel = is_kernel(in);
        if (!kernel && in->kernel) {
            kernel    = true;
            m->leader = i;
        }
    }
    for (unsigned i = 0; i < m->count; i++) {
        const struct etl_file_header *h  = m->inputs[i].header;
        wstatus                       st = check_clock(m, &m->inputs[m->leader], &m->inputs[i], why);
        if (st != W_SUCCESS)
            return st;
        uint32_t cpus = h->highest_cpu > h->raw.processors ? h->highest_cpu + 1u : h->raw.processors;
        if (!cpus)
            cpus = 1;
        if (cpus > 2048)
            return reason_set(why, W_INVALID_DATA, "%s: %u processors", files[i], cpus);
        m->processors  = cpus > m->processors ? cpus : m->processors;
        uint32_t size  = h->raw.buffer_size > BUFFER_MOST ? BUFFER_MOST : (h->raw.buffer_size + 1023) & ~1023u;
        m->buffer_size = size > m->buffer_size ? size : m->buffer_size;
        m->bytes += h->file_size;
        m->counts.unfinished += h->raw.end_time <= 0;
        m->counts.buffers_lost += h->raw.buffers_lost;
        m->counts.events_lost += lost_since(m, i);
    }
    lines_join(m);
    return W_SUCCESS;
}

/* The target may be missing, an empty file or an .etl, but none of the inputs. */
static wstatus check_target(struct merge *m, const char *target, struct reason *why)
{
    struct os_stat t, in;
    uint8_t        start[HEADER_LEAST];

    if (m->os->lstat(m->os, target, &t) < 0)
        return W_SUCCESS;
    if (!S_ISREG(t.mode))
        return reason_set(why, S_ISDIR(t.mode) ? W_BAD_PATHNAME : W_ALREADY_EXISTS, "%s is not a regular file", target);
    for (unsigned i = 0; i < m->count; i++)
        if (m->os->stat(m->os, m->inputs[i].path, &in) == 0 && in.device == t.device && in.inode == t.inode)
            return reason_set(why, W_INVALID_PARAMETER, "%s is to be read and written. Do: choose another name with -o",
                              target);
    int fd = m->os->open(m->os, target, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0)
        return reason_set(why, wstatus_from_errno(-fd), "%s: %s", target, strerror(-fd));
    ssize_t n = m->os->pread(m->os, fd, start, sizeof start, 0);
    m->os->close(m->os, fd);
    if (n > 0 && !etl_header_like(start, (size_t)n))
        return reason_set(why, W_ALREADY_EXISTS, "%s exists and is not an .etl file; it is not replaced", target);
    return W_SUCCESS;
}

static wstatus start_output(struct merge *m, const char *temporary, const char *target, struct reason *why)
{
    const struct etl_file_header *h    = m->inputs[m->leader].header;
    const char                   *base = strrchr(target, '/');
    int64_t                       raw  = h->start_raw;
    uint64_t                      lost = m->counts.buffers_lost;

    for (unsigned i = 0; i < m->count; i++) /* no event comes before the header event: the earliest anchor counts */
        if (m->inputs[i].header->start_raw < raw)
            raw = m->inputs[i].header->start_raw;
    char name[1024];
    snprintf(name, sizeof name, "%s", h->logger_name ? h->logger_name : "");
    if (m->options->redactor)
        redactor_text(m->options->redactor, name, strlen(name), 1);
    struct etl_file_info info = {.logger_name   = name,
                                 .file_name     = base ? base + 1 : target,
                                 .buffer_size   = m->buffer_size,
                                 .processors    = m->processors,
                                 .log_file_mode = ETL_MODE_SEQUENTIAL | ETL_MODE_RELOG |
                                                  (m->options->compress ? ETL_MODE_COMPRESSED : 0),
                                 .clock_type = h->raw.clock_type >= 1 && h->raw.clock_type <= 3 ? h->raw.clock_type : 2,
                                 .perf_freq  = (uint64_t)h->raw.perf_freq,
                                 .cpu_mhz    = h->raw.cpu_mhz,
                                 .boot_time  = (uint64_t)h->raw.boot_time,
                                 .start_time = etl_filetime(h, raw),
                                 .start_raw  = raw,
                                 .thread_id  = (uint32_t)gettid(),
                                 .process_id = (uint32_t)getpid(),
                                 .unfinished_is_nothing = true,
                                 .compress              = m->options->compress,
                                 .compression           = ETL_XPRESS};
    m->outputs                = calloc(m->processors, sizeof *m->outputs);
    if (!m->outputs)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for %u CPUs", m->processors);
    wstatus st = etl_writer_create(m->os, temporary, &info, 0, &m->writer, why);
    if (st != W_SUCCESS)
        return st;
    etl_writer_add_lost(m->writer, lost > UINT32_MAX ? UINT32_MAX : (uint32_t)lost);
    write_behind_begin(&m->behind, temporary);
    return W_SUCCESS;
}

static wstatus merge_flush(struct merge *m, uint16_t cpu, struct reason *why)
{
    struct merge_output *o = &m->outputs[cpu];
    if (!o->data || o->filled == HEAD)
        return W_SUCCESS;
    wstatus st = etl_writer_put(m->writer, o->data, o->filled, cpu, o->last, why);
    o->filled  = HEAD;
    write_behind_at(&m->behind, etl_writer_state(m->writer).file_offset);
    return st;
}

/* Late events have the CPU number after the last in their file (session/logger.c, G4). Here they get a CPU that exists:
 * the merge is in time order, so they keep their place. */
static uint16_t merge_cpu_of(const struct input *in)
{
    const struct etl_file_header *h = in->header;
    return in->event.cpu == h->raw.processors && h->highest_cpu == h->raw.processors ? 0 : in->event.cpu;
}

static wstatus put_as_is(struct merge *m, uint16_t cpu, const void *record, uint32_t record_size, int64_t time,
                         struct reason *why)
{
    struct merge_output *o    = &m->outputs[cpu];
    uint32_t             size = (record_size + 7) & ~7u;
    wstatus              st;

    if (!o->data) {
        if (!(o->data = malloc(m->buffer_size)))
            return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the buffer of CPU %u", cpu);
        o->filled = HEAD;
    }
    if (o->filled + size > m->buffer_size && (st = merge_flush(m, cpu, why)) != W_SUCCESS)
        return st;
    memcpy(o->data + o->filled, record, record_size);
    memset(o->data + o->filled + record_size, 0, size - record_size);
    o->filled += size;
    o->last = time;
    m->counts.out++;
    return W_SUCCESS;
}

static wstatus merge_put(struct merge *m, uint16_t cpu, const void *record, uint32_t record_size, int64_t time,
                         struct reason *why)
{
    struct redactor *r = m->options->redactor;

    if (!r)
        return put_as_is(m, cpu, record, record_size, time, why);
    if (record_size > ETL_MAX_EVENT || (!m->changed && !(m->changed = malloc(ETL_MAX_EVENT))))
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for an event of %u bytes", record_size);
    memcpy(m->changed, record, record_size);
    if (!redactor_record(r, m->changed, record_size) || redactor_failed(r))
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "an event can't be redacted");
    return put_as_is(m, cpu, m->changed, record_size, time, why);
}

static wstatus put_added(void *ctx, uint16_t cpu, const void *record, uint32_t size, int64_t time, struct reason *why)
{
    struct merge *m = ctx;
    m->counts.added++;
    return merge_put(m, cpu, record, size, time, why);
}

/* Copies an event, after the events that belong before it. */
static wstatus merge_copy(struct merge *m, struct input *in, struct reason *why)
{
    const struct etl_event *e     = &in->event;
    struct added_events     added = {put_added, m};
    bool                    kept  = !m->options->keep || m->options->keep(m->options->ctx, e);
    wstatus                 st    = m->options->inject ? m->options->inject(m->options->ctx, &added, why) : W_SUCCESS;

    if (st != W_SUCCESS)
        return st;
    if (!kept) {
        m->counts.left_out++;
        return W_SUCCESS;
    }
    if (m->options->plain)
        return merge_put(m, merge_cpu_of(in), e->record, e->record_size, e->raw_time, why);
    st = in->kernel ? identity_see(m->identity, e, &added, why) : W_SUCCESS;

    if (st == W_SUCCESS && !(in->kernel ? kernel_names_see : kernel_names_see_stack)(m->names, e))
        st = reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the addresses of stacks");
    if (m->options->provenance)
        in->told |= provenance_see(&m->provenance, e);
    if (st == W_SUCCESS && !embedding_see(m->embedding, e))
        st = reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the descriptions of events");
    uint8_t  stack[UNWINDING_RECORD];
    uint32_t size = st == W_SUCCESS && in->kernel ? unwinding_see(m->unwinding, in->path, e, stack) : 0;
    if (size)
        return merge_put(m, merge_cpu_of(in), stack, size, e->raw_time, why);
    return st == W_SUCCESS ? merge_put(m, merge_cpu_of(in), e->record, e->record_size, e->raw_time, why) : st;
}

/* The next event of an input; its own header event is counted and passed over. */
static void advance(struct merge *m, struct input *in)
{
    while ((in->has_event = etl_next(in->reader, &in->event))) {
        m->counts.in++;
        if (!etl_event_is_header(&in->event)) {
            in->events++;
            return;
        }
        m->counts.headers_dropped++;
    }
}

static wstatus add_provenance(struct merge *m, int64_t time, struct reason *why)
{
    const struct added_events to      = {put_added, m};
    struct provenance_source *sources = calloc(m->count, sizeof *sources);
    bool                     *told    = calloc(m->count, sizeof *told);
    wstatus                   st      = W_NOT_ENOUGH_MEMORY;

    for (unsigned i = 0; i < m->count && sources && told; i++) {
        const struct input *in = &m->inputs[i];
        sources[i]             = (struct provenance_source){
                        .header = in->header, .path = in->path, .of = m->options->of, .events = in->events};
        told[i] = in->told;
        etl_reader_damage(in->reader, &sources[i].damage);
    }
    if (sources && told && !m->provenance.failed)
        st = provenance_write(&m->provenance, sources, told, m->count, m->options->configuration,
                              m->options->configuration_ctx, time, &to, why);
    else
        reason_set(why, st, "no memory for where the events come from");
    free(sources);
    free(told);
    return st;
}

/* Adds the events that come after all copied ones. */
static wstatus add_rest(struct merge *m, int64_t last, struct reason *why)
{
    const struct added_events to = {put_added, m};
    wstatus                   st = kernel_names_write(m->names, "", last, &to, why);

    if (st == W_SUCCESS)
        st = embedding_write(m->embedding, last, &to, why);
    return st == W_SUCCESS && m->options->provenance ? add_provenance(m, last, why) : st;
}

static void merge_tell(const struct merge *m)
{
    enum { EVERY = 1 << 14 };
    uint64_t at = 0;

    if (!m->options->progress || m->counts.in % EVERY)
        return;
    for (unsigned i = 0; i < m->count; i++)
        at += m->inputs[i].has_event ? m->inputs[i].event.file_offset : m->inputs[i].header->file_size;
    m->options->progress(m->options->progress_ctx, (unsigned)(at * 1000 / (m->bytes ? m->bytes : 1)));
}

/* Equal stamps: lower CPU, then argument order. */
static bool comes_before(const struct merge_head *a, const struct merge_head *b)
{
    if (a->time != b->time)
        return a->time < b->time;
    return a->cpu != b->cpu ? a->cpu < b->cpu : a->input < b->input;
}

/* Puts `h` where it belongs below place `at`, which is free. */
static void heap_down(struct merge *m, unsigned at, struct merge_head h)
{
    for (unsigned child; (child = 2 * at + 1) < m->head_count; at = child) {
        if (child + 1 < m->head_count && comes_before(&m->heads[child + 1], &m->heads[child]))
            child++;
        if (!comes_before(&m->heads[child], &h))
            break;
        m->heads[at] = m->heads[child];
    }
    m->heads[at] = h;
}

static struct merge_head merge_head_of(const struct merge *m, unsigned i)
{
    return (struct merge_head){m->inputs[i].event.raw_time, m->inputs[i].event.cpu, i};
}

static void heap_begin(struct merge *m)
{
    for (unsigned i = 0; i < m->count; i++) {
        advance(m, &m->inputs[i]);
        if (m->inputs[i].has_event)
            m->heads[m->head_count++] = merge_head_of(m, i);
    }
    for (unsigned at = m->head_count / 2; at-- > 0;)
        heap_down(m, at, m->heads[at]);
}

/* Replaces the first entry by its input's next event, or by the last entry of the heap when the input has none. */
static void heap_next(struct merge *m)
{
    const unsigned i = m->heads[0].input;

    advance(m, &m->inputs[i]);
    if (m->inputs[i].has_event)
        heap_down(m, 0, merge_head_of(m, i));
    else if (--m->head_count)
        heap_down(m, 0, m->heads[m->head_count]);
}

static wstatus merge_copy_all(struct merge *m, uint64_t *end_time, struct reason *why)
{
    int64_t last = INT64_MIN;
    wstatus st   = W_SUCCESS;

    heap_begin(m);
    while (st == W_SUCCESS && m->head_count) {
        struct input *least = &m->inputs[m->heads[0].input];
        if (least->event.raw_time < last && m->counts.inversions++ == 0)
            snprintf(m->counts.first_inversion, sizeof m->counts.first_inversion,
                     "%.300s: offset %" PRIu64 ": an event is earlier than the one before it", least->path,
                     least->event.file_offset);
        last = least->event.raw_time;
        if (least->event.filetime > *end_time)
            *end_time = least->event.filetime;
        st = merge_copy(m, least, why);
        heap_next(m);
        merge_tell(m);
    }
    if (st == W_SUCCESS && last != INT64_MIN && !m->options->plain)
        st = add_rest(m, last, why);
    for (uint32_t cpu = 0; cpu < m->processors && st == W_SUCCESS; cpu++)
        st = merge_flush(m, (uint16_t)cpu, why);
    return st;
}

static wstatus finish_output(struct merge *m, uint64_t end_time, struct reason *why)
{
    unsigned damage;

    for (unsigned i = 0; i < m->count; i++) {
        uint64_t end = (uint64_t)m->inputs[i].header->raw.end_time;
        if (m->inputs[i].header->raw.end_time > 0 && end > end_time)
            end_time = end;
        const struct etl_damage *first = etl_reader_damage(m->inputs[i].reader, &damage);
        if (damage && !m->counts.damage)
            snprintf(m->counts.first_damage, sizeof m->counts.first_damage, "%.200s: offset %" PRIu64 ": %s",
                     m->inputs[i].path, first->offset, first->text);
        m->counts.damage += damage;
    }
    if (m->counts.headers_dropped) { /* the writer wrote a new one: the leader's */
        m->counts.headers_dropped--;
        m->counts.out++;
    }
    return etl_writer_finish(m->writer, end_time, m->counts.events_lost, true, why);
}

static void merge_finish(struct merge *m)
{
    write_behind_end(&m->behind);
    etl_writer_destroy(m->writer);
    identity_destroy(m->identity);
    kernel_names_destroy(m->names);
    unwinding_destroy(m->unwinding);
    embedding_destroy(m->embedding);
    provenance_finish(&m->provenance);
    for (unsigned i = 0; m->inputs && i < m->count; i++)
        etl_reader_close(m->inputs[i].reader);
    for (uint32_t i = 0; m->outputs && i < m->processors; i++)
        free(m->outputs[i].data);
    free(m->inputs);
    free(m->heads);
    free(m->outputs);
    free(m->changed);
}

/* A reason names the target, not its temporary name. */
static void hide_temporary(struct reason *why, const char *temporary, size_t target)
{
    size_t length = strlen(temporary);

    for (char *p = why->text; (p = strstr(p, temporary)); p += target)
        memmove(p + target, p + length, strlen(p + length) + 1);
}

wstatus merge_files(struct os *os, const char *const *files, unsigned count, const char *target,
                    struct merge_counts *counts, struct reason *why)
{
    return merge_files_with(os, files, count, target, &(struct merge_options){0}, counts, why);
}

wstatus merge_files_with(struct os *os, const char *const *files, unsigned count, const char *target,
                         const struct merge_options *options, struct merge_counts *counts, struct reason *why)
{
    struct merge m = {
        .os = os, .count = count, .options = options, .buffer_size = BUFFER_LEAST, .processors = 1, .behind.fd = -1};
    char    *temporary = NULL;
    uint64_t end_time  = 0;
    bool     made      = false;
    wstatus  st;

    *counts = m.counts;
    if (count == 0)
        return reason_set(why, W_INVALID_PARAMETER, "no file to merge into %s", target);
    m.inputs    = calloc(count, sizeof *m.inputs);
    m.heads     = calloc(count, sizeof *m.heads);
    m.identity  = identity_create();
    m.names     = kernel_names_create();
    m.unwinding = unwinding_create();
    m.embedding = embedding_create(options->publishers);
    if (asprintf(&temporary, "%s.merging-%d", target, options->temporary_of ? options->temporary_of : (int)getpid()) <
        0)
        temporary = NULL;
    if (!m.inputs || !m.heads || !m.identity || !m.names || !m.unwinding || !m.embedding || !temporary) {
        st = reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for %u files", count);
        goto out;
    }
    if ((st = open_inputs(&m, files, why)) != W_SUCCESS)
        goto out;
    counts->opened = m.counts.opened = true;
    if ((st = check_target(&m, target, why)) != W_SUCCESS ||
        (st = start_output(&m, temporary, target, why)) != W_SUCCESS)
        goto out;
    made = true;
    if ((st = merge_copy_all(&m, &end_time, why)) != W_SUCCESS || (st = finish_output(&m, end_time, why)) != W_SUCCESS)
        goto out;
    int r = os->rename(os, temporary, target);
    if (r < 0)
        st = reason_set(why, wstatus_from_errno(-r), "%s: %s", target, strerror(-r));
    else
        made = false;
    *counts          = m.counts;
    counts->identity = *identity_counts(m.identity);
    counts->names    = *kernel_names_counts(m.names);
    counts->stacks   = *unwinding_counts(m.unwinding);
    counts->metadata = *embedding_counts(m.embedding);
out:
    if (made)
        os->unlink(os, temporary);
    if (st != W_SUCCESS && why && temporary)
        hide_temporary(why, temporary, strlen(target));
    merge_finish(&m);
    free(temporary);
    return st;
}
