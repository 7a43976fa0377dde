/* One pass over the lines. A message is entered when its "}" is read, so a cut one is never half there. */
#include "autologger/schema/tmf.h"

#include "autologger/schema/hash_index.h"
#include "autologger/schema/schema.h"
#include "autologger/schema/text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { TMF_GUID = 36, TMF_NAME = 256, TMF_VALUES = 100, TMF_LINE = 16384, TMF_NUMBERS = 0xFFFF };

static const struct tmf_item {
    const char *name;
    uint16_t    in, out, hex, unsigned_out;
} tmf_items[] = {
#define T(name, in, out, hex, unsigned_out) {name, IN_##in, OUT_##out, OUT_##hex, OUT_##unsigned_out},
#include "autologger/schema/tmf_items.def"
#undef T
};

struct tmf_value {
    unsigned               number; /* N of %N */
    const char            *name;
    const struct tmf_item *item;
    int                    map;
};
/* A map or message: its provider, and its number there. */
struct tmf_known {
    unsigned provider, number;
};
struct tmf_reading {
    struct manifest          *m;
    struct manifest_problems *problems;
    const char               *source; /* SRC= of the open provider */
    int                       provider, control;
    uint32_t                  line;
    unsigned                  told;
    bool                      failed;                        /* no memory */
    bool                      in_message, in_values, spoilt; /* spoilt: the message has values of unknown size */
    char                     *format, *about;                /* of the open message: pool texts */
    const char               *symbol;
    unsigned                  number, count;
    POOL_LIST(struct tmf_known) known_maps, known_messages;
    struct hash_index providers, maps, messages; /* by GUID; into known_maps by name, into known_messages by number */
    struct tmf_value  value[TMF_VALUES];
};

__attribute__((format(printf, 3, 4))) static void tmf_wrong(struct tmf_reading *t, const char *advice,
                                                            const char *format, ...)
{
    char                    what[400];
    const bool              flaw    = t->problems->forgiving;
    struct manifest_problem problem = {
        .error = !flaw, .flaw = flaw, .file = t->m->origin, .line = t->line, .what = what, .advice = advice};
    va_list args;

    *(flaw ? &t->problems->flaws : &t->problems->errors) += 1;
    if (!t->problems->tell || t->told++ >= MANIFEST_TOLD_MAX)
        return;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    t->problems->tell(t->problems->ctx, &problem);
}

static const char *tmf_copy(struct tmf_reading *t, const char *text, size_t size)
{
    struct text clean = {0};
    text_utf8(&clean, text, size);
    const char *made = pool_text(t->m->pool, text_get(&clean), clean.length);
    text_finish(&clean);
    return made ? made : "";
}

static bool tmf_guid(const char *text, size_t size, struct guid *out)
{
    char word[TMF_GUID + 1];
    if (size < TMF_GUID)
        return false;
    memcpy(word, text, TMF_GUID);
    word[TMF_GUID] = 0;
    return guid_parse(word, out);
}

/* ---- indexes ---- */

static uint64_t tmf_provider_hash(const void *ctx, uint32_t n)
{
    const struct tmf_reading *t = ctx;
    return hash_index_hash(&t->m->providers.at[n].guid, sizeof(struct guid), 0);
}
static bool tmf_provider_same(const void *ctx, uint32_t n, const void *key)
{
    const struct tmf_reading *t = ctx;
    return guid_equal(&t->m->providers.at[n].guid, key);
}
static const char *tmf_map_name(const struct tmf_reading *t, uint32_t n)
{
    const struct tmf_known k = t->known_maps.at[n];
    return t->m->providers.at[k.provider].maps.at[k.number].item.name;
}
static uint64_t tmf_map_hash(const void *ctx, uint32_t n)
{
    const struct tmf_reading *t    = ctx;
    const char               *name = tmf_map_name(t, n);
    return hash_index_hash(name, strlen(name), t->known_maps.at[n].provider);
}
static bool tmf_map_same(const void *ctx, uint32_t n, const void *key)
{
    const struct tmf_reading *t = ctx;
    return t->known_maps.at[n].provider == (unsigned)t->provider && strcmp(tmf_map_name(t, n), key) == 0;
}
static const uint64_t *tmf_message_number(const struct tmf_reading *t, uint32_t n)
{
    const struct tmf_known k = t->known_messages.at[n];
    return &t->m->providers.at[k.provider].events.at[k.number].item.value;
}
static uint64_t tmf_message_hash(const void *ctx, uint32_t n)
{
    const struct tmf_reading *t = ctx;
    return hash_index_hash(tmf_message_number(t, n), sizeof(uint64_t), t->known_messages.at[n].provider);
}
static bool tmf_message_same(const void *ctx, uint32_t n, const void *key)
{
    const struct tmf_reading *t = ctx;
    return t->known_messages.at[n].provider == (unsigned)t->provider &&
           *tmf_message_number(t, n) == *(const uint64_t *)key;
}

