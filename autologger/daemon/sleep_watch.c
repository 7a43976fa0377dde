#include "autologger/daemon/sleep_watch.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { READ_APART_NS = 10000000 };  /* the two clocks are not read at one instant; a sleep is longer than this */
#define NEVER_S INT64_C(8000000000) /* the year 2223 */

static uint64_t sleep_watch_clock_ns(clockid_t id)
{
    struct timespec t = {0};
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool arm(int fd)
{
    const struct itimerspec never = {.it_value = {.tv_sec = NEVER_S}};
    return timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL) == 0 || errno == ECANCELED;
}

bool sleep_watch_open(struct sleep_watch *w)
{
    w->fd       = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    w->apart_ns = sleep_watch_clock_ns(CLOCK_BOOTTIME) - sleep_watch_clock_ns(CLOCK_MONOTONIC);
    if (w->fd >= 0 && arm(w->fd))
        return true;
    int error = errno;
    sleep_watch_close(w);
    errno = error;
    return false;
}

void sleep_watch_close(struct sleep_watch *w)
{
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
}

uint64_t sleep_watch_slept(struct sleep_watch *w, uint64_t boottime_ns, uint64_t monotonic_ns)
{
    uint64_t apart = boottime_ns - monotonic_ns, slept;
    if (boottime_ns < monotonic_ns || apart < w->apart_ns + READ_APART_NS)
        return 0;
    slept       = apart - w->apart_ns;
    w->apart_ns = apart;
    return slept;
}

uint64_t sleep_watch_step(struct sleep_watch *w)
{
    uint64_t expired;
    if (w->fd < 0 || read(w->fd, &expired, sizeof expired) >= 0 || errno != ECANCELED)
        return 0;
    arm(w->fd);
    uint64_t monotonic = sleep_watch_clock_ns(CLOCK_MONOTONIC);
    return sleep_watch_slept(w, sleep_watch_clock_ns(CLOCK_BOOTTIME), monotonic);
}
