/* walk.h - walks a payload by its description: value by value, and as fields with a path and a text. A cursor bounds
 * the payload; nesting and steps are bounded too: a description that does not fit ends as a mismatch, and never reads
 * beyond the payload.
 * Threads: pure, any. Not for: finding the description (set.h). */
#ifndef AUTOLOGGER_SCHEMA_WALK_H
#define AUTOLOGGER_SCHEMA_WALK_H
#include "autologger/schema/value.h"

enum { WALK_DEPTH_MAX = 17 };
/* The place of a walk: the structs around the value (levels[0..depth)), and the value's own field. */
struct walk_level {
    const struct schema_field *field;
    bool                       in_array;
    uint16_t                   element;
};
struct walk_place {
    struct walk_level levels[WALK_DEPTH_MAX];
    unsigned          depth;
    bool              is_64bit;
};
/* Takes a value; level `depth` is its field. Hidden values come too. False: ends the walk. */
typedef bool walk_visitor(void *ctx, const struct walk_place *place, const struct value *v);

enum decode_result {
    DECODE_OK,
    DECODE_UNKNOWN, /* nothing describes this event */
    /* description and payload disagree: values are missing or bytes are left; earlier values were delivered */
    DECODE_MISMATCH,
};

/* *used: payload bytes of the walked values. DECODE_OK when the visitor ended the walk. */
enum decode_result walk_payload(const struct schema_event *event, const void *payload, size_t size, bool is_64bit,
                                walk_visitor *visit, void *ctx, uint32_t *used);

/* The values of a flat event (schema.h) with at most WALK_VALUES fields, all at once, which is faster. They are those
 * of fields[0..*count). *used as above. Only for events of which walk_is_flat is true. */
enum { WALK_VALUES = 64 };
static inline bool walk_is_flat(const struct schema_event *event)
{
    return event->flat && event->top_count <= WALK_VALUES;
}
enum decode_result walk_values(const struct schema_event *event, const void *payload, size_t size,
                               struct value out[WALK_VALUES], unsigned *count, uint32_t *used);

/* Lent to the sink for the call. */
struct field {
    const char                *path; /* "outer.list[2].name" */
    const char                *name; /* its last part: "name" */
    const char                *text; /* NUL-terminated, but may hold NULs */
    size_t                     length;
    enum value_json            json;
    bool                       hex; /* the text is 0x and digits */
    const struct schema_field *field;
    const struct value        *value;
};
/* Takes the fields of an event one by one. */
struct field_sink {
    void (*emit)(void *self, const struct field *field);
    void       *self;
    struct text path, value; /* work space; zeros at first, field_sink_finish at the end */
};
void field_sink_finish(struct field_sink *sink);
/* Emits all fields that are not hidden: members of structs as "a.b", elements of arrays as "a[0]". */
enum decode_result walk_fields(const struct schema_event *event, const void *payload, size_t size, bool is_64bit,
                               struct field_sink *sink, uint32_t *used);
/* Sets `path` to the place of the walk: "outer.list[2].name". */
void walk_path(const struct walk_place *place, struct text *path);
/* The text of one value of `field`, or of its map entry where the field has a map. */
void walk_text(const struct schema_field *field, const struct value *v, bool is_64bit, struct text *out,
               enum value_json *json);
#endif