enum tmf_kind { TMF_PROVIDERS, TMF_MAPS, TMF_MESSAGES };
/* The slot for a key, of maps and messages in the open provider; NULL: no memory. */
static uint32_t *tmf_slot(struct tmf_reading *t, enum tmf_kind kind, const void *key, size_t size)
{
    static const struct hash_index_of of[]  = {[TMF_PROVIDERS] = {tmf_provider_hash, tmf_provider_same},
                                               [TMF_MAPS]      = {tmf_map_hash, tmf_map_same},
                                               [TMF_MESSAGES]  = {tmf_message_hash, tmf_message_same}};
    struct hash_index *const          all[] = {&t->providers, &t->maps, &t->messages};
    const uint64_t                    start = kind == TMF_PROVIDERS ? 0 : (uint64_t)t->provider;
    uint32_t *slot = hash_index_slot(all[kind], &of[kind], t, hash_index_hash(key, size, start), key);
    t->failed |= !slot;
    return slot;
}

/* ---- providers ---- */

/* The provider of this GUID, which may be there already; NULL: no memory. */
static struct manifest_provider *tmf_provider_new(struct tmf_reading *t, const struct guid *guid, const char *name)
{
    uint32_t *slot = tmf_slot(t, TMF_PROVIDERS, guid, sizeof *guid);
    if (!slot)
        return NULL;
    if (!*slot) {
        struct manifest_provider *p = pool_push(t->m->pool, &t->m->providers);
        if (!p)
            return NULL;
        p->guid = *guid;
        p->name = name;
        p->line = t->line;
        *slot   = t->m->providers.count;
    }
    return &t->m->providers.at[*slot - 1];
}

/* The word behind `key` in "SRC=a.c MJ= MN="; up to a blank. */
static size_t tmf_word(const char *text, const char *key, const char **at)
{
    const size_t n = strlen(key);
    for (const char *p = text; (p = strstr(p, key)); p += n)
        if ((p == text || isspace((unsigned char)p[-1])) && p[n] == '=') {
            *at = p + n + 1;
            return strcspn(*at, " \t");
        }
    *at = "";
    return 0;
}

void tmf_attribute(const char *attributes, const char *word, char *out, size_t size)
{
    const char *at;
    size_t      n = tmf_word(attributes ? attributes : "", word, &at);
    n             = n < size ? n : size - 1;
    memcpy(out, at, n);
    out[n] = 0;
}

/* GUID NAME // SRC=FILE ... */
static void tmf_provider_line(struct tmf_reading *t, const char *line, const struct guid *guid)
{
    const char  *name = line + TMF_GUID + strspn(line + TMF_GUID, " \t"), *at;
    const size_t n    = strcspn(name, " \t");
    size_t       file = tmf_word(line, "SRC", &at);
    char         full[2 * TMF_NAME];

    t->source = tmf_copy(t, at, file);
    snprintf(full, sizeof full, "%.*s%s%s", n < TMF_NAME ? (int)n : TMF_NAME, name, *t->source ? ":" : "", t->source);
    const struct manifest_provider *p = tmf_provider_new(t, guid, tmf_copy(t, full, strlen(full)));
    if (p)
        t->provider = (int)(p - t->m->providers.at);
}

