/* untraced.c - see untraced.h. */
#include "tools/setup/untraced.h"

#include "tools/setup/put_back.h"
#include "tools/setup/under_way.h"

#include "autologger/daemon/early/guard.h"
#include "autologger/plan/boot_settings.h"
#include "registry-sim/store/key_names.h"
#include "registry-sim/store/snapshot.h"
#include "registry-sim/text/winpath.h"
#include "registry-sim/win32/filetime.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define SNAPSHOT_PATH "/var/lib/autologger/boot.snapshot"

/* ---- looking ---- */

static bool switched_off(const struct machine *m)
{
    char *text = machine_read(m, "/proc/cmdline", NULL), *rest = text;
    bool  off = false;
    for (char *word; text && (word = strsep(&rest, " \n"));)
        off |= strcmp(word, "autologger=off") == 0;
    free(text);
    return off;
}

struct untraced_counted {
    struct regstore       *store;
    struct untraced_facts *f;
};

static void count_session(struct untraced_counted *c, const char *key)
{
    uint32_t start  = 0;
    bool     starts = regstore_get_dword(c->store, key, "Start", &start, NULL) == W_SUCCESS && start;
    c->f->declared += starts;
    c->f->idle += !starts;
}

static void look_at_declarations(struct regstore *store, struct untraced_facts *f)
{
    struct untraced_counted c = {store, f};
    struct key_names        n = {0};
    if (regstore_key_exists(store, WINPATH_WMI "\\GlobalLogger"))
        count_session(&c, WINPATH_WMI "\\GlobalLogger");
    if (regstore_key_exists(store, WINPATH_WMI "\\Autologger"))
        key_names_load(store, WINPATH_WMI "\\Autologger", &n);
    for (unsigned i = 0; i < n.count; i++) {
        char key[1024];
        snprintf(key, sizeof key, WINPATH_WMI "\\Autologger\\%s", n.names[i]);
        count_session(&c, key);
    }
    key_names_finish(&n);
}

static void look_at_guard(const struct machine *m, struct regstore *store, struct untraced_facts *f)
{
    struct guard         g;
    struct boot_settings settings;
    struct reason        why = {0};
    char                 path[MACHINE_PATH], boot_id[64];
    guard_read(AT_FDCWD, machine_path(m, "/" GUARD_PATH, path), &g);
    under_way_boot_id(m, boot_id);
    f->begun  = guard_open(&g, boot_id);
    bool once = boot_settings_read(store, &settings, NULL) == W_SUCCESS && settings.once;
    if (!guard_verdict(&g, g.change, once, guard_limit(once), boot_id, &why)) {
        f->guard_failed = why.status != W_SUCCESS;
        snprintf(f->guard, sizeof f->guard, "%s", why.text);
        f->used_up = once && guard_used_up(&g, g.change);
        put_back_look(m, f->left, sizeof f->left);
    }
    boot_settings_finish(&settings);
}

static uint64_t boot_began(void)
{
    struct timespec now, up;
    clock_gettime(CLOCK_REALTIME, &now);
    clock_gettime(CLOCK_BOOTTIME, &up);
    return filetime_from_unix_ns((uint64_t)(now.tv_sec - up.tv_sec) * 1000000000u);
}

static void look_at_snapshot(const struct machine *m, struct regstore *store, struct untraced_facts *f)
{
    struct regstore     *sealed = NULL;
    struct snapshot_head head;
    struct reason        why = {0};
    char                 path[MACHINE_PATH];
    bool                 current = false;
    wstatus              st      = regstore_open_snapshot(machine_path(m, SNAPSHOT_PATH, path), &sealed, &head, &why);
    f->snapshot                  = st == W_FILE_NOT_FOUND ? SNAPSHOT_MISSING : SNAPSHOT_DAMAGED;
    snprintf(f->snapshot_reason, sizeof f->snapshot_reason, "%s", st ? why.text : "");
    if (!st) {
        f->snapshot =
            snapshot_is_current(&head, store, &current, NULL) == W_SUCCESS && current ? SNAPSHOT_CURRENT : SNAPSHOT_OLD;
        f->sealed_since_boot = head.time > boot_began();
    }
    regstore_close(sealed);
}

