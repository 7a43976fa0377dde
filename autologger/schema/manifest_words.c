/* Words that every manifest may use, and texts by culture. */
#include "autologger/schema/manifest.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct manifest_predefined manifest_words_predefined[] = {
#define W(kind, value, name, text, symbol) {WORDS_##kind, value, name, text, symbol},
#include "autologger/schema/manifest_predefined.def"
#undef W
};

const struct manifest_predefined *manifest_predefined(size_t *count)
{
    *count = sizeof manifest_words_predefined / sizeof manifest_words_predefined[0];
    return manifest_words_predefined;
}

/* The length of the language in "de_DE.UTF-8", "de-DE". */
static size_t language_length(const char *locale) { return strcspn(locale, "-_.@"); }

int manifest_culture_find(const struct manifest *m, const char *locale)
{
    int    near = -1;
    size_t n = locale ? strcspn(locale, ".@") : 0, language = locale ? language_length(locale) : 0;

    for (unsigned i = 0; i < m->cultures.count && locale; i++) {
        const char *name = m->cultures.at[i].name;
        bool        same = strlen(name) == n;
        for (size_t k = 0; k < n && same; k++) { /* de_DE is de-DE */
            char a = name[k] == '_' ? '-' : name[k], b = locale[k] == '_' ? '-' : locale[k];
            same = a == b || ((a ^ b) == 0x20 && (a | 0x20) >= 'a' && (a | 0x20) <= 'z');
        }
        if (same)
            return (int)i;
        if (near < 0 && language && language_length(name) == language && strncasecmp(name, locale, language) == 0)
            near = (int)i;
    }
    return near >= 0 ? near : m->cultures.count ? 0 : -1;
}

static int manifest_words_string_order(const void *a, const void *b)
{
    return strcmp(((const struct manifest_string *)a)->id, ((const struct manifest_string *)b)->id);
}

static const char *string_find(const struct manifest_culture *c, const char *id)
{
    struct manifest_string        key = {.id = id};
    const struct manifest_string *s =
        c->strings.count ? bsearch(&key, c->strings.at, c->strings.count, sizeof key, manifest_words_string_order)
                         : NULL;
    return s ? s->value : NULL;
}

static const char *id_text(const struct manifest *m, const char *id, int culture)
{
    const char *text =
        culture >= 0 && (unsigned)culture < m->cultures.count ? string_find(&m->cultures.at[culture], id) : NULL;
    for (unsigned i = 0; i < m->cultures.count && !text; i++)
        text = string_find(&m->cultures.at[i], id);
    return text;
}

static int manifest_words_message_order(const void *a, const void *b)
{
    const struct manifest_item *x = a, *y = b;
    return strcmp(x->name, y->name);
}

const char *manifest_text_get(const struct manifest *m, const struct manifest_text *text, int culture)
{
    switch (text->kind) {
    case MANIFEST_TEXT_NONE: return NULL;
    case MANIFEST_TEXT_LITERAL: return text->text;
    case MANIFEST_TEXT_STRING: return id_text(m, text->text, culture);
    case MANIFEST_TEXT_MC: break;
    }
    struct manifest_item        key = {.name = text->text};
    const struct manifest_item *found =
        m->messages.count ? bsearch(&key, m->messages.at, m->messages.count, sizeof key, manifest_words_message_order)
                          : NULL;
    return found && found->message.kind != MANIFEST_TEXT_MC ? manifest_text_get(m, &found->message, culture) : NULL;
}

wstatus manifest_read_status(const char *file, bool no_memory, const struct manifest_problems *problems,
                             struct reason *why)
{
    if (no_memory)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "%s needs more than %d MB of memory", file,
                          MANIFEST_MEMORY_MAX >> 20);
    return problems->errors ? reason_set(why, W_INVALID_DATA, "%s has %u mistake%s", file, problems->errors,
                                         problems->errors == 1 ? "" : "s")
                            : W_SUCCESS;
}

void manifest_free(struct manifest *m)
{
    if (!m)
        return;
    pool_free(m->pool);
    free(m);
}
