/* anchor.h - the anchor of a session's times: its start on its clock, and the date of that moment.
 * A file's header has one line from the clock to dates: (start on the clock, StartTime, frequency). Events carry the
 * clock alone, so elapsed times never depend on the date. The date of the line is the system's date when the header was
 * last written: a machine without a battery clock starts a session in some past year, NTP sets the date during it, and
 * the finished file has the right dates.
 * Invariants
 *   N1 the start on the clock never changes, and no event of the session is older, except those that a provider reports
 *      late with an earlier time (provider/event_told.h).
 *   N2 the date of the boot lies on the same line: a time that a reader computes "since the boot" does not change with
 *      the date.
 *   N3 ClockType 2 (system time) has no line: its values are dates, and stay as they were read.
 * Threads: _take on the controlling thread before the session runs; _stamp and _renew on the logger's; _date_set any.
 * Not for: reading clocks (registry-sim/base/clock.h), when the date is set (daemon/date_watch.h). */
#ifndef AUTOLOGGER_SESSION_ANCHOR_H
#define AUTOLOGGER_SESSION_ANCHOR_H
#include "autologger/session/session.h"

/* Sets the start of a new session: now, or the beginning of the boot for a session that takes over the kernel's own
 * trace buffer. */
void session_anchor_take(struct session *s);
/* Computes the date of the start from the system's date now. */
void session_anchor_renew(struct session *s);
/* The same, and writes it into the file's header (NULL: no file yet) and into the header for later consumers. */
void session_anchor_stamp(struct session *s, struct etl_writer *w);
/* The system's date was set: the logger stamps its file soon. */
void session_date_set(struct session *s);
#endif
