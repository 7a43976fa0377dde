/* value.h - one decoded field, and how values of each kind become text: shared by all decoders.
 * A cursor bounds every read. Threads: pure, any. Not for: which field has which kind (tracelogging, classic). */
#ifndef AUTOLOGGER_CONSUMER_VALUE_H
#define AUTOLOGGER_CONSUMER_VALUE_H
#include "autologger/consumer/text.h"
#include "registry-sim/base/cursor.h"

enum value_kind {
#define V(name, word, width, form) VALUE_##name,
#include "autologger/consumer/values.def"
#undef V
    VALUE_KINDS
};
/* How the text stands in JSON. */
enum value_json {
    JSON_STRING,
    JSON_BARE, /* a number, true or false: as it is */
    JSON_LIST  /* words separated by commas: an array of strings */
};
/* Lent to the sink for the call. */
struct field {
    const char     *path; /* "outer.list[2].name" */
    const char     *name; /* its last part: "name" */
    const char     *text; /* NUL-terminated, but may hold NULs */
    size_t          length;
    enum value_json json;
    bool            hex; /* the text is 0x and digits */
};
/* Takes the fields of an event one by one. */
struct field_sink {
    void (*emit)(void *self, const struct field *field);
    void       *self;
    struct text path, value; /* work space; zeros at first, field_sink_finish at the end */
};
enum decode_result {
    DECODE_OK,
    DECODE_UNKNOWN,  /* nothing describes this event */
    DECODE_MISMATCH, /* description and payload don't agree; the fields before that were given */
};

/* Reads a value at the cursor, adds its text to `out`. False when it does not fit (the cursor is bad then). */
bool value_decode(struct cursor *c, enum value_kind kind, bool is_64bit, struct text *out, enum value_json *json);
/* Reads a value and emits it under the path that the sink holds. */
bool field_read(struct field_sink *sink, struct cursor *c, enum value_kind kind, bool is_64bit);
/* The kind that a word of classic.def means ("u32", "w"); VALUE_KINDS when there is none. */
enum value_kind value_kind_find(const char *word, size_t length);
void            field_sink_finish(struct field_sink *sink);
#endif
