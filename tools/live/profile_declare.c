/* profile_declare.c - see profile_declare.h. */
#include "tools/live/profile_declare.h"
#include "autologger/plan/plan.h"
#include "autologger/plan/values.h"
#include "autologger/wire/etl.h"
#include "registry-sim/text/winpath.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KB = 1024, KEY_MAX = CTL_PATH + GUID_TEXT_SIZE + 64 };

/* ---- the session ---- */

static wstatus put_binary(struct regstore *s, const char *key, const char *name, const void *data, uint32_t size,
                          struct reason *why)
{
    struct regvalue v = {.name = name, .type = REG_TYPE_BINARY, .data = data, .size = size};
    return regstore_set(s, key, &v, why);
}

static void put_le(uint8_t out[4], uint32_t value)
{
    for (unsigned b = 0; b < 4; b++)
        out[b] = (uint8_t)(value >> 8 * b);
}

static wstatus put_kernel(struct regstore *s, const char *key, const struct ctl_terms_answer *a, struct reason *why)
{
    const struct ctl_declaration *d = &a->session;
    uint8_t                       mask[32], hooks[sizeof d->hooks * 2], cache[8];
    bool                          used = false;
    for (unsigned i = 0; i < 8; i++) {
        put_le(mask + 4 * i, d->group_mask[i]);
        used |= d->group_mask[i] != 0;
    }
    for (unsigned i = 0; i < d->hook_count; i++)
        put_le(hooks + 4 * i, d->hooks[i]);
    put_le(cache, a->stack_cache_bytes / KB);
    put_le(cache + 4, a->stack_cache_buckets);
    wstatus st =
        used ? put_binary(s, key, value_rows[VALUE_ENABLE_KERNEL_FLAGS].name, mask, sizeof mask, why) : W_SUCCESS;
    if (!st && d->hook_count)
        st = put_binary(s, key, value_rows[VALUE_STACK_WALKING_FILTER].name, hooks, 4 * d->hook_count, why);
    if (!st && a->stack_cache_bytes)
        st = put_binary(s, key, value_rows[VALUE_STACK_CACHING].name, cache, sizeof cache, why);
    return st;
}

/* Copies the values that a running session does not show from its key. */
static wstatus put_stored(const struct declaring *v, const char *key, const struct ctl_terms_answer *a,
                          struct reason *why)
{
    static const enum value_id stored[] = {
        VALUE_FILE_MAX, VALUE_POOL_TAG_FILTER, VALUE_ENABLE_SECURITY_PROVIDER, VALUE_DISALLOW_LIST,
        VALUE_BOOT,     VALUE_OWNING_CHANNEL};
    wstatus st = W_SUCCESS;
    if (!v->from || !*a->session.key)
        return W_SUCCESS;
    for (size_t i = 0; i < sizeof stored / sizeof *stored && !st; i++) {
        struct regvalue value;
        if (regstore_get(v->from, a->session.key, value_rows[stored[i]].name, &value))
            continue;
        value.name = value_rows[stored[i]].name;
        st         = regstore_set(v->to, key, &value, why);
    }
    return st;
}

/* FlushThreshold is in the session's row, not in the terms. */
static wstatus profile_declare_put_session(const struct declaring *v, const char *key, const struct ctl_terms_answer *a,
                                           uint32_t flush_threshold, struct reason *why)
{
    const struct ctl_declaration *d = &a->session;
    const struct {
        enum value_id id;
        uint32_t      value;
        bool          always;
    } numbers[] = {
        {VALUE_START, 1, true},
        {VALUE_BUFFER_SIZE, d->buffer_kb, true},
        {VALUE_MINIMUM_BUFFERS, d->minimum_buffers, true},
        {VALUE_MAXIMUM_BUFFERS, d->maximum_buffers, true},
        {VALUE_MAX_FILE_SIZE, d->max_file_size, true},
        {VALUE_LOG_FILE_MODE, d->log_file_mode, false},
        {VALUE_DEVICE_EVENTS, d->devices, false},
        {VALUE_FLUSH_TIMER, d->flush_timer, false},
        {VALUE_FLUSH_THRESHOLD, flush_threshold, false},
        {VALUE_CLOCK_TYPE, d->clock_type, false},
        {VALUE_USER_STACKS, a->user_stack_bytes, false},
        {VALUE_DISABLE_REALTIME_PERSISTENCE, a->forget_realtime, false},
    };
    char    guid[GUID_TEXT_SIZE];
    wstatus st = regstore_create_key(v->to, key, NULL, 0, why);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && !st; i++)
        if (numbers[i].always || numbers[i].value)
            st = regstore_set_dword(v->to, key, value_rows[numbers[i].id].name, numbers[i].value, why);
    if (!st && d->file_name[0])
        st = regstore_set_string(v->to, key, value_rows[VALUE_FILE_NAME].name, d->file_name, why);
    if (!st && value_scope_of(key) == IN_AUTOLOGGER)
        st = regstore_set_string(v->to, key, value_rows[VALUE_GUID].name, guid_format(&d->guid, guid), why);
    st = st ? st : put_kernel(v->to, key, a, why);
    return st ? st : put_stored(v, key, a, why);
}

