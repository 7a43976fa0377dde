#include "registry-sim/base/opening.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { HOW = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY };
static const struct opening *opener;

void opening_by(const struct opening *by) { opener = by; }

int opening_file(const char *path, int flags)
{
    return opener ? opener->open(opener->ctx, path) : open(path, HOW | flags);
}

int opening_regular(const char *path)
{
    struct stat st;

    if (opener)
        return opener->open(opener->ctx, path);
    if (stat(path, &st) < 0)
        return -1;
    if (!S_ISREG(st.st_mode)) {
        errno = EINVAL;
        return -1;
    }
    return open(path, HOW);
}

FILE *opening_stream(const char *path)
{
    const int fd = opening_file(path, 0);
    FILE     *f  = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (fd >= 0 && !f)
        close(fd);
    return f;
}

int opening_elf_for(const char *path)
{
    const struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS};
    struct stat           st;
    char                  magic[SELFMAG], shown[40];

    if (opener)
        return opener->open(opener->ctx, path);
    if (path[0] != '/' || strncmp(path, "/proc/", 6) == 0) {
        errno = EACCES;
        return -1;
    }
    int at = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
    /* an old kernel, a daemon with --confine, or a process that gave up its rights */
    if (at < 0 && (errno == ENOSYS || errno == EPERM))
        at = open(path, O_PATH | O_CLOEXEC);
    if (at < 0)
        return -1;
    const bool regular = fstat(at, &st) == 0 && S_ISREG(st.st_mode);
    snprintf(shown, sizeof shown, "/proc/self/fd/%d", at);
    int fd = regular ? open(shown, HOW) : -1; /* the file that was checked, whatever its path leads to now */
    close(at);
    if (fd >= 0 && pread(fd, magic, sizeof magic, 0) == (ssize_t)sizeof magic && memcmp(magic, ELFMAG, SELFMAG) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    errno = EACCES;
    return -1;
}
