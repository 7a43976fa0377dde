/* result.h - the results of a boot: a row for every declared session and provider, as `status` shows them. A row is ok,
 * note, failed or off; a failed row has the file and line of its declaration. Rows are kept in the store below
 * HKLM\SOFTWARE\autologger\Boots\NNNNN\Rows (one numbered key each, in boot order), beside the Status values that
 * Windows keeps at the session and provider keys themselves; LastBoot has the number of the boot saved last. A row is
 * identified by the key of its declaration: names may occur twice. A boot is identified by its boot id; its number is
 * for people (history.h).
 * Threads: one at a time. Ownership: result_list_finish frees what a list holds. Not for: live counters (control). */
#ifndef AUTOLOGGER_BOOT_RESULT_H
#define AUTOLOGGER_BOOT_RESULT_H
#include "autologger/plan/plan.h"

/* OFF: it was not to start (Start or Enabled is 0, or a configuration for one boot was used up), or the guard kept it
 * off. */
enum result_level { RESULT_OK, RESULT_NOTE, RESULT_FAILED, RESULT_OFF, RESULT_LEVELS };

/* The item of a condition that says why there are no units. */
#define UNITS_ITEM "units"

struct result_row {
    char session[256];
    char provider[GUID_TEXT_SIZE]; /* "" = the row of the session itself */
    char name[256];                /* provider: ProviderFriendlyName or "" */
    char key[1024];                /* registry path of the declaration */
    bool start;                    /* session: Start was 1; provider: Enabled was 1 */
    /* it was to start, but the guard (daemon/early/guard.h) kept it off; status says so */
    bool                  kept_off;
    wstatus               status;
    char                  reason[512]; /* why status is not 0 */
    struct condition_list conditions;
    char                  source_file[256];
    uint32_t              source_line;
    /* sessions only */
    bool kernel;
    struct {
        uint32_t buffer_kb, minimum_buffers, maximum_buffers;
    } asked, given;
    char     log_path[1024];
    char     merged_path[1024]; /* the file that this session's file was merged into, "" = none */
    bool     file_created;      /* its log file was opened, and is one of ours */
    bool     stopped;           /* the numbers below are final */
    bool     concluded;         /* boot_conclude has run */
    uint64_t attempted;         /* by the kernel's own count; kernel sessions only */
    uint64_t converted;         /* kernel sessions: of these, records converted to events */
    uint64_t written;           /* events in the file; of providers too */
    /* of these: replaced by newer ones, as the mode wants (CIRCULAR, BUFFERING); not lost */
    uint64_t overwritten;
    uint64_t lost_ring, lost_memory, lost_conversion, lost_file;
    uint64_t withheld;   /* kernel sessions: counted by the kernel, kept back by its own filter */
    uint64_t filtered;   /* program events that filters kept out: neither written nor lost */
    uint64_t peak_bytes; /* peak memory use */
    /* program sessions: the peak of one user. This and the next are not kept in the store */
    uint64_t user_peak_bytes;
    uint32_t users_most;                           /* most users with attached programs at one time */
    uint64_t bytes_written;                        /* in the file, without buffer headers */
    uint32_t suggested_minimum, suggested_maximum; /* buffers, from the peak; 0 = none */
    uint64_t late_events, clock_error_ns;
    /* providers only */
    uint32_t
         registrations; /* programs that registered it while the session ran; `written` counts its events in the file */
    bool tracepoint;    /* the provider is kernel tracepoints */
    uint32_t tracepoints; /* opened ones */
    uint8_t  level;       /* of its enablement; 0 = all */
    uint64_t match_any, match_all;
    /* programs tried to write events that the enablement kept out */
    bool     refused_by_level, refused_by_keywords, refused_by_filter;
    uint8_t  refused_level;    /* the lowest level of these */
    uint64_t refused_keywords; /* the keywords of these, together */
};
/* Of a boot; see phases.h. */
enum result_phase {
    RESULT_PHASE_FIRMWARE,
    RESULT_PHASE_LOADER,
    RESULT_PHASE_KERNEL,
    RESULT_PHASE_INITRAMFS,
    RESULT_PHASE_USER,
    RESULT_PHASE_SETTLING,
    RESULT_PHASE_AFTER,
    RESULT_PHASES
};
struct result_phases {
    uint64_t firmware_ns, loader_ns; /* durations; 0: the machine does not report them */
    bool     machine_asked;          /* these are valid: the file has the event that reports them */
    uint64_t init_ns, user_ns;       /* when process 1 became /init, and the system's own program; 0 = not known */
    bool     counted;                /* the merged file was read: events[] is valid */
    uint64_t events[RESULT_PHASES];
};
struct result_list {
    struct result_row *rows; /* malloc */
    unsigned           count, capacity;
    char               boot_id[64];
    uint64_t           time; /* FILETIME of the run */
    bool               rehearsal;
    /* of the boot as a whole; 0 or "" = not known or not reached. Times of ns are CLOCK_BOOTTIME, so since the kernel
     * began */
    uint64_t early_ns, ready_ns, armed_ns;   /* the early program began; programs could connect; all was armed */
    uint64_t held_ns;                        /* how long the early program held the boot up */
    uint64_t first_kernel_ns, first_user_ns; /* the first events of the merged file */
    uint64_t start_ns;                /* start of its sessions, since the kernel began, on the clock of the files */
    uint64_t target_ms, boot_done_ms; /* since start_ns: the default target and boot-done were reached */
    struct result_phases phases;
    char                 stop_reason[256]; /* why the boot's sessions were stopped: "boot-done + 10 s", "asked", ... */
    uint64_t             change_number; /* of the configuration that was booted (registry-sim/store/change_number.h) */
    bool                 kernel_phase;  /* the trace begins with the kernel's own trace buffer */
    uint32_t             number;        /* of the boot; set by loading */
};

