/* date_watch.c - a timer that never expires, and that the kernel cancels when the date is set. See date_watch.h. */
#include "autologger/daemon/date_watch.h"

#include <errno.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <unistd.h>

int date_watch_open(void)
{
    enum { NEVER = 0x7fffffff }; /* s since 1970: the year 2038 at the earliest, and armed anew then */
    const struct itimerspec never = {.it_value = {.tv_sec = NEVER}, .it_interval = {.tv_sec = NEVER}};
    int                     fd    = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (fd >= 0 && timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL) < 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

bool date_watch_was_set(int fd)
{
    uint64_t count;
    return fd >= 0 && read(fd, &count, sizeof count) < 0 && errno == ECANCELED;
}
