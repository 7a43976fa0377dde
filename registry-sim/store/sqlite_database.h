/* sqlite_database.h - what store_sqlite.c (keys and values) and sqlite_database.c (the database beneath them) share. No
 * other file includes it, and no other header includes sqlite3.h. Threads, ownership: as in regstore.h. */
#ifndef REGISTRY_SIM_STORE_SQLITE_DATABASE_H
#define REGISTRY_SIM_STORE_SQLITE_DATABASE_H
#include "registry-sim/store/backend.h"

#include <sqlite3.h>

enum statement {
    KEY_FIND,
    KEY_ADD,
    KEY_SOURCE,
    KEY_TOUCH,
    KEY_INFO,
    KEY_DELETE,
    VALUE_SET,
    VALUE_GET,
    VALUE_DELETE,
    VALUE_RENAME,
    STATEMENTS,
};
struct sqlite_store {
    struct regstore base;
    sqlite3        *db;
    sqlite3_stmt   *statements[STATEMENTS]; /* prepared at first use */
    char           *path;
    bool            in_transaction, reader;
    char           *answer; /* the bytes of the last get */
    size_t          answer_size;
};

static inline struct sqlite_store *sqlite_self(struct regstore *store) { return (struct sqlite_store *)store; }
static inline wstatus              sqlite_no_memory(struct reason *why)
{
    return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory in the store");
}

/* ---- sqlite_database.c ---- */

wstatus sqlite_fail(struct sqlite_store *s, int rc, struct reason *why);          /* maps an SQLite error to a Status */
wstatus sqlite_run(struct sqlite_store *s, const char *text, struct reason *why); /* runs statements without rows */
/* As in struct regstore_ops. */
void    sqlite_close(struct regstore *store);
wstatus sqlite_begin(struct regstore *store, struct reason *why);
wstatus sqlite_commit(struct regstore *store, struct reason *why);
void    sqlite_rollback(struct regstore *store);

/* ---- store_sqlite.c ---- */

extern const struct regstore_ops sqlite_ops;
/* The row id of the key `name` below the row `parent`. W_FILE_NOT_FOUND: no such key. */
wstatus sqlite_child_find(struct sqlite_store *s, int64_t parent, const char *name, int64_t *id, struct reason *why);
#endif
