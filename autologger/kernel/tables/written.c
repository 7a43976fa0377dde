#include "autologger/kernel/tables/written.h"

#include "autologger/wire/hooks.h"

#include <string.h>

static const struct written_class written_rows[] = {
#define CLASS(hook, version, never, keywords, source, proof) \
    {hook, version, NULL, NULL, NULL, never, keywords, source, proof},
#define OWN(provider, event, fields, never, keywords, source, proof) \
    {WRITTEN_OWN, 0, provider, event, fields, never, keywords, source, proof},
#include "autologger/kernel/tables/written.def"
#undef CLASS
#undef OWN
};

const struct written_class *written_classes(size_t *count)
{
    *count = sizeof written_rows / sizeof *written_rows;
    return written_rows;
}

const struct written_class *written_find(uint16_t hook, uint8_t version)
{
    for (size_t i = 0; i < sizeof written_rows / sizeof *written_rows; i++)
        if (written_rows[i].hook == hook && written_rows[i].version == version && hook != WRITTEN_OWN)
            return &written_rows[i];
    return NULL;
}

static bool written_is(const char *want, const char *name) { return strcmp(want, "*") == 0 || strcmp(want, name) == 0; }

const struct written_class *written_find_own(const char *provider, const char *event)
{
    for (size_t i = 0; i < sizeof written_rows / sizeof *written_rows; i++)
        if (written_rows[i].hook == WRITTEN_OWN && written_is(written_rows[i].provider, provider) &&
            written_is(written_rows[i].event, event))
            return &written_rows[i];
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
