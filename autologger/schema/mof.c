#include "autologger/schema/mof.h"

#include "autologger/schema/mof_parse.h"
#include "autologger/schema/schema.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOF_DEPTH_MAX = 64, MOF_IPV6 = 16, MOF_FLAGS_MAX = 32 };

static const struct mof_type {
    const char *name;
    uint16_t    in, out, hex;
    bool        extension;
} mof_types[] = {
#define M(name, in, out, hex) {name, IN_##in, OUT_##out, OUT_##hex, false},
#define E(name, in, out) {name, IN_##in, OUT_##out, OUT_##out, true},
#include "autologger/schema/mof_types.def"
#undef M
#undef E
};
/* The in-types of a string, by StringTermination; ANSI, then UTF-16. */
static const struct {
    const char *word;
    uint16_t    in[2];
} mof_strings[] = {{"NullTerminated", {IN_ANSISTRING, IN_UNICODESTRING}},
                   {"Counted", {IN_WBEM_COUNTEDANSISTRING, IN_WBEM_COUNTEDSTRING}},
                   {"ReverseCounted", {IN_REVERSEDCOUNTEDANSISTRING, IN_REVERSEDCOUNTEDSTRING}},
                   {"NotCounted", {IN_NONNULLTERMINATEDANSISTRING, IN_NONNULLTERMINATEDSTRING}}};

static const struct mof_class *mof_class_find(const struct mof_file *f, const char *name)
{
    for (unsigned i = 0; i < f->classes.count; i++)
        if (strcasecmp(f->classes.at[i].name, name) == 0)
            return &f->classes.at[i];
    return NULL;
}

/* The class and its parents up to EventTrace: 1 for a provider, 2 for a class of events, more for an event; 0: it is no
 * class of traces. `line` gets them, the class itself first. */
static unsigned mof_ancestors(const struct mof_file *f, const struct mof_class *c,
                              const struct mof_class *line[MOF_DEPTH_MAX])
{
    unsigned n = 0;
    while (c && n < MOF_DEPTH_MAX) {
        line[n++] = c;
        if (strcasecmp(c->parent, "EventTrace") == 0)
            return n;
        c = mof_class_find(f, c->parent);
    }
    return 0;
}

static bool mof_guid(struct mof_file *f, const struct mof_class *c, struct guid *out)
{
    const char *text = mof_qualifier_text(&c->qualifiers, "Guid");
    if (text && guid_parse(text, out))
        return true;
    mof_wrong(f, true, c->line, "write Guid(\"{...}\") before the class", "class %s has no readable Guid", c->name);
    return false;
}

/* ---- maps and flags ---- */

/* "-1" of a small type has the bits of that type, as its values have. */
static uint64_t mof_cut(const struct mof_property *p, uint64_t value)
{
    const char         *digits = strpbrk(p->type, "0123456789");
    const unsigned long bits   = digits ? strtoul(digits, NULL, 10) : 0;
    return (int64_t)value < 0 && bits && bits < 64 ? value & ((UINT64_C(1) << bits) - 1) : value;
}

