/* initramfs.c - see initramfs.h. */
#include "tools/initramfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LISTING_MAX = 4 << 20 };

static const struct {
    const char *name, *command, *list, *hooks[3];
} tools[] = {
    [INITRAMFS_NONE]   = {"none", "", "", {NULL}},
    [INITRAMFS_TOOLS]  = {"initramfs-tools", "update-initramfs", "lsinitramfs",
                          {"/usr/share/initramfs-tools/hooks/autologger", "/etc/initramfs-tools/hooks/autologger", NULL}},
    [INITRAMFS_DRACUT] = {"dracut", "dracut", "lsinitrd", {"/usr/lib/dracut/modules.d/90autologger/module-setup.sh", NULL}},
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

wstatus initramfs_rebuild(const struct machine *m, const struct initramfs *i, struct reason *why)
{
    const char *const debian[] = {"update-initramfs", "-u", "-k", m->kernel, NULL};
    const char *const dracut[] = {"dracut", "-f", i->image, m->kernel, NULL};
    if (!m->kernel[0])
        return reason_set(why, W_NOT_SUPPORTED, "no kernel is installed, so there is no image to build. Do: install a kernel, or use --no-initramfs");
    if (i->tool == INITRAMFS_DRACUT && !i->image[0])
        return reason_set(why, W_NOT_SUPPORTED, "there is no image of the kernel %s below /boot. Do: build one with dracut, or use --no-initramfs", m->kernel);
    return machine_run(m, i->tool == INITRAMFS_TOOLS ? debian : dracut, NULL, 0, false, why);
}
