/* clock_kept.c - see clock_kept.h. */
#include "registry-sim/base/clock_kept.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BOOT_ID = 36, TEXT = BOOT_ID + 32, PATH_MOST = 256 };

const char *clock_kept_path(void)
{
    const char *path = getenv("AUTOLOGGER_CLOCK");
    return path && *path ? path : "/run/autologger/clock";
}

static size_t clock_kept_text_read(int fd, char out[TEXT])
{
    const ssize_t n    = fd < 0 ? -1 : read(fd, out, TEXT - 1);
    out[n > 0 ? n : 0] = 0;
    return n > 0 ? (size_t)n : 0;
}

/* False: /proc is not there. */
static bool clock_kept_boot_id(char out[TEXT])
{
    int          fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    const size_t n  = clock_kept_text_read(fd, out);
    if (fd >= 0)
        close(fd);
    out[BOOT_ID] = 0;
    return n > BOOT_ID;
}

uint64_t clock_kept_read(const char *path)
{
    char        text[TEXT], id[TEXT];
    struct stat st;
    uint64_t    hz = 0;
    int         fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return 0;
    const bool ours =
        fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_uid == 0 || st.st_uid == geteuid()) && !(st.st_mode & 022);
    if (ours && clock_kept_text_read(fd, text) > BOOT_ID + 1 && clock_kept_boot_id(id) &&
        memcmp(text, id, BOOT_ID) == 0)
        hz = strtoull(text + BOOT_ID, NULL, 10);
    close(fd);
    return hz;
}

/* Creates the whole file or none: writes it under a name of its own, then links it to `path`. */
static void clock_kept_make(const char *path, uint64_t hz)
{
    char text[TEXT], id[TEXT], own[PATH_MOST];
    if (!clock_kept_boot_id(id) || snprintf(own, sizeof own, "%s.%d", path, (int)getpid()) >= (int)sizeof own)
        return;
    const int n  = snprintf(text, sizeof text, "%s %llu\n", id, (unsigned long long)hz);
    int       fd = open(own, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return;
    const bool whole = fchmod(fd, 0644) == 0 && write(fd, text, (size_t)n) == n;
    close(fd);
    if (whole && link(own, path) < 0 && !clock_kept_read(path)) /* the present file is of another boot, or invalid */
        rename(own, path);
    unlink(own);
}

uint64_t clock_kept_write(const char *path, uint64_t hz)
{
    char dir[PATH_MOST];
    if (snprintf(dir, sizeof dir, "%s", path) < (int)sizeof dir && strrchr(dir, '/') > dir) {
        *strrchr(dir, '/') = 0;
        mkdir(dir, 0755);
    }
    clock_kept_make(path, hz);
    const uint64_t kept = clock_kept_read(path);
    return kept ? kept : hz;
}
