/* dump_json.c - events as lines of JSON. See dump.h. */
#include "autologger/consumer/dump_writer.h"
#include "registry-sim/base/unset.h"
#include "registry-sim/win32/filetime.h"
#include "registry-sim/base/visible_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const frame_states[] = {"named", "no-name", "no-file", "no-image", "no-code"};

static void dump_json_print(void *self, const char *text, size_t size)
{
    visible_json(((struct dump *)self)->out, text, size);
}

static void dump_json_put(struct dump *d, const char *text, size_t size)
{
    yajl_gen_string(d->json, (const unsigned char *)text, size);
}
static void dump_json_put_text(struct dump *d, const char *text) { dump_json_put(d, text, strlen(text)); }
/* A name from the file, made valid UTF-8. */
static void dump_json_put_name(struct dump *d, const char *name)
{
    text_cut(&d->name, 0);
    text_utf8(&d->name, name, strlen(name));
    dump_json_put(d, text_get(&d->name), d->name.length);
}
static void dump_json_put_number(struct dump *d, const char *key, int64_t value)
{
    dump_json_put_text(d, key);
    yajl_gen_integer(d->json, value);
}
static void put_id(struct dump *d, const char *key, uint32_t id)
{
    dump_json_put_text(d, key);
    if (id == (uint32_t)DUMP_NO_ID)
        yajl_gen_null(d->json);
    else
        yajl_gen_integer(d->json, id);
}
static void put_guid(struct dump *d, const char *key, const struct guid *g)
{
    char text[GUID_TEXT_SIZE];
    dump_json_put_text(d, key);
    dump_json_put_text(d, guid_format(g, text));
}

static void emit_json(void *self, const struct field *f)
{
    struct dump *d = self;

    dump_json_put_name(d, f->path);
    if (f->json == JSON_BARE) {
        yajl_gen_number(d->json, f->text, f->length);
        return;
    }
    if (f->json == JSON_STRING) {
        dump_json_put(d, f->text, f->length);
        return;
    }
    yajl_gen_array_open(d->json);
    for (const char *word = f->text; *word;) {
        size_t n = strcspn(word, ",");
        dump_json_put(d, word, n);
        word += n + (word[n] == ',');
    }
    yajl_gen_array_close(d->json);
}

static void put_identity(struct dump *d, const struct etl_event *e, const struct decoded *names)
{
    char text[FILETIME_TEXT_SIZE];

    dump_json_put_text(d, "time");
    dump_json_put_text(d, filetime_format(e->filetime, text));
    dump_json_put_number(d, "raw", e->raw_time);
    dump_json_put_number(d, "cpu", e->cpu);
    put_id(d, "pid", e->process_id);
    put_id(d, "tid", e->thread_id);
    const char *unit = process_units_name(&d->units, actors_process(&d->actors, e));
    if (unit) {
        dump_json_put_text(d, "unit");
        dump_json_put_name(d, unit);
    }
    dump_json_put_text(d, "provider");
    yajl_gen_map_open(d->json);
    put_guid(d, "guid", &e->provider);
    if (names->provider) {
        dump_json_put_text(d, "name");
        dump_json_put_name(d, names->provider);
    }
    yajl_gen_map_close(d->json);
    dump_json_put_number(d, "id", e->id);
    dump_json_put_number(d, "version", e->version);
    dump_json_put_number(d, "level", e->level);
    dump_json_put_number(d, "opcode", e->opcode);
    dump_json_put_number(d, "task", e->task);
    snprintf(text, sizeof text, "0x%" PRIx64, e->keyword);
    dump_json_put_text(d, "keyword");
    dump_json_put_text(d, text);
    dump_json_put_number(d, "channel", e->channel);
    if (decoded_channel(names)) {
        dump_json_put_text(d, "channelName");
        dump_json_put_name(d, decoded_channel(names));
    }
}

