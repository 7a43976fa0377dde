/* kept.h - a table of named descriptors that outlive the process that made them.
 * A perf ring dies with its last mapping, so such a descriptor is also kept mapped.
 * Invariants: names are unique; a new descriptor under a known name replaces the old one.
 * Threads: one. Ownership: the table owns its descriptors and mappings. Not for: sending or receiving them (keeper,
 * handover). */
#ifndef AUTOLOGGER_DAEMON_KEPT_H
#define AUTOLOGGER_DAEMON_KEPT_H
#include <stdbool.h>
#include <stddef.h>

enum { KEPT_MAX = 8192, KEPT_NAME = 256 };

struct kept_item {
    char   name[KEPT_NAME];
    int    fd;
    void  *ring; /* mapping, or NULL */
    size_t ring_bytes;
};
struct kept {
    struct kept_item *item; /* [KEPT_MAX] */
    unsigned          count;
};

/* False when out of memory. */
bool kept_init(struct kept *k);
/* Takes `fd` (closes it when there is no room). ring_bytes > 0: also keeps it mapped with that size. */
void kept_add(struct kept *k, const char *name, int fd, size_t ring_bytes);
void kept_drop(struct kept *k, const char *name);
/* Closes and unmaps everything. */
void kept_clear(struct kept *k);
void kept_finish(struct kept *k);
#endif
