/* directory.h - the directory memfd: which provider is enabled in which session. Daemon writes, clients read.
 * Invariants: D1 `enabled` and the mask bit are set last and cleared first. D2 the generation of an entry changes with
 * every change, so a writer's ticket that still matches means that nothing changed. D3 a slot is freed when it has
 * neither a registration nor an enablement.
 * Threads: one (controlling).
 * Ownership: create/destroy.
 * Not for: telling clients (control). */
#ifndef AUTOLOGGER_SESSION_DIRECTORY_H
#define AUTOLOGGER_SESSION_DIRECTORY_H
#include "autologger/wire/filter.h"
#include "autologger/wire/shm.h"
#include "registry-sim/base/os.h"
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>

struct directory {
    int                   fd, fd_readonly;
    struct shm_directory *shm;
    uint16_t              registrations[SHM_PROVIDERS]; /* programs that have it registered now */
    char                 *name[SHM_PROVIDERS];          /* from provider traits, or NULL */
    int                   used;     /* slots from here on were never used, and their memory was not touched */
    bool                  counting; /* adopted, and its registrations are not all counted yet: no slot is freed */
};
struct enable_terms {
    uint8_t                    level;
    uint8_t                    flags;
    uint64_t                   any, all;
    const char                *units;  /* Unit=, shorter than STATE_UNITS; or NULL */
    const struct filter_block *filter; /* with EnableProperty; no filter: NULL, or a block that is not needed */
};
/* EnableProperty as an enablement's flags; the other properties need a filter. And back, with those of the filter. */
uint8_t  directory_flags(uint32_t property);
uint32_t directory_property(const struct directory *d, unsigned slot, unsigned entry);
/* The filter of an entry that is enabled with one, or NULL. */
const struct filter_block *directory_filter(const struct directory *d, unsigned slot, unsigned entry);

/* Creates an empty directory in a sealed memfd. W_NOT_ENOUGH_MEMORY, or the system's error. The caller destroys it. */
wstatus directory_create(struct os *os, struct directory **out, struct reason *why);
/* Takes over a predecessor's directory with its enablements; it owns `fd` from now on. W_INVALID_DATA when `fd` is not
 * a directory. Registrations are counted anew: directory_register for each, then directory_counted. */
wstatus directory_adopt(int fd, struct directory **out, struct reason *why);
/* Unmaps and closes; programs that have it mapped keep it. NULL is fine. */
void directory_destroy(struct directory *d);
/* The slot of `guid`, or -1. */
int directory_find(const struct directory *d, const struct guid *guid);
/* The slot of `guid`, taken if it has none; -1 when all are taken. */
int directory_get(struct directory *d, const struct guid *guid);
/* Enables `slot` in `session`. *entry gets the place. W_NO_SYSTEM_RESOURCES when the provider is in 8 sessions already,
 * or the filters' memory is full. */
wstatus directory_enable(struct directory *d, unsigned slot, unsigned session, const struct enable_terms *terms,
                         unsigned *entry, struct reason *why);
/* Changes the terms of an enabled entry. Meanwhile a writer uses the old terms, the new ones, or a mixture of both.
 * W_NO_SYSTEM_RESOURCES: no memory for its filter; nothing was changed. */
wstatus directory_change(struct directory *d, unsigned slot, unsigned entry, const struct enable_terms *terms,
                         struct reason *why);
/* Clears the entry; the caller quiesces before the session's streams are read for the last time. */
void directory_disable(struct directory *d, unsigned slot, unsigned entry);
/* All registrations of an adopted directory are counted: unused slots may be freed again. */
void directory_counted(struct directory *d);
/* A registration came (+1) or went (-1). */
void directory_register(struct directory *d, unsigned slot, int change);
#endif
