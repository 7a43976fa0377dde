/* boot_settings.h - settings of a boot as a whole: the values of [Boot] (the key WMI\Autologger itself: how often and
 * how long boots are traced) and of the key WMI (how much memory). Pure; threads: any. A settings struct holds no
 * memory but its conditions. */
#ifndef AUTOLOGGER_PLAN_BOOT_SETTINGS_H
#define AUTOLOGGER_PLAN_BOOT_SETTINGS_H
#include "autologger/plan/plan.h"

struct boot_settings {
    bool                  once;
    bool                  kernel_phase;    /* a boot entry of its own, with kernel arguments */
    bool                  declared;        /* [Boot] has a value; a Windows export has none */
    bool                  stops;           /* by itself: StopAfter is not "never", or a declared [Boot] lacks it */
    bool                  after_boot_done; /* stop_after_ms counts from boot-done, else from the start */
    uint64_t              stop_after_ms;
    uint64_t              max_wait_ms;            /* for boot-done, since the start; 0 = no limit */
    uint64_t              keep_boots, keep_bytes; /* 0 = no limit */
    unsigned              memory_percent;         /* WMI\MaxNonPagedPoolUsage: of RAM, for all boot sessions together */
    unsigned              sessions_most;          /* WMI\EtwMaxLoggers */
    struct condition_list conditions;
};
/* "boot-done", "boot-done + 10 s", "90 s", "never" (then *stops is false) */
wstatus boot_stop_after_parse(const char *text, bool *stops, bool *after_boot_done, uint64_t *milliseconds,
                              struct reason *why);
/* "10 boots, 2 GB", either part alone */
wstatus boot_keep_parse(const char *text, uint64_t *boots, uint64_t *bytes, struct reason *why);
/* Reads both keys; a missing key or value is its default. A wrong type or text is W_INVALID_PARAMETER; then
 * memory_percent and sessions_most are 0, and the caller's own limits hold. finish: boot_settings_finish. */
wstatus boot_settings_read(struct regstore *store, struct boot_settings *out, struct reason *why);
void    boot_settings_finish(struct boot_settings *settings);
#endif
