/* file_numbers.h - the numbers of log files (FileMax, FileCounter) of a boot that went by a snapshot. A snapshot has
 * the numbers of the day it was sealed; the store has counted on since. So once the store can be read, and before any
 * file is made, the numbers are taken again, from there. Doing it twice gives the same, as long as the journal was not
 * replayed in between.
 * Threads: one (controlling). Not for: boots that read the store itself. */
#ifndef AUTOLOGGER_DAEMON_FILE_NUMBERS_H
#define AUTOLOGGER_DAEMON_FILE_NUMBERS_H
#include "autologger/boot/sequence.h"

/* Gives each session that started and is numbered its next number by `store`: in the path of the file that it is going
 * to make, and in the journal, where the later record of FileCounter holds. A number whose path another session has is
 * left as it was. */
void file_numbers_renew(struct session_table *table, struct regstore *store, struct journal *journal,
                        const struct result_list *rows);
#endif
