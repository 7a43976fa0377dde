/* plan.h - plans one boot session: turns its key tree in the store into a struct plan, or a Status. Pure: no file,
 * clock, environment or thread; the machine's facts come in through struct plan_limits. One table, values.def, drives
 * parsing, defaults, ranges, check, printing and the reference page.
 * Threads: any. Ownership: plan_from_key fills a caller's struct; plan_finish frees what it holds. */
#ifndef AUTOLOGGER_PLAN_PLAN_H
#define AUTOLOGGER_PLAN_PLAN_H
#include "autologger/wire/filter.h"
#include "registry-sim/store/regstore.h"

/* A running session or provider has Status 0 plus conditions: deviations from its declaration. */
struct condition {
    /* W_NOT_SUPPORTED not supported, W_INVALID_PARAMETER clamped or ignored, W_WMI_GUID_NOT_FOUND never registered,
     * ... */
    wstatus  number;
    bool     note;     /* true: harmless, shown as a note */
    char     item[64]; /* the value, flag or provider it is about */
    char     reason[256];
    char     advice[192];
    char     source_file[256]; /* declaration, "" = not known */
    uint32_t source_line;
};
struct condition_list {
    struct condition *items; /* malloc */
    unsigned          count, capacity;
    unsigned          dropped; /* for want of memory; to be shown as a row of its own */
};
/* Appends; out of memory drops the condition and counts it. */
void condition_add(struct condition_list *list, wstatus number, bool note, const char *item, const char *source_file,
                   uint32_t source_line, const char *advice, const char *format, ...)
    __attribute__((format(printf, 8, 9)));
void condition_list_finish(struct condition_list *list);

/* The machine, as far as a plan depends on it. */
struct plan_limits {
    unsigned    processors;
    uint64_t    ram_bytes;
    uint64_t    memory_left; /* bytes left of the ceiling (10 % of RAM for all boot sessions together) */
    const char *log_dir;
    bool        now; /* a controller starts it; false: it is declared for boots, which refuse some modes */
};

enum {
    PLAN_MAX_HOOKS     = 256,
    PLAN_MAX_PROVIDERS = 256,
    PLAN_DISALLOWED    = 128,
    PLAN_UNITS         = 256 /* bytes of Unit, with the NUL */
};

struct plan_provider {
    struct guid guid;
    char       *name;   /* ProviderFriendlyName, or NULL */
    char       *key;    /* full registry path */
    wstatus     status; /* W_INVALID_PARAMETER: the subkey is not a {guid}, or a value is wrong; then reason says why */
    struct reason         reason;
    bool                  enabled;
    uint8_t               level; /* 0 = all */
    uint32_t              enable_property, enable_flags;
    uint64_t              match_any, match_all; /* match_any: EnableFlags already folded in */
    uint64_t              match_any_value;      /* as declared */
    struct filter_block  *filter; /* of Filters and EnableProperty, malloc; NULL: neither asks for anything */
    char                 *units;  /* Unit: names and globs; or NULL */
    struct condition_list conditions;
    char                 *tracepoint, *tracepoint_filter; /* the provider is kernel tracepoints; NULL: programs */
    bool                  tracepoint_stacks;
    char                 *source_file;
    uint32_t              source_line;
};

struct plan {
    bool  tracepoints;           /* a sound and enabled provider is kernel tracepoints */
    char *name;                  /* session name: key name; "NT Kernel Logger" for a kernel GlobalLogger */
    char *key;                   /* full registry path */
    bool  global_logger, kernel; /* kernel: EnableKernelFlags are honoured */
    bool  start;
    bool  units;           /* set by the caller: a session of this boot has a provider of systemd's units */
    bool  forget_realtime; /* DisableRealtimePersistence */
    bool  devices;         /* DeviceEvents */
    /* StackCaching: 0 off, else the limit of the table of distinct stacks */
    uint32_t    stack_cache_bytes, stack_cache_buckets;
    uint32_t    user_stack_bytes; /* UserStacks: 0 frame pointers, else bytes copied of each stack */
    struct guid guid;
    /* asked (as declared, defaults filled in) and given (after floor, ceiling and clamps) */
    struct {
        uint32_t buffer_kb, minimum_buffers, maximum_buffers;
    } asked, given;
    uint64_t              memory_bytes; /* given maximum x buffer size */
    uint32_t              clock_type, log_file_mode, max_file_size, flush_timer, flush_threshold;
    uint32_t              file_max, file_counter; /* file_counter: the number to use now and to write back, 0 = none */
    char                 *file_name;              /* as declared or defaulted, or NULL (no file) */
    char                 *log_path;               /* mapped, with the FileMax suffix, or NULL */
    uint32_t              group_mask[8];
    uint16_t              hooks[PLAN_MAX_HOOKS];
    unsigned              hook_count;
    struct plan_provider *providers;
    unsigned              provider_count;
    struct guid          *disallowed; /* DisallowList: providers that no group of this session enables */
    unsigned              disallowed_count;
    struct condition_list conditions;
    char                 *source_file;
    uint32_t              source_line;
};

/* Reads the session key at `key` (.../WMI/GlobalLogger or .../WMI/Autologger/<name>). `Start` is read first, alone:
 * when 0 or absent, out->start is false, Status 0 and nothing else was read. A non-zero return is the session's Status,
 * and out->source_file and source_line are then the place to correct; file_counter is valid also then. Pass `out` to
 * plan_finish in every case. */
wstatus plan_from_key(struct regstore *store, const char *key, const struct plan_limits *limits, struct plan *out,
                      struct reason *why);
/* True: a session with this Guid has a fixed name (NT Kernel Logger), whatever its key is called. */
bool plan_guid_names(const char *text);
void plan_finish(struct plan *plan);

/* True: a session at keys[] that starts has an enabled provider of systemd's units. */
bool plan_units_wanted(struct regstore *store, char *const *keys, unsigned count);
/* Windows' provider Service Control Manager; here it reports systemd's units. */
#define UNITS_GUID \
    { \
        0x0063715b, 0xeeda, 0x4007, { 0x94, 0x29, 0xad, 0x52, 0x6f, 0x62, 0x69, 0x6e } \
    }
/* Windows' provider of processes, threads and images beside the kernel logger; here a program beside the daemon. */
#define PROCESSES_GUID \
    { \
        0x22fb2cd6, 0x0e7b, 0x422b, { 0xa0, 0xc7, 0x2f, 0xad, 0x1f, 0xd0, 0xe7, 0x16 } \
    }

/* 10 % of RAM: the ceiling without MaxNonPagedPoolUsage. */
uint64_t plan_memory_ceiling(uint64_t ram_bytes);
/* The part of `left` bytes for a session that starts before those at keys[]: of these, each with Start = 1 has its
 * MinimumBuffers reserved, all together at most a quarter. So a first session that asks for everything does not leave
 * the others with W_NOT_ENOUGH_MEMORY. */
uint64_t plan_memory_share(struct regstore *store, char *const *keys, unsigned count, unsigned processors,
                           uint64_t left);
/* The INI words (registry-sim/text/dialect.h) by values.def. */
struct ini_vocabulary;
/* Reserved session names. */
#define PLAN_KERNEL_LOGGER "NT Kernel Logger"
#define PLAN_CIRCULAR_LOGGER "Circular Kernel Context Logger"
const struct ini_vocabulary *plan_vocabulary(void);
/* Adds conditions for the flags and stacks that give no events; for a session that is changed while it runs. */
void plan_events_report(const uint32_t *mask, const uint16_t *hooks, unsigned hook_count, struct condition_list *out);
#endif