/* ---- filters ---- */

static wstatus profile_declare_put_text(struct regstore *to, const char *key, enum value_id id, const char *text,
                                        size_t size, struct reason *why)
{
    char   *copy = strndup(text, size);
    wstatus st   = copy ? regstore_set_string(to, key, value_rows[id].name, copy, why)
                        : reason_set(why, W_OUTOFMEMORY, "not enough memory");
    free(copy);
    return st;
}

static wstatus put_ids(struct regstore *to, const char *key, enum value_id in, enum value_id id, const void *data,
                       size_t size, struct reason *why)
{
    const struct filter_ids *ids = data;
    const size_t             at  = offsetof(struct filter_ids, id);
    wstatus                  st  = regstore_set_dword(to, key, value_rows[in].name, ids->filter_in, why);
    return st ? st : put_binary(to, key, value_rows[id].name, (const uint8_t *)data + at, (uint32_t)(size - at), why);
}

/* EVENT_FILTER_LEVEL_KW begins like EVENT_FILTER_EVENT_NAME; the latter has its names after that. */
static wstatus put_part(struct regstore *to, const char *filters, const char *below, const void *data, size_t size,
                        struct reason *why)
{
    struct filter_level_keyword terms;
    char                        key[KEY_MAX];
    memcpy(&terms, data, offsetof(struct filter_level_keyword, reserved));
    snprintf(key, sizeof key, "%s\\%s", filters, below);
    wstatus st = regstore_set_dword(to, key, value_rows[VALUE_NAME_FILTER_IN].name, terms.filter_in, why);
    if (!st && terms.any)
        st = regstore_set_qword(to, key, value_rows[VALUE_NAME_MATCH_ANY].name, terms.any, why);
    if (!st && terms.all)
        st = regstore_set_qword(to, key, value_rows[VALUE_NAME_MATCH_ALL].name, terms.all, why);
    if (!st && terms.level)
        st = regstore_set_dword(to, key, value_rows[VALUE_NAME_LEVEL].name, terms.level, why);
    if (st || !strcmp(below, "StackLevelKwFilter"))
        return st;
    const size_t at    = offsetof(struct filter_names, names);
    char        *names = malloc(size - at + 1);
    if (!names)
        return reason_set(why, W_OUTOFMEMORY, "not enough memory");
    memcpy(names, (const char *)data + at, size - at);
    names[size - at] = 0;
    for (size_t i = 0; i + 1 < size - at; i++) /* each name has its NUL; the value joins them */
        if (!names[i])
            names[i] = ';';
    st = regstore_set_string(to, key, value_rows[VALUE_NAMES].name, names, why);
    free(names);
    return st;
}

