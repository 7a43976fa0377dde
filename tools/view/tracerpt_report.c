/* tracerpt_report.c - see tracerpt_report.h. */
#include "tools/view/tracerpt_report.h"

#include "autologger/kernel/source/idmap.h"
#include "registry-sim/base/visible_print.h"
#include "registry-sim/win32/filetime.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- summary --- */

struct tracerpt_report_kind {          /* of events */
    struct tracerpt_report_kind *same; /* next one with the same hash */
    struct guid                  guid;
    uint64_t                     count;
    unsigned                     version;
    char                         provider[200], event[100];
};

static uint64_t tracerpt_report_hash(const struct tracerpt_report_kind *k)
{
    const uint8_t *g = (const uint8_t *)&k->guid;
    uint64_t       h = UINT64_C(1469598103934665603) ^ k->version; /* FNV-1a */
    for (size_t i = 0; i < sizeof k->guid; i++)
        h = (h ^ g[i]) * UINT64_C(1099511628211);
    for (const char *p = k->event; *p; p++)
        h = (h ^ (uint8_t)*p) * UINT64_C(1099511628211);
    return h ? h : 1;
}

static bool count_kind(struct idmap *kinds, size_t *distinct, const struct trace_event *x)
{
    struct tracerpt_report_kind k     = {.guid = x->e.provider, .version = x->e.version, .count = 1};
    struct text                 clean = {0};

    if (x->names.provider)
        text_utf8(&clean, x->names.provider, strlen(x->names.provider));
    snprintf(k.provider, sizeof k.provider, "%s", text_get(&clean));
    text_finish(&clean);
    snprintf(k.event, sizeof k.event, "%s", x->names.event);
    for (char *p = k.event; *p; p++)
        *p = (unsigned char)*p < ' ' ? '_' : *p;
    struct tracerpt_report_kind *first = idmap_get(kinds, tracerpt_report_hash(&k)), *at = first;
    while (at && (!guid_equal(&at->guid, &k.guid) || at->version != k.version || strcmp(at->event, k.event) != 0))
        at = at->same;
    if (at) {
        at->count++;
        return true;
    }
    struct tracerpt_report_kind *made = malloc(sizeof *made);
    if (!made)
        return false;
    k.same = first;
    *made  = k;
    ++*distinct;
    if (idmap_put(kinds, tracerpt_report_hash(&k), made))
        return true;
    free(made);
    return false;
}

static int tracerpt_report_by_count(const void *a, const void *b)
{
    const struct tracerpt_report_kind *x = *(struct tracerpt_report_kind *const *)a,
                                      *y = *(struct tracerpt_report_kind *const *)b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    int d = strcmp(x->provider, y->provider);
    d     = d ? d : strcmp(x->event, y->event);
    return d ? d : (int)x->version - (int)y->version;
}

static void print_head(struct trace *t, uint64_t events, FILE *out)
{
    char     text[FILETIME_TEXT_SIZE];
    uint64_t buffers = 0, lost = 0, elapsed = trace_end(t) - trace_start(t);

    fprintf(out, "Files Processed:\n");
    for (unsigned i = 0; i < trace_files(t); i++) {
        visible_printf(out, "\t%s\n", trace_path(t, i));
        buffers += trace_header(t, i)->buffers_found;
        lost += trace_header(t, i)->raw.events_lost;
    }
    fprintf(out,
            "Total Buffers Processed %" PRIu64 "\nTotal Events  Processed %" PRIu64 "\nTotal Events  Lost      %" PRIu64
            "\n",
            buffers, events, lost);
    fprintf(out, "Start Time              %s\n", filetime_format(trace_start(t), text));
    fprintf(out, "End Time                %s\n", filetime_format(trace_end(t), text));
    fprintf(out, "Elapsed Time            %" PRIu64 ".%03" PRIu64 " sec\n", elapsed / 10000000, elapsed / 10000 % 1000);
}

static void print_rule(FILE *out)
{
    fputc('+', out);
    for (int i = 0; i < 126; i++)
        fputc('-', out);
    fputs("+\n", out);
}

