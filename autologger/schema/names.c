#include "autologger/schema/names.h"

#include <stddef.h>

static const struct {
    enum predefined kind;
    uint64_t        value;
    const char     *name;
} names_rows[] = {
#define P(kind, value, name) {PREDEFINED_##kind, value, name},
#include "autologger/schema/predefined.def"
#undef P
};

const char *predefined_name(enum predefined what, uint64_t value)
{
    for (size_t i = 0; i < sizeof names_rows / sizeof *names_rows; i++)
        if (names_rows[i].kind == what && names_rows[i].value == value)
            return names_rows[i].name;
    return NULL;
}

const char *predefined_at(enum predefined what, unsigned n, uint64_t *value)
{
    for (size_t i = 0; i < sizeof names_rows / sizeof *names_rows; i++)
        if (names_rows[i].kind == what && n-- == 0) {
            *value = names_rows[i].value;
            return names_rows[i].name;
        }
    return NULL;
}
