/* value.h - one value of a payload: where it ends, and its text. Shared by all descriptions; the tables are values.def
 * (kinds) and shown.def (which kind a type is). Threads: pure, any. Not for: which field stands where (walk.h). */
#ifndef AUTOLOGGER_SCHEMA_VALUE_H
#define AUTOLOGGER_SCHEMA_VALUE_H
#include "autologger/schema/schema.h"
#include "autologger/schema/text.h"
#include "registry-sim/base/cursor.h"

enum value_kind {
#define V(name, word, width, end, form) VALUE_##name,
#include "autologger/schema/values.def"
#undef V
    VALUE_KINDS
};
/* How the text stands in JSON. */
enum value_json {
    JSON_STRING,
    JSON_BARE, /* a number, true or false: as it is */
    JSON_LIST  /* words separated by commas: an array of strings */
};
/* A value in a payload. */
struct value {
    const uint8_t *data; /* what it says: without the count before it and the NUL behind it */
    uint32_t       size;
    const uint8_t *stored; /* all of it */
    uint32_t       stored_size;
};
enum { VALUE_NO_LENGTH = -1 };

/* The kind of a type; VALUE_KINDS when there is no such in-type. */
enum value_kind value_kind_of(uint16_t in, uint16_t out);
/* Bytes that every value of the kind has; 0: they vary. */
unsigned value_width(enum value_kind kind);
/* The text of it is "0x" and digits. */
bool value_is_hex(enum value_kind kind);
/* Takes the value at the cursor. `length`: as schema_field.length, or VALUE_NO_LENGTH. False when it does not fit (the
 * cursor is bad then). */
bool value_take(struct cursor *c, enum value_kind kind, bool is_64bit, int64_t length, struct value *out);
/* Adds its text to `out`. */
void value_text(const struct value *v, enum value_kind kind, bool is_64bit, struct text *out, enum value_json *json);
/* The number that a value of an integer kind is (signed ones extended). */
uint64_t value_number(const struct value *v, enum value_kind kind);
/* The kind that a word of classic.def means ("u32", "w"); VALUE_KINDS when there is none. */
enum value_kind value_kind_find(const char *word, size_t length);
#endif
