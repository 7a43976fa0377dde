#include "autologger/daemon/machine_key.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

int machine_key_random(uint8_t out[MACHINE_KEY_SIZE])
{
    return getrandom(out, MACHINE_KEY_SIZE, 0) == MACHINE_KEY_SIZE;
}

static wstatus daemon_machine_key_read(int fd, const char *path, uint8_t out[MACHINE_KEY_SIZE], struct reason *why)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 077 ||
        st.st_size != MACHINE_KEY_SIZE)
        return reason_set(why, W_INVALID_DATA,
                          "%s is no key: %d bytes that its owner, the daemon's user, alone may read", path,
                          MACHINE_KEY_SIZE);
    return pread(fd, out, MACHINE_KEY_SIZE, 0) == MACHINE_KEY_SIZE
               ? W_SUCCESS
               : reason_set(why, wstatus_from_errno(errno), "%s: %s", path, strerror(errno));
}

/* Makes it whole or not at all, also where two daemons do: the first link stays. */
static int machine_key_make(const char *path)
{
    uint8_t   key[MACHINE_KEY_SIZE];
    char      made[PATH_MAX + 32];
    const int length = snprintf(made, sizeof made, "%s.%d", path, (int)getpid());
    unlink(made);
    const int fd = length < (int)sizeof made && machine_key_random(key)
                       ? open(made, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)
                       : -1;
    int       e  = fd < 0 ? errno : 0;
    if (fd >= 0 &&
        (write(fd, key, sizeof key) != sizeof key || fsync(fd) < 0 || (link(made, path) < 0 && errno != EEXIST)))
        e = errno;
    if (fd >= 0)
        close(fd);
    unlink(made);
    return e;
}

static wstatus key_open(const char *path, uint8_t out[MACHINE_KEY_SIZE], struct reason *why)
{
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return reason_set(why, wstatus_from_errno(errno), "%s: %s", path, strerror(errno));
    const wstatus st = daemon_machine_key_read(fd, path, out, why);
    close(fd);
    return st;
}

static wstatus key_path(const char *store, char out[PATH_MAX], struct reason *why)
{
    const char *slash = strrchr(store, '/');
    if (snprintf(out, PATH_MAX, "%.*skey", slash ? (int)(slash + 1 - store) : 0, store) >= PATH_MAX)
        return reason_set(why, W_FILENAME_EXCED_RANGE, "%s: the path is too long", store);
    return W_SUCCESS;
}

wstatus machine_key_read(const char *store, uint8_t out[MACHINE_KEY_SIZE], struct reason *why)
{
    char          path[PATH_MAX];
    const wstatus st = key_path(store, path, why);
    return st ? st : key_open(path, out, why);
}

wstatus machine_key_load(const char *store, uint8_t out[MACHINE_KEY_SIZE], struct reason *why)
{
    char    path[PATH_MAX];
    wstatus st = key_path(store, path, why);
    st         = st ? st : key_open(path, out, why);
    if (st != W_FILE_NOT_FOUND)
        return st;
    const int e = machine_key_make(path);
    return e ? reason_set(why, wstatus_from_errno(e), "%s cannot be made: %s", path, strerror(e))
             : key_open(path, out, why);
}
