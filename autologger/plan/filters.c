/* filters.c - the key `Filters` of a provider, and EnableProperty, as one block (wire/filter.h). A value over a limit
 * gives the provider's Status, with the place of that value. */
#include "autologger/plan/filters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Shared by the steps of reading one key. */
struct filters {
    struct regstore      *store;
    struct plan_provider *p;
    struct value_set      set; /* of the key, then of a part's key */
    enum value_id         wrong;
    bool                  stacks; /* a stack filter is present */
};

static wstatus bad(struct filters *f, enum value_id id, const char *what, unsigned long long found, unsigned most)
{
    f->wrong = id;
    return reason_set(&f->p->reason, W_INVALID_PARAMETER, "%s has %llu %s, at most %u are possible",
                      value_rows[id].name, found, what, most);
}

static wstatus filters_add(struct filters *f, enum value_id id, uint32_t type, const void *data, size_t size)
{
    f->wrong = id;
    return filter_add(&f->p->filter, type, data, size, &f->p->reason);
}

static wstatus add_text(struct filters *f, enum value_id id, uint32_t type)
{
    const char *text = f->set.at[id].text;
    size_t      n = text ? strlen(text) : 0, units = 1;
    if (!f->set.at[id].present || !n)
        return W_SUCCESS;
    for (size_t i = 0; i < n; i++) /* in UTF-16, as Windows counts */
        units += ((unsigned char)text[i] & 0xC0) != 0x80 ? 1 + ((unsigned char)text[i] >= 0xF0) : 0;
    return units * 2 > FILTER_TEXT ? bad(f, id, "bytes", units * 2, FILTER_TEXT)
                                   : filters_add(f, id, type, text, n + 1);
}

static wstatus filters_add_ids(struct filters *f, enum value_id id, enum value_id in, uint32_t type)
{
    const struct plan_value *v = &f->set.at[id];
    uint8_t                  bytes[sizeof(struct filter_ids) + FILTER_IDS * 2];
    if (!v->present)
        return W_SUCCESS;
    if (v->size > FILTER_IDS * 2)
        return bad(f, id, "ids", (v->size + 1) / 2, FILTER_IDS);
    if (v->size % 2)
        return bad(f, id, "bytes, which are no ids of 16 bits;", v->size, FILTER_IDS * 2);
    const struct filter_ids head = {.filter_in = f->set.at[in].number != 0, .count = (uint16_t)(v->size / 2)};
    memcpy(bytes, &head, sizeof head);
    memcpy(bytes + sizeof head, v->bytes, v->size);
    return filters_add(f, id, type, bytes, sizeof head + v->size);
}

/* Names joined by ';' become consecutive texts, each with its NUL. */
static wstatus filters_add_names(struct filters *f, uint32_t type)
{
    struct filter_names head = {.any       = f->set.at[VALUE_NAME_MATCH_ANY].number,
                                .all       = f->set.at[VALUE_NAME_MATCH_ALL].number,
                                .level     = (uint8_t)f->set.at[VALUE_NAME_LEVEL].number,
                                .filter_in = f->set.at[VALUE_NAME_FILTER_IN].number != 0};
    const size_t        at   = offsetof(struct filter_names, names);
    const char         *text = f->set.at[VALUE_NAMES].text ? f->set.at[VALUE_NAMES].text : "";
    size_t              used = at;
    char                bytes[FILTER_NAMES];
    while (*text) {
        const size_t n = strcspn(text, ";");
        if (n && used + n + 1 > sizeof bytes)
            return bad(f, VALUE_NAMES, "bytes", at + strlen(f->set.at[VALUE_NAMES].text) + 1, FILTER_NAMES);
        if (n) {
            memcpy(bytes + used, text, n);
            bytes[used + n] = 0;
            used += n + 1;
            head.count++;
        }
        text += n + (text[n] == ';');
    }
    const uint64_t told = f->set.at[VALUE_NAME_COUNT].number;
    f->wrong            = f->set.at[VALUE_NAME_COUNT].present ? VALUE_NAME_COUNT : VALUE_NAMES;
    if (!head.count || (told && told != head.count))
        return reason_set(&f->p->reason, W_INVALID_PARAMETER, "Names has %u names, NameCount says %llu", head.count,
                          (unsigned long long)told);
    memcpy(bytes, &head, at);
    return filters_add(f, VALUE_NAMES, type, bytes, used);
}

