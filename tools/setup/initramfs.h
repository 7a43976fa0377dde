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
    char                image[MACHINE_PATH]; /* of the kernel in question; "" = there is none */
};

const char *initramfs_tool_name(enum initramfs_tool tool);
void        initramfs_find(const struct machine *m, struct initramfs *out);
/* Whether the image holds the early program. Asks lsinitramfs or lsinitrd; takes a second or so. */
enum initramfs_content initramfs_content(const struct machine *m, const struct initramfs *i);
/* Builds the image of this kernel anew; the tool's words go to standard error. W_GEN_FAILURE when it failed. At every
 * moment there is a whole image at its place: update-initramfs builds beside and renames, and so it is done for dracut,
 * which would write over the old one. */
wstatus initramfs_rebuild(const struct machine *m, const struct initramfs *i, struct reason *why);
/* The same for an image that is to lose the early program while nobody watches: the old image stays at hand until the
 * new one can be listed and is without it, and comes back otherwise. W_NOT_SUPPORTED on a file system without hard
 * links. */
wstatus initramfs_take_out(const struct machine *m, const struct initramfs *i, struct reason *why);
#endif
