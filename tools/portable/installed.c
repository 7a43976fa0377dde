/* installed.c - see installed.h. */
#include "tools/portable/installed.h"

#include "tools/portable/payload.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define DAEMON "/usr/sbin/autologgerd"
#define COMMAND "/usr/bin/autologger"
#define UNITS "/usr/lib/autologger/autologger-units"
#define PROCESSES "/usr/lib/autologger/autologger-processes"
#define UNWIND "/usr/lib/autologger/autologger-unwind"
#define PROFILES "/usr/share/autologger/profiles/"

enum { PATH_ROOM = 512 };

static wstatus failed(struct reason *why, const char *path)
{
    int error = errno;
    return reason_set(why, wstatus_from_errno(error), "%s: %s", path, strerror(error));
}

/* ---- the list: a path a line; folders end with '/' ---- */

static char *installed_list_read(void)
{
    FILE  *f    = fopen(INSTALLED_LIST, "re");
    char  *text = NULL;
    size_t size = 0;
    if (f && getdelim(&text, &size, 0, f) < 0) {
        free(text);
        text = NULL;
    }
    if (f)
        fclose(f);
    return text;
}

static bool list_has(const char *list, const char *path)
{
    size_t n = strlen(path);
    for (const char *p = list ? strstr(list, path) : NULL; p; p = strstr(p + 1, path))
        if ((p == list || p[-1] == '\n') && p[n] == '\n')
            return true;
    return false;
}

static wstatus installed_list_add(const char *path, struct reason *why)
{
    FILE *f = fopen(INSTALLED_LIST, "ae");
    if (!f)
        return failed(why, INSTALLED_LIST);
    bool fine = fprintf(f, "%s\n", path) > 0 && fflush(f) == 0 && fsync(fileno(f)) == 0;
    fine &= fclose(f) == 0;
    return fine ? W_SUCCESS : failed(why, INSTALLED_LIST);
}

bool installed_here(void) { return access(INSTALLED_LIST, F_OK) == 0; }

/* ---- putting ---- */

/* Makes the missing folders above `path`; each is in the list before it is made. */
static wstatus folders_make(const char *path, bool listed, struct reason *why)
{
    char    folder[PATH_ROOM];
    wstatus st;
    for (const char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
        snprintf(folder, sizeof folder, "%.*s/", (int)(p - path), path);
        if (access(folder, F_OK) == 0)
            continue;
        if (listed && (st = installed_list_add(folder, why)))
            return st;
        if (mkdir(folder, 0755) < 0)
            return failed(why, folder);
    }
    return W_SUCCESS;
}

/* Writes the file beside, then renames it: the file of a running program is not written into. */
static wstatus bytes_put(const char *path, unsigned mode, const unsigned char *data, size_t size, struct reason *why)
{
    char beside[PATH_ROOM];
    snprintf(beside, sizeof beside, "%s.new", path);
    int fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0)
        return failed(why, path);
    bool fine = true;
    while (size && fine) {
        ssize_t n = write(fd, data, size);
        fine      = n > 0;
        data += fine ? n : 0;
        size -= fine ? (size_t)n : 0;
    }
    fine      = fine && fchmod(fd, mode) == 0 && fsync(fd) == 0;
    int error = errno;
    close(fd);
    errno = error;
    if (fine && rename(beside, path) == 0)
        return W_SUCCESS;
    wstatus st = failed(why, path);
    unlink(beside);
    return st;
}

/* Puts this program under another name: a copy, because the daemon looks at its own file. */
static wstatus self_put(const char *path, struct reason *why)
{
    char        beside[PATH_ROOM];
    struct stat st;
    snprintf(beside, sizeof beside, "%s.new", path);
    int from  = open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
        to    = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0755);
    bool fine = from >= 0 && to >= 0 && fstat(from, &st) == 0;
    for (off_t at = 0; fine && at < st.st_size;)
        fine = sendfile(to, from, &at, (size_t)(st.st_size - at)) > 0;
    fine      = fine && fchmod(to, 0755) == 0 && fsync(to) == 0 && rename(beside, path) == 0;
    int error = errno;
    close(from);
    close(to);
    errno = error;
    if (fine)
        return W_SUCCESS;
    wstatus status = failed(why, path);
    unlink(beside);
    return status;
}

