#include "autologger/units/cgroup.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_ROOM = 4096, FOLDERS_MOST = 64 /* the owner of the group can make any number */ };
/* Version 2 beside version 1, or alone; then systemd's own hierarchy of version 1. */
static const char *const cgroup_roots[] = {"/sys/fs/cgroup/unified", "/sys/fs/cgroup", "/sys/fs/cgroup/systemd"};
enum { ROOTS = sizeof cgroup_roots / sizeof *cgroup_roots, ROOTS_OF_2 = 2 /* version 1 has other ids */ };

static bool full_path(unsigned root, const char *path, char out[PATH_ROOM])
{
    return snprintf(out, PATH_ROOM, "%s%s", cgroup_roots[root], path) < PATH_ROOM;
}

uint64_t cgroup_id(const char *path)
{
    char        full[PATH_ROOM];
    struct stat st;

    for (unsigned i = 0; path && *path && i < ROOTS_OF_2; i++)
        if (full_path(i, path, full) && stat(full, &st) == 0)
            return st.st_ino;
    return 0;
}

static unsigned cgroup_processes_read(const char *folder, uint32_t *pid, unsigned most)
{
    char     path[PATH_ROOM + 400];
    unsigned n = 0;

    snprintf(path, sizeof path, "%s/cgroup.procs", folder);
    FILE *f = fopen(path, "re");
    while (f && n < most && fscanf(f, "%u", &pid[n]) == 1)
        n += pid[n] != 0; /* 0: in a pid namespace that is not visible here */
    if (f)
        fclose(f);
    return n;
}

/* One level: a service with groups of its own (Delegate=) keeps its processes in these. */
static unsigned processes_below(const char *folder, uint32_t *pid, unsigned most)
{
    char           path[PATH_ROOM + 300];
    unsigned       n = 0, folders = 0;
    DIR           *d = opendir(folder);
    struct dirent *e;

    while (d && n < most && folders < FOLDERS_MOST && (e = readdir(d)))
        if (e->d_type == DT_DIR && *e->d_name != '.') {
            folders++;
            snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
            n += cgroup_processes_read(path, pid + n, most - n);
        }
    if (d)
        closedir(d);
    return n;
}

unsigned cgroup_processes(const char *path, uint32_t *pid, unsigned most)
{
    char     full[PATH_ROOM];
    unsigned n = 0;

    for (unsigned i = 0; *path && i < ROOTS && !n; i++)
        if (full_path(i, path, full)) {
            n = cgroup_processes_read(full, pid, most);
            n = n ? n : processes_below(full, pid, most);
        }
    return n;
}