/* #control NAME GUID, then #flag NAME. The GUID may be as macros have it: (8,4,4,4,12). */
static void tmf_control_line(struct tmf_reading *t, const char *line)
{
    const char *name = line + strcspn(line, " \t");
    name += strspn(name, " \t");
    const size_t n = strcspn(name, " \t");
    const char  *p = name + n;
    char         word[TMF_GUID + 1];
    size_t       used = 0;
    struct guid  guid;

    for (; *p && used < TMF_GUID; p++)
        if (isxdigit((unsigned char)*p))
            word[used++] = *p;
        else if (*p == ',' || *p == '-')
            word[used++] = '-';
    word[used] = 0;
    t->control = MANIFEST_NONE;
    if (!n || !guid_parse(word, &guid)) {
        tmf_wrong(t, "write #control NAME GUID", "a control GUID is not readable");
        return;
    }
    const struct manifest_provider *made = tmf_provider_new(t, &guid, tmf_copy(t, name, n));
    if (made)
        t->control = (int)(made - t->m->providers.at);
}

static void tmf_flag_line(struct tmf_reading *t, const char *line)
{
    const char *name = line + strcspn(line, " \t");
    name += strspn(name, " \t");
    if (t->control < 0)
        return;
    struct manifest_provider *p = &t->m->providers.at[t->control];
    if (p->keywords.count == 32) {
        tmf_wrong(t, "a control GUID has at most 32 flags", "flag %.80s is too many", name);
        return;
    }
    for (unsigned i = 0; i < p->keywords.count; i++)
        if (strlen(p->keywords.at[i].name) == strcspn(name, " \t") &&
            strncmp(p->keywords.at[i].name, name, strcspn(name, " \t")) == 0)
            return; /* of another source that knows this control GUID */
    struct manifest_item *flag = pool_push(t->m->pool, &p->keywords);
    if (flag)
        *flag = (struct manifest_item){.name  = tmf_copy(t, name, strcspn(name, " \t")),
                                       .value = UINT64_C(1) << (p->keywords.count - 1),
                                       .line  = t->line};
}

/* ---- the text of a message ---- */

/* Adds text of the source, in which a "%" stands for itself. */
static void tmf_plain(struct text *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        text_add(out, text[i] == '%' ? "%%" : &text[i], text[i] == '%' ? 2 : 1);
}

/* %!NAME! of what is known when the message is made. */
static void tmf_named(const struct tmf_reading *t, const char *name, size_t size, struct text *out)
{
    static const struct {
        const char *name, *word;
    } about[] = {
        {"FUNC", "FUNC"}, {"FLAGS", "FLAGS"}, {"LEVEL", "LEVEL"}, {"COMPNAME", "COMPNAME"}, {"SUBCOMP", "SUBCOMP"}};
    const char *at, *digits = t->symbol + strlen(t->symbol);

    for (size_t i = 0; i < sizeof about / sizeof *about; i++)
        if (strlen(about[i].name) == size && strncmp(about[i].name, name, size) == 0) {
            size_t n = tmf_word(t->about, about[i].word, &at);
            tmf_plain(out, at, n);
            return;
        }
    while (digits > t->symbol && isdigit((unsigned char)digits[-1]))
        digits--;
    if (size == 4 && strncmp(name, "FILE", 4) == 0)
        tmf_plain(out, t->source, strlen(t->source));
    else if (size == 4 && strncmp(name, "LINE", 4) == 0)
        tmf_plain(out, digits, strlen(digits));
    else if (size == 5 && strncmp(name, "SPACE", 5) == 0)
        text_add(out, " ", 1);
    else if (size != 9 || strncmp(name, "STDPREFIX", 9) != 0) { /* the prefix is the reader's matter */
        text_add(out, "%%!", 3);
        tmf_plain(out, name, size);
        text_add(out, "!", 1);
    }
}

