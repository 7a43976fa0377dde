/* arena.h - memory that is allocated in small pieces and freed as a whole. Zeroed, aligned for any type.
 * Threads: one.
 * Ownership: new/free.
 * Not for: pieces that are freed earlier. */
#ifndef AUTOLOGGER_SCHEMA_ARENA_H
#define AUTOLOGGER_SCHEMA_ARENA_H
#include <stddef.h>

struct schema_arena;
struct schema_arena *schema_arena_new(void);                                  /* NULL: out of memory, as below */
void                *schema_arena_alloc(struct schema_arena *a, size_t size); /* size 0: a pointer to no bytes */
size_t               schema_arena_bytes(const struct schema_arena *a);        /* that are allocated */
void                 schema_arena_free(struct schema_arena *a);               /* NULL is fine */
#endif
