/* First step: builds the document from the elements. manifest_grammar.def has the attributes and places of each
 * element. */
#include "autologger/schema/manifest_build.h"

#include "registry-sim/base/nearest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum element {
    EL_ROOT,
    EL_MANIFEST,
    EL_ASSEMBLY,
    EL_FRAGMENT,
    EL_INSTRUMENTATION,
    EL_METADATA,
    EL_EVENTS,
    EL_PROVIDER,
    EL_CHANNELS,
    EL_CHANNEL,
    EL_IMPORT_CHANNEL,
    EL_LOGGING,
    EL_PUBLISHING,
    EL_SETTING,
    EL_LEVELS,
    EL_LEVEL,
    EL_TASKS,
    EL_TASK,
    EL_OPCODES,
    EL_OPCODE,
    EL_KEYWORDS,
    EL_KEYWORD,
    EL_MAPS,
    EL_VALUE_MAP,
    EL_BIT_MAP,
    EL_PATTERN_MAP,
    EL_MAP,
    EL_NAMED_QUERIES,
    EL_FILTERS,
    EL_TEMPLATES,
    EL_TEMPLATE,
    EL_DATA,
    EL_STRUCT,
    EL_BINARY,
    EL_USER_DATA,
    EL_EVENT_LIST,
    EL_EVENT,
    EL_MESSAGE_TABLE,
    EL_MESSAGE,
    EL_LOCALIZATION,
    EL_RESOURCES,
    EL_STRING_TABLE,
    EL_STRING,
    ELEMENTS
};
enum {
    SKIP       = 1,
    OPEN       = 2,
    TEXT       = 4,
    NOTE       = 8,
    ERRORS_MAX = 10000 /* after so many mistakes elements are skipped */
};
static const struct grammar_row {
    enum element id;
    const char  *name;
    uint64_t     parents;
    unsigned     flags;
} grammar[] = {
#define IN(parent) (UINT64_C(1) << EL_##parent)
#define E(id, name, parents, flags) {EL_##id, name, parents, flags},
#include "autologger/schema/manifest_grammar.def"
};
static const struct {
    enum element id;
    const char  *name;
    bool         needed;
} attributes[] = {
#define A(id, name, needed) {EL_##id, name, needed},
#include "autologger/schema/manifest_grammar.def"
};
enum { ROWS = sizeof grammar / sizeof grammar[0], ATTRIBUTES = sizeof attributes / sizeof attributes[0] };
_Static_assert(ELEMENTS <= 64, "parents are a mask of 64 bits");

static const struct xml_attribute *manifest_build_find(const struct xml_element *e, const char *name)
{
    for (unsigned i = 0; i < e->count; i++)
        if (strcmp(e->attributes[i].name, name) == 0)
            return &e->attributes[i];
    return NULL;
}

/* The attribute's value as a text of the document; NULL: it is absent or empty. */
static const char *manifest_build_value_of(struct builder *b, const struct xml_element *e, const char *name)
{
    const struct xml_attribute *a = manifest_build_find(e, name);
    return a && *a->value ? pool_text(b->m->pool, a->value, strlen(a->value)) : NULL;
}

static bool manifest_build_number_parse(const char *text, uint64_t *out)
{
    char *end;
    bool  hex = text[0] == '0' && (text[1] | 0x20) == 'x';

    text += strspn(text, " \t\r\n");
    errno = 0;
    *out  = strtoull(text, &end, hex ? 16 : 10);
    return end != text && !errno && text[0] != '-' && text[0] != '+' && end[strspn(end, " \t\r\n")] == 0;
}

/* A number within bounds; `otherwise`: it is absent, or no number, which is reported. One out of bounds is reported and
 * kept up to `limit`, so that references to it are not reported too. */
static uint64_t number_limited(struct builder *b, const struct xml_element *e, const char *name, uint64_t least,
                               uint64_t most, uint64_t limit, uint64_t otherwise)
{
    const struct xml_attribute *a = manifest_build_find(e, name);
    uint64_t                    n;

    if (!a)
        return otherwise;
    if (!manifest_build_number_parse(a->value, &n)) {
        manifest_error(b, a->line, "write a decimal number, or 0x and hexadecimal digits",
                       "%s=\"%.60s\" of <%s> is no number", name, a->value, e->name);
        return otherwise;
    }
    if (n >= least && n <= most)
        return n;
    if (most > UINT32_MAX)
        manifest_error(b, a->line, "choose another one", "%s=\"%.60s\" of <%s> is not between 0x%llx and 0x%llx", name,
                       a->value, e->name, (unsigned long long)least, (unsigned long long)most);
    else
        manifest_error(b, a->line, "choose another one", "%s=\"%.60s\" of <%s> is not between %llu and %llu", name,
                       a->value, e->name, (unsigned long long)least, (unsigned long long)most);
    return n <= limit ? n : otherwise;
}

