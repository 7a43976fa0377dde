/* publishers.h - looks up words of configurations in installed manifests: a provider's GUID by its name, its keywords
 * and levels. A process uses one lookup; a program that reads configurations sets it once, at its start. Without it a
 * GUID is the hash of the name, and keywords are numbers.
 * Threads: one. Ownership: borrowed for as long as the process reads configurations. Not for: the boot, which reads
 * numbers. */
#ifndef AUTOLOGGER_PLAN_PUBLISHERS_H
#define AUTOLOGGER_PLAN_PUBLISHERS_H
#include "autologger/wire/payload_filter.h"
#include "registry-sim/win32/guid.h"
#include "registry-sim/win32/wstatus.h"

enum publisher_word { PUBLISHER_KEYWORD, PUBLISHER_LEVEL };
enum publisher_answer {
    PUBLISHER_FOUND,
    PUBLISHER_UNKNOWN, /* the manifest has no such word */
    PUBLISHER_MISSING, /* no manifest of this provider is installed */
};
struct plan_publishers {
    void *ctx;
    bool (*guid)(void *ctx, const char *name, struct guid *out);
    /* `near` (128 bytes) gets a similar word, or "". */
    enum publisher_answer (*word)(void *ctx, const struct guid *provider, enum publisher_word kind, const char *word,
                                  uint64_t *value, char *near);
    /* Fills in the clause, as payload_layout.h does, for the `nth` of the provider's events that clause->event names
     * (`id`: by id). *more: there is another. PUBLISHER_UNKNOWN and a reason: the provider has no such event, or a
     * filter can't ask about it. */
    enum publisher_answer (*layout)(void *ctx, const struct guid *provider, bool id, unsigned nth,
                                    struct payload_clause *clause, bool *more, struct reason *why);
};
/* NULL: none. */
void plan_publishers_use(const struct plan_publishers *p);
/* For the vocabulary: the GUID of an installed or built-in provider; false: no provider has this name. */
bool publisher_guid(void *ctx, const char *name, struct guid *out);
/* The value of a word for the provider whose braced GUID is in the key's path. W_INVALID_PARAMETER: its manifest has no
 * such word; W_NOT_FOUND: it has no manifest. */
wstatus publisher_word_value(const char *key, enum publisher_word kind, const char *word, uint64_t *value,
                             struct reason *why);
/* As plan_publishers.layout. W_NOT_FOUND: there is no manifest of the provider in the key's path. */
wstatus publisher_event_layout(const char *key, bool id, unsigned nth, struct payload_clause *clause, bool *more,
                               struct reason *why);
/* The name and GUID of built-in provider `i` (from 0), whose program comes with the daemon; NULL: there are no more. */
const char *plan_own_provider(unsigned i, struct guid *out);
/* The GUID of an installed or built-in provider, else the hash of the name. */
struct guid plan_provider_guid(const char *name);
#endif
