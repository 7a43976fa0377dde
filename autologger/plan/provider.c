#include "autologger/plan/filters.h"
#include "autologger/plan/reading.h"
#include "autologger/wire/private_providers.h"
#include "autologger/wire/tracepoint.h"

#include "registry-sim/win32/visible.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void plan_provider_finish(struct plan_provider *p)
{
    free(p->name);
    free(p->key);
    free(p->source_file);
    free(p->tracepoint);
    free(p->tracepoint_filter);
    free(p->units);
    free(p->filter);
    condition_list_finish(&p->conditions);
    memset(p, 0, sizeof *p);
}

/* Tracepoints support STACK_TRACE alone; unsupported bits give conditions. */
static void report_properties(struct plan_provider *p, const struct plan_value *v)
{
    size_t                  count;
    const struct value_bit *bits    = property_bits(&count);
    uint32_t                unknown = p->enable_property;

    for (size_t i = 0; i < count; i++) {
        unknown &= ~bits[i].bit;
        if (bits[i].bit & (p->tracepoint ? PROPERTY_STACK_TRACE : PROPERTY_KNOWN))
            continue;
        if (p->enable_property & bits[i].bit)
            condition_add(&p->conditions, W_NOT_SUPPORTED, false, bits[i].name, v->source_file, v->source_line,
                          "remove the bit: it has no effect here",
                          "EnableProperty %s is accepted and kept, this version does not act on it", bits[i].name);
    }
    if (unknown)
        condition_add(&p->conditions, W_NOT_SUPPORTED, false, "EnableProperty", v->source_file, v->source_line,
                      "remove the bits", "the bits 0x%x have no known meaning; they are kept", unknown);
}

static void provider_take_values(struct plan_provider *p, const struct value_set *set)
{
    const struct plan_value *level = &set->at[VALUE_ENABLE_LEVEL], *flags = &set->at[VALUE_ENABLE_FLAGS];

    p->level           = (uint8_t)level->number;
    p->match_any_value = set->at[VALUE_MATCH_ANY_KEYWORD].number;
    p->match_all       = set->at[VALUE_MATCH_ALL_KEYWORD].number;
    p->enable_flags    = (uint32_t)flags->number;
    p->enable_property = (uint32_t)set->at[VALUE_ENABLE_PROPERTY].number;
    p->match_any       = p->match_any_value ? p->match_any_value : p->enable_flags;
    if (level->number > UINT8_MAX)
        condition_add(&p->conditions, W_INVALID_PARAMETER, true, "EnableLevel", level->source_file, level->source_line,
                      "use a level of at most 255", "only 8 bits of EnableLevel 0x%llx count: level %u is used",
                      (unsigned long long)level->number, p->level);
    if (p->enable_flags && p->match_any_value)
        condition_add(&p->conditions, W_INVALID_PARAMETER, true, "EnableFlags", flags->source_file, flags->source_line,
                      "remove one of the two", "EnableFlags has no effect beside a MatchAnyKeyword");
    if (p->match_all && !p->match_any)
        condition_add(&p->conditions, W_INVALID_PARAMETER, true, "MatchAllKeyword",
                      set->at[VALUE_MATCH_ALL_KEYWORD].source_file, set->at[VALUE_MATCH_ALL_KEYWORD].source_line,
                      "set MatchAnyKeyword too", "MatchAllKeyword has no effect while MatchAnyKeyword is 0");
    p->tracepoint_stacks = p->tracepoint && p->enable_property & PROPERTY_STACK_TRACE;
    report_properties(p, &set->at[VALUE_ENABLE_PROPERTY]);
    if (p->tracepoint && (p->level || p->match_any))
        condition_add(&p->conditions, W_INVALID_PARAMETER, true, "EnableLevel", level->source_file, level->source_line,
                      "remove EnableLevel and the keywords; use TracepointFilter",
                      "tracepoints have no level and no keywords: all of their events are taken");
}