static void print_kinds(struct tracerpt_report_kind **all, size_t n, FILE *out)
{
    char guid[GUID_TEXT_SIZE];

    print_rule(out);
    fprintf(out, "|%12s  %-34s %-28s %7s  %-38s|\n", "Event Count", "Event Name", "Event Type", "Version", "Guid");
    print_rule(out);
    for (size_t i = 0; i < n; i++)
        visible_printf(out, "|%12" PRIu64 "  %-34s %-28s %7u  %-38s|\n", all[i]->count,
                       *all[i]->provider ? all[i]->provider : guid_format(&all[i]->guid, guid), all[i]->event,
                       all[i]->version, guid_format(&all[i]->guid, guid));
    print_rule(out);
}

wstatus tracerpt_summary(struct trace *t, FILE *out, uint64_t *events, struct reason *why)
{
    const struct trace_event *x;
    struct idmap              kinds    = {0};
    size_t                    distinct = 0, n = 0;
    bool                      fits = true;

    *events = 0;
    while (fits && trace_next(t, &x)) {
        fits = count_kind(&kinds, &distinct, x);
        ++*events;
    }
    struct tracerpt_report_kind **all = malloc((distinct + 1) * sizeof *all);
    for (size_t i = 0; i < kinds.capacity; i++)
        for (struct tracerpt_report_kind *k = kinds.slot[i].value, *next; k; k = next) {
            next = k->same;
            if (all)
                all[n++] = k;
        }
    fits = fits && all;
    if (fits) {
        qsort(all, n, sizeof *all, tracerpt_report_by_count);
        print_head(t, *events, out);
        print_kinds(all, n, out);
    }
    for (size_t i = 0; i < n; i++)
        free(all[i]);
    free(all);
    idmap_finish(&kinds);
    return fits ? W_SUCCESS : reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for a summary");
}

/* --- tables --- */

enum cell_kind {
    CELL_NAME,
    CELL_PID,
    CELL_OPENS,
    CELL_CPU,
    CELL_CPU_SHARE,
    CELL_SWITCHES,
    CELL_READS,
    CELL_READ_BYTES,
    CELL_READ_MS,
    CELL_WRITES,
    CELL_WRITTEN_BYTES,
    CELL_WRITE_MS,
    CELL_FAILED
};
struct tracerpt_report_column {
    const char    *xml, *title;
    enum cell_kind kind;
};
enum { COLUMNS = 10 };
#define READS \
    {"Reads", "reads", CELL_READS}, { "ReadBytes", "bytes read", CELL_READ_BYTES }
#define WRITES \
    {"Writes", "writes", CELL_WRITES}, { "WrittenBytes", "bytes written", CELL_WRITTEN_BYTES }
static const struct {
    const char                   *section, *title, *none;
    struct tracerpt_report_column column[COLUMNS];
} tracerpt_report_tables[RESOURCE_TABLES] = {
    [RESOURCE_PROCESSES] = {"CPU",
                            "Processor time and disk by process",
                            "trace PROC_THREAD and CSWITCH",
                            {{"Process", "process", CELL_NAME},
                             {"ProcessId", "id", CELL_PID},
                             {"CpuMs", "processor time (ms)", CELL_CPU},
                             {"CpuPercent", "% of all", CELL_CPU_SHARE},
                             {"Switches", "switched in", CELL_SWITCHES},
                             READS,
                             WRITES}},
    [RESOURCE_FILES]     = {"HotFiles",
                            "Hot files",
                            "trace FILE_IO, FILE_IO_INIT and FILENAME",
                            {{"File", "file", CELL_NAME},
                             {"Opens", "opened", CELL_OPENS},
                             READS,
                             {"ReadMs", "reading (ms)", CELL_READ_MS},
                             WRITES,
                             {"WriteMs", "writing (ms)", CELL_WRITE_MS},
                             {"Failed", "failed calls", CELL_FAILED}}},
    [RESOURCE_DISKS]     = {"Disk",
                            "Disks",
                            "trace DISK_IO",
                            {{"Disk", "disk", CELL_NAME},
                             READS,
                             {"ReadMs", "reading (ms)", CELL_READ_MS},
                             WRITES,
                             {"WriteMs", "writing (ms)", CELL_WRITE_MS}}},
    [RESOURCE_ENDS]      = {"Network",
                            "Connections",
                            "trace NETWORKTRACE",
                            {{"Connection", "connection", CELL_NAME},
                             {"ProcessId", "process id", CELL_PID},
                             {"Received", "received", CELL_READS},
                             {"ReceivedBytes", "bytes received", CELL_READ_BYTES},
                             {"Sent", "sent", CELL_WRITES},
                             {"SentBytes", "bytes sent", CELL_WRITTEN_BYTES}}},
};