/* %N behind a '%': the place of that value, from 1; numbers of the prefix stay as text. Returns the digits. */
static size_t tmf_number(const struct tmf_reading *t, const char *p, struct text *out)
{
    unsigned n    = 0;
    size_t   used = 0;
    for (; used < 4 && isdigit((unsigned char)p[used]); used++)
        n = n * 10 + (unsigned)(p[used] - '0');
    for (unsigned i = 0; i < t->count; i++)
        if (t->value[i].number == n) {
            text_add(out, "%", 1);
            text_unsigned(out, i + 1);
            if (!p[used] || p[used] == '!')
                return used;
            text_add(out, "!s!", 3); /* or a digit behind it would belong to the number */
            return used;
        }
    text_add(out, "%%", 2);
    text_add(out, p, used);
    return used;
}

/* The message with places instead of numbers, in manifests' notation. */
static const char *tmf_message(struct tmf_reading *t)
{
    struct text out = {0};
    const char *p   = t->format;

    if (strncmp(p, "%0", 2) == 0)
        p += 2;
    while (*p) {
        const size_t plain = strcspn(p, "%");
        text_add(&out, p, plain);
        p += plain;
        if (!*p)
            break;
        const char *end = p[1] == '!' ? strchr(p + 2, '!') : NULL;
        if (end) {
            tmf_named(t, p + 2, (size_t)(end - p - 2), &out);
            p = end + 1;
        } else if (isdigit((unsigned char)p[1])) {
            p += 1 + tmf_number(t, p + 1, &out);
        } else {
            text_add(&out, p, p[1] ? 2 : 1);
            p += p[1] ? 2 : 1;
        }
    }
    const char *made = tmf_copy(t, text_get(&out), out.length);
    text_finish(&out);
    return made;
}

/* ---- values ---- */

/* The letter of a value's format, "%10!08x!": 'x'; 0: none. */
static char tmf_letter(const struct tmf_reading *t, unsigned number)
{
    char key[16];
    snprintf(key, sizeof key, "%%%u!", number);
    const char *p   = strstr(t->format, key);
    const char *end = p ? strchr(p + strlen(key), '!') : NULL;
    return end && end > p + strlen(key) ? end[-1] : 0;
}

static uint16_t tmf_out(const struct tmf_reading *t, const struct tmf_value *v)
{
    const char letter = tmf_letter(t, v->number);
    if (letter == 'c' && (v->item->in == IN_INT8 || v->item->in == IN_UINT8))
        return OUT_STRING;
    if ((letter == 'd' || letter == 'i' || letter == 'u') && v->item->in == IN_UINT16 && v->item->out == OUT_STRING)
        return OUT_UNSIGNEDSHORT;
    return letter == 'x' || letter == 'X' ? v->item->hex : letter == 'u' ? v->item->unsigned_out : v->item->out;
}

/* "ItemListLong(Low, High)": a map, shared by all values with the same words. */
static int tmf_map(struct tmf_reading *t, const char *item, size_t size, const char *words, size_t length)
{
    struct manifest_provider *p    = &t->m->providers.at[t->provider];
    const bool                bits = strncmp(item, "ItemSet", 7) == 0;
    const char               *name = tmf_copy(t, item, size + length + 2);

    uint32_t *slot = tmf_slot(t, TMF_MAPS, name, strlen(name));
    if (slot && *slot)
        return (int)t->known_maps.at[*slot - 1].number;
    struct tmf_known    *known = slot ? pool_push(t->m->pool, &t->known_maps) : NULL;
    struct manifest_map *map   = known ? pool_push(t->m->pool, &p->maps) : NULL;
    if (!map)
        return MANIFEST_NONE;
    *known         = (struct tmf_known){.provider = (unsigned)t->provider, .number = p->maps.count - 1};
    *slot          = t->known_maps.count;
    map->item.name = name;
    map->bits      = bits;
    for (const char *at = words, *end = words + length; at < end && map->entries.count < (bits ? 32u : 4096u);) {
        const char *comma = memchr(at, ',', (size_t)(end - at)), *stop = comma ? comma : end;
        const char *next = stop + 1;
        while (at < stop && isspace((unsigned char)*at))
            at++;
        while (stop > at && isspace((unsigned char)stop[-1]))
            stop--;
        struct manifest_item *entry = pool_push(t->m->pool, &map->entries);
        if (entry)
            *entry =
                (struct manifest_item){.value = bits ? UINT64_C(1) << (map->entries.count - 1) : map->entries.count - 1,
                                       .message = {MANIFEST_TEXT_LITERAL, tmf_copy(t, at, (size_t)(stop - at))}};
        at = next;
    }
    return (int)p->maps.count - 1;
}

