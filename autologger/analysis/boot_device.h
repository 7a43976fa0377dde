/* boot_device.h - how the devices of a boot got their drivers: which driver took which device, how long it took, and
 * why it was deferred. Made from the boot's probes (boot.h); without probes there are no devices.
 * Threads: one. Ownership: the list is the caller's (free), its words borrow from the boot. Not for: whether a device
 * held the boot up (boot_verdict.h). */
#ifndef AUTOLOGGER_ANALYSIS_BOOT_DEVICE_H
#define AUTOLOGGER_ANALYSIS_BOOT_DEVICE_H
#include "autologger/analysis/boot.h"

enum {
    PROBE_DEFERRED =
        517 /* the kernel's EPROBE_DEFER; negative if a supplier is missing and the driver was not called */
};

struct boot_device {
    const char *name, *bus, *driver; /* the driver that took it, else the one that tried last */
    int64_t     first, ready;        /* begin of its first probe; end of the probe that took it, 0: none */
    /* the first deferral; ns from there to the begin of the probe that took it, or to the end of the boot */
    int64_t     put_off, waited;
    unsigned    deferrals;
    const char *reason, *supplier; /* of the last deferral; "": unknown */
    int         longest;           /* its longest probe that was not deferred; BOOT_NONE */
};
/* In the order of `first`. *count 0, NULL: there are none, or no memory (then *failed). */
struct boot_device *boot_devices_make(const struct boot *b, unsigned *count, bool *failed);
/* The device at the end of the chain of suppliers of `d`. `d` itself: its supplier has no probes, or the devices need
 * each other (*circle). */
const struct boot_device *boot_device_root(const struct boot_device *all, unsigned count, const struct boot_device *d,
                                           bool *circle);
/* ns of the probe that its thread spent on requests for firmware; *longest: the longest request. */
int64_t boot_probe_firmware(const struct boot *b, const struct boot_probe *p, const struct boot_firmware **longest);
bool    boot_probe_is_deferred(const struct boot_probe *p);
/* The module of that name, with - and _ alike, that was loaded last, at or before `until`; NULL: none. */
const struct boot_module *boot_module_of(const struct boot *b, const char *driver, int64_t until);
#endif
