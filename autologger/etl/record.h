/* record.h - one stored event, of any header kind, brought to the shape of struct etl_event.
 * Pure, any thread. Pointers in the result borrow from the record. Not for: order and time conversion (reader). */
#ifndef AUTOLOGGER_ETL_RECORD_H
#define AUTOLOGGER_ETL_RECORD_H
#include "autologger/etl/reader.h"

/* Decodes the record at `p`, `size` bytes as etl_record_size gave it. Sets all but cpu, filetime, file_offset and
 * buffer_sequence. `previous` is the time for kinds that store none. False: its extended items are malformed (the event
 * is still set, everything behind its header is payload). */
bool etl_record_decode(const uint8_t *p, uint32_t size, int64_t previous, struct etl_event *event);
/* The extended items from `at` on; *end: behind them. They are noted in `e`, with those that describe the event, so
 * that nobody has to look for them. False, and nothing is noted: they are malformed. */
bool etl_record_items(const uint8_t *p, uint32_t size, uint32_t at, struct etl_event *e, uint32_t *end);
/* Its raw time alone; `previous` for kinds that store none. */
int64_t etl_record_time(const uint8_t *p, uint32_t size, int64_t previous);
#endif
