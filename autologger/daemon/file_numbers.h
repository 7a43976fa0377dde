/* file_numbers.h - the numbers of log files (FileMax, FileCounter) of a boot that started from a snapshot. A snapshot
 * has the numbers of the day it was sealed; the store has counted on since. So the numbers are taken again from the
 * store, once it can be read and before any file is made. A repetition gives the same, unless the journal was replayed
 * in between.
 * Threads: one (controlling). Not for: boots that read the store itself. */
#ifndef AUTOLOGGER_DAEMON_FILE_NUMBERS_H
#define AUTOLOGGER_DAEMON_FILE_NUMBERS_H
#include "autologger/boot/sequence.h"

/* Gives each started session with numbered files its next number by `store`: in the path of the file that it will make,
 * and in the journal, where the later record of FileCounter holds. A number whose path belongs to another session is
 * left as it was. */
void file_numbers_renew(struct session_table *table, struct regstore *store, struct journal *journal,
                        const struct result_list *rows);
#endif
