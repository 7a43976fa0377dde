/* The two forms of a summary: text for people, one JSON object for programs. */
#include "autologger/consumer/summary.h"

#include "autologger/schema/text.h"
#include "registry-sim/base/visible_print.h"
#include "registry-sim/win32/filetime.h"

#include <inttypes.h>
#include <string.h>
#include <yajl/yajl_gen.h>

static const char *summary_print_clock_name(uint32_t type)
{
    static const char *const names[] = {"system time", "performance counter", "system time", "CPU cycles"};
    return type < sizeof names / sizeof *names ? names[type] : "unknown";
}

static void print_time(FILE *out, const char *label, int64_t filetime, const char *none)
{
    char text[FILETIME_TEXT_SIZE];
    visible_printf(out, "%-16s%s\n", label, filetime > 0 ? filetime_format((uint64_t)filetime, text) : none);
}

/* A name from the file on one line: control characters are escaped. */
static void print_name(FILE *out, const char *name) { visible_puts(out, name); }

static void print_header(const struct summary *s, FILE *out)
{
    const struct etl_file_header    *h = s->header;
    const struct etl_logfile_header *f = &h->raw;

    fputs("logger          ", out);
    print_name(out, h->logger_name);
    fputs("\nlog file        ", out);
    print_name(out, h->file_name);
    visible_printf(out, "\nclock           %s, %" PRId64 " Hz\n", summary_print_clock_name(f->clock_type),
                   f->clock_type == 3   ? f->cpu_mhz * INT64_C(1000000)
                   : f->clock_type == 1 ? f->perf_freq
                                        : 10000000);
    print_time(out, "boot", f->boot_time, "unknown");
    print_time(out, "start", f->start_time, "unknown");
    print_time(out, "end", f->end_time, "not finalised: the session did not stop in order");
    fprintf(out, "CPUs            %u\n", f->processors);
    fprintf(out, "buffers         %u of %u bytes; the header says %u\n", h->buffers_found, f->buffer_size,
            f->buffers_written);
    visible_printf(out, "lost            %u event%s, %u buffer%s\n", f->events_lost, f->events_lost == 1 ? "" : "s",
                   f->buffers_lost, f->buffers_lost == 1 ? "" : "s");
}

void summary_print(const struct summary *s, FILE *out)
{
    char               guid[GUID_TEXT_SIZE];
    const struct guid *last = NULL;

    print_header(s, out);
    fprintf(out, "events          %" PRIu64 ", %" PRIu64 " of them not or not wholly decoded\n", s->events,
            s->undecoded);
    if (s->events) {
        print_time(out, "first event", (int64_t)s->first_time, "unknown");
        print_time(out, "last event", (int64_t)s->last_time, "unknown");
    }
    fprintf(out, "time inversions %" PRIu64 "\n", s->inversions);
    fprintf(out,
            "stacks          %" PRIu64 ", %" PRIu64 " matched to their event; %" PRIu64 " inside events; %" PRIu64
            " frames\n",
            s->stacks, s->stacks_matched, s->stacks_extended, s->frames);
    fprintf(out, "damage          %u\n", s->damage_count);
    for (unsigned i = 0; i < s->damage_count; i++)
        visible_printf(out, "  offset %" PRIu64 ": %s\n", s->damage[i].offset, s->damage[i].text);
    losses_print(&s->losses, s->header->raw.events_lost, s->first_time, out);
    for (size_t i = 0; i < s->row_count; i++) {
        const struct summary_row *row = &s->rows[i];
        if (!last || !guid_equal(last, &row->provider)) {
            fputc('\n', out);
            if (row->provider_name) {
                print_name(out, row->provider_name);
                fputc(' ', out);
            }
            visible_printf(out, "%s\n", guid_format(&row->provider, guid));
        }
        last = &row->provider;
        fprintf(out, "%12" PRIu64 "  ", row->count);
        print_name(out, row->event);
        fputc('\n', out);
    }
}

/* --- JSON --- */

