/* cpu_watch.c - see cpu_watch.h. */
#include "autologger/daemon/end/cpu_watch.h"

#include <linux/filter.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* Only the uevents "online@..." and "offline@..." begin with this letter; only processors and memory have them. */
static int uevents_open(void)
{
    static struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 'o', 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0xFFFF),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    const struct sock_fprog  program = {sizeof code / sizeof *code, code};
    const struct sockaddr_nl kernel  = {.nl_family = AF_NETLINK, .nl_groups = 1};
    int                      fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);
    if (fd >= 0 && (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) < 0 ||
                    bind(fd, (const struct sockaddr *)&kernel, sizeof kernel) < 0)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

int cpu_watch_open(void)
{
    const struct itimerspec second = {{1, 0}, {1, 0}};
    int                     fd     = uevents_open();
    if (fd >= 0)
        return fd;
    fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (fd >= 0)
        timerfd_settime(fd, 0, &second, NULL);
    return fd;
}

void cpu_watch_empty(int fd)
{
    char drop[8192];
    while (read(fd, drop, sizeof drop) > 0)
        ;
}
