/* writer.h - writes an .etl file: buffer 0 with the header event, then whole buffers, then final counters. By its
 *   log_file_mode: CIRCULAR, BUFFERING   a ring: at its maximum size the oldest buffer is overwritten, and its events
 *   are counted as overwritten APPEND                a file that is there goes on: of the same BufferSize, processors
 *   and clock PREALLOCATE           the file has its maximum size from the start, and at the end the size that was used
 * Invariants: W1 the file is a whole number of buffers after each successful call (in a compressed file they differ in
 * size). W2 SequenceNumber rises from 0 without gaps. W3 a failed or short write leaves the file truncated to W1 and
 * the buffer counted in buffers_lost; in a ring that has wrapped the slot that was to be overwritten may be damaged
 * then, and its events count as overwritten. W4 a ring finds no room on its volume: it wraps where it is. W5 header
 * field BuffersWritten is how many buffers are in the file.
 * W6 a file on a disk is locked while a writer has it: another writer, of this process or another, over a hard link
 * too, gets 32. Where the file system has no locks the writer goes without.
 * W7 a ring knows from what time on it lacks no event of programs: behind the newest that was overwritten. What is
 * older can be counted as overwritten too (etl_writer_trim); a copy leaves it out then. Kernel records are not asked:
 * they keep their own window.
 * W8 in a ring in memory that is not compressed, a buffer that was not full goes on with what comes next of its
 * processor, while it is among the newest.
 * Threads: one (the session's logger). Ownership: create/destroy. Not for: filling buffers (session), several files
 * (session). */
#ifndef AUTOLOGGER_ETL_WRITER_H
#define AUTOLOGGER_ETL_WRITER_H
#include "autologger/wire/etl.h"
#include "registry-sim/base/os.h"
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>

/* What the header event says. Strings are UTF-8 and borrowed for the call. */
struct etl_file_info {
    const char *logger_name;
    const char *file_name;   /* as declared or as mapped; stored in the header */
    uint32_t    buffer_size; /* bytes, multiple of 1 KB, 4 KB .. 16 MB */
    uint32_t    processors;
    uint16_t    logger_id;
    uint32_t    log_file_mode;
    uint32_t    max_file_size; /* in MB, or KB with ETL_MODE_KBYTES; 0 = unlimited */
    uint32_t    clock_type;    /* 1, 2, 3 */
    uint64_t    perf_freq;     /* ticks a second of the raw clock */
    uint32_t    cpu_mhz;
    uint64_t    boot_time;  /* FILETIME */
    uint64_t    start_time; /* FILETIME of start_raw */
    int64_t     start_raw;  /* the anchor: raw clock at start_time */
    uint32_t    thread_id, process_id;
    uint32_t    ring_buffers; /* CIRCULAR, BUFFERING: buffers behind the header's; 0: as max_file_size says */
    /* Of a compressed file: bytes made, 0 when they would be more than `room`. NULL: buffers as they are.
     * xpress_compress (xpress.h) is one of `compression` ETL_XPRESS. Not with the modes CIRCULAR, BUFFERING, APPEND,
     * PREALLOCATE (W_INVALID_PARAMETER). */
    size_t (*compress)(const uint8_t *in, size_t size, uint8_t *out, size_t room);
    uint16_t compression;
    bool     direct; /* large buffers may go past the page cache; not of a file in memory */
    /* the count of buffers in buffer 0 is kept right at the end alone: a file that is not finished is thrown away */
    bool unfinished_is_nothing;
};
/* What an adopter needs to go on; published by the session together with its read positions. */
struct etl_write_state {
    uint64_t file_offset;     /* end of the last whole buffer */
    uint32_t buffers_written; /* header buffer included; of a ring, those that are overwritten too */
    uint32_t buffers_lost;
    /* of a ring: buffers that it has at most, the header's included; 0: not a ring, or not known yet */
    uint32_t slots;
    uint64_t overwritten; /* events */
    /* of a ring: events of the buffer whose place the next one takes. Who dies between that and publishing has taken
     * its place, and a successor no longer finds them there */
    uint32_t oldest_events;
    uint64_t oldest_last;   /* ... and the time of the last of them */
    uint64_t complete_from; /* of a ring, on the raw clock: W7 */
    uint64_t trimmed_to;    /* ... and what of it older than this counts as overwritten */
};
enum { ETL_RING_LEAST = 3 }; /* slots: the header, and two */

struct etl_writer;

/* Creates `path` (its parents must exist) and writes buffer 0. Refuses to follow a link in the last part and to replace
 * a file that is neither empty nor an .etl (80/183 semantics: W_ALREADY_EXISTS). `free_floor`: bytes of the volume that
 * are never used up (0 = none): a write that would go below gives W_DISK_FULL. W_SHARING_VIOLATION: another writer has
 * the file. APPEND: W_INVALID_USER_BUFFER its BufferSize is another, W_INVALID_PARAMETER it is not of this
 * kind, W_LOG_FILE_FULL it is full. */
