/* describe.c - self-describing events. See describe.h. */
#include "autologger/kernel/convert/describe.h"

#include <string.h>

enum { SCHEMA_MAX = 1024, TRAITS_MAX = 128, HAS_OUT_TYPE = 0x80, OUT_UTF8 = 35 };

static void wr_name(struct writer *w, const char *text) { wr_bytes(w, text, strlen(text) + 1); }

static void size_set(struct writer *w)
{
    uint16_t size = (uint16_t)w->pos;
    memcpy(w->data, &size, sizeof size);
}

void describe(struct convert *c, const struct actor *by, const struct shape *shape, uint64_t raw,
              const struct writer *payload)
{
    uint64_t time = convert_time(c, raw);
    describe_at(c, by, shape, &time, payload);
}

void describe_at(struct convert *c, const struct actor *by, const struct shape *shape, uint64_t *time,
                 const struct writer *payload)
{
    uint8_t          traits[TRAITS_MAX], schema[SCHEMA_MAX];
    struct writer    t = wr_make(traits, sizeof traits), s = wr_make(schema, sizeof schema);
    struct described d = {.traits = traits, .schema = schema, .provider = guid_from_name(shape->provider)};
    wr_u16(&t, 0);
    wr_name(&t, shape->provider);
    size_set(&t);
    wr_u16(&s, 0);
    wr_u8(&s, 0); /* no tags */
    wr_name(&s, shape->name);
    for (unsigned i = 0; i < SHAPE_FIELDS && shape->field[i].name; i++) {
        bool text = shape->field[i].type == SHAPE_TEXT;
        wr_name(&s, shape->field[i].name);
        wr_u8(&s, (uint8_t)(text ? SHAPE_TEXT | HAS_OUT_TYPE : shape->field[i].type));
        if (text)
            wr_u8(&s, OUT_UTF8);
    }
    size_set(&s);
    if (wr_ok(&s) && wr_ok(&t) && wr_ok(payload))
        emit_described(c, by, &d, time, payload->data, payload->pos);
}

size_t sample_text(const struct sample *s, unsigned field, const char **text)
{
    const struct raw_field *f     = &s->source->field[field];
    uint32_t                where = (uint32_t)sample_field(s, field), from = where & 0xFFFF, length = where >> 16;
    *text = "";
    if (f->offset == RAW_NO_FIELD || f->size != 4 || from + length > s->raw_size)
        return 0;
    *text = (const char *)s->raw + from;
    return strnlen(*text, length < SHAPE_TEXT_MAX ? length : SHAPE_TEXT_MAX);
}

void wr_sample_text(struct writer *w, const struct sample *s, unsigned field)
{
    const char  *text;
    const size_t size = sample_text(s, field, &text);
    wr_bytes(w, text, size);
    wr_u8(w, 0);
}

void wr_text(struct writer *w, const char *text, size_t size)
{
    wr_bytes(w, text, strnlen(text, size));
    wr_u8(w, 0);
}