void untraced_look(const struct machine *m, struct regstore *store, struct untraced_facts *out)
{
    static const char *const wanted[] = {"/etc/systemd/system/sysinit.target.wants/autologgerd.service",
                                         "/etc/systemd/system/multi-user.target.wants/autologgerd.service"};
    *out                              = (struct untraced_facts){.off = switched_off(m)};
    out->systemd                      = machine_has_command(m, "systemctl");
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        char        path[MACHINE_PATH];
        struct stat st; /* lstat: the link's target is a path on that machine */
        out->daemon_enabled |= lstat(machine_path(m, wanted[i], path), &st) == 0;
    }
    out->daemon_runs = machine_has(m, "/run/autologger/control");
    look_at_declarations(store, out);
    look_at_guard(m, store, out);
    look_at_snapshot(m, store, out);
}

/* ---- the sentence ---- */

static void untraced_say(struct untraced *u, bool failed, const char *advice, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void untraced_say(struct untraced *u, bool failed, const char *advice, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(u->reason, sizeof u->reason, format, args);
    va_end(args);
    char *own = strstr(u->reason, ". Do: "); /* a reason from elsewhere may have its own advice */
    if (own)
        *own = 0;
    snprintf(u->advice, sizeof u->advice, "%s", advice);
    u->failed = failed;
}

void untraced_used_up(const struct untraced_facts *f, struct untraced *u)
{
    if (*f->left)
        untraced_say(u, false, "autologger clean takes all of it away; autologger apply, for another boot",
                     "%.200s. Not put back: %.400s", f->guard, f->left);
    else
        untraced_say(u, false, "autologger apply, for another boot", "%s", f->guard);
}

void untraced_explain(const struct untraced_facts *f, struct untraced *u)
{
    memset(u, 0, sizeof *u);
    if (f->off)
        untraced_say(u, false, "boot without autologger=off", "autologger=off is on the kernel command line");
    else if (!f->declared && f->idle)
        untraced_say(u, false, "set Start to 1, or: autologger apply boot", "%u session%s declared, none with Start 1",
                     f->idle, f->idle == 1 ? " is" : "s are");
    else if (!f->declared)
        untraced_say(u, false, "autologger apply boot, or see: autologger profiles",
                     "no session is declared in the store");
    else if (*f->guard && f->guard_failed)
        untraced_say(u, true, "see why that boot did not finish; autologger apply starts afresh", "%s", f->guard);
    else if (f->used_up)
        untraced_used_up(f, u);
    else if (*f->guard)
        untraced_say(u, false, "autologger apply, for another boot", "%s", f->guard);
    else if (f->begun && !f->daemon_runs)
        untraced_say(u, true, "systemctl status autologgerd; autologger apply starts afresh",
                     "this boot began to be traced, and neither the early program nor the daemon runs any more");
    else if (f->snapshot == SNAPSHOT_DAMAGED)
        untraced_say(u, true, "autologger apply seals it anew, then reboot", "%s", f->snapshot_reason);
    else if (f->systemd && !f->daemon_enabled)
        untraced_say(u, true, "autologger apply, or: systemctl enable autologgerd",
                     "autologgerd is not enabled: nothing starts at boot");
    else if (f->snapshot == SNAPSHOT_MISSING)
        untraced_say(u, true, "autologger apply, then reboot",
                     "sessions are declared, but they were never applied: there is no " SNAPSHOT_PATH);
    else if (f->sealed_since_boot)
        untraced_say(u, false, "reboot", "%u session%s applied after this boot had begun", f->declared,
                     f->declared == 1 ? " was" : "s were");
    else if (f->snapshot == SNAPSHOT_OLD)
        untraced_say(u, true, "autologger apply, then reboot",
                     "the store was changed since it was applied: " SNAPSHOT_PATH " is older");
    else if (f->daemon_runs)
        untraced_say(u, false, "wait for the end of the boot; see: autologger sessions",
                     "the daemon runs and has saved no row of this boot yet");
    else
        untraced_say(u, true, "systemctl status autologgerd",
                     "%u session%s declared and applied, but the daemon started none in this boot", f->declared,
                     f->declared == 1 ? " is" : "s are");
}
