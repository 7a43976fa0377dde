/* tracepage.h - parses pages of the kernel's trace buffer (per_cpu/cpuN/trace_pipe_raw) and its counts
 * (per_cpu/cpuN/stats).
 *
 *   page:  u64 time | u64 commit (low 30 bits: bytes that follow) | entries ...
 *   entry: u32 (5 bits type or length in words, 27 bits time since the previous entry) [u32 length or time] data
 *
 * Invariants: T1 every length is checked: an entry lies within the committed bytes, and these within the given bytes;
 * the first that does not ends the page as damaged. T2 times within a page never go back.
 * Pure; any thread. The entries borrow from the page. Not for: the meaning of entries (kphase.h). */
#ifndef AUTOLOGGER_KERNEL_TRACEPAGE_H
#define AUTOLOGGER_KERNEL_TRACEPAGE_H
#include "registry-sim/base/cursor.h"

enum { TRACE_PAGE_HEAD = 16, TRACE_PAGE_MAX = 65536 };
struct trace_page {
    struct cursor entries;
    uint64_t      time; /* of the current entry, on the trace clock */
    bool          damaged;
};
struct trace_entry { /* data: u16 event id, u8 flags, u8 preempt count, i32 tid, then the fields */
    uint64_t       time;
    const uint8_t *data;
    uint32_t       size; /* padding included; at least 8 */
};
enum { TRACE_ENTRY_HEAD = 8 };
/* False (and `damaged`) when the bytes are not a page. */
bool trace_page_begin(struct trace_page *page, const void *bytes, size_t size);
/* The next entry with data; false at the end and at damage. */
bool trace_page_next(struct trace_page *page, struct trace_entry *out);

/* per_cpu/cpuN/stats */
struct trace_stats {
    uint64_t entries;                          /* still readable */
    uint64_t overrun, commit_overrun, dropped; /* lost: overwritten, nested too deep, no room */
    uint64_t read;                             /* already read by another reader */
    uint64_t now_ns; /* the trace clock when the file was read, in whole microseconds; 0: not given */
};
/* False when the file has no count of entries. */
bool trace_stats_parse(const char *text, struct trace_stats *out);
/* events/header_page -> bytes of one page, 4096 when it is not known; at most TRACE_PAGE_MAX. */
size_t trace_page_size(const char *header_page);
#endif
