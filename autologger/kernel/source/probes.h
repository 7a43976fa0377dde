/* probes.h - how drivers take their devices: events at functions of the kernel (probes.def), which sessions with DeviceEvents have.
 * Invariants: the definitions are the same for all sessions; the kernel keeps one that a session's perf events use, so whoever ends last removes it.
 * Threads: any. Ownership: the definitions are the kernel's; of a process that died they stay until the next session with DeviceEvents has ended.
 * Not for: recording them (rings.h), what they mean (convert_probe.c). */
#ifndef AUTOLOGGER_KERNEL_PROBES_H
#define AUTOLOGGER_KERNEL_PROBES_H

/* Has the kernel make them. `tracefs`: a descriptor of its root. 0, also where they are there; or -errno: -ENOENT where a kernel has no kprobes. A
 * function that a kernel lacks costs its event alone. */
int  probes_define(int tracefs);
void probes_remove(int tracefs);
#endif