static const struct tmf_item *tmf_item_find(const char *word, size_t size)
{
    for (size_t i = 0; i < sizeof tmf_items / sizeof *tmf_items; i++)
        if (strlen(tmf_items[i].name) == size && strncmp(tmf_items[i].name, word, size) == 0)
            return &tmf_items[i];
    return NULL;
}

/* Two fields of one name would be one in JSON. */
static const char *tmf_field_name(struct tmf_reading *t, const char *text, size_t size)
{
    const char *name   = tmf_copy(t, size ? text : "value", size ? (size < TMF_NAME ? size : TMF_NAME) : 5);
    unsigned    copies = 1;
    char        unique[TMF_NAME + 16];

    for (unsigned i = 0; i < t->count; i++) {
        const size_t n = strlen(name);
        copies += strncmp(t->value[i].name, name, n) == 0 && (!t->value[i].name[n] || t->value[i].name[n] == '#');
    }
    if (copies == 1)
        return name;
    snprintf(unique, sizeof unique, "%s#%u", name, copies);
    return tmf_copy(t, unique, strlen(unique));
}

/* EXPRESSION, ItemLong -- 10. The expression is C: it may have commas. */
static void tmf_value_line(struct tmf_reading *t, char *line)
{
    char *number = NULL, *item = NULL;
    for (char *p = line; (p = strstr(p, " -- ")); p++)
        number = p + 4;
    if (number)
        number[-4] = 0;
    for (char *p = line; (p = strstr(p, ", Item")); p++)
        item = p + 2;
    if (!number || !item || t->count == TMF_VALUES) {
        tmf_wrong(t, "write EXPRESSION, ItemTYPE -- NUMBER", "a value of a message is not readable");
        t->spoilt = true;
        return;
    }
    const size_t           length = strcspn(item, "( \t"), name = (size_t)(item - 2 - line);
    const struct tmf_item *known = tmf_item_find(item, length);
    const char            *open = strchr(item, '('), *close = open ? strrchr(open, ')') : NULL;
    if (!known) {
        if (!t->spoilt)
            tmf_wrong(t, "use a type that autologger knows, such as ItemLong or ItemString",
                      "type %.*s is not known: this value and those behind it stay bytes", (int)length, item);
        t->spoilt = true;
    }
    if (t->spoilt)
        return;
    struct tmf_value *v = &t->value[t->count];
    v->name             = tmf_field_name(t, line, name);
    v->number           = (unsigned)strtoul(number, NULL, 10);
    v->item             = known;
    v->map              = close && (strncmp(item, "ItemList", 8) == 0 || strncmp(item, "ItemSet", 7) == 0)
                              ? tmf_map(t, item, length, open + 1, (size_t)(close - open - 1))
                              : MANIFEST_NONE;
    t->count++;
}

/* ---- messages ---- */

static uint8_t tmf_level(const struct tmf_reading *t)
{
    static const char *const words[] = {"NONE", "CRITICAL", "ERROR", "WARNING", "INFORMATION", "VERBOSE"};
    const char              *at;
    const size_t             n = tmf_word(t->about, "LEVEL", &at);

    if (n && strspn(at, "0123456789") == n)
        return (uint8_t)strtoul(at, NULL, 10);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (n == 12 + strlen(words[i]) && strncmp(at, "TRACE_LEVEL_", 12) == 0 &&
            strncmp(at + 12, words[i], n - 12) == 0)
            return (uint8_t)i;
    return n == 17 && strncmp(at, "TRACE_LEVEL_FATAL", n) == 0;
}

