/* writer.h - writes an .etl file: buffer 0 with the header event, then whole buffers, then final counters.
 * By log_file_mode:
 *   CIRCULAR, BUFFERING  a ring: at its maximum size the oldest buffer is overwritten, its events count as overwritten
 *   APPEND               continues an existing file of the same BufferSize, processors and clock
 *   PREALLOCATE          the file has its maximum size from the start, and at the end the size that was used
 * Invariants: W1 the file is a whole number of buffers after each successful call (in a compressed file their sizes
 * differ). W2 SequenceNumber rises from 0 without gaps. W3 a failed or short write leaves the file truncated to W1 and
 * the buffer counted in buffers_lost; in a ring that has wrapped, the slot that was to be overwritten may be damaged
 * then, and its events count as overwritten. W4 a ring that finds no room on its volume wraps at its present size. W5
 * header field BuffersWritten is the number of buffers in the file.
 * W6 a file on a disk is locked while a writer has it: another writer, of this process or another, over a hard link
 * too, gets W_SHARING_VIOLATION. Where the file system has no locks, the writer works without.
 * W7 a ring knows the time from which it lacks no event of programs: just after the newest overwritten one. Older
 * events can be counted as overwritten too (etl_writer_trim); a copy then leaves them out. Kernel records do not count
 * here: they have a window of their own.
 * W8 in a ring in memory that is not compressed, the next events of a processor fill up its buffer that was not full,
 * while that is among the newest.
 * Threads: one (the session's logger). Ownership: create/destroy. Not for: filling buffers (session), several files
 * (session). */
#ifndef AUTOLOGGER_ETL_WRITER_H
#define AUTOLOGGER_ETL_WRITER_H
#include "autologger/wire/etl.h"
#include "registry-sim/base/os.h"
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>

/* Contents of the header event. Strings are UTF-8 and borrowed for the call. */
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
    uint32_t    ring_buffers; /* CIRCULAR, BUFFERING: buffers behind buffer 0; 0: by max_file_size */
    /* For a compressed file: returns the compressed size, or 0 when it would exceed `room`. NULL: buffers are not
     * compressed. For `compression` ETL_XPRESS: xpress_compress (xpress.h). Not with the modes CIRCULAR,
     * APPEND, PREALLOCATE (W_INVALID_PARAMETER); with BUFFERING the ring in memory is compressed (writer_packed.c). */
    size_t (*compress)(const uint8_t *in, size_t size, uint8_t *out, size_t room);
    uint16_t compression;
    bool     direct; /* large buffers may go past the page cache; not of a file in memory */
    /* BuffersWritten in buffer 0 is correct at the end only: an unfinished file is thrown away */
    bool unfinished_is_nothing;
};
/* What a successor needs to continue; published by the session together with its read positions. */
struct etl_write_state {
    uint64_t file_offset;     /* end of the last whole buffer */
    uint32_t buffers_written; /* buffer 0 included; in a ring also overwritten ones */
    uint32_t buffers_lost;
    /* of a ring: most buffers, buffer 0 included; 0: not a ring, or not known yet */
    uint32_t slots;
    uint64_t overwritten; /* events */
    /* of a ring: events of the buffer that the next one overwrites. A writer that dies between that and publishing has
     * overwritten it, and its successor no longer finds the events there */
    uint32_t oldest_events;
    uint64_t oldest_last;   /* time of the last of these events */
    uint64_t complete_from; /* of a ring, on the raw clock: W7 */
    uint64_t trimmed_to;    /* events of the ring older than this count as overwritten */
};
enum { ETL_RING_LEAST = 3 }; /* slots: buffer 0 and two more */

struct etl_writer;

/* Creates `path` (its parents must exist) and writes buffer 0. W_ALREADY_EXISTS: the last part is a link, which is not
 * followed, or a file that is neither empty nor an .etl, which is not replaced (semantics of ERROR_FILE_EXISTS and
 * ERROR_ALREADY_EXISTS). `free_floor`: bytes of the volume that must stay free (0 = none); a write that would go below
 * gives W_DISK_FULL. W_SHARING_VIOLATION: another writer has the file. APPEND: W_INVALID_USER_BUFFER: the file has
 * another BufferSize; W_INVALID_PARAMETER: it is of another kind; W_LOG_FILE_FULL: it is full. */
wstatus etl_writer_create(struct os *os, const char *path, const struct etl_file_info *info, uint64_t free_floor,
                          struct etl_writer **out, struct reason *why);
/* The same in an open file: a memfd. The writer owns `fd` from now on; `shown` is its name in reasons. */
wstatus etl_writer_create_in(struct os *os, int fd, const char *shown, const struct etl_file_info *info,
                             struct etl_writer **out, struct reason *why);
