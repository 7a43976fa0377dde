/* line.h - the line from a file's raw clock to dates, and whether two files are on one line.
 * A header gives one point (start_raw, StartTime) and a frequency. Files of one boot with the same clock lie on one
 * line, if the system's date was only slewed meanwhile: within 50 ms plus 500 ppm of the longest of the compared spans.
 * Files of different boots cannot, because each boot restarts the clock. Frequencies of one clock may differ by 50 ppm,
 * because two programs measured it. Pure; any thread. Not for: reading files (reader.h). */
#ifndef AUTOLOGGER_ETL_LINE_H
#define AUTOLOGGER_ETL_LINE_H
#include "autologger/etl/reader.h"

enum etl_lines {
    ETL_LINES_ONE,
    ETL_LINES_CLOCKS /* two clocks */,
    ETL_LINES_APART /* one clock, other dates: another boot, or the date was set */
};

/* *off (may be NULL): 100 ns between b's StartTime and the time that a's line gives for b's start. */
enum etl_lines etl_lines_compare(const struct etl_file_header *a, const struct etl_file_header *b, uint64_t *off);
/* True: b's header was written later than a's, by their raw clock. Always false for clocks of dates. */
bool etl_line_later(const struct etl_file_header *a, const struct etl_file_header *b);
/* Moves `h` onto the line of `to`: StartTime, EndTime, BootTime and the frequency. No effect on clocks of dates. */
void etl_line_follow(struct etl_file_header *h, const struct etl_file_header *to);
#endif