static wstatus add_level_keyword(struct filters *f)
{
    const struct filter_level_keyword terms = {.any       = f->set.at[VALUE_NAME_MATCH_ANY].number,
                                               .all       = f->set.at[VALUE_NAME_MATCH_ALL].number,
                                               .level     = (uint8_t)f->set.at[VALUE_NAME_LEVEL].number,
                                               .filter_in = f->set.at[VALUE_NAME_FILTER_IN].number != 0};
    return filters_add(f, VALUE_NAME_LEVEL, FILTER_STACK_LEVEL_KEYWORD, &terms, sizeof terms);
}

/* Makes the place of the wrong value the place of the provider's row. */
static void filters_blame(struct filters *f)
{
    const struct plan_value *v    = &f->set.at[f->wrong];
    char                    *file = v->source_file ? strdup(v->source_file) : NULL;
    if (file) {
        free(f->p->source_file);
        f->p->source_file = file;
        f->p->source_line = v->source_line;
    }
}

/* Reads one key, with the values of `scope`; a missing key adds nothing. */
static wstatus filters_key_read(struct filters *f, const char *key, unsigned scope,
                                wstatus (*take)(struct filters *f, uint32_t type), uint32_t type)
{
    memset(&f->set, 0, sizeof f->set);
    if (!regstore_key_exists(f->store, key))
        return W_SUCCESS;
    wstatus st = value_set_read(f->store, key, scope, &f->set, &f->p->conditions, &f->wrong, &f->p->reason);
    st         = st ? st : take(f, type);
    if (st)
        filters_blame(f);
    value_report_strangers(f->store, key, scope, &f->p->conditions);
    value_set_finish(&f->set);
    return st;
}

static wstatus add_bytes(struct filters *f, enum value_id id, uint32_t type, uint32_t most)
{
    const struct plan_value *v = &f->set.at[id];
    if (!v->present)
        return W_SUCCESS;
    if (v->size > most)
        return bad(f, id, "bytes", v->size, most);
#ifndef AL_EARLY /* no room there; programs check these bytes before they use them */
    wstatus st = filter_part_check(type, v->bytes, v->size, &f->p->reason);
    if (st) {
        f->wrong = id;
        return st;
    }
#endif
    return filters_add(f, id, type, v->bytes, v->size);
}

static wstatus filters_take_values(struct filters *f, uint32_t type)
{
    wstatus st = add_text(f, VALUE_EXE_FILTER, FILTER_EXECUTABLE);
    st         = st ? st : add_text(f, VALUE_PACKAGE_ID_FILTER, FILTER_PACKAGE);
    st         = st ? st : add_text(f, VALUE_PACKAGE_APP_FILTER, FILTER_PACKAGE_APP);
    st         = st ? st : add_text(f, VALUE_CONTAINER_FILTER, FILTER_CONTAINER);
    st         = st ? st : filters_add_ids(f, VALUE_EVENT_IDS, VALUE_EVENT_ID_FILTER_IN, FILTER_EVENT_ID);
    st         = st ? st : filters_add_ids(f, VALUE_STACK_WALK_IDS, VALUE_STACK_WALK_FILTER_IN, FILTER_STACK_ID);
    f->stacks |= f->set.at[VALUE_STACK_WALK_IDS].present;
    st = st ? st : add_bytes(f, VALUE_PAYLOAD_FILTER, FILTER_PAYLOAD, FILTER_PAYLOAD_MAX);
    st = st ? st : add_bytes(f, VALUE_SCHEMATIZED_FILTERS, FILTER_SCHEMATIZED, FILTER_SCHEMATIZED_MAX);
    (void)type;
    return st;
}

static wstatus filters_take_part(struct filters *f, uint32_t type)
{
    f->stacks |= type != FILTER_EVENT_NAME;
    return type == FILTER_STACK_LEVEL_KEYWORD ? add_level_keyword(f) : filters_add_names(f, type);
}

