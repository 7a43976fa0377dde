/* dump_json.c - events as lines of JSON. See dump.h. */
#include "autologger/consumer/dump_writer.h"
#include "registry-sim/base/unset.h"
#include "registry-sim/win32/filetime.h"
#include "registry-sim/base/visible_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const frame_states[] = {"named", "no-name", "no-file", "no-image", "no-code"};

static void print(void *self, const char *text, size_t size) { visible_json(((struct dump *)self)->out, text, size); }

static void put(struct dump *d, const char *text, size_t size)
{
    yajl_gen_string(d->json, (const unsigned char *)text, size);
}
static void put_text(struct dump *d, const char *text) { put(d, text, strlen(text)); }
/* A name from the file, made valid UTF-8. */
static void put_name(struct dump *d, const char *name)
{
    text_cut(&d->name, 0);
    text_utf8(&d->name, name, strlen(name));
    put(d, text_get(&d->name), d->name.length);
}
static void put_number(struct dump *d, const char *key, int64_t value)
{
    put_text(d, key);
    yajl_gen_integer(d->json, value);
}
static void put_id(struct dump *d, const char *key, uint32_t id)
{
    put_text(d, key);
    if (id == (uint32_t)DUMP_NO_ID)
        yajl_gen_null(d->json);
    else
        yajl_gen_integer(d->json, id);
}
static void put_guid(struct dump *d, const char *key, const struct guid *g)
{
    char text[GUID_TEXT_SIZE];
    put_text(d, key);
    put_text(d, guid_format(g, text));
}

static void emit_json(void *self, const struct field *f)
{
    struct dump *d = self;

    put_name(d, f->path);
    if (f->json == JSON_BARE) {
        yajl_gen_number(d->json, f->text, f->length);
        return;
    }
    if (f->json == JSON_STRING) {
        put(d, f->text, f->length);
        return;
    }
    yajl_gen_array_open(d->json);
    for (const char *word = f->text; *word;) {
        size_t n = strcspn(word, ",");
        put(d, word, n);
        word += n + (word[n] == ',');
    }
    yajl_gen_array_close(d->json);
}

static void put_identity(struct dump *d, const struct etl_event *e, const struct decoded *names)
{
    char text[FILETIME_TEXT_SIZE];

    put_text(d, "time");
    put_text(d, filetime_format(e->filetime, text));
    put_number(d, "raw", e->raw_time);
    put_number(d, "cpu", e->cpu);
    put_id(d, "pid", e->process_id);
    put_id(d, "tid", e->thread_id);
    const char *unit = process_units_name(&d->units, actors_process(&d->actors, e));
    if (unit) {
        put_text(d, "unit");
        put_name(d, unit);
    }
    put_text(d, "provider");
    yajl_gen_map_open(d->json);
    put_guid(d, "guid", &e->provider);
    if (names->provider) {
        put_text(d, "name");
        put_name(d, names->provider);
    }
    yajl_gen_map_close(d->json);
    put_number(d, "id", e->id);
    put_number(d, "version", e->version);
    put_number(d, "level", e->level);
    put_number(d, "opcode", e->opcode);
    put_number(d, "task", e->task);
    snprintf(text, sizeof text, "0x%" PRIx64, e->keyword);
    put_text(d, "keyword");
    put_text(d, text);
    put_number(d, "channel", e->channel);
    if (decoded_channel(names)) {
        put_text(d, "channelName");
        put_name(d, decoded_channel(names));
    }
}

static void put_frame(struct dump *d, const struct frame_name *f)
{
    char text[24];

    yajl_gen_map_open(d->json);
    put_text(d, "address");
    snprintf(text, sizeof text, "0x%" PRIx64, f->address);
    put_text(d, text);
    if (f->module) {
        put_text(d, "module");
        put_name(d, f->module);
    }
    if (f->function) {
        put_text(d, "function");
        put_name(d, f->function);
    }
    if (f->module)
        put_number(d, "offset", (int64_t)f->offset);
    if (f->state != FRAME_NAMED) {
        put_text(d, "state");
        put_text(d, frame_states[f->state]);
        put_text(d, "path");
        put_name(d, f->path ? f->path : "");
        put_text(d, "build_id");
        put_text(d, f->build_id);
    }
    yajl_gen_map_close(d->json);
}

static void put_frames(struct dump *d, const struct etl_event *e)
{
    unsigned n = dump_frames(d, e);

    if (!n)
        return;
    put_text(d, "frames");
    yajl_gen_array_open(d->json);
    for (unsigned i = 0; i < n; i++)
        put_frame(d, &d->frames[i]);
    yajl_gen_array_close(d->json);
}

static void put_rest(struct dump *d, const struct etl_event *e, enum decode_result result, uint32_t used)
{
    static const char *const results[] = {"ok", "unknown", "mismatch"};
    UNSET uint64_t frames[DUMP_FRAMES_MAX];
    unsigned                 n = decoded_stack(e, frames, DUMP_FRAMES_MAX);

    put_text(d, "decoded");
    put_text(d, results[result]);
    if (n) {
        put_text(d, "stack");
        yajl_gen_array_open(d->json);
        for (unsigned i = 0; i < n; i++) {
            char text[24];
            snprintf(text, sizeof text, "0x%" PRIx64, frames[i]);
            put_text(d, text);
        }
        yajl_gen_array_close(d->json);
    }
    if (result != DECODE_OK) {
        text_cut(&d->line, 0);
        text_hex(&d->line, e->payload + used, e->payload_size - used);
        put_text(d, "payload");
        put(d, text_get(&d->line), d->line.length);
    }
}

static void put_extras(struct dump *d, const struct etl_event *e)
{
    struct event_extra extra[EVENT_EXTRAS];
    const unsigned     n = event_extras(e, extra);
    for (unsigned i = 0; i < n; i++) {
        put_text(d, extra[i].name);
        if (extra[i].number)
            yajl_gen_number(d->json, extra[i].text, strlen(extra[i].text));
        else
            put_text(d, extra[i].text);
    }
}

static enum decode_result write_json(struct dump *d, const struct etl_event *e, const struct decoded *names)
{
    const uint8_t *data;
    uint32_t       size, used;

    yajl_gen_map_open(d->json);
    put_identity(d, e, names);
    if (!guid_is_zero(&e->activity))
        put_guid(d, "activity", &e->activity);
    if (etl_ext_find(e, ETL_EXT_RELATED_ACTIVITY, &data, &size) && size >= sizeof(struct guid)) {
        struct guid related;
        memcpy(&related, data, sizeof related);
        put_guid(d, "relatedActivity", &related);
    }
    put_extras(d, e);
    put_text(d, "event");
    put_name(d, names->event);
    put_text(d, "fields");
    yajl_gen_map_open(d->json);
    enum decode_result result = decoded_fields(e, names, &d->sink, &used);
    yajl_gen_map_close(d->json);
    if (dump_message(d, e, names)) {
        put_text(d, "message");
        put(d, text_get(&d->message), d->message.length);
    }
    put_rest(d, e, result, used);
    put_frames(d, e);
    yajl_gen_map_close(d->json);
    yajl_gen_reset(d->json, "\n"); /* ends the line */
    return result;
}

static bool begin(struct dump *d)
{
    if (!(d->json = yajl_gen_alloc(NULL)))
        return false;
    yajl_gen_config(d->json, yajl_gen_print_callback, print, d);
    return true;
}
static void end(struct dump *d)
{
    if (d->json)
        yajl_gen_free(d->json);
}

const struct dump_writer dump_json = {begin, write_json, emit_json, end};