/* Patterns and filter go into the session's state: a truncated text would mean something else. */
static wstatus take_tracepoint(struct plan_provider *p, const struct value_set *set, enum value_id *failed)
{
    static const enum value_id ids[] = {VALUE_TRACEPOINT, VALUE_TRACEPOINT_FILTER};
    char                     **out[] = {&p->tracepoint, &p->tracepoint_filter};
    for (int i = 0; i < 2; i++) {
        const struct plan_value *v = &set->at[ids[i]];
        if (!v->present || !v->text)
            continue;
        *failed = ids[i];
        if (strlen(v->text) >= TRACEPOINT_TEXT)
            return reason_set(&p->reason, W_INVALID_PARAMETER, "%s has %zu bytes, more than %d",
                              value_rows[ids[i]].name, strlen(v->text), TRACEPOINT_TEXT - 1);
        if (!(*out[i] = strdup(v->text)))
            return reason_set(&p->reason, W_OUTOFMEMORY, "no memory for the provider");
    }
    if (p->tracepoint && !strchr(p->tracepoint, ':')) {
        *failed = VALUE_TRACEPOINT;
        return reason_set(&p->reason, W_INVALID_PARAMETER,
                          "Tracepoint '%s' has no ':': it is group:name, as in sched:sched_switch or block:*",
                          p->tracepoint);
    }
    if (p->tracepoint_filter && !p->tracepoint) {
        *failed = VALUE_TRACEPOINT_FILTER;
        return reason_set(&p->reason, W_INVALID_PARAMETER, "TracepointFilter is for a provider with a Tracepoint");
    }
    return W_SUCCESS;
}

/* An enablement keeps PLAN_UNITS bytes; a truncated list would name other units. */
static wstatus take_units(struct regstore *store, struct plan_provider *p)
{
    struct reason ignored;
    regstore_get_string_dup(store, p->key, value_rows[VALUE_UNIT].name, &p->units, &ignored);
    if (!p->units || strlen(p->units) < PLAN_UNITS)
        return W_SUCCESS;
    return reason_set(&p->reason, W_INVALID_PARAMETER,
                      "Unit has %zu bytes, more than %d. Do: use globs, or several providers", strlen(p->units),
                      PLAN_UNITS - 1);
}

/* Makes the place of the wrong value the place of the provider's row. */
static void provider_blame(struct plan_provider *p, const struct plan_value *v)
{
    char *file = v->source_file ? strdup(v->source_file) : NULL;

    if (file) {
        free(p->source_file);
        p->source_file = file;
        p->source_line = v->source_line;
    }
}

/* Status 0 or the provider's own Status; only W_OUTOFMEMORY is the session's. */
static wstatus read_values(struct regstore *store, struct plan_provider *p)
{
    struct value_set set    = {0};
    enum value_id    failed = VALUE_ENABLED;
    struct reason    ignored;
    wstatus          st;

    regstore_get_string_dup(store, p->key, value_rows[VALUE_PROVIDER_FRIENDLY_NAME].name, &p->name, &ignored);
    if (p->name && !visible_is(p->name))
        return p->status = reason_set(
                   &p->reason, W_INVALID_PARAMETER,
                   "%s has a control character, or one that turns the direction of text: %.128s. Do: choose another name",
                   value_rows[VALUE_PROVIDER_FRIENDLY_NAME].name, p->name);
    st =
        value_read(store, p->key, VALUE_ENABLED, &set, &p->conditions, &p->reason); /* first: 0 means no more is read */
    p->enabled = st == W_SUCCESS && set.at[VALUE_ENABLED].number != 0;
    if (st == W_SUCCESS && p->enabled)
        st = value_set_read(store, p->key, IN_PROVIDER, &set, &p->conditions, &failed, &p->reason);
    if (st == W_SUCCESS && p->enabled && (st = take_units(store, p)))
        failed = VALUE_UNIT;
    if (st == W_SUCCESS && p->enabled)
        st = take_tracepoint(p, &set, &failed);
    if (st == W_SUCCESS && p->enabled) {
        provider_take_values(p, &set);
        st     = reading_filters(store, p);
        failed = VALUE_ENABLED;
    }
    if (st != W_SUCCESS) {
        if (failed != VALUE_ENABLED || !p->enabled) /* filters set their own place */
            provider_blame(p, &set.at[failed]);
        p->enabled = false;
    }
    value_report_strangers(store, p->key, IN_PROVIDER, &p->conditions);
    value_set_finish(&set);
    return p->status = st;
}

