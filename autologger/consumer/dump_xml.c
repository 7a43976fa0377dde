/* dump_xml.c - events as XML in tracerpt's form. See dump.h; facts: tracelogging-manifest-tdh 6.1. */
#include "autologger/consumer/dump_writer.h"
#include "autologger/schema/message.h"
#include "registry-sim/base/unset.h"
#include "registry-sim/win32/filetime.h"
#include "registry-sim/win32/visible.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define EVENT_NAMESPACE "http://schemas.microsoft.com/win/2004/08/events/event"
#define TRACE_NAMESPACE "http://schemas.microsoft.com/win/2004/08/events/trace"
#define OWN_NAMESPACE "urn:autologger:event"
#define KERNEL_PROVIDER "{9e814aad-3204-11d2-9a82-006008a86939}" /* SystemTraceControlGuid */

enum { MISMATCH_ERROR = 15005 /* ERROR_EVT_INVALID_EVENT_DATA */ };

/* A name from the file, which need not be UTF-8. */
static void escape_name(struct dump *d, struct text *out, const char *name)
{
    text_cut(&d->name, 0);
    text_utf8(&d->name, name, strlen(name));
    text_xml(out, text_get(&d->name), d->name.length);
}

static void element(struct dump *d, const char *indent, const char *tag, const char *text)
{
    text_printf(&d->line, "%s<%s>", indent, tag);
    escape_name(d, &d->line, text);
    text_printf(&d->line, "</%s>\n", tag);
}

static void hex_upper(struct text *out, const void *bytes, size_t size)
{
    size_t start = out->length;
    text_hex(out, bytes, size);
    for (size_t i = start; i < out->length; i++)
        if (out->data[i] >= 'a' && out->data[i] <= 'f')
            out->data[i] = (char)(out->data[i] - 'a' + 'A');
}

/* --- System --- */

static void add_provider(struct dump *d, const struct etl_event *e, const struct decoded *names)
{
    char guid[GUID_TEXT_SIZE];

    text_printf(&d->line, "\t\t<Provider");
    if (names->provider && names->by != DESCRIBED_CLASSIC) {
        text_printf(&d->line, " Name=\"");
        escape_name(d, &d->line, names->provider);
        text_printf(&d->line, "\"");
    }
    text_printf(&d->line, " Guid=\"%s\" />\n",
                names->by == DESCRIBED_CLASSIC ? KERNEL_PROVIDER : guid_format(&e->provider, guid));
}

static void add_correlation(struct dump *d, const struct etl_event *e)
{
    const uint8_t *data;
    uint32_t       size;
    char           guid[GUID_TEXT_SIZE];

    text_printf(&d->line, "\t\t<Correlation ActivityID=\"%s\"", guid_format(&e->activity, guid));
    if (etl_ext_find(e, ETL_EXT_RELATED_ACTIVITY, &data, &size) && size >= sizeof(struct guid)) {
        struct guid related;
        memcpy(&related, data, sizeof related);
        text_printf(&d->line, " RelatedActivityID=\"%s\"", guid_format(&related, guid));
    }
    text_printf(&d->line, " />\n");
}

static const char *channel_name(uint8_t channel)
{
    static const char *const known[] = {[8] = "System", [9] = "Application", [10] = "Security", [11] = "TraceLogging"};
    return channel < sizeof known / sizeof *known ? known[channel] : NULL;
}

static void add_security(struct dump *d, const struct etl_event *e)
{
    struct event_extra extra[EVENT_EXTRAS];
    const unsigned     n = event_extras(e, extra);
    for (unsigned i = 0; i < n; i++)
        if (strcmp(extra[i].name, "userSid") == 0)
            text_printf(&d->line, "\t\t<Security UserID=\"%s\" />\n", extra[i].text);
}

static void add_system(struct dump *d, const struct etl_event *e, const struct decoded *names)
{
    char time[FILETIME_TEXT_SIZE];

    text_printf(&d->line, "\t<System>\n");
    add_provider(d, e, names);
    text_printf(&d->line,
                "\t\t<EventID>%u</EventID>\n\t\t<Version>%u</Version>\n\t\t<Level>%u</Level>\n\t\t<Task>%u</Task>\n"
                "\t\t<Opcode>%u</Opcode>\n\t\t<Keywords>0x%" PRIX64
                "</Keywords>\n\t\t<TimeCreated SystemTime=\"%s\" />\n",
                e->id, e->version, e->level, e->task, e->opcode, e->keyword, filetime_format(e->filetime, time));
    add_correlation(d, e);
    text_printf(&d->line,
                "\t\t<Execution ProcessID=\"%u\" ThreadID=\"%u\" ProcessorID=\"%u\" KernelTime=\"%" PRIu64
                "\" UserTime=\"%" PRIu64 "\" />\n",
                e->process_id, e->thread_id, e->cpu, dump_milliseconds(d, e->kernel_time),
                dump_milliseconds(d, e->user_time));
    if (channel_name(e->channel))
        text_printf(&d->line, "\t\t<Channel>%s</Channel>\n", channel_name(e->channel));
    else
        text_printf(&d->line, e->channel ? "\t\t<Channel>%u</Channel>\n" : "\t\t<Channel />\n", e->channel);
    text_printf(&d->line, "\t\t<Computer />\n");
    add_security(d, e);
    text_printf(&d->line, "\t</System>\n");
}

