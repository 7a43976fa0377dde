/* living.h - the processes that live, by id: when each began, who made it, what it runs.
 * Threads: one at a time. Ownership: living_finish. Not for: threads. */
#ifndef AUTOLOGGER_PROCESSES_LIVING_H
#define AUTOLOGGER_PROCESSES_LIVING_H
#include <stdbool.h>
#include <stdint.h>

struct process {
    struct process *next;
    uint32_t        pid, parent;
    uint64_t        number, parent_number; /* never given twice: an exec gives a new one */
    uint64_t        began_ns;              /* CLOCK_MONOTONIC_RAW */
    /* the program's path; a thread of the kernel: its name. Never NULL in a process that is told */
    char    *image;
    uint32_t threads;
    uint64_t seen_ns; /* /proc told of it then: what happened to its threads before is known */
    uint64_t exec_ns; /* it runs another program since then, whose path is not known yet; 0: no */
    char     exec_name[16];
};
enum { LIVING_BUCKETS = 1024 };
struct living {
    struct process *bucket[LIVING_BUCKETS];
    uint64_t        number; /* the last one given */
};
struct process *living_find(const struct living *l, uint32_t pid);
/* With a number of its own, image NULL; one that was there under the id is forgotten. NULL: no memory. */
struct process *living_add(struct living *l, uint32_t pid);
void            living_remove(struct living *l, uint32_t pid);
void            living_each(const struct living *l, void (*each)(void *ctx, struct process *p), void *ctx);
/* Those of /proc, with `now_ns` and their age for the time at which they began. False: /proc can't be read. */
bool living_read(struct living *l, const char *proc, uint64_t now_ns);
void living_finish(struct living *l);
#endif
