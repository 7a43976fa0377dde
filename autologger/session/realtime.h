/* realtime.h - a real-time session's way out: its buffers go through a backup file (wire/backup.h) to consumers.
 * Invariants
 *   D1 a buffer is shown to consumers only after the session has published it (S2): a successor would write it again.
 *   D2 buffers are dropped only when there is no room for them; each is counted. A consumer that is too slow for others
 *      misses buffers rather than holding the others up.
 *   D3 what one consumer has acknowledged counts as delivered: it is in the state (a successor) and in the file's mark
 *      (a reboot), and is not given again to whoever comes when nobody is attached.
 *   D4 of a window that is not over all is shown but the newest buffer, which turns out to be the last when what
 *      follows it is dropped: who gets it must be told with it that the window is over.
 * The early program has no consumers and creates no files: it has no such part (session_env.realtime is NULL), and its
 * sessions hold their events until they are adopted.
 * Threads: create, destroy and the consumers' half on the controlling thread, the rest on the logger's; `lock` is
 * inside.
 * Not for: the socket (control), order over CPUs (consumer). */
#ifndef AUTOLOGGER_SESSION_REALTIME_H
#define AUTOLOGGER_SESSION_REALTIME_H
#include "autologger/etl/writer.h"
#include "autologger/wire/control.h"

struct realtime;
struct session;

enum { REALTIME_FILES = 5 }; /* of one session at most: those of former boots, and the current one */

struct realtime_part {
    wstatus (*create)(struct session *s, struct realtime **out, struct reason *why);
    void (*destroy)(struct realtime *r); /* NULL is fine */
    /* -- the logger's half -- */
    /* Files may exist now: finds those of former boots, or a predecessor's. *next: the number of the next buffer. */
    void (*open)(struct realtime *r, const struct etl_file_info *info, uint64_t *next);
    /* The system's date was set: consumers that come later get these dates of the session's start and of the boot. */
    void (*date)(struct realtime *r, uint64_t start_time, uint64_t boot_time);
    /* Keeps buffer `number`; `window`: all CPUs were flushed, this is the last of them. W_LOG_FILE_FULL: no room, it is
     * dropped. */
    wstatus (*put)(struct realtime *r, uint8_t *buffer, uint32_t filled, uint16_t cpu, int64_t time, uint64_t number,
                   bool window, struct reason *why);
    /* Buffers below `end` were published; what was lost so far. */
    void (*show)(struct realtime *r, uint64_t end, uint32_t buffers_lost, uint64_t events_lost);
    /* A flush is over: so is its window, whatever was dropped of it. Files that nobody needs any more go. */
    void (*tidy)(struct realtime *r);
    /* So much waits for the end of its window that it should come now. */
    bool (*tight)(struct realtime *r, uint64_t number);
    /* The session has ended and everything was shown. What can't be kept goes: its buffers, and the events in them that
     * are in no log file. */
    void (*finish)(struct realtime *r, uint32_t *buffers, uint64_t *events);
    /* Real time is switched off, everything was shown: as `finish`, but that nothing is kept. */
    void (*drop)(struct realtime *r, uint32_t *buffers, uint64_t *events);
    /* -- the consumers' half; `id` is a connection's -- */
    /* It gets what none has acknowledged, then what comes. W_NO_SYSTEM_RESOURCES: 8 consumers are attached;
     * W_WMI_INSTANCE_NOT_FOUND: not a real-time session. */
    wstatus (*attach)(struct session *s, uint32_t id, struct ctl_consume_answer *answer);
    /* *wait: there is no such buffer yet. The answer, with at most `room` bytes behind it. */
    wstatus (*next)(struct session *s, uint32_t id, const struct ctl_consume_request *request,
                    struct ctl_consume_answer *answer, size_t room, bool *wait);
    void (*gone)(struct session *s, uint32_t id);
    /* The session has ended: what a consumer gets in the end. Descriptors are the caller's. `marks`: it may move the
     * files' marks on; else it can change nothing in them, and what it reads is for the next boot too. */
    void (*farewell)(struct session *s, uint32_t id, bool marks, struct ctl_consume_answer *answer,
                     int fds[REALTIME_FILES], unsigned *count);
    /* After the last farewell. `keep`: consumers move the files' marks on, and what they don't read is for the next
     * boot. */
    void (*leave)(struct session *s, bool keep);
    /* Adopted without real time, which a predecessor had switched off and died: the files go, whoever reads them; who
     * asks is told W_WMI_INSTANCE_NOT_FOUND. */
    void (*forget)(struct session *s);
};

/* The only one there is. */
extern const struct realtime_part realtime_delivery;

/* The session that connection `id` consumes? */
bool realtime_attached(const struct session *s, uint32_t id);
#endif
