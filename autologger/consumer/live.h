/* live.h - the events of a real-time session as they come, window by window: a window has the events of all CPUs up to
 * a flush of the session, and is read like a file, in time order. Losses come in-band, as events of the class
 * RT_LostEvent (types 32 events, 33 buffers, 34 files) at the end of the window in which they became known.
 * A window is acknowledged by the request for the next one: if a consumer dies in between, the next consumer gets the
 * whole window.
 * Threads: one at a time, but live_stop from any, and from a signal handler. Ownership: open/close. */
#ifndef AUTOLOGGER_CONSUMER_LIVE_H
#define AUTOLOGGER_CONSUMER_LIVE_H
#include "autologger/etl/reader.h"

struct live;
struct live_losses {
    uint64_t events;
    uint32_t buffers, files;
};

extern const struct guid live_lost_class; /* RT_LostEvent */
enum { LIVE_LOST_EVENT = 32, LIVE_LOST_BUFFER = 33, LIVE_LOST_FILE = 34 };

/* Attaches to the session. W_WMI_INSTANCE_NOT_FOUND: no daemon, or no real-time session of that name; W_ACCESS_DENIED:
 * only root and the daemon's own user may;
 * W_NO_SYSTEM_RESOURCES: 8 consumers read it already. `runtime_dir` NULL = the default. */
wstatus live_open(const char *runtime_dir, const char *session, struct live **out, struct reason *why);
/* Acknowledges the last window and waits for the next, whose dates follow the system's date of now. *out: its events
 * (without the header event), until the next call; NULL: the session has ended and nothing is left. W_CANCELLED:
 * live_stop. */
wstatus live_next(struct live *l, struct etl_reader **out, struct reason *why);
/* Makes live_next return, now and from now on. */
void live_stop(struct live *l);
/* Calls `call` in live_next whenever a signal interrupts it; false: it returns W_CANCELLED, for good. */
void live_interrupt_by(struct live *l, bool (*call)(void *ctx), void *ctx);
/* Losses since the session began, as far as this consumer knows. */
struct live_losses live_losses(const struct live *l);
/* The number of buffers of the last window; and the filled bytes of one of them. */
unsigned live_window(const struct live *l);
uint32_t live_filled(const struct live *l, unsigned buffer);
/* `done`: acknowledges the last window, too. NULL is fine. */
void live_close(struct live *l, bool done);
#endif
