/* value.h - one value of a payload: its end, and its text. Shared by all descriptions; the tables are values.def
 * (kinds) and shown.def (the kind of a type).
 * Threads: pure, any. Not for: places of fields (walk.h). */
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
/* The form of the text in JSON. */
enum value_json {
    JSON_STRING,
    JSON_BARE, /* a number, true or false: unquoted */
    JSON_LIST  /* words separated by commas: an array of strings */
};
/* A value in a payload. */
struct value {
    const uint8_t *data; /* its content: without the count before it and the NUL behind it */
    uint32_t       size;
    const uint8_t *stored; /* all of it */
    uint32_t       stored_size;
};
enum { VALUE_NO_LENGTH = -1 };

/* The kind of a type; VALUE_KINDS: unknown in-type. */
enum value_kind value_kind_of(uint16_t in, uint16_t out);
/* Bytes of every value of the kind; 0: they vary. */
unsigned value_width(enum value_kind kind);
/* Its text is "0x" and digits. */
bool value_is_hex(enum value_kind kind);
/* Takes the value at the cursor. `length`: as schema_field.length, or VALUE_NO_LENGTH. False: it does not fit, and the
 * cursor is bad. */
bool value_take(struct cursor *c, enum value_kind kind, bool is_64bit, int64_t length, struct value *out);
/* Adds its text to `out`. */
void value_text(const struct value *v, enum value_kind kind, bool is_64bit, struct text *out, enum value_json *json);
/* The number in a value of an integer kind (signed ones are extended). */
uint64_t value_number(const struct value *v, enum value_kind kind);
/* The kind of a word in classic.def ("u32", "w"); VALUE_KINDS: unknown word. */
enum value_kind value_kind_find(const char *word, size_t length);
#endif
