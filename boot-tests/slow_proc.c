/* slow_proc - a library to preload: delays the next openat() of the daemon's kernel-drain thread by the ms in the file
 * $SLOW_PROC, and removes that file. /proc is as slow where the kernel waits for another process. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define SEEN __attribute__((visibility("default")))

static void wait_once(void)
{
    char        name[17] = "", text[16] = "";
    const char *path = getenv("SLOW_PROC");
    prctl(PR_GET_NAME, name);
    const int fd = path && strcmp(name, "kernel-drain") == 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    const ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    unlink(path);
    usleep(n > 0 ? (useconds_t)strtoul(text, NULL, 10) * 1000 : 0);
}

SEEN int openat(int folder, const char *path, int flags, ...)
{
    static int (*next)(int, const char *, int, ...);
    va_list more;
    va_start(more, flags);
    const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
    va_end(more);
    if (!next)
        next = (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, "openat");
    wait_once();
    return next(folder, path, flags, mode);
}