static wstatus put_filter_part(struct regstore *to, const char *key, uint32_t type, const void *data, uint32_t size,
                               struct reason *why)
{
    switch (type) {
    case FILTER_EXECUTABLE: return profile_declare_put_text(to, key, VALUE_EXE_FILTER, data, size, why);
    case FILTER_PACKAGE: return profile_declare_put_text(to, key, VALUE_PACKAGE_ID_FILTER, data, size, why);
    case FILTER_PACKAGE_APP: return profile_declare_put_text(to, key, VALUE_PACKAGE_APP_FILTER, data, size, why);
    case FILTER_CONTAINER: return profile_declare_put_text(to, key, VALUE_CONTAINER_FILTER, data, size, why);
    case FILTER_EVENT_ID: return put_ids(to, key, VALUE_EVENT_ID_FILTER_IN, VALUE_EVENT_IDS, data, size, why);
    case FILTER_STACK_ID: return put_ids(to, key, VALUE_STACK_WALK_FILTER_IN, VALUE_STACK_WALK_IDS, data, size, why);
    case FILTER_PAYLOAD: return put_binary(to, key, value_rows[VALUE_PAYLOAD_FILTER].name, data, size, why);
    case FILTER_SCHEMATIZED: return put_binary(to, key, value_rows[VALUE_SCHEMATIZED_FILTERS].name, data, size, why);
    case FILTER_EVENT_NAME: return put_part(to, key, "EventNameFilter", data, size, why);
    case FILTER_STACK_NAME: return put_part(to, key, "StackNameFilter", data, size, why);
    case FILTER_STACK_LEVEL_KEYWORD: return put_part(to, key, "StackLevelKwFilter", data, size, why);
    default: return reason_set(why, W_NOT_SUPPORTED, "a filter of type 0x%x has no value of a configuration", type);
    }
}

wstatus declaring_filter(struct regstore *to, const char *key, const struct filter_block *filter, bool *pids,
                         struct reason *why)
{
    const uint8_t *at = (const uint8_t *)(filter + 1);
    wstatus        st = filter_check(filter, filter->size, why);
    unsigned       n  = 0;
    *pids             = false;
    for (uint32_t i = 0; i < filter->parts && !st; i++) {
        struct filter_part part;
        memcpy(&part, at, sizeof part);
        *pids |= part.type == FILTER_PID;
        if (part.type != FILTER_PID && !n++)
            st = regstore_set_dword(to, key, value_rows[VALUE_FILTER_ENABLED].name, 1, why);
        if (part.type != FILTER_PID && !st)
            st = put_filter_part(to, key, part.type, at + sizeof part, part.size, why);
        at += sizeof part + (((size_t)part.size + 7) & ~(size_t)7);
    }
    return st;
}

/* ---- a provider ---- */

/* Its name: the one that the declaration or the controller gave it, else the one that a program registered. Malloc, or
 * NULL. */
static char *friendly_name(const struct declaring *v, const struct ctl_enabled_row *row)
{
    char *friendly = NULL;
    if (*row->key == '{' && strchr(row->key, ' '))
        return strdup(strchr(row->key, ' ') + 1);
    if (v->from)
        regstore_get_string_dup(v->from, row->key, value_rows[VALUE_PROVIDER_FRIENDLY_NAME].name, &friendly, NULL);
    if (friendly && *friendly)
        return friendly;
    free(friendly);
    return *row->name ? strdup(row->name) : NULL;
}

static wstatus put_terms(const struct declaring *v, const char *key, const struct ctl_terms_answer *a,
                         struct reason *why)
{
    const uint32_t property = a->property | (a->tracepoint_stacks ? PROPERTY_STACK_TRACE : 0u);
    wstatus        st       = regstore_set_dword(v->to, key, value_rows[VALUE_ENABLED].name, 1, why);
    if (!st && !*a->tracepoint)
        st = regstore_set_dword(v->to, key, value_rows[VALUE_ENABLE_LEVEL].name, a->row.level, why);
    if (!st && a->row.any)
        st = regstore_set_qword(v->to, key, value_rows[VALUE_MATCH_ANY_KEYWORD].name, a->row.any, why);
    if (!st && a->row.all)
        st = regstore_set_qword(v->to, key, value_rows[VALUE_MATCH_ALL_KEYWORD].name, a->row.all, why);
    if (!st && property)
        st = regstore_set_dword(v->to, key, value_rows[VALUE_ENABLE_PROPERTY].name, property, why);
    const struct {
        enum value_id id;
        const char   *text;
    } texts[] = {
        {VALUE_UNIT, a->units}, {VALUE_TRACEPOINT, a->tracepoint}, {VALUE_TRACEPOINT_FILTER, a->tracepoint_filter}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts && !st; i++)
        if (*texts[i].text)
            st = regstore_set_string(v->to, key, value_rows[texts[i].id].name, texts[i].text, why);
    return st;
}

