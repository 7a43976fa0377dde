/* mc.h - the output of a message compiler for a manifest: a C header, with the names of Windows' mc, and a C file that
 * puts the binary form into the program (section MANIFEST_SECTION). Both compile as C99 and later and as C++14 and
 * later, with gcc and clang.
 * Threads: pure, any. Not for: writing files (tools/verbs/cmd_mc.c). */
#ifndef AUTOLOGGER_SCHEMA_MC_H
#define AUTOLOGGER_SCHEMA_MC_H
#include "autologger/schema/manifest.h"
#include "autologger/schema/text.h"

struct mc_options {
    const char *base;    /* the file's name without suffix, for its guard */
    const char *prefix;  /* of the writing macros; NULL: "EventWrite" */
    const char *strip;   /* removed from the beginning of event symbols, ignoring case; NULL: nothing */
    bool        callout; /* each event is given to MCGEN_CALLOUT, too */
};
/* The header. Reports clashes of C names, with their lines. Constants of one name and value are defined once; with
 * different values the first is defined, and the other is a warning. W_INVALID_DATA: a constant and an object, or two
 * objects, share a name; or the file holds no events of a manifest, but classes (MOF) or messages (TMF). */
wstatus mc_header(const struct manifest *m, const struct mc_options *how, struct manifest_problems *problems,
                  struct text *out, struct reason *why);
/* Reports the same problems, without output. Classes and messages have none: nothing is made of them. */
wstatus mc_check(const struct manifest *m, struct manifest_problems *problems, struct reason *why);
/* The C file that holds the binary form of all cultures. */
wstatus mc_metadata(const struct manifest *m, const char *base, struct text *out, struct reason *why);

enum { MC_NAME = 256 };
/* The C name of a provider: its symbol, else made from its name ("Contoso-Web" is Contoso_Web). Returns `out`. */
const char *mc_provider_symbol(const struct manifest_provider *p, char out[MC_NAME]);
/* Of an event: its symbol, else <provider>_Event<id>, with _v<version> above 0. */
const char *mc_event_symbol(const struct manifest_provider *p, const struct manifest_event *e, char out[MC_NAME]);
/* "Contoso-Web" as the part of a C name: characters other than letters and digits become '_'. */
const char *mc_name(const char *name, char out[MC_NAME]);
#endif
