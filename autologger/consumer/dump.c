#include "autologger/consumer/dump.h"

#include "autologger/consumer/classic.h"
#include "autologger/consumer/decoded.h"
#include "autologger/consumer/process_filter.h"
#include "autologger/consumer/process_units.h"
#include "registry-sim/win32/filetime.h"
#include "registry-sim/win32/utf16.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_gen.h>

enum { FRAMES_MAX = 1024, NO_ID = -1 };

struct dump {
    const struct dump_options    *options;
    const struct etl_file_header *header;
    FILE                         *out;
    yajl_gen                      json;
    struct field_sink             sink;
    struct text                   line, name;
    struct process_filter         process, unit;
    struct actors                 actors;
    struct process_units          units;
    struct guid                   hashed[DUMP_PROVIDERS_MAX]; /* of the names of providers */
    struct dump_counts           *counts;
    struct frame_name            *frames; /* FRAMES_MAX of them; NULL: no names are wanted */
};

/* --- filters --- */

static bool is_provider(const struct dump *d, unsigned i, const struct etl_event *e, const struct decoded *names)
{
    const struct dump_provider *p = &d->options->providers[i];
    if (p->guid)
        return guid_equal(p->guid, &e->provider);
    return (names->provider && name_compare(names->provider, p->name) == 0) || guid_equal(&d->hashed[i], &e->provider);
}

static bool provider_passes(struct dump *d, const struct etl_event *e, const struct decoded *names)
{
    const struct dump_provider *p  = d->options->providers;
    bool                        is = !p->guid && !p->name;

    for (unsigned i = 0; i < DUMP_PROVIDERS_MAX && (p[i].guid || p[i].name); i++)
        if (is_provider(d, i, e, names)) {
            d->counts->seen[i]++;
            is = true;
        }
    return is;
}

static bool process_wanted(void *ctx, uint32_t process) { return process == ((struct dump *)ctx)->options->process_id; }

static bool unit_matches(const struct dump *d, const char *name)
{
    for (const char *const *p = d->options->units; *p; p++)
        if (process_units_match(*p, name))
            return true;
    return false;
}

static bool unit_wanted(void *ctx, uint32_t process)
{
    struct dump *d    = ctx;
    const char  *name = process_units_name(&d->units, process);
    return name && unit_matches(d, name);
}

/* What is told of the unit itself. */
static bool unit_field(void *ctx, const struct field *f) { return strcmp(f->name, "Unit") == 0 && *f->text && unit_matches(ctx, f->text); }

/* Whose events are was told by those before; so all are looked at, and those of units' processes by their processors, too. */
static bool passes(struct dump *d, const struct etl_event *e, const struct decoded *names)
{
    const struct dump_options *o = d->options;
    actors_see(&d->actors, e);
    process_units_see(&d->units, e, names);
    bool process = !o->by_process || process_filter_passes(&d->process, e, names);
    bool unit    = !*o->units || process_filter_passes(&d->unit, e, names) || unit_wanted(d, actors_process(&d->actors, e));
    return provider_passes(d, e, names) && process && unit && (!o->from || e->filetime >= o->from) &&
           (!o->to || e->filetime <= o->to);
}

/* --- frames --- */

static const char *const frame_states[] = {"named", "no-name", "no-file", "no-image", "no-code"};

static unsigned frames_get(struct dump *d, const struct etl_event *e)
{
    const struct frame_namer *namer = d->options->frames;
    return d->frames ? namer->stack(namer->ctx, e, d->frames, FRAMES_MAX) : 0;
}

