/* setup.c - see setup.h. */
#include "tools/setup/setup.h"
#include "registry-sim/base/visible_print.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

void setup_say(struct setup *s, const char *format, ...)
{
    va_list args;
    if (s->line_count == sizeof s->lines / sizeof *s->lines)
        return;
    va_start(args, format);
    vsnprintf(s->lines[s->line_count++], sizeof s->lines[0], format, args);
    va_end(args);
}

void setup_begin(struct setup *s, const struct machine *m, const struct system_need *need)
{
    sigset_t wait;
    *s = (struct setup){.machine = m, .need = need, .lock_fd = -1};
    sigemptyset(&wait);
    sigaddset(&wait, SIGINT);
    sigaddset(&wait, SIGTERM);
    sigaddset(&wait, SIGHUP);
    sigprocmask(SIG_BLOCK, &wait, &s->signals);
}

/* The folder itself is locked, so no lock file is left behind. No folder: nothing was ever set up. No right to open it:
 * a later step fails, with a better reason. */
wstatus setup_lock(struct setup *s, struct reason *why)
{
    enum { WAIT_S = 120 };
    char path[MACHINE_PATH];
    s->lock_fd = open(machine_path(s->machine, "/var/lib/autologger", path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (unsigned waited = 0; s->lock_fd >= 0 && flock(s->lock_fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
         waited++) {
        if (waited == WAIT_S)
            return reason_set(
                why, W_BUSY,
                "another autologger has been setting this machine up for %u s. Do: try again when it has ended",
                waited);
        if (!waited)
            fputs("waiting for another autologger that sets this machine up ...\n", stderr);
        sleep(1);
    }
    return W_SUCCESS;
}

void setup_finish(struct setup *s)
{
    if (s->lock_fd >= 0)
        close(s->lock_fd);
    for (unsigned i = 0; i < s->file_count; i++)
        free(s->files[i].data);
    s->file_count = 0;
    sigprocmask(SIG_SETMASK, &s->signals, NULL);
}

wstatus setup_remember(struct setup *s, const char *path, struct reason *why)
{
    struct setup_file *f = &s->files[s->file_count];
    snprintf(f->path, sizeof f->path, "%s", path);
    f->data = machine_read(s->machine, path, &f->size);
    if (!f->data && machine_has(s->machine, path))
        return reason_set(why, W_ACCESS_DENIED, "%s cannot be read, so it could not be put back", path);
    s->file_count++;
    return W_SUCCESS;
}

wstatus setup_entry(struct setup *s, struct reason *why)
{
    const struct boot_entry *e   = &s->need->entry;
    bool                     was = boot_entry_exists(s->machine, e);
    if (!s->need->kernel_phase && !was)
        return W_SUCCESS;
    wstatus st = setup_remember(s, e->place, why);
    if (st)
        return st;
    if (!s->need->kernel_phase) {
        setup_say(s, "boot entry: the one of an earlier apply was taken away");
        return boot_entry_remove(s->machine, e, &was, why);
    }
    st = boot_entry_set(s->machine, e, s->need->arguments, why);
    if (!st) {
        s->entry_made = true;
        setup_say(s, "boot entry: 'autologger' in %s, for the next boot only (%s)", e->place, e->tool);
    }
    return st;
}

bool setup_unit_enabled(const struct machine *m)
{
    const char *const argv[] = {"systemctl", "is-enabled", SETUP_UNIT, NULL};
    char              answer[64];
    machine_run(m, argv, answer, sizeof answer, true, NULL);
    return !strncmp(answer, "enabled", 7);
}

/* For the daemon's unit and, where installed, the unit that reports failed rows to systemd. */
static wstatus units_tell(const struct machine *m, const char *verb, struct reason *why)
{
    bool              path   = machine_has(m, "/usr/lib/systemd/system/autologger-status.path");
    const char *const argv[] = {"systemctl", verb, "--quiet", SETUP_UNIT, path ? "autologger-status.path" : NULL, NULL};
    return machine_run(m, argv, NULL, 0, why == NULL, why);
}

bool setup_unit_disable(const struct machine *m) { return !units_tell(m, "disable", NULL); }

wstatus setup_unit(struct setup *s, struct reason *why)
{
    if (!machine_has_command(s->machine, "systemctl"))
        return W_SUCCESS;
    if (setup_unit_enabled(s->machine)) {
        setup_say(s, "daemon: " SETUP_UNIT " is enabled");
        return W_SUCCESS;
    }
    wstatus st = units_tell(s->machine, "enable", why);
    if (st)
        return st;
    s->unit_enabled = true;
    setup_say(s, "daemon: " SETUP_UNIT " was enabled");
    return W_SUCCESS;
}

wstatus setup_initramfs(struct setup *s, struct reason *why)
{
    const struct initramfs *i = &s->need->initramfs;
    visible_printf(stderr, "building the initramfs of %s (%s) ...\n", s->machine->kernel, initramfs_tool_name(i->tool));
    wstatus st = initramfs_rebuild(s->machine, i, why);
    s->rebuilt = true; /* a failed build may have left anything behind */
    if (!st)
        setup_say(s, "initramfs: built anew by %s for the kernel %s", initramfs_tool_name(i->tool), s->machine->kernel);
    return st;
}

static void put_back(const struct setup *s, const struct setup_file *f)
{
    struct reason why = {0};
    wstatus       st  = f->data ? machine_write(s->machine, f->path, f->data, f->size,
                                         strstr(f->path, "snapshot") || strstr(f->path, "guard") ? 0600 : 0644, &why)
                                : machine_remove(s->machine, f->path, NULL, &why);
    if (st)
        visible_printf(stderr, "could not be put back: %s. Do: autologger clean\n", why.text);
}

void setup_undo(struct setup *s)
{
    struct reason why = {0};
    bool          was;
    if (s->entry_made && boot_entry_remove(s->machine, &s->need->entry, &was, &why))
        visible_printf(stderr, "the boot entry could not be taken away: %s\n", why.text);
    for (unsigned i = s->file_count; i-- > 0;)
        put_back(s, &s->files[i]);
    if (s->unit_enabled && !setup_unit_disable(s->machine))
        fprintf(stderr, SETUP_UNIT " could not be disabled. Do: systemctl disable " SETUP_UNIT "\n");
    if (s->rebuilt && initramfs_rebuild(s->machine, &s->need->initramfs, &why))
        visible_printf(stderr,
                       "the initramfs could not be built as it was: %s. Do: correct that, then autologger clean\n",
                       why.text);
}