/* Where the boots are kept, one numbered key each. */
#define RESULT_BOOTS_KEY "HKEY_LOCAL_MACHINE\\SOFTWARE\\autologger\\Boots"
enum { RESULT_KEY_SIZE = 96 };
/* Writes the key of boot `number` to `out`; returns `out`. result_number reverses it; 0: no key of a boot. */
const char *result_key(uint32_t number, char out[RESULT_KEY_SIZE]);
uint32_t    result_number(const char *name);

enum result_level result_level(const struct result_row *row);
const char       *result_level_name(enum result_level level); /* "ok", "note", "failed", "off" */
/* It started, but a condition other than a note says that a part of its declaration was not done. */
bool result_in_part(const struct result_row *row);
/* EventsLost, as in ctl_events_lost(): all events missing in the session's file, wherever they were lost. */
uint64_t result_lost(const struct result_row *row);
/* The declaration was not carried out: it failed, was kept off, or was done in part. */
bool result_undone(const struct result_row *row);
/* The level's name, or "in part". */
const char *result_row_word(const struct result_row *row);
/* Appends a zeroed row; NULL: out of memory. Earlier rows may move. */
struct result_row *result_add(struct result_list *list);
/* Returns the first row with these names, or NULL. `provider` "" means the session's own row. */
struct result_row *result_find(struct result_list *list, const char *session, const char *provider);
/* The row of a declaration; NULL when there is none. */
struct result_row *result_find_key(struct result_list *list, const char *key);
/* There are rows, and everything that was started has stopped. */
bool result_list_final(const struct result_list *list);
void result_list_finish(struct result_list *list);
/* Replaces the stored boot with this id, else saves the boot under the next number. Writes Status at each declared key.
 * A baseline mark stays. One transaction. */
wstatus result_save(struct regstore *store, const struct result_list *list, struct reason *why);
/* The same for a loaded boot that is not the last: LastBoot and the Status at the declared keys stay those of a later
 * boot. W_FILE_NOT_FOUND: the store no longer has it. */
wstatus result_save_past(struct regstore *store, const struct result_list *list, struct reason *why);
/* The number of the boot with that id: its own, else the one that its next save will give it. */
wstatus result_number_of(struct regstore *store, const char *boot_id, uint32_t *out, struct reason *why);
/* The number of the boot saved last; 0: none. */
uint32_t result_last(struct regstore *store);
/* Loads the boot saved last. W_FILE_NOT_FOUND: there was no boot yet. W_REVISION_MISMATCH: the store has a boot from
 * before boots had numbers. */
wstatus result_load(struct regstore *store, struct result_list *list, struct reason *why);
/* Loads the boot with that number. W_FILE_NOT_FOUND: the store never had it, or has dropped it. */
wstatus result_load_number(struct regstore *store, uint32_t number, struct result_list *list, struct reason *why);
#endif