/* The names and numbers of a property: Values, BitValues, DefineValues, BitMap, ... as a map. */
static int mof_map(struct mof_file *f, struct manifest_provider *p, const struct mof_property *from, const char *owner)
{
    static const char *const    names[] = {"BitValues", "Values", "DefineValues"};
    const struct mof_qualifier *texts = NULL, *numbers = NULL, *bits = mof_qualifier_find(&from->qualifiers, "BitMap");
    const char                 *value_type = mof_qualifier_text(&from->qualifiers, "ValueType");
    const bool                  flags = value_type && strcasecmp(value_type, "flag") == 0; /* the numbers are masks */
    char                        name[256];

    for (size_t i = 0; i < sizeof names / sizeof *names && !texts; i++)
        texts = mof_qualifier_find(&from->qualifiers, names[i]);
    if (!texts)
        return MANIFEST_NONE;
    numbers                  = bits ? bits : mof_qualifier_find(&from->qualifiers, "ValueMap");
    struct manifest_map *map = pool_push(f->pool, &p->maps);
    if (!map)
        return MANIFEST_NONE;
    snprintf(name, sizeof name, "%s.%s", owner, from->name);
    map->item.name = pool_text(f->pool, name, strlen(name));
    map->bits      = bits || flags || mof_qualifier_find(&from->qualifiers, "BitValues");
    for (unsigned i = 0; i < texts->values.count; i++) {
        uint64_t value = flags ? UINT64_C(1) << (i % 64) : i;
        if (numbers && i >= numbers->values.count)
            break; /* the file gives these names no number */
        if (numbers && numbers->values.at[i].is_number)
            value = numbers->values.at[i].number;
        if (map->bits && !flags && value < 64) /* a BitMap has numbers of bits */
            value = UINT64_C(1) << value;
        value                       = mof_cut(from, value);
        struct manifest_item *entry = pool_push(f->pool, &map->entries);
        if (entry)
            *entry =
                (struct manifest_item){.value = value, .message = {MANIFEST_TEXT_LITERAL, texts->values.at[i].text}};
    }
    return (int)p->maps.count - 1;
}

/* A name of a property with its number: of the bits of Flags, of the values of Level. False: no more. */
static bool mof_item(const struct mof_property *from, bool bits, unsigned i, struct manifest_item *out)
{
    const struct mof_qualifier *names   = mof_qualifier_find(&from->qualifiers, "Values");
    const struct mof_qualifier *numbers = mof_qualifier_find(&from->qualifiers, "ValueMap");
    names                               = names ? names : mof_qualifier_find(&from->qualifiers, "DefineValues");
    if (!names || i >= names->values.count || i >= MOF_FLAGS_MAX)
        return false;
    const bool known = numbers && i < numbers->values.count && numbers->values.at[i].is_number;
    *out             = (struct manifest_item){.name  = names->values.at[i].text,
                                              .value = known  ? numbers->values.at[i].number
                                                       : bits ? UINT64_C(1) << i
                                                              : i,
                                              .line  = from->line};
    return true;
}

/* A provider class: its property Flags names the flags of its control GUID, Level its levels. */
static void mof_provider(struct mof_file *f, struct manifest *m, const struct mof_class *c)
{
    struct guid guid;
    if (!mof_guid(f, c, &guid))
        return;
    struct manifest_provider *p = pool_push(f->pool, &m->providers);
    if (!p)
        return;
    p->guid = guid;
    p->name = c->name;
    p->line = c->line;
    for (unsigned i = 0; i < c->properties.count; i++) {
        const struct mof_property *own  = &c->properties.at[i];
        const bool                 bits = strcasecmp(own->name, "Flags") == 0;
        struct manifest_item       item, *new;
        if (!bits && strcasecmp(own->name, "Level") != 0)
            continue;
        for (unsigned k = 0; mof_item(own, bits, k, &item); k++)
            if (bits || item.value <= UINT8_MAX) {
                new = bits ? pool_push(f->pool, &p->keywords) : pool_push(f->pool, &p->levels);
                if (new)
                    *new = item;
            }
    }
}

/* ---- properties ---- */

static bool mof_is_format(const struct mof_property *p, const char *word)
{
    const char *format = mof_qualifier_text(&p->qualifiers, "Format");
    return format && strcasecmp(format, word) == 0;
}

