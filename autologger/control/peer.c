#include "autologger/control/peer.h"
#include "autologger/kernel/source/reach.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* From newer kernels than the headers may be: <linux/pidfd.h>, <linux/magic.h>, <asm/socket.h>. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif
#define PIDFS_MAGIC 0x50494446
enum { IOCTL_PID_NAMESPACE = 5, IOCTL_USER_NAMESPACE = 9, INFO_CGROUP = 1 << 2, TEXT_MOST = 4096 };
struct peer_info { /* struct pidfd_info, first version */
    uint64_t mask, cgroup;
    uint32_t pid, tgid, ppid, ids[8];
    int32_t  exit_code;
};
_Static_assert(sizeof(struct peer_info) == 64, "PIDFD_INFO_SIZE_VER0");
#define IOCTL_INFO _IOWR(0xFF, 11, struct peer_info)

bool peer_ended(int pidfd)
{
    struct pollfd p = {.fd = pidfd, .events = POLLIN};
    return pidfd >= 0 && poll(&p, 1, 0) > 0;
}

static int open_process(uint32_t pid) { return pid ? (int)syscall(SYS_pidfd_open, (pid_t)pid, 0) : -1; }

/* ---- from /proc ---- */

/* The open folder stays that process', even if its pid is reused. */
static int peer_folder_open(int proc_fd, uint32_t pid)
{
    char path[32];
    snprintf(path, sizeof path, proc_fd > 0 ? "%u" : "/proc/%u", pid);
    return !pid          ? -1
           : proc_fd > 0 ? openat(proc_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC)
                         : open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static bool peer_text_read(int folder, const char *name, char out[TEXT_MOST])
{
    const int fd = folder >= 0 ? openat(folder, name, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t   n  = fd >= 0 ? read(fd, out, TEXT_MOST - 1) : -1;
    if (fd >= 0)
        close(fd);
    out[n > 0 ? n : 0] = 0;
    return n > 0;
}

/* Field 22 of stat, counted from after the name, which may hold anything. 0: the process is gone. */
static uint64_t start_of(int folder)
{
    char  text[TEXT_MOST];
    char *p = peer_text_read(folder, "stat", text) ? strrchr(text, ')') : NULL;
    for (int field = 2; p && field < 22; field++)
        p = strchr(p + 1, ' ');
    return p ? strtoull(p + 1, NULL, 10) : 0;
}

struct credentials {
    uint32_t uid, gid; /* effective */
    uint64_t permitted;
};

/* Number `which` of the line that begins with `name`. The kernel escapes newlines in the process' own name. */
static bool peer_number_of(const char *text, const char *name, unsigned which, int base, uint64_t *out)
{
    const char *p   = strstr(text, name);
    char       *end = NULL;
    p               = p ? p + strlen(name) : NULL;
    for (unsigned i = 0; p && i <= which; i++, p = end) {
        *out = strtoull(p, &end, base);
        if (end == p)
            return false;
    }
    return p != NULL;
}

static bool credentials_of(int folder, struct credentials *out)
{
    char     text[TEXT_MOST];
    uint64_t uid, gid;
    if (!peer_text_read(folder, "status", text) || !peer_number_of(text, "\nUid:", 1, 10, &uid) ||
        !peer_number_of(text, "\nGid:", 1, 10, &gid) || !peer_number_of(text, "\nCapPrm:", 0, 16, &out->permitted))
        return false;
    out->uid = (uint32_t)uid;
    out->gid = (uint32_t)gid;
    return true;
}

/* ---- from a pidfd ---- */

static uint64_t pidfs_number(int pidfd)
{
    struct statfs fs;
    struct stat   st;
    return pidfd >= 0 && fstatfs(pidfd, &fs) == 0 && fs.f_type == PIDFS_MAGIC && fstat(pidfd, &st) == 0 ? st.st_ino : 0;
}

static uint64_t peer_cgroup_of(int pidfd)
{
    struct peer_info i = {.mask = INFO_CGROUP};
    return pidfd >= 0 && ioctl(pidfd, IOCTL_INFO, &i) == 0 && i.mask & INFO_CGROUP ? i.cgroup : 0;
}

/* The inode of a namespace; 0: unknown. A pidfd works without /proc (Linux 6.11). */
static uint64_t peer_space_of(int pidfd, unsigned long request, int proc_fd, uint32_t pid, const char *name)
{
    char        path[48];
    struct stat st = {0};
    int         fd = pidfd >= 0 ? ioctl(pidfd, _IO(0xFF, request), 0) : -1;
    if (fd < 0 && pid) {
        snprintf(path, sizeof path, proc_fd > 0 ? "%u/ns/%s" : "/proc/%u/ns/%s", pid, name);
        fd = proc_fd > 0 ? reach_open(proc_fd, path) : open(path, O_RDONLY | O_CLOEXEC);
    }
    const bool ok = fd >= 0 && fstat(fd, &st) == 0;
    if (fd >= 0)
        close(fd);
    return ok ? st.st_ino : 0;
}

/* Namespaces matter for root alone (peer_native). Where this process has no right to look, those of other users'
 * processes are requested over a socket: once for each process, else a user who connects again and again would cost a
 * round for each. */
enum { SPACES_KNOWN = 64 };
static __thread struct peer_spaces {
    uint64_t process, user_ns, pid_ns;
} peer_known[SPACES_KNOWN];

static void spaces_of(int pidfd, int proc_fd, uint32_t pid, struct state_connection *out)
{
    struct peer_spaces *k   = &peer_known[out->process % SPACES_KNOWN];
    const bool          far = reach_is_far() && out->uid && out->process;
    if (far && k->process == out->process) {
        out->user_ns = k->user_ns;
        out->pid_ns  = k->pid_ns;
        return;
    }
    out->user_ns = peer_space_of(pidfd, IOCTL_USER_NAMESPACE, proc_fd, pid, "user");
    out->pid_ns  = peer_space_of(pidfd, IOCTL_PID_NAMESPACE, proc_fd, pid, "pid");
    if (far && out->user_ns && out->pid_ns)
        *k = (struct peer_spaces){out->process, out->user_ns, out->pid_ns};
}

/* ---- the process of a connection ---- */

/* The socket's own process. An older kernel knows only its pid. *gone: the kernel says that it has ended. */
static int pidfd_of(int fd, uint32_t pid, bool *gone)
{
    int       pidfd = -1;
    socklen_t size  = sizeof pidfd;
    *gone           = false;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) == 0)
        return pidfd;
    *gone = errno == ESRCH || errno == EINVAL; /* depends on the kernel's version */
    return *gone ? -1 : open_process(pid);
}

