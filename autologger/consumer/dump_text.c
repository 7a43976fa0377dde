/* dump_text.c - events as lines of text. See dump.h. */
#include "autologger/consumer/dump_writer.h"
#include "registry-sim/base/unset.h"
#include "registry-sim/win32/filetime.h"
#include "registry-sim/win32/visible.h"

#include <inttypes.h>
#include <string.h>

static void frame_text(struct text *line, const struct frame_name *f)
{
    static const char *const why[] = {
        "", "no function there", "",
        "of no image in the trace: made at run time, no Image event, or the chain is broken",
        "no address: the chain is broken here"};

    text_printf(line, "    ");
    if (f->module)
        text_visible(line, f->module, strlen(f->module));
    if (f->state == FRAME_NAMED) {
        text_printf(line, "!");
        text_visible(line, f->function, strlen(f->function));
        text_printf(line, "+0x%" PRIx64 "\n", f->offset);
        return;
    }
    if (f->module && f->offset)
        text_printf(line, "+0x%" PRIx64, f->offset);
    else
        text_printf(line, "%s0x%" PRIx64, f->module ? " " : "", f->address);
    if (f->state == FRAME_NO_FILE) {
        text_printf(line, " (needs ");
        text_visible(line, f->path ? f->path : f->module, strlen(f->path ? f->path : f->module));
        text_printf(line, *f->build_id ? ", build id %s)\n" : "%s, which has no build id)\n", f->build_id);
    } else {
        text_printf(line, " (%s)\n", why[f->state]);
    }
}

/* Characters that a plain value lacks: blanks and below, quotes, '=', '\\', DEL; and hidden characters of more than 7
 * bits. */
enum { ODD = 1, HIGH = 2 };
static const uint8_t unusual[256] = {[0] = ODD,    [1] = ODD,
                                     [2] = ODD,    [3] = ODD,
                                     [4] = ODD,    [5] = ODD,
                                     [6] = ODD,    [7] = ODD,
                                     [8] = ODD,    [9] = ODD,
                                     [10] = ODD,   [11] = ODD,
                                     [12] = ODD,   [13] = ODD,
                                     [14] = ODD,   [15] = ODD,
                                     [16] = ODD,   [17] = ODD,
                                     [18] = ODD,   [19] = ODD,
                                     [20] = ODD,   [21] = ODD,
                                     [22] = ODD,   [23] = ODD,
                                     [24] = ODD,   [25] = ODD,
                                     [26] = ODD,   [27] = ODD,
                                     [28] = ODD,   [29] = ODD,
                                     [30] = ODD,   [31] = ODD,
                                     [' '] = ODD,  ['"'] = ODD,
                                     ['='] = ODD,  ['\\'] = ODD,
                                     [0x7F] = ODD, [0x80 ... 0xFF] = HIGH};

static bool dump_text_is_plain(const char *p, size_t size)
{
    unsigned seen = size ? 0 : ODD;

    for (size_t i = 0; i < size; i++)
        seen |= unusual[(unsigned char)p[i]];
    return !(seen & ODD) && (!(seen & HIGH) || visible_length(p, size) == size);
}

/* Adds a character of more than 7 bits, or its escape. Returns its size in bytes. */
static size_t add_character(struct text *line, const char *p, size_t size)
{
    char     escape[VISIBLE_ESCAPE];
    uint32_t code;
    bool     valid;
    size_t   n = visible_character(p, size, &code, &valid);

    if (visible_length(p, n) == n) {
        text_add(line, p, n);
    } else {
        visible_escape_one(p, n, escape);
        text_add(line, escape, strlen(escape));
    }
    return n;
}

/* A value that is ambiguous, or would break the line, is quoted with JSON's escapes. */
void dump_add_value(struct text *line, const char *p, size_t size)
{
    if (dump_text_is_plain(p, size)) {
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
        else if (c < 0x80)
            text_add(line, p + i, 1);
        else
            i += add_character(line, p + i, size - i) - 1;
    }
    text_add(line, "\"", 1);
}

