/* system_check.h - can this machine carry out the declarations at its next boot? A table of checks, each with finding
 * and advice.
 * Levels: ok; note (works, with less than asked); failed (would not work); danger (may lock the machine or cannot be
 * undone: --force does not override it, only what the advice names).
 * Invariants: checks change nothing. Threads: one. Ownership: a report is a value. Not for: the Status of each declared
 * session (plan/check.h), which is shown below it. */
#ifndef TOOLS_SYSTEM_CHECK_H
#define TOOLS_SYSTEM_CHECK_H
#include "autologger/kernel/tables/flags.h"
#include "autologger/plan/check.h"
#include "tools/base/json_out.h"
#include "tools/setup/boot_entry.h"
#include "tools/setup/boot_tracepoints.h"
#include "tools/setup/initramfs.h"

enum system_level { SYSTEM_OK, SYSTEM_NOTE, SYSTEM_FAILED, SYSTEM_DANGER };
struct system_finding {
    const char       *name;
    enum system_level level;
    char              found[320];
    char              advice[256]; /* "" when there is nothing to do */
};
enum { SYSTEM_CHECKS_MAX = 24 };
struct system_report {
    struct system_finding items[SYSTEM_CHECKS_MAX];
    unsigned              count, notes, failed, dangers;
};

/* What is to be booted, and how. */
struct system_ask {
    const struct machine *machine;
    struct regstore      *declared; /* the declarations as the next boot would find them */
    /* the store itself, to check its snapshot; NULL: not yet applied, or no check wanted */
    const char *store_path;
    const char *log_dir; /* of the machine */
    bool        accept_tpm;
    /* the initramfs will be rebuilt, where autologger's hook is installed */
    bool rebuilds;
};
/* What a boot of the declarations needs; filled by system_check. */
struct system_need {
    uint32_t                mask[8];
    uint16_t                hooks[HOOK_MAX];
    unsigned                hook_count;
    bool                    devices; /* DeviceEvents */
    bool                    kernel_events, kernel_phase, once;
    struct boot_tracepoints tracepoints[BOOT_TRACEPOINTS]; /* of sessions of programs, in their order */
    unsigned                tracepoint_count;
    /* totals of all starting sessions; file_bytes: sum of MaxFileSize, UINT64_MAX = no limit */
    uint64_t          memory_bytes, file_bytes;
    struct boot_entry entry;
    struct initramfs  initramfs;
    char              arguments[1536]; /* for the kernel phase */
    uint64_t          phase_bytes;     /* total of the kernel's buffers of that phase */
};

wstatus system_check(const struct system_ask *ask, struct system_need *need, struct system_report *out,
                     struct reason *why);
/* A table of the checks of that level and worse. */
void system_report_print(const struct system_report *r, enum system_level least, FILE *to);
/* An array "system" of {check, result, found, advice}. */
void system_report_json(const struct system_report *r, struct json *j);
/* The limits of plan_check for this machine. */
struct plan_limits system_limits(const char *log_dir);

/* ---- for the files of checks ---- */
struct system_look {
    const struct system_ask  *ask;
    const struct system_need *need;
    struct system_finding    *f;
};
/* Fills the finding. `advice` may be "". */
void system_found(struct system_finding *f, enum system_level level, const char *advice, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
#define SYSTEM_CHECK(function) void function(const struct system_look *l);
SYSTEM_CHECK(check_kernel_events)
SYSTEM_CHECK(check_command_lines)
SYSTEM_CHECK(check_lockdown)
SYSTEM_CHECK(check_memory)
SYSTEM_CHECK(check_log_folder)
SYSTEM_CHECK(check_switch)
SYSTEM_CHECK(check_daemon)
SYSTEM_CHECK(check_initramfs)
SYSTEM_CHECK(check_boot_loader)
SYSTEM_CHECK(check_sealed_root)
SYSTEM_CHECK(check_snapshot)
SYSTEM_CHECK(check_guard)
SYSTEM_CHECK(check_confinement)
SYSTEM_CHECK(check_security_modules)
SYSTEM_CHECK(check_passed_descriptors)
SYSTEM_CHECK(check_user_namespaces)
SYSTEM_CHECK(check_settings)
#undef SYSTEM_CHECK
#endif
