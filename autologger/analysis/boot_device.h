/* boot_device.h - how the devices of a boot got their drivers: which driver took which device, how long that was, and
 * what it was put off for. From the probes that a boot has (boot.h); a kernel that tells none has no devices here.
 * Threads: one. Ownership: the list is the caller's (free), its words borrow from the boot. Not for: whether it held
 * the boot up (boot_verdict.h). */
#ifndef AUTOLOGGER_ANALYSIS_BOOT_DEVICE_H
#define AUTOLOGGER_ANALYSIS_BOOT_DEVICE_H
#include "autologger/analysis/boot.h"

enum {
    PROBE_DEFERRED =
        517 /* the kernel's EPROBE_DEFER; with its sign where a supplier is missing and the driver was not asked */
};

struct boot_device {
    const char *name, *bus, *driver; /* the driver that took it, else the one that tried last */
    int64_t     first, ready;        /* its first probe began; its driver had it, 0: never */
    /* the first time that it was put off; ns from there until the probe that took it, or to the end of the boot */
    int64_t     put_off, waited;
    unsigned    deferrals;
    const char *reason, *supplier; /* of the last time; "": not told */
    int         longest;           /* its longest probe that was no deferral; BOOT_NONE */
};
/* By `first`. *count 0, NULL: there are none, or no memory (then *failed). */
struct boot_device *boot_devices_make(const struct boot *b, unsigned *count, bool *failed);
/* What `d` waited for in the end: its supplier, that one's supplier and so on. `d` itself: nothing that has probes, or
 * they need each other (*circle). */
const struct boot_device *boot_device_root(const struct boot_device *all, unsigned count, const struct boot_device *d,
                                           bool *circle);
/* ns of the probe in which its thread asked for firmware; *longest: the request. */
int64_t boot_probe_firmware(const struct boot *b, const struct boot_probe *p, const struct boot_firmware **longest);
bool    boot_probe_is_deferred(const struct boot_probe *p);
/* The module of that name, with - and _ alike, that was loaded last at `until` or before; NULL. */
const struct boot_module *boot_module_of(const struct boot *b, const char *driver, int64_t until);
#endif
