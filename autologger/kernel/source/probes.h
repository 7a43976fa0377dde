/* probes.h - how drivers take their devices: events at functions of the kernel (probes.def), which sessions with
 * DeviceEvents have.
 * Invariants: all sessions share the definitions. The kernel keeps a definition in use, so the last session removes it.
 * Threads: any. Ownership: the definitions are the kernel's; of a process that was killed they stay until the next
 * session with DeviceEvents has ended, and cost nothing meanwhile: the kernel stops only where an event is open.
 * Not for: recording them (rings.h), what they mean (convert_probe.c). */
#ifndef AUTOLOGGER_KERNEL_PROBES_H
#define AUTOLOGGER_KERNEL_PROBES_H
#include <stdbool.h>
#include <stddef.h>

/* Has the kernel make them. `tracefs`: a descriptor of its root. 0, also where they are there; or -errno: -ENOENT where
 * a kernel has no kprobes. A function that a kernel lacks costs its event alone. */
int probes_define(int tracefs);
/* A kernel logger of this process may open them, from before it defines them until it has closed them. Not held any
 * more: with `ended` (its session has, it is not only handed over) the last one has them removed, by a thread, for 5 s
 * at most; what another process has open stays. */
void probes_hold(void);
void probes_let_go(bool ended);
void probes_wait(void); /* until they are removed, where that is under way; 3 s at most */
/* The same for the kernel command line: "kprobe_event=...". Its length, as snprintf tells it. */
size_t probes_argument(char *out, size_t size);
/* Of those that are defined on the command line some have no folder below events (Linux 6.1, 6.12); each has one in an
 * instance that is made later. Such an instance: a descriptor of its folder, which stays this file's, or -errno. It is
 * made once, and goes with probes_instance_end. */
int  probes_instance(int tracefs);
void probes_instance_end(int tracefs);
#endif