static void tracerpt_report_escaped(const char *text, FILE *out)
{
    struct text clean = {0};

    text_visible(&clean, text, strlen(text));
    for (const char *p = text_get(&clean); *p; p++)
        switch (*p) {
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '&': fputs("&amp;", out); break;
        case '"': fputs("&quot;", out); break;
        default: fputc(*p, out);
        }
    text_finish(&clean);
}

static void tracerpt_report_ms(uint64_t ticks, FILE *out)
{
    fprintf(out, "%" PRIu64 ".%04" PRIu64, ticks / 10000, ticks % 10000);
}

static void tracerpt_report_cell(const struct resource_row *row, enum cell_kind kind, const struct resources *r,
                                 FILE *out)
{
    switch (kind) {
    case CELL_NAME: tracerpt_report_escaped(row->name, out); break;
    case CELL_PID:
        if (row->pid != TRACED_NOBODY)
            fprintf(out, "%" PRIu32, row->pid);
        break;
    case CELL_CPU: tracerpt_report_ms(row->cpu, out); break;
    case CELL_CPU_SHARE:
        fprintf(out, "%.2f", r->cpu_time ? 100.0 * (double)row->cpu / (double)r->cpu_time : 0.0);
        break;
    case CELL_SWITCHES: fprintf(out, "%" PRIu64, row->switches); break;
    case CELL_OPENS: fprintf(out, "%" PRIu64, row->opens); break;
    case CELL_READS: fprintf(out, "%" PRIu64, row->read.count); break;
    case CELL_READ_BYTES: fprintf(out, "%" PRIu64, row->read.bytes); break;
    case CELL_READ_MS: tracerpt_report_ms(row->read.time, out); break;
    case CELL_WRITES: fprintf(out, "%" PRIu64, row->written.count); break;
    case CELL_WRITTEN_BYTES: fprintf(out, "%" PRIu64, row->written.bytes); break;
    case CELL_WRITE_MS: tracerpt_report_ms(row->written.time, out); break;
    case CELL_FAILED: fprintf(out, "%" PRIu64, row->failed); break;
    }
}

static bool tracerpt_report_has(const struct resources *r, int table)
{
    const bool there[RESOURCE_TABLES] = {[RESOURCE_PROCESSES] = r->has_cpu,
                                         [RESOURCE_FILES]     = r->has_files,
                                         [RESOURCE_DISKS]     = r->has_disks,
                                         [RESOURCE_ENDS]      = r->has_network};
    return there[table];
}

