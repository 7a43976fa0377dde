/* probes.h - how drivers take their devices: events at functions of the kernel (probes.def), for sessions with
 * DeviceEvents.
 * Invariants: all sessions share the definitions. The kernel keeps a definition in use, so the last session removes it.
 * Threads: any. Ownership: the definitions are the kernel's. Definitions of a killed process stay until the next
 * session with DeviceEvents has ended, and cost nothing meanwhile: the kernel stops at a function only while an event
 * is open.
 * Not for: recording them (rings.h), what they mean (convert_probe.c). */
#ifndef AUTOLOGGER_KERNEL_PROBES_H
#define AUTOLOGGER_KERNEL_PROBES_H
#include <stdbool.h>
#include <stddef.h>

/* Defines the events in the kernel. `tracefs`: a descriptor of its root. 0, also when they exist already; or -errno:
 * -ENOENT on a kernel without kprobes. A function that the kernel lacks costs only its own event. */
int probes_define(int tracefs);
/* A kernel logger of this process holds the definitions from before it defines them until it has closed its events.
 * `ended`: the session has ended, and is not only handed over. The last holder then has a thread remove the
 * definitions, for 5 s at most; those that another process has open stay. */
void probes_hold(void);
void probes_let_go(bool ended);
void probes_wait(void); /* until a removal under way is done; 3 s at most */
/* The definitions for the kernel command line: "kprobe_event=...". Returns the length, as snprintf does. */
size_t probes_argument(char *out, size_t size);
/* Some events defined on the command line have no folder below events (Linux 6.1, 6.12), but each has one in an
 * instance that is made later. Makes such an instance once: a descriptor of its folder, owned by this file, or -errno.
 * probes_instance_end removes it. */
int  probes_instance(int tracefs);
void probes_instance_end(int tracefs);
#endif