wstatus etl_writer_create(struct os *os, const char *path, const struct etl_file_info *info, uint64_t free_floor,
                          struct etl_writer **out, struct reason *why);
/* The same in a file that is open: a memfd. `fd` becomes the writer's; `shown` is its name in reasons. */
wstatus etl_writer_create_in(struct os *os, int fd, const char *shown, const struct etl_file_info *info,
                             struct etl_writer **out, struct reason *why);
wstatus etl_writer_resume_in(struct os *os, int fd, const char *shown, const struct etl_file_info *info,
                             const struct etl_write_state *state, struct etl_writer **out, struct reason *why);
/* What is in the file now, header included, as a new file at `path`, complete with these counters; this one stays as it
 * is. Statuses as etl_writer_create's. Nothing is left of it when it fails. */
wstatus etl_writer_copy(struct etl_writer *w, const char *path, uint64_t free_floor, uint64_t end_time,
                        uint64_t events_lost, struct reason *why);
/* The same, where the path is another's matter than the writer's own. */
wstatus etl_writer_copy_by(struct etl_writer *w, struct os *os, const char *path, uint64_t free_floor,
                           uint64_t end_time, uint64_t events_lost, struct reason *why);
/* Of a ring: events were overwritten before they came to it, the newest of them before `time` (W7). */
void etl_writer_gap(struct etl_writer *w, uint64_t time);
/* Of a ring: what programs' events are older than at.complete_from count as overwritten. In a ring of compressed
 * buffers only whole ones. */
wstatus etl_writer_trim(struct etl_writer *w, struct reason *why);
/* False: its file system has no locks (W6). */
bool etl_writer_locked(const struct etl_writer *w);
/* Goes on with a file left by a predecessor, whose lock it waits for: opens, truncates to state->file_offset (a ring
 * that has wrapped stays as it is). */
wstatus etl_writer_resume(struct os *os, const char *path, const struct etl_file_info *info,
                          const struct etl_write_state *state, uint64_t free_floor, struct etl_writer **out,
                          struct reason *why);
/* Writes one buffer; one without events (filled = 72) is left out, as readers stumble over it.
 * `buffer` has info.buffer_size bytes; bytes [72, filled) hold events, the writer fills in the 72-byte
 * header and the 0xFF tail. `time` is the flush time on the raw clock. `sequence` must rise per CPU.
 * Statuses: W_DISK_FULL full or floor reached, W_LOG_FILE_FULL max_file_size reached, others by errno. On failure
 * nothing of it is in the file. */
wstatus etl_writer_put(struct etl_writer *w, uint8_t *buffer, uint32_t filled, uint16_t cpu, int64_t time,
                       struct reason *why);
/* W8: how far the open buffer of `cpu` is filled, for a successor, with which it goes on; 0: none is open. After
 * etl_writer_resume_in, for each processor, before anything is written: what came behind that is cut off.
 * W_INVALID_DATA: it is not there. */
uint64_t etl_writer_open(const struct etl_writer *w, uint16_t cpu);
wstatus  etl_writer_reopen(struct etl_writer *w, uint16_t cpu, uint64_t open, struct reason *why);
/* True: the file has reached its maximum size, so that the next buffer gives W_LOG_FILE_FULL. */
bool etl_writer_full(const struct etl_writer *w);
/* What is written now is waited for: see writer_direct.c. */
void etl_writer_hurry(struct etl_writer *w, bool hurry);
/* Makes the buffer whole: its header, and the tail behind `filled`. `flags`: ETL_BUFFER_* beside PROC_INDEX. */
void etl_buffer_seal(uint8_t *buffer, uint32_t buffer_size, uint32_t filled, uint16_t cpu, uint16_t logger_id,
                     int64_t sequence, int64_t time, uint16_t flags);
/* Waits until what was written is on the disk. */
wstatus etl_writer_sync(struct etl_writer *w, struct reason *why);
/* Counts `buffers` that were lost before they reached the writer. */
void etl_writer_add_lost(struct etl_writer *w, uint32_t buffers);
/* Where the file stands now. */
struct etl_write_state etl_writer_state(const struct etl_writer *w);
/* The system's date was set since the header was written: `value` of the raw clock is `filetime`, and the boot began at
 * `boot_time`. StartTime becomes what the file's own start on that clock is by this. ClockType 2 has dates for a clock,
 * and stays. What cannot be written is left as it was. */
void etl_writer_date(struct etl_writer *w, int64_t value, uint64_t filetime, uint64_t boot_time);
/* Rewrites EventsLost / BuffersLost / BuffersWritten / EndTime in buffer 0, marks the last buffer; keeps the file
 * open. */
wstatus etl_writer_finish(struct etl_writer *w, uint64_t end_time, uint64_t events_lost, bool sync, struct reason *why);
/* Closes; NULL is fine. Does not finish. */
void etl_writer_destroy(struct etl_writer *w);
#endif
