/* date_shift.c - a library to preload: shifts CLOCK_REALTIME by the seconds in the file $DATE_SHIFT. A system's date
 * cannot be set for one test alone. Not for: vDSO users other than libc's clock_gettime. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *t);

int clock_gettime(clockid_t id, struct timespec *t)
{
    const int   r    = (int)syscall(SYS_clock_gettime, id, t);
    const char *path = id == CLOCK_REALTIME ? getenv("DATE_SHIFT") : NULL;
    int         fd   = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        char          text[32];
        const ssize_t n = read(fd, text, sizeof text - 1);
        close(fd);
        text[n > 0 ? n : 0] = 0;
        t->tv_sec += strtoll(text, NULL, 10);
    }
    return r;
}
