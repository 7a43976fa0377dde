#include "autologger/plan/check.h"

#include "autologger/plan/boot_settings.h"
#include "autologger/plan/values.h"
#include "registry-sim/text/winpath.h"
#include "registry-sim/win32/utf16.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GLOBAL_LOGGER_KEY WINPATH_WMI "\\GlobalLogger"
#define AUTOLOGGER_KEY WINPATH_WMI "\\Autologger"

struct started {
    char       *name, *log_path; /* log_path: NULL: none */
    struct guid guid;
};
struct check_walk {
    struct regstore   *store;
    struct plan_limits limits;
    check_fn           fn;
    void              *ctx;
    struct started    *started;
    unsigned           started_count;
    char             **keys; /* session keys in name order */
    unsigned           key_count;
};

static wstatus add_key(void *ctx, const struct regkey_info *info)
{
    struct check_walk *w    = ctx;
    char             **keys = realloc(w->keys, (w->key_count + 1) * sizeof *keys);

    if (!keys)
        return W_OUTOFMEMORY;
    w->keys = keys;
    if (asprintf(&w->keys[w->key_count], "%s\\%s", AUTOLOGGER_KEY, info->name) < 0)
        return W_OUTOFMEMORY;
    w->key_count++;
    return W_SUCCESS;
}

/* W_ALREADY_EXISTS: an earlier started session has the name or the GUID. W_SHARING_VIOLATION: one has the file. */
static wstatus check_unique(const struct check_walk *w, const struct plan *p, struct reason *why)
{
    char guid[GUID_TEXT_SIZE];

    for (unsigned i = 0; i < w->started_count; i++) {
        if (name_compare(w->started[i].name, p->name) == 0)
            return reason_set(why, W_ALREADY_EXISTS, "a session named '%s' is started before this one", p->name);
        if (guid_equal(&w->started[i].guid, &p->guid))
            return reason_set(why, W_ALREADY_EXISTS, "the session '%s', started before this one, has the same Guid %s",
                              w->started[i].name, guid_format(&p->guid, guid));
        if (p->log_path && w->started[i].log_path && strcmp(p->log_path, w->started[i].log_path) == 0)
            return reason_set(why, W_SHARING_VIOLATION,
                              "the session '%s', started before this one, writes %s. Do: set another FileName",
                              w->started[i].name, p->log_path);
    }
    return W_SUCCESS;
}

static wstatus check_remember(struct check_walk *w, const struct plan *p)
{
    struct started *started = realloc(w->started, (w->started_count + 1) * sizeof *started);

    if (!started)
        return W_OUTOFMEMORY;
    w->started = started;
    char *name = strdup(p->name), *path = p->log_path ? strdup(p->log_path) : NULL;
    if (!name || (p->log_path && !path)) {
        free(name);
        free(path);
        return W_OUTOFMEMORY;
    }
    w->started[w->started_count++] = (struct started){name, path, p->guid};
    w->limits.memory_left -= p->memory_bytes;
    return W_SUCCESS;
}

static void show_providers(const struct check_walk *w, const struct plan *p)
{
    for (unsigned i = 0; i < p->provider_count; i++) {
        const struct plan_provider *provider = &p->providers[i];
        const char                 *name     = provider->name ? provider->name : strrchr(provider->key, '\\') + 1;
        struct check_row            row      = {.kind        = CHECK_PROVIDER,
                                                .plan        = p,
                                                .provider    = provider,
                                                .name        = name,
                                                .key         = provider->key,
                                                .start       = provider->enabled,
                                                .status      = provider->status,
                                                .conditions  = &provider->conditions,
                                                .reason      = provider->status ? provider->reason.text : "",
                                                .source_file = provider->source_file ? provider->source_file : "",
                                                .source_line = provider->source_line};
        w->fn(w->ctx, &row);
    }
}

/* `next`: the index of the first key after this session's. */
static wstatus check_session(struct check_walk *w, const char *key, unsigned next)
{
    struct plan        plan;
    struct reason      why    = {0};
    struct plan_limits limits = w->limits;
    wstatus            out    = W_SUCCESS;

    limits.memory_left = plan_memory_share(w->store, w->keys ? w->keys + next : NULL, w->key_count - next,
                                           limits.processors, limits.memory_left);
    wstatus st         = plan_from_key(w->store, key, &limits, &plan, &why);

    if (st == W_SUCCESS && plan.start && (st = check_unique(w, &plan, &why)) == W_SUCCESS)
        out = check_remember(w, &plan);
    struct check_row row = {.kind        = CHECK_SESSION,
                            .plan        = &plan,
                            .name        = plan.name ? plan.name : strrchr(key, '\\') + 1,
                            .key         = key,
                            .start       = plan.start,
                            .status      = st,
                            .reason      = st ? why.text : "",
                            .conditions  = &plan.conditions,
                            .source_file = plan.source_file ? plan.source_file : "",
                            .source_line = plan.source_line};
    w->fn(w->ctx, &row);
    show_providers(w, &plan);
    plan_finish(&plan);
    return out;
}

static void check_boot(struct check_walk *w)
{
    struct boot_settings settings;
    struct reason        why = {0};
    struct regkey_info   info;
    char                 file[256] = "";
    uint32_t             line      = 0;

    if (regstore_key_info(w->store, AUTOLOGGER_KEY, &info) == W_SUCCESS && info.source_file) {
        snprintf(file, sizeof file, "%s", info.source_file);
        line = info.source_line;
    }
    wstatus st = boot_settings_read(w->store, &settings, &why);
    if (!st) /* the caller's limit is the default share of memory */
        w->limits.memory_left +=
            w->limits.ram_bytes * settings.memory_percent / 100 - plan_memory_ceiling(w->limits.ram_bytes);
    if (st != W_SUCCESS || settings.conditions.count) {
        struct check_row row = {.kind        = CHECK_BOOT,
                                .name        = "Boot",
                                .key         = AUTOLOGGER_KEY,
                                .start       = true,
                                .status      = st,
                                .reason      = st ? why.text : "",
                                .conditions  = &settings.conditions,
                                .source_file = file,
                                .source_line = line};
        w->fn(w->ctx, &row);
    }
    boot_settings_finish(&settings);
}

wstatus plan_check(struct regstore *store, const struct plan_limits *limits, check_fn fn, void *ctx, struct reason *why)
{
    struct check_walk w  = {.store = store, .limits = *limits, .fn = fn, .ctx = ctx};
    wstatus           st = regstore_enum_keys(store, AUTOLOGGER_KEY, add_key, &w);

    if (st == W_FILE_NOT_FOUND)
        st = W_SUCCESS; /* no Autologger is declared */
    if (st == W_SUCCESS) {
        check_boot(&w);
        if (regstore_key_exists(store, GLOBAL_LOGGER_KEY))
            st = check_session(&w, GLOBAL_LOGGER_KEY, 0);
    }
    for (unsigned i = 0; i < w.key_count && st == W_SUCCESS; i++)
        st = check_session(&w, w.keys[i], i + 1);
    for (unsigned i = 0; i < w.key_count; i++)
        free(w.keys[i]);
    for (unsigned i = 0; i < w.started_count; i++) {
        free(w.started[i].name);
        free(w.started[i].log_path);
    }
    free(w.keys);
    free(w.started);
    return st ? reason_set(why, st, "the declared sessions can't be read from the store") : W_SUCCESS;
}