/* --- the payload --- */

/* Plain numbers that the kernel's classes declare as hexadecimal ones (format "x"). */
static bool declared_hex(const char *class_name, const char *field)
{
    static const struct {
        const char *class_name, *field;
    } rows[] = {{"Process", "ProcessId"}, {"Process", "ParentId"}, {"Thread", "ProcessId"}, {"Thread", "TThreadId"}};
    for (size_t i = 0; class_name && i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].class_name, class_name) == 0 && strcmp(rows[i].field, field) == 0)
            return true;
    return false;
}

/* An element of an array has the array's name, as in tracerpt; within a struct it has its whole path. */
static size_t name_length(const char *path)
{
    size_t n = strlen(path), digits = n;

    if (!n || path[n - 1] != ']' || strchr(path, '.'))
        return n;
    digits = strcspn(path, "[");
    return digits + strcspn(path + digits, "]") + 1 == n ? digits : n;
}

static void dump_xml_emit(void *self, const struct field *f)
{
    struct dump *d = self;

    text_printf(&d->line, "\t\t<Data Name=\"");
    text_cut(&d->name, 0);
    text_utf8(&d->name, f->path, name_length(f->path));
    text_xml(&d->line, text_get(&d->name), d->name.length);
    text_printf(&d->line, "\">");
    if (f->hex || declared_hex(d->class_name, f->path))
        text_printf(&d->line, "0x%" PRIX64, (uint64_t)strtoull(f->text, NULL, 0));
    else
        text_xml(&d->line, f->text, f->length);
    text_printf(&d->line, "</Data>\n");
}

static enum decode_result add_payload(struct dump *d, const struct etl_event *e, const struct decoded *names)
{
    uint32_t used;
    size_t   before = d->line.length;

    d->class_name = names->by == DESCRIBED_CLASSIC ? names->provider : NULL;
    text_printf(&d->line, "\t<EventData>\n");
    enum decode_result result = decoded_fields(e, names, &d->sink, &used);
    text_printf(&d->line, "\t</EventData>\n");
    /* the manifest has the XML that holds its values */
    if (result == DECODE_OK && names->schema && names->schema->user_data) {
        text_cut(&d->line, before);
        text_printf(&d->line, "\t<UserData>");
        message_user_data(names->schema, e->payload, e->payload_size, e->is_64bit, &d->line);
        text_printf(&d->line, "</UserData>\n");
    }
    if (result == DECODE_OK)
        return result;
    text_cut(&d->line, before); /* the whole payload stands there instead */
    if (result == DECODE_MISMATCH)
        text_printf(&d->line,
                    "\t<ProcessingErrorData>\n\t\t<ErrorCode>%d</ErrorCode>\n\t\t<DataItemName />\n\t\t<EventPayload>",
                    MISMATCH_ERROR);
    else
        text_printf(&d->line, "\t<BinaryEventData>");
    hex_upper(&d->line, e->payload, e->payload_size);
    text_printf(&d->line,
                result == DECODE_MISMATCH ? "</EventPayload>\n\t</ProcessingErrorData>\n" : "</BinaryEventData>\n");
    return result;
}

/* --- names, and the rest --- */

static void dump_xml_add_keywords(struct dump *d, const struct schema_event *s)
{
    if (!s || !s->keyword_names)
        return;
    text_printf(&d->line, "\t\t<Keywords>\n");
    for (unsigned i = 0; s->keyword_names[i]; i++)
        element(d, "\t\t\t", "Keyword", s->keyword_names[i]);
    text_printf(&d->line, "\t\t</Keywords>\n");
}

