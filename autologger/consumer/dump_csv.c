/* dump_csv.c - events as CSV (RFC 4180) with tracerpt's columns. See dump.h; facts: tracelogging-manifest-tdh 6.2. */
#include "autologger/consumer/dump_writer.h"
#include "registry-sim/win32/visible.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const dump_csv_columns[] = {"Event Name",  "Type",
                                               "Event ID",    "Version",
                                               "Channel",     "Level",
                                               "Opcode",      "Task",
                                               "Keyword",     "PID",
                                               "TID",         "Processor Number",
                                               "Instance ID", "Parent Instance ID",
                                               "Activity ID", "Related Activity ID",
                                               "Clock-Time",  "Kernel(ms)",
                                               "User(ms)",    "User Data"};

/* Writes a cell, quoted where it must be. */
static void add_cell(struct dump *d, const char *p, size_t size)
{
    bool quoted = false;

    if (visible_length(p, size) != size) { /* a terminal shows CSV as well */
        struct text shown = {0};
        text_visible(&shown, p, size);
        add_cell(d, text_get(&shown), shown.length);
        text_finish(&shown);
        return;
    }
    for (size_t i = 0; i < size && !quoted; i++)
        quoted = p[i] == '"' || p[i] == ',' || p[i] == '\r' || p[i] == '\n';
    if (!quoted) {
        fwrite(p, 1, size, d->out);
        return;
    }
    putc('"', d->out);
    for (size_t i = 0; i < size; i++) {
        if (p[i] == '"')
            putc('"', d->out);
        putc(p[i], d->out);
    }
    putc('"', d->out);
}

static void dump_csv_add_name(struct dump *d, const char *name)
{
    text_cut(&d->name, 0);
    text_utf8(&d->name, name, strlen(name));
    add_cell(d, text_get(&d->name), d->name.length);
}

static void add_activities(struct dump *d, const struct etl_event *e)
{
    const uint8_t *data;
    uint32_t       size;
    char           activity[GUID_TEXT_SIZE], related[GUID_TEXT_SIZE] = "";

    if (etl_ext_find(e, ETL_EXT_RELATED_ACTIVITY, &data, &size) && size >= sizeof(struct guid)) {
        struct guid g;
        memcpy(&g, data, sizeof g);
        guid_format(&g, related);
    }
    fprintf(d->out, "%s,%s,", guid_format(&e->activity, activity), related);
}

/* As in a text line: fields, extras, stack, undecoded payload. */
static enum decode_result user_data(struct dump *d, const struct etl_event *e, const struct decoded *names)
{
    uint32_t used;

    text_cut(&d->line, 0);
    enum decode_result result = decoded_fields(e, names, &d->sink, &used);
    dump_add_extras(d, e);
    dump_add_stack(d, e, ';');
    dump_add_payload(d, e, result, used);
    return result;
}

static enum decode_result write_csv(struct dump *d, const struct etl_event *e, const struct decoded *names)
{
    char guid[GUID_TEXT_SIZE];

    dump_csv_add_name(d, names->provider ? names->provider : guid_format(&e->provider, guid));
    putc(',', d->out);
    dump_csv_add_name(d, names->event);
    fprintf(d->out, ",%u,%u,%u,%u,%u,%u,0x%016" PRIx64 ",0x%08X,0x%08X,%u,", e->id, e->version, e->channel, e->level,
            e->opcode, e->task, e->keyword, e->process_id, e->thread_id, e->cpu);
    if (e->kind == ETL_KIND_INSTANCE)
        fprintf(d->out, "%u,%u,", e->instance, e->parent_instance);
    else
        fputs(",,", d->out);
    add_activities(d, e);
    fprintf(d->out, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", e->filetime, dump_milliseconds(d, e->kernel_time),
            dump_milliseconds(d, e->user_time));
    enum decode_result result = user_data(d, e, names);
    const char        *data   = text_get(&d->line);
    size_t             blank  = *data == ' '; /* each part begins with one */
    add_cell(d, data + blank, d->line.length - blank);
    fputs("\r\n", d->out);
    return result;
}

static bool dump_csv_begin(struct dump *d)
{
    for (size_t i = 0; i < sizeof dump_csv_columns / sizeof *dump_csv_columns; i++)
        fprintf(d->out, "%s%s", i ? "," : "", dump_csv_columns[i]);
    fputs("\r\n", d->out);
    return true;
}
static void dump_csv_end(struct dump *d) { (void)d; }

const struct dump_writer dump_csv = {dump_csv_begin, write_csv, dump_emit_text, dump_csv_end};