/* The in- and out-type. False: it is not known how the value is stored. */
static bool mof_type_of(const struct mof_property *p, struct manifest_field *out)
{
    const char *extension = mof_qualifier_text(&p->qualifiers, "Extension");
    const char *ending    = mof_qualifier_text(&p->qualifiers, "StringTermination");

    if (extension && strcasecmp(extension, "NoPrint") == 0) { /* about its show alone, not its bytes */
        extension = NULL;
        out->flags |= FIELD_HIDDEN;
    }
    if (mof_qualifier_find(&p->qualifiers, "Pointer") || mof_qualifier_find(&p->qualifiers, "PointerType")) {
        out->in = IN_POINTER;
        return true;
    }
    if (!extension && strcasecmp(p->type, "string") == 0) {
        for (size_t i = 0; i < sizeof mof_strings / sizeof *mof_strings; i++)
            if (strcasecmp(mof_strings[i].word, ending ? ending : "NullTerminated") == 0) {
                out->in  = mof_strings[i].in[mof_is_format(p, "w")];
                out->out = OUT_STRING;
                return true;
            }
        return false;
    }
    if (strcasecmp(p->type, "uint8") == 0 && mof_is_format(p, "c")) {
        out->in  = IN_ANSICHAR;
        out->out = OUT_STRING;
        return true;
    }
    for (size_t i = 0; i < sizeof mof_types / sizeof *mof_types; i++) {
        const struct mof_type *t = &mof_types[i];
        if (t->extension != (extension != NULL) || strcasecmp(t->name, extension ? extension : p->type) != 0)
            continue;
        out->in  = t->in;
        out->out = mof_is_format(p, "x") ? t->hex : t->out;
        if (t->in == IN_BINARY) {
            out->flags |= FIELD_FIXED_LENGTH;
            out->length = MOF_IPV6;
        }
        return true;
    }
    return false;
}

/* Format("s") makes an array of characters one text, of as many characters; without a number up to its NUL. */
static void mof_text_of(const struct mof_property *p, struct manifest_field *out)
{
    const bool wide = strcasecmp(p->type, "char16") == 0;
    if (!p->array || !mof_is_format(p, "s") || (!wide && out->in != IN_UINT8 && out->in != IN_INT8))
        return;
    out->in  = wide ? IN_UNICODESTRING : IN_ANSISTRING;
    out->out = OUT_STRING;
    if (out->flags & (FIELD_FIXED_COUNT | FIELD_COUNT_OF)) {
        out->length = out->count;
        out->flags ^=
            out->flags & FIELD_FIXED_COUNT ? FIELD_FIXED_COUNT | FIELD_FIXED_LENGTH : FIELD_COUNT_OF | FIELD_LENGTH_OF;
    }
    out->count = 1;
}

/* The number of elements of an array: in the brackets, in Max, or in another property. */
static void mof_count(const struct mof_property *p, const struct manifest_template *t, struct manifest_field *out)
{
    const struct mof_qualifier *max  = mof_qualifier_find(&p->qualifiers, "Max");
    const char                 *size = mof_qualifier_text(&p->qualifiers, "WmiSizeIs");
    uint32_t                    n    = p->fixed;

    if (!p->array)
        return;
    if (!n && max && max->values.count && max->values.at[0].is_number && max->values.at[0].number <= UINT16_MAX)
        n = (uint32_t)max->values.at[0].number;
    for (unsigned i = 0; size && i < t->fields.count; i++)
        if (strcasecmp(t->fields.at[i].name, size) == 0) {
            out->flags |= FIELD_COUNT_OF;
            out->count = (uint16_t)i;
            return;
        }
    if (n) {
        out->flags |= FIELD_FIXED_COUNT;
        out->count = (uint16_t)n;
    } else if (!mof_is_format(p, "s")) { /* what is left, as bytes */
        out->in  = IN_BINARY;
        out->out = OUT_HEXBINARY;
        out->flags |= FIELD_TO_END;
    }
}

struct mof_ordered {
    const struct mof_property *property;
    uint64_t                   id;
};

static int mof_by_id(const void *a, const void *b)
{
    const struct mof_ordered *x = a, *y = b;
    return x->id != y->id ? (x->id > y->id) - (x->id < y->id)
                          : (x->property > y->property) - (x->property < y->property);
}