static uint64_t manifest_build_number_of(struct builder *b, const struct xml_element *e, const char *name,
                                         uint64_t least, uint64_t most, uint64_t otherwise)
{
    return number_limited(b, e, name, least, most, most, otherwise);
}

static bool manifest_build_guid_of(struct builder *b, const struct xml_element *e, const char *name, struct guid *out)
{
    const struct xml_attribute *a = manifest_build_find(e, name);

    if (!a || guid_parse(a->value, out))
        return a != NULL;
    manifest_error(b, a->line, "write {8-4-4-4-12} hexadecimal digits; uuidgen makes one",
                   "%s=\"%.60s\" of <%s> is no GUID", name, a->value, e->name);
    return false;
}

static struct manifest_text message_of(struct builder *b, const struct xml_element *e, const char *name)
{
    const struct xml_attribute *a   = manifest_build_find(e, name);
    struct manifest_text        out = {MANIFEST_TEXT_NONE, NULL};

    if (!a || !*a->value)
        return out;
    size_t n = strlen(a->value);
    if (n > 2 && a->value[0] == '$' && a->value[1] == '(') {
        size_t from = strncmp(a->value, "$(string.", 9) == 0 ? 9 : strncmp(a->value, "$(mc.", 5) == 0 ? 5 : 0;
        if (!from || a->value[n - 1] != ')' || n - from < 2) {
            manifest_error(b, a->line, "write $(string.ID), with an id of the stringTable",
                           "%s=\"%.80s\" of <%s> is not understood", name, a->value, e->name);
            return out;
        }
        out.kind = from == 9 ? MANIFEST_TEXT_STRING : MANIFEST_TEXT_MC;
        out.text = pool_text(b->m->pool, a->value + from, n - from - 1);
    } else {
        out.kind = MANIFEST_TEXT_LITERAL;
        out.text = pool_text(b->m->pool, a->value, n);
    }
    return out;
}

