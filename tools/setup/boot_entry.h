/* boot_entry.h - the separate boot entry for the kernel phase: a copy of the running kernel's entry with longer kernel
 * arguments, chosen for the next boot only. A normal entry is never changed, so a power cycle always gives the normal
 * boot.
 *   GRUB          /boot/grub/custom.cfg, between marker lines of ours; chosen by grub-reboot
 *   systemd-boot  loader/entries/autologger.conf of the boot partition; chosen by "bootctl set-oneshot"
 *   anything else refused with the reason
 * Invariants: B1 everything is checked before anything is written. B2 other content of custom.cfg stays as it is. B3 a
 * one-shot needs a boot loader that resets the choice by itself; GRUB on LVM, RAID, btrfs, ZFS or an encrypted /boot
 * cannot.
 * Threads: one. Not for: what these arguments trace (autologger/kernel), the initramfs (initramfs.h). */
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
/* The loader of this machine, and where the entry goes. LOADER_UNKNOWN: no known loader. */
void boot_entry_find(const struct machine *m, struct boot_entry *out);
/* Whether the kernel phase is possible: W_SUCCESS, or W_NOT_SUPPORTED with reason and advice. Makes the entry's text,
 * changes nothing. */
wstatus boot_entry_check(const struct machine *m, const struct boot_entry *e, const char *arguments,
                         struct reason *why);
/* Writes the entry (replaces an earlier one of autologger) and chooses it for the next boot. When it can't be
 * written, nothing has changed; when it can't be chosen, no entry of autologger is left. */
wstatus boot_entry_set(const struct machine *m, const struct boot_entry *e, const char *arguments, struct reason *why);
/* Removes the entry and its choice. No error when there is none; *was: there was one. */
wstatus boot_entry_remove(const struct machine *m, const struct boot_entry *e, bool *was, struct reason *why);
bool    boot_entry_exists(const struct machine *m, const struct boot_entry *e);

/* "autologger=kernel trace_event=initcall:*,... trace_buf_size=8M trace_clock=perf": makes the kernel record the events
 * of this mask (eight words, kernel/tables/flags.h); devices: also which driver takes which device (kprobe_event=).
 * Returns the length; 0 = did not fit. */
size_t boot_entry_arguments(const uint32_t *mask, const uint16_t *hooks, unsigned hook_count, bool devices, char *out,
                            size_t size);

/* For tests, pure. grub.cfg's entry for `kernel`, rewritten as autologger's entry; malloc. W_NOT_SUPPORTED with the
 * reason: no such entry, or a /boot whose environment block GRUB cannot write. */
wstatus grub_entry_make(const char *grub_cfg, const char *kernel, const char *arguments, char **out,
                        struct reason *why);
/* `custom` (may be NULL) with `entry` (NULL: none) between autologger's marker lines, malloc; everything else
 * unchanged. */
char *grub_custom_make(const char *custom, const char *entry);
/* A Type #1 entry with another title and longer options, malloc. W_NOT_SUPPORTED when it has no options line to extend
 * and no kernel. */
wstatus systemd_entry_make(const char *conf, const char *arguments, char **out, struct reason *why);
#endif
