/* arena.h - memory that is made in small pieces and freed at once. Zeroed, aligned for anything. Threads: one.
 * Ownership: new/free.
 * Not for: pieces that go before the rest. */
#ifndef AUTOLOGGER_SCHEMA_ARENA_H
#define AUTOLOGGER_SCHEMA_ARENA_H
#include <stddef.h>

struct schema_arena;
struct schema_arena *schema_arena_new(void);                                  /* NULL: out of memory, as below */
void                *schema_arena_alloc(struct schema_arena *a, size_t size); /* size 0: a pointer, to nothing */
size_t               schema_arena_bytes(const struct schema_arena *a);        /* that it takes */
void                 schema_arena_free(struct schema_arena *a);               /* NULL is fine */
#endif