/* #typev NAME NUMBER "TEXT" // LEVEL=... */
static void tmf_message_line(struct tmf_reading *t, char *line)
{
    char    *name = line + strcspn(line, " \t"), *about = NULL;
    unsigned number;

    t->in_message = t->in_values = t->spoilt = false;
    t->count                                 = 0;
    name += strspn(name, " \t");
    const size_t n    = strcspn(name, " \t");
    char        *text = strchr(name + n, '"'), *end = text;
    for (char *p = text; p && (p = strstr(p, "\" //")); p++)
        end = p, about = p + 4;
    if (text && end == text)
        end = strrchr(text, '"');
    if (t->provider < 0)
        tmf_wrong(t, "write a line with GUID and name before the messages of a source file",
                  "a message stands before any message GUID");
    else if (!n || !text || end <= text || sscanf(name + n, " %u", &number) != 1 || number > TMF_NUMBERS)
        tmf_wrong(t, "write #typev NAME NUMBER \"TEXT\"", "a message is not readable");
    else {
        t->in_message = true;
        t->number     = number;
        t->symbol     = tmf_copy(t, name, n);
        t->format     = (char *)tmf_copy(t, text + 1, (size_t)(end - text - 1));
        t->about      = (char *)tmf_copy(t, about ? about : "", about ? strlen(about) : 0);
    }
}

static const char *tmf_about(struct tmf_reading *t)
{
    struct text all = {0};
    const char *p   = t->about + strspn(t->about, " \t");
    text_add(&all, p, strlen(p));
    if (*t->source)
        text_printf(&all, "%sSRC=%s", all.length ? " " : "", t->source);
    const char *made = tmf_copy(t, text_get(&all), all.length);
    text_finish(&all);
    return made;
}

/* Enters the message: an event and its template. */
static void tmf_message_end(struct tmf_reading *t)
{
    struct manifest_provider *p      = &t->m->providers.at[t->provider];
    const uint64_t            number = t->number;
    uint32_t                 *slot   = tmf_slot(t, TMF_MESSAGES, &number, sizeof number);

    t->in_message = t->in_values = false;
    if (slot && *slot) /* of a header that several sources of a program include */
        return;
    struct tmf_known         *known = slot ? pool_push(t->m->pool, &t->known_messages) : NULL;
    struct manifest_template *v     = known ? pool_push(t->m->pool, &p->templates) : NULL;
    struct manifest_event    *e     = v ? pool_push(t->m->pool, &p->events) : NULL;
    if (!e)
        return;
    *known       = (struct tmf_known){.provider = (unsigned)t->provider, .number = p->events.count - 1};
    *slot        = t->known_messages.count;
    *e           = (struct manifest_event){.item           = {.symbol  = t->symbol,
                                                              .value   = t->number,
                                                              .message = {MANIFEST_TEXT_LITERAL, tmf_message(t)},
                                                              .line    = t->line},
                                           .level          = tmf_level(t),
                                           .template_index = (int)p->templates.count - 1,
                                           .channel_index  = MANIFEST_NONE,
                                           .task_index     = MANIFEST_NONE,
                                           .opcode_index   = MANIFEST_NONE,
                                           .attributes     = tmf_about(t)};
    v->tid       = t->symbol;
    v->used      = true;
    v->cut       = t->spoilt;
    v->top_count = t->count;
    for (unsigned i = 0; i < t->count; i++) {
        struct manifest_field *f = pool_push(t->m->pool, &v->fields);
        if (f)
            *f = (struct manifest_field){.name   = t->value[i].name,
                                         .in     = t->value[i].item->in,
                                         .out    = tmf_out(t, &t->value[i]),
                                         .count  = 1,
                                         .map    = t->value[i].map,
                                         .parent = MANIFEST_NONE,
                                         .line   = t->line};
    }
}

