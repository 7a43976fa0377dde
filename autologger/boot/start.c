#include "autologger/boot/start.h"

#include "autologger/plan/boot_settings.h"
#include "registry-sim/text/winpath.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GLOBAL_LOGGER WINPATH_WMI "\\GlobalLogger"
#define AUTOLOGGERS WINPATH_WMI "\\Autologger"

struct keys {
    char     key[sizeof AUTOLOGGERS + STATE_NAME + 1]; /* the last one */
    unsigned count;
    bool     too_long;
};

static wstatus key_seen(void *ctx, const struct regkey_info *info)
{
    struct keys *k = ctx;
    k->too_long |= snprintf(k->key, sizeof k->key, "%s\\%s", AUTOLOGGERS, info->name) >= (int)sizeof k->key;
    k->count++;
    return W_SUCCESS;
}

static wstatus start_key_find(struct regstore *store, struct keys *k, struct reason *why)
{
    if (regstore_key_exists(store, AUTOLOGGERS))
        regstore_enum_keys(store, AUTOLOGGERS, key_seen, k);
    if (regstore_key_exists(store, GLOBAL_LOGGER)) {
        snprintf(k->key, sizeof k->key, "%s", GLOBAL_LOGGER);
        k->count++;
    }
    if (k->count != 1)
        return reason_set(why, W_INVALID_PARAMETER, "%u sessions are declared. Do: declare one at a time", k->count);
    return k->too_long
               ? reason_set(why, W_FILENAME_EXCED_RANGE, "the session's name has more than %d bytes", STATE_NAME - 1)
               : W_SUCCESS;
}

/* Checked before planning, so that a repeated request for a taken name costs others little. The key has the session's
 * name, unless its Guid means another. */
static wstatus name_is_free(struct session_table *table, struct regstore *store, const char *key, struct reason *why)
{
    const char           *slash = strncmp(key, AUTOLOGGERS, sizeof AUTOLOGGERS - 1) == 0 ? strrchr(key, '\\') : NULL;
    const struct session *s     = slash ? table_find(table, slash + 1) : NULL;
    char                 *guid  = NULL;
    if (!s)
        return W_SUCCESS;
    const bool other = regstore_get_string_dup(store, key, "Guid", &guid, NULL) == W_SUCCESS && plan_guid_names(guid);
    free(guid);
    return other ? W_SUCCESS : table_name_taken(s, why);
}

static void all_of(struct condition_list *out, const struct condition_list *in)
{
    for (unsigned i = 0; i < in->count; i++) {
        const struct condition *c = &in->items[i];
        condition_add(out, c->number, c->note, c->item, c->source_file, c->source_line, c->advice, "%s", c->reason);
    }
}

static const char *start_shown(const struct plan_provider *p, char guid[GUID_TEXT_SIZE])
{
    return p->name ? p->name : guid_format(&p->guid, guid);
}

/* The provider is in no store, so it has no path: its key is its GUID and the controller's name for it. A name that
 * does not fit is left out. */
static void provider_key(const struct plan_provider *p, char out[STATE_KEY])
{
    char guid[GUID_TEXT_SIZE];
    guid_format(&p->guid, guid);
    if (!p->name || snprintf(out, STATE_KEY, "%s %s", guid, p->name) >= STATE_KEY)
        snprintf(out, STATE_KEY, "%s", guid);
}

static void provider_start(struct session *s, const struct plan_provider *p, struct condition_list *found)
{
    const struct enable_terms terms = {.level  = p->level,
                                       .any    = p->match_any,
                                       .all    = p->match_all,
                                       .flags  = directory_flags(p->enable_property),
                                       .units  = p->units,
                                       .filter = p->filter};
    char                      key[STATE_KEY], guid[GUID_TEXT_SIZE];
    unsigned                  slot, entry;
    struct reason             why = p->reason;
    wstatus                   st  = p->status;

    all_of(found, &p->conditions);
    provider_key(p, key);
    if (!st && p->enabled)
        st = session_enable(s, &p->guid, key, &terms, &slot, &entry, &why);
    if (st)
        condition_add(found, st, false, start_shown(p, guid), p->source_file ? p->source_file : "", p->source_line,
                      wstatus_advice(st), "the provider is not enabled: %s", why.text);
}

/* Opens the kernel sources on this thread, although programs wait meanwhile, for a controller waits for the answer. A
 * boot opens them on a thread of its own. */
static wstatus kernel_start(struct session *s, struct reason *why)
{
    struct condition_list found  = {0};
    struct klog          *klog   = NULL;
    struct reason         opened = {0};

    if (!session_wants_kernel(s) || s->klog)
        return session_start(s, why);
    wstatus st = session_kernel_open(s, &klog, &found, &opened);
    if (st && s->state->kernel) {
        condition_list_finish(&found);
        *why = opened;
        return st;
    }
    *why = opened;
    return session_kernel_start(s, klog, &found, why);
}

static wstatus start_run(struct session_table *table, const struct plan *plan, bool fs_ready, struct session **out,
                         struct condition_list *found, struct reason *why)
{
    struct session *s  = NULL;
    wstatus         st = table_add(table, plan, &s, why);
    if (st)
        return st;
    for (unsigned i = 0; i < plan->provider_count; i++)
        provider_start(s, &plan->providers[i], found);
    if (fs_ready)
        session_fs_ready(s);
    st = kernel_start(s, why);
    all_of(found, &s->conditions);
    if (st)
        table_remove(table, s);
    else
        *out = s;
    return st;
}

wstatus boot_start_one(struct session_table *table, const char *log_dir, struct regstore *store, bool fs_ready,
                       struct session **out, struct condition_list *found, struct reason *why)
{
    struct session_env *env    = table->env;
    struct plan_limits  limits = {
         .processors = env->cpus, .ram_bytes = env->os->ram_bytes(env->os), .log_dir = log_dir, .now = true};
    struct keys keys = {.count = 0};
    struct plan plan;
    wstatus     st = start_key_find(store, &keys, why);

    if (st)
        return st;
    if ((st = name_is_free(table, store, keys.key, why)))
        return st;
    limits.memory_left = table->ceiling > table->memory_used ? table->ceiling - table->memory_used : 0;
    st                 = plan_from_key(store, keys.key, &limits, &plan, why);
    if (!st && !plan.start)
        st = reason_set(why, W_INVALID_PARAMETER, "Start is not 1 for the session at %s", keys.key);
    all_of(found, &plan.conditions);
    char *const list[] = {keys.key};
    plan.units         = !st && plan_units_wanted(store, list, 1);
    if (!st && plan.key)
        *plan.key = 0; /* it is in no store: a boot's end does not stop it, and its Status is its controller's */
    st = st ? st : start_run(table, &plan, fs_ready, out, found, why);
    plan_finish(&plan);
    return st;
}
