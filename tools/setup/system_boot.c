/* system_boot.c - checks of what boots: daemon, initramfs, boot loader, a sealed root, snapshot, guard. See
 * system_check.h. */
#include "autologger/daemon/early/guard.h"
#include "registry-sim/store/snapshot.h"
#include "registry-sim/win32/filetime.h"
#include "tools/setup/sealed_root.h"
#include "tools/setup/system_check.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void check_daemon(const struct system_look *l)
{
    const struct machine *m = l->ask->machine;
    if (!machine_has_command(m, "autologgerd"))
        system_found(l->f, SYSTEM_FAILED, "install autologger (cmake --install, or its package)",
                     "autologgerd is not installed: nothing would write the log files");
    else if (!machine_has_command(m, "systemctl"))
        system_found(l->f, SYSTEM_NOTE, "start autologgerd at boot, after the log folder's volume is there",
                     "this machine has no systemd: its init must start autologgerd");
    else if (!machine_has(m, "/usr/lib/systemd/system/autologgerd.service") &&
             !machine_has(m, "/lib/systemd/system/autologgerd.service") &&
             !machine_has(m, "/etc/systemd/system/autologgerd.service"))
        system_found(l->f, SYSTEM_FAILED, "install autologger's systemd units", "autologgerd.service is not installed");
    else
        system_found(l->f, SYSTEM_OK, "", "autologgerd.service is installed; apply enables it");
}

void check_initramfs(const struct system_look *l)
{
    const struct initramfs *i = &l->need->initramfs;
    if (i->tool == INITRAMFS_NONE)
        system_found(l->f, SYSTEM_NOTE, "nothing; or boot with init=/usr/sbin/autologger-early to begin before systemd",
                     "no initramfs-tools and no dracut: tracing begins when the daemon starts");
    else if (!i->hook)
        system_found(l->f, SYSTEM_NOTE, "install autologger's initramfs part",
                     "%s is there, but not autologger's hook: tracing begins when the daemon starts",
                     initramfs_tool_name(i->tool));
    else if (!machine_has(l->ask->machine, "/usr/sbin/autologger-early"))
        system_found(
            l->f, SYSTEM_NOTE, "install autologger-early",
            "%s has autologger's hook, but /usr/sbin/autologger-early is missing: tracing begins when the daemon starts",
            initramfs_tool_name(i->tool));
    else if (!i->image[0])
        system_found(l->f, SYSTEM_NOTE, "build an image for this kernel", "%s is there, but no image of the kernel %s",
                     initramfs_tool_name(i->tool), l->ask->machine->kernel);
    else if (l->ask->rebuilds || !l->ask->store_path)
        system_found(l->f, SYSTEM_OK, "", "%s, %s", initramfs_tool_name(i->tool), i->image);
    else if (machine_has(l->ask->machine, "/" SETUP_PUT_BACK))
        system_found(l->f, SYSTEM_OK, "",
                     "%s, %s; the one boot that was asked for is over, and the next image is without the early program",
                     initramfs_tool_name(i->tool), i->image);
    else if (initramfs_content(l->ask->machine, i) == CONTENT_ABSENT)
        system_found(l->f, SYSTEM_FAILED, "autologger apply",
                     "%s does not hold the early program: the image was not built since something was applied",
                     i->image);
    else
        system_found(l->f, SYSTEM_OK, "", "%s, %s holds the early program", initramfs_tool_name(i->tool), i->image);
}

void check_boot_loader(const struct system_look *l)
{
    struct reason why = {0};
    if (!l->need->kernel_phase) {
        system_found(l->f, SYSTEM_OK, "", "%s; nothing is asked of it (no KernelPhase)",
                     boot_loader_name(l->need->entry.loader));
        return;
    }
    if (boot_entry_check(l->ask->machine, &l->need->entry, l->need->arguments, &why)) {
        char *advice = strstr(why.text, " Do: ");
        if (advice)
            *advice = 0;
        system_found(l->f, SYSTEM_DANGER, advice ? advice + 5 : "leave out KernelPhase", "%s", why.text);
    } else {
        system_found(l->f, SYSTEM_OK, "", "%s: an entry of its own for one boot, in %s",
                     boot_loader_name(l->need->entry.loader), l->need->entry.place);
    }
}

