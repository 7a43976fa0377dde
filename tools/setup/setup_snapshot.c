/* setup_snapshot.c - the step that seals what the next boot reads. See setup.h. */
#include "autologger/daemon/early/guard.h"
#include "registry-sim/base/os.h"
#include "registry-sim/store/change_number.h"
#include "registry-sim/store/snapshot.h"
#include "tools/setup/setup.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The store's path on the machine itself: absolute, without m->root. */
static void own_path(const struct machine *m, const char *path, char *out, size_t size)
{
    size_t n    = strlen(m->root);
    char  *full = realpath(path, NULL); /* a boot has another working folder */
    if (n && !strncmp(path, m->root, n) && path[n] == '/')
        snprintf(out, size, "%s", path + n);
    else
        snprintf(out, size, "%s", full ? full : path);
    free(full);
}

wstatus setup_snapshot(struct setup *s, struct regstore *store, const char *store_path, const char *log_dir,
                       struct reason *why)
{
    struct snapshot_head head = {0};
    char                 path[MACHINE_PATH];
    wstatus              st = setup_remember(s, "/" SETUP_SNAPSHOT, why);
    st                      = st ? st : setup_remember(s, "/" GUARD_PATH, why);
    st                      = st ? st : setup_remember(s, "/" SETUP_PUT_BACK, why);
    st                      = st ? st : change_number_bump(store, &head.change_number, why);
    if (st)
        return st;
    own_path(s->machine, store_path, head.store_path, sizeof head.store_path);
    snprintf(head.log_dir, sizeof head.log_dir, "%s", log_dir);
    int rc = os_mkdir_parents(os_linux(), machine_path(s->machine, "/" SETUP_SNAPSHOT, path), 0755);
    st = rc < 0 ? reason_set(why, wstatus_from_errno(-rc), "the folder of %s cannot be made: %s", path, strerror(-rc))
                : snapshot_seal(os_linux(), store, &head, path, why);
    if (!st) { /* an apply starts afresh, even if a damaged guard does not know its change number */
        unlink(machine_path(s->machine, "/" GUARD_PATH, path));
        unlink(machine_path(s->machine, "/" SETUP_PUT_BACK, path));
    }
    if (!st)
        setup_say(s, "snapshot: change %" PRIu64 ", sealed in /" SETUP_SNAPSHOT, head.change_number);
    return st;
}
