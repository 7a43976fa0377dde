/* system_check.c - the table of checks, their input, and their display. See system_check.h. */
#include "tools/setup/system_check.h"
#include "autologger/plan/boot_settings.h"
#include "registry-sim/base/os.h"
#include "tools/base/text_table.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    void (*look)(const struct system_look *l);
} checks[] = {
    {"kernel events", check_kernel_events},
    {"command lines", check_command_lines},
    {"lockdown", check_lockdown},
    {"memory", check_memory},
    {"log folder", check_log_folder},
    {"autologger=off", check_switch},
    {"daemon", check_daemon},
    {"initramfs", check_initramfs},
    {"boot loader", check_boot_loader},
    {"sealed root", check_sealed_root},
    {"snapshot", check_snapshot},
    {"guard", check_guard},
    {"daemon's rights", check_confinement},
    {"security modules", check_security_modules},
    {"descriptors", check_passed_descriptors},
    {"user namespaces", check_user_namespaces},
    {"settings", check_settings},
};
_Static_assert(sizeof checks / sizeof *checks <= SYSTEM_CHECKS_MAX, "SYSTEM_CHECKS_MAX");

static const char *const level_names[] = {"ok", "note", "failed", "danger"};

void system_found(struct system_finding *f, enum system_level level, const char *advice, const char *format, ...)
{
    va_list args;
    f->level = level;
    snprintf(f->advice, sizeof f->advice, "%s", advice);
    va_start(args, format);
    vsnprintf(f->found, sizeof f->found, format, args);
    va_end(args);
}

struct plan_limits system_limits(const char *log_dir)
{
    struct os *os  = os_linux();
    uint64_t   ram = os->ram_bytes(os);
    return (struct plan_limits){.processors  = (unsigned)os->cpu_count(os),
                                .ram_bytes   = ram,
                                .memory_left = plan_memory_ceiling(ram),
                                .log_dir     = log_dir};
}

/* check_fn: adds up the sessions that start. */
static void need_add(void *ctx, const struct check_row *row)
{
    struct system_need *n = ctx;
    if (row->kind != CHECK_SESSION || !row->start || row->status)
        return;
    const struct plan *p = row->plan;
    for (unsigned i = 0; i < 8; i++) {
        n->mask[i] |= p->group_mask[i];
        n->kernel_events |= p->group_mask[i] != 0;
    }
    n->devices |= p->kernel && p->devices;
    for (unsigned i = 0; i < p->hook_count && n->hook_count < HOOK_MAX; i++)
        n->hooks[n->hook_count++] = p->hooks[i];
    if (!p->kernel && n->tracepoint_count < BOOT_TRACEPOINTS)
        n->tracepoint_count += boot_tracepoints_find(p, &n->tracepoints[n->tracepoint_count]);
    uint64_t unit = p->log_file_mode & 0x2000u ? 1024 : 1 << 20; /* USE_KBYTES_FOR_SIZE */
    n->memory_bytes += p->memory_bytes;
    if (p->log_path && n->file_bytes != UINT64_MAX)
        n->file_bytes = p->max_file_size ? n->file_bytes + p->max_file_size * unit : UINT64_MAX;
}

static wstatus need_fill(const struct system_ask *ask, struct system_need *n, struct reason *why)
{
    struct boot_settings settings;
    struct plan_limits   limits = system_limits(ask->log_dir);
    *n                          = (struct system_need){0};
    wstatus st                  = plan_check(ask->declared, &limits, need_add, n, why);
    if (st)
        return st;
    if (!boot_settings_read(ask->declared, &settings, NULL)) { /* mistakes in the settings have a row of their own */
        n->kernel_phase = settings.kernel_phase;
        n->once         = settings.once;
    }
    boot_settings_finish(&settings);
    boot_entry_find(ask->machine, &n->entry);
    initramfs_find(ask->machine, &n->initramfs);
    bool main = !n->kernel_events && n->tracepoint_count; /* the first of them has the kernel's own buffer */
    bool fits =
        main ? boot_tracepoints_main(&n->tracepoints[0], n->arguments, sizeof n->arguments)
             : boot_entry_arguments(n->mask, n->hooks, n->hook_count, n->devices, n->arguments, sizeof n->arguments);
    if (!fits || !boot_tracepoints_instances(n->tracepoints + main, n->tracepoint_count - main, n->arguments,
                                             sizeof n->arguments))
        return reason_set(why, W_INSUFFICIENT_BUFFER, "the kernel arguments for the kernel phase are too long");
    if (n->kernel_phase)
        n->phase_bytes = boot_tracepoints_sizes((uint64_t)limits.processors * (1 + n->tracepoint_count - main),
                                                limits.ram_bytes, n->arguments, sizeof n->arguments);
    return W_SUCCESS;
}

wstatus system_check(const struct system_ask *ask, struct system_need *need, struct system_report *out,
                     struct reason *why)
{
    *out       = (struct system_report){0};
    wstatus st = need_fill(ask, need, why);
    for (size_t i = 0; !st && i < sizeof checks / sizeof *checks; i++) {
        struct system_finding *f = &out->items[out->count];
        f->name                  = checks[i].name;
        checks[i].look(&(struct system_look){ask, need, f});
        if (!f->found[0])
            continue; /* the check does not concern this machine */
        out->count++;
        out->notes += f->level == SYSTEM_NOTE;
        out->failed += f->level >= SYSTEM_FAILED;
        out->dangers += f->level == SYSTEM_DANGER;
    }
    return st;
}

void system_report_print(const struct system_report *r, enum system_level least, FILE *to)
{
    static const char *const titles[] = {"CHECK", "RESULT", "FOUND", NULL};
    struct text_table        t;
    text_table_init(&t, titles);
    for (unsigned i = 0; i < r->count; i++) {
        const struct system_finding *f = &r->items[i];
        if (f->level < least)
            continue;
        text_table_row(&t, f->name, level_names[f->level], f->found);
        if (f->advice[0])
            text_table_line(&t, "    Do: %s", f->advice);
    }
    text_table_print(&t, to);
    text_table_finish(&t);
}

void system_report_json(const struct system_report *r, struct json *j)
{
    json_array(j, "system");
    for (unsigned i = 0; i < r->count; i++) {
        const struct system_finding *f = &r->items[i];
        json_object(j, NULL);
        json_text(j, "check", f->name);
        json_text(j, "result", level_names[f->level]);
        json_text(j, "found", f->found);
        json_text(j, "advice", f->advice);
        json_object_end(j);
    }
    json_array_end(j);
}
