/* pool.h - memory with a bound that is freed as a whole: texts, structs and lists of a document of unknown size.
 * Invariant P1: once memory ran out, or the bound was reached, `failed` stays set and all calls give NULL; ask once at
 * the end.
 * Threads: one. Ownership: new/free; allocations live as long as the pool. */
#ifndef AUTOLOGGER_SCHEMA_POOL_H
#define AUTOLOGGER_SCHEMA_POOL_H
#include <stdbool.h>
#include <stddef.h>

struct pool;

struct pool *pool_new(size_t limit);    /* bytes in all; NULL: out of memory */
void         pool_free(struct pool *p); /* NULL is fine */
bool         pool_failed(const struct pool *p);
void        *pool_alloc(struct pool *p, size_t size);                    /* zeros */
const char  *pool_text(struct pool *p, const char *text, size_t length); /* a copy, NUL-terminated */

/* A list in a pool: POOL_LIST(struct x) xs; struct x *new = pool_push(pool, &xs, &(struct x){...}); at[0..count). */
#define POOL_LIST(type) \
    struct { \
        type    *at; \
        unsigned count, room; \
    }
/* Appends a zeroed element; NULL: no memory. Pointers into the list move. */
#define pool_push(pool, list) \
    ((__typeof__((list)->at))pool_list_push((pool), (void **)&(list)->at, &(list)->count, &(list)->room, \
                                            sizeof *(list)->at))
void *pool_list_push(struct pool *p, void **at, unsigned *count, unsigned *room, size_t size);
#endif
