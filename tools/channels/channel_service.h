/* channel_service.h - the service of channels: a controller and consumer of its own. The real-time session
 * EventLog-Channels enables each provider with a channel that is on; its events go to systemd's journal.
 * Invariants: a window of events is acknowledged when the journal has all of it; after a death the next service gets
 * it again, so a message may be there twice and none is missing. Losses become messages, too.
 * Threads: the caller's, and one that watches the folder of manifests. Not for: what is on (channel_list.h). */
#ifndef TOOLS_CHANNELS_CHANNEL_SERVICE_H
#define TOOLS_CHANNELS_CHANNEL_SERVICE_H

#define CHANNEL_SESSION "EventLog-Channels"
struct channel_service_options {
    const char *store, *runtime_dir, *socket; /* runtime_dir NULL: the default */
};
/* Until SIGTERM or SIGINT, or a failure. The exit code. */
int channel_service_run(const struct channel_service_options *o);
#endif
