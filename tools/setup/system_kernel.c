/* system_kernel.c - checks of the running kernel and of room: events, rights, memory, the log folder. See
 * system_check.h. */
#include "autologger/kernel/klog.h"
#include "autologger/kernel/source/argv.h"
#include "autologger/kernel/source/procfs.h"
#include "registry-sim/base/os.h"
#include "tools/setup/system_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { MB = 1 << 20, LOG_FLOOR_MB = 64, RING_MB = 4 };

static void note_source(void *ctx, wstatus number, bool note, const char *item, const char *reason, const char *advice)
{
    struct system_finding *f = ctx;
    (void)number, (void)note, (void)item;
    if (f->level == SYSTEM_OK)
        system_found(f, SYSTEM_NOTE, advice, "%s", reason);
}

/* Opens every requested source once on every CPU, and closes it. */
void check_kernel_events(const struct system_look *l)
{
    struct klog       *k   = NULL;
    struct reason      why = {0};
    struct klog_config c   = {.hook_count    = l->need->hook_count,
                              .ring_bytes    = 8192,
                              .raw_bytes     = 1 << 16,
                              .condition     = note_source,
                              .condition_ctx = l->f};
    if (!l->need->kernel_events) {
        system_found(l->f, SYSTEM_OK, "", "none are asked for");
        return;
    }
    if (l->ask->machine->root[0]) {
        system_found(l->f, SYSTEM_NOTE, "run this check on the machine itself",
                     "this is another machine's root: its kernel is not running");
        return;
    }
    memcpy(c.mask, l->need->mask, sizeof c.mask);
    memcpy(c.hooks, l->need->hooks, sizeof c.hooks);
    wstatus st = klog_create(&c, &k, &why);
    klog_destroy(k);
    if (st)
        system_found(l->f, SYSTEM_FAILED, wstatus_advice(st), "%s", why.text);
    else if (l->f->level == SYSTEM_OK)
        system_found(l->f, SYSTEM_OK, "", "every source that is asked for could be opened");
}

/* The BPF program that copies the arguments of each exec; without it they come from /proc alone. */
void check_command_lines(const struct system_look *l)
{
    struct argv  *a   = NULL;
    struct reason why = {0};
    if (!(l->need->mask[0] & 1u) || l->ask->machine->root[0])
        return;
    int     proc = proc_open(0);
    wstatus st   = argv_open(proc, &a, &why);
    argv_close(a);
    if (proc >= 0)
        close(proc);
    if (st)
        system_found(l->f, SYSTEM_NOTE, "nothing; programs that end at once have no command line in the trace",
                     "from /proc alone: %s", why.text);
    else
        system_found(l->f, SYSTEM_OK, "", "copied at each exec by a BPF program");
}

void check_lockdown(const struct system_look *l)
{
    char  *text = machine_read(l->ask->machine, "/sys/kernel/security/lockdown", NULL);
    char  *mode = text ? strchr(text, '[') : NULL;
    size_t n    = mode ? strcspn(mode + 1, "]") : 0;
    if (!mode)
        system_found(l->f, SYSTEM_OK, "", "this kernel has none");
    else if (!strncmp(mode + 1, "confidentiality", n) && l->need->kernel_events)
        system_found(l->f, SYSTEM_FAILED, "boot without lockdown=confidentiality, or declare no kernel events",
                     "confidentiality: the kernel gives its events to nobody");
    else
        system_found(l->f, SYSTEM_OK, "", "%.*s", (int)n, mode + 1);
    free(text);
}

static uint64_t memory_available(const struct machine *m)
{
    char              *text = machine_read(m, "/proc/meminfo", NULL);
    const char        *line = text ? strstr(text, "MemAvailable:") : NULL;
    unsigned long long kb   = 0;
    if (!line || sscanf(line, "MemAvailable: %llu", &kb) != 1)
        kb = 0;
    free(text);
    return kb * 1024;
}

