/* writer_private.h - internals of the file writer, shared by the files writer*.c. Nothing else includes it. See
 * writer.h. */
#ifndef AUTOLOGGER_ETL_WRITER_PRIVATE_H
#define AUTOLOGGER_ETL_WRITER_PRIVATE_H
#include "autologger/etl/header.h"
#include "autologger/wire/etl.h"

enum write_way { WRITE_CACHED, WRITE_DIRECT, WRITE_WAYS };

/* Contents of a ring's buffer: records that are not older than at.trimmed_to, and the time of the last event of a
 * program. */
struct writer_tally {
    uint32_t events, older; /* older: the others */
    uint64_t last;
};

/* The newest buffer of a processor: its slot, its fill in bytes, and its number. */
struct writer_open {
    uint32_t slot, filled, number;
};

struct etl_writer {
    struct os           *os;
    char                *path;
    int                  fd;
    bool                 locked;  /* by our lock; false: its file system has none */
    bool                 growing; /* its next buffer is counted in the process's pending bytes */
    bool                 torn;    /* a failed write may have left bytes behind file_offset (W1 to be restored) */
    uint32_t             buffer_size, processors;
    uint16_t             logger_id;
    uint64_t             limit; /* most bytes of the file */
    uint64_t             free_floor;
    uint64_t             start_time;
    bool                 ring, preallocated;
    bool                 emptied; /* of the ring: it has a buffer without events */
    struct writer_tally *slot;    /* of a ring */
    struct writer_open  *open;    /* [processors + 1], of a ring in memory (writer_open.c); else NULL */
    /* a ring of compressed buffers (writer_packed.c): `ring` is false then; NULL: none */
    struct packed         *packed_ring;
    uint32_t               lost_before; /* APPEND: lost events of the existing header */
    struct etl_write_state at;
    /* of a compressed file */
    uint64_t last_at;   /* where the newest buffer begins */
    uint16_t last_flag; /* its BufferFlag */
    size_t (*compress)(const uint8_t *in, size_t size, uint8_t *out, size_t room);
    uint8_t *packed; /* room for a buffer */
    bool     count_at_end;
    /* writer_direct.c */
    int      direct_fd; /* the same file with O_DIRECT; -1: not open */
    bool     direct_wanted, hurry;
    unsigned hurried;          /* writes */
    uint64_t cost[WRITE_WAYS]; /* recent ns per KB; 0: not known */
};

/* ---- writer_packed.c ---- */
wstatus  writer_packed_init(struct etl_writer *w, const struct etl_file_info *info, struct reason *why);
void     writer_packed_free(struct etl_writer *w);
uint32_t writer_packed_count(const struct etl_writer *w); /* buffers present, without buffer 0 */
/* Adopts a predecessor's ring, which had published at.buffers_written. */
wstatus writer_packed_resume(struct etl_writer *w, struct reason *why);
wstatus writer_packed_put(struct etl_writer *w, const uint8_t *stored, uint32_t size, const struct writer_tally *tally,
                          struct reason *why);
/* Counts events that were overwritten before their buffer reached the ring. */
void writer_packed_cut(struct etl_writer *w, uint32_t events);
/* Removes whole buffers older than at.complete_from. 0 or -errno. */
int writer_packed_trim(struct etl_writer *w);
/* Appends all buffers to `to`; 0 or -errno, and in *room the status of room on its volume. `buffer` holds one. */
int writer_packed_copy(struct etl_writer *w, struct etl_writer *to, uint8_t *buffer, wstatus *room, struct reason *why);

static inline uint32_t writer_buffers_in_file(const struct etl_writer *w)
{
    if (w->packed_ring)
        return 1 + writer_packed_count(w);
    return w->ring && w->at.buffers_written > w->at.slots ? w->at.slots : w->at.buffers_written;
}

/* ---- writer.c ---- */
/* Locks the writer's file (W6). W_SHARING_VIOLATION: another writer has it. */
wstatus writer_lock(struct etl_writer *w, bool wait, struct reason *why);
void    writer_unlock(struct etl_writer *w);
/* Opens the writer's path, where it may be replaced: nothing, an empty file, or an .etl. *made: the file is new. */
wstatus writer_open_target(struct etl_writer *w, bool *made, struct reason *why);
/* Room for one more buffer? */
wstatus writer_check_room(struct etl_writer *w, struct reason *why);
/* Truncates what a failed write left behind the last whole buffer. */
void writer_untear(struct etl_writer *w);
/* Writes the final counters to the file open at `fd`. 0 or -errno. */
int writer_final_counters(struct etl_writer *w, int fd, uint64_t end_time, uint64_t events_lost);

/* ---- writer_trim.c ---- */
struct writer_tally writer_tally_of(const uint8_t *buffer, uint32_t filled, uint64_t trimmed_to);
/* Removes the older events from a buffer that is to be written; returns their number. */
uint32_t writer_cut(uint8_t *buffer, uint32_t *filled, uint64_t trimmed_to);
/* Counts an overwritten buffer of the ring. */
void writer_tally_gone(struct etl_writer *w, const struct writer_tally *tally);
/* Appends the ring's events from trimmed_to on to `to`, oldest buffer first; 0 or -errno, and in *room the status of
 * room on its volume. */
int writer_trimmed_copy(struct etl_writer *w, struct etl_writer *to, uint8_t *buffer, wstatus *room,
                        struct reason *why);

/* ---- writer_open.c ---- */
wstatus writer_open_init(struct etl_writer *w, const struct etl_file_info *info, struct reason *why);
/* A predecessor may have begun to write at `slot` without publishing it: the old buffer is gone, and the new one does
 * not count. */
wstatus writer_open_resume(struct etl_writer *w, uint32_t slot, struct reason *why);
/* Does the processor have an open buffer with room for these events? */
bool writer_open_fits(const struct etl_writer *w, uint32_t filled, uint16_t cpu);
/* Appends them to the open buffer; on failure nothing is appended. */
wstatus writer_open_put(struct etl_writer *w, const uint8_t *buffer, uint32_t filled, uint16_t cpu, int64_t time,
                        struct reason *why);
/* A new buffer has just been written. */
void writer_open_began(struct etl_writer *w, uint32_t slot, uint32_t filled, uint16_t cpu);

/* ---- writer_direct.c ---- */
void writer_direct_init(struct etl_writer *w, bool wanted);
void writer_direct_close(struct etl_writer *w);
/* Writes all bytes; 0 or -errno. */
int writer_store(struct etl_writer *w, const uint8_t *buffer, uint32_t size, uint64_t at);

/* ---- writer_modes.c ---- */
/* CIRCULAR, BUFFERING: makes the writer a ring, of `slots` if they are not 0. */
wstatus writer_ring_init(struct etl_writer *w, const struct etl_file_info *info, uint32_t slots, struct reason *why);
/* Counts what is in the slots of a predecessor's ring. */
wstatus writer_ring_count(struct etl_writer *w, struct reason *why);
/* PREALLOCATE: gives the file its maximum size from the start, where the volume has room for it. */
wstatus writer_preallocate(struct etl_writer *w, const struct etl_file_info *info, struct reason *why);
/* APPEND: continues an existing .etl of `size` bytes behind its last whole buffer. */
wstatus writer_append_begin(struct etl_writer *w, const struct etl_file_info *info, uint64_t size, struct reason *why);
#endif
