#include "autologger/ring/quiesce.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CPUS_MAX = 8192 };

/* Marks the CPUs of a list such as "0-3,8". False: no such file (every possible CPU is tried then). */
static bool online_cpus(cpu_set_t *set, size_t set_size)
{
    char text[4096];
    int  fd = open("/sys/devices/system/cpu/online", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return false;
    text[n] = 0;
    for (char *p = text; *p >= '0' && *p <= '9';) {
        unsigned long first = strtoul(p, &p, 10), last = first;
        if (*p == '-')
            last = strtoul(p + 1, &p, 10);
        for (; first <= last && first < CPUS_MAX; first++)
            CPU_SET_S(first, set_size, set);
        if (*p == ',')
            p++;
    }
    return true;
}

wstatus quiesce_all_cpus(struct reason *why)
{
    const size_t size   = CPU_ALLOC_SIZE(CPUS_MAX);
    cpu_set_t   *before = CPU_ALLOC(CPUS_MAX), *online = CPU_ALLOC(CPUS_MAX), *one = CPU_ALLOC(CPUS_MAX);
    wstatus      status = W_SUCCESS;

    if (!before || !online || !one) {
        status = reason_set(why, W_OUTOFMEMORY, "no memory for CPU sets");
        goto out;
    }
    if (sched_getaffinity(0, size, before) < 0) {
        status =
            reason_set(why, wstatus_from_errno(errno), "the CPUs of this thread can't be read: %s", strerror(errno));
        goto out;
    }
    CPU_ZERO_S(size, online);
    bool known = online_cpus(online, size);
    long count = sysconf(_SC_NPROCESSORS_CONF);
    for (int cpu = 0; cpu < CPUS_MAX; cpu++) {
        if (known ? !CPU_ISSET_S(cpu, size, online) : cpu >= count)
            continue;
        CPU_ZERO_S(size, one);
        CPU_SET_S(cpu, size, one);
        if (sched_setaffinity(0, size, one) < 0 && known)
            status = reason_set(why, W_ACCESS_DENIED, "CPU %d can't be visited: %s", cpu, strerror(errno));
    }
    sched_setaffinity(0, size, before);
out:
    CPU_FREE(before);
    CPU_FREE(online);
    CPU_FREE(one);
    return status;
}

bool quiesce_visit(unsigned cpu, void (*run)(void *ctx), void *ctx)
{
    const size_t size   = CPU_ALLOC_SIZE(CPUS_MAX);
    cpu_set_t   *before = CPU_ALLOC(CPUS_MAX), *one = CPU_ALLOC(CPUS_MAX);
    bool         there = before && one && cpu < CPUS_MAX && sched_getaffinity(0, size, before) >= 0;

    if (there) {
        CPU_ZERO_S(size, one);
        CPU_SET_S(cpu, size, one);
        there = sched_setaffinity(0, size, one) == 0;
    }
    if (there) {
        run(ctx);
        sched_setaffinity(0, size, before);
    }
    CPU_FREE(before);
    CPU_FREE(one);
    return there;
}
