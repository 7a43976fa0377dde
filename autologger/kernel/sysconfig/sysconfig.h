/* sysconfig.h - what the machine is made of and how it came up, as events of a kernel session: the classes SystemConfig
 * (group 0x0B) and SystemConfigEx of Windows, and the provider Autologger-Boot-Environment for what Windows has no
 * class for. Each event is made here, whole, from /proc, /sys, /etc and /run below a root folder; it travels as a raw
 * record (struct raw_config) to the converter, which only puts a header before it.
 * Invariants: N1 a value that the machine does not tell is 0 or "", never a guess. N2 every list is bounded
 * (SYSCONFIG_MOST of one class), and what is left out is counted. N3 nothing is asked of another process or machine: no
 * D-Bus, no network, no statvfs of what is not a disk of this machine.
 * Threads: any, each its own call. Ownership: nothing outlives a call. Not for: the early program, which takes its time
 * from the boot. */
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
/* The same of a recorded tree: what only system calls tell (addresses, free space) is not known of it. */
unsigned sysconfig_collect_tree(const char *root, const uint32_t *mask, klog_put put, void *ctx);
#endif
