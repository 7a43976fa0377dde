/* boot_path.h - the critical path of a boot: the chain of waits, with reasons, from its end back to its beginning.
 * In user space it follows units. It begins with the last target that was done before systemd's end of the boot (1 s of
 * slack). From each unit it goes back to the unit that was done last among those that it is ordered after. Within a
 * unit it follows the processes and their waits. In the initramfs it follows process 1, which runs one script after
 * another; each script waits for its programs. If no order is known, the unit that was done last before the start is
 * taken, and the reason says so.
 * Steps are in time order, do not overlap, and each lies within the boot; the time between two belongs to none.
 * Threads: one. Ownership: boot_path_create / destroy; names borrow from the boot. Not for: which step is the cause
 * (boot_verdict.h). */
#ifndef AUTOLOGGER_ANALYSIS_BOOT_PATH_H
#define AUTOLOGGER_ANALYSIS_BOOT_PATH_H
#include "autologger/analysis/boot.h"

enum boot_step_kind {
    STEP_KERNEL,
    STEP_PROCESS,
    STEP_UNIT,
    /* of a unit: the time between the moment when the last unit that it is ordered after was done, and its own start */
    STEP_QUEUE
};
struct boot_step {
    enum boot_step_kind kind;
    int                 unit, process; /* index or BOOT_NONE */
    int64_t             start, end;
    char               *what; /* "systemd-udevd.service" */
    char               *why;  /* why the path goes through this step: a sentence in which "it" is this step */
    /* 0: a step of the path itself. More: a part (a process) of the nearest earlier step with a smaller depth */
    unsigned depth;
    int64_t  time[BOOT_STATES]; /* states of its processes in it */
};
struct boot_path {
    struct boot_step *step;
    unsigned          steps;
    unsigned left_out; /* steps without room: only the latest 200 nested steps of a step are kept, 8000 steps in all */
};
wstatus boot_path_create(const struct boot *b, struct boot_path **out, struct reason *why);
void    boot_path_destroy(struct boot_path *p); /* NULL is fine */
/* ns in [start, end) that the path spends in steps of `unit`, or of `process` and its descendants. Give BOOT_NONE for
 * the one (unit or process) that is not asked for. Time that a step and its nested steps share counts once. */
int64_t boot_path_overlap(const struct boot *b, const struct boot_path *p, int unit, int process, int64_t start,
                          int64_t end);
#endif
