#include "autologger/plan/values.h"

#include "registry-sim/base/cursor.h"
#include "registry-sim/base/nearest.h"
#include "registry-sim/win32/utf16.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#ifdef AL_EARLY /* the early program prints no reference */
#define READERS(text) ""
#else
#define READERS(text) text
#endif

const struct value_row value_rows[VALUE_COUNT] = {
#define V(id, name, type, scopes, words, fallback, low, high, unit, state, absent, help) \
    {name, REG_TYPE_##type, scopes,          WORDS_##words, fallback, low, high, \
     unit, STATE_##state,   READERS(absent), READERS(help)},
#include "autologger/plan/values.def"
#undef V
};

static const struct value_bit modes[] = {
#define M(id, bit, state, help) {#id, bit, STATE_##state, help},
#include "autologger/plan/modes.def"
#undef M
};
static const struct value_bit values_properties[] = {
#define P(id, bit, state, help) {#id, bit, STATE_##state, READERS(help)},
#include "autologger/plan/properties.def"
#undef P
};
static const struct {
    uint32_t    type;
    const char *name;
} values_types[] = {
    {REG_TYPE_NONE, "REG_NONE"},           {REG_TYPE_SZ, "REG_SZ"},
    {REG_TYPE_EXPAND_SZ, "REG_EXPAND_SZ"}, {REG_TYPE_BINARY, "REG_BINARY"},
    {REG_TYPE_DWORD, "REG_DWORD"},         {REG_TYPE_DWORD_BIG_ENDIAN, "REG_DWORD_BIG_ENDIAN"},
    {REG_TYPE_LINK, "REG_LINK"},           {REG_TYPE_MULTI_SZ, "REG_MULTI_SZ"},
    {REG_TYPE_QWORD, "REG_QWORD"},
};
static const struct {
    unsigned    scope;
    const char *name;
} scope_names[] = {
    {IN_WMI, "Control\\WMI"},
    {IN_GLOBAL_LOGGER, "GlobalLogger"},
    {IN_WPP, "GlobalLogger\\{guid}"},
    {IN_BOOT, "Autologger ([Boot] in INI)"},
    {IN_AUTOLOGGER, "Autologger\\<session>"},
    {IN_PROVIDER, "Autologger\\<session>\\{guid}"},
    {IN_FILTERS, "...\\{guid}\\Filters"},
    {IN_FILTER_PART, "...\\{guid}\\Filters\\<part>"},
    {IN_SET, "CollectorSet\\<set>"},
};
static const char *const state_texts[] = {
    [STATE_NOW]     = "yes",
    [STATE_KEPT]    = "accepted and kept, without effect (condition 50)",
    [STATE_IGNORED] = "kept, not read, as on Windows",
    [STATE_WRITTEN] = "written by autologger",
};

#define COUNT(table) (sizeof(table) / sizeof *(table))

const struct value_bit *mode_bits(size_t *count)
{
    *count = COUNT(modes);
    return modes;
}

const struct value_bit *property_bits(size_t *count)
{
    *count = COUNT(values_properties);
    return values_properties;
}

const char *value_type_name(uint32_t type)
{
    for (size_t i = 0; i < COUNT(values_types); i++)
        if (values_types[i].type == type)
            return values_types[i].name;
    return "an unknown type";
}

const char *value_scope_name(unsigned scope)
{
    for (size_t i = 0; i < COUNT(scope_names); i++)
        if (scope_names[i].scope == scope)
            return scope_names[i].name;
    return "";
}

const char *value_state_text(enum value_state state) { return state_texts[state]; }

static bool part_is(const char *part, size_t length, const char *name)
{
    return strlen(name) == length && strncasecmp(part, name, length) == 0;
}

static bool part_is_control_set(const char *part, size_t length)
{
    static const char numbered[] = "ControlSet";
    return part_is(part, length, "CurrentControlSet") ||
           (length == sizeof numbered + 2 && strncasecmp(part, numbered, sizeof numbered - 1) == 0 &&
            strspn(part + sizeof numbered - 1, "0123456789") >= 3);
}

unsigned value_scope_of(const char *key)
{
    static const char *const path[]  = {"", "Control", "WMI"}; /* after the control set */
    unsigned                 matched = 0;                      /* parts of "ControlSet\Control\WMI" seen */
    unsigned                 scope   = 0;

    while (*key) {
        size_t length = strcspn(key, "\\/");
        if (matched < 3) {
            bool fits = matched == 0 ? part_is_control_set(key, length) : part_is(key, length, path[matched]);
            matched   = fits ? matched + 1 : part_is_control_set(key, length);
            scope     = matched == 3 ? IN_WMI : 0;
        } else if (scope == IN_WMI) {
            scope = part_is(key, length, "GlobalLogger")   ? IN_GLOBAL_LOGGER
                    : part_is(key, length, "Autologger")   ? IN_BOOT
                    : part_is(key, length, "CollectorSet") ? IN_SETS
                                                           : 0;
        } else if (scope == IN_SETS || scope == IN_SET) {
            scope = scope == IN_SETS ? IN_SET : IN_AUTOLOGGER;
        } else if (scope == IN_GLOBAL_LOGGER || scope == IN_BOOT || scope == IN_AUTOLOGGER || scope == IN_FILTERS) {
            scope *= 2; /* one level down */
            if (scope == IN_WPP && *key != '{')
                scope = 0;
        } else {
            scope = scope == IN_PROVIDER && part_is(key, length, "Filters") ? IN_FILTERS : 0;
        }
        if (matched == 3 && scope == 0)
            return 0;
        key += length;
        key += *key != '\0';
    }
    return scope;
}

const struct value_row *value_find(unsigned scope, const char *name)
{
    for (size_t i = 0; i < VALUE_COUNT; i++)
        if ((value_rows[i].scopes & scope) && strcasecmp(value_rows[i].name, name) == 0)
            return &value_rows[i];
    return NULL;
}

const char *value_suggest(unsigned scope, const char *name)
{
    struct nearest n = nearest_make(name, 2);

    for (size_t i = 0; i < VALUE_COUNT; i++)
        if (value_rows[i].scopes & scope)
            nearest_try(&n, value_rows[i].name);
    return n.found;
}

/* A REG_DWORD is accepted for a REG_QWORD: shipped drivers write keywords so. */
static bool type_fits(uint32_t asked, uint32_t found)
{
    return asked == found || (asked == REG_TYPE_SZ && found == REG_TYPE_EXPAND_SZ) ||
           (asked == REG_TYPE_QWORD && found == REG_TYPE_DWORD);
}

/* Takes a value of the right type into `v`. W_MORE_DATA: it is too short, and counts as absent. */
static wstatus values_take(const struct value_row *row, const struct regvalue *found, struct plan_value *v,
                           struct reason *why)
{
    struct cursor c = cur_make(found->data, found->size);

    switch (row->type) {
    case REG_TYPE_DWORD: v->number = cur_u32(&c); break;
    case REG_TYPE_QWORD: v->number = found->type == REG_TYPE_DWORD ? cur_u32(&c) : cur_u64(&c); break;
    case REG_TYPE_BINARY:
        v->bytes = found->size ? malloc(found->size) : NULL;
        if (found->size && !v->bytes)
            return reason_set(why, W_OUTOFMEMORY, "no memory to read %s", row->name);
        if (found->size)
            memcpy(v->bytes, found->data, found->size);
        v->size = found->size;
        break;
    default: return regvalue_get_string_dup(found, &v->text, why);
    }
    if (!cur_ok(&c)) {
        v->number = row->fallback;
        return W_MORE_DATA;
    }
    return W_SUCCESS;
}

/* The number that a value of another type stands for; false: none. */
static bool number_meant(const struct regvalue *found, uint64_t *out)
{
    struct cursor c     = cur_make(found->data, found->size);
    char         *text  = NULL, *end;
    bool          meant = found->type == REG_TYPE_DWORD || found->type == REG_TYPE_QWORD;
    if (meant) {
        *out = found->type == REG_TYPE_DWORD ? cur_u32(&c) : cur_u64(&c);
        return cur_ok(&c);
    }
    if ((found->type != REG_TYPE_SZ && found->type != REG_TYPE_EXPAND_SZ) ||
        regvalue_get_string_dup(found, &text, NULL) != W_SUCCESS)
        return false;
    errno = 0;
    *out  = strtoull(text, &end, 0);
    meant = end != text && !*end && !errno && !strchr(text, '-');
    free(text);
    return meant;
}

/* The value as a literal of .reg and INI, in the right type; an example when it is no number. */
static const char *type_advice(uint32_t type, const struct regvalue *found, char out[64])
{
    uint64_t   n     = 0;
    const bool meant = number_meant(found, &n) && (type != REG_TYPE_DWORD || n <= UINT32_MAX);
    switch (type) {
    case REG_TYPE_DWORD: snprintf(out, 64, "dword:%08x, in hexadecimal", meant ? (unsigned)n : 0x40); return out;
    case REG_TYPE_BINARY:
    case REG_TYPE_QWORD: {
        const bool     quad = type == REG_TYPE_QWORD;
        const unsigned size = quad || n > UINT32_MAX ? 8 : 4;
        size_t         at   = (size_t)snprintf(out, 64, quad ? "hex(b)" : "hex");
        n                   = meant ? n : quad ? 0x40 : 1;
        for (unsigned i = 0; i < size; i++)
            at += (size_t)snprintf(out + at, 64 - at, "%c%02x", i ? ',' : ':', (unsigned)(n >> 8 * i & 0xFF));
        snprintf(out + at, 64 - at, ", the lowest byte first");
        return out;
    }
    default: return "a text in quotes";
    }
}

wstatus value_read(struct regstore *store, const char *key, enum value_id id, struct value_set *set,
                   struct condition_list *conditions, struct reason *why)
{
    const struct value_row *row = &value_rows[id];
    struct plan_value      *v   = &set->at[id];
    struct regvalue         found;
    char                    advice[64];
    wstatus                 st = regstore_get(store, key, row->name, &found);

    v->number = row->fallback;
    if (st == W_FILE_NOT_FOUND)
        return W_SUCCESS;
    if (st != W_SUCCESS)
        return reason_set(why, st, "%s can't be read from the store", row->name);
    v->source_line = found.source_line;
    if (found.source_file && !(v->source_file = strdup(found.source_file)))
        return reason_set(why, W_OUTOFMEMORY, "no memory to read %s", row->name);
    if (!type_fits(row->type, found.type))
        return reason_set(why, W_INVALID_PARAMETER, "%s is %s, it must be %s. Do: write it as %s", row->name,
                          value_type_name(found.type), value_type_name(row->type),
                          type_advice(row->type, &found, advice));
    st = values_take(row, &found, v, why);
    if (st == W_MORE_DATA) {
        condition_add(conditions, W_INVALID_PARAMETER, true, row->name, v->source_file, v->source_line,
                      "give it its full length", "the value has %u bytes, too few for a %s; it is ignored", found.size,
                      value_type_name(row->type));
        return W_SUCCESS;
    }
    v->present = st == W_SUCCESS && !(row->type == REG_TYPE_BINARY && v->size == 0);
    return st;
}

/* Why the value has no effect here. */
static const char *kept_reason(const struct value_row *row)
{
    if (row == &value_rows[VALUE_BOOT])
        return "has no effect: every session starts in the initramfs already, before which no program exists";
    if (row == &value_rows[VALUE_POOL_TAG_FILTER])
        return "has no effect: the kernel's memory has no pool tags";
    return "is accepted and kept, this version does not act on it";
}

/* A KEPT value that asks for something gives a condition: it has no effect. */
static void report_kept(const struct value_row *row, const struct plan_value *v, struct condition_list *conditions)
{
    bool asks = row->type == REG_TYPE_SZ || row->type == REG_TYPE_BINARY || v->number != row->fallback;

    if (v->present && row->state == STATE_KEPT && asks)
        condition_add(conditions, W_NOT_SUPPORTED, false, row->name, v->source_file, v->source_line,
                      "remove it: it has no effect here", "%s %s", row->name, kept_reason(row));
}

wstatus value_set_read(struct regstore *store, const char *key, unsigned scope, struct value_set *set,
                       struct condition_list *conditions, enum value_id *failed, struct reason *why)
{
    for (unsigned i = 0; i < VALUE_COUNT; i++) {
        const struct value_row *row = &value_rows[i];
        if (!(row->scopes & scope) || row->state == STATE_IGNORED || row->state == STATE_WRITTEN || set->at[i].present)
            continue;
        if (scope == IN_GLOBAL_LOGGER && i == VALUE_GUID)
            continue; /* not read there, so any type is fine */
        wstatus st = value_read(store, key, (enum value_id)i, set, conditions, why);
        if (st != W_SUCCESS) {
            *failed = (enum value_id)i;
            return st;
        }
        report_kept(row, &set->at[i], conditions);
    }
    return W_SUCCESS;
}

void value_set_finish(struct value_set *set)
{
    for (unsigned i = 0; i < VALUE_COUNT; i++) {
        free(set->at[i].text);
        free(set->at[i].bytes);
        free(set->at[i].source_file);
    }
    memset(set, 0, sizeof *set);
}

struct strangers {
    unsigned               scope;
    struct condition_list *conditions;
};

static wstatus stranger(void *ctx, const struct regvalue *value)
{
    struct strangers *s    = ctx;
    const char       *near = value_find(s->scope, value->name) ? NULL : value_suggest(s->scope, value->name);
    char              advice[128];

    if (value_find(s->scope, value->name) == &value_rows[VALUE_AGE_LIMIT])
        condition_add(s->conditions, W_INVALID_PARAMETER, true, value->name, value->source_file, value->source_line,
                      "write it as FlushThreshold, or remove it",
                      "AgeLimit is not read, as on Windows: a controller's field of that name is FlushThreshold");
    if (value_find(s->scope, value->name) == &value_rows[VALUE_MAXIMUM_FILE_SIZE])
        condition_add(s->conditions, W_INVALID_PARAMETER, true, value->name, value->source_file, value->source_line,
                      "write it as MaxFileSize",
                      "MaximumFileSize is not read, as on Windows: the file's size is that of MaxFileSize");
    if (near) {
        snprintf(advice, sizeof advice, "did you mean %s?", near);
        condition_add(s->conditions, W_INVALID_PARAMETER, true, value->name, value->source_file, value->source_line,
                      advice, "no value of that name is read; it is kept and has no effect");
    }
    return W_SUCCESS;
}

void value_report_strangers(struct regstore *store, const char *key, unsigned scope, struct condition_list *conditions)
{
    struct strangers s = {scope, conditions};
    regstore_enum_values(store, key, stranger, &s);
}
