/* payload_filter.h - what an event must say to pass: the data of a part FILTER_PAYLOAD (filter.h). A head, then one
 * entry for each event that is meant: its name, how its payload is laid out as far as it is asked about, and predicates
 * over its fields. An event with a manifest is found by id and version, and its entry has the layout; one of
 * TraceLogging is found by name, and brings its own. All that is needed while an event is written is worked out when
 * the bytes are made: operands lie there in each form that a field may have. Invariants of bytes that payload_check has
 * passed: sizes are multiples of 8 and add up; texts end with their NUL; steps and slots that are named exist, and a
 * slot is filled before it is used. Threads: any. Not for: what passes (provider/payload.h), words
 * (plan/payload_words.h). */
#ifndef AUTOLOGGER_WIRE_PAYLOAD_FILTER_H
#define AUTOLOGGER_WIRE_PAYLOAD_FILTER_H
#include "autologger/wire/filter.h"
#include "registry-sim/win32/guid.h"

/* PAYLOADFIELD_* */
enum payload_operator {
    PAYLOAD_EQ,
    PAYLOAD_NE,
    PAYLOAD_LE,
    PAYLOAD_GT,
    PAYLOAD_LT,
    PAYLOAD_GE,
    PAYLOAD_BETWEEN,
    PAYLOAD_NOT_BETWEEN,
    PAYLOAD_MODULO,
    PAYLOAD_CONTAINS = 20,
    PAYLOAD_NOT_CONTAINS,
    PAYLOAD_IS = 30,
    PAYLOAD_IS_NOT
};
enum {
    PAYLOAD_VERSION    = 1,
    PAYLOAD_PREDICATES = 8,
    PAYLOAD_SLOTS      = 8,
    PAYLOAD_STEPS      = 128,
    PAYLOAD_TEXT       = 512,
    PAYLOAD_NO_SLOT    = 0xFF,
    PAYLOAD_BY_NAME    = 0xFFFF,
    PAYLOAD_IN_BOOLEAN = 13
};
enum {
    PAYLOAD_ANY   = 1, /* one predicate is enough; else all must hold */
    PAYLOAD_ALL   = 2, /* of several entries for one event: this one must hold; of those without it, one */
    PAYLOAD_NAMED = 4  /* an event of TraceLogging, by its name */
};
enum {
    PAYLOAD_FIXED_COUNT  = 1,
    PAYLOAD_COUNT_SLOT   = 2,
    PAYLOAD_COUNT_BEFORE = 4,
    PAYLOAD_FIXED_LENGTH = 8,
    PAYLOAD_LENGTH_SLOT  = 16,
    PAYLOAD_BIG_ENDIAN   = 32 /* a port */,
    PAYLOAD_ARRAY        = 7
};
enum { PAYLOAD_NUMBER = 1, PAYLOAD_REAL = 2, PAYLOAD_GUID = 4, PAYLOAD_NEGATIVE = 8, PAYLOAD_NEGATIVE_SECOND = 16 };

struct payload_head {
    uint8_t  version, reserved;
    uint16_t events;
    uint32_t reserved2;
};
struct payload_event { /* its name, padded to 8, then steps, then predicates */
    uint16_t size;     /* of all of it */
    uint16_t id;
    uint8_t  version, flags, steps, predicates;
    uint16_t name_size; /* with its NUL: of a TraceLogging event, or as a person named the event */
    uint16_t reserved[3];
};
struct payload_step {       /* one field, array or not; members of a struct stand for it */
    uint8_t  in, how;       /* TDH_INTYPE_*, PAYLOAD_* */
    uint16_t count, length; /* or the slot that says it */
    uint8_t  slot;          /* gets this field's value; PAYLOAD_NO_SLOT */
    uint8_t  reserved;
};
/* name and text of the operand, each with its NUL, then the text as UTF-16 without; padded to 8 */
struct payload_predicate {
    uint16_t    size, step;
    uint8_t     op, forms;
    uint16_t    name_size, text_size, wide_size;
    uint32_t    reserved;
    uint64_t    number[2]; /* with sign: PAYLOAD_NEGATIVE. Two for BETWEEN */
    double      real[2];
    struct guid guid;
};
_Static_assert(sizeof(struct payload_head) == 8 && sizeof(struct payload_event) == 16 &&
                   sizeof(struct payload_step) == 8 && sizeof(struct payload_predicate) == 64,
               "payload_filter.h");

/* What a value is compared as, by its in-type. */
enum payload_form {
    PAYLOAD_FORM_NONE,
    PAYLOAD_FORM_UNSIGNED,
    PAYLOAD_FORM_SIGNED,
    PAYLOAD_FORM_REAL,
    PAYLOAD_FORM_GUID,
    PAYLOAD_FORM_TEXT,
    PAYLOAD_FORM_WIDE
};
/* Where it ends: after `width` bytes; or as it says. */
enum payload_end {
    PAYLOAD_END_WIDTH,
    PAYLOAD_END_NUL,
    PAYLOAD_END_NUL16,
    PAYLOAD_END_LENGTH,
    PAYLOAD_END_SID,
    PAYLOAD_END_COUNTED,
    PAYLOAD_END_UNKNOWN
};
struct payload_type {
    uint8_t form, end, width;
};
/* Of an in-type as manifests have it. */
struct payload_type payload_type_of(uint8_t in);

/* ---- making them ---- */
struct payload_asked {
    const char *field, *text; /* of BETWEEN: "LOW,HIGH" */
    uint16_t    step;
    uint8_t     op;
};
struct payload_clause {
    const char          *event; /* a name, or a number as somebody wrote it */
    uint16_t             id;
    uint8_t              version, flags;
    unsigned             predicates, steps;
    struct payload_asked predicate[PAYLOAD_PREDICATES];
    struct payload_step  step[PAYLOAD_STEPS];
};
struct payload_bytes {
    size_t size;
    _Alignas(8) uint8_t at[FILTER_PAYLOAD_MAX];
};
/* Adds one event. W_INVALID_PARAMETER: an operator that the field's type has not, an operand that is none of it, or
 * more than there is room for. */
wstatus payload_add(struct payload_bytes *b, const struct payload_clause *clause, struct reason *why);
/* Adds an entry that payload_add has made elsewhere, with these flags besides. W_INVALID_PARAMETER: no room. */
wstatus payload_append(struct payload_bytes *b, const struct payload_event *entry, uint8_t flags, struct reason *why);

/* Whether bytes from who knows where are such a filter. W_INVALID_PARAMETER. */
wstatus payload_check(const void *data, size_t size, struct reason *why);
/* What they say, in the words that plan/payload_words.h reads; cut where it is too long. Only of what payload_check has
 * passed. */
void payload_describe(const void *data, size_t size, char *out, size_t room);
/* ">=", "contains"; NULL: there is no such operator. */
const char *payload_operator_word(unsigned op);
#endif
