/* collector.c - the server's side: starts the collector, and gives up rights. See collector.h; the process is
 * collector_run.c. */
#include "autologger/daemon/parts/collector.h"

#include "autologger/daemon/self_start.h"
#include "autologger/kernel/source/reach.h"
#include "autologger/kernel/source/rights.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define BIT(capability) (UINT64_C(1) << (capability))
#define KEPT(capability) | BIT(capability)
static const uint64_t server_keeps = 0
#include "autologger/daemon/parts/server_rights.def"
    ;
#undef KEPT

/* Limits that a process without capabilities may not raise: rings are locked memory, and the thread that drains them
 * comes before all ordinary work. */
static void limits_raise(void)
{
    const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
    struct rlimit       first;
    setrlimit(RLIMIT_MEMLOCK, &none);
    if (getrlimit(RLIMIT_RTPRIO, &first) == 0 && first.rlim_cur < 1)
        setrlimit(RLIMIT_RTPRIO, &(struct rlimit){1, first.rlim_max < 1 ? 1 : first.rlim_max});
}

/* Before Linux 6.0 a kernel with unprivileged_bpf_disabled lets only processes with CAP_BPF write to a map, whoever
 * made it. */
static uint64_t of_old_kernels(void)
{
    struct utsname u;
    return uname(&u) == 0 && strtoul(u.release, NULL, 10) >= 6 ? 0 : BIT(CAP_BPF) | BIT(CAP_SYS_ADMIN);
}

/* The bounding set needs CAP_SETPCAP, so it is dropped first; without that capability it stays, and an executed program
 * has its rights again. */
static int rights_reduce(uint64_t keeps)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct   data[2];

    if (syscall(SYS_capget, &head, data) < 0)
        return -errno;
    rights_far(data[0].effective | (uint64_t)data[1].effective << 32);
    for (int i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
        if (!(keeps & BIT(i)))
            prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
    for (unsigned i = 0; i < 2; i++) {
        data[i].permitted &= (uint32_t)(keeps >> 32 * i);
        data[i].effective &= (uint32_t)(keeps >> 32 * i);
        data[i].inheritable = 0;
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
        syscall(SYS_capset, &head, data) < 0)
        return -errno;
    return 0;
}

wstatus collector_begin(bool kept, bool chown, struct reason *why)
{
    limits_raise();
    const int fd = self_start(COLLECTOR_WORD);
    if (fd < 0)
        return reason_set(why, wstatus_from_errno(errno), "the process that keeps the rights cannot be started: %s",
                          strerror(errno));
    reach_through(fd, kept);
    const int r = rights_reduce(server_keeps | of_old_kernels() | (chown ? BIT(CAP_CHOWN) : 0));
    return r == 0 ? W_SUCCESS : reason_set(why, wstatus_from_errno(-r), "rights cannot be given up: %s", strerror(-r));
}

int collector_launch(const char *word)
{
    if (!reach_is_far())
        return self_start(word);
    const int r = reach_launch(word);
    if (r < 0)
        errno = -r;
    return r < 0 ? -1 : r;
}
