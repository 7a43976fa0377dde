/* Second step: duplicates, numbers that the manifest omits, and strings. Events: manifest_events.c; templates:
 * manifest_fields.c. No time here grows with the square of the file's content. */
#include "autologger/schema/manifest_build.h"

#include "registry-sim/base/nearest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUESS_MAX = 2000, CHANNELS_MAX = 16, CULTURES_MAX = 256, PROVIDERS_MAX = 1024 };

/* ---- finding by name ---- */

static int row_order(const void *a, const void *b)
{
    const struct name_row *x = a, *y = b;
    int                    n = strcmp(x->name, y->name);
    return n ? n : (x->index > y->index) - (x->index < y->index);
}

struct name_index name_index_make(struct builder *b, const void *at, unsigned count, size_t stride)
{
    struct name_index n = {pool_alloc(b->m->pool, (count + 1) * sizeof(struct name_row)), 0};

    for (unsigned i = 0; i < count && n.rows; i++) {
        const char *name;
        memcpy(&name, (const char *)at + i * stride, sizeof name); /* each struct begins with its name */
        if (name)
            n.rows[n.count++] = (struct name_row){name, (int)i};
    }
    if (n.count)
        qsort(n.rows, n.count, sizeof *n.rows, row_order);
    return n;
}

const struct name_row *name_index_find(const struct name_index *n, const char *name)
{
    unsigned low = 0, high = n->count;

    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        if (strcmp(n->rows[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n->count && strcmp(n->rows[low].name, name) == 0 ? &n->rows[low] : NULL;
}

struct name_guess name_guess(const struct builder *b, const struct name_index *n, int words, const char *name)
{
    struct name_guess                 guess = {""};
    struct nearest                    near  = nearest_make(name, GUESS_FAR);
    size_t                            count;
    const struct manifest_predefined *w = manifest_predefined(&count);

    if (b->problems->errors > MANIFEST_TOLD_MAX || manifest_forgives(b))
        return guess;
    for (unsigned i = 0; n && i < n->count && i < GUESS_MAX; i++)
        nearest_try(&near, n->rows[i].name);
    for (size_t i = 0; i < count; i++)
        if ((int)w[i].kind == words)
            nearest_try(&near, w[i].name);
    if (near.found)
        snprintf(guess.text, sizeof guess.text, ", did you mean %.120s?", near.found);
    return guess;
}

/* ---- duplicates ---- */

struct manifest_resolve_seen {
    const char *text;   /* or */
    uint64_t    number; /* where text is NULL */
    uint32_t    part, line;
};

static int seen_order(const void *a, const void *b)
{
    const struct manifest_resolve_seen *x = a, *y = b;
    int n = x->text && y->text ? strcmp(x->text, y->text) : (x->number > y->number) - (x->number < y->number);
    if (n == 0)
        n = (x->part > y->part) - (x->part < y->part);
    return n ? n : (x->line > y->line) - (x->line < y->line);
}

/* Reports duplicate rows at the later one. `what`: "the name of a level". */
static void twice(struct builder *b, struct manifest_resolve_seen *rows, unsigned count, const char *what)
{
    if (count)
        qsort(rows, count, sizeof *rows, seen_order);
    for (unsigned i = 1; i < count; i++) {
        struct manifest_resolve_seen later = rows[i];
        later.line                         = rows[i - 1].line;
        if (seen_order(&later, &rows[i - 1]) != 0)
            continue;
        uint32_t first = rows[i - 1].line;
        if (rows[i].text)
            manifest_error(b, rows[i].line, "choose another one", "%s is there twice: \"%.80s\", first in line %u",
                           what, rows[i].text, first);
        else
            manifest_error(b, rows[i].line, "choose another one", "%s is there twice: %llu (0x%llx), first in line %u",
                           what, (unsigned long long)rows[i].number, (unsigned long long)rows[i].number, first);
    }
}

enum by { BY_NAME, BY_VALUE };
/* Reports items with a duplicate name or value; `task_at`: the offset of the item's task, 0: none. */
static void items_twice(struct builder *b, const void *at, unsigned count, size_t stride, size_t task_at, enum by by,
                        const char *what)
{
    struct manifest_resolve_seen *rows = malloc((count + 1) * sizeof *rows);
    unsigned                      n    = 0;

    for (unsigned i = 0; i < count && rows; i++) {
        const char                 *place = (const char *)at + i * stride;
        const struct manifest_item *item  = (const void *)place;
        int                         task  = MANIFEST_NONE;
        if (task_at)
            memcpy(&task, place + task_at, sizeof task);
        if (by == BY_NAME ? !item->name : item->value == MANIFEST_NO_NUMBER)
            continue;
        rows[n++] = (struct manifest_resolve_seen){by == BY_NAME ? item->name : NULL, item->value, (uint32_t)(task + 1),
                                                   item->line};
    }
    if (rows)
        twice(b, rows, n, what);
    free(rows);
}

static void events_twice(struct builder *b, const struct manifest_provider *p)
{
    struct manifest_resolve_seen *rows = malloc((p->events.count + 1) * sizeof *rows);
    unsigned                      n    = 0;

    for (unsigned i = 0; i < p->events.count && rows; i++)
        if (!p->events.at[i].lost)
            rows[n++] = (struct manifest_resolve_seen){NULL, p->events.at[i].item.value, p->events.at[i].version,
                                                       p->events.at[i].item.line};
    if (rows)
        twice(b, rows, n, "an event of this id and version");
    free(rows);
}

/* Event symbols: C names of one header. */
static void symbols_twice(struct builder *b)
{
    size_t                        count = 0, n = 0;
    struct manifest_resolve_seen *rows;

    for (unsigned i = 0; i < b->m->providers.count; i++)
        count += b->m->providers.at[i].events.count;
    if (!(rows = malloc((count + 1) * sizeof *rows)))
        return;
    for (unsigned i = 0; i < b->m->providers.count; i++)
        for (unsigned k = 0; k < b->m->providers.at[i].events.count; k++) {
            const struct manifest_item *item = &b->m->providers.at[i].events.at[k].item;
            if (item->symbol)
                rows[n++] = (struct manifest_resolve_seen){item->symbol, 0, 0, item->line};
        }
    twice(b, rows, (unsigned)n, "the symbol of an event");
    free(rows);
}

/* ---- numbers that the manifest omits ---- */

/* Assigns values from 16 on, past given ones, and a keyword bit each, from the top. */
static void channels_number(struct builder *b, struct manifest_provider *p)
{
    bool     taken[256] = {false};
    unsigned next       = 16;

    for (unsigned i = 0; i < p->channels.count; i++)
        if (p->channels.at[i].has_value)
            taken[p->channels.at[i].item.value & 255] = true;
    for (unsigned i = 0; i < p->channels.count; i++) {
        struct manifest_channel *c = &p->channels.at[i];
        c->keyword                 = i < CHANNELS_MAX ? UINT64_C(1) << (63 - i) : 0;
        if (c->has_value)
            continue;
        while (next < 255 && taken[next])
            next++;
        c->item.value        = next < 256 ? next : 255;
        taken[c->item.value] = true;
        next += next < 255;
    }
    if (p->channels.count > CHANNELS_MAX)
        manifest_error(b, p->channels.at[CHANNELS_MAX].item.line, "spread the events over several providers",
                       "a provider has at most %d channels", CHANNELS_MAX);
}

static void keywords_check(struct builder *b, const struct manifest_provider *p)
{
    for (unsigned i = 0; i < p->keywords.count; i++) {
        const struct manifest_item *k   = &p->keywords.at[i];
        bool                        own = k->name && strncmp(k->name, "win:", 4) == 0;
        if (own || k->value == MANIFEST_NO_NUMBER)
            continue;
        if (!k->value || k->value & (k->value - 1))
            manifest_error(b, k->line, "give each keyword a bit of its own: 0x1, 0x2, 0x4, 0x8, 0x10 ...",
                           "mask=\"0x%llx\" of keyword %s is not one bit", (unsigned long long)k->value,
                           k->name ? k->name : "?");
        else if (k->value >> 48)
            manifest_error(b, k->line, "use one of the lower 48 bits",
                           "mask=\"0x%llx\" of keyword %s is one of the upper 16 bits, which are Windows' own",
                           (unsigned long long)k->value, k->name ? k->name : "?");
    }
}

static void manifest_resolve_text_check(struct builder *b, const struct manifest_item *item, const char *of)
{
    if ((item->message.kind == MANIFEST_TEXT_STRING) && !manifest_text_get(b->m, &item->message, 0))
        manifest_error(b, item->line, "add <string id=... value=...> to the stringTable",
                       "message=\"$(string.%.80s)\" of <%s> is in no stringTable", item->message.text, of);
    else if (item->message.kind == MANIFEST_TEXT_MC && !manifest_text_get(b->m, &item->message, 0))
        manifest_warning(b, item->line, "use $(string.ID) and a stringTable",
                         "message=\"$(mc.%.80s)\" of <%s> is in no messageTable here: it has no text",
                         item->message.text, of);
}

static void texts_check(struct builder *b, const struct manifest_provider *p)
{
    struct manifest_item own = {.message = p->message, .line = p->line};

    manifest_resolve_text_check(b, &own, "provider");
    for (unsigned i = 0; i < p->channels.count; i++)
        manifest_resolve_text_check(b, &p->channels.at[i].item, "channel");
    for (unsigned i = 0; i < p->levels.count; i++)
        manifest_resolve_text_check(b, &p->levels.at[i], "level");
    for (unsigned i = 0; i < p->tasks.count; i++)
        manifest_resolve_text_check(b, &p->tasks.at[i].item, "task");
    for (unsigned i = 0; i < p->opcodes.count; i++)
        manifest_resolve_text_check(b, &p->opcodes.at[i].item, "opcode");
    for (unsigned i = 0; i < p->keywords.count; i++)
        manifest_resolve_text_check(b, &p->keywords.at[i], "keyword");
    for (unsigned i = 0; i < p->maps.count; i++)
        for (unsigned k = 0; k < p->maps.at[i].entries.count; k++)
            manifest_resolve_text_check(b, &p->maps.at[i].entries.at[k], "map");
    for (unsigned i = 0; i < p->events.count; i++)
        manifest_resolve_text_check(b, &p->events.at[i].item, "event");
}

static int manifest_resolve_string_order(const void *a, const void *b)
{
    const struct manifest_string *x = a, *y = b;
    int                           n = strcmp(x->id, y->id);
    return n ? n : (x->line > y->line) - (x->line < y->line);
}

static void strings_sort(struct builder *b, struct manifest_culture *c)
{
    unsigned kept = 0;

    if (c->strings.count)
        qsort(c->strings.at, c->strings.count, sizeof *c->strings.at, manifest_resolve_string_order);
    for (unsigned i = 0; i < c->strings.count; i++) {
        if (kept && strcmp(c->strings.at[i].id, c->strings.at[kept - 1].id) == 0) /* the first one counts */
            manifest_error(b, c->strings.at[i].line, "choose another id",
                           "the string \"%.80s\" of %s is there twice, first in line %u", c->strings.at[i].id, c->name,
                           c->strings.at[kept - 1].line);
        else
            c->strings.at[kept++] = c->strings.at[i];
    }
    c->strings.count = kept;
}

static void maps_check(struct builder *b, const struct manifest_provider *p)
{
    for (unsigned i = 0; i < p->maps.count; i++) {
        const struct manifest_map *m = &p->maps.at[i];
        items_twice(b, m->entries.at, m->entries.count, sizeof *m->entries.at, 0, BY_VALUE,
                    "the value of a map's entry");
        for (unsigned k = 0; k < m->entries.count; k++) {
            const struct manifest_item *e = &m->entries.at[k];
            if (m->bits && e->value & (e->value - 1)) /* 0: the text for no bits */
                manifest_error(b, e->line, "give each entry a bit of its own, or make it a valueMap",
                               "value=\"0x%llx\" in the bitMap %s is not one bit", (unsigned long long)e->value,
                               m->item.name ? m->item.name : "?");
        }
    }
}

#define TWICE(list, task, by, what) items_twice(b, (list).at, (list).count, sizeof *(list).at, (task), (by), (what))

static void provider_resolve(struct builder *b, struct manifest_provider *p)
{
    struct provider_names n;

    if (guid_is_zero(&p->guid) && !manifest_forgives(b))
        manifest_error(b, p->line, "uuidgen makes one", "the provider %s has no GUID", p->name ? p->name : "?");
    channels_number(b, p);
    TWICE(p->channels, 0, BY_NAME, "the name of a channel");
    TWICE(p->channels, 0, BY_VALUE, "the value of a channel");
    TWICE(p->levels, 0, BY_NAME, "the name of a level");
    TWICE(p->levels, 0, BY_VALUE, "the value of a level");
    TWICE(p->tasks, 0, BY_NAME, "the name of a task");
    TWICE(p->tasks, 0, BY_VALUE, "the value of a task");
    TWICE(p->opcodes, offsetof(struct manifest_opcode, task), BY_NAME, "the name of an opcode");
    TWICE(p->opcodes, offsetof(struct manifest_opcode, task), BY_VALUE, "the value of an opcode");
    TWICE(p->keywords, 0, BY_NAME, "the name of a keyword");
    TWICE(p->keywords, 0, BY_VALUE, "the mask of a keyword");
    TWICE(p->maps, 0, BY_NAME, "the name of a map");
    keywords_check(b, p);
    maps_check(b, p);
    texts_check(b, p);
    n.channel_names = name_index_make(b, p->channels.at, p->channels.count, sizeof *p->channels.at);
    n.levels        = name_index_make(b, p->levels.at, p->levels.count, sizeof *p->levels.at);
    n.tasks         = name_index_make(b, p->tasks.at, p->tasks.count, sizeof *p->tasks.at);
    n.opcodes       = name_index_make(b, p->opcodes.at, p->opcodes.count, sizeof *p->opcodes.at);
    n.keywords      = name_index_make(b, p->keywords.at, p->keywords.count, sizeof *p->keywords.at);
    n.maps          = name_index_make(b, p->maps.at, p->maps.count, sizeof *p->maps.at);
    n.templates     = name_index_make(b, p->templates.at, p->templates.count, sizeof *p->templates.at);
    n.channels      = (struct name_index){pool_alloc(b->m->pool, (p->channels.count + 1) * sizeof(struct name_row)), 0};
    for (unsigned i = 0; i < p->channels.count && n.channels.rows; i++)
        if (p->channels.at[i].chid)
            n.channels.rows[n.channels.count++] = (struct name_row){p->channels.at[i].chid, (int)i};
    if (pool_failed(b->m->pool))
        return;
    if (n.channels.count)
        qsort(n.channels.rows, n.channels.count, sizeof *n.channels.rows, row_order);
    for (unsigned i = 1; i < n.templates.count; i++)
        if (strcmp(n.templates.rows[i].name, n.templates.rows[i - 1].name) == 0)
            manifest_error(b, p->templates.at[n.templates.rows[i].index].line, "choose another tid",
                           "the template \"%.80s\" is there twice, first in line %u", n.templates.rows[i].name,
                           p->templates.at[n.templates.rows[i - 1].index].line);
    for (unsigned i = 0; i < p->templates.count; i++)
        manifest_resolve_template(b, p, &n, &p->templates.at[i]);
    events_twice(b, p);
    manifest_resolve_events(b, p, &n);
}

static int manifest_resolve_message_order(const void *a, const void *b)
{
    const struct manifest_item *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* Cuts a list that has more elements than there are values. */
#define CUT(list, most, what) \
    do { \
        if ((list).count > (most)) \
            manifest_error(b, p->line, NULL, "the provider %s has %u %s, and %d can have a value", \
                           p->name ? p->name : "?", (list).count, (what), (most)); \
        (list).count = (list).count > (most) ? (most) : (list).count; \
    } while (0)

/* Removes elements that describe no event: a provider without a GUID, an event without an id, keywords beyond their 64
 * bits. Fills in what later steps need. */
static void sift(struct builder *b)
{
    struct manifest *m    = b->m;
    unsigned         kept = 0;

    for (unsigned i = 0; i < m->providers.count; i++) {
        struct manifest_provider *p      = &m->providers.at[i];
        unsigned                  events = 0;
        if (guid_is_zero(&p->guid)) {
            manifest_error(b, p->line, "give it one, or take it out",
                           "the provider %s has no GUID: its events are not described", p->name ? p->name : "?");
            continue;
        }
        for (unsigned k = 0; k < p->events.count; k++)
            if (!p->events.at[k].lost)
                p->events.at[events++] = p->events.at[k];
        p->events.count = events;
        CUT(p->keywords, 64, "keywords");
        CUT(p->levels, 256, "levels");
        CUT(p->channels, 256, "channels");
        if (!p->name) {
            char text[GUID_TEXT_SIZE];
            p->name = pool_text(m->pool, guid_format(&p->guid, text), GUID_TEXT_SIZE - 1);
        }
        m->providers.at[kept++] = *p;
    }
    m->providers.count = kept;
}

void manifest_resolve(struct builder *b)
{
    struct manifest *m = b->m;

    if (m->cultures.count > CULTURES_MAX || m->providers.count > PROVIDERS_MAX) {
        manifest_fatal(b, 0, "make several files of it",
                       "the manifest has %u cultures and %u providers; %d and %d are the most", m->cultures.count,
                       m->providers.count, CULTURES_MAX, PROVIDERS_MAX);
        return;
    }
    for (unsigned i = 0; i < m->messages.count; i++)
        if (!m->messages.at[i].name)
            m->messages.at[i].name = "";
    if (m->messages.count)
        qsort(m->messages.at, m->messages.count, sizeof *m->messages.at, manifest_resolve_message_order);
    if (manifest_forgives(b))
        sift(b);
    for (unsigned i = 0; i < m->cultures.count; i++)
        strings_sort(b, &m->cultures.at[i]);
    for (unsigned i = 0; i < m->providers.count && !pool_failed(m->pool); i++) {
        for (unsigned k = 0; k < i; k++)
            if (guid_equal(&m->providers.at[i].guid, &m->providers.at[k].guid) &&
                !guid_is_zero(&m->providers.at[i].guid))
                manifest_error(b, m->providers.at[i].line, "uuidgen makes another one",
                               "two providers have the same GUID");
        provider_resolve(b, &m->providers.at[i]);
    }
    symbols_twice(b);
    if (!m->providers.count && !b->problems->errors)
        manifest_fatal(b, 0, "autologger manifest template NAME writes one", "the manifest has no provider");
}
