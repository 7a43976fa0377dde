/* unwind.h - frames of a program's stack from a copy of its registers and memory, by the unwind tables of the files
 * that it had mapped (elfutils' libdwfl; where a file has no table, by frame pointers, as libdwfl does it).
 * Invariants: a file counts only if it is the one that was mapped (elf_find.h); memory is read from the copy alone,
 * never from a process. A frame that can't be unwound ends the stack, and says why.
 * Memory: SPACES_MOST processes with their tables; the longest unused goes first.
 * Threads: one. Ownership: create/destroy. Not for: names (elf_names.h). */
#ifndef AUTOLOGGER_SYMBOLS_UNWIND_H
#define AUTOLOGGER_SYMBOLS_UNWIND_H
#include "autologger/consumer/unwind_pipe.h"
#include "autologger/symbols/elf_names.h"

struct unwind;
struct unwind *unwind_create(const struct elf_search *search); /* NULL: no memory */
void           unwind_destroy(struct unwind *u);               /* NULL is fine */
/* A mapping that came or went, in the order of the trace. False: no memory. */
bool unwind_image(struct unwind *u, const struct unwind_image *image, const char *path);
/* A message of a merge's, whatever it holds (`head->size` bytes of `body`). False: it is none, or no memory.
 * answer->count 0: it asked nothing. */
bool unwind_message(struct unwind *u, const struct unwind_message *head, const uint8_t *body,
                    struct unwind_answer *answer);
/* The first frame is always there: where the program was. */
void unwind_stack(struct unwind *u, const struct unwind_copy *copy, const uint8_t *stack, struct unwind_answer *out);
#endif
