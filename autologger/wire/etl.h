/* etl.h - every byte of an .etl file, as shared/published facts describe Windows 7 and later. Offsets are asserted.
 * Fixed-width, little-endian; structs are only ever copied in and out with memcpy or a cursor.
 * Not for: reading policy (etl/reader), field meaning of events (kernel, consumer). */
#ifndef AUTOLOGGER_WIRE_ETL_H
#define AUTOLOGGER_WIRE_ETL_H
#include "autologger/wire/hooks.h"
#include "registry-sim/win32/guid.h"

#include <stddef.h>
#include <stdint.h>

#define AT(type, field, offset) _Static_assert(offsetof(type, field) == (offset), #type "." #field)

/* WMI_BUFFER_HEADER */
struct etl_buffer_header {
    uint32_t buffer_size; /* bytes to the next buffer, this header included */
    uint32_t saved_offset;
    uint32_t current_offset;
    int32_t  reference_count;
    int64_t  time_stamp;
    int64_t  sequence_number;
    uint64_t clock_or_link;
    uint16_t processor_index; /* u8 number + u8 alignment without ETL_BUFFER_PROC_INDEX */
    uint16_t logger_id;
    uint32_t state;
    uint32_t offset; /* valid bytes, this header included: the authority */
    uint16_t flag;
    uint16_t type;
    uint64_t reference_time[2];
};
_Static_assert(sizeof(struct etl_buffer_header) == 0x48, "WMI_BUFFER_HEADER");
AT(struct etl_buffer_header, time_stamp, 0x10);
AT(struct etl_buffer_header, sequence_number, 0x18);
AT(struct etl_buffer_header, processor_index, 0x28);
AT(struct etl_buffer_header, state, 0x2C);
AT(struct etl_buffer_header, offset, 0x30);
AT(struct etl_buffer_header, flag, 0x34);
AT(struct etl_buffer_header, reference_time, 0x38);

enum {
    ETL_BUFFER_FLUSH_MARKER = 0x01,
    ETL_BUFFER_EVENTS_LOST  = 0x02,
    ETL_BUFFER_BUFFER_LOST  = 0x04,
    ETL_BUFFER_RTBACKUP     = 0x10,
    ETL_BUFFER_PROC_INDEX   = 0x20,
    ETL_BUFFER_COMPRESSED   = 0x40,
    ETL_BUFFER_TYPE_GENERIC = 0,
    ETL_BUFFER_TYPE_HEADER  = 4,
    ETL_BUFFER_STATE_FLUSH  = 3
};

/* Header types (third byte of an event) and markers */
enum {
    ETL_SYSTEM32       = 1,
    ETL_SYSTEM64       = 2,
    ETL_COMPACT32      = 3,
    ETL_COMPACT64      = 4,
    ETL_FULL32         = 0x0A,
    ETL_INSTANCE32     = 0x0B,
    ETL_ERROR          = 0x0D,
    ETL_PERFINFO32     = 0x10,
    ETL_PERFINFO64     = 0x11,
    ETL_EVENT32        = 0x12,
    ETL_EVENT64        = 0x13,
    ETL_FULL64         = 0x14,
    ETL_INSTANCE64     = 0x15,
    ETL_MARKER         = 0xC0,
    ETL_MARKER_MESSAGE = 0x90
};
#define ETL_FILLER UINT32_C(0xFFFFFFFF)

/* SYSTEM_TRACE_HEADER; the compact form ends before kernel_time */
struct etl_system_header {
    uint16_t version;
    uint8_t  header_type;
    uint8_t  flags; /* 0xC0 */
    uint16_t size;
    uint8_t  type; /* opcode */
    uint8_t  group;
    uint32_t thread_id;
    uint32_t process_id;
    int64_t  time; /* raw session clock */
    uint32_t kernel_time;
    uint32_t user_time;
};
_Static_assert(sizeof(struct etl_system_header) == 0x20, "SYSTEM_TRACE_HEADER");
AT(struct etl_system_header, time, 0x10);

