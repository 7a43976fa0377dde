/* early_report.h - the Status of an early boot as text, for people in an emergency shell and beside an .alraw file.
 * Threads: any. Not for: the Status table after a boot (tools). */
#ifndef AUTOLOGGER_DAEMON_EARLY_REPORT_H
#define AUTOLOGGER_DAEMON_EARLY_REPORT_H
#include "autologger/boot/result.h"

/* Replaces `path`, whole or not at all. False: errno says why. */
bool early_report_write(const char *path, const struct result_list *rows);
/* Copies the text to `out_fd`. False: there is no text. */
bool early_report_copy(const char *path, int out_fd);
/* Leaves a note for the daemon (below `runtime_dir`, which outlives the switch of the root): the early program could
 * not start anything. */
void early_failure_write(const char *runtime_dir, const struct reason *why);
/* Reads and removes the note; false: there is none. */
bool early_failure_take(const char *runtime_dir, struct reason *out);
#endif
