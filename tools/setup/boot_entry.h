/* boot_entry.h - the separate boot entry for the kernel phase: a copy of the running kernel's entry with longer kernel
 * arguments, chosen for the next boot only. A normal entry is never changed, so a power cycle always gives the normal
 * boot.
 *   GRUB          /boot/grub/custom.cfg, between marker lines of ours; chosen by grub-reboot
 *   systemd-boot  loader/entries/autologger.conf of the boot partition; chosen by "bootctl set-oneshot"
 *   anything else refused with the reason
 * Invariants: B1 all is looked at before anything is written. B2 what is not ours in custom.cfg stays as it is. B3 no
 * one-shot without a boot loader that can take the choice back by itself: GRUB on LVM, RAID, btrfs, ZFS or an encrypted
 * /boot cannot.
 * Threads: one. Not for: what is traced by these arguments (autologger/kernel), the initramfs (initramfs.h). */
#ifndef TOOLS_BOOT_ENTRY_H
#define TOOLS_BOOT_ENTRY_H
#include "tools/base/machine.h"

#include <stdint.h>

enum boot_loader { LOADER_UNKNOWN, LOADER_GRUB, LOADER_SYSTEMD, LOADER_UKI };

struct boot_entry {
    enum boot_loader loader;
    char             place[MACHINE_PATH]; /* the file that holds, or would hold, the entry; a path of the machine */
    char             tool[32];            /* grub-reboot, grub2-reboot, bootctl */
};

const char *boot_loader_name(enum boot_loader loader); /* "GRUB", "systemd-boot", ... */
/* The loader of this machine, and where the entry goes. LOADER_UNKNOWN when there is none that we know. */
void boot_entry_find(const struct machine *m, struct boot_entry *out);
/* Whether the kernel phase can be had: 0, or W_NOT_SUPPORTED with the reason and what to do. Makes the entry's text,
 * changes nothing. */
wstatus boot_entry_check(const struct machine *m, const struct boot_entry *e, const char *arguments,
                         struct reason *why);
/* Writes the entry (an earlier one of ours is replaced) and chooses it for the next boot. With a failure nothing has
 * changed. */
wstatus boot_entry_set(const struct machine *m, const struct boot_entry *e, const char *arguments, struct reason *why);
/* Takes the entry away, and the choice with it. Fine when there is none; *was says whether there was. */
wstatus boot_entry_remove(const struct machine *m, const struct boot_entry *e, bool *was, struct reason *why);
bool    boot_entry_exists(const struct machine *m, const struct boot_entry *e);

/* "autologger=kernel trace_event=initcall:*,... trace_buf_size=8M trace_clock=perf": the kernel's own recording of what
 * this mask (eight words, kernel/tables/flags.h) asks for; devices: also which driver takes which device
 * (kprobe_event=). Returns the length; 0 = did not fit. */
size_t boot_entry_arguments(const uint32_t *mask, const uint16_t *hooks, unsigned hook_count, bool devices, char *out,
                            size_t size);

/* For tests, pure. The text of grub.cfg's entry for `kernel` as an entry of ours, malloc. W_NOT_SUPPORTED with the
 * reason: no such entry, or a /boot whose environment block GRUB cannot write. */
wstatus grub_entry_make(const char *grub_cfg, const char *kernel, const char *arguments, char **out,
                        struct reason *why);
/* `custom` (may be NULL) with `entry` (NULL: none) between our marker lines, malloc; everything else as it was. */
char *grub_custom_make(const char *custom, const char *entry);
/* A Type #1 entry with another title and longer options, malloc. W_NOT_SUPPORTED when it has no options line to extend
 * and no kernel. */
wstatus systemd_entry_make(const char *conf, const char *arguments, char **out, struct reason *why);
#endif
