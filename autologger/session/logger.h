/* logger.h - the state of one session's logger thread (logger.c), shared by merging (logger_merge.c) and output
 * (logger_output.c). The early program has neither of these (logger_none.c).
 * Nothing outside this folder includes it.
 * Threads: the session's logger thread alone; exceptions are noted at the declaration. */
#pragma once
#include "autologger/session/provider_count.h"
#include "autologger/session/session.h"

/* One record of a fallback stream that waits for its CPU's turn. */
struct pending {
    struct pending *next, *before;
    uint64_t        time, start, end; /* positions: the reader's before it and after it */
    unsigned        uid;
    uint32_t        size;
    uint8_t         data[];
};

/* The ETL buffer being filled for one CPU, and each source's position in it. */
struct fill {
    uint8_t        *data;
    uint32_t        filled;
    uint64_t        events, last_time;
    uint32_t        counted; /* end of the records already counted by provider; 0: none counted */
    uint64_t        provider_events[STATE_ENABLES]; /* by enablement */
    uint64_t        pos[STATE_UIDS];                /* stream position after the last record of this uid in it */
    uint64_t        fallback[STATE_UIDS];           /* same, for the fallback stream's records of this CPU */
    uint64_t        fallback_first[STATE_UIDS];     /* start of the first of these in the buffer; UINT64_MAX = none */
    uint64_t        kernel_time;
    struct pending *pending, *pending_last; /* sorted by time */
};

struct logger {
    struct session    *s;
    struct etl_writer *writer;
    struct fill       *fill; /* [cpus + 1]: the last is for events that no CPU wrote (G4) */
    uint32_t           buffer_bytes, cpus;
    struct state_slot *master; /* to be published next; same layout as a slot */
    uint64_t           next_flush_ns;
    /* position up to which fallback records were taken into pending lists */
    uint64_t fallback_seen[STATE_UIDS];
    bool     failed;  /* no file: events are counted as lost */
    bool     opened;  /* the outputs are open */
    bool     single;  /* NO_PER_PROCESSOR_BUFFERING: the first buffer takes the events of all CPUs */
    bool     numbers; /* USE_LOCAL_SEQUENCE, USE_GLOBAL_SEQUENCE */
    /* to consumers; else real-time delivery, if any, belongs to the controlling thread */
    bool     delivers;
    uint64_t horizon;    /* of the last pass */
    uint64_t trimmed_ns; /* when users' memory was last trimmed */
    /* fallback records from this time on wait for the next pass; UINT64_MAX: none */
    uint64_t collected_to;
    bool     hurry;        /* half of the memory for events is used */
    uint32_t full;         /* buffers written since the last flush */
    uint64_t kernel_taken; /* kernel events taken so far */
    uint64_t retired_ns;   /* when all CPUs were last visited to get memory back */
    /* an enablement asked for users' SIDs or for times: event items are checked (G5) */
    bool      sids;
    uint64_t  corrupt_before, abandoned_before; /* by predecessors */
    uint8_t  *writers;      /* [cpus][STATE_UIDS]: users with records waiting on that CPU in this merge */
    uint32_t *writer_count; /* [cpus] */
    /* users of this pass; the controlling thread may add more meanwhile */
    unsigned              uids;
    struct stream_set    *streams[STATE_UIDS];
    uint32_t              uid[STATE_UIDS];
    unsigned              users_left;          /* s->users_left when memory was last looked for */
    bool                  silent;              /* BUFFERING: writers do not wake the logger for now */
    uint64_t              written, written_ns; /* bytes in the streams at the last pass, and when that was */
    uint64_t              places_ns;           /* when idle users were last looked for */
    struct provider_count providers;
};

enum { TOLD_HOLD_MS = 1000 };

/* The rows behind the published struct (wire/state.h). */
static inline uint64_t *slot_kernel(struct logger *l) { return (uint64_t *)(l->master + 1); }
static inline uint64_t *slot_last(struct logger *l) { return slot_kernel(l) + l->cpus; }
static inline uint64_t *slot_open(struct logger *l) { return slot_last(l) + l->cpus + 1; }
static inline uint64_t *slot_pos(struct logger *l, unsigned uid)
{
    return slot_open(l) + l->cpus + 1 + (size_t)uid * (2 * l->cpus + 1);
}
static inline uint64_t *slot_fallback(struct logger *l, unsigned uid) { return slot_pos(l, uid) + l->cpus; }

/* The buffer that takes a CPU's events, and the CPU number that the file gives it. */
static inline unsigned buffer_of(const struct logger *l, unsigned cpu) { return l->single && cpu < l->cpus ? 0 : cpu; }
static inline uint16_t buffer_cpu(const struct logger *l, unsigned buffer)
{
    return (uint16_t)(l->single ? buffer != 0 : buffer);
}

