/* set_state.c - see set_state.h. */
#include "tools/sets/set_state.h"
#include "autologger/control/client.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *set_state_path(const char *runtime_dir, const char *name, char out[1024])
{
    snprintf(out, 1024, "%s/sets/%s", runtime_dir ? runtime_dir : control_runtime_dir(), name);
    return out;
}

wstatus set_state_write(int fd, const char *result, struct reason *why)
{
    char      text[1200];
    const int n = snprintf(text, sizeof text, "%d\n%s\n", (int)getpid(), result);
    if (ftruncate(fd, 0) || pwrite(fd, text, (size_t)n, 0) != n)
        return reason_set(why, wstatus_from_errno(errno), "the state of the set: %s", strerror(errno));
    return W_SUCCESS;
}

wstatus set_state_take(const char *runtime_dir, const char *name, int *fd, struct reason *why)
{
    char path[1024], *slash;
    set_state_path(runtime_dir, name, path);
    slash  = strrchr(path, '/');
    *slash = 0;
    mkdir(path, 0700);
    *slash = '/';
    *fd    = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (*fd < 0)
        return reason_set(why, wstatus_from_errno(errno), "%s: %s", path, strerror(errno));
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(*fd, F_OFD_SETLK, &lock) == 0) {
        const wstatus st = set_state_write(*fd, "", why);
        if (!st)
            return W_SUCCESS;
        close(*fd);
        *fd = -1;
        return st;
    }
    close(*fd);
    *fd = -1;
    return reason_set(why, W_ALREADY_EXISTS, "set \"%s\" runs. Do: autologger set stop %s", name, name);
}

bool set_state_read(const char *runtime_dir, const char *name, struct set_state *out)
{
    char      path[1024], text[1200];
    const int fd = open(set_state_path(runtime_dir, name, path), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    *out         = (struct set_state){0};
    if (fd < 0)
        return false;
    const ssize_t n    = pread(fd, text, sizeof text - 1, 0);
    struct flock  lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    out->running       = fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    close(fd);
    text[n > 0 ? n : 0] = 0;
    char *line          = strchr(text, '\n');
    if (line) {
        out->pid = (pid_t)atoi(text);
        snprintf(out->result, sizeof out->result, "%.*s", (int)strcspn(line + 1, "\n"), line + 1);
    }
    return true;
}

bool set_state_signal(const char *runtime_dir, const char *name, pid_t pid)
{
    struct set_state now;
    const int        fd = pid > 1 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    /* the descriptor is of the process that had the number while the state named it */
    const bool ok = fd >= 0 && set_state_read(runtime_dir, name, &now) && now.running && now.pid == pid &&
                    syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0) == 0;
    const int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return ok;
}

void set_state_spelling(const char *runtime_dir, const char **name)
{
    static char found[256];
    char        path[1024];
    set_state_path(runtime_dir, "", path);
    DIR *d = opendir(path);
    for (const struct dirent *e; d && (e = readdir(d));)
        if (strcasecmp(e->d_name, *name) == 0) {
            snprintf(found, sizeof found, "%s", e->d_name);
            *name = found;
            break;
        }
    if (d)
        closedir(d);
}

void set_state_release(int fd)
{
    if (fd >= 0)
        close(fd);
}
