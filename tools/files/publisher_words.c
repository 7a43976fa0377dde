#include "tools/files/publisher_words.h"

#include "autologger/plan/publishers.h"
#include "autologger/schema/manifest_model.h"
#include "autologger/schema/payload_layout.h"
#include "registry-sim/base/nearest.h"
#include "tools/base/cmdline.h"
#include "tools/files/manifest_source.h"
#include "tools/files/publisher_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The last provider asked for: a configuration asks several times about one provider. */
static struct {
    struct manifest *manifest;
    struct guid      guid;
    bool             asked;
} last;

/* The described events of the last provider asked for. */
static struct {
    const struct manifest_provider *of;
    struct schema_provider         *events;
} publisher_words_described;

/* The manifests of the command line. */
static struct manifest_source given = {.forgiving = true, .quiet = true};

void publisher_option_add(struct publisher_option *o, const char *file, struct argp_state *state)
{
    if (o->count == PUBLISHER_FILES_MAX)
        argp_error(state, "at most %d manifests", PUBLISHER_FILES_MAX);
    else
        o->files[o->count++] = file;
}

bool publisher_option_open(const struct publisher_option *o, const char *verb, int *code)
{
    struct reason why = {0};
    wstatus       st  = W_SUCCESS;

    for (unsigned i = 0; i < o->count && !st; i++)
        st = manifest_source_read(&given, o->files[i], &why);
    if (st)
        *code = manifest_source_failed(&given, verb, st, &why);
    return !st;
}

/* By name, or, where that is NULL, by GUID. */
static const struct manifest_provider *given_provider(const char *name, const struct guid *guid)
{
    for (unsigned i = 0; i < given.count; i++)
        for (unsigned k = 0; k < given.list[i]->providers.count; k++) {
            const struct manifest_provider *p = &given.list[i]->providers.at[k];
            if (name ? p->name && strcasecmp(p->name, name) == 0 : guid_equal(&p->guid, guid))
                return p;
        }
    return NULL;
}

static bool publisher_words_guid_of(void *ctx, const char *name, struct guid *out)
{
    const struct manifest_provider *p = given_provider(name, NULL);
    struct regstore                *store;
    struct reason                   ignored;

    (void)ctx;
    if (p) {
        *out = p->guid;
        return true;
    }
    if (regstore_open(cmdline_store(), false, &store, &ignored))
        return false; /* no readable store: names are hashed */
    wstatus st = publisher_find(store, name, out, NULL, &ignored);
    regstore_close(store);
    return st == W_SUCCESS;
}

static const struct manifest_provider *publisher_words_provider_of(const struct guid *guid)
{
    const struct manifest_provider *p = given_provider(NULL, guid);
    char                            folder[PUBLISHERS_PATH];
    struct reason                   ignored;

    if (p)
        return p;
    if (!last.asked || !guid_equal(&last.guid, guid)) {
        manifest_free(last.manifest);
        last.manifest                = NULL;
        publisher_words_described.of = NULL; /* its manifest is gone; it is made anew at the next question */
        publishers_load(publishers_beside(cmdline_store(), folder), guid, &last.manifest, &ignored);
        last.guid  = *guid;
        last.asked = true;
    }
    return last.manifest && last.manifest->providers.count ? &last.manifest->providers.at[0] : NULL;
}

static bool item_is(const struct manifest_item *i, const char *word, uint64_t *value, struct nearest *near)
{
    if (!i->name)
        return false;
    *value = i->value;
    nearest_try(near, i->name);
    return strcasecmp(i->name, word) == 0 || (i->symbol && strcmp(i->symbol, word) == 0);
}