static void frame_text(struct text *line, const struct frame_name *f)
{
    static const char *const why[] = {
        "", "no function there", "", "of no image in the trace: made at run time, no Image event, or the chain is broken",
        "no address: the chain is broken here"};

    text_printf(line, "    ");
    if (f->module)
        text_utf8(line, f->module, strlen(f->module));
    if (f->state == FRAME_NAMED) {
        text_printf(line, "!");
        text_utf8(line, f->function, strlen(f->function));
        text_printf(line, "+0x%" PRIx64 "\n", f->offset);
        return;
    }
    if (f->module && f->offset)
        text_printf(line, "+0x%" PRIx64, f->offset);
    else
        text_printf(line, "%s0x%" PRIx64, f->module ? " " : "", f->address);
    if (f->state == FRAME_NO_FILE) {
        text_printf(line, " (needs ");
        text_utf8(line, f->path ? f->path : f->module, strlen(f->path ? f->path : f->module));
        text_printf(line, *f->build_id ? ", build id %s)\n" : "%s, which has no build id)\n", f->build_id);
    } else {
        text_printf(line, " (%s)\n", why[f->state]);
    }
}

/* --- text --- */

/* A value that would be mistaken for something else, or break the line, is quoted with JSON's escapes. */
static void add_value(struct text *line, const char *p, size_t size)
{
    bool plain = size > 0;

    for (size_t i = 0; i < size && plain; i++)
        plain = (unsigned char)p[i] > ' ' && p[i] != '"' && p[i] != '=' && p[i] != '\\' && p[i] != 0x7F;
    if (plain) {
        text_add(line, p, size);
        return;
    }
    text_add(line, "\"", 1);
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)p[i];
        if (c == '"' || c == '\\')
            text_printf(line, "\\%c", c);
        else if (c == '\n')
            text_add(line, "\\n", 2);
        else if (c < ' ' || c == 0x7F)
            text_printf(line, "\\u%04x", c);
        else
            text_add(line, p + i, 1);
    }
    text_add(line, "\"", 1);
}

/* Names: as they are, but nothing that breaks the line. */
static void add_name(struct text *line, const char *name)
{
    size_t start = line->length;

    text_utf8(line, name, strlen(name));
    for (size_t i = start; i < line->length; i++)
        if ((unsigned char)line->data[i] <= ' ' || line->data[i] == 0x7F)
            line->data[i] = '_';
}

static void emit_text(void *self, const struct field *f)
{
    struct dump *d = self;

    text_add(&d->line, " ", 1);
    add_name(&d->line, f->path);
    text_add(&d->line, "=", 1);
    add_value(&d->line, f->text, f->length);
}

static void add_id(struct text *line, const char *label, uint32_t id)
{
    if (id == (uint32_t)NO_ID)
        text_printf(line, " %s -", label);
    else
        text_printf(line, " %s %u", label, id);
}

static void add_time(struct dump *d, const struct etl_event *e)
{
    char    text[FILETIME_TEXT_SIZE];
    int64_t ticks = (int64_t)(e->filetime - (uint64_t)d->header->raw.start_time);

    if (d->options->iso)
        text_printf(&d->line, "%s", filetime_format(e->filetime, text));
    else
        text_printf(&d->line, "%s%" PRIu64 ".%07" PRIu64, ticks < 0 ? "-" : "",
                    (ticks < 0 ? 0 - (uint64_t)ticks : (uint64_t)ticks) / 10000000,
                    (ticks < 0 ? 0 - (uint64_t)ticks : (uint64_t)ticks) % 10000000);
}

static enum decode_result write_text(struct dump *d, const struct etl_event *e, const struct decoded *names)
{
    uint64_t frames[FRAMES_MAX];
    char     guid[GUID_TEXT_SIZE];
    uint32_t used;

    text_cut(&d->line, 0);
    add_time(d, e);
    text_printf(&d->line, " cpu %u", e->cpu);
    add_id(&d->line, "pid", e->process_id);
    add_id(&d->line, "tid", e->thread_id);
    const char *unit = process_units_name(&d->units, actors_process(&d->actors, e));
    if (unit) {
        text_add(&d->line, " unit ", 6);
        add_name(&d->line, *unit ? unit : "none");
    }
    text_add(&d->line, " ", 1);
    add_name(&d->line, names->provider ? names->provider : guid_format(&e->provider, guid));
    text_add(&d->line, "/", 1);
    add_name(&d->line, names->event);
    enum decode_result result = decoded_fields(e, names, &d->sink, &used);
    unsigned           n      = decoded_stack(e, frames, FRAMES_MAX);
    for (unsigned i = 0; i < n; i++)
        text_printf(&d->line, "%s0x%" PRIx64, i ? "," : " stack=", frames[i]);
    if (result != DECODE_OK) {
        text_printf(&d->line, " payload=");
        text_hex(&d->line, e->payload + used, e->payload_size - used);
        text_printf(&d->line, " (%u bytes not decoded)", e->payload_size - used);
    }
    text_add(&d->line, "\n", 1);
    n = frames_get(d, e);
    for (unsigned i = 0; i < n; i++)
        frame_text(&d->line, &d->frames[i]);
    fwrite(text_get(&d->line), 1, d->line.length, d->out);
    return result;
}