wstatus etl_writer_resume_in(struct os *os, int fd, const char *shown, const struct etl_file_info *info,
                             const struct etl_write_state *state, struct etl_writer **out, struct reason *why);
/* Copies the present contents, header included, to a new file at `path`, finished with these counters; this file stays
 * as it is. Statuses as etl_writer_create's. A copy that fails leaves nothing behind. */
wstatus etl_writer_copy(struct etl_writer *w, const char *path, uint64_t free_floor, uint64_t end_time,
                        uint64_t events_lost, struct reason *why);
/* The same, with an `os` for the path that is not the writer's own. */
wstatus etl_writer_copy_by(struct etl_writer *w, struct os *os, const char *path, uint64_t free_floor,
                           uint64_t end_time, uint64_t events_lost, struct reason *why);
/* Of a ring: events were overwritten before they reached it, the newest of them before `time` (W7). */
void etl_writer_gap(struct etl_writer *w, uint64_t time);
/* Of a ring: counts events of programs that are older than at.complete_from as overwritten; in a ring of compressed
 * buffers only whole buffers. */
wstatus etl_writer_trim(struct etl_writer *w, struct reason *why);
/* False: the file system has no locks (W6). */
bool etl_writer_locked(const struct etl_writer *w);
/* Continues a predecessor's file, waiting for its lock: opens it, truncates it to state->file_offset (a ring that has
 * wrapped stays as it is). */
wstatus etl_writer_resume(struct os *os, const char *path, const struct etl_file_info *info,
                          const struct etl_write_state *state, uint64_t free_floor, struct etl_writer **out,
                          struct reason *why);
/* Writes one buffer; skips one without events (filled = 72), because readers stumble over it. `buffer` has
 * info.buffer_size bytes; bytes [72, filled) hold events, the writer fills in the 72-byte header and the 0xFF tail.
 * `time` is the flush time on the raw clock. The writer numbers the buffers of each CPU (W2).
 * Statuses: W_DISK_FULL full or floor reached, W_LOG_FILE_FULL max_file_size reached, others by errno. On failure
 * nothing of it is in the file. */
wstatus etl_writer_put(struct etl_writer *w, uint8_t *buffer, uint32_t filled, uint16_t cpu, int64_t time,
                       struct reason *why);
/* W8: which buffer of `cpu` is open and how far it is filled, for a successor, which continues it; 0: none is open. The
 * successor calls etl_writer_reopen after etl_writer_resume_in, for each processor, before any write: events behind
 * that point are cut off. W_INVALID_DATA: the buffer is not there. */
uint64_t etl_writer_open(const struct etl_writer *w, uint16_t cpu);
wstatus  etl_writer_reopen(struct etl_writer *w, uint16_t cpu, uint64_t open, struct reason *why);
/* True: the file has reached its maximum size; the next buffer gives W_LOG_FILE_FULL. */
bool etl_writer_full(const struct etl_writer *w);
/* True: events wait in memory for the writes (writer_direct.c). */
void etl_writer_hurry(struct etl_writer *w, bool hurry);
/* Completes the buffer: its header, and the tail behind `filled`. `flags`: ETL_BUFFER_* in addition to PROC_INDEX. */
void etl_buffer_seal(uint8_t *buffer, uint32_t buffer_size, uint32_t filled, uint16_t cpu, uint16_t logger_id,
                     int64_t sequence, int64_t time, uint16_t flags);
/* Waits until what was written is on the disk. */
wstatus etl_writer_sync(struct etl_writer *w, struct reason *why);
/* Counts `buffers` that were lost before they reached the writer. */
void etl_writer_add_lost(struct etl_writer *w, uint32_t buffers);
/* The present state of the file. */
struct etl_write_state etl_writer_state(const struct etl_writer *w);
/* Corrects the header after the system's date was set: `value` of the raw clock is `filetime`, and the boot began at
 * `boot_time`. StartTime becomes the date of the file's own start on that clock. No effect with ClockType 2, whose
 * clock is the date. A value that cannot be written stays as it was. */
void etl_writer_date(struct etl_writer *w, int64_t value, uint64_t filetime, uint64_t boot_time);
/* Rewrites EventsLost / BuffersLost / BuffersWritten / EndTime in buffer 0, marks the last buffer; keeps the file
 * open. */
wstatus etl_writer_finish(struct etl_writer *w, uint64_t end_time, uint64_t events_lost, bool sync, struct reason *why);
/* Closes; NULL is fine. Does not finish. */
void etl_writer_destroy(struct etl_writer *w);
#endif