/* PERFINFO_TRACE_HEADER */
struct etl_perfinfo_header {
    uint16_t version; /* low byte; 0x8000 PEBS index follows, bits 8..10 number of counters that follow */
    uint8_t  header_type;
    uint8_t  flags;
    uint16_t size;
    uint8_t  type;
    uint8_t  group;
    int64_t  time;
};
_Static_assert(sizeof(struct etl_perfinfo_header) == 0x10, "PERFINFO_TRACE_HEADER");

/* EVENT_TRACE_HEADER, classic providers and merge extras */
struct etl_full_header {
    uint16_t    size;
    uint8_t     header_type;
    uint8_t     marker;
    uint8_t     type;
    uint8_t     level;
    uint16_t    version;
    uint32_t    thread_id;
    uint32_t    process_id;
    int64_t     time;
    struct guid guid;
    uint32_t    kernel_time;
    uint32_t    user_time;
};
_Static_assert(sizeof(struct etl_full_header) == 0x30, "EVENT_TRACE_HEADER");

/* EVENT_HEADER: manifest and TraceLogging events; the in-memory form of a user event is exactly this */
struct etl_event_header {
    uint16_t    size; /* whole event, extended items included, not padded */
    uint8_t     header_type;
    uint8_t     marker;
    uint16_t    flags;
    uint16_t    event_property;
    uint32_t    thread_id;
    uint32_t    process_id;
    int64_t     time;
    struct guid provider;
    uint16_t    id;
    uint8_t     version;
    uint8_t     channel;
    uint8_t     level;
    uint8_t     opcode;
    uint16_t    task;
    uint64_t    keyword;
    uint32_t    kernel_time;
    uint32_t    user_time;
    struct guid activity;
};
_Static_assert(sizeof(struct etl_event_header) == 0x50, "EVENT_HEADER");
AT(struct etl_event_header, time, 0x10);
AT(struct etl_event_header, provider, 0x18);
AT(struct etl_event_header, id, 0x28);
AT(struct etl_event_header, keyword, 0x30);
AT(struct etl_event_header, activity, 0x40);
/* Of a compressed file: the state of buffer 0 names the format (COMPRESSION_FORMAT_*) */
enum { ETL_TIMER_RESOLUTION = 156250 /* in 100 ns: what KernelTime and UserTime count */ };
enum { ETL_LZNT1 = 2, ETL_XPRESS = 3, ETL_XPRESS_HUFF = 4 };
enum { ETL_EVENT_EXTENDED = 0x0001, ETL_EVENT_STRING_ONLY = 0x0004, ETL_EVENT_NO_CPUTIME = 0x0010 };

/* Extended data item, followed by its data, padded to 8 */
struct etl_ext_item {
    uint16_t total; /* 8 + data size, rounded up to 8 */
    uint16_t type;
    uint16_t linkage; /* bit 0: another item follows */
    uint16_t data_size;
};
enum {
    ETL_EXT_RELATED_ACTIVITY  = 1,
    ETL_EXT_SID               = 2,
    ETL_EXT_TS_ID             = 3,
    ETL_EXT_STACK32           = 5,
    ETL_EXT_STACK64           = 6,
    ETL_EXT_PSM_KEY           = 9,
    ETL_EXT_EVENT_KEY         = 10,
    ETL_EXT_SCHEMA_TL         = 11,
    ETL_EXT_PROV_TRAITS       = 12,
    ETL_EXT_PROCESS_START_KEY = 13,
    ETL_EXT_CONTAINER_ID      = 16,
    ETL_EXT_INNER_IDS = 0x4101, /* ours: process and thread id (u32 each) in the program's own process namespace */
    ETL_EXT_CPU_TIMES =
        0x4102 /* ours: the thread's ns in kernel and in user mode (u64 each); the logger copies them into the header */
};

