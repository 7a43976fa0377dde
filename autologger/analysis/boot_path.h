/* boot_path.h - the critical path of a boot: who waited for whom, because of what, from its end back to its beginning.
 * In user space by units: from the last one that was done before systemd's end, each was started when the last of those
 * that it is ordered after was done; within a unit by its processes, and by what they waited for. In the initramfs by
 * process 1: it runs one script after another, and each waits for what it runs. Where nothing tells an order, the unit
 * that was done last before the start stands for it, and the reason says so.
 * Steps are in time order, do not overlap, and each lies within the boot; what lies between two is nobody's.
 * Threads: one. Ownership: boot_path_create / destroy; names borrow from the boot. Not for: which step is the cause
 * (boot_verdict.h). */
#ifndef AUTOLOGGER_ANALYSIS_BOOT_PATH_H
#define AUTOLOGGER_ANALYSIS_BOOT_PATH_H
#include "autologger/analysis/boot.h"

enum boot_step_kind {
    STEP_KERNEL,
    STEP_PROCESS,
    STEP_UNIT,
    STEP_QUEUE /* of a unit: between what it waited for and its start */
};
struct boot_step {
    enum boot_step_kind kind;
    int                 unit, process; /* index or BOOT_NONE */
    int64_t             start, end;
    char               *what;              /* "systemd-udevd.service" */
    char               *why;               /* why the next step had to wait for it: a sentence without its subject */
    unsigned            depth;             /* below the step before it that is less deep: the processes of a unit */
    int64_t             time[BOOT_STATES]; /* what its processes did in it */
};
struct boot_path {
    struct boot_step *step;
    unsigned          steps;
    unsigned          left_out; /* a step has at most 200 below it, the last ones */
};
wstatus boot_path_create(const struct boot *b, struct boot_path **out, struct reason *why);
void    boot_path_destroy(struct boot_path *p); /* NULL is fine */
/* ns of the path (steps of depth 0) that are in [start, end) of what `unit` or `process` (or what is below it) is;
 * BOOT_NONE: not asked. */
int64_t boot_path_overlap(const struct boot *b, const struct boot_path *p, int unit, int process, int64_t start,
                          int64_t end);
#endif
