/* setup.h - the steps of apply that change the machine outside the store, each with its undo: snapshot, boot entry,
 * unit, initramfs. A step that changed nothing has nothing to undo.
 * Threads: one. Ownership: begin/finish. While steps run, SIGINT, SIGTERM and SIGHUP are blocked: nothing is left half
 * done. */
#ifndef TOOLS_SETUP_H
#define TOOLS_SETUP_H
#include "registry-sim/store/regstore.h"
#include "tools/setup/system_check.h"

#include <signal.h>

enum { SETUP_FILES = 5 };
struct setup_file { /* a file before the change */
    char   path[MACHINE_PATH];
    char  *data; /* malloc; NULL: there was none */
    size_t size;
};
struct setup {
    const struct machine     *machine;
    const struct system_need *need;
    struct setup_file         files[SETUP_FILES];
    unsigned                  file_count;
    bool                      entry_made, unit_enabled, rebuilt;
    char                      lines[32][MACHINE_PATH + 64]; /* the steps done, in words */
    unsigned                  line_count;
    sigset_t                  signals; /* the signal mask before */
    int                       lock_fd; /* -1: none */
};

void setup_begin(struct setup *s, const struct machine *m, const struct system_need *need);
/* Takes the machine's setup lock, which setup_finish releases. Waits up to two minutes for another process. W_BUSY:
 * that one still holds it. */
wstatus setup_lock(struct setup *s, struct reason *why);
/* Seals what the next boot reads: the store as in its open transaction, under a new change number. */
wstatus setup_snapshot(struct setup *s, struct regstore *store, const char *store_path, const char *log_dir,
                       struct reason *why);
/* The log folder, and what is made below it, is for root and the group "autologger", where the machine has that group.
 * A folder of another group stays as it is, and is reported. */
void setup_logs(struct setup *s, const char *log_dir);
/* Sets the entry for the kernel phase when it is asked for; else removes an earlier one of autologger. */
wstatus setup_entry(struct setup *s, struct reason *why);
/* Enables autologgerd.service at boot, where there is systemd. */
wstatus setup_unit(struct setup *s, struct reason *why);
/* Rebuilds the kernel's image, where autologger's hook is installed. */
wstatus setup_initramfs(struct setup *s, struct reason *why);
/* Undoes all steps, files in reverse order; reports on standard error what cannot be undone. */
void setup_undo(struct setup *s);
void setup_finish(struct setup *s);
/* Remembers a file as it is now; setup_undo restores it. */
wstatus setup_remember(struct setup *s, const char *path, struct reason *why);
void    setup_say(struct setup *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The unit's name, and whether systemd would start it. */
#define SETUP_UNIT "autologgerd.service"
bool setup_unit_enabled(const struct machine *m);
bool setup_unit_disable(const struct machine *m);
#endif
