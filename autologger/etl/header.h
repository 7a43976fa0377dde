/* header.h - buffer 0 of an .etl file: builds it (writer, merge) and understands it (reader, re-use of a target).
 * Invariant: header_parse returns what header_build wrote. Threads: pure, any. Ownership: caller's memory; the two
 * names of header_parse are malloc'ed for the caller. Not for: the buffers behind it. */
#ifndef AUTOLOGGER_ETL_HEADER_H
#define AUTOLOGGER_ETL_HEADER_H
#include "autologger/etl/reader.h"
#include "autologger/etl/writer.h"

/* Offsets of the final fields in a file with a 64-bit header event (autologger writes no other). */
enum {
    HEADER_AT_END_TIME        = 0x78,
    HEADER_AT_BUFFERS_WRITTEN = 0x8C,
    HEADER_AT_EVENTS_LOST     = 0x98,
    HEADER_AT_BUFFERS_LOST    = 0x17C,
    /* BootTime, PerfFreq, StartTime, ClockType */
    HEADER_AT_START_RAW = 0x58,
    HEADER_AT_CPU_MHZ   = 0x9C,
    HEADER_AT_BOOT_TIME = 0x160,
    HEADER_AT_FLAG      = 0x34,                   /* BufferFlag, in any buffer */
    HEADER_LEAST        = 0x48 + 0x20 + 0x110 + 4 /* the shortest buffer 0: 32-bit header event, two empty names */
};

/* Fills `buffer` (info->buffer_size bytes) with buffer 0; names that do not fit are cut. */
void etl_header_build(const struct etl_file_info *info, uint8_t *buffer);
/* True when `data` starts like buffer 0 of any .etl from Windows 7 on: sane buffer header, then a header event. */
bool etl_header_like(const uint8_t *data, size_t size);
/* Decodes the header event of buffer 0. False: it is no header event, or it is cut short. Sets everything in *out but
 * file_size and buffers_found; free() both names. */
bool etl_header_parse(const uint8_t *data, size_t size, struct etl_file_header *out);
#endif
