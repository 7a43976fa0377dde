/* merge_order.h - the daemon's order to the process of a merge, in one message: of the merged rows what the merge
 * needs, of the boot what counting needs; and the answer, in one message. No address of the daemon is in it.
 * Threads: any. Ownership: the caller's. Not for: who sends them (merge_job.h). */
#ifndef AUTOLOGGER_DAEMON_MERGE_ORDER_H
#define AUTOLOGGER_DAEMON_MERGE_ORDER_H
#include "autologger/daemon/end/merge_boot.h"

#include <stddef.h>

/* Facts from the files, beside the target's content. */
struct merge_told {
    struct result_phases phases;
    uint64_t             first_kernel_ns, first_user_ns; /* as merge_parts_times() has them */
};
struct merge_order {
    uint32_t           count, publishers_size; /* of input[]; of publishers with its NUL, 0: the usual folder */
    struct merge_parts parts;                  /* without its pointers */
    struct result_list boot;                   /* without its rows */
    char               publishers[1024];
    struct merge_input {
        char path[sizeof((struct result_row *)0)->log_path];
        bool kernel;
    } input[MERGE_PARTS];
};

/* The answer at the end. */
struct merge_answer {
    struct reason     why;
    wstatus           status;
    struct merge_told told;
};

/* Bytes of the message. */
static inline size_t merge_order_size(const struct merge_order *o)
{
    return offsetof(struct merge_order, input) + o->count * sizeof *o->input;
}
/* True: the `size` received bytes are a whole order, and each text in it ends within it. */
bool merge_order_whole(const struct merge_order *o, size_t size);
/* The same for an answer. */
bool merge_answer_whole(const struct merge_answer *a, size_t size);
#endif