struct provider_found {
    struct plan_reading *r;
    unsigned             dropped;
};

/* Takes only names and places: the store may not be read while it enumerates. */
static wstatus found_key(void *ctx, const struct regkey_info *info)
{
    struct provider_found *f = ctx;
    struct plan           *p = f->r->plan;
    struct plan_provider  *provider;

    if (p->provider_count == PLAN_MAX_PROVIDERS) {
        f->dropped++;
        return W_SUCCESS;
    }
    provider  = &p->providers[p->provider_count++];
    *provider = (struct plan_provider){.source_line = info->source_line};
    if (asprintf(&provider->key, "%s\\%s", p->key, info->name) < 0) {
        provider->key = NULL;
        return W_OUTOFMEMORY;
    }
    if (info->source_file && !(provider->source_file = strdup(info->source_file)))
        return W_OUTOFMEMORY;
    return W_SUCCESS;
}

static wstatus find_keys(struct plan_reading *r)
{
    struct provider_found f = {.r = r};
    struct plan          *p = r->plan;

    p->providers = calloc(PLAN_MAX_PROVIDERS, sizeof *p->providers);
    if (!p->providers)
        return reason_set(r->why, W_OUTOFMEMORY, "no memory for the providers");
    wstatus st = regstore_enum_keys(r->store, r->key, found_key, &f);
    if (st != W_SUCCESS)
        return reason_set(r->why, st, "the providers of %s can't be read", p->name);
    if (f.dropped)
        condition_add(&p->conditions, W_NO_SYSTEM_RESOURCES, false, "providers", p->source_file, p->source_line,
                      "spread the providers over several sessions",
                      "a session has at most %d providers; %u more are left out", PLAN_MAX_PROVIDERS, f.dropped);
    return W_SUCCESS;
}

/* GlobalLogger enables no provider: a WPP provider reads its subkey itself. */
static void report_wpp(struct plan *p)
{
    for (unsigned i = 0; i < p->provider_count; i++) {
        struct plan_provider *w = &p->providers[i];
        condition_add(&p->conditions, W_NOT_SUPPORTED, true, strrchr(w->key, '\\') + 1, w->source_file, w->source_line,
                      "declare the provider in an Autologger session",
                      "GlobalLogger does not enable providers; the subkey is for a provider that reads it by itself");
        plan_provider_finish(w);
    }
    p->provider_count = 0;
}

static void tracepoints_limit(struct plan *p, struct plan_provider *provider, unsigned *count)
{
    if (!provider->enabled || provider->status || !provider->tracepoint)
        return;
    if (++*count <= TRACEPOINT_WISHES) {
        p->tracepoints = true;
        return;
    }
    provider->enabled = false;
    provider->status  = reason_set(&provider->reason, W_NO_SYSTEM_RESOURCES,
                                   "a session has at most %d providers of tracepoints", TRACEPOINT_WISHES);
}

wstatus reading_providers(struct plan_reading *r)
{
    struct plan *p           = r->plan;
    unsigned     tracepoints = 0;
    wstatus      st          = find_keys(r);

    if (st != W_SUCCESS)
        return st;
    if (p->global_logger) {
        report_wpp(p);
        return W_SUCCESS;
    }
    for (unsigned i = 0; i < p->provider_count; i++) {
        struct plan_provider *provider = &p->providers[i];
        const char           *name     = strrchr(provider->key, '\\') + 1;
        if (!guid_parse_braced(name, &provider->guid))
            provider->status =
                reason_set(&provider->reason, W_INVALID_PARAMETER, "the key '%s' is not a GUID in braces", name);
        else if (!(provider->status = private_provider_refuse(&provider->guid, &provider->reason)))
            read_values(r->store, provider);
        tracepoints_limit(p, provider, &tracepoints);
    }
    return W_SUCCESS;
}
