/* provider_names.h - the names of known providers: built in, of installed manifests, and registered with the daemon.
 * Threads: one. Ownership: load/finish. Not for: what a name means in a configuration
 * (autologger/plan/publishers.h). */
#ifndef TOOLS_PROVIDER_NAMES_H
#define TOOLS_PROVIDER_NAMES_H
#include "autologger/control/client.h"

#include <stdbool.h>

enum provider_how { PROVIDER_BUILT_IN, PROVIDER_INSTALLED, PROVIDER_REGISTERED };
struct provider_name {
    struct guid       guid;
    char             *name;
    enum provider_how how;
};
struct names_of_providers {
    struct provider_name *at; /* built-in ones first, then installed ones, then registered ones */
    unsigned              count;
};
/* `client` may be NULL: no registered ones. Sources that cannot be read are left out. */
void provider_names_load(struct names_of_providers *n, struct control_client *client);
void provider_names_finish(struct names_of_providers *n);
/* The name of a GUID, or NULL. */
const char *provider_names_find(const struct names_of_providers *n, const struct guid *guid);
/* Warns on standard error that no provider has this name, when a similar name is known. False: no warning. */
bool provider_names_warn(const struct names_of_providers *n, const char *verb, const char *text);
#endif
