/* elf_names.h - names of functions in one ELF file and its debug information, by elfutils.
 * A file counts only if it is the one that was mapped: by its build id, or by its time where it has none. Search order:
 * each folder of the search path (DIR/.build-id/xx/yyy.debug, DIR/.build-id/xx/yyy, DIR/path, DIR/name), the path
 * itself, /usr/lib/debug/.build-id. Nothing is ever fetched from the net.
 * Threads: one. Ownership: create/destroy; names live until destroy. Not for: where a process had the file
 * (spaces.h). */
#ifndef AUTOLOGGER_SYMBOLS_ELF_NAMES_H
#define AUTOLOGGER_SYMBOLS_ELF_NAMES_H
#include "autologger/consumer/identity.h"

struct elf_wanted { /* what the trace says of a file */
    const char     *path;
    struct build_id build_id; /* may be its beginning only (8 bytes); size 0: it has none */
    uint32_t        stamp;    /* without a build id: the file's time */
    uint64_t        size;     /* of the image */
};
struct elf_search { /* borrowed */
    const char *const *folders;
    unsigned           count;
};
struct elf_names;
/* Looks for the file. NULL: no memory; see elf_names_found for the result. */
struct elf_names *elf_names_create(const struct elf_wanted *wanted, const struct elf_search *search);
void              elf_names_destroy(struct elf_names *n); /* NULL is fine */
bool              elf_names_found(const struct elf_names *n);
/* The function at `address` in an image that begins at `base`; *start: its start relative to `base` (modulo 2^64).
 * NULL: none. */
const char *elf_names_find(struct elf_names *n, uint64_t base, uint64_t address, uint64_t *start);
/* The source file and line of `address`, by debug information. NULL: none. */
const char *elf_names_line(struct elf_names *n, uint64_t base, uint64_t address, int *line);
#endif
