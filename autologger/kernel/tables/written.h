/* written.h - a table (written.def) of every event class that kernel sessions, the merge and our own providers write:
 * its Linux source, the keywords that enable it, and the test that reads it back field by field
 * (tools/dev/read_back.h).
 * Threads: constant data. Not for: layouts of Windows' classes (schema/classic.def), which the readers use. */
#ifndef AUTOLOGGER_KERNEL_WRITTEN_H
#define AUTOLOGGER_KERNEL_WRITTEN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WRITTEN_OWN = 0xFFFE /* instead of a hook: a self-describing event */ };
struct written_class {
    uint16_t    hook; /* group << 8 | opcode as in schema/classic.h, or WRITTEN_OWN */
    uint8_t     version;
    const char *provider, *event; /* of an event of our own; "*": any */
    const char *fields;           /* and its fields: "Name:type Name:type" */
    const char *never;            /* names of fields that are always 0 or empty: nothing on Linux has that meaning */
    const char *keywords;         /* that enable it */
    const char *source;           /* its Linux source */
    const char *proof;            /* the test that reads it back */
};
const struct written_class *written_classes(size_t *count);
/* NULL: no row; such an event must not be written. */
const struct written_class *written_find(uint16_t hook, uint8_t version);
const struct written_class *written_find_own(const char *provider, const char *event);
/* True if `name` is one of the words of `list`. */
bool written_has_word(const char *list, const char *name);
#endif