static void put_frame(struct dump *d, const struct frame_name *f)
{
    char text[24];

    yajl_gen_map_open(d->json);
    dump_json_put_text(d, "address");
    snprintf(text, sizeof text, "0x%" PRIx64, f->address);
    dump_json_put_text(d, text);
    if (f->module) {
        dump_json_put_text(d, "module");
        dump_json_put_name(d, f->module);
    }
    if (f->function) {
        dump_json_put_text(d, "function");
        dump_json_put_name(d, f->function);
    }
    if (f->module)
        dump_json_put_number(d, "offset", (int64_t)f->offset);
    if (f->state != FRAME_NAMED) {
        dump_json_put_text(d, "state");
        dump_json_put_text(d, frame_states[f->state]);
        dump_json_put_text(d, "path");
        dump_json_put_name(d, f->path ? f->path : "");
        dump_json_put_text(d, "build_id");
        dump_json_put_text(d, f->build_id);
    }
    yajl_gen_map_close(d->json);
}

static void put_frames(struct dump *d, const struct etl_event *e)
{
    unsigned n = dump_frames(d, e);

    if (!n)
        return;
    dump_json_put_text(d, "frames");
    yajl_gen_array_open(d->json);
    for (unsigned i = 0; i < n; i++)
        put_frame(d, &d->frames[i]);
    yajl_gen_array_close(d->json);
}

static void put_rest(struct dump *d, const struct etl_event *e, enum decode_result result, uint32_t used)
{
    static const char *const results[] = {"ok", "unknown", "mismatch"};
    UNSET uint64_t           frames[DUMP_FRAMES_MAX];
    unsigned                 n = decoded_stack(e, frames, DUMP_FRAMES_MAX);

    dump_json_put_text(d, "decoded");
    dump_json_put_text(d, results[result]);
    if (n) {
        dump_json_put_text(d, "stack");
        yajl_gen_array_open(d->json);
        for (unsigned i = 0; i < n; i++) {
            char text[24];
            snprintf(text, sizeof text, "0x%" PRIx64, frames[i]);
            dump_json_put_text(d, text);
        }
        yajl_gen_array_close(d->json);
    }
    if (result != DECODE_OK) {
        text_cut(&d->line, 0);
        text_hex(&d->line, e->payload + used, e->payload_size - used);
        dump_json_put_text(d, "payload");
        dump_json_put(d, text_get(&d->line), d->line.length);
    }
}

static void dump_json_put_extras(struct dump *d, const struct etl_event *e)
{
    struct event_extra extra[EVENT_EXTRAS];
    const unsigned     n = event_extras(e, extra);
    for (unsigned i = 0; i < n; i++) {
        dump_json_put_text(d, extra[i].name);
        if (extra[i].number)
            yajl_gen_number(d->json, extra[i].text, strlen(extra[i].text));
        else
            dump_json_put_text(d, extra[i].text);
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
    dump_json_put_extras(d, e);
    dump_json_put_text(d, "event");
    dump_json_put_name(d, names->event);
    dump_json_put_text(d, "fields");
    yajl_gen_map_open(d->json);
    enum decode_result result = decoded_fields(e, names, &d->sink, &used);
    yajl_gen_map_close(d->json);
    if (dump_message(d, e, names)) {
        dump_json_put_text(d, "message");
        dump_json_put(d, text_get(&d->message), d->message.length);
    }
    put_rest(d, e, result, used);
    put_frames(d, e);
    yajl_gen_map_close(d->json);
    yajl_gen_reset(d->json, "\n"); /* ends the line */
    return result;
}

static bool dump_json_begin(struct dump *d)
{
    if (!(d->json = yajl_gen_alloc(NULL)))
        return false;
    yajl_gen_config(d->json, yajl_gen_print_callback, dump_json_print, d);
    return true;
}
static void dump_json_end(struct dump *d)
{
    if (d->json)
        yajl_gen_free(d->json);
}

const struct dump_writer dump_json = {dump_json_begin, write_json, emit_json, dump_json_end};
