#include "autologger/analysis/fields.h"

#include <stdlib.h>
#include <string.h>

static void fields_take(void *self, const struct field *field)
{
    struct fields *f = self;

    for (unsigned i = 0; f->wanted[i]; i++)
        if (!f->found[i] && strcmp(field->name, f->wanted[i]) == 0) {
            text_add(&f->value[i], field->text, field->length);
            f->found[i] = true;
        }
}

bool fields_read(struct fields *f, const struct etl_event *e, const struct decoded *names, const char *const *wanted)
{
    uint32_t used;

    f->wanted = wanted;
    for (unsigned i = 0; i < FIELDS_MOST; i++) {
        f->found[i] = false;
        text_cut(&f->value[i], 0);
    }
    f->sink.self = f;
    f->sink.emit = fields_take;
    decoded_fields(e, names, &f->sink, &used);
    return f->found[0];
}

const char *fields_text(const struct fields *f, unsigned i) { return f->found[i] ? text_get(&f->value[i]) : ""; }

uint64_t fields_number(const struct fields *f, unsigned i)
{
    const char *text = fields_text(f, i);
    return *text == '-' ? (uint64_t)strtoll(text, NULL, 10)
                        : strtoull(text, NULL, strncmp(text, "0x", 2) == 0 ? 16 : 10);
}

bool fields_failed(const struct fields *f)
{
    bool failed = f->sink.path.failed || f->sink.value.failed;
    for (unsigned i = 0; i < FIELDS_MOST; i++)
        failed |= f->value[i].failed;
    return failed;
}

void fields_finish(struct fields *f)
{
    for (unsigned i = 0; i < FIELDS_MOST; i++)
        text_finish(&f->value[i]);
    field_sink_finish(&f->sink);
    *f = (struct fields){0};
}
