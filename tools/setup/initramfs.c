/* initramfs.c - see initramfs.h. */
#include "tools/setup/initramfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUILDING "building the initramfs"
enum { LISTING_MAX = 4 << 20 };

static const struct {
    const char *name, *command, *list, *hooks[3];
} tools[] = {
    [INITRAMFS_NONE]   = {"none", "", "", {NULL}},
    [INITRAMFS_TOOLS]  = {"initramfs-tools",
                          "update-initramfs",
                          "lsinitramfs",
                          {"/usr/share/initramfs-tools/hooks/autologger", "/etc/initramfs-tools/hooks/autologger",
                           NULL}},
    [INITRAMFS_DRACUT] = {"dracut",
                          "dracut",
                          "lsinitrd",
                          {"/usr/lib/dracut/modules.d/90autologger/module-setup.sh", NULL}},
};

const char *initramfs_tool_name(enum initramfs_tool tool) { return tools[tool].name; }

static void find_image(const struct machine *m, struct initramfs *out)
{
    static const char *const forms[] = {"/boot/initrd.img-", "/boot/initramfs-%.img", "/boot/initrd-"};
    char                     path[MACHINE_PATH];
    for (size_t i = 0; m->kernel[0] && i < sizeof forms / sizeof *forms; i++) {
        int n = (int)strcspn(forms[i], "%");
        snprintf(path, sizeof path, "%.*s%s%s", n, forms[i], m->kernel, forms[i][n] ? forms[i] + n + 1 : "");
        if (machine_has(m, path)) {
            snprintf(out->image, sizeof out->image, "%s", path);
            return;
        }
    }
}

void initramfs_find(const struct machine *m, struct initramfs *out)
{
    *out = (struct initramfs){.tool = INITRAMFS_NONE};
    for (int t = INITRAMFS_TOOLS; t <= INITRAMFS_DRACUT && out->tool == INITRAMFS_NONE; t++)
        if (machine_has_command(m, tools[t].command))
            out->tool = (enum initramfs_tool)t;
    for (unsigned i = 0; tools[out->tool].hooks[i]; i++)
        out->hook |= machine_has(m, tools[out->tool].hooks[i]);
    find_image(m, out);
}

enum initramfs_content initramfs_content(const struct machine *m, const struct initramfs *i)
{
    const char *const      argv[] = {tools[i->tool].list, i->image, NULL};
    enum initramfs_content c      = CONTENT_UNKNOWN;
    if (i->tool == INITRAMFS_NONE || !i->image[0] || !machine_has_command(m, argv[0]))
        return c;
    char *listing = malloc(LISTING_MAX);
    if (listing && !machine_run(m, argv, listing, LISTING_MAX, true, NULL))
        c = strstr(listing, "sbin/autologger-early") ? CONTENT_PRESENT : CONTENT_ABSENT;
    free(listing);
    return c;
}

/* Syncs the file to disk, then renames it. */
static wstatus initramfs_place(const struct machine *m, const char *from, const char *to, struct reason *why)
{
    char full[MACHINE_PATH], target[MACHINE_PATH];
    int  fd    = open(machine_path(m, from, full), O_RDONLY | O_CLOEXEC);
    bool ok    = fd >= 0 && fsync(fd) == 0 && rename(full, machine_path(m, to, target)) == 0;
    int  error = errno;
    if (fd >= 0)
        close(fd);
    if (!ok)
        return reason_set(why, wstatus_from_errno(error), "%s: %s", full, strerror(error));
    machine_folder_sync(m, to);
    return W_SUCCESS;
}

static wstatus dracut_rebuild(const struct machine *m, const struct initramfs *i, struct reason *why)
{
    char              fresh[MACHINE_PATH];
    const char *const argv[] = {"dracut", "-f", fresh, m->kernel, NULL};
    snprintf(fresh, sizeof fresh, "%.900s.autologger-new", i->image);
    wstatus st = machine_run_told(m, argv, BUILDING, why);
    st         = st ? st : initramfs_place(m, fresh, i->image, why);
    if (st)
        machine_remove(m, fresh, NULL, NULL);
    return st;
}

wstatus initramfs_rebuild(const struct machine *m, const struct initramfs *i, struct reason *why)
{
    const char *const debian[] = {"update-initramfs", "-u", "-k", m->kernel, NULL};
    if (!m->kernel[0])
        return reason_set(
            why, W_NOT_SUPPORTED,
            "no kernel is installed, so there is no image to build. Do: install a kernel, or use --no-initramfs");
    if (i->tool == INITRAMFS_DRACUT && !i->image[0])
        return reason_set(
            why, W_NOT_SUPPORTED,
            "there is no image of the kernel %s below /boot. Do: build one with dracut, or use --no-initramfs",
            m->kernel);
    return i->tool == INITRAMFS_TOOLS ? machine_run_told(m, debian, BUILDING, why) : dracut_rebuild(m, i, why);
}

/* One file with both names: rename() would do nothing. */
static void old_image_back(const char *kept, const char *image)
{
    struct stat a, b;
    if (stat(kept, &a) == 0 && stat(image, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
        unlink(kept);
    else
        rename(kept, image);
}

wstatus initramfs_take_out(const struct machine *m, const struct initramfs *i, struct reason *why)
{
    char image[MACHINE_PATH], kept[MACHINE_PATH], name[MACHINE_PATH];
    if (!i->image[0])
        return reason_set(why, W_NOT_SUPPORTED, "there is no image of the kernel %s below /boot", m->kernel);
    snprintf(name, sizeof name, "%.900s.autologger-old", i->image);
    machine_path(m, i->image, image);
    machine_path(m, name, kept);
    unlink(kept); /* left by an interrupted run; the image is whole, old or new */
    if (link(image, kept) < 0)
        return reason_set(why, W_NOT_SUPPORTED, "the old image %s cannot be kept beside the new one: %s", image,
                          strerror(errno));
    wstatus st = initramfs_rebuild(m, i, why);
    if (!st && initramfs_content(m, i) != CONTENT_ABSENT)
        st = reason_set(why, W_GEN_FAILURE, "the new image has the early program still, or cannot be listed");
    st = st ? st : initramfs_place(m, i->image, i->image, why);
    if (st)
        old_image_back(kept, image);
    else
        unlink(kept);
    machine_folder_sync(m, i->image);
    return st;
}