/* I1. Adds the path to the list before the file is made. */
static wstatus place_take(const char *list, const char *path, struct reason *why)
{
    wstatus st;
    if (access(path, F_OK) == 0 && !list_has(list, path))
        return reason_set(
            why, W_ALREADY_EXISTS,
            "%s is there already and not from this program. Do: use the autologger that is installed, or remove its package",
            path);
    if ((st = folders_make(path, true, why)) || list_has(list, path))
        return st;
    return installed_list_add(path, why);
}

static wstatus all_put(const char *list, struct reason *why)
{
    wstatus st = W_SUCCESS;
    for (size_t i = 0; i < payload_count && !st; i++) {
        const struct payload_file *f = &payload_files[i];
        if (!(st = place_take(list, f->path, why)))
            st = bytes_put(f->path, f->mode, f->start, (size_t)(f->end - f->start), why);
    }
    if (!st && !(st = place_take(list, DAEMON, why)))
        st = self_put(DAEMON, why);
    static const char *const others[] = {COMMAND, UNITS, PROCESSES, UNWIND};
    for (size_t i = 0; i < sizeof others / sizeof *others && !st; i++)
        if (!(st = place_take(list, others[i], why))) {
            unlink(others[i]);
            st = symlink(DAEMON, others[i]) < 0 ? failed(why, others[i]) : W_SUCCESS;
        }
    return st;
}

wstatus installed_put(struct reason *why)
{
    bool    before = installed_here();
    wstatus st     = folders_make(INSTALLED_LIST, false, why);
    if (st)
        return st;
    char *list = installed_list_read();
    st         = all_put(list, why);
    free(list);
    struct reason ignored;
    if (st && !before)
        installed_remove(&ignored);
    return st;
}

/* ---- removing ---- */

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path) < 0 && errno != ENOENT;
}

static void tree_remove(const char *path, wstatus *first, struct reason *why)
{
    if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) != 0 && errno != ENOENT && !*first)
        *first = failed(why, path);
}

wstatus installed_remove(struct reason *why)
{
    static const char *const own[] = {"/run/autologger", "/var/log/autologger", "/var/lib/autologger"};
    char                    *list  = installed_list_read(), *end;
    wstatus                  first = W_SUCCESS;

    if (!list)
        return W_SUCCESS;
    /* from the end: files before the folders that were made for them */
    for (end = list + strlen(list); end > list; *--end = 0) {
        char *start = end - 1;
        while (start > list && start[-1] != '\n')
            start--;
        start[strcspn(start, "\n")] = 0;
        end                         = start + 1;
        size_t n                    = strlen(start);
        if (n < 2 || *start != '/')
            continue;
        if (start[n - 1] == '/')
            rmdir(start); /* fails when it is not empty: then it is not ours alone any more */
        else if (unlink(start) < 0 && errno != ENOENT && !first)
            first = failed(why, start);
    }
    free(list);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) /* the list itself goes last */
        if (!first || i + 1 < sizeof own / sizeof *own)
            tree_remove(own[i], &first, why);
    return first;
}

/* ---- the private folder ---- */

wstatus private_make(char folder[64], struct reason *why)
{
    static const char *const others[] = {"autologger", "autologger-demo", "autologger-units", "autologger-processes",
                                         "autologger-unwind"};
    char                     path[PATH_ROOM];
    wstatus                  st;

    strcpy(folder, "/tmp/autologger-portable-XXXXXX");
    if (!mkdtemp(folder))
        return failed(why, "/tmp");
    /* the layout of a source tree with a build in it, where the command finds the profiles by itself */
    snprintf(path, sizeof path, "%s/bin/autologgerd", folder);
    if ((st = folders_make(path, false, why)) || (st = self_put(path, why)))
        return st;
    char other[PATH_ROOM];
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        snprintf(other, sizeof other, "%s/bin/%s", folder, others[i]);
        if (link(path, other) < 0)
            return failed(why, other);
    }
    for (size_t i = 0; i < payload_count && !st; i++)
        if (!strncmp(payload_files[i].path, PROFILES, strlen(PROFILES))) {
            snprintf(path, sizeof path, "%s/config/profiles/%s", folder, payload_files[i].path + strlen(PROFILES));
            if (!(st = folders_make(path, false, why)))
                st = bytes_put(path, payload_files[i].mode, payload_files[i].start,
                               (size_t)(payload_files[i].end - payload_files[i].start), why);
        }
    return st;
}

void private_remove(const char *folder)
{
    wstatus       first = W_SUCCESS;
    struct reason ignored;
    if (*folder)
        tree_remove(folder, &first, &ignored);
}
