/* payload_filter.h - what an event must say to pass: the data of a part FILTER_PAYLOAD (filter.h). A head, then one
 * entry for each event concerned: its name, the layout of its payload as far as it is needed, and predicates over its
 * fields. An event with a manifest is found by id and version, and its entry has the layout; a TraceLogging event is
 * found by name, and brings its own layout. Everything needed while an event is written is computed when the bytes are
 * made: operands are stored in each form that a field may have.
 * Invariants of bytes that payload_check has passed: sizes are multiples of 8 and add up; texts end with their NUL;
 * steps and slots that are named exist, and a slot is filled before it is used.
 * Threads: any.
 * Not for: what passes (provider/payload.h), words (plan/payload_words.h). */
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
    PAYLOAD_ALL   = 2, /* of several entries for one event: this one must hold; of those without it, any */
    PAYLOAD_NAMED = 4  /* a TraceLogging event, found by name */
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
    uint16_t size;     /* of the whole entry */
    uint16_t id;
    uint8_t  version, flags, steps, predicates;
    uint16_t name_size; /* with its NUL: of a TraceLogging event, or as the controller named the event */
    uint16_t reserved[3];
};
struct payload_step {       /* one field, array or not; a struct has a step for each member */
    uint8_t  in, how;       /* TDH_INTYPE_*, PAYLOAD_* */
    uint16_t count, length; /* or the slot that holds it */
    uint8_t  slot;          /* gets this field's value; PAYLOAD_NO_SLOT */
    uint8_t  reserved;
};
/* name and text of the operand, each with its NUL, then the text as UTF-16 without; padded to 8 */
struct payload_predicate {
    uint16_t    size, step;
    uint8_t     op, forms;
    uint16_t    name_size, text_size, wide_size;
    uint32_t    reserved;
    uint64_t    number[2]; /* two's complement, with PAYLOAD_NEGATIVE if below 0. Two for BETWEEN */
    double      real[2];
    struct guid guid;
};
_Static_assert(sizeof(struct payload_head) == 8 && sizeof(struct payload_event) == 16 &&
                   sizeof(struct payload_step) == 8 && sizeof(struct payload_predicate) == 64,
               "payload_filter.h");

/* How a value is compared, by its in-type. */
enum payload_form {
    PAYLOAD_FORM_NONE,
    PAYLOAD_FORM_UNSIGNED,
    PAYLOAD_FORM_SIGNED,
    PAYLOAD_FORM_REAL,
    PAYLOAD_FORM_GUID,
    PAYLOAD_FORM_TEXT,
    PAYLOAD_FORM_WIDE
};
/* How its end is found: after `width` bytes, or as the name says. */
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
/* Of an in-type of manifests. */
struct payload_type payload_type_of(uint8_t in);

/* ---- making them ---- */
struct payload_asked {
    const char *field, *text; /* of BETWEEN: "LOW,HIGH" */
    uint16_t    step;
    uint8_t     op;
};
struct payload_clause {
    const char          *event; /* a name, or a number as it was written */
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
/* Adds one event. W_INVALID_PARAMETER: an operator that does not fit the field's type, an operand that is not of that
 * type, or no room. */
wstatus payload_add(struct payload_bytes *b, const struct payload_clause *clause, struct reason *why);
/* Adds an entry that another payload_add made, with these flags added. W_INVALID_PARAMETER: no room. */
wstatus payload_append(struct payload_bytes *b, const struct payload_event *entry, uint8_t flags, struct reason *why);

/* Checks whether bytes of unknown origin are such a filter. W_INVALID_PARAMETER. */
wstatus payload_check(const void *data, size_t size, struct reason *why);
/* Describes them in the words that plan/payload_words.h reads; cut if too long. Only for bytes that payload_check has
 * passed. */
void payload_describe(const void *data, size_t size, char *out, size_t room);
/* ">=", "contains"; NULL: no such operator. */
const char *payload_operator_word(unsigned op);
#endif