static const struct {
    const char *name;
    uint32_t    type;
} filter_parts[] = {{"EventNameFilter", FILTER_EVENT_NAME},
                    {"StackNameFilter", FILTER_STACK_NAME},
                    {"StackLevelKwFilter", FILTER_STACK_LEVEL_KEYWORD}};

/* Other keys below Filters have no effect: the note tells the administrator. */
static wstatus filters_stranger(void *ctx, const struct regkey_info *info)
{
    struct filters *f    = ctx;
    const char     *name = info->name;
    for (size_t i = 0; i < sizeof filter_parts / sizeof *filter_parts; i++)
        if (strcasecmp(name, filter_parts[i].name) == 0)
            return W_SUCCESS;
    condition_add(&f->p->conditions, W_INVALID_PARAMETER, true, name, info->source_file, info->source_line,
                  "write EventNameFilter, StackNameFilter or StackLevelKwFilter",
                  "no filter of that name is read; it is kept and has no effect");
    return W_SUCCESS;
}

static wstatus keys_read(struct filters *f, const char *key)
{
    wstatus st = filters_key_read(f, key, IN_FILTERS, filters_take_values, 0);
    for (size_t i = 0; i < sizeof filter_parts / sizeof *filter_parts && !st; i++) {
        char *path;
        if (asprintf(&path, "%s\\%s", key, filter_parts[i].name) < 0)
            return W_OUTOFMEMORY;
        st = filters_key_read(f, path, IN_FILTER_PART, filters_take_part, filter_parts[i].type);
        free(path);
    }
    if (!st)
        regstore_enum_keys(f->store, key, filters_stranger, f);
    return st;
}

/* *on: the key exists and is enabled. A key that is not enabled gives a condition. */
static wstatus switched_on(struct filters *f, const char *key, bool *on)
{
    *on = false;
    if (!regstore_key_exists(f->store, key))
        return W_SUCCESS;
    wstatus st = value_read(f->store, key, f->wrong = VALUE_FILTER_ENABLED, &f->set, &f->p->conditions, &f->p->reason);
    const struct plan_value *v = &f->set.at[VALUE_FILTER_ENABLED];
    *on                        = !st && v->number && !f->p->tracepoint;
    if (st)
        filters_blame(f);
    else if (!*on)
        condition_add(
            &f->p->conditions, W_NOT_SUPPORTED, true, "Filters", v->source_file ? v->source_file : f->p->source_file,
            v->source_line ? v->source_line : f->p->source_line,
            f->p->tracepoint ? "use TracepointFilter" : "write Enabled = yes into Filters",
            f->p->tracepoint ? "filters are for programs; none is applied to tracepoints"
                             : "the filters are not enabled (Filters\\Enabled), so none is applied, as on Windows");
    value_set_finish(&f->set);
    return st;
}

wstatus reading_filters(struct regstore *store, struct plan_provider *p)
{
    struct filters f   = {.store = store, .p = p};
    char          *key = NULL;
    bool           on;

    if (asprintf(&key, "%s\\Filters", p->key) < 0)
        return reason_set(&p->reason, W_OUTOFMEMORY, "no memory for the provider");
    wstatus st = switched_on(&f, key, &on);
    if (!st && on)
        st = keys_read(&f, key);
    free(key);
    if (!st && !p->filter && p->enable_property & PROPERTY_OF_BLOCK && !p->tracepoint) {
        if (!(p->filter = calloc(1, sizeof *p->filter)))
            return reason_set(&p->reason, W_OUTOFMEMORY, "no memory for the provider");
        p->filter->size = sizeof *p->filter;
    }
    if (p->filter)
        p->filter->property = p->enable_property & PROPERTY_KNOWN;
    if (!st && f.stacks && !(p->enable_property & PROPERTY_STACK_TRACE))
        condition_add(&p->conditions, W_INVALID_PARAMETER, true, "EnableProperty", p->source_file, p->source_line,
                      "add STACK_TRACE to EnableProperty",
                      "filters of call stacks take stacks away, and no event gets one without STACK_TRACE");
    return st;
}
