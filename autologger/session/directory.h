/* directory.h - the directory memfd: which provider is enabled in which session. Daemon writes, clients read.
 * Invariants: D1 `enabled` and the mask bit are set last and cleared first. D2 the generation of an entry changes with
 * every change, so a writer's ticket that still matches means that nothing changed. D3 a slot is freed when it has
 * neither a registration nor an enablement.
 * Threads: one (controlling). Ownership: create/destroy. Not for: telling clients (control). */
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
    int                   used;     /* slots from here on were never taken: their memory is not even touched */
    bool                  counting; /* an adopted directory until all registrations are counted: no slot is freed */
};
struct enable_terms {
    uint8_t                    level;
    uint8_t                    flags;
    uint64_t                   any, all;
    const char                *units;  /* Unit=, shorter than STATE_UNITS; or NULL */
    const struct filter_block *filter; /* with EnableProperty; NULL, or one that is not needed: none */
};
/* EnableProperty as an enablement's flags; what they can't say needs a filter. And back, with what the filter says. */
uint8_t  directory_flags(uint32_t property);
uint32_t directory_property(const struct directory *d, unsigned slot, unsigned entry);
/* The filter of an entry that is enabled with one, or NULL. */
const struct filter_block *directory_filter(const struct directory *d, unsigned slot, unsigned entry);

/* An empty directory in a sealed memfd. W_NOT_ENOUGH_MEMORY, or what the system gave. The caller destroys it. */
wstatus directory_create(struct os *os, struct directory **out, struct reason *why);
/* A predecessor's, with its enablements; `fd` is the directory's from now on. W_INVALID_DATA when it can't be one.
 * Registrations are counted anew: directory_register for each, then directory_counted. */
wstatus directory_adopt(int fd, struct directory **out, struct reason *why);
/* Unmaps and closes; programs that have it mapped keep it. NULL is fine. */
void directory_destroy(struct directory *d);
/* The slot of `guid`, or -1. */
int directory_find(const struct directory *d, const struct guid *guid);
/* The slot of `guid`, made when there is none; -1 when all are taken. */
int directory_get(struct directory *d, const struct guid *guid);
/* Enables `slot` in `session`. *entry gets the place. W_NO_SYSTEM_RESOURCES when the provider is in 8 sessions already,
 * or the filters' memory is full. */
wstatus directory_enable(struct directory *d, unsigned slot, unsigned session, const struct enable_terms *terms,
                         unsigned *entry, struct reason *why);
/* Other terms for an enabled entry. Who writes meanwhile goes by the old or the new ones, or, between the two, by a
 * mixture of both. W_NO_SYSTEM_RESOURCES: there
 * is no memory for its filter, nothing was changed. */
wstatus directory_change(struct directory *d, unsigned slot, unsigned entry, const struct enable_terms *terms,
                         struct reason *why);
/* Clears the entry; the caller quiesces before the session's streams are read for the last time. */
void directory_disable(struct directory *d, unsigned slot, unsigned entry);
/* All registrations of an adopted directory are counted: slots that nobody uses may be freed again. */
void directory_counted(struct directory *d);
/* A registration came (+1) or went (-1). */
void directory_register(struct directory *d, unsigned slot, int change);
#endif