static wstatus put_provider(struct declaring *v, const char *session, const struct ctl_terms_answer *a,
                            struct reason *why)
{
    char  key[KEY_MAX], filters[KEY_MAX + 16], guid[GUID_TEXT_SIZE], text[CTL_NAME + CTL_NAME + 128];
    char *name = friendly_name(v, &a->row);
    bool  pids = false;
    snprintf(key, sizeof key, "%s\\%s", session, guid_format(&a->row.guid, guid));
    snprintf(filters, sizeof filters, "%s\\Filters", key);
    wstatus st = put_terms(v, key, a, why);
    if (!st && name)
        st = regstore_set_string(v->to, key, value_rows[VALUE_PROVIDER_FRIENDLY_NAME].name, name, why);
    if (!st && a->filter_bytes)
        st = declaring_filter(v->to, filters, (const void *)(a + 1), &pids, why);
    if (!st && pids && v->left_out) {
        snprintf(text, sizeof text,
                 "session \"%s\", provider %s: the filter by process ids, which no configuration can have",
                 a->session.name, name ? name : guid);
        v->left_out(v->ctx, text);
    }
    free(name);
    v->providers += !st;
    return st;
}

/* The key of the session's declaration: its own; for a session that a controller started, the one from its Guid and
 * name. */
static void session_key(const struct ctl_terms_answer *a, char out[CTL_PATH])
{
    static const struct guid global_logger = {
        0xe8908abc, 0xaa84, 0x11d2, {0x9a, 0x93, 0x00, 0x80, 0x5f, 0x85, 0xd7, 0xc6}};
    if (*a->session.key)
        snprintf(out, CTL_PATH, "%s", a->session.key);
    else if (guid_equal(&a->session.guid, &global_logger))
        snprintf(out, CTL_PATH, "%s\\GlobalLogger", WINPATH_WMI);
    else
        snprintf(out, CTL_PATH, "%s\\Autologger\\%s", WINPATH_WMI, a->session.name);
}

/* False: a private session, or mode NEWFILE (a boot's sessions have one file for each boot instead). */
static bool of_a_boot(const struct declaring *v, const struct ctl_declaration *s)
{
    const bool private_one = s->log_file_mode & (ETL_MODE_PRIVATE | ETL_MODE_PRIVATE_IN_PROC);
    char       text[CTL_NAME + 128];
    if (!private_one && !(s->log_file_mode & ETL_MODE_NEWFILE))
        return true;
    snprintf(text, sizeof text, "session \"%s\": %s, which a boot cannot have", s->name,
             private_one ? "it is a private session" : "its mode is NEWFILE");
    if (v->left_out)
        v->left_out(v->ctx, text);
    return false;
}

wstatus declaring_session(struct declaring *v, struct control_client *c, const struct ctl_session_info *session,
                          struct reason *why)
{
    const char                    *name = session->name;
    const struct ctl_terms_answer *a;
    char                           key[CTL_PATH];
    wstatus                        st    = control_terms(c, name, 0, &a, why);
    uint32_t                       total = st ? 0 : a->total;
    if (st || !of_a_boot(v, &a->session))
        return st;
    session_key(a, key);
    st = profile_declare_put_session(v, key, a, session->flush_threshold, why);
    for (uint32_t i = 0; i < total && !st; i++) {
        st = control_terms(c, name, i, &a, why);
        if (!st && a->count)
            st = put_provider(v, key, a, why);
    }
    v->sessions += !st;
    return st;
}

wstatus declaring_all(struct declaring *v, struct control_client *c, struct reason *why)
{
    struct ctl_session_info *list  = NULL;
    unsigned                 count = 0;
    wstatus                  st    = control_query_all(c, &list, &count, why);
    for (unsigned i = 0; i < count && !st; i++) {
        st = declaring_session(v, c, &list[i], why);
        if (st == W_WMI_INSTANCE_NOT_FOUND)
            st = W_SUCCESS; /* it ended meanwhile */
    }
    free(list);
    if (!st && !v->sessions)
        st = reason_set(why, W_WMI_INSTANCE_NOT_FOUND,
                        "no session is running that a boot could have. Do: start one, see autologger sessions");
    return st;
}
