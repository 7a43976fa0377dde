/* channel_query.h - the newest messages of a channel in systemd's journal, by journalctl(1).
 * Threads: one. Not for: writing them (channel_service.h). */
#ifndef TOOLS_CHANNELS_CHANNEL_QUERY_H
#define TOOLS_CHANNELS_CHANNEL_QUERY_H
#include <stdbool.h>

struct channel_query {
    const char *channel;
    const char *folder; /* of journal files; NULL: this machine's journal */
    unsigned    count;  /* messages at most */
    bool        newest_first, json;
};
/* The exit code. */
int channel_query_run(const struct channel_query *q);
#endif
