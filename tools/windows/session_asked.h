/* session_asked.h - a session as a command line of Windows asks for it, and the lines of autologger that start or
 * change it.
 * Threads: one. Ownership: texts are the translation's. Not for: reading options (logman.c, xperf.c). */
#ifndef TOOLS_WINDOWS_SESSION_ASKED_H
#define TOOLS_WINDOWS_SESSION_ASKED_H
#include "tools/windows/translation.h"

#include <stdint.h>

enum { ASKED_PROVIDERS = 128, ASKED_SETTINGS = 32 };
struct provider_asked {
    const char *name, *keywords, *level; /* NULL: all */
    const char *property;                /* "STACK_TRACE+SID", or NULL */
    bool        off;                     /* disable it */
};
struct session_asked {
    const char           *name;   /* NULL: the NT Kernel Logger */
    const char           *file;   /* as file_of_session gives it, or NULL */
    const char           *flags;  /* kernel keywords joined by '+', or NULL */
    const char           *stacks; /* names joined by '+', or NULL */
    const char           *mode;   /* names of LogFileMode joined by '+', or NULL */
    bool                  real_time, real_time_off;
    struct provider_asked provider[ASKED_PROVIDERS];
    unsigned              providers;
    struct {
        const char *value, *text; /* "BufferSize", "64KB" */
    } setting[ASKED_SETTINGS];
    unsigned settings;
};
#define ASKED_KERNEL_LOGGER "NT Kernel Logger"

void asked_set(struct session_asked *s, const char *value, const char *text, struct translation *t);
/* Adds a name of LogFileMode. */
void asked_mode(struct session_asked *s, const char *name, struct translation *t);
/* Joins `more` to the words of `*list` by '+'. */
void                   asked_join(const char **list, const char *more, struct translation *t);
struct provider_asked *asked_provider(struct session_asked *s, const char *name, struct translation *t);
/* True for the names and the GUID of the provider of kernel events. */
bool asked_is_kernel_provider(const char *name);
/* Kernel flags as words for autologger: "0x10007", "(process,thread)" and "process+thread" in logman's names. */
const char *asked_kernel_words(const char *text, struct translation *t);
/* Its sections of an INI file, below [SECTION]. */
const char *asked_sections(const struct session_asked *s, const char *section, struct translation *t);
/* The lines that start it, or that change a running one. */
void asked_start(const struct session_asked *s, struct translation *t);
void asked_update(const struct session_asked *s, struct translation *t);
#endif