void check_sealed_root(const struct system_look *l)
{
    char what[256];
    bool changes = (l->ask->rebuilds && l->need->initramfs.hook) || l->need->kernel_phase;
    if (!sealed_root_find(l->ask->machine, what, sizeof what))
        system_found(l->f, SYSTEM_OK, "", "no volume is unlocked by a TPM");
    else if (!changes || l->ask->accept_tpm)
        system_found(l->f, SYSTEM_NOTE, "have the passphrase or recovery key at hand", "%s%s", what,
                     changes ? "; another initramfs or kernel command line may keep it from being unlocked" : "");
    else
        system_found(
            l->f, SYSTEM_DANGER,
            "have the recovery key at hand and repeat with --accept-tpm, or use --no-initramfs and no KernelPhase",
            "%s: with another initramfs or kernel command line it may stay locked", what);
}

/* Checks the snapshot of ask->store_path; that is NULL for apply, which is about to write a new one. */
void check_snapshot(const struct system_look *l)
{
    struct snapshot_head head    = {0};
    struct regstore     *sealed  = NULL;
    struct reason        why     = {0};
    bool                 current = false;
    char                 path[MACHINE_PATH], when[FILETIME_TEXT_SIZE];
    if (!l->ask->store_path)
        return;
    wstatus st = regstore_open_snapshot(machine_path(l->ask->machine, "/" SETUP_SNAPSHOT, path), &sealed, &head, &why);
    regstore_close(sealed);
    bool starts = l->need->memory_bytes != 0;
    if (st == W_FILE_NOT_FOUND)
        system_found(l->f, starts ? SYSTEM_FAILED : SYSTEM_OK, starts ? "autologger apply" : "",
                     starts ? "there is none: what the store declares was never applied"
                            : "there is none, and nothing is declared");
    else if (st)
        system_found(l->f, SYSTEM_FAILED, "autologger apply makes a new one", "%s", why.text);
    else if ((st = snapshot_is_current(&head, l->ask->declared, &current, &why)) != W_SUCCESS)
        system_found(l->f, SYSTEM_FAILED, wstatus_advice(st), "%s", why.text);
    else if (!current)
        system_found(l->f, SYSTEM_FAILED, "autologger apply",
                     "the snapshot of change %" PRIu64
                     " (%s) is not what the store declares now: the next boot follows the snapshot",
                     head.change_number, filetime_format(head.time, when));
    else
        system_found(l->f, SYSTEM_OK, "", "change %" PRIu64 " of %s is what the store declares", head.change_number,
                     filetime_format(head.time, when));
}

void check_guard(const struct system_look *l)
{
    struct guard g;
    char         path[MACHINE_PATH];
    unsigned     unfinished = 0;
    uint64_t     last       = 0;
    guard_read(AT_FDCWD, machine_path(l->ask->machine, "/" GUARD_PATH, path), &g);
    for (unsigned i = 0; i < g.count; i++)
        if (!g.boot[i].finished) {
            unfinished++;
            last = g.boot[i].number;
        }
    if (g.damaged)
        system_found(l->f, SYSTEM_NOTE, "autologger apply starts afresh", "%s", g.note);
    else if (unfinished >= guard_limit(l->need->once))
        system_found(l->f, l->ask->store_path ? SYSTEM_FAILED : SYSTEM_NOTE,
                     "see why that boot did not finish; autologger apply starts afresh",
                     "boot %" PRIu64
                     " was traced and did not finish: nothing is started until something is applied again",
                     last);
    else if (g.consumed)
        system_found(l->f, l->ask->store_path ? SYSTEM_NOTE : SYSTEM_OK,
                     l->ask->store_path ? "autologger apply, for another boot" : "",
                     "traced once in boot %" PRIu64 "; nothing is declared for the next boot", g.consumed);
    else
        system_found(l->f, SYSTEM_OK, "", g.count ? "the last traced boot finished" : "no boot was traced yet");
}
