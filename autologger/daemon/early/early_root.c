#include "autologger/daemon/early/early_root.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* The kernel's first root is a ramfs or tmpfs; nobody has a real root there and wants it traced. */
static bool root_is_initramfs(void)
{
    struct statfs s;
    return statfs("/", &s) == 0 && (s.f_type == RAMFS_MAGIC || s.f_type == TMPFS_MAGIC);
}

void early_root_open(struct early_root *r)
{
    *r = (struct early_root){.proc_fd      = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC),
                             .mountinfo_fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC),
                             .own          = !root_is_initramfs()};
}

void early_root_close(struct early_root *r)
{
    if (r->proc_fd >= 0)
        close(r->proc_fd);
    if (r->mountinfo_fd >= 0)
        close(r->mountinfo_fd);
}

int early_root_fd(const struct early_root *r)
{
    if (!r->reached)
        return -1;
    return r->own ? open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)
                  : openat(r->proc_fd, "1/root", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

void early_root_look(struct early_root *r)
{
    struct stat    here, there;
    struct statvfs fs;

    if (!r->reached)
        r->reached = r->own || (r->proc_fd >= 0 && stat("/", &here) == 0 &&
                                fstatat(r->proc_fd, "1/root", &there, 0) == 0 && here.st_dev != there.st_dev);
    int fd      = early_root_fd(r);
    r->writable = fd >= 0 && fstatvfs(fd, &fs) == 0 && !(fs.f_flag & ST_RDONLY);
    if (fd >= 0)
        close(fd);
}

bool early_root_stay(const struct early_root *r)
{
    return r->own || (unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
}

bool early_root_enter(const struct early_root *r)
{
    if (r->own)
        return chdir("/") == 0;
    int fd = early_root_fd(r), space = r->proc_fd < 0 ? -1 : openat(r->proc_fd, "1/ns/mnt", O_RDONLY | O_CLOEXEC);
    if (space >= 0) {
        (void)setns(space, CLONE_NEWNS); /* on failure only mounting is impossible there */
        close(space);
    }
    bool ok = fd >= 0 && fchdir(fd) == 0 && chroot(".") == 0;
    if (fd >= 0)
        close(fd);
    return ok;
}
