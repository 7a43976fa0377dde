/* line.h - the line from a file's raw clock to dates, and whether two files are on one line.
 * A header gives one point (start_raw, StartTime) and a frequency. Files of one boot that say one clock lie on one
 * line, as far as the system's date was only slewed meanwhile: within 50 ms plus 500 ppm of the longest of the spans
 * that are compared. Another boot cannot, because its clock began anew. Frequencies of one clock may differ by 50 ppm:
 * two programs that measured it. Pure; any thread. Not for: reading files (reader.h). */
#ifndef AUTOLOGGER_ETL_LINE_H
#define AUTOLOGGER_ETL_LINE_H
#include "autologger/etl/reader.h"

enum etl_lines {
    ETL_LINES_ONE,
    ETL_LINES_CLOCKS /* two clocks */,
    ETL_LINES_APART /* one clock, other dates: another boot, or the date was set */
};

/* *off (may be NULL): 100 ns from what one says of the other's start to what that says. */
enum etl_lines etl_lines_compare(const struct etl_file_header *a, const struct etl_file_header *b, uint64_t *off);
/* Was the date in b's header written later than that in a's? By the clock, of two that have one. */
bool etl_line_later(const struct etl_file_header *a, const struct etl_file_header *b);
/* Moves `h` onto the line of `to`: StartTime, EndTime, BootTime and the frequency. Nothing to do for clocks of
 * dates. */
void etl_line_follow(struct etl_file_header *h, const struct etl_file_header *to);
#endif
