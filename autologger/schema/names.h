/* names.h - names that all providers share: predefined levels, opcodes, channels and keywords ("win:Informational").
 * Threads: constant data. Not for: a provider's own (schema.h). */
#ifndef AUTOLOGGER_SCHEMA_NAMES_H
#define AUTOLOGGER_SCHEMA_NAMES_H
#include <stdint.h>

enum predefined {
    PREDEFINED_LEVEL,
    PREDEFINED_OPCODE,
    PREDEFINED_CHANNEL,
    PREDEFINED_KEYWORD, /* one bit */
    PREDEFINED_TASK
};
/* "win:Start"; NULL: the value has no predefined name. */
const char *predefined_name(enum predefined what, uint64_t value);
/* The i-th of a kind, in the order of values; NULL at the end. */
const char *predefined_at(enum predefined what, unsigned i, uint64_t *value);
#endif
