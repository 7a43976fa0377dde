/* schema.h - the one model of event descriptions, whatever their source: TraceLogging metadata, a manifest, metadata
 * embedded in a file, the built-in kernel classes. So there is one walk over payloads (walk.h) and one way to text
 * (value.h).
 * Invariants: S1 fields[0..top_count) are the event's own; members of a struct stand behind them, in one run, and
 * behind the struct itself. S2 a count or length by reference names a field before it in the payload: of the same
 * struct, or of an outer level. schema_event_finish checks both; only events that passed are found (set.h).
 * Threads: building: one. A finished provider is constant data: any.
 * Ownership: a provider owns all below it, in one arena; texts are UTF-8 and never NULL unless noted.
 * Not for: the XML of manifests (manifest.h), finding (set.h), payloads (walk.h). */
#ifndef AUTOLOGGER_SCHEMA_SCHEMA_H
#define AUTOLOGGER_SCHEMA_SCHEMA_H
#include "registry-sim/win32/guid.h"
#include "registry-sim/win32/wstatus.h"

#include <stddef.h>

/* How the payload holds a value: numbers as TDH_INTYPE_*. IN_UINT32, ... */
enum schema_in {
#define I(name, number, word) IN_##name = number,
#include "autologger/schema/intypes.def"
#undef I
};
/* How it is shown: numbers as TDH_OUTTYPE_*. OUT_NULL: the in-type's own way. OUT_HEXINT32, ... */
enum schema_out {
#define O(name, number, word) OUT_##name = number,
#include "autologger/schema/outtypes.def"
#undef O
};
/* The source of an event's description, in the order of the search. */
enum schema_source {
    SCHEMA_SELF,     /* the event carries it: TraceLogging */
    SCHEMA_MANIFEST, /* a manifest, MOF or TMF file that was loaded or is installed */
    SCHEMA_EMBEDDED, /* metadata in the file: a merge put it there, or the provider (EventSource) */
    SCHEMA_CLASSIC,  /* the kernel's built-in classes */
    SCHEMA_STRING,   /* a text event: EventWriteString; a piece of a manifest */
    SCHEMA_NONE
};

struct schema_map_row {
    uint32_t    value;
    const char *text;
};
struct schema_map {
    const char                  *name;
    bool                         bits; /* bitMap: values are single bits, texts are joined by "|" */
    unsigned                     count;
    const struct schema_map_row *rows; /* as declared */
};

/* The first eight are EVENT_PROPERTY_INFO's (PROPERTY_FLAGS of tdh.h). */
enum {
    FIELD_STRUCT       = 0x0001,
    FIELD_LENGTH_OF    = 0x0002, /* `length` is the index of the field with the length */
    FIELD_COUNT_OF     = 0x0004, /* an array: `count` is the index of the field with the count */
    FIELD_FIXED_COUNT  = 0x0010, /* an array of `count`, also when that is 1 */
    FIELD_FIXED_LENGTH = 0x0020,
    FIELD_TAGS         = 0x0040,
    FIELD_CUSTOM       = 0x0080, /* TraceLogging's custom serializer: a u16 of bytes, then these */
    FIELD_HIDDEN       = 0x0100, /* not shown: the count in front of an array, bytes of no meaning */
    FIELD_OPTIONAL     = 0x0200, /* absent if the payload ends before it */
    FIELD_TO_END       = 0x0400, /* as many elements (IN_BINARY: bytes) as are left */
    FIELD_REFERENCED   = 0x0800, /* set by schema_event_finish: it is another field's count or length */
};
enum { SCHEMA_SLOTS_MAX = 512, SCHEMA_NESTING_MAX = 16 };
struct schema_field {
    const char              *name;
    const struct schema_map *map;     /* NULL: none */
    uint16_t                 in, out; /* schema_in, schema_out; not of a struct */
    uint16_t                 flags;
    uint16_t                 first, members; /* FIELD_STRUCT: fields[first .. first + members) */
    uint16_t                 count;          /* 1 when it is no array */
    uint16_t                 length; /* UnicodeString: units of 16 bits; AnsiString, Binary: bytes; 0: to the NUL */
    uint16_t                 kind;   /* set by schema_event_finish: enum value_kind (value.h) */
    /* set by it: bytes of a single value of constant size; 0: not so simple */
    uint8_t  width;
    bool     plain_name;  /* set by it: printable ASCII without blanks */
    uint16_t name_length; /* set by it */
    bool     text8;       /* set by it: a single text, to its NUL */
    /* set by it, for those that the event's `fixed` counts: bytes of the fields before it, behind the prefix */
    uint16_t at;
    uint16_t slot; /* set by it: where a walk keeps the value, with FIELD_REFERENCED */
    uint32_t tags;
};

