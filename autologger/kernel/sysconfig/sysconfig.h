/* sysconfig.h - the machine's hardware and how it booted, as events of a kernel session: the classes SystemConfig
 * (group 0x0B) and SystemConfigEx of Windows, and the provider Autologger-Boot-Environment for facts without a Windows
 * class. Each event is made here from /proc, /sys, /etc and /run below a root folder, and goes as a raw record (struct
 * raw_config) to the converter, which adds the header and the DiskNumber.
 * Invariants: N1 a value that the machine does not give is 0 or "", never a guess. N2 every list is bounded
 * (SYSCONFIG_MOST of one class), and left-out items are counted. N3 no other process or machine is asked: no D-Bus, no
 * network, no statvfs of a file system that is not on a disk of this machine.
 * Threads: any, each its own call. Ownership: nothing outlives a call. Not for: the early program, which would delay
 * the boot. */
#ifndef AUTOLOGGER_KERNEL_SYSCONFIG_H
#define AUTOLOGGER_KERNEL_SYSCONFIG_H
#include "autologger/kernel/klog.h"
#include "autologger/kernel/source/rawrec.h"
#include "autologger/kernel/tables/sysconfig_classes.h"

#include <stdbool.h>
#include <stddef.h>

enum { SYSCONFIG_MOST = 4096 };
/* All classes that the mask wants, of this machine. Returns how many events were left out (N2). */
unsigned sysconfig_collect(const uint32_t *mask, klog_put put, void *ctx);
/* The same of a recorded tree, without the facts that only system calls give (addresses, free space). */
unsigned sysconfig_collect_tree(const char *root, const uint32_t *mask, klog_put put, void *ctx);
#endif
