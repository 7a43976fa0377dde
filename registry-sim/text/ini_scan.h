/* ini_scan.h - the pre-scan of an INI file: finds each section and value with its line and spelling, and every form
 * that iniparser would misread or refuse the whole file for. Facts about iniparser: a logical line has at most 1,022
 * bytes; a section ends at its first ']' and fills its line; an unquoted value ends at ';' or '#'; a '\' at the end of
 * a line swallows the next one; of two equal names the last wins; section and name are glued with ':'. Invariant I1:
 * `clean` has the same lines as the file, with refused ones empty, so iniparser reads the rest. Threads: one at a time.
 * Ownership: ini_scan_finish frees what ini_scan_run filled in, also after a failure. */
#ifndef REGISTRY_SIM_TEXT_INI_SCAN_H
#define REGISTRY_SIM_TEXT_INI_SCAN_H
#include "registry-sim/text/dialect.h"
#include "registry-sim/text/textbuf.h"

enum { INI_MAX_LINE = 1022, INI_MAX_NAMES = 1000, INI_MAX_SECTIONS = 4096, INI_MAX_VALUES = 8192 };

struct ini_section {
    char    *name; /* as first written, without outer blanks */
    char    *fold;
    uint32_t line;       /* of its first header */
    unsigned last_value; /* index + 1 of its latest value, 0 = none */
};
struct ini_value {
    unsigned section;
    unsigned previous; /* index + 1 of the value before it in its section */
    uint32_t line;
    char    *name; /* as written */
    char    *fold;
    char    *text; /* the value as this scan reads it */
    bool     quoted;
};
struct ini_scan {
    struct ini_section *sections;
    struct ini_value   *values;
    unsigned            section_count, value_count;
    struct textbuf      clean;
};

/* Mistakes go to `sink`; the status is 0 (with or without mistakes) or W_NOT_ENOUGH_MEMORY. The text has no BOM. */
wstatus ini_scan_run(const char *text, size_t length, const char *file, struct diag_sink *sink, struct ini_scan *out);
void    ini_scan_finish(struct ini_scan *scan);
#endif
