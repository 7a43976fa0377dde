#include "autologger/plan/boot_settings.h"

#include "autologger/plan/amounts.h"
#include "autologger/plan/values.h"
#include "registry-sim/text/winpath.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define BOOT_DONE "boot-done"
enum { STOP_AFTER_DEFAULT_MS = 10000 };

wstatus boot_stop_after_parse(const char *text, bool *stops, bool *after_boot_done, uint64_t *milliseconds,
                              struct reason *why)
{
    const char *p = text;

    *milliseconds    = 0;
    *after_boot_done = false;
    *stops           = strcasecmp(text, "never") != 0;
    if (!*stops)
        return W_SUCCESS;
    *after_boot_done = strncasecmp(p, BOOT_DONE, strlen(BOOT_DONE)) == 0;
    if (*after_boot_done) {
        p += strlen(BOOT_DONE);
        p += strspn(p, " \t");
        if (!*p)
            return W_SUCCESS;
        if (*p++ != '+')
            return reason_set(why, W_INVALID_PARAMETER, "'%.64s' is not of the form boot-done + TIME", text);
        p += strspn(p, " \t");
    }
    return amount_parse_time(p, "s", milliseconds, why);
}

wstatus boot_keep_parse(const char *text, uint64_t *boots, uint64_t *bytes, struct reason *why)
{
    *boots = *bytes = 0;
    for (const char *p = text + strspn(text, " \t"); *p;) {
        char     part[64];
        uint64_t number;
        size_t   n = strcspn(p, ",");
        if (n >= sizeof part)
            return reason_set(why, W_INVALID_PARAMETER, "'%.64s' is not of the form 10 boots, 2 GB", text);
        memcpy(part, p, n);
        while (n > 0 && isspace((unsigned char)part[n - 1]))
            n--;
        part[n]          = '\0';
        const char *rest = part;
        bool counted     = amount_number(&rest, &number) && (!strcasecmp(rest, "boots") || !strcasecmp(rest, "boot"));
        if (counted)
            *boots = number;
        else if (amount_parse_size(part, "", bytes, NULL) != W_SUCCESS)
            return reason_set(why, W_INVALID_PARAMETER,
                              "'%.64s' is neither a number of boots nor a size, as in 10 boots, 2 GB", part);
        p += strcspn(p, ",");
        p += strspn(p, ", \t");
    }
    return W_SUCCESS;
}

/* A text that is wrong leaves its default. */
static wstatus boot_values_take(const struct value_set *set, struct boot_settings *out, struct reason *why)
{
    const struct plan_value *stop = &set->at[VALUE_STOP_AFTER], *keep = &set->at[VALUE_KEEP];
    bool                     stops, after;
    uint64_t                 ms;
    wstatus                  st = W_SUCCESS;

    out->once         = set->at[VALUE_ONCE].number != 0;
    out->kernel_phase = set->at[VALUE_KERNEL_PHASE].number != 0;
    out->max_wait_ms  = set->at[VALUE_MAX_WAIT].number * 1000;
    if (stop->present && (st = boot_stop_after_parse(stop->text, &stops, &after, &ms, why)) == W_SUCCESS) {
        out->stops           = stops;
        out->after_boot_done = after;
        out->stop_after_ms   = ms;
    }
    if (st == W_SUCCESS && keep->present)
        st = boot_keep_parse(keep->text, &out->keep_boots, &out->keep_bytes, why);
    return st;
}

wstatus boot_settings_read(struct regstore *store, struct boot_settings *out, struct reason *why)
{
    struct value_set set    = {0};
    enum value_id    failed = VALUE_ONCE;
    wstatus          st;

    memset(out, 0, sizeof *out);
    st            = value_set_read(store, WINPATH_WMI "\\Autologger", IN_BOOT, &set, &out->conditions, &failed, why);
    out->declared = st != W_SUCCESS; /* a wrong value is a value */
    for (unsigned i = 0; i < VALUE_COUNT; i++)
        out->declared |= set.at[i].present;
    out->stops = out->after_boot_done = out->declared;
    out->stop_after_ms                = STOP_AFTER_DEFAULT_MS;
    out->max_wait_ms                  = value_rows[VALUE_MAX_WAIT].fallback * 1000;
    if (st == W_SUCCESS)
        st = boot_values_take(&set, out, why);
    value_set_finish(&set);
    if (st)
        return st;
    memset(&set, 0, sizeof set);
    st                  = value_set_read(store, WINPATH_WMI, IN_WMI, &set, &out->conditions, &failed, why);
    out->memory_percent = (unsigned)set.at[VALUE_MAX_NON_PAGED_POOL_USAGE].number;
    out->sessions_most  = (unsigned)set.at[VALUE_ETW_MAX_LOGGERS].number;
    value_set_finish(&set);
    return st;
}

void boot_settings_finish(struct boot_settings *settings) { condition_list_finish(&settings->conditions); }
