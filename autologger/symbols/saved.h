/* saved.h - the kernel's functions: those that a merge saved in the trace (wire/names.h), or, without these, in the
 * boot that was traced, those of the running kernel.
 * Threads: one. Ownership: zeros at first, finish. */
#ifndef AUTOLOGGER_SYMBOLS_SAVED_H
#define AUTOLOGGER_SYMBOLS_SAVED_H
#include "autologger/consumer/kernel_symbols.h"
#include "autologger/symbols/symbols.h"

struct saved {
    struct kernel_symbols symbols;
    char                  boot_id[40];
    char                  build_id[41]; /* the kernel's */
    char                  why[220];
};
bool saved_see(struct saved *s, const struct etl_event *e); /* false: no memory */
/* Once all events are seen. */
enum symbols_kernel saved_finish_reading(struct saved *s);
/* The function at an address of the kernel, or at an offset in the vdso. */
const char *saved_find(const struct saved *s, uint64_t address, const struct kernel_module **module, uint64_t *start);
const char *saved_kernel_build_id(const struct saved *s);
const char *saved_why(const struct saved *s);
void        saved_finish(struct saved *s);
/* Reads FileVersion's FileId as our merge writes it: the whole build id; *key: the part of it that Image events
 * carry. */
bool build_id_version(const struct etl_event *e, uint64_t *key, struct build_id *out);
#endif