struct schema_event {
    const struct schema_provider *provider;
    enum schema_source            source;
    uint16_t                      id, task;
    uint8_t                       version, channel, level, opcode;
    uint64_t                      keyword;
    bool                          cut; /* the description is damaged behind these fields */
    /* a message of WPP: found by its number alone; printf's formats in `message` count */
    bool formatted;
    /* set by schema_event_finish: all fields are shown, simple (width, text8) and independent of each other */
    bool flat;
    /* bytes of metadata at the beginning of the payload; the fields begin behind them */
    uint32_t prefix;
    /* set by it, of a flat event: number of leading fields with constant size; their bytes */
    uint16_t fixed, fixed_bytes;
    /* not zero: a classic event, found by this, opcode and version, not by id */
    struct guid class_guid;
    uint32_t    tags;
    /* names; NULL: none is given (predefined ones: names.h) */
    const char        *name; /* EventName: TraceLogging's, or a manifest event's symbol or name */
    const char        *level_name, *channel_name, *task_name, *opcode_name;
    const char *const *keyword_names; /* NULL-terminated; NULL: none */
    const char        *attributes;
    /* XML with %N, which replaces EventData where events are shown as XML; NULL: none */
    const char          *user_data;
    const char          *message; /* as in the manifest: "%1 said %2!s!", escapes untouched (message.h) */
    struct schema_field *fields;
    uint16_t             field_count, top_count, slot_count;
};

/* A level, task, opcode, keyword or channel that a provider declares. */
struct schema_name {
    uint64_t    value;
    uint32_t    task;           /* of an opcode for one task alone: that task; else 0 */
    const char *name, *message; /* message: NULL when it has none */
};
struct schema_names {
    struct schema_name *rows;
    unsigned            count;
};

struct schema_arena;
struct schema_provider {
    struct guid           guid;
    struct guid           decode_guid; /* zero: none */
    const char           *name;
    const char           *message;       /* NULL: none */
    const char           *resource_file; /* NULL: none */
    const char           *origin;        /* its file, for messages: "/etc/x.man", "boot.etl" */
    const char           *culture;       /* of its texts: "de-DE"; NULL: not known */
    struct schema_names   levels, tasks, opcodes, keywords, channels;
    struct schema_map    *maps;
    unsigned              map_count;
    struct schema_event **events; /* finished ones */
    unsigned              event_count;
    struct schema_arena  *arena;
};

/* NULL: out of memory, as for all functions here that create something. Texts are copied. */
struct schema_provider *schema_provider_new(const struct guid *guid, const char *name);
void                    schema_provider_free(struct schema_provider *p); /* NULL is fine */
/* Zeroed memory that lives as long as the provider. */
void *schema_alloc(struct schema_provider *p, size_t count, size_t size);
/* A copy as valid UTF-8 (invalid bytes become U+FFFD). */
const char *schema_text(struct schema_provider *p, const char *text, size_t length);
/* The same from UTF-16LE. */
const char *schema_text_utf16(struct schema_provider *p, const void *text, size_t bytes);
/* An event of `field_count` zeroed fields (count 1). schema_event_finish makes it one of the provider's. */
struct schema_event *schema_event_new(struct schema_provider *p, unsigned field_count, unsigned top_count);
/* Checks S1, S2 and the types, fills in the members "set by it", and enters the event. W_INVALID_DATA: names the field
 * and its mistake; the event is not entered. W_NOT_ENOUGH_MEMORY. */
wstatus schema_event_finish(struct schema_provider *p, struct schema_event *event, struct reason *why);
/* Words of manifests ("win:UInt32", "xs:dateTime") and numbers; false: unknown word. */
bool        schema_in_find(const char *word, uint16_t *in);
bool        schema_out_find(const char *word, uint16_t *out);
const char *schema_in_word(uint16_t in);   /* "" when there is none */
const char *schema_out_word(uint16_t out); /* "" when there is none */
/* The in-type's default out-type (win:UInt32: OUT_UNSIGNEDINT), for a manifest without outType. */
uint16_t schema_out_default(uint16_t in);
/* May a manifest give this in-type that out-type? */
bool schema_out_fits(uint16_t in, uint16_t out);
#endif
