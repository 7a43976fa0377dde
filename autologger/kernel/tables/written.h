/* written.h - every class of events that kernel sessions, the merge and our own providers write, as a table
 * (written.def): what it is made of, which keyword asks for it, and which test reads it back field by field
 * (tools/dev/read_back.h).
 * Threads: constant data. Not for: layouts of Windows' classes (schema/classic.def), which the readers have. */
#ifndef AUTOLOGGER_KERNEL_WRITTEN_H
#define AUTOLOGGER_KERNEL_WRITTEN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WRITTEN_OWN = 0xFFFE /* in the place of a hook: it describes itself */ };
struct written_class {
    uint16_t    hook; /* group << 8 | opcode as schema/classic.h counts, or WRITTEN_OWN */
    uint8_t     version;
    const char *provider, *event; /* of an event of our own; "*": any */
    const char *fields;           /* and its fields: "Name:type Name:type" */
    const char *never;            /* names of fields that are always 0 or empty: nothing on Linux has that meaning */
    const char *keywords;         /* what asks for it */
    const char *source;           /* what of Linux it is made of */
    const char *proof;            /* the test that reads it back */
};
const struct written_class *written_classes(size_t *count);
/* NULL: no row, so nobody should write it. */
const struct written_class *written_find(uint16_t hook, uint8_t version);
const struct written_class *written_find_own(const char *provider, const char *event);
/* Is `name` one of the words of `list`? */
bool written_has_word(const char *list, const char *name);
#endif