static inline bool data_waits(const struct fill *f) { return f->filled > sizeof(struct etl_buffer_header); }

/* ---- logger.c ---- */

/* Stops writing; the session gets the reason. Its programs go on. */
void logger_failed(struct logger *l, const struct reason *why);
/* Memory: gives each user its part, and updates the peak (also before files may be written). Under lock. Returns how
 * many chunks are left. */
uint32_t logger_share(struct logger *l);
/* A snapshot of all streams, and what they may show by it (G6). */
void logger_snapshot(struct logger *l);
void logger_totals(struct logger *l); /* publishes stream totals to other threads; under lock */

/* ---- logger_output.c: the file, the consumers, the positions for a successor ---- */

/* Opens the outputs when files may first exist: the file, real-time delivery, or both. */
void logger_open(struct logger *l);
/* Writes the buffer of `cpu` unless it is empty; `window`: all CPUs are being flushed, and this is the last. Its events
 * are written, or counted in lost_file; its memory is given back either way (G2, G3). */
void logger_count_providers(struct logger *l, struct fill *f);
void logger_write(struct logger *l, unsigned cpu, bool window);
void logger_flush(struct logger *l); /* all buffers */
/* Creates the file at `path` (APPEND: continues it), header on the disk; sets l->writer. */
wstatus logger_file_make(struct logger *l, const struct state_owner *owner, const char *path, struct reason *why);
void    logger_window(struct logger *l); /* BUFFERING, after a pass: updates the time from which the ring is complete */
/* publishes a new file and nothing else: a successor goes on with it */
void logger_publish_file(struct logger *l);
/* publishes the rest unchanged: the session has no file any more, or a user's place was given up */
void logger_publish_place(struct logger *l);
/* the session's file is complete, and another one follows: its counters are added up */
void logger_file_ended(struct logger *l);
void logger_deliver(struct logger *l, const char *path); /* starts delivery to consumers */
/* Ends delivery: buffers that no consumer has read are counted as lost. */
void logger_deliver_end(struct logger *l, void (*end)(struct realtime *r, uint32_t *buffers, uint64_t *events),
                        const char    *why_lost);
void logger_file_info(const struct session *s, const char *path, struct etl_file_info *out);
/* Refuses links below the log folder: its writers must not choose where root writes. 0 or a Status. */
wstatus  logger_links_refuse(const struct session_env *env, const char *path, struct reason *why);
uint64_t logger_events_lost(const struct logger *l); /* all losses, of any cause */
/* The session is over: counts what no consumer read, and writes the file's last header. */
void logger_complete(struct logger *l);

/* ---- log_files.c: errands, which the early program does not have ---- */

/* Change of a session's outputs (file, real-time delivery). e->file: its file from now on, or NULL. */
struct logger_change {
    uint32_t mode;    /* LogFileMode from then on */
    bool     deliver; /* to consumers; the session has its struct realtime already */
    bool     convert; /* its file ends, and no other follows */
};
wstatus logger_change(struct logger *l, struct logger_errand *e); /* e->more is a struct logger_change */

/* ---- places.c, which the early program does not have ---- */

/* At the end of a pass: when few places for users are left, frees those of users without programs whose events are all
 * in the file (S6). */
void logger_places(struct logger *l);

/* ---- logger_merge.c: from the sources into the buffers ---- */

/* Takes the records of the fallback streams, as of the snapshot, into the lists of their CPUs. A record that is
 * reserved and not yet published holds up no other: it comes late, with its time adjusted and counted. False: call
 * again, more is to come. */
bool logger_collect(struct logger *l, uint64_t now_ns);
/* All sources of all CPUs up to `horizon` (G1). */
void logger_merge(struct logger *l, uint64_t horizon);
/* For logger_modes.c. The time of the oldest record of `cpu` below the horizon; UINT64_MAX: none. And: takes that
 * record. */
uint64_t logger_oldest(struct logger *l, unsigned cpu, uint64_t horizon);
void     logger_take(struct logger *l, unsigned cpu, uint64_t horizon);
/* Puts a record that comes from no source into the buffer of `cpu`; it counts as an event. */
void logger_put(struct logger *l, unsigned cpu, const struct klog_record *r);
void logger_merge_last(struct logger *l, uint64_t horizon); /* everything, when nothing more comes */
void logger_merge_kernel(struct logger *l, uint64_t clock); /* as far as the kernel logger is, at most to `clock` */
void logger_merge_told(struct logger *l, bool final);       /* G4 */
/* Chunks were retired (stream_set_retire): skips their fillers, publishes, and gives the chunks back. All buffers are
 * empty. */
void logger_skip_retired(struct logger *l);
