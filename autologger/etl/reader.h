/* reader.h - reads an .etl of any vintage from Windows 7 on (compressed too), event by event, in time order over all
 * CPUs.
 * Bounded memory: an index of the buffers (a few bytes each) plus one open buffer per CPU stream, never the file.
 * Parsers never trust a length: damage is reported with its file offset, and all events before it are read.
 * Threads: one per reader. Ownership: open/close; event pointers live until the next etl_next on that reader. */
#ifndef AUTOLOGGER_ETL_READER_H
#define AUTOLOGGER_ETL_READER_H
#include "autologger/wire/etl.h"
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>

/* The header event, decoded; names are UTF-8, owned by the reader. */
struct etl_file_header {
    struct etl_logfile_header raw;
    bool                      is_64bit;
    int64_t                   start_raw; /* raw clock at raw.start_time */
    const char               *logger_name;
    const char               *file_name;
    uint64_t                  file_size;
    uint32_t                  buffers_found; /* by walking; header buffer included */
    uint16_t                  highest_cpu;   /* of all buffers, whatever raw.processors says */
};

enum etl_kind {
    ETL_KIND_SYSTEM,
    ETL_KIND_PERFINFO,
    ETL_KIND_FULL,
    ETL_KIND_INSTANCE,
    ETL_KIND_MESSAGE,
    ETL_KIND_EVENT,
    ETL_KIND_OTHER
};

/* One event; every header kind has this one form (facts: etl-format 3.9). */
struct etl_event {
    enum etl_kind kind;
    uint16_t      cpu, logger_id;
    uint64_t      filetime;
    /* from here to activity: laid out as in EVENT_HEADER, for one copy */
    uint32_t    thread_id, process_id; /* 0xFFFFFFFF: the header has none */
    int64_t     raw_time;
    struct guid provider; /* class GUID for kernel groups */
    uint16_t    id;
    uint8_t     version, channel, level, opcode;
    uint16_t    task;
    uint64_t    keyword;
    /* of the thread, in the file's timer resolution; 0 where the header has none */
    uint32_t       kernel_time, user_time;
    struct guid    activity;
    uint16_t       hook;                      /* group << 8 | type, kernel headers only, else 0 */
    uint16_t       flags;                     /* EVENT_HEADER flags as stored */
    bool           is_64bit;                  /* payload layout */
    uint32_t       instance, parent_instance; /* ETL_KIND_INSTANCE alone; instance: the number of a message, too */
    struct guid    parent_guid;               /* the same */
    const uint8_t *ext;                       /* extended items, ext_size bytes, or NULL */
    uint32_t       ext_size;
    uint32_t       ext_lacks;         /* bit n: no item of type n; 0: unknown, look */
    const uint8_t *traits, *metadata; /* data of items 12 and 11, the event's description; NULL: none */
    uint32_t       traits_size, metadata_size;
    /* not 0: events of this process with the same number have the same bytes of extended items */
    uint64_t       items;
    const uint8_t *payload;
    uint32_t       payload_size;
    const uint8_t *record; /* the whole event as stored */
    uint32_t       record_size;
    uint64_t       file_offset; /* of the record; of its buffer when compressed */
    int64_t        buffer_sequence;
};

struct etl_reader;

/* A damaged place: its offset in the file, and what is wrong. */
struct etl_damage {
    uint64_t offset;
    char     text[160];
};

/* Status W_FILE_NOT_FOUND, W_ACCESS_DENIED; W_INVALID_DATA when there is no readable header buffer (not an .etl). */
wstatus etl_reader_open(const char *path, struct etl_reader **out, struct reason *why);
/* The same for bytes in memory that stay valid until close. */
wstatus etl_reader_open_memory(const void *data, size_t size, struct etl_reader **out, struct reason *why);
void    etl_reader_close(struct etl_reader *r); /* NULL is fine */
/* Reads through a mapping of the file from now on, a third faster. For our own programs, which handle SIGBUS: it comes
 * when another process truncates the file meanwhile. Not for libraries. No effect where the file can't be mapped.
 * Memory stays bounded: pages already read are released. */
void                          etl_reader_map(struct etl_reader *r);
const struct etl_file_header *etl_reader_header(const struct etl_reader *r);
/* Takes the dates of another file of its clock (line.h), so that several files read together have one order. Before the
 * first event. */
void etl_reader_follow(struct etl_reader *r, const struct etl_file_header *to);
/* The same for all of `count` that are on one line: each gets the dates of the file whose date was written last. */
void etl_readers_join(struct etl_reader *const *readers, unsigned count);
/* A CPU's number of buffers and bytes of events in them, by the buffers' headers. */
void etl_reader_cpu(const struct etl_reader *r, uint16_t cpu, uint64_t *buffers, uint64_t *bytes);
/* The first event of the file, its description. The reader returns it first, whatever its time; all others are in time
 * order. */
static inline bool etl_event_is_header(const struct etl_event *e)
{
    return e->kind == ETL_KIND_SYSTEM && e->hook == 0 && e->file_offset == sizeof(struct etl_buffer_header);
}
/* The time that orders `event`, the reader's last one, among the events of other files: its own time; for the header
 * event the earliest time in its file. */
uint64_t etl_event_turn(const struct etl_reader *r, const struct etl_event *event);
/* Next event in time order (equal stamps: lower CPU, then sequence). False at the end. */
bool etl_next(struct etl_reader *r, struct etl_event *event);
/* Damage seen so far; *count gets the number. A damaged file still ends normally. */
const struct etl_damage *etl_reader_damage(const struct etl_reader *r, unsigned *count);
/* Raw clock -> FILETIME by the file's own anchor, in integers. */
uint64_t etl_filetime(const struct etl_file_header *h, int64_t raw);
/* Finds an extended item; data/size of the first of `type`, false when there is none or the list is malformed. */
bool etl_ext_find(const struct etl_event *event, uint16_t type, const uint8_t **data, uint32_t *size);
/* Extended items one after another; start with a zeroed walk. False at the end, or where the list is malformed. */
struct etl_ext_walk {
    size_t         at;
    const uint8_t *data;
    uint32_t       size;
    uint16_t       type;
};
bool etl_ext_next(const struct etl_event *event, struct etl_ext_walk *walk);
/* Class GUID of a kernel group (0x030A counts as Image); the null GUID for unknown groups. */
struct guid etl_group_guid(uint16_t hook);
/* Size and shape of the event at `p`, `left` bytes available: 0 = filler/end, < 0 = malformed, else its unpadded size.
 * Shared by the reader, the session's check of hostile memory, and fuzzers. */
int etl_record_size(const uint8_t *p, size_t left);
#endif
