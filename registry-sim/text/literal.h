/* literal.h - the data forms of .reg that INI accepts too: dword:, qword:, hex:, hex(N):.
 * Threads: pure, any. Not for: quoted strings and continuation lines, which the readers join first. */
#ifndef REGISTRY_SIM_TEXT_LITERAL_H
#define REGISTRY_SIM_TEXT_LITERAL_H
#include "registry-sim/store/regstore.h"
#include "registry-sim/text/textbuf.h"

struct literal {
    uint32_t    type;
    uint8_t    *data; /* malloc; NULL only before a success */
    uint32_t    size;
    char        what[120]; /* after a failure: what is wrong */
    const char *advice;    /* what to do about it; static */
};

/* True when the text starts like a literal ("hex", "dword:" ...), so that literal_parse decides on it. */
bool literal_looks_like(const char *text, size_t length);
/* Reads one literal that fills the text (blanks around it are fine). Status 0, W_NOT_ENOUGH_MEMORY or W_INVALID_DATA;
 * data is the caller's. */
wstatus literal_parse(const char *text, size_t length, struct literal *out);
/* Writes `value` as regedit does: dword: for four bytes, else hex(...). A QWORD of less than 8 bytes is written as
 * hex(0b):, whose size literal_parse does not check. `column` > 0: the current column; lines are wrapped at 80 columns
 * with `newline`. 0: one line. */
void literal_print(struct textbuf *out, const struct regvalue *value, size_t column, const char *newline);
#endif