static void summary_print_print(void *self, const char *text, size_t size) { visible_json(self, text, size); }
static void summary_print_put_text(yajl_gen g, const char *key, const char *text)
{
    yajl_gen_string(g, (const unsigned char *)key, strlen(key));
    if (text)
        yajl_gen_string(g, (const unsigned char *)text, strlen(text));
    else
        yajl_gen_null(g);
}
static void summary_print_put_key(yajl_gen g, const char *key)
{
    yajl_gen_string(g, (const unsigned char *)key, strlen(key));
}
/* A name from the file, which may be no valid UTF-8. */
static void summary_print_put_name(yajl_gen g, const char *key, const char *name)
{
    struct text clean = {0};
    text_utf8(&clean, name, strlen(name));
    summary_print_put_text(g, key, text_get(&clean));
    text_finish(&clean);
}
static void summary_print_put_number(yajl_gen g, const char *key, uint64_t value)
{
    char text[24];
    int  n = snprintf(text, sizeof text, "%" PRIu64, value);
    summary_print_put_key(g, key);
    yajl_gen_number(g, text, (size_t)n);
}
static void put_time(yajl_gen g, const char *key, int64_t filetime)
{
    char text[FILETIME_TEXT_SIZE];
    summary_print_put_text(g, key, filetime > 0 ? filetime_format((uint64_t)filetime, text) : NULL);
}

static void put_header(yajl_gen g, const struct summary *s)
{
    const struct etl_file_header    *h = s->header;
    const struct etl_logfile_header *f = &h->raw;

    summary_print_put_key(g, "header");
    yajl_gen_map_open(g);
    summary_print_put_name(g, "logger", h->logger_name);
    summary_print_put_name(g, "file", h->file_name);
    summary_print_put_text(g, "clock", summary_print_clock_name(f->clock_type));
    summary_print_put_number(g, "clockType", f->clock_type);
    summary_print_put_number(g, "perfFreq", (uint64_t)f->perf_freq);
    put_time(g, "boot", f->boot_time);
    put_time(g, "start", f->start_time);
    put_time(g, "end", f->end_time);
    summary_print_put_number(g, "cpus", f->processors);
    summary_print_put_number(g, "mode", f->log_file_mode);
    summary_print_put_number(g, "bufferSize", f->buffer_size);
    summary_print_put_number(g, "buffersWritten", f->buffers_written);
    summary_print_put_number(g, "buffersFound", h->buffers_found);
    summary_print_put_number(g, "eventsLost", f->events_lost);
    summary_print_put_number(g, "buffersLost", f->buffers_lost);
    yajl_gen_map_close(g);
}

static void put_rows(yajl_gen g, const struct summary *s)
{
    char guid[GUID_TEXT_SIZE];

    summary_print_put_key(g, "counts");
    yajl_gen_array_open(g);
    for (size_t i = 0; i < s->row_count; i++) {
        yajl_gen_map_open(g);
        summary_print_put_text(g, "guid", guid_format(&s->rows[i].provider, guid));
        summary_print_put_text(g, "provider", s->rows[i].provider_name);
        summary_print_put_text(g, "event", s->rows[i].event);
        summary_print_put_number(g, "count", s->rows[i].count);
        yajl_gen_map_close(g);
    }
    yajl_gen_array_close(g);
}

wstatus summary_print_json(const struct summary *s, FILE *out) { return summary_print_json_with(s, NULL, out); }

wstatus summary_print_json_with(const struct summary *s, const struct summary_more *more, FILE *out)
{
    yajl_gen g = yajl_gen_alloc(NULL);

    if (!g)
        return W_NOT_ENOUGH_MEMORY;
    yajl_gen_config(g, yajl_gen_print_callback, summary_print_print, out);
    yajl_gen_map_open(g);
    put_header(g, s);
    summary_print_put_number(g, "events", s->events);
    summary_print_put_number(g, "undecoded", s->undecoded);
    put_time(g, "first", (int64_t)s->first_time);
    put_time(g, "last", (int64_t)s->last_time);
    summary_print_put_number(g, "inversions", s->inversions);
    summary_print_put_key(g, "stacks");
    yajl_gen_map_open(g);
    summary_print_put_number(g, "events", s->stacks);
    summary_print_put_number(g, "matched", s->stacks_matched);
    summary_print_put_number(g, "extended", s->stacks_extended);
    summary_print_put_number(g, "frames", s->frames);
    yajl_gen_map_close(g);
    summary_print_put_key(g, "damage");
    yajl_gen_array_open(g);
    for (unsigned i = 0; i < s->damage_count; i++) {
        yajl_gen_map_open(g);
        summary_print_put_number(g, "offset", s->damage[i].offset);
        summary_print_put_text(g, "text", s->damage[i].text);
        yajl_gen_map_close(g);
    }
    yajl_gen_array_close(g);
    summary_print_put_key(g, "loss");
    losses_print_json(&s->losses, s->header->raw.events_lost, g);
    put_rows(g, s);
    if (more)
        more->json(more->ctx, g);
    yajl_gen_map_close(g);
    yajl_gen_reset(g, "\n");
    yajl_gen_free(g);
    return W_SUCCESS;
}
