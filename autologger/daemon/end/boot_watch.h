/* boot_watch.h - asks the machine for what boot_done.h needs: systemd by a child process, the CPUs by /proc/stat every
 * 100 ms. It asks only what is still needed: until mark 1 a child waits and nothing else runs; from there to mark 2 a
 * timer of 100 ms; afterwards nothing. A watch is one epoll descriptor to wait for.
 * Threads: one. Ownership: create/destroy. Not for: the reaction (boot_end.h). */
#ifndef AUTOLOGGER_DAEMON_BOOT_WATCH_H
#define AUTOLOGGER_DAEMON_BOOT_WATCH_H
#include "autologger/daemon/end/boot_done.h"
#include "registry-sim/base/os.h"
#include "registry-sim/win32/wstatus.h"

struct boot_watch;
struct boot_watch_options {
    const char *systemd_dir;        /* exists where systemd runs: "/run/systemd/system" */
    const char *proc_stat;          /* "/proc/stat" */
    uint64_t    ready_ns;           /* the file system was ready */
    uint64_t    target_ns, idle_ns; /* found by a predecessor, 0 = nothing */
};

wstatus boot_watch_create(struct os *os, const struct boot_watch_options *options, struct boot_watch **out,
                          struct reason *why);
void    boot_watch_destroy(struct boot_watch *w); /* NULL is fine */
/* Readable when there is something to do for boot_watch_step. */
int                     boot_watch_fd(const struct boot_watch *w);
void                    boot_watch_step(struct boot_watch *w);
const struct boot_done *boot_watch_done(const struct boot_watch *w);
/* Gives up on mark 2: the timer ends. The child that waits for mark 1 goes on. */
void boot_watch_rest(struct boot_watch *w);
/* Names the units that systemd is still starting in `out`: "systemd is still starting a.service, b.service and 2 more".
 * Waits at most 2 s. "" when there are none or systemd isn't there. */
void boot_watch_jobs(struct boot_watch *w, char *out, size_t size);
/* Makes that sentence from lines of systemctl list-jobs ("a.service start running"). */
void boot_jobs_text(const char *jobs, char *out, size_t size);
#endif