/* TRACE_LOGFILE_HEADER, 64-bit; the two names follow it */
struct etl_logfile_header {
    uint32_t buffer_size;                  /* bytes */
    uint8_t  major, minor, sub, sub_minor; /* 0A 00 01 05; sub 2, sub_minor 0 for buffers over 1 MB or compressed */
    uint32_t provider_version;             /* OS build */
    uint32_t processors;
    int64_t  end_time; /* FILETIME, 0 = not finalised */
    uint32_t timer_resolution;
    uint32_t maximum_file_size; /* MB, KB with mode 0x2000 */
    uint32_t log_file_mode;
    uint32_t buffers_written; /* counts the header buffer */
    uint32_t start_buffers;   /* 1 */
    uint32_t pointer_size;
    uint32_t events_lost;
    uint32_t cpu_mhz; /* never 0 */
    uint64_t logger_name;
    uint64_t log_file_name;
    uint8_t  time_zone[172];
    uint32_t pad;
    int64_t  boot_time;
    int64_t  perf_freq; /* never 0 */
    int64_t  start_time;
    uint32_t clock_type; /* ReservedFlags: 1 QPC, 2 system time, 3 cycles */
    uint32_t buffers_lost;
};
_Static_assert(sizeof(struct etl_logfile_header) == 0x118, "TRACE_LOGFILE_HEADER");
AT(struct etl_logfile_header, end_time, 0x10);
AT(struct etl_logfile_header, buffers_written, 0x24);
AT(struct etl_logfile_header, cpu_mhz, 0x34);
AT(struct etl_logfile_header, time_zone, 0x48);
AT(struct etl_logfile_header, boot_time, 0xF8);
AT(struct etl_logfile_header, clock_type, 0x110);

/* LogFileMode bits */
enum {
    ETL_MODE_SEQUENTIAL       = 0x1,
    ETL_MODE_CIRCULAR         = 0x2,
    ETL_MODE_APPEND           = 0x4,
    ETL_MODE_NEWFILE          = 0x8,
    ETL_MODE_MS_FLUSH_TIMER   = 0x10,
    ETL_MODE_PREALLOCATE      = 0x20,
    ETL_MODE_NONSTOPPABLE     = 0x40,
    ETL_MODE_SECURE           = 0x80,
    ETL_MODE_REAL_TIME        = 0x100,
    ETL_MODE_DELAY_OPEN       = 0x200,
    ETL_MODE_BUFFERING        = 0x400,
    ETL_MODE_PRIVATE          = 0x800,
    ETL_MODE_KBYTES           = 0x2000,
    ETL_MODE_GLOBAL_SEQUENCE  = 0x4000,
    ETL_MODE_LOCAL_SEQUENCE   = 0x8000,
    ETL_MODE_RELOG            = 0x10000,
    ETL_MODE_PRIVATE_IN_PROC  = 0x20000,
    ETL_MODE_PAGED            = 0x01000000,
    ETL_MODE_SYSTEM_LOGGER    = 0x02000000,
    ETL_MODE_COMPRESSED       = 0x04000000,
    ETL_MODE_INDEPENDENT      = 0x08000000,
    ETL_MODE_NO_PER_PROCESSOR = 0x10000000
};
#define ETL_MAX_EVENT 65535u /* bytes of one event, headers included */

/* Kernel groups (high byte of a hook id) */
enum {
    ETL_GROUP_HEADER    = 0,
    ETL_GROUP_IO        = 1,
    ETL_GROUP_MEMORY    = 2,
    ETL_GROUP_PROCESS   = 3,
    ETL_GROUP_FILE      = 4,
    ETL_GROUP_THREAD    = 5,
    ETL_GROUP_CONFIG    = 0x0B,
    ETL_GROUP_PERFINFO  = 0x0F,
    ETL_GROUP_IMAGE     = 0x14,
    ETL_GROUP_STACKWALK = 0x18
};
#undef AT
#endif
