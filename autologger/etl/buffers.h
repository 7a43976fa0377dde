/* buffers.h - finds the buffers of an .etl file and loads one of them, decompressed.
 * Invariants: B1 an entry lies inside the file, 72 <= filled. B2 walking always moves forward, whatever the bytes say.
 * B3 damage is noted once for each place. Threads: one. Ownership: init/finish. Not for: events (record, reader). */
#ifndef AUTOLOGGER_ETL_BUFFERS_H
#define AUTOLOGGER_ETL_BUFFERS_H
#include "autologger/etl/reader.h"

#include <stdarg.h>

enum { DAMAGE_MAX = 256, EXPANDED_MAX = 1 << 30 };

/* Bytes of a file, or of memory when `data` is set. */
struct etl_source {
    int            fd;
    const uint8_t *data;
    uint64_t       size;
};
struct etl_buffer {
    uint64_t offset; /* in the file */
    int64_t  sequence;
    uint32_t stored; /* bytes in the file, header included */
    uint32_t filled; /* bytes of header and events once loaded */
    uint16_t cpu, logger_id;
    bool     compressed;
};
struct etl_buffers {
    struct etl_source  source;
    struct etl_buffer *list;
    size_t             count, capacity;
    struct etl_damage *damage;
    unsigned           damage_count;
    uint32_t           stride;  /* step for resuming after damage; 0 = unknown (compressed) */
    uint32_t           largest; /* most bytes of a decompressed buffer */
    uint16_t           compression;
    const uint8_t     *map; /* of the whole file, for loading; NULL: by reading */
    /* of the map: range and bytes of the buffers that were unloaded since pages were last released */
    uint64_t read_from, read_to, read;
    uint64_t expanded; /* bytes of decompressed buffers now in memory: a small file can claim a lot */
};

/* Walks all buffers; `header` is the decoded header event of buffer 0. W_NOT_ENOUGH_MEMORY when out of memory. */
wstatus etl_buffers_init(struct etl_buffers *b, struct etl_source source, const struct etl_file_header *header);
void    etl_buffers_finish(struct etl_buffers *b);
/* Loads uncompressed buffers through a mapping of the file from now on (reader.h, etl_reader_map). False: it can't be
 * mapped. */
bool etl_buffers_map(struct etl_buffers *b);
/* Memory for one buffer after another; zeros at first, free(data) at the end. */
struct etl_room {
    uint8_t *data;
    size_t   size;
};
/* Reads the `filled` bytes of buffer i into the room (of a compressed buffer: into memory of its own); NULL: it can't
 * be read (noted as damage). At most EXPANDED_MAX bytes of decompressed buffers are in memory at one time; a buffer
 * beyond that is damage. */
uint8_t *etl_buffers_load(struct etl_buffers *b, size_t i, struct etl_room *room);
/* Releases the result of etl_buffers_load(b, i, room); NULL is fine. */
void etl_buffers_unload(struct etl_buffers *b, size_t i, uint8_t *data);
void etl_damage_add(struct etl_buffers *b, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Reads up to `size` bytes at `offset`; the number read. */
size_t etl_source_read(const struct etl_source *s, void *out, size_t size, uint64_t offset);
#endif