/* The properties in the order of WmiDataId, as fields. */
static void mof_fields(struct mof_file *f, struct manifest_provider *p, const struct mof_class *c,
                       struct manifest_template *t)
{
    struct mof_ordered list[MOF_PROPERTIES_MAX];
    unsigned           n = 0;
    for (unsigned i = 0; i < c->properties.count; i++) {
        const struct mof_qualifier *id    = mof_qualifier_find(&c->properties.at[i].qualifiers, "WmiDataId");
        const bool                  known = id && id->values.count && id->values.at[0].is_number;
        list[n++] = (struct mof_ordered){&c->properties.at[i], known ? id->values.at[0].number : UINT64_MAX};
    }
    qsort(list, n, sizeof *list, mof_by_id);
    for (unsigned i = 0; i < n && !t->cut; i++) {
        const struct mof_property *from  = list[i].property;
        struct manifest_field      field = {
                 .name = from->name, .count = 1, .map = MANIFEST_NONE, .parent = MANIFEST_NONE, .line = from->line};
        if (!mof_type_of(from, &field)) {
            mof_wrong(f, false, from->line, "use a type and an Extension that Microsoft documents for traces",
                      "%s.%s: how the type %s is stored is not known: it and what follows stay bytes", c->name,
                      from->name, from->type);
            t->cut = true;
            return;
        }
        mof_count(from, t, &field);
        mof_text_of(from, &field);
        field.map                  = mof_map(f, p, from, c->name);
        struct manifest_field *own = pool_push(f->pool, &t->fields);
        if (own)
            *own = field;
        t->top_count = t->fields.count;
    }
}

/* ---- classes of events ---- */

/* "Process" of Process_V2: the name that all versions share. */
static const char *mof_class_name(struct mof_file *f, const struct mof_class *c)
{
    const char *shown = mof_qualifier_text(&c->qualifiers, "DisplayName");
    size_t      n = strlen(c->name), digits = n;
    if (shown && *shown)
        return shown;
    while (digits && isdigit((unsigned char)c->name[digits - 1]))
        digits--;
    if (digits > 2 && digits < n && strncasecmp(c->name + digits - 2, "_V", 2) == 0)
        n = digits - 2;
    return pool_text(f->pool, c->name, n);
}

static struct manifest_provider *mof_class_provider(struct mof_file *f, struct manifest *m, const struct mof_class *c,
                                                    const struct guid *guid)
{
    for (unsigned i = 0; i < m->providers.count; i++)
        if (guid_equal(&m->providers.at[i].guid, guid))
            return &m->providers.at[i];
    struct manifest_provider *p = pool_push(f->pool, &m->providers);
    if (p) {
        p->guid = *guid;
        p->name = mof_class_name(f, c);
        p->line = c->line;
    }
    return p;
}

/* An opcode with its name, for all tasks. */
static int mof_opcode(struct mof_file *f, struct manifest_provider *p, uint8_t number, const char *name)
{
    for (unsigned i = 0; i < p->opcodes.count; i++)
        if (p->opcodes.at[i].item.value == number)
            return (int)i;
    struct manifest_opcode *o = pool_push(f->pool, &p->opcodes);
    if (!o)
        return MANIFEST_NONE;
    o->item = (struct manifest_item){.name = name, .value = number};
    o->task = MANIFEST_NONE;
    return (int)p->opcodes.count - 1;
}

static uint8_t mof_version(const struct mof_class *const *line, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const struct mof_qualifier *v = mof_qualifier_find(&line[i]->qualifiers, "EventVersion");
        if (v && v->values.count && v->values.at[0].is_number && v->values.at[0].number < MOF_ANY_VERSION)
            return (uint8_t)v->values.at[0].number;
    }
    return MOF_ANY_VERSION;
}

