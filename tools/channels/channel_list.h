/* channel_list.h - the channels of installed manifests, and which of them are on.
 * A channel is on if its value Enabled in the store says so, else if its type is Admin or Operational and its manifest
 * does not say enabled="false". The value is where Windows has it: WINEVT\Channels\NAME.
 * Threads: one. Ownership: channel_list_finish frees. Not for: logs (channel_query.h). */
#ifndef TOOLS_CHANNELS_CHANNEL_LIST_H
#define TOOLS_CHANNELS_CHANNEL_LIST_H
#include "autologger/schema/manifest.h"
#include "registry-sim/store/regstore.h"

#define CHANNELS_KEY "HKEY_LOCAL_MACHINE\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\WINEVT\\Channels"

struct channel_row {
    char                      *name, *provider;
    struct guid                guid; /* of the provider */
    enum manifest_channel_type type;
    uint64_t                   keyword; /* its bit in the keywords of its events */
    bool                       on, on_by_default;
};
struct channel_list {
    struct channel_row *row; /* by name */
    unsigned            count;
    unsigned            unread; /* manifests that could not be read; the first, in words: */
    struct reason       why;
};
/* `folder`: of the installed manifests. `store` NULL: nothing is installed, and there are no channels. */
wstatus channel_list_load(struct regstore *store, const char *folder, struct channel_list *out, struct reason *why);
void    channel_list_finish(struct channel_list *list);
/* By name in any case; NULL: none. */
const struct channel_row *channel_list_find(const struct channel_list *list, const char *name);
/* The nearest name, or NULL. */
const char *channel_list_suggest(const struct channel_list *list, const char *name);
/* "Admin", "Operational", "Analytic", "Debug", or "". */
const char *channel_type_name(enum manifest_channel_type type);
/* Switches it on or off, and tells a running service by `folder`. */
wstatus channel_set(struct regstore *store, const char *folder, const char *name, bool on, struct reason *why);
#endif
