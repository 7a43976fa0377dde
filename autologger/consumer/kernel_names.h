/* kernel_names.h - what a merge saves of the kernel's symbols: those functions that addresses in the file lie in, so
 * that it tells their names on any machine. Only where the kernel that runs is the one that was traced: the boot ids
 * must agree.
 * Threads: one. Ownership: create/destroy. Not for: names of user programs (symbols/symbols.h). */
#ifndef AUTOLOGGER_CONSUMER_KERNEL_NAMES_H
#define AUTOLOGGER_CONSUMER_KERNEL_NAMES_H
#include "autologger/consumer/identity.h"

struct kernel_names_counts {
    uint64_t addresses;        /* different ones, of the kernel */
    uint64_t named;            /* of these */
    uint64_t symbols, modules; /* saved */
    uint64_t events, bytes;    /* added */
    bool     had;              /* the file had names already: nothing was added */
    char     none[200];        /* why nothing was saved; "" = it was, or nothing was needed */
};
struct kernel_names;
struct kernel_names *kernel_names_create(void);                    /* NULL: no memory */
void                 kernel_names_destroy(struct kernel_names *k); /* NULL is fine */
/* Notes the addresses of an event, and which boot it was. False: no memory. */
bool kernel_names_see(struct kernel_names *k, const struct etl_event *e);
/* Of a file without kernel events: notes the addresses of the stack that the event brings with it, as those of
 * tracepoints that are providers do, if it begins in the kernel. False: no memory. */
bool kernel_names_see_stack(struct kernel_names *k, const struct etl_event *e);
/* Writes the names with the time `time`. `root` as for kernel_symbols_read. A file that can't have any is none of an
 * error. */
wstatus kernel_names_write(struct kernel_names *k, const char *root, int64_t time, const struct added_events *to,
                           struct reason *why);
const struct kernel_names_counts *kernel_names_counts(const struct kernel_names *k);
#endif
