/* realtime.h - a real-time session's delivery: its buffers go through a backup file (wire/backup.h) to consumers.
 * Invariants
 *   D1 a buffer is shown to consumers only after the session has published it (S2): a successor would write it again.
 *   D2 buffers are dropped only when there is no room for them; each is counted. A consumer that is slower than others
 *      misses buffers rather than holding the others up.
 *   D3 a buffer that one consumer has acknowledged counts as delivered: this is in the state (for a successor) and in
 *      the file's mark (for a reboot). A consumer that attaches when no other is attached does not get it again.
 *   D4 of an unfinished window all buffers but the newest are shown. The newest turns out to be the last when what
 *      follows it is dropped; its consumer must then learn with it that the window is over.
 * The early program has no consumers and creates no files: session_env.realtime is NULL, and its sessions hold their
 * events until they are adopted.
 * Threads: create, destroy and the consumers' half on the controlling thread, the rest on the logger's; `lock` is
 * inside.
 * Not for: the socket (control), order over CPUs (consumer). */
#ifndef AUTOLOGGER_SESSION_REALTIME_H
#define AUTOLOGGER_SESSION_REALTIME_H
#include "autologger/etl/writer.h"
#include "autologger/wire/control.h"

struct realtime;
struct session;

enum { REALTIME_FILES = 5 }; /* of a session at most: those of former boots, and the current one */

struct realtime_part {
    wstatus (*create)(struct session *s, struct realtime **out, struct reason *why);
    void (*destroy)(struct realtime *r); /* NULL is fine */
    /* -- the logger's half -- */
    /* Files may exist now: opens those of former boots, or a predecessor's. *next: the number of the next buffer. */
    void (*open)(struct realtime *r, const struct etl_file_info *info, uint64_t *next);
    /* The system's date was set: new dates of the session's start and of the boot, for later consumers. */
    void (*date)(struct realtime *r, uint64_t start_time, uint64_t boot_time);
    /* Keeps buffer `number`; `window`: all CPUs were flushed, this is the last of them. W_LOG_FILE_FULL: no room, the
     * buffer is dropped. */
    wstatus (*put)(struct realtime *r, uint8_t *buffer, uint32_t filled, uint16_t cpu, int64_t time, uint64_t number,
                   bool window, struct reason *why);
    /* Buffers below `end` were published; with the losses so far. */
    void (*show)(struct realtime *r, uint64_t end, uint32_t buffers_lost, uint64_t events_lost);
    /* A flush is over, and with it the window, even if its buffers were dropped. Deletes files that are no longer
     * needed. */
    void (*tidy)(struct realtime *r);
    /* True: so many buffers wait for the end of the window that it should end now. */
    bool (*tight)(struct realtime *r, uint64_t number);
    /* The session has ended and everything was shown. Gives up what cannot be kept: *buffers, and *events, those of
     * them that are in no log file. */
    void (*finish)(struct realtime *r, uint32_t *buffers, uint64_t *events);
    /* Real time is switched off, everything was shown: as `finish`, but nothing is kept. */
    void (*drop)(struct realtime *r, uint32_t *buffers, uint64_t *events);
    /* -- the consumers' half; `id` identifies a connection -- */
    /* The consumer gets all buffers that none has acknowledged, then new ones. W_NO_SYSTEM_RESOURCES: 8 consumers are
     * attached; W_WMI_INSTANCE_NOT_FOUND: not a real-time session. */
    wstatus (*attach)(struct session *s, uint32_t id, struct ctl_consume_answer *answer);
    /* *wait: the buffer does not exist yet. Else the answer, followed by at most `room` bytes. */
    wstatus (*next)(struct session *s, uint32_t id, const struct ctl_consume_request *request,
                    struct ctl_consume_answer *answer, size_t room, bool *wait);
    void (*gone)(struct session *s, uint32_t id);
    /* The session has ended: the last answer to a consumer. The caller owns the descriptors. `marks`: the consumer may
     * move the files' marks on; else it cannot change them, and the next boot gets what it reads too. */
    void (*farewell)(struct session *s, uint32_t id, bool marks, struct ctl_consume_answer *answer,
                     int fds[REALTIME_FILES], unsigned *count);
    /* After the last farewell. `keep`: consumers move the files' marks on; the next boot gets what they don't read. */
    void (*leave)(struct session *s, bool keep);
    /* Adopted without real time: a predecessor switched it off and died. Deletes the files, even if consumers read
     * them; a later request gets W_WMI_INSTANCE_NOT_FOUND. */
    void (*forget)(struct session *s);
};

/* The only implementation. */
extern const struct realtime_part realtime_delivery;

/* The session that connection `id` consumes? */
bool realtime_attached(const struct session *s, uint32_t id);
#endif