void tracerpt_report_xml(const struct resources *r, struct trace *t, size_t rows, FILE *out)
{
    char start[FILETIME_TEXT_SIZE], end[FILETIME_TEXT_SIZE];

    fprintf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Report>\n  <Section name=\"Header\">\n");
    for (unsigned i = 0; i < trace_files(t); i++) {
        fprintf(out, "    <Data name=\"File\">");
        tracerpt_report_escaped(trace_path(t, i), out);
        fprintf(out, "</Data>\n");
    }
    fprintf(
        out,
        "    <Data name=\"StartTime\">%s</Data>\n    <Data name=\"EndTime\">%s</Data>\n    <Data name=\"Events\">%" PRIu64
        "</Data>\n",
        filetime_format(r->start, start), filetime_format(r->end, end), r->events);
    uint64_t lost = 0;
    for (unsigned i = 0; i < trace_files(t); i++)
        lost += trace_header(t, i)->raw.events_lost;
    fprintf(out,
            "    <Data name=\"EventsLost\">%" PRIu64
            "</Data>\n    <Data name=\"Processors\">%u</Data>\n    <Data name=\"IdleMs\">",
            lost, r->cpus);
    tracerpt_report_ms(r->idle, out);
    fprintf(out, "</Data>\n  </Section>\n");
    for (int i = 0; i < RESOURCE_TABLES; i++) {
        fprintf(out, "  <Section name=\"%s\">\n    <Table name=\"%s\">\n", tracerpt_report_tables[i].section,
                tracerpt_report_tables[i].title);
        if (!tracerpt_report_has(r, i))
            fprintf(out, "      <Note>no such events: %s</Note>\n", tracerpt_report_tables[i].none);
        for (size_t k = 0; k < r->table[i].rows && (!rows || k < rows); k++) {
            fprintf(out, "      <Item>");
            for (const struct tracerpt_report_column *c = tracerpt_report_tables[i].column;
                 c < tracerpt_report_tables[i].column + COLUMNS && c->xml; c++) {
                fprintf(out, "<Data name=\"%s\">", c->xml);
                tracerpt_report_cell(&r->table[i].row[k], c->kind, r, out);
                fprintf(out, "</Data>");
            }
            fprintf(out, "</Item>\n");
        }
        fprintf(out, "    </Table>\n  </Section>\n");
    }
    fprintf(out, "</Report>\n");
}

void tracerpt_report_html(const struct resources *r, struct trace *t, size_t rows, FILE *out)
{
    char     start[FILETIME_TEXT_SIZE];
    uint64_t lost = 0, took = r->end - r->start;

    for (unsigned i = 0; i < trace_files(t); i++)
        lost += trace_header(t, i)->raw.events_lost;
    fprintf(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Trace report</title>\n<style>:root{color-scheme:light dark}"
        "body{font:14px system-ui,sans-serif;margin:2em}table{border-collapse:collapse;margin:0 0 2em}"
        "th,td{padding:.2em .7em;text-align:right;border-bottom:1px solid #8884}th:first-child,td:first-child{text-align:left}"
        "td:first-child{font-family:ui-monospace,monospace;word-break:break-all}.lost{color:#fff;background:#b00020;padding:.5em}</style></head>\n"
        "<body><h1>Trace report</h1>\n<p>");
    for (unsigned i = 0; i < trace_files(t); i++) {
        tracerpt_report_escaped(trace_path(t, i), out);
        fputs("<br>", out);
    }
    fprintf(out, "%s, %" PRIu64 ".%03" PRIu64 " s, %" PRIu64 " events</p>\n", filetime_format(r->start, start),
            took / 10000000, took / 10000 % 1000, r->events);
    if (lost)
        fprintf(out, "<p class=\"lost\">%" PRIu64 " events were lost: what is below is not all that happened.</p>\n",
                lost);
    for (int i = 0; i < RESOURCE_TABLES; i++) {
        fprintf(out, "<h2>%s</h2>\n", tracerpt_report_tables[i].title);
        if (!tracerpt_report_has(r, i)) {
            fprintf(out, "<p>The trace has no such events: %s.</p>\n", tracerpt_report_tables[i].none);
            continue;
        }
        fprintf(out, "<table><thead><tr>");
        for (const struct tracerpt_report_column *c = tracerpt_report_tables[i].column;
             c < tracerpt_report_tables[i].column + COLUMNS && c->xml; c++)
            fprintf(out, "<th>%s</th>", c->title);
        fprintf(out, "</tr></thead><tbody>\n");
        for (size_t k = 0; k < r->table[i].rows && (!rows || k < rows); k++) {
            fprintf(out, "<tr>");
            for (const struct tracerpt_report_column *c = tracerpt_report_tables[i].column;
                 c < tracerpt_report_tables[i].column + COLUMNS && c->xml; c++) {
                fprintf(out, "<td>");
                tracerpt_report_cell(&r->table[i].row[k], c->kind, r, out);
                fprintf(out, "</td>");
            }
            fprintf(out, "</tr>\n");
        }
        fprintf(out, "</tbody></table>\n");
        if (rows && r->table[i].rows > rows)
            fprintf(out, "<p>and %zu more</p>\n", r->table[i].rows - rows);
    }
    fprintf(out, "</body></html>\n");
}