void check_memory(const struct system_look *l)
{
    struct os *os    = os_linux();
    uint64_t   rings = l->need->kernel_events ? (uint64_t)os->cpu_count(os) * RING_MB * MB : 0;
    uint64_t   most = l->need->memory_bytes + rings + l->need->phase_bytes, left = memory_available(l->ask->machine);
    unsigned   all = (unsigned)(l->need->memory_bytes / MB), ring = (unsigned)((rings + l->need->phase_bytes) / MB);
    if (left && most > left)
        system_found(l->f, SYSTEM_FAILED, "lower MaximumBuffers or BufferSize",
                     "at most %u MB for buffers and %u MB for the kernel's rings, and %u MB are free now", all, ring,
                     (unsigned)(left / MB));
    else if (left && most > left / 2)
        system_found(
            l->f, SYSTEM_NOTE, "lower MaximumBuffers if the machine is short of memory while it boots",
            "at most %u MB for buffers and %u MB for the kernel's rings, more than half of the %u MB that are free now",
            all, ring, (unsigned)(left / MB));
    else
        system_found(l->f, SYSTEM_OK, "", "at most %u MB for buffers and %u MB for the kernel's rings", all, ring);
}

/* The volume of `folder`: that of the nearest existing folder at or above it. */
static bool system_kernel_volume_of(const struct machine *m, const char *folder, struct os_space *space,
                                    char path[MACHINE_PATH])
{
    char at[MACHINE_PATH];
    snprintf(at, sizeof at, "%.900s", folder);
    for (;;) {
        machine_path(m, at, path);
        if (os_linux()->space(os_linux(), path, space) == 0)
            return true;
        char *slash = strrchr(at, '/');
        if (!slash || slash == at)
            return os_linux()->space(os_linux(), machine_path(m, "/", path), space) == 0;
        *slash = 0;
    }
}

void check_log_folder(const struct system_look *l)
{
    char            path[MACHINE_PATH];
    struct os_space space;
    if (!system_kernel_volume_of(l->ask->machine, l->ask->log_dir, &space, path)) {
        system_found(l->f, SYSTEM_FAILED, "create the folder, or choose another with --log-dir",
                     "%s: its volume cannot be looked at", l->ask->log_dir);
        return;
    }
    unsigned free_mb = (unsigned)(space.free_bytes / MB);
    if (space.read_only)
        system_found(l->f, SYSTEM_FAILED, "choose a log folder on a writable volume",
                     "%s lies on a volume that is read-only", l->ask->log_dir);
    else if (space.free_bytes < l->need->memory_bytes + (uint64_t)LOG_FLOOR_MB * MB)
        system_found(l->f, SYSTEM_FAILED, "free some space: what is held in memory must fit, and 64 MB stay free",
                     "%s has %u MB free", l->ask->log_dir, free_mb);
    else if (l->need->file_bytes == UINT64_MAX || space.free_bytes / 2 < l->need->file_bytes)
        system_found(l->f, SYSTEM_NOTE,
                     "lower MaxFileSize, or free some space; a full volume ends a trace, not the boot",
                     "%s has %u MB free, and the files and their merge may take more", l->ask->log_dir, free_mb);
    else
        system_found(l->f, SYSTEM_OK, "", "%s has %u MB free", l->ask->log_dir, free_mb);
}

void check_switch(const struct system_look *l)
{
    char *text = machine_read(l->ask->machine, "/proc/cmdline", NULL);
    bool  off  = false;
    for (char *p = text; p && (p = strstr(p, "autologger=off")); p++)
        off |= (p == text || p[-1] == ' ') && (!p[14] || p[14] == ' ' || p[14] == '\n');
    free(text);
    if (off)
        system_found(l->f, SYSTEM_FAILED, "take autologger=off out of the boot loader's configuration",
                     "this boot was started with autologger=off; a boot with it traces nothing");
    else
        system_found(l->f, SYSTEM_OK, "", "not on the kernel command line of this boot");
}
