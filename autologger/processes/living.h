/* living.h - the live processes, by id: begin, parent and program of each.
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
    /* the program's path; of a thread of the kernel its name. Never NULL in a reported process */
    char    *image;
    uint32_t threads;
    uint64_t seen_ns; /* when it was read from /proc: `threads` includes earlier changes */
    uint64_t exec_ns; /* when it began another program, whose path is not known yet; 0: none */
    char     exec_name[16];
};
enum { LIVING_BUCKETS = 1024 };
struct living {
    struct process *bucket[LIVING_BUCKETS];
    uint64_t        number; /* the last one given */
};
struct process *living_find(const struct living *l, uint32_t pid);
/* Adds a process with a new number, image NULL; an older process of that id is removed. NULL: no memory. */
struct process *living_add(struct living *l, uint32_t pid);
void            living_remove(struct living *l, uint32_t pid);
void            living_each(const struct living *l, void (*each)(void *ctx, struct process *p), void *ctx);
/* Adds the processes of /proc, which began at `now_ns` less their age. False: /proc can't be read. */
bool living_read(struct living *l, const char *proc, uint64_t now_ns);
void living_finish(struct living *l);
#endif
