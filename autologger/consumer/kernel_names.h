/* kernel_names.h - the kernel symbols that a merge saves: the functions that addresses in the file lie in, so that the
 * file has their names on any machine. Only if the running kernel is the one that was traced: the boot ids must agree.
 * Threads: one. Ownership: create/destroy. Not for: names of user programs (symbols/symbols.h). */
#ifndef AUTOLOGGER_CONSUMER_KERNEL_NAMES_H
#define AUTOLOGGER_CONSUMER_KERNEL_NAMES_H
#include "autologger/consumer/identity.h"

struct kernel_names_counts {
    uint64_t addresses;        /* distinct ones, of the kernel */
    uint64_t named;            /* of these */
    uint64_t symbols, modules; /* saved */
    uint64_t events, bytes;    /* added */
    bool     had;              /* the file had names already: nothing was added */
    char     none[200];        /* why nothing was saved; "" = it was, or nothing was needed */
};
struct kernel_names;
struct kernel_names *kernel_names_create(void);                    /* NULL: no memory */
void                 kernel_names_destroy(struct kernel_names *k); /* NULL is fine */
/* Notes the kernel addresses of an event, and the trace's boot id. False: no memory. */
bool kernel_names_see(struct kernel_names *k, const struct etl_event *e);
/* For a file without kernel events: notes the addresses of the event's own stack, if it begins in the kernel. Events of
 * tracepoints that are providers have such stacks. False: no memory. */
bool kernel_names_see_stack(struct kernel_names *k, const struct etl_event *e);
/* Writes the names with the time `time`. `root` as for kernel_symbols_read. A file that can't have names is no
 * error. */
wstatus kernel_names_write(struct kernel_names *k, const char *root, int64_t time, const struct added_events *to,
                           struct reason *why);
const struct kernel_names_counts *kernel_names_counts(const struct kernel_names *k);
#endif
