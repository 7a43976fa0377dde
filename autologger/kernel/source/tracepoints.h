/* tracepoints.h - any tracepoint of the kernel as an event of its own: finds the tracepoints of a pattern, and the
 * layout of their records. Their events describe themselves, with the fields of the kernel's format file. Sources of
 * kind SRC_TRACEPOINT.
 * Invariants: T1 the raw log describes a source and its fields (struct raw_tracepoint) before its first record: a
 * converter needs no tracefs. T2 a pattern that matches nothing is a condition.
 * Threads: one. Ownership: the caller's arrays. Not for: the kernel flags' sources (sources.h). */
#ifndef AUTOLOGGER_KERNEL_TRACEPOINTS_H
#define AUTOLOGGER_KERNEL_TRACEPOINTS_H
#include "autologger/kernel/source/drain.h"
#include "autologger/wire/tracepoint.h"

/* Calls `found` for each tracepoint that matches the pattern, in the order of names, with the path of its folder below
 * tracefs. Returns their number; -errno when tracefs can't be read. */
int tracepoints_match(int tracefs, const char *pattern, void (*found)(void *ctx, const char *name, const char *folder),
                      void *ctx);
/* Adds the sources of all wishes after the first `count` ones; ids[] gets the kernel's numbers. Returns the new
 * count. */
unsigned tracepoints_find(int tracefs, const struct klog_config *config, struct raw_source sources[RAW_SOURCES],
                          int ids[RAW_SOURCES], unsigned count);
/* Puts the layout of each such source into the raw log. */
void tracepoints_describe(struct drain *d, const struct klog_config *config);

/* Parses the next field of a format file's text; *next: where to go on, NULL at the first call. False: no further
 * field. The eight common bytes of each record are left out. */
enum tracepoint_kind {
    TP_SIGNED,
    TP_UNSIGNED,
    TP_POINTER,
    TP_CHARS,
    TP_TEXT,
    TP_RELATIVE_TEXT,
    TP_BYTES,
    TP_ARRAY,
    TP_RELATIVE_ARRAY
};
struct tracepoint_field {
    char     name[64];
    uint16_t offset, size;
    uint8_t  kind; /* enum tracepoint_kind */
};
bool tracepoint_field_next(const char *format, const char **next, struct tracepoint_field *out);
#endif