static void tmf_line(struct tmf_reading *t, char *line)
{
    struct guid guid;
    line += strspn(line, " \t");
    if (!*line || (line[0] == '/' && line[1] == '/'))
        return;
    if (t->in_message && *line == '{')
        t->in_values = true;
    else if (t->in_message && *line == '}')
        tmf_message_end(t);
    else if (t->in_values)
        tmf_value_line(t, line);
    else if (strncmp(line, "#typev", 6) == 0 || strncmp(line, "#type ", 6) == 0)
        tmf_message_line(t, line);
    else if (strncmp(line, "#control", 8) == 0)
        tmf_control_line(t, line);
    else if (strncmp(line, "#flag", 5) == 0)
        tmf_flag_line(t, line);
    else if (tmf_guid(line, strlen(line), &guid) && isspace((unsigned char)line[TMF_GUID]))
        tmf_provider_line(t, line, &guid);
    else
        tmf_wrong(t, "look for what stands in this line beside GUIDs, #typev and values",
                  "this is no line of a TMF file");
}

static bool tmf_ends_line(char c) { return c == '\n' || c == '\r' || c == 0; }

bool tmf_is(const char *text, size_t size)
{
    struct guid guid;
    size_t      at = 0;

    while (at < size) {
        while (at < size && (isspace((unsigned char)text[at]) || !text[at]))
            at++;
        if (size - at < 2 || text[at] != '/' || text[at + 1] != '/')
            break;
        while (at < size && !tmf_ends_line(text[at]))
            at++;
    }
    return tmf_guid(text + at, size - at, &guid) ? size - at > TMF_GUID && isspace((unsigned char)text[at + TMF_GUID])
                                                 : (size - at > 6 && memcmp(text + at, "#typev", 6) == 0) ||
                                                       (size - at > 8 && memcmp(text + at, "#control", 8) == 0);
}

static void tmf_lines(struct tmf_reading *t, const char *text, size_t size)
{
    char line[TMF_LINE];
    for (size_t at = 0; at < size && !pool_failed(t->m->pool); at++) {
        size_t n = 0;
        t->line += at == 0 || text[at - 1] == '\n';
        for (; at < size && !tmf_ends_line(text[at]); at++)
            if (n < sizeof line - 1)
                line[n++] = text[at];
        line[n] = 0;
        if (n == sizeof line - 1)
            tmf_wrong(t, "make it shorter", "a line has more than %d bytes", TMF_LINE - 1);
        else
            tmf_line(t, line);
    }
    if (t->in_message)
        tmf_wrong(t, "end it with a line \"}\"", "the last message has no end");
}

wstatus tmf_read(const char *text, size_t size, const char *origin, struct manifest_problems *problems,
                 struct manifest **out, struct reason *why)
{
    struct tmf_reading *t  = calloc(1, sizeof *t);
    struct manifest    *m  = calloc(1, sizeof *m);
    wstatus             st = W_SUCCESS;

    *out             = NULL;
    problems->errors = problems->warnings = problems->flaws = 0;
    if (!t || !m || !(m->pool = pool_new(MANIFEST_MEMORY_MAX)) ||
        !(m->origin = pool_text(m->pool, origin, strlen(origin)))) {
        st = reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for %s", origin);
    } else {
        m->kind = MANIFEST_MESSAGES;
        *t      = (struct tmf_reading){.m        = m,
                                       .problems = problems,
                                       .source   = "",
                                       .symbol   = "",
                                       .provider = MANIFEST_NONE,
                                       .control  = MANIFEST_NONE};
        tmf_lines(t, text, size);
        st = manifest_read_status(origin, pool_failed(m->pool) || t->failed, problems, why);
        if (!st && !m->providers.count)
            st = reason_set(why, W_INVALID_DATA, "%s describes no messages", origin);
    }
    if (t) {
        hash_index_finish(&t->providers);
        hash_index_finish(&t->maps);
        hash_index_finish(&t->messages);
    }
    free(t);
    if (st)
        manifest_free(m);
    else
        *out = m;
    return st;
}
