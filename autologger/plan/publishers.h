/* publishers.h - names that installed manifests give to words of configurations: a provider's GUID by its name, its
 * keywords and levels. One of them is used by the process; who reads configurations sets it once, at its start. Without
 * it a name is hashed, and keywords are numbers. Threads: one. Ownership: borrowed for as long as the process reads
 * configurations. Not for: the boot, which reads numbers. */
#ifndef AUTOLOGGER_PLAN_PUBLISHERS_H
#define AUTOLOGGER_PLAN_PUBLISHERS_H
#include "autologger/wire/payload_filter.h"
#include "registry-sim/win32/guid.h"
#include "registry-sim/win32/wstatus.h"

enum publisher_word { PUBLISHER_KEYWORD, PUBLISHER_LEVEL };
enum publisher_answer {
    PUBLISHER_FOUND,
    PUBLISHER_UNKNOWN, /* there is a manifest, which has no such word */
    PUBLISHER_MISSING, /* no manifest of this provider is installed */
};
struct plan_publishers {
    void *ctx;
    bool (*guid)(void *ctx, const char *name, struct guid *out);
    /* `near` (of 128 bytes) gets a word like it, or "". */
    enum publisher_answer (*word)(void *ctx, const struct guid *provider, enum publisher_word kind, const char *word,
                                  uint64_t *value, char *near);
    /* The payload of the `nth` of a provider's events that clause->event names (`id`: by id), as payload_layout.h fills
     * it in. *more: there is another. PUBLISHER_UNKNOWN and a reason: it has no such event, or that cannot be asked
     * about. */
    enum publisher_answer (*layout)(void *ctx, const struct guid *provider, bool id, unsigned nth,
                                    struct payload_clause *clause, bool *more, struct reason *why);
};
/* NULL: none. */
void plan_publishers_use(const struct plan_publishers *p);
/* For the vocabulary: is it the name of an installed provider? */
bool publisher_guid(void *ctx, const char *name, struct guid *out);
/* What a word means for the provider whose braced GUID is in the key's path. W_INVALID_PARAMETER: its manifest has no
 * such word; W_NOT_FOUND: there is none. */
wstatus publisher_word_value(const char *key, enum publisher_word kind, const char *word, uint64_t *value,
                             struct reason *why);
/* As plan_publishers.layout. W_NOT_FOUND: there is no manifest of the provider in the key's path. */
wstatus publisher_event_layout(const char *key, bool id, unsigned nth, struct payload_clause *clause, bool *more,
                               struct reason *why);
/* The built-in providers, whose programs come with the daemon: the name of number `i` (from 0), and its GUID; NULL:
 * there are no more. */
const char *plan_own_provider(unsigned i, struct guid *out);
/* The GUID of an installed or built-in provider, else the hash of the name. */
struct guid plan_provider_guid(const char *name);
#endif
