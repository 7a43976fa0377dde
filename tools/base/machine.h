/* machine.h - the machine that is being set up: its files below a root folder, and its own commands. The root is "/"
 * for this machine, or the tree of another one (an image, a fixture): its commands are then run by "chroot ROOT".
 * Invariants: M1 a file is replaced as a whole or not at all: written beside, synced, renamed. M2 no path leaves the
 * root: paths are the machine's own, absolute, and made here.
 * Threads: one. Ownership: texts are malloc, the caller's. Not for: what the files mean (boot_entry, initramfs,
 * system_check). */
#ifndef TOOLS_MACHINE_H
#define TOOLS_MACHINE_H
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Where the sealed snapshot is, without the leading '/'; the same in the initramfs. */
#define SETUP_SNAPSHOT "var/lib/autologger/boot.snapshot"
/* The result of putting back what apply put in place for one boot (put_back.h); while this file exists, no new image
 * gets the early program. */
#define SETUP_PUT_BACK "var/lib/autologger/put-back"
enum { MACHINE_PATH = 1024, MACHINE_KERNEL = 128 };

struct machine {
    char root[MACHINE_PATH]; /* "" for this machine, else without a '/' at the end */
    /* release: the running one; of another tree the newest below /lib/modules; "" = none */
    char kernel[MACHINE_KERNEL];
};

/* `root` NULL or "/": this machine. W_PATH_NOT_FOUND when there is no such folder. */
wstatus machine_open(const char *root, struct machine *out, struct reason *why);
/* `path` below the root. Returns `out`. */
const char *machine_path(const struct machine *m, const char *path, char out[MACHINE_PATH]);
bool        machine_has(const struct machine *m, const char *path);
/* The whole file, followed by a NUL; NULL when it can't be read (errno) or is over 16 MB. *size may be NULL. */
char *machine_read(const struct machine *m, const char *path, size_t *size);
/* M1; makes missing folders. W_ACCESS_DENIED, W_WRITE_PROTECT, W_DISK_FULL ... with the path. */
wstatus machine_write(const struct machine *m, const char *path, const void *data, size_t size, mode_t mode,
                      struct reason *why);
/* Syncs the folder of `path`: the names in it are then on the disk. */
void machine_folder_sync(const struct machine *m, const char *path);
/* Succeeds when there is no such file; *was (may be NULL): there was one. */
wstatus machine_remove(const struct machine *m, const char *path, bool *was, struct reason *why);
/* The command of this name is installed: below the root's four program folders, or, on this machine, in PATH. */
bool machine_has_command(const struct machine *m, const char *name);
/* Runs argv (NULL-terminated) and waits. Its output goes to `out` (size bytes, NUL added, may be cut), or to standard
 * error as progress when `out` is NULL; its errors go to standard error, or nowhere with `quiet`. Status 0 when it
 * ended with 0; W_FILE_NOT_FOUND when it could not be run. */
wstatus machine_run(const struct machine *m, const char *const *argv, char *out, size_t size, bool quiet,
                    struct reason *why);
/* The same for a long command: its output goes to standard error, and so does the time that `what` has taken so far. */
wstatus machine_run_told(const struct machine *m, const char *const *argv, const char *what, struct reason *why);
#endif
