/* table.h - the sessions of a daemon: names, GUIDs and log files are unique, slots are limited, memory has a ceiling.
 * Threads: one (controlling). Ownership: the table owns its sessions. Not for: the order of a boot (boot). */
#ifndef AUTOLOGGER_SESSION_TABLE_H
#define AUTOLOGGER_SESSION_TABLE_H
#include "autologger/session/session.h"

struct session_table {
    struct session_env *env;
    struct directory   *directory;
    struct session     *slot[SHM_SESSIONS];
    uint64_t            ceiling, memory_used; /* bytes */
    unsigned            most;                 /* sessions at one time; 0: SHM_SESSIONS */
    uint32_t            generation;
    /* checks each plan before its session is created; NULL: every plan may be added */
    wstatus (*may_add)(void *ctx, const struct plan *plan, struct reason *why);
    void *may_ctx;
};

/* Creates the session of `plan` and adds it. W_ALREADY_EXISTS name or GUID taken (the reason names the holder),
 * W_SHARING_VIOLATION log file taken, W_NO_SYSTEM_RESOURCES no slot, and what session_create gives. */
wstatus table_add(struct session_table *t, const struct plan *plan, struct session **out, struct reason *why);
/* W_ALREADY_EXISTS; the reason says who has the name. */
wstatus table_name_taken(const struct session *s, struct reason *why);
/* Adds an adopted session at its own index. W_ALREADY_EXISTS when the index is taken. */
wstatus table_add_adopted(struct session_table *t, struct session *s, struct reason *why);
/* By name, ignoring case; NULL: not found. */
struct session *table_find(struct session_table *t, const char *name);
/* Stops, removes and destroys. */
void table_remove(struct session_table *t, struct session *s);
/* What the session counts for in memory_used: more than it uses while an update may give it more. */
void     table_memory_set(struct session_table *t, struct session *s, uint64_t bytes);
unsigned table_count(const struct session_table *t);
/* Removes and destroys all sessions. */
void table_finish(struct session_table *t);
#endif
