/* setup_logs.c - readers of the log files: the group "autologger", where the machine has one. See setup.h. */
#include "tools/setup/setup.h"

#include "registry-sim/base/os.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOLDER_MODE = 02750 }; /* files made below it are the group's, too, with the mode 0640 */
static const char group_name[] = "autologger";

/* The machine's own group: that of its /etc/group. */
static bool group_of(const struct machine *m, gid_t *out)
{
    char          path[MACHINE_PATH];
    FILE         *f     = fopen(machine_path(m, "/etc/group", path), "re");
    struct group *g     = NULL;
    bool          found = false;

    while (f && !found && (g = fgetgrent(f)))
        if (strcmp(g->gr_name, group_name) == 0) {
            *out  = g->gr_gid;
            found = true;
        }
    if (f)
        fclose(f);
    return found;
}

void setup_logs(struct setup *s, const char *log_dir)
{
    char        path[MACHINE_PATH], below[MACHINE_PATH + 2];
    struct stat st;
    gid_t       group = 0;

    if (!group_of(s->machine, &group))
        return;
    snprintf(below, sizeof below, "%s/", machine_path(s->machine, log_dir, path));
    int rc = os_mkdir_parents(os_linux(), below, 0755);
    if (rc < 0 || lstat(path, &st) < 0 || !S_ISDIR(st.st_mode)) {
        setup_say(s, "log folder: %s cannot be made: %s", log_dir, rc < 0 ? strerror(-rc) : "it is no folder");
        return;
    }
    if (st.st_gid == group && (st.st_mode & 07777) == FOLDER_MODE)
        return;
    if (st.st_gid != 0 && st.st_gid != group) {
        setup_say(s, "log folder: %s is another group's already, and stays it", log_dir);
        return;
    }
    if (lchown(path, (uid_t)-1, group) < 0 || chmod(path, FOLDER_MODE) < 0)
        setup_say(s, "log folder: %s cannot be given to the group %s: %s", log_dir, group_name, strerror(errno));
    else
        setup_say(s, "log folder: %s is readable for root and the group %s", log_dir, group_name);
}