/* An event class: an event for each of its types. */
static void mof_event(struct mof_file *f, struct manifest *m, const struct mof_class *const *line, unsigned count)
{
    const struct mof_class     *c = line[0], *group = line[count - 2];
    const struct mof_qualifier *types = mof_qualifier_find(&c->qualifiers, "EventType");
    const struct mof_qualifier *names = mof_qualifier_find(&c->qualifiers, "EventTypeName");
    struct guid                 guid;

    if (!types || !types->values.count) {
        mof_wrong(f, false, c->line, "write EventType(NUMBER) before the class", "class %s has no EventType", c->name);
        return;
    }
    if (!mof_guid(f, group, &guid))
        return;
    struct manifest_provider *p = mof_class_provider(f, m, group, &guid);
    struct manifest_template *t = p ? pool_push(f->pool, &p->templates) : NULL;
    if (!t)
        return;
    t->tid                        = c->name;
    t->used                       = true;
    const unsigned template_index = p->templates.count - 1;
    mof_fields(f, p, c, t);
    for (unsigned i = 0; i < types->values.count; i++) {
        const struct mof_value *type = &types->values.at[i];
        if (!type->is_number || type->number > UINT8_MAX) {
            mof_wrong(f, true, c->line, "write numbers from 0 to 255",
                      "an EventType of class %s is no number of 8 bits", c->name);
            continue;
        }
        const char            *name = names && i < names->values.count ? names->values.at[i].text : c->name;
        struct manifest_event *e    = pool_push(f->pool, &p->events);
        if (e)
            *e = (struct manifest_event){.item           = {.symbol = name, .line = c->line},
                                         .opcode         = (uint8_t)type->number,
                                         .version        = mof_version(line, count - 1),
                                         .template_index = (int)template_index,
                                         .channel_index  = MANIFEST_NONE,
                                         .task_index     = MANIFEST_NONE,
                                         .opcode_index   = mof_opcode(f, p, (uint8_t)type->number, name)};
    }
}

bool mof_is(const char *text, size_t size)
{
    size_t at = 0;
    for (;;) {
        while (at < size && isspace((unsigned char)text[at]))
            at++;
        if (size - at < 2 || text[at] != '/' || (text[at + 1] != '/' && text[at + 1] != '*'))
            break;
        const char *end = text[at + 1] == '/' ? memchr(text + at, '\n', size - at) : strstr(text + at + 2, "*/");
        if (!end)
            return false;
        at = (size_t)(end - text) + (text[at + 1] == '*' ? 2 : 1);
    }
    static const char *const begins[] = {"[", "#pragma", "class ", "class\t"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (size - at >= strlen(begins[i]) && strncasecmp(text + at, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

static void mof_classes(struct mof_file *f, struct manifest *m)
{
    const struct mof_class *line[MOF_DEPTH_MAX];
    struct guid             guid;

    for (unsigned i = 0; i < f->classes.count; i++) {
        const unsigned n = mof_ancestors(f, &f->classes.at[i], line);
        if (n == 1)
            mof_provider(f, m, line[0]);
        else if (n == 2 && mof_guid(f, line[0], &guid)) /* the newest version stands first or last: any name will do */
            mof_class_provider(f, m, line[0], &guid);
        else if (n > 2)
            mof_event(f, m, line, n);
        else if (mof_qualifier_find(&f->classes.at[i].qualifiers, "EventType"))
            mof_wrong(f, false, f->classes.at[i].line, "put the classes from EventTrace to it into the file",
                      "class %s has an EventType, and its parents up to EventTrace are not in the file: it is left out",
                      f->classes.at[i].name);
    }
}

wstatus mof_read(const char *text, size_t size, const char *origin, struct manifest_problems *problems,
                 struct manifest **out, struct reason *why)
{
    struct manifest *m  = calloc(1, sizeof *m);
    wstatus          st = W_SUCCESS;

    *out             = NULL;
    problems->errors = problems->warnings = problems->flaws = 0;
    if (!m || !(m->pool = pool_new(MANIFEST_MEMORY_MAX)) || !(m->origin = pool_text(m->pool, origin, strlen(origin)))) {
        st = reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for %s", origin);
    } else {
        struct mof_file f = {
            .pool = m->pool, .at = text, .end = text + size, .origin = m->origin, .line = 1, .problems = problems};
        m->kind = MANIFEST_CLASSES;
        if (mof_parse(&f))
            mof_classes(&f, m);
        st = manifest_read_status(origin, pool_failed(m->pool), problems, why);
        if (!st && !m->providers.count)
            st = reason_set(why, W_INVALID_DATA, "%s has no class that derives from EventTrace", origin);
    }
    if (st)
        manifest_free(m);
    else
        *out = m;
    return st;
}
