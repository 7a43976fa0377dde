#include "tools/sets/set_running.h"

#include "autologger/control/client.h"
#include "autologger/wire/etl.h"
#include "registry-sim/store/key_names.h"
#include "registry-sim/text/winpath.h"
#include "registry-sim/win32/utf16.h"
#include "tools/live/profile_declare.h"
#include "tools/sets/set_store.h"

#include <stdio.h>
#include <string.h>

enum { SET_RUNNING_KEY = 1024 };
/* The name of a set's session for the events of GlobalLogger or of the kernel's logger. */
#define SET_KERNEL "kernel"
#define KERNEL_LOGGER "NT Kernel Logger"

struct set_running_copy {
    struct regstore *to;
    const char      *as;
    struct reason   *why;
};

/* A value, unless a run sets it itself or a set cannot have it. */
static wstatus set_running_value(void *ctx, const struct regvalue *value)
{
    static const enum value_id     own[] = {VALUE_FILE_NAME, VALUE_FILE_MAX, VALUE_BOOT};
    const struct set_running_copy *c     = ctx;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (name_compare(value->name, value_rows[own[i]].name) == 0)
            return W_SUCCESS;
    return regstore_set(c->to, c->as, value, c->why);
}

/* A session of a boot as one of a set: its values, and all below it. */
static wstatus set_running_put(struct regstore *from, const char *key, struct regstore *to, const char *as,
                               struct reason *why)
{
    struct set_running_copy copy  = {to, as, why};
    struct key_names        names = {0};
    struct regvalue         flags;
    uint32_t                mode = 0;
    wstatus                 st   = regstore_create_key(to, as, NULL, 0, why);
    st                           = st ? st : regstore_enum_values(from, key, set_running_value, &copy);
    st                           = st ? st : key_names_load(from, key, &names);
    for (unsigned i = 0; i < names.count && !st; i++) {
        char below[SET_RUNNING_KEY], as_below[SET_RUNNING_KEY];
        snprintf(below, sizeof below, "%s\\%s", key, names.names[i]);
        snprintf(as_below, sizeof as_below, "%s\\%s", as, names.names[i]);
        st = collector_set_copy(from, below, to, as_below, why);
    }
    key_names_finish(&names);
    regstore_get_dword(to, as, value_rows[VALUE_LOG_FILE_MODE].name, &mode, NULL);
    if (!st && !regstore_get(to, as, value_rows[VALUE_ENABLE_KERNEL_FLAGS].name, &flags))
        st = regstore_set_dword(to, as, value_rows[VALUE_LOG_FILE_MODE].name, mode | ETL_MODE_SYSTEM_LOGGER, why);
    return st;
}

/* A ring in memory has no file. */
static bool set_running_fits(struct regstore *from, const char *key, const char *name,
                             void (*left_out)(void *ctx, const char *what))
{
    char     what[300];
    uint32_t mode = 0;
    regstore_get_dword(from, key, value_rows[VALUE_LOG_FILE_MODE].name, &mode, NULL);
    if (!(mode & ETL_MODE_BUFFERING))
        return true;
    snprintf(what, sizeof what, "session \"%.200s\": its mode is BUFFERING, which a set cannot have", name);
    left_out(NULL, what);
    return false;
}

static wstatus set_running_session(struct regstore *from, const char *key, struct regstore *to, const char *set,
                                   const char *name, void (*left_out)(void *ctx, const char *what), unsigned *taken,
                                   struct reason *why)
{
    char as[SET_RUNNING_KEY];
    if (!set_running_fits(from, key, name, left_out))
        return W_SUCCESS;
    const bool kernel = name_compare(name, KERNEL_LOGGER) == 0;
    snprintf(as, sizeof as, "%s\\%s\\%s", SETS_KEY, set, kernel ? SET_KERNEL : name);
    ++*taken;
    return set_running_put(from, key, to, as, why);
}

/* The declarations of a boot become the sessions of the set. */
static wstatus set_running_copy(struct regstore *from, const char *set, struct regstore *to,
                                void (*left_out)(void *ctx, const char *what), struct reason *why)
{
    const char      *global = WINPATH_WMI "\\GlobalLogger", *others = WINPATH_WMI "\\Autologger";
    struct key_names names = {0};
    unsigned         taken = 0;
    wstatus          st    = W_SUCCESS;

    if (regstore_key_exists(from, global))
        st = set_running_session(from, global, to, set, SET_KERNEL, left_out, &taken, why);
    if (!st && regstore_key_exists(from, others))
        st = key_names_load(from, others, &names);
    for (unsigned i = 0; i < names.count && !st; i++) {
        char key[SET_RUNNING_KEY];
        snprintf(key, sizeof key, "%s\\%s", others, names.names[i]);
        st = set_running_session(from, key, to, set, names.names[i], left_out, &taken, why);
    }
    key_names_finish(&names);
    if (!st && !taken)
        st = reason_set(why, W_WMI_INSTANCE_NOT_FOUND,
                        "no session is running that a set could have. Do: start one, see autologger sessions");
    return st;
}

wstatus set_running_take(const char *runtime_dir, const char *name, struct regstore *to,
                         void (*left_out)(void *ctx, const char *what), struct reason *why)
{
    struct control_client  *client = NULL;
    struct ctl_state_answer state;
    struct declaring        v  = {.left_out = left_out};
    wstatus                 st = control_open(runtime_dir, &client, why);

    if (st)
        return st;
    if (!control_state(client, &state, NULL) && regstore_open(state.store, false, &v.from, NULL))
        v.from = NULL;
    st = regstore_open_memory(&v.to, why);
    st = st ? st : declaring_all(&v, client, why);
    st = st ? st : set_running_copy(v.to, name, to, left_out, why);
    regstore_close(v.to);
    regstore_close(v.from);
    control_close(client);
    return st;
}