/* --- JSON lines --- */

static void print(void *self, const char *text, size_t size) { fwrite(text, 1, size, ((struct dump *)self)->out); }

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
    if (id == (uint32_t)NO_ID)
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
    unsigned n = frames_get(d, e);

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
    uint64_t                 frames[FRAMES_MAX];
    unsigned                 n = decoded_stack(e, frames, FRAMES_MAX);

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
    put_text(d, "event");
    put_name(d, names->event);
    put_text(d, "fields");
    yajl_gen_map_open(d->json);
    enum decode_result result = decoded_fields(e, names, &d->sink, &used);
    yajl_gen_map_close(d->json);
    put_rest(d, e, result, used);
    put_frames(d, e);
    yajl_gen_map_close(d->json);
    yajl_gen_reset(d->json, "\n"); /* ends the line */
    return result;
}

/* --- */

wstatus dump_events(struct etl_reader *r, const struct dump_options *options, FILE *out, struct dump_counts *counts,
                    struct reason *why)
{
    struct dump      d  = {.options = options, .header = etl_reader_header(r), .out = out};
    wstatus          st = W_SUCCESS;
    struct etl_event e;
    struct decoded   names;

    *counts     = (struct dump_counts){0};
    d.counts    = counts;
    if (options->frames && !(d.frames = malloc(FRAMES_MAX * sizeof *d.frames)))
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for frames");
    d.process = (struct process_filter){.wanted = process_wanted, .ctx = &d, .actors = &d.actors};
    d.unit    = (struct process_filter){.wanted = unit_wanted, .field = unit_field, .ctx = &d, .actors = &d.actors};
    for (unsigned i = 0; i < DUMP_PROVIDERS_MAX; i++)
        if (options->providers[i].name)
            d.hashed[i] = guid_from_name(options->providers[i].name);
    d.sink.self = &d;
    d.sink.emit = options->json ? emit_json : emit_text;
    if (options->json) {
        if (!(d.json = yajl_gen_alloc(NULL))) {
            free(d.frames);
            return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for a JSON writer");
        }
        yajl_gen_config(d.json, yajl_gen_print_callback, print, &d);
    }
    errno = 0;
    while ((!options->limit || counts->written < options->limit) && !ferror(out) && etl_next(r, &e)) {
        counts->read++;
        decoded_names(&e, &names);
        if (!passes(&d, &e, &names))
            continue;
        enum decode_result result = options->json ? write_json(&d, &e, &names) : write_text(&d, &e, &names);
        counts->written++;
        counts->unknown += result == DECODE_UNKNOWN;
        counts->mismatch += result == DECODE_MISMATCH;
    }
    if (fflush(out) != 0 || ferror(out))
        st = reason_set(why, errno ? wstatus_from_errno(errno) : W_DISK_FULL, "the output can't be written: %s",
                        strerror(errno));
    if (d.sink.path.failed || d.sink.value.failed || d.line.failed || d.name.failed || d.process.failed || d.unit.failed || d.actors.failed ||
        d.units.failed)
        st = reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the text of an event");
    if (d.json)
        yajl_gen_free(d.json);
    field_sink_finish(&d.sink);
    process_filter_finish(&d.process);
    process_filter_finish(&d.unit);
    counts->units_told = d.units.count > 0;
    process_units_finish(&d.units);
    actors_finish(&d.actors);
    text_finish(&d.line);
    text_finish(&d.name);
    free(d.frames);
    return st;
}
