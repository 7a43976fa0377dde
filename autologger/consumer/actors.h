/* actors.h - finds the process of an event whose header does not have it: the owner of the thread that it names, or of
 * the thread that ran on its processor then. Learned from the Thread events and context switches so far. Thread ids are
 * reused: the last Thread event of an id gives its process.
 * Threads: one. Ownership: zeros at first, finish. Not for: which events are about a process (process_filter.h). */
#ifndef AUTOLOGGER_CONSUMER_ACTORS_H
#define AUTOLOGGER_CONSUMER_ACTORS_H
#include "autologger/etl/reader.h"
#include "autologger/kernel/source/idmap.h"

#define ACTOR_NONE UINT32_C(0xFFFFFFFF) /* no process, no thread */

struct actors {
    struct idmap threads; /* tid + 1 -> pid + 1 */
    uint32_t    *running; /* thread by processor; ACTOR_NONE: not known yet */
    unsigned     cpus;
    bool         failed; /* no memory */
};
/* Takes every event of the file, in order. */
void     actors_see(struct actors *a, const struct etl_event *e);
uint32_t actors_owner(const struct actors *a, uint32_t thread); /* its process; ACTOR_NONE: not known */
/* The process of the event; a context switch belongs to the thread that is switched in, a disk transfer to the thread
 * that asked for it. */
uint32_t actors_process(const struct actors *a, const struct etl_event *e);
void     actors_finish(struct actors *a);

/* Reads a context switch. False: the event is none. */
bool actors_switch(const struct etl_event *e, uint32_t *comes, uint32_t *goes);
/* Reads a finished transfer of a disk. False: the event is none. */
bool actors_transfer(const struct etl_event *e, uint32_t *thread, uint32_t *bytes, bool *write);
#endif