static void add_rendering(struct dump *d, const struct etl_event *e, const struct decoded *names)
{
    static const char *const levels[]  = {NULL, "Critical", "Error", "Warning", "Information", "Verbose"};
    static const char *const opcodes[] = {"Info",      "Start", "Stop",   "DCStart", "DCStop",
                                          "Extension", "Reply", "Resume", "Suspend", "Send"};

    if (names->by == DESCRIBED_NOT)
        return;
    const char *culture = names->schema && names->by != DESCRIBED_CLASSIC ? names->schema->provider->culture : NULL;
    text_printf(&d->line, "\t<RenderingInfo Culture=\"");
    escape_name(d, &d->line, culture ? culture : "en-US"); /* words without a manifest are ours */
    text_printf(&d->line, "\">\n");
    if (names->by == DESCRIBED_CLASSIC) {
        element(d, "\t\t", "Opcode", names->event);
        text_printf(&d->line,
                    "\t\t<Provider>MSNT_SystemTrace</Provider>\n\t\t<EventName xmlns=\"" TRACE_NAMESPACE "\">");
        escape_name(d, &d->line, names->provider);
        text_printf(&d->line, "</EventName>\n");
    } else {
        const struct schema_event *s = names->schema;
        if (s && s->level_name && (e->level || s->source == SCHEMA_MANIFEST || s->source == SCHEMA_EMBEDDED))
            element(d, "\t\t", "Level", s->level_name);
        else if (e->level && e->level < sizeof levels / sizeof *levels)
            element(d, "\t\t", "Level", levels[e->level]);
        if (s && s->opcode_name)
            element(d, "\t\t", "Opcode", s->opcode_name);
        else if (e->opcode < sizeof opcodes / sizeof *opcodes || e->opcode == 240)
            element(d, "\t\t", "Opcode", e->opcode == 240 ? "Receive" : opcodes[e->opcode]);
        dump_xml_add_keywords(d, s);
        element(d, "\t\t", "Task", s && s->task_name ? s->task_name : names->event);
        if (dump_message(d, e, names))
            element(d, "\t\t", "Message", text_get(&d->message));
        if (s && s->channel_name)
            element(d, "\t\t", "Channel", s->channel_name);
        if (names->provider)
            element(d, "\t\t", "Provider", names->provider);
    }
    text_printf(&d->line, "\t</RenderingInfo>\n");
}

static void add_extended(struct dump *d, const struct etl_event *e)
{
    char guid[GUID_TEXT_SIZE];

    if (e->kind == ETL_KIND_EVENT || e->kind == ETL_KIND_MESSAGE || e->kind == ETL_KIND_OTHER)
        return;
    text_printf(&d->line, "\t<ExtendedTracingInfo xmlns=\"" TRACE_NAMESPACE "\">\n\t\t<EventGuid>%s</EventGuid>\n",
                guid_format(&e->provider, guid));
    if (e->kind == ETL_KIND_INSTANCE)
        text_printf(&d->line, "\t\t<InstanceID>%u</InstanceID>\n\t\t<ParentInstanceID>%u</ParentInstanceID>\n",
                    e->instance, e->parent_instance);
    text_printf(&d->line, "\t</ExtendedTracingInfo>\n");
}

static void dump_xml_add_frame(struct dump *d, const struct frame_name *f)
{
    text_printf(&d->line, "\t\t<Frame Address=\"0x%" PRIX64 "\"", f->address);
    if (f->module) {
        text_printf(&d->line, " Module=\"");
        escape_name(d, &d->line, f->module);
        text_printf(&d->line, "\" Offset=\"0x%" PRIX64 "\"", f->offset);
    }
    if (f->function) {
        text_printf(&d->line, " Function=\"");
        escape_name(d, &d->line, f->function);
        text_printf(&d->line, "\"");
    }
    text_printf(&d->line, " />\n");
}

static void add_own(struct dump *d, const struct etl_event *e)
{
    const char    *unit = process_units_name(&d->units, actors_process(&d->actors, e));
    UNSET uint64_t addresses[DUMP_FRAMES_MAX];
    unsigned       n = decoded_stack(e, addresses, DUMP_FRAMES_MAX), named = dump_frames(d, e);

    if (!unit && !n && !named)
        return;
    text_printf(&d->line, "\t<Autologger xmlns=\"" OWN_NAMESPACE "\">\n");
    if (unit)
        element(d, "\t\t", "Unit", *unit ? unit : "none");
    for (unsigned i = 0; i < named; i++)
        dump_xml_add_frame(d, &d->frames[i]);
    for (unsigned i = 0; !named && i < n; i++)
        text_printf(&d->line, "\t\t<Frame Address=\"0x%" PRIX64 "\" />\n", addresses[i]);
    text_printf(&d->line, "\t</Autologger>\n");
}

static enum decode_result write_xml(struct dump *d, const struct etl_event *e, const struct decoded *names)
{
    text_cut(&d->line, 0);
    text_printf(&d->line, "<Event xmlns=\"" EVENT_NAMESPACE "\">\n");
    add_system(d, e, names);
    enum decode_result result = add_payload(d, e, names);
    add_rendering(d, e, names);
    add_extended(d, e);
    add_own(d, e);
    text_printf(&d->line, "</Event>\n");
    fwrite(text_get(&d->line), 1, d->line.length, d->out);
    return result;
}

static bool dump_xml_begin(struct dump *d)
{
    fputs("<Events>\n", d->out);
    return true;
}
static void dump_xml_end(struct dump *d) { fputs("</Events>\n", d->out); }

const struct dump_writer dump_xml = {dump_xml_begin, write_xml, dump_xml_emit, dump_xml_end};
