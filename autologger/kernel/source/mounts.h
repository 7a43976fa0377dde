/* mounts.h - the file system of an open descriptor, found without asking that file system. The kernel's fdinfo names
 * the mount of a descriptor, even of one opened with O_PATH; mountinfo names the type of that mount. The descriptor
 * holds the mount, so no other mount can get its number meanwhile.
 * Threads: one per struct. Ownership: mounts_open/mounts_close. Not for: paths (elf_child.c). */
#ifndef AUTOLOGGER_KERNEL_MOUNTS_H
#define AUTOLOGGER_KERNEL_MOUNTS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mount_kind { MOUNT_UNKNOWN, MOUNT_LOCAL, MOUNT_STACKED, MOUNT_PROGRAM, MOUNT_OTHER };
struct mount_row {
    uint32_t        id;
    enum mount_kind kind;
};
/* One line of a mountinfo, with or without its newline. */
bool mount_row_parse(const char *line, struct mount_row *out);

enum { MOUNTS_MOST = 8192, MOUNTS_TEXT = 32768 };
struct mounts {
    int              proc, fd; /* of /proc, borrowed; of self/mountinfo, which signals changes */
    unsigned         count;
    struct mount_row row[MOUNTS_MOST]; /* of this process' namespace */
    char             text[MOUNTS_TEXT];
};
void mounts_open(struct mounts *m, int proc);
void mounts_close(struct mounts *m);
/* The mount of an open descriptor of this process, and the kernel's inode number of its file (0: a kernel before
 * 5.14). */
struct mount_file {
    uint32_t id;
    uint64_t inode;
};
bool mounts_file(const struct mounts *m, int fd, struct mount_file *out);
/* The kind of a mount in this process' namespace; in that of process `pid`. MOUNT_UNKNOWN: the namespace lacks it. */
enum mount_kind mounts_own(struct mounts *m, uint32_t id);
enum mount_kind mounts_of(struct mounts *m, uint32_t pid, uint32_t id);
#endif
