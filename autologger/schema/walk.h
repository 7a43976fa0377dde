/* walk.h - a payload by its description: value by value, and as fields with a path and a text.
 * The payload is bounded by a cursor, nesting and steps are bounded too: a description that does not fit ends as a
 * mismatch, and never reads past it. Threads: pure, any. Not for: finding the description (set.h). */
#ifndef AUTOLOGGER_SCHEMA_WALK_H
#define AUTOLOGGER_SCHEMA_WALK_H
#include "autologger/schema/value.h"

enum { WALK_DEPTH_MAX = 17 };
/* Where a walk is: the structs around the value (levels[0..depth)), and the value's own field. */
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
/* Takes a value; level `depth` is its field. Hidden ones come too. False: enough. */
typedef bool walk_visitor(void *ctx, const struct walk_place *place, const struct value *v);

enum decode_result {
    DECODE_OK,
    DECODE_UNKNOWN, /* nothing describes this event */
    /* description and payload don't agree: values are missing or bytes are left; what stands before that was given */
    DECODE_MISMATCH,
};

/* *used: payload bytes that values accounted for. DECODE_OK when the visitor had enough. */
enum decode_result walk_payload(const struct schema_event *event, const void *payload, size_t size, bool is_64bit,
                                walk_visitor *visit, void *ctx, uint32_t *used);

/* The values of a flat event (schema.h) with at most WALK_VALUES fields, at once: quicker than one by one. They are
 * those of fields[0..*count). *used as above. Not for other events: walk_is_flat says which. */
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
/* Gives all that is not hidden: members of structs as "a.b", elements of arrays as "a[0]". */
enum decode_result walk_fields(const struct schema_event *event, const void *payload, size_t size, bool is_64bit,
                               struct field_sink *sink, uint32_t *used);
/* "outer.list[2].name" of the value that a walk is at; what was in `path` goes. */
void walk_path(const struct walk_place *place, struct text *path);
/* The text of one value of `field`, its map's where it has one. */
void walk_text(const struct schema_field *field, const struct value *v, bool is_64bit, struct text *out,
               enum value_json *json);
#endif
