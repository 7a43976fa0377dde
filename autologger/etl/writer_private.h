/* writer_private.h - the file writer's inside, shared by writer.c and writer_modes.c. Nothing else includes it. See
 * writer.h. */
#ifndef AUTOLOGGER_ETL_WRITER_PRIVATE_H
#define AUTOLOGGER_ETL_WRITER_PRIVATE_H
#include "autologger/etl/header.h"
#include "autologger/wire/etl.h"

enum write_way { WRITE_CACHED, WRITE_DIRECT, WRITE_WAYS };

/* What is in a buffer of a ring: records that are not older than at.trimmed_to, and the time of the last event of a
 * program. */
struct writer_tally {
    uint32_t events, older; /* older: the others */
    uint64_t last;
};

/* The newest buffer of a processor: where it is, how full, and its number. */
struct writer_open {
    uint32_t slot, filled, number;
};

struct etl_writer {
    struct os           *os;
    char                *path;
    int                  fd;
    bool                 locked;  /* by our lock; else its file system has none */
    bool                 growing; /* its next buffer is counted among what is about to be written */
    bool                 torn;    /* a failed write may have left bytes behind file_offset (W1 to be restored) */
    uint32_t             buffer_size, processors;
    uint16_t             logger_id;
    uint64_t             limit; /* bytes the file may have */
    uint64_t             free_floor;
    uint64_t             start_time;
    bool                 ring, preallocated;
    bool                 emptied; /* of the ring: a buffer without events */
    struct writer_tally *slot;    /* of a ring */
    struct writer_open  *open;    /* [processors + 1], of a ring in memory (writer_open.c); else NULL */
    /* a ring of compressed buffers (writer_packed.c): `ring` is false then; NULL: none */
    struct packed         *packed_ring;
    uint32_t               lost_before; /* APPEND: events, by the header that was there */
    struct etl_write_state at;
    /* of a compressed file */
    uint64_t last_at;   /* where the newest buffer begins */
    uint16_t last_flag; /* its BufferFlag */
    size_t (*compress)(const uint8_t *in, size_t size, uint8_t *out, size_t room);
    uint8_t *packed; /* room for a buffer */
    bool     count_at_end;
    /* writer_direct.c */
    int      direct_fd; /* the same file, past the page cache; -1: not open */
    bool     direct_wanted, hurry;
    unsigned hurried;          /* writes */
    uint64_t cost[WRITE_WAYS]; /* ns a KB, of late; 0: not known */
};

/* ---- writer_packed.c ---- */
wstatus  writer_packed_init(struct etl_writer *w, const struct etl_file_info *info, struct reason *why);
void     writer_packed_free(struct etl_writer *w);
uint32_t writer_packed_count(const struct etl_writer *w); /* buffers that are there, buffer 0 not among them */
/* A predecessor's, which had published at.buffers_written. */
wstatus writer_packed_resume(struct etl_writer *w, struct reason *why);
wstatus writer_packed_put(struct etl_writer *w, const uint8_t *stored, uint32_t size, const struct writer_tally *tally,
                          struct reason *why);
/* So many events were overwritten before their buffer came to the ring. */
void writer_packed_cut(struct etl_writer *w, uint32_t events);
/* Whole buffers that are older go. 0 or -errno. */
int writer_packed_trim(struct etl_writer *w);
/* All that is there to the end of `to`; -errno or 0, and *room what its volume says. `buffer` has room for one. */
int writer_packed_copy(struct etl_writer *w, struct etl_writer *to, uint8_t *buffer, wstatus *room, struct reason *why);

static inline uint32_t writer_buffers_in_file(const struct etl_writer *w)
{
    if (w->packed_ring)
        return 1 + writer_packed_count(w);
    return w->ring && w->at.buffers_written > w->at.slots ? w->at.slots : w->at.buffers_written;
}

/* ---- writer.c ---- */
/* The writer's file is its alone (W6). W_SHARING_VIOLATION: another has it. */
wstatus writer_lock(struct etl_writer *w, bool wait, struct reason *why);
void    writer_unlock(struct etl_writer *w);
/* What is at the writer's path may be replaced: nothing, an empty file, or an .etl. Opens it; *made says that it is
 * new. */
wstatus writer_open_target(struct etl_writer *w, bool *made, struct reason *why);
/* Room for one more buffer? */
wstatus writer_check_room(struct etl_writer *w, struct reason *why);
/* Takes back what a failed write left behind the last whole buffer. */
void writer_untear(struct etl_writer *w);
/* The final counters of the file that is open at `fd`. -errno or 0. */
int writer_final_counters(struct etl_writer *w, int fd, uint64_t end_time, uint64_t events_lost);

/* ---- writer_trim.c ---- */
struct writer_tally writer_tally_of(const uint8_t *buffer, uint32_t filled, uint64_t trimmed_to);
/* Takes the older events out of a buffer that is to be written. How many. */
uint32_t writer_cut(uint8_t *buffer, uint32_t *filled, uint64_t trimmed_to);
/* A buffer of the ring is overwritten. */
void writer_tally_gone(struct etl_writer *w, const struct writer_tally *tally);
/* What the ring has from trimmed_to on, to the end of `to`, the oldest first; -errno or 0, and *room what its volume
 * says. */
int writer_trimmed_copy(struct etl_writer *w, struct etl_writer *to, uint8_t *buffer, wstatus *room,
                        struct reason *why);

/* ---- writer_open.c ---- */
wstatus writer_open_init(struct etl_writer *w, const struct etl_file_info *info, struct reason *why);
/* A predecessor may have begun to write at `slot`, and not published it: what was there is gone, what is there is
 * not. */
wstatus writer_open_resume(struct etl_writer *w, uint32_t slot, struct reason *why);
/* Is there an open buffer of that processor with room for these events? */
bool writer_open_fits(const struct etl_writer *w, uint32_t filled, uint16_t cpu);
/* They go behind those that are there; or, on failure, nowhere. */
wstatus writer_open_put(struct etl_writer *w, const uint8_t *buffer, uint32_t filled, uint16_t cpu, int64_t time,
                        struct reason *why);
/* A new buffer has just been written. */
void writer_open_began(struct etl_writer *w, uint32_t slot, uint32_t filled, uint16_t cpu);

/* ---- writer_direct.c ---- */
void writer_direct_init(struct etl_writer *w, bool wanted);
void writer_direct_close(struct etl_writer *w);
/* Writes it all; 0 or -errno. */
int writer_store(struct etl_writer *w, const uint8_t *buffer, uint32_t size, uint64_t at);

/* ---- writer_modes.c ---- */
/* CIRCULAR, BUFFERING: the writer becomes a ring, of `slots` if they are not 0. */
wstatus writer_ring_init(struct etl_writer *w, const struct etl_file_info *info, uint32_t slots, struct reason *why);
/* A predecessor's ring: what is in its slots. */
wstatus writer_ring_count(struct etl_writer *w, struct reason *why);
/* PREALLOCATE: the file's maximum size is its size from the start, where the volume has room for it. */
wstatus writer_preallocate(struct etl_writer *w, const struct etl_file_info *info, struct reason *why);
/* APPEND: the file is there, an .etl of `size` bytes: what follows goes behind its last whole buffer. */
wstatus writer_append_begin(struct etl_writer *w, const struct etl_file_info *info, uint64_t size, struct reason *why);
#endif
