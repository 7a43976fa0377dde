/* syslog_rows.h - the rows of a boot as entries of the system's log, so that "journalctl MESSAGE_ID=..." shows what
 * "autologger status" shows: one entry a row, and a summary. To the journal in its own protocol (a datagram of fields,
 * no library); without a journal, one line a row to /dev/log; without that, nothing.
 * Fields of an entry: MESSAGE, MESSAGE_ID, PRIORITY (3 failed, 5 note, 6 else), SYSLOG_IDENTIFIER, AUTOLOGGER_BOOT,
 * AUTOLOGGER_SESSION, AUTOLOGGER_PROVIDER, AUTOLOGGER_STATUS, AUTOLOGGER_RESULT, AUTOLOGGER_EVENTS,
 * AUTOLOGGER_OVERWRITTEN, AUTOLOGGER_LOST, AUTOLOGGER_TRACE (the log file), AUTOLOGGER_FILE and AUTOLOGGER_LINE (of the
 * declaration).
 * Invariants: Y1 nothing waits for a log that does not read. Y2 text of a declaration can't forge a field.
 * Threads: one. Not for: when rows are final (service). */
#ifndef AUTOLOGGER_DAEMON_SYSLOG_ROWS_H
#define AUTOLOGGER_DAEMON_SYSLOG_ROWS_H
#include "autologger/boot/result.h"

#define SYSLOG_ROWS_MESSAGE_ID "7acec6878b6c4bc3a4820f5e2c36a2dc"

struct syslog_sockets {
    const char *journal, *syslog; /* paths of datagram sockets */
};
/* The system's: /run/systemd/journal/socket, /dev/log. */
extern const struct syslog_sockets syslog_sockets_default;
/* Sends all rows of `list` and the summary. Returns the number of entries that were taken. */
unsigned syslog_rows_send(const struct result_list *list, const struct syslog_sockets *to);
#endif
