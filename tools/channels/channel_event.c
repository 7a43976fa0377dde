/* channel_event.c - see channel_event.h. */
#include "tools/channels/channel_event.h"
#include "autologger/schema/message.h"
#include "registry-sim/win32/filetime.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { FIELDS_MOST = 800 };

/* The journal's priority of a level: LogAlways, Critical, Error, Warning, Informational, Verbose. */
static const char *const channel_priorities[] = {"6", "2", "3", "4", "6", "7"};

/* Adds the field that is being joined. */
static void channel_event_flush(struct channel_events *c)
{
    if (c->name.length && c->count++ < FIELDS_MOST)
        record_named(c->record, "AUTOLOGGER_DATA_", text_get(&c->name), text_get(&c->joined));
    text_cut(&c->name, 0);
    text_cut(&c->joined, 0);
}

static void channel_event_field(void *self, const struct field *f)
{
    struct channel_events *c     = self;
    const char            *array = strchr(f->path, '[');
    const size_t           n     = array ? (size_t)(array - f->path) : strlen(f->path);
    text_printf(&c->fields, " %s=%s", f->path, f->text);
    /* the elements of an array are one field: the journal takes 1,024 fields of a message */
    if (array && c->joined.length && c->name.length == n && memcmp(text_get(&c->name), f->path, n) == 0) {
        text_printf(&c->joined, ", %s", f->text);
        return;
    }
    channel_event_flush(c);
    text_add(&c->name, f->path, n);
    text_printf(&c->joined, "%s", f->text);
}

static void channel_event_number(struct journal_message *r, const char *name, uint64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, number);
    record_text(r, name, text);
}

static void channel_event_guid(struct journal_message *r, const char *name, const struct guid *guid)
{
    char text[GUID_TEXT_SIZE];
    record_text(r, name, guid_format(guid, text));
}

static void channel_event_header(struct journal_message *r, const struct etl_event *e, const struct decoded *names)
{
    static const struct guid none;
    char                     text[FILETIME_TEXT_SIZE > 24 ? FILETIME_TEXT_SIZE : 24];
    const size_t             most = sizeof channel_priorities / sizeof *channel_priorities - 1;
    record_text(r, "PRIORITY", channel_priorities[e->level < most ? e->level : most]);
    record_text(r, "SYSLOG_IDENTIFIER", names->provider ? names->provider : "autologger");
    record_text(r, "AUTOLOGGER_CHANNEL", decoded_channel(names));
    record_text(r, "AUTOLOGGER_PROVIDER", names->provider ? names->provider : "");
    channel_event_guid(r, "AUTOLOGGER_PROVIDER_GUID", &e->provider);
    record_text(r, "AUTOLOGGER_EVENT", names->event);
    channel_event_number(r, "AUTOLOGGER_EVENT_ID", e->id);
    channel_event_number(r, "AUTOLOGGER_VERSION", e->version);
    channel_event_number(r, "AUTOLOGGER_LEVEL", e->level);
    channel_event_number(r, "AUTOLOGGER_TASK", e->task);
    channel_event_number(r, "AUTOLOGGER_OPCODE", e->opcode);
    snprintf(text, sizeof text, "0x%" PRIx64, e->keyword);
    record_text(r, "AUTOLOGGER_KEYWORD", text);
    record_text(r, "AUTOLOGGER_TIME", filetime_format(e->filetime, text));
    channel_event_number(r, "AUTOLOGGER_PID", e->process_id);
    channel_event_number(r, "AUTOLOGGER_TID", e->thread_id);
    if (!guid_equal(&e->activity, &none))
        channel_event_guid(r, "AUTOLOGGER_ACTIVITY", &e->activity);
}

bool channel_event_record(struct channel_events *c, const struct etl_event     *e,
                          bool (*wanted)(void *ctx, const char *channel), void *ctx, struct journal_message *out)
{
    struct decoded names;
    uint32_t       used = 0;
    decoded_names(c->schemas, e, &names);
    const char *channel = decoded_channel(&names);
    if (!channel || !wanted(ctx, channel))
        return false;
    c->record    = out;
    c->sink.self = c;
    c->sink.emit = channel_event_field;
    text_cut(&c->message, 0);
    text_cut(&c->fields, 0);
    channel_event_header(out, e, &names);
    c->count = 0;
    if (decoded_fields(e, &names, &c->sink, &used) != DECODE_OK && used < e->payload_size) {
        text_cut(&c->message, 0);
        text_hex(&c->message, e->payload + used, e->payload_size - used);
        record_text(out, "AUTOLOGGER_PAYLOAD", text_get(&c->message));
        text_cut(&c->message, 0);
    }
    channel_event_flush(c);
    if (c->count > FIELDS_MOST)
        channel_event_number(out, "AUTOLOGGER_FIELDS_LEFT_OUT", c->count - FIELDS_MOST);
    if (!names.schema->message || !message_text(names.schema, e->payload, e->payload_size, e->is_64bit, &c->message))
        text_printf(&c->message, "%s%s", names.event, text_get(&c->fields));
    record_field(out, "MESSAGE", text_get(&c->message), c->message.length);
    out->bad = out->bad || c->message.failed || c->fields.failed || c->name.failed || c->joined.failed;
    return true;
}

void channel_events_finish(struct channel_events *c)
{
    field_sink_finish(&c->sink);
    text_finish(&c->message);
    text_finish(&c->fields);
    text_finish(&c->name);
    text_finish(&c->joined);
}