/* Names stay as they are, without characters that break the line. */
void dump_add_name(struct text *line, const char *name)
{
    size_t start = line->length, n = 0;

    while ((unsigned char)name[n] > ' ' && (unsigned char)name[n] < 0x7F)
        n++;
    if (!name[n]) {
        text_add(line, name, n);
        return;
    }
    text_visible(line, name, strlen(name));
    for (size_t i = start; i < line->length; i++)
        if (line->data[i] == ' ')
            line->data[i] = '_';
}

void dump_emit_text(void *self, const struct field *f)
{
    struct dump *d = self;

    text_add(&d->line, " ", 1);
    if (f->path == f->field->name && f->field->plain_name)
        text_add(&d->line, f->path, f->field->name_length);
    else
        dump_add_name(&d->line, f->path);
    text_add(&d->line, "=", 1);
    if (f->json == JSON_BARE || f->hex)
        text_add(&d->line, f->text, f->length);
    else
        dump_add_value(&d->line, f->text, f->length);
}

static void add_id(struct text *line, const char *label, uint32_t id)
{
    text_add(line, label, strlen(label));
    if (id == (uint32_t)DUMP_NO_ID)
        text_add(line, "-", 1);
    else
        text_unsigned(line, id);
}

/* "12.0000345": in 100 ns. */
static void add_seconds(struct text *line, int64_t ticks)
{
    uint64_t positive = ticks < 0 ? 0 - (uint64_t)ticks : (uint64_t)ticks, rest = positive % 10000000;
    char     digits[8] = ".";

    if (ticks < 0)
        text_add(line, "-", 1);
    text_unsigned(line, positive / 10000000);
    for (int i = 7; i > 0; i--, rest /= 10)
        digits[i] = (char)('0' + rest % 10);
    text_add(line, digits, sizeof digits);
}

static void dump_text_add_time(struct dump *d, const struct etl_event *e)
{
    char    text[FILETIME_TEXT_SIZE];
    int64_t ticks = (int64_t)(e->filetime - (uint64_t)d->header->raw.start_time);

    if (d->options->iso)
        text_printf(&d->line, "%s", filetime_format(e->filetime, text));
    else
        add_seconds(&d->line, ticks);
}

void dump_add_extras(struct dump *d, const struct etl_event *e)
{
    struct event_extra extra[EVENT_EXTRAS];
    const unsigned     n = event_extras(e, extra);
    for (unsigned i = 0; i < n; i++)
        text_printf(&d->line, " %s=%s", extra[i].name, extra[i].text);
}

void dump_add_stack(struct dump *d, const struct etl_event *e, char between)
{
    UNSET uint64_t frames[DUMP_FRAMES_MAX];
    unsigned       n = decoded_stack(e, frames, DUMP_FRAMES_MAX);

    for (unsigned i = 0; i < n; i++) {
        text_add(&d->line, i ? &between : " stack=", i ? 1 : 7);
        text_hexnumber(&d->line, frames[i]);
    }
}

void dump_add_payload(struct dump *d, const struct etl_event *e, enum decode_result result, uint32_t used)
{
    if (result == DECODE_OK)
        return;
    text_printf(&d->line, " payload=");
    text_hex(&d->line, e->payload + used, e->payload_size - used);
}

/* Writes a field into the line: what dump_emit_text does, without a text in between. `place`: the field's place; NULL:
 * at the top. */
static inline void add_value(struct dump *d, const struct schema_field *f, const struct walk_place *place,
                             const struct value *v, bool is_64bit)
{
    enum value_json json;

    text_add(&d->line, " ", 1);
    if (place) {
        walk_path(place, &d->sink.path);
        dump_add_name(&d->line, text_get(&d->sink.path));
    } else if (f->plain_name) {
        text_add(&d->line, f->name, f->name_length);
    } else {
        dump_add_name(&d->line, f->name);
    }
    text_add(&d->line, "=", 1);
    size_t start = d->line.length;
    walk_text(f, v, is_64bit, &d->line, &json);
    if (json == JSON_BARE || (value_is_hex(f->kind) && !f->map) ||
        dump_text_is_plain(text_get(&d->line) + start, d->line.length - start))
        return;
    text_cut(&d->sink.value, 0);
    text_add(&d->sink.value, text_get(&d->line) + start, d->line.length - start);
    text_cut(&d->line, start);
    dump_add_value(&d->line, text_get(&d->sink.value), d->sink.value.length);
}

