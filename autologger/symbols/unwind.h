/* unwind.h - unwinds a program's stack from a copy of its registers and memory, by the unwind tables of the files that
 * it had mapped (elfutils' libdwfl; where a file has no table, by frame pointers, as libdwfl does it).
 * Invariants: a file counts only if it is the one that was mapped (elf_find.h); memory is read from the copy alone,
 * never from a process. A frame that can't be unwound ends the stack, with the reason.
 * Memory: SPACES_MOST processes with their tables; the least recently used goes first.
 * Threads: one. Ownership: create/destroy. Not for: names (elf_names.h). */
#ifndef AUTOLOGGER_SYMBOLS_UNWIND_H
#define AUTOLOGGER_SYMBOLS_UNWIND_H
#include "autologger/consumer/unwind_pipe.h"
#include "autologger/symbols/elf_names.h"

struct unwind;
struct unwind *unwind_create(const struct elf_search *search); /* NULL: no memory */
void           unwind_destroy(struct unwind *u);               /* NULL is fine */
/* A new or removed mapping, in the order of the trace. False: no memory. */
bool unwind_image(struct unwind *u, const struct unwind_image *image, const char *path);
/* Handles any message of a merge (`head->size` bytes of `body`). False: no valid message, or no memory. answer->count
 * 0: there is nothing to answer. */
bool unwind_message(struct unwind *u, const struct unwind_message *head, const uint8_t *body,
                    struct unwind_answer *answer);
/* The first frame is always there: the program's instruction pointer. */
void unwind_stack(struct unwind *u, const struct unwind_copy *copy, const uint8_t *stack, struct unwind_answer *out);
#endif