static enum publisher_answer publisher_word_of(void *ctx, const struct guid *provider, enum publisher_word kind,
                                               const char *word, uint64_t *value, char *near)
{
    const struct manifest_provider   *p = publisher_words_provider_of(provider);
    struct nearest                    n = nearest_make(word, 3);
    size_t                            count;
    const struct manifest_predefined *w = manifest_predefined(&count);

    (void)ctx;
    if (!p)
        return PUBLISHER_MISSING;
    unsigned items = kind == PUBLISHER_KEYWORD ? p->keywords.count : p->levels.count;
    for (unsigned i = 0; i < items; i++)
        if (item_is(kind == PUBLISHER_KEYWORD ? &p->keywords.at[i] : &p->levels.at[i], word, value, &n))
            return PUBLISHER_FOUND;
    /* a channel selects its events by a keyword bit, too */
    for (unsigned i = 0; kind == PUBLISHER_KEYWORD && i < p->channels.count; i++) {
        struct manifest_item channel = p->channels.at[i].item;
        channel.value                = p->channels.at[i].keyword;
        if (item_is(&channel, word, value, &n))
            return PUBLISHER_FOUND;
    }
    for (size_t i = 0; i < count; i++)
        if (w[i].kind == (kind == PUBLISHER_KEYWORD ? WORDS_KEYWORD : WORDS_LEVEL) &&
            strcasecmp(w[i].name, word) == 0) {
            *value = w[i].value;
            return PUBLISHER_FOUND;
        }
    snprintf(near, 128, "%s", n.found ? n.found : "");
    return PUBLISHER_UNKNOWN;
}

static const struct schema_provider *described_provider(const struct manifest_provider *p, struct reason *why)
{
    const struct manifest *m = last.manifest;
    for (unsigned i = 0; i < given.count; i++)
        if (p >= given.list[i]->providers.at && p < given.list[i]->providers.at + given.list[i]->providers.count)
            m = given.list[i];
    if (publisher_words_described.of != p) {
        schema_provider_free(publisher_words_described.events);
        publisher_words_described.events = manifest_schema(m, p, -1, why);
        publisher_words_described.of     = publisher_words_described.events ? p : NULL;
    }
    return publisher_words_described.events;
}

static bool event_is(const struct schema_event *e, bool id, const char *word)
{
    return id ? strtoul(word, NULL, 10) == e->id && strlen(word) <= 5 : e->name && strcasecmp(e->name, word) == 0;
}

static enum publisher_answer publisher_words_layout_of(void *ctx, const struct guid *provider, bool id, unsigned nth,
                                                       struct payload_clause *clause, bool *more, struct reason *why)
{
    const struct manifest_provider *p     = publisher_words_provider_of(provider);
    const struct schema_event      *found = NULL;
    struct nearest                  n     = nearest_make(clause->event, 3);

    (void)ctx;
    *more = false;
    if (!p)
        return PUBLISHER_MISSING;
    const struct schema_provider *s = described_provider(p, why);
    if (!s)
        return PUBLISHER_UNKNOWN;
    for (unsigned i = 0; i < s->event_count && !*more; i++) {
        if (s->events[i]->name && !id)
            nearest_try(&n, s->events[i]->name);
        if (!event_is(s->events[i], id, clause->event))
            continue;
        if (found)
            *more = true;
        else if (!nth--)
            found = s->events[i];
    }
    if (found)
        return payload_layout(found, clause, why) ? PUBLISHER_UNKNOWN : PUBLISHER_FOUND;
    reason_set(why, W_INVALID_PARAMETER, "the provider's manifest has no event '%.40s'%s%.40s%s", clause->event,
               n.found ? ", did you mean '" : "", n.found ? n.found : "", n.found ? "'?" : "");
    return PUBLISHER_UNKNOWN;
}

static void publisher_words_forget(void)
{
    schema_provider_free(publisher_words_described.events);
    manifest_free(last.manifest);
    manifest_source_finish(&given);
}

void publisher_words_use(void)
{
    static const struct plan_publishers installed = {NULL, publisher_words_guid_of, publisher_word_of,
                                                     publisher_words_layout_of};
    plan_publishers_use(&installed);
    atexit(publisher_words_forget);
}
