/* initramfs.h - the tool that builds this machine's initramfs, whether autologger's hook is installed in it, and
 * rebuilding the image.
 * Threads: one. Not for: what the hook puts into the image (config/initramfs-tools, config/dracut). */
#ifndef TOOLS_INITRAMFS_H
#define TOOLS_INITRAMFS_H
#include "tools/base/machine.h"

enum initramfs_tool { INITRAMFS_NONE, INITRAMFS_TOOLS, INITRAMFS_DRACUT };
enum initramfs_content { CONTENT_UNKNOWN, CONTENT_ABSENT, CONTENT_PRESENT };

struct initramfs {
    enum initramfs_tool tool;
    bool                hook;                /* autologger's hook or module is installed */
    char                image[MACHINE_PATH]; /* of the machine's kernel; "" = there is none */
};

const char *initramfs_tool_name(enum initramfs_tool tool);
void        initramfs_find(const struct machine *m, struct initramfs *out);
/* Whether the image holds the early program. Asks lsinitramfs or lsinitrd; takes a second or so. */
enum initramfs_content initramfs_content(const struct machine *m, const struct initramfs *i);
/* Rebuilds this kernel's image; the tool's output goes to standard error. W_GEN_FAILURE: the tool failed. A whole image
 * is in place at every moment: update-initramfs builds another file and renames it; the same is done here for dracut,
 * which would overwrite the old image. */
wstatus initramfs_rebuild(const struct machine *m, const struct initramfs *i, struct reason *why);
/* The same, unattended, to remove the early program: the old image is kept until the new one is listed without the
 * early program, and is restored otherwise. W_NOT_SUPPORTED on a file system without hard links. */
wstatus initramfs_take_out(const struct machine *m, const struct initramfs *i, struct reason *why);
#endif