/* A C name that will stand in the header. */
static const char *symbol_of(struct builder *b, const struct xml_element *e)
{
    const struct xml_attribute *a = manifest_build_find(e, "symbol");

    for (size_t i = 0; a && a->value[i]; i++) {
        char c = a->value[i];
        if (!(((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_' || (i && c >= '0' && c <= '9'))) {
            manifest_error(b, a->line, "use letters, digits and _, not beginning with a digit",
                           "symbol=\"%.80s\" of <%s> is no C name", a->value, e->name);
            return manifest_forgives(b) ? manifest_build_value_of(b, e, "symbol") : NULL; /* it still names the event */
        }
    }
    return manifest_build_value_of(b, e, "symbol");
}

static struct manifest_item item_of(struct builder *b, const struct xml_element *e)
{
    return (struct manifest_item){manifest_build_value_of(b, e, "name"), symbol_of(b, e), 0,
                                  message_of(b, e, "message"), e->line};
}

static struct manifest_provider *manifest_build_provider(struct builder *b)
{
    return b->m->providers.count ? &b->m->providers.at[b->m->providers.count - 1] : NULL;
}

/* ---- the elements ---- */

static void on_provider(struct builder *b, const struct xml_element *e)
{
    struct manifest_provider *p = pool_push(b->m->pool, &b->m->providers);

    if (!p)
        return;
    p->name   = manifest_build_value_of(b, e, "name");
    p->symbol = symbol_of(b, e);
    p->line   = e->line;
    if (!manifest_build_guid_of(b, e, "guid", &p->guid) && !manifest_forgives(b))
        p->guid.data1 = 1; /* already reported; a GUID of zeros is reported later */
    manifest_build_guid_of(b, e, "controlGuid", &p->control_guid);
    manifest_build_guid_of(b, e, "groupGuid", &p->group_guid);
    p->resource_file  = manifest_build_value_of(b, e, "resourceFileName");
    p->message_file   = manifest_build_value_of(b, e, "messageFileName");
    p->parameter_file = manifest_build_value_of(b, e, "parameterFileName");
    p->message        = message_of(b, e, "message");
    b->task = b->map = b->field = MANIFEST_NONE;
}

/* The index of a word in a list; `otherwise`: it is absent, or wrong, which is reported. */
static int manifest_build_word_of(struct builder *b, const struct xml_element *e, const char *name,
                                  const char *const *words, int otherwise)
{
    const struct xml_attribute *a = manifest_build_find(e, name);
    char                        list[160];
    size_t                      n = 0;

    for (int i = 0; a && words[i]; i++) {
        if (strcasecmp(a->value, words[i]) == 0)
            return i;
        if (*words[i] && n < sizeof list)
            n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", n ? ", " : "use one of ", words[i]);
    }
    if (a)
        manifest_error(b, a->line, list, "%s=\"%.60s\" of <%s> is not known", name, a->value, e->name);
    return otherwise;
}

static void on_channel(struct builder *b, const struct xml_element *e)
{
    static const char *const          types[]      = {"", "Admin", "Operational", "Analytic", "Debug", NULL},
                             *const   isolations[] = {"Application", "System", "Custom", NULL},
                             *const   flags[]      = {"false", "true", "0", "1", NULL};
    struct manifest_channel          *c            = pool_push(b->m->pool, &manifest_build_provider(b)->channels);
    size_t                            count;
    const struct manifest_predefined *w = manifest_predefined(&count);

    if (!c)
        return;
    c->item      = item_of(b, e);
    c->imported  = strcmp(e->name, "importChannel") == 0;
    c->chid      = manifest_build_value_of(b, e, "chid");
    c->type      = (enum manifest_channel_type)manifest_build_word_of(b, e, "type", types, CHANNEL_NO_TYPE);
    c->isolation = manifest_build_value_of(b, e, "isolation");
    manifest_build_word_of(b, e, "isolation", isolations, 0);
    manifest_build_word_of(b, e, "enabled", flags, 0);
    c->access     = manifest_build_value_of(b, e, "access");
    c->enabled    = manifest_build_value_of(b, e, "enabled");
    c->item.value = number_limited(b, e, "value", c->imported ? 0 : 16, 255, 255, MANIFEST_NO_NUMBER);
    c->has_value  = c->item.value != MANIFEST_NO_NUMBER;
    if (!c->has_value)
        c->item.value = 0;
    for (size_t i = 0; c->imported && c->item.name && i < count; i++)
        if (w[i].kind == WORDS_CHANNEL && strcasecmp(w[i].name, c->item.name) == 0) {
            c->item.value = w[i].value;
            c->has_value  = true;
        }
}

static void on_level(struct builder *b, const struct xml_element *e)
{
    struct manifest_item *i = pool_push(b->m->pool, &manifest_build_provider(b)->levels);
    if (!i)
        return;
    *i = item_of(b, e);
    /* winmeta's own levels may be declared again, with their own values */
    bool own = i->name && strncmp(i->name, "win:", 4) == 0;
    i->value = number_limited(b, e, "value", own ? 0 : 16, own ? 15 : 255, 255, MANIFEST_NO_NUMBER);
}

static void on_task(struct builder *b, const struct xml_element *e)
{
    struct manifest_task *t = pool_push(b->m->pool, &manifest_build_provider(b)->tasks);
    if (!t)
        return;
    t->item       = item_of(b, e);
    bool own      = t->item.name && strncmp(t->item.name, "win:", 4) == 0;
    t->item.value = number_limited(b, e, "value", own ? 0 : 1, 65535, 65535, MANIFEST_NO_NUMBER);
    t->has_guid   = manifest_build_guid_of(b, e, "eventGUID", &t->guid);
    b->task       = (int)manifest_build_provider(b)->tasks.count - 1;
}

static void on_opcode(struct builder *b, const struct xml_element *e)
{
    struct manifest_opcode *o = pool_push(b->m->pool, &manifest_build_provider(b)->opcodes);
    if (!o)
        return;
    o->item       = item_of(b, e);
    bool own      = o->item.name && strncmp(o->item.name, "win:", 4) == 0;
    o->item.value = number_limited(b, e, "value", own ? 0 : 10, own ? 255 : 239, 255, MANIFEST_NO_NUMBER);
    o->task       = b->task;
}

static void on_keyword(struct builder *b, const struct xml_element *e)
{
    struct manifest_item *i = pool_push(b->m->pool, &manifest_build_provider(b)->keywords);
    if (!i)
        return;
    *i       = item_of(b, e);
    i->value = manifest_build_number_of(b, e, "mask", 0, UINT64_MAX, MANIFEST_NO_NUMBER);
}

static void on_map(struct builder *b, const struct xml_element *e)
{
    struct manifest_map *m = pool_push(b->m->pool, &manifest_build_provider(b)->maps);
    if (!m)
        return;
    m->item = item_of(b, e);
    m->bits = strcmp(e->name, "bitMap") == 0;
    b->map  = (int)manifest_build_provider(b)->maps.count - 1;
}

static void on_map_entry(struct builder *b, const struct xml_element *e)
{
    struct manifest_item *i =
        b->map < 0 ? NULL : pool_push(b->m->pool, &manifest_build_provider(b)->maps.at[b->map].entries);
    uint64_t n;
    if (!i)
        return;
    *i                            = item_of(b, e);
    i->value                      = manifest_build_number_of(b, e, "value", 0, UINT32_MAX, MANIFEST_NO_NUMBER);
    const struct xml_attribute *a = manifest_build_find(e, "value");
    if (a && a->value[0] == '-' && manifest_build_number_parse(a->value + 1, &n) && n <= UINT32_C(1) << 31)
        i->value = (uint32_t)(0 - n); /* a signed number, by its bits */
}

static struct manifest_template *manifest_build_template(struct builder *b)
{
    struct manifest_provider *p = manifest_build_provider(b);
    return p->templates.count ? &p->templates.at[p->templates.count - 1] : NULL;
}

static void on_template(struct builder *b, const struct xml_element *e)
{
    struct manifest_template *t = pool_push(b->m->pool, &manifest_build_provider(b)->templates);
    if (!t)
        return;
    t->tid   = manifest_build_value_of(b, e, "tid");
    t->name  = manifest_build_value_of(b, e, "name");
    t->tags  = (uint32_t)manifest_build_number_of(b, e, "tags", 0, 0x0FFFFFFF, 0);
    t->line  = e->line;
    b->field = MANIFEST_NONE;
}

static struct manifest_field *field_new(struct builder *b, const struct xml_element *e)
{
    struct manifest_template *t = manifest_build_template(b);
    struct manifest_field    *f = t ? pool_push(b->m->pool, &t->fields) : NULL;

    if (!f)
        return NULL;
    f->name       = manifest_build_value_of(b, e, "name");
    f->line       = e->line;
    f->tags       = (uint32_t)manifest_build_number_of(b, e, "tags", 0, 0x0FFFFFFF, 0);
    f->flags      = f->tags ? FIELD_TAGS : 0;
    f->count_word = manifest_build_value_of(b, e, "count");
    f->count      = 1;
    f->map        = MANIFEST_NONE;
    f->parent     = b->field;
    return f;
}

/* An unknown element of a template may have bytes in the payload. */
static void field_unknown(struct builder *b, const struct xml_element *e)
{
    struct manifest_field *f = field_new(b, e);
    if (!f)
        return;
    f->name       = NULL;
    f->count_word = NULL;
    f->in         = IN_UINT32;
    f->unlaid     = true;
}

static void on_struct(struct builder *b, const struct xml_element *e)
{
    struct manifest_field *f = field_new(b, e);
    if (!f)
        return;
    f->flags |= FIELD_STRUCT;
    b->field = (int)manifest_build_template(b)->fields.count - 1;
}

static const char *behind_prefix(const char *word)
{
    const char *colon = strchr(word, ':');
    return colon ? colon + 1 : word;
}

/* The type of a field by its word; an unknown word is reported, with the nearest one. */
static uint16_t manifest_build_type_of(struct builder *b, const struct xml_element *e, const char *name,
                                       bool (*find_word)(const char *, uint16_t *), const char *(*word)(uint16_t),
                                       uint16_t otherwise)
{
    const struct xml_attribute *a = manifest_build_find(e, name);
    uint16_t                    n;

    if (!a || find_word(a->value, &n))
        return a ? n : otherwise;
    if (strncmp(a->value, "xs:HexInt", 9) == 0 && find_word(a->value[9] == '3'   ? "win:HexInt32"
                                                            : a->value[9] == '6' ? "win:HexInt64"
                                                                                 : "",
                                                            &n)) {
        manifest_warning(b, a->line,
                         "write win: instead of xs:", "%s=\"%.60s\" of <%s> is a type of Windows, not of XML", name,
                         a->value, e->name);
        return n;
    }
    /* the type meant: in another case, or with another prefix */
    for (uint16_t i = 1; i < 64 && manifest_forgives(b); i++)
        if (*word(i) && strcasecmp(behind_prefix(a->value), behind_prefix(word(i))) == 0)
            otherwise = i;
    struct nearest near = nearest_make(a->value, GUESS_FAR);
    for (uint16_t i = 1; i < 64 && !manifest_forgives(b); i++)
        if (*word(i))
            nearest_try(&near, word(i));
    manifest_error(b, a->line, NULL, "%s=\"%.60s\" of <%s> is not known%s%s%s", name, a->value, e->name,
                   near.found ? ", did you mean " : "", near.found ? near.found : "", near.found ? "?" : "");
    return otherwise;
}

static void on_data(struct builder *b, const struct xml_element *e)
{
    struct manifest_field *f      = field_new(b, e);
    bool                   binary = strcmp(e->name, "binary") == 0;

    if (!f)
        return;
    f->in       = binary ? IN_BINARY : manifest_build_type_of(b, e, "inType", schema_in_find, schema_in_word, IN_NULL);
    f->unlaid   = f->in == IN_NULL;
    f->in       = f->unlaid ? IN_UINT32 : f->in;
    f->out      = manifest_build_type_of(b, e, "outType", schema_out_find, schema_out_word, schema_out_default(f->in));
    f->map_name = manifest_build_value_of(b, e, "map");
    f->length_word = manifest_build_value_of(b, e, "length");
    if (manifest_build_find(e, "outType") && !schema_out_fits(f->in, f->out))
        manifest_warning(b, manifest_build_find(e, "outType")->line, "leave the outType away for the usual one",
                         "a %s is not shown as %s by Windows' tools", schema_in_word(f->in), schema_out_word(f->out));
}

static void manifest_build_on_event(struct builder *b, const struct xml_element *e)
{
    static const char *const flags[] = {"false", "true", "0", "1", NULL};
    struct manifest_event   *v       = pool_push(b->m->pool, &manifest_build_provider(b)->events);
    if (!v)
        return;
    v->item       = item_of(b, e);
    v->item.value = manifest_build_number_of(b, e, "value", 0, 65535, MANIFEST_NO_NUMBER);
    uint64_t version =
        manifest_build_number_of(b, e, "version", 0, 255, manifest_build_find(e, "version") ? MANIFEST_NO_NUMBER : 0);
    v->lost           = v->item.value == MANIFEST_NO_NUMBER || version == MANIFEST_NO_NUMBER;
    v->version        = (uint8_t)version;
    v->tags           = (uint32_t)manifest_build_number_of(b, e, "tags", 0, 0x0FFFFFFF, 0);
    v->template_word  = manifest_build_value_of(b, e, "template");
    v->channel_word   = manifest_build_value_of(b, e, "channel");
    v->level_word     = manifest_build_value_of(b, e, "level");
    v->task_word      = manifest_build_value_of(b, e, "task");
    v->opcode_word    = manifest_build_value_of(b, e, "opcode");
    v->keyword_words  = manifest_build_value_of(b, e, "keywords");
    v->attributes     = manifest_build_value_of(b, e, "attributes");
    v->not_logged     = manifest_build_word_of(b, e, "notLogged", flags, 0) & 1;
    v->template_index = v->channel_index = v->task_index = v->opcode_index = MANIFEST_NONE;
}

static void on_message(struct builder *b, const struct xml_element *e)
{
    struct manifest_item *i = pool_push(b->m->pool, &b->m->messages);
    if (!i)
        return;
    *i       = item_of(b, e);
    i->name  = manifest_build_value_of(b, e,
                                      manifest_build_find(e, "mid")      ? "mid"
                                       : manifest_build_find(e, "symbol") ? "symbol"
                                                                          : "value");
    i->value = manifest_build_number_of(b, e, "value", 0, UINT32_MAX, 0);
}

static void on_resources(struct builder *b, const struct xml_element *e)
{
    struct manifest_culture *c = pool_push(b->m->pool, &b->m->cultures);
    if (!c)
        return;
    c->name = manifest_build_value_of(b, e, "culture");
    c->line = e->line;
    if (!c->name)
        c->name = "en-US";
}

static void on_string(struct builder *b, const struct xml_element *e)
{
    struct manifest_string *s = pool_push(b->m->pool, &b->m->cultures.at[b->m->cultures.count - 1].strings);
    if (!s)
        return;
    s->id    = manifest_build_value_of(b, e, "id");
    s->value = manifest_build_value_of(b, e, "value");
    s->line  = e->line;
    if (!s->value)
        s->value = "";
    if (!s->id)
        s->id = "";
    if (!*s->id && manifest_build_find(e, "id")) {
        manifest_error(b, e->line, "give it one", "id=\"\" of <string> is empty");
    }
}

static void on_setting(struct builder *b, const struct xml_element *e)
{
    b->setting = pool_text(b->m->pool, e->name, strlen(e->name));
}

static void (*const handlers[ELEMENTS])(struct builder *, const struct xml_element *) = {
    [EL_PROVIDER] = on_provider, [EL_CHANNEL] = on_channel,     [EL_IMPORT_CHANNEL] = on_channel,
    [EL_LEVEL] = on_level,       [EL_TASK] = on_task,           [EL_OPCODE] = on_opcode,
    [EL_KEYWORD] = on_keyword,   [EL_VALUE_MAP] = on_map,       [EL_BIT_MAP] = on_map,
    [EL_MAP] = on_map_entry,     [EL_TEMPLATE] = on_template,   [EL_DATA] = on_data,
    [EL_BINARY] = on_data,       [EL_STRUCT] = on_struct,       [EL_EVENT] = manifest_build_on_event,
    [EL_MESSAGE] = on_message,   [EL_RESOURCES] = on_resources, [EL_STRING] = on_string,
    [EL_SETTING] = on_setting,
};

/* ---- the walk ---- */

static enum element open_element(const struct builder *b)
{
    return b->depth ? grammar[b->stack[b->depth - 1]].id : EL_ROOT;
}

static int manifest_build_row_find(enum element parent, const char *name)
{
    for (int i = 0; i < ROWS; i++)
        if (grammar[i].parents & UINT64_C(1) << parent && strcmp(grammar[i].name, name) == 0)
            return i;
    return -1;
}

static void element_unknown(struct builder *b, const struct xml_element *e)
{
    enum element   parent = open_element(b);
    struct nearest near   = nearest_make(e->name, GUESS_FAR);

    if (manifest_forgives(b) && (parent == EL_TEMPLATE || parent == EL_STRUCT) && !pool_failed(b->m->pool))
        field_unknown(b, e);
    for (int i = 0; i < ROWS && b->problems->errors < MANIFEST_TOLD_MAX && (parent == EL_ROOT || !manifest_forgives(b));
         i++)
        if (grammar[i].parents & UINT64_C(1) << parent && grammar[i].id != EL_FRAGMENT)
            nearest_try(&near, grammar[i].name);
    b->no_manifest |= parent == EL_ROOT;
    if (near.found && parent == EL_ROOT)
        manifest_fatal(b, e->line, NULL, "<%.60s> is not known here, did you mean <%s>?", e->name, near.found);
    else if (near.found)
        manifest_error(b, e->line, NULL, "<%.60s> is not known here, did you mean <%s>?", e->name, near.found);
    else if (parent == EL_ROOT)
        manifest_fatal(b, e->line,
                       "a manifest begins with <instrumentationManifest>; autologger manifest template NAME writes one",
                       "<%.60s> is no manifest", e->name);
    else
        manifest_error(b, e->line, "remove it, or bring it to where it belongs", "<%.60s> may not stand in <%s>",
                       e->name, grammar[b->stack[b->depth - 1]].name);
}

static void attributes_check(struct builder *b, const struct xml_element *e, enum element id)
{
    for (unsigned k = 0; k < e->count; k++) {
        const struct xml_attribute *a    = &e->attributes[k];
        struct nearest              near = nearest_make(a->name, GUESS_FAR);
        bool                        any = false, known = false;
        for (int i = 0; i < ATTRIBUTES && !known; i++)
            if (attributes[i].id == id) {
                any   = true;
                known = strcmp(attributes[i].name, a->name) == 0;
                if (!known && !manifest_forgives(b))
                    nearest_try(&near, attributes[i].name);
            }
        if (any && !known)
            manifest_error(b, a->line, near.found ? NULL : "remove it", "<%s> has no attribute \"%.60s\"%s%s%s",
                           e->name, a->name, near.found ? ", did you mean \"" : "", near.found ? near.found : "",
                           near.found ? "\"?" : "");
    }
    for (int i = 0; i < ATTRIBUTES; i++) {
        const struct xml_attribute *a =
            attributes[i].id == id && attributes[i].needed ? manifest_build_find(e, attributes[i].name) : e->attributes;
        if (!a || (attributes[i].id == id && attributes[i].needed && !*a->value && id != EL_STRING))
            manifest_error(b, e->line, "add it", "<%s> needs %s=\"...\"", e->name, attributes[i].name);
    }
}

static void manifest_build_on_begin(void *ctx, const struct xml_element *e)
{
    struct builder *b = ctx;
    int             row;

    if (b->skipped || b->problems->errors > ERRORS_MAX) {
        b->skipped++;
        return;
    }
    row = manifest_build_row_find(open_element(b), e->name);
    if (row < 0 || b->depth == XML_DEPTH) {
        if (!b->depth || !(grammar[b->stack[b->depth - 1]].flags & OPEN))
            element_unknown(b, e);
        b->skipped = 1;
        return;
    }
    b->stack[b->depth++] = row;
    b->value_length      = 0;
    if (grammar[row].id == EL_USER_DATA)
        b->inner = e->end;
    attributes_check(b, e, grammar[row].id);
    if (handlers[grammar[row].id] && !pool_failed(b->m->pool))
        handlers[grammar[row].id](b, e);
    if (grammar[row].flags & SKIP) {
        b->skipped = 1;
        b->depth--;
    }
}

static void setting_end(struct builder *b)
{
    struct manifest_provider *p = manifest_build_provider(b);
    struct manifest_setting  *s = pool_push(b->m->pool, &p->channels.at[p->channels.count - 1].settings);
    size_t                    n = b->value_length;

    while (n && strchr(" \t\r\n", b->value[n - 1]))
        n--;
    size_t from = 0;
    while (from < n && strchr(" \t\r\n", b->value[from]))
        from++;
    if (s)
        *s = (struct manifest_setting){b->setting, pool_text(b->m->pool, b->value + from, n - from)};
}

static void manifest_build_on_end(void *ctx, const struct xml_element *e)
{
    struct builder *b = ctx;

    if (b->skipped) {
        struct manifest_template *t = b->m->providers.count ? manifest_build_template(b) : NULL;
        if (--b->skipped == 0 && open_element(b) == EL_TEMPLATE && strcmp(e->name, "UserData") == 0 && t &&
            e->end >= b->inner)
            t->user_data = pool_text(b->m->pool, b->text + b->inner, e->end - b->inner);
        return;
    }
    if (!b->depth || pool_failed(b->m->pool))
        return;
    switch (grammar[b->stack[--b->depth]].id) {
    case EL_SETTING: setting_end(b); break;
    case EL_TASK: b->task = MANIFEST_NONE; break;
    case EL_STRUCT:
    case EL_TEMPLATE: b->field = MANIFEST_NONE; break;
    default: break;
    }
}

static void manifest_build_on_text(void *ctx, const char *text, size_t length)
{
    struct builder *b     = ctx;
    unsigned        flags = b->depth ? grammar[b->stack[b->depth - 1]].flags : NOTE;

    if (b->skipped)
        return;
    if (flags & TEXT) {
        size_t n = length < sizeof b->value - b->value_length ? length : sizeof b->value - b->value_length;
        memcpy(b->value + b->value_length, text, n);
        b->value_length += n;
    }
}

/* Reported once: the text behind a mistake in the XML is read wrongly, or not at all. */
static void on_wrong(void *ctx, uint32_t line, const char *what, const char *advice)
{
    struct builder *b = ctx;
    if (!b->not_xml && !b->no_manifest)
        manifest_fatal(b, line, advice, "%s", what);
    b->not_xml = true;
}

wstatus manifest_walk(struct builder *b, size_t length, struct reason *why)
{
    struct xml_walker walker = {manifest_build_on_begin, manifest_build_on_end, manifest_build_on_text, on_wrong, b};
    b->task = b->map = b->field = MANIFEST_NONE;
    return xml_walk(b->text, length, &walker, why);
}
