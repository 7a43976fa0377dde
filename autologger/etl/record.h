/* record.h - decodes one stored event of any header kind into struct etl_event.
 * Pure, any thread. Pointers in the result borrow from the record. Not for: order and time conversion (reader). */
#ifndef AUTOLOGGER_ETL_RECORD_H
#define AUTOLOGGER_ETL_RECORD_H
#include "autologger/etl/reader.h"

/* Decodes the record at `p`, `size` bytes by etl_record_size. Sets all but cpu, filetime, file_offset and
 * buffer_sequence. `previous` is the time for kinds that store none. False: its extended items are malformed (the event
 * is still set, with everything behind its header as payload). */
bool etl_record_decode(const uint8_t *p, uint32_t size, int64_t previous, struct etl_event *event);
/* Parses the extended items from `at` on; *end: the offset behind them. Notes them in `e`, and those that describe the
 * event, to save later searches. False: they are malformed, and nothing is noted. */
bool etl_record_items(const uint8_t *p, uint32_t size, uint32_t at, struct etl_event *e, uint32_t *end);
/* The record's raw time alone; `previous` for kinds that store none. */
int64_t etl_record_time(const uint8_t *p, uint32_t size, int64_t previous);
#endif