static bool add_field(void *self, const struct walk_place *place, const struct value *v)
{
    const struct walk_level *at = &place->levels[place->depth];

    if (!(at->field->flags & FIELD_HIDDEN))
        add_value(self, at->field, place->depth || at->in_array ? place : NULL, v, place->is_64bit);
    return true;
}

static enum decode_result add_fields(struct dump *d, const struct etl_event *e, const struct decoded *names,
                                     uint32_t *used)
{
    if (!names->schema)
        return decoded_fields(e, names, &d->sink, used);
    if (walk_is_flat(names->schema)) {
        UNSET struct value values[WALK_VALUES];
        unsigned           count;
        enum decode_result result = walk_values(names->schema, e->payload, e->payload_size, values, &count, used);
        for (unsigned i = 0; i < count; i++)
            add_value(d, &names->schema->fields[i], NULL, &values[i], e->is_64bit);
        return result;
    }
    return walk_payload(names->schema, e->payload, e->payload_size, e->is_64bit, add_field, d, used);
}

static void dump_text_add_ids(struct dump *d, const struct etl_event *e)
{
    const uint32_t ids[] = {e->cpu, e->process_id, e->thread_id};

    if (!d->ids.length || memcmp(ids, d->ids_of, sizeof ids) != 0) {
        text_cut(&d->ids, 0);
        add_id(&d->ids, " cpu ", ids[0]);
        add_id(&d->ids, " pid ", ids[1]);
        add_id(&d->ids, " tid ", ids[2]);
        text_add(&d->ids, " ", 1);
        memcpy(d->ids_of, ids, sizeof ids);
    }
    text_add(&d->line, text_get(&d->ids), d->ids.length);
}

/* "Provider/Event". */
static void add_label(struct dump *d, const struct etl_event *e, const struct decoded *names)
{
    struct dump_label *l     = &d->labels[e->items % DUMP_LABELS];
    const size_t       start = d->line.length;
    char               guid[GUID_TEXT_SIZE];

    if (e->items && l->items == e->items) {
        text_add(&d->line, l->text, l->length);
        return;
    }
    dump_add_name(&d->line, names->provider ? names->provider : guid_format(&e->provider, guid));
    text_add(&d->line, "/", 1);
    dump_add_name(&d->line, names->event);
    const size_t length = d->line.length - start;
    if (!e->items || !names->provider || names->by != DESCRIBED_TRACELOGGING || length > DUMP_LABEL || d->line.failed)
        return;
    *l = (struct dump_label){.items = e->items, .length = length};
    memcpy(l->text, text_get(&d->line) + start, length);
}

static enum decode_result write_text(struct dump *d, const struct etl_event *e, const struct decoded *names)
{
    uint32_t used;

    text_cut(&d->line, 0);
    dump_text_add_time(d, e);
    dump_text_add_ids(d, e);
    const char *unit = process_units_name(&d->units, actors_process(&d->actors, e));
    if (unit) {
        text_add(&d->line, "unit ", 5);
        dump_add_name(&d->line, *unit ? unit : "none");
        text_add(&d->line, " ", 1);
    }
    add_label(d, e, names);
    enum decode_result result = add_fields(d, e, names, &used);
    if (dump_message(d, e, names)) {
        text_printf(&d->line, " message=");
        dump_add_value(&d->line, text_get(&d->message), d->message.length);
    }
    if (decoded_channel(names)) {
        text_printf(&d->line, " channel=");
        dump_add_value(&d->line, decoded_channel(names), strlen(decoded_channel(names)));
    }
    dump_add_extras(d, e);
    dump_add_stack(d, e, ',');
    dump_add_payload(d, e, result, used);
    if (result != DECODE_OK)
        text_printf(&d->line, " (%u bytes not decoded)", e->payload_size - used);
    text_add(&d->line, "\n", 1);
    unsigned n = dump_frames(d, e);
    for (unsigned i = 0; i < n; i++)
        frame_text(&d->line, &d->frames[i]);
    fwrite(text_get(&d->line), 1, d->line.length, d->out);
    return result;
}

static bool dump_text_begin(struct dump *d)
{
    (void)d;
    return true;
}
static void dump_text_end(struct dump *d) { (void)d; }

const struct dump_writer dump_text = {dump_text_begin, write_text, dump_emit_text, dump_text_end};
