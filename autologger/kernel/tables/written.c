#include "autologger/kernel/tables/written.h"

#include "autologger/wire/hooks.h"

#include <string.h>

static const struct written_class rows[] = {
#define CLASS(hook, version, never, keywords, source, proof) {hook, version, NULL, NULL, NULL, never, keywords, source, proof},
#define OWN(provider, event, fields, never, keywords, source, proof) {WRITTEN_OWN, 0, provider, event, fields, never, keywords, source, proof},
#include "autologger/kernel/tables/written.def"
#undef CLASS
#undef OWN
};

const struct written_class *written_classes(size_t *count)
{
    *count = sizeof rows / sizeof *rows;
    return rows;
}

const struct written_class *written_find(uint16_t hook, uint8_t version)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].hook == hook && rows[i].version == version && hook != WRITTEN_OWN)
            return &rows[i];
    return NULL;
}

static bool is(const char *want, const char *name) { return strcmp(want, "*") == 0 || strcmp(want, name) == 0; }

const struct written_class *written_find_own(const char *provider, const char *event)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].hook == WRITTEN_OWN && is(rows[i].provider, provider) && is(rows[i].event, event))
            return &rows[i];
    return NULL;
}

bool written_has_word(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *p = list; *p; p += strspn(p, " ")) {
        size_t n = strcspn(p, " ");
        if (n == length && memcmp(p, name, n) == 0)
            return true;
        p += n;
    }
    return false;
}
