/* session_start.h - declares a session that starts at once: the declaration that the verb `start` hands to the daemon.
 * Threads: one. Ownership: the caller's stores. Not for: what a value means (plan), sessions of the next boot (import,
 * apply). */
#ifndef TOOLS_SESSION_START_H
#define TOOLS_SESSION_START_H
#include "autologger/control/client.h"
#include "registry-sim/store/regstore.h"

/* Sets a value of session `name` ("": the GlobalLogger), or of its provider `provider` (NULL: the session itself), in
 * words of the INI dialect. */
wstatus session_value_set(struct regstore *store, const char *name, const char *provider, const char *value,
                          const char *text, struct reason *why);
/* Adds bits to its LogFileMode. */
wstatus session_mode_add(struct regstore *store, const char *name, uint32_t bits, struct reason *why);
/* Declares a provider "NAME|{GUID}[:LEVEL[:KEYWORDS]]" of session `name`, enabled. W_INVALID_PARAMETER with its
 * reason. */
wstatus session_provider_add(struct regstore *store, const char *name, const char *text, struct reason *why);
/* A provider's name or {GUID}; W_INVALID_PARAMETER. */
wstatus provider_guid(const char *text, struct guid *out, struct reason *why);
/* The keys of the sessions of `store` that have Start = 1 ("GlobalLogger", "Autologger\NAME"), malloc,
 * NULL-terminated. */
wstatus session_declared(struct regstore *store, char ***keys, struct reason *why);
void    session_declared_free(char **keys);
/* Starts the session declared at `key` of `store`. As control_start. */
wstatus session_start_declared(struct control_client *c, struct regstore *store, const char *key,
                               struct ctl_update_answer *out, struct reason *why);
#endif
