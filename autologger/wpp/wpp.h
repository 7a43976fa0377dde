/* wpp.h - what tracewpp does on Windows: it reads the messages of a C or C++ source (DoTraceMessage and the functions
 * that a configuration names), and makes the source's header, NAME.tmh, which has a macro for each message, and the
 * text that decodes them (schema/tmf.h). The values of a message are stored as they are; its text is made when the trace
 * is read.
 * Invariants: a message is identified by the GUID of its source file and its number. The GUID is a hash of all texts of
 * the file, so a changed file gets another one, and old traces keep their meaning.
 * Threads: one per struct. Ownership: see each. Not for: the run time (include/autologger_wpp.h), decoding. */
#ifndef AUTOLOGGER_WPP_WPP_H
#define AUTOLOGGER_WPP_WPP_H
#include "autologger/schema/manifest.h"
#include "autologger/schema/text.h"

enum { WPP_SOURCE_MAX = 64 * 1024 * 1024, WPP_MESSAGES_MAX = 60000 };

/* The functions and types that messages use; begins with DoTraceMessage and the types of wpp_names.def. */
struct wpp_config;
struct wpp_config *wpp_config_new(void);                  /* NULL: out of memory */
void               wpp_config_free(struct wpp_config *c); /* NULL is fine */
/* Takes the lines between "begin_wpp config" and "end_wpp" in the comments of a source. Mistakes are reported with
 * their lines. W_INVALID_DATA: there were errors; W_NOT_ENOUGH_MEMORY. */
wstatus wpp_config_scan(struct wpp_config *c, const char *text, size_t size, const char *file,
                        struct manifest_problems *problems, struct reason *why);
/* Takes one declaration, "DoTrace(LEVEL, MSG, ...)", as if it stood behind FUNC. */
wstatus wpp_config_function(struct wpp_config *c, const char *declaration, struct manifest_problems *problems,
                            struct reason *why);

/* The control GUIDs that the files define, as lines of a TMF file. */
const char *wpp_config_controls(const struct wpp_config *c);

struct wpp_made {
    struct text header; /* NAME.tmh */
    struct text format; /* the same texts as a TMF file */
    unsigned    messages, values;
    struct guid guid;
};
void wpp_made_finish(struct wpp_made *m);
/* Reads a source. `module`: the program, for the names of messages; `file`: its name in messages and traces. The caller
 * finishes `out` in any case. W_INVALID_DATA: mistakes were reported; W_NOT_ENOUGH_MEMORY. */
wstatus wpp_make(const struct wpp_config *c, const char *module, const char *file, const char *text, size_t size,
                 struct manifest_problems *problems, struct wpp_made *out, struct reason *why);
#endif