bool peer_user(int fd, struct state_connection *out)
{
    struct ucred who;
    socklen_t    size = sizeof who;
    *out              = (struct state_connection){0};
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0)
        return false;
    out->uid = who.uid, out->gid = who.gid, out->pid = (uint32_t)who.pid;
    return true;
}

enum peer_found peer_take(int fd, int proc_fd, struct state_connection *out, int *pidfd)
{
    bool gone;
    *pidfd = -1;
    if (!peer_user(fd, out))
        return PEER_UNKNOWN;
    *pidfd = pidfd_of(fd, out->pid, &gone);
    if (gone)
        return PEER_GONE;
    const int          folder = peer_folder_open(proc_fd, out->pid);
    const uint64_t     start  = start_of(folder);
    struct credentials now    = {.permitted = 0};
    out->process              = pidfs_number(*pidfd);
    spaces_of(*pidfd, proc_fd, out->pid, out);
    out->permitted = credentials_of(folder, &now) ? now.permitted : 0;
    out->cgroup    = peer_cgroup_of(*pidfd);
    /* the pid was this process' all the time: it lives now, and its start is the same as before */
    if (*pidfd >= 0 && !peer_ended(*pidfd) && start == start_of(folder))
        out->start = start;
    else
        out->user_ns = out->pid_ns = out->permitted = out->cgroup = 0;
    if (folder >= 0)
        close(folder);
    return peer_ended(*pidfd) ? PEER_GONE : PEER_LIVES;
}

bool peer_again(int fd, int proc_fd, const struct state_connection *who, int *pidfd)
{
    bool gone;
    *pidfd                = pidfd_of(fd, who->pid, &gone);
    const int      folder = *pidfd >= 0 && who->start ? peer_folder_open(proc_fd, who->pid) : -1;
    const uint64_t start = start_of(folder), process = pidfs_number(*pidfd);
    if (folder >= 0)
        close(folder);
    gone |= peer_ended(*pidfd) || (*pidfd >= 0 && who->process && process && who->process != process) ||
            (start && start != who->start);
    if (gone && *pidfd >= 0) {
        close(*pidfd);
        *pidfd = -1;
    }
    return !gone;
}

void peer_self(int proc_fd, struct state_connection *out)
{
    const int pidfd = open_process((uint32_t)getpid());
    *out            = (struct state_connection){0};
    spaces_of(pidfd, proc_fd, (uint32_t)getpid(), out);
    if (pidfd >= 0)
        close(pidfd);
}

bool peer_native(const struct state_connection *who, const struct state_connection *self)
{
    return (!self->user_ns || who->user_ns == self->user_ns) && (!self->pid_ns || who->pid_ns == self->pid_ns);
}

bool peer_is(const struct state_connection *who, uint32_t pid, uint64_t process, uint64_t start)
{
    if (!pid || who->pid != pid)
        return false;
    return who->process && process ? who->process == process : start && who->start == start;
}

bool peer_unchanged(int proc_fd, int pidfd, const struct state_connection *who)
{
    const int          folder = pidfd >= 0 && who->start ? peer_folder_open(proc_fd, who->pid) : -1;
    struct credentials now;
    const bool         same = folder >= 0 && start_of(folder) == who->start && credentials_of(folder, &now) &&
                      now.uid == who->uid && now.gid == who->gid && !(now.permitted & ~who->permitted);
    if (folder >= 0)
        close(folder);
    return same && !peer_ended(pidfd);
}

int peer_open(uint32_t pid, uint64_t process, uint64_t start)
{
    const int      pidfd  = open_process(pid);
    const int      folder = pidfd >= 0 ? peer_folder_open(0, pid) : -1;
    const uint64_t number = pidfs_number(pidfd);
    const bool     same   = process && number ? number == process : start && start_of(folder) == start;
    if (folder >= 0)
        close(folder);
    if (pidfd >= 0 && !same) {
        close(pidfd);
        return -1;
    }
    return pidfd;
}
