/* describe.h - own events, where Windows has none: they describe themselves (as TraceLogging's do), so any reader can
 * decode them; their providers and events have names of their own, not Windows'.
 * Threads: those of the converter. Ownership: shapes are constants. Not for: Windows' classes (emit.c). */
#ifndef AUTOLOGGER_KERNEL_DESCRIBE_H
#define AUTOLOGGER_KERNEL_DESCRIBE_H
#include "autologger/kernel/convert/convert.h"
#include "registry-sim/base/cursor.h"

/* TraceLogging's in-types (facts: TraceLoggingProvider.h's TlgIn values) */
enum {
    SHAPE_TEXT   = 2 /* UTF-8, NUL-terminated */,
    SHAPE_INT32  = 7,
    SHAPE_UINT32 = 8,
    SHAPE_INT64  = 9,
    SHAPE_UINT64 = 10,
    SHAPE_HEX32  = 20,
    SHAPE_HEX64  = 21,
    SHAPE_BINARY = 14 /* a 16-bit size first */
};
enum { SHAPE_FIELDS = 24, SHAPE_TEXT_MAX = 1024 };
struct shape {                   /* of one event; the first field without a name ends the list */
    const char *provider, *name; /* the provider's GUID is that of its name */
    struct {
        const char *name;
        uint8_t     type;
    } field[SHAPE_FIELDS];
};
/* Writes the event with this payload (its fields in order). A payload that overflowed its buffer is not written. */
void describe(struct convert *c, const struct actor *by, const struct shape *shape, uint64_t raw_ns,
              const struct writer *payload);
/* The same in the session's clock. `*time`: in, the wanted time; out, the time given. */
void describe_at(struct convert *c, const struct actor *by, const struct shape *shape, uint64_t *time,
                 const struct writer *payload);
/* Appends to a payload: a __data_loc text of a tracepoint's record; a text of at most `size` bytes. Both with their
 * NUL. */
void wr_sample_text(struct writer *w, const struct sample *s, unsigned field);
/* The same text, in the record itself. Returns its length without the NUL; 0: no text. */
size_t sample_text(const struct sample *s, unsigned field, const char **text);
void   wr_text(struct writer *w, const char *text, size_t size);
#endif
