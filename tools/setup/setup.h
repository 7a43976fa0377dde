/* setup.h - the steps of apply that change the machine beside the store, each with what puts it back: snapshot, boot
 * entry, unit, initramfs. A step that changed nothing has nothing to put back.
 * Threads: one. Ownership: begin/finish. While steps run, SIGINT, SIGTERM and SIGHUP wait: half-done is never left. */
#ifndef TOOLS_SETUP_H
#define TOOLS_SETUP_H
#include "registry-sim/store/regstore.h"
#include "tools/setup/system_check.h"

#include <signal.h>

enum { SETUP_FILES = 5 };
struct setup_file { /* a file as it was */
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
    char                      lines[32][MACHINE_PATH + 64]; /* what was done, in words */
    unsigned                  line_count;
    sigset_t                  signals; /* as they were */
    int                       lock_fd; /* -1: none */
};

void setup_begin(struct setup *s, const struct machine *m, const struct system_need *need);
/* One at a time sets a machine up: waits up to two minutes for another one. W_BUSY when that one goes on. Held until
 * setup_finish. */
wstatus setup_lock(struct setup *s, struct reason *why);
/* What the next boot reads: of the store as it is in its open transaction, under a new change number. */
wstatus setup_snapshot(struct setup *s, struct regstore *store, const char *store_path, const char *log_dir,
                       struct reason *why);
/* The log folder is for root and the group "autologger", where the machine has that group; what is made below it is,
 * too. Whatever else the folder is stays, and is said. */
void setup_logs(struct setup *s, const char *log_dir);
/* The entry for the kernel phase when it is asked for; else an earlier one of ours goes. */
wstatus setup_entry(struct setup *s, struct reason *why);
/* autologgerd.service starts at boot, where there is systemd. */
wstatus setup_unit(struct setup *s, struct reason *why);
/* The image of the kernel, where autologger's hook is installed. */
wstatus setup_initramfs(struct setup *s, struct reason *why);
/* All that was done is put back, in the opposite order; what can't be is said on standard error. */
void setup_undo(struct setup *s);
void setup_finish(struct setup *s);
/* Remembers a file as it is now; setup_undo puts it back. */
wstatus setup_remember(struct setup *s, const char *path, struct reason *why);
void    setup_say(struct setup *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The unit's name, and whether systemd would start it. */
#define SETUP_UNIT "autologgerd.service"
bool setup_unit_enabled(const struct machine *m);
bool setup_unit_disable(const struct machine *m);
#endif
