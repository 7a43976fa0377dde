/* wstatus.h - the one error type: a Win32 system error number.
 * One table (wstatus.def) gives number, name, meaning and advice; every report takes them from there.
 * Threads: constant data, any. Not for: errno values, which are turned into a wstatus at the edge, see os.h. */
#ifndef REGISTRY_SIM_WIN32_WSTATUS_H
#define REGISTRY_SIM_WIN32_WSTATUS_H
#include <stddef.h>
#include <stdint.h>

typedef uint32_t wstatus; /* 0 = success */

enum {
#define S(number, name, text, advice) W_##name = number,
#include "registry-sim/win32/wstatus.def"
#undef S
};

struct wstatus_row {
    wstatus     number;
    const char *name;   /* "ERROR_ALREADY_EXISTS" */
    const char *text;   /* one clause, no full stop */
    const char *advice; /* what to do, imperative */
};

/* The row of `number`, or NULL for a number that is not in the table. */
const struct wstatus_row *wstatus_find(wstatus number);
/* The whole table, for tests and reference pages; *count gets its length. */
const struct wstatus_row *wstatus_table(size_t *count);
/* Never NULL: "ERROR_..." or "(unknown status)". */
const char *wstatus_name(wstatus number);
/* Never NULL: what it means / what to do about it. */
const char *wstatus_text(wstatus number);
const char *wstatus_advice(wstatus number);
/* errno (positive) -> the nearest wstatus. Unlisted values become W_INVALID_OPERATION. */
wstatus wstatus_from_errno(int error);

/* A status with its reason in words: "it did not start and does not say why" must not happen.
 * An instance belongs to the caller; `text` is always NUL-terminated. */
struct reason {
    wstatus status;
    char    text[512];
};
/* Sets both and returns `status`, so that a failing line reads: return reason_set(why, W_X, "...", ...). `why` may be
 * NULL. Hidden characters are escaped (visible.h): reasons quote names that any user chose, and end in terminals and in
 * the journal. */
wstatus reason_set(struct reason *why, wstatus status, const char *format, ...) __attribute__((format(printf, 3, 4)));
#endif
