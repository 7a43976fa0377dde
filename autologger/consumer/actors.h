/* actors.h - which process an event is of, where its header does not say: whose thread it names, or who ran on that
 * processor then. Learned from Thread events and context switches, as far as they have come. Thread ids are used again:
 * the last Thread event of an id tells whose it is.
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
/* To be told every event of the file, in order. */
void     actors_see(struct actors *a, const struct etl_event *e);
uint32_t actors_owner(const struct actors *a, uint32_t thread); /* its process; ACTOR_NONE: nobody said */
/* The process that the event is of; a context switch is of the thread that comes, a disk transfer of the thread that
 * asked for it. */
uint32_t actors_process(const struct actors *a, const struct etl_event *e);
void     actors_finish(struct actors *a);

/* A context switch. False: it is none. */
bool actors_switch(const struct etl_event *e, uint32_t *comes, uint32_t *goes);
/* A finished transfer of a disk. False: it is none. */
bool actors_transfer(const struct etl_event *e, uint32_t *thread, uint32_t *bytes, bool *write);
#endif
