/* realtime_private.h - shared by realtime.c (the files, the logger's half) and realtime_consumers.c (the consumers'
 * half) only.
 * Threads: functions here are called under `lock`. */
#ifndef AUTOLOGGER_SESSION_REALTIME_PRIVATE_H
#define AUTOLOGGER_SESSION_REALTIME_PRIVATE_H
#include "autologger/session/backup.h"
#include "autologger/session/realtime.h"
#include "autologger/session/session.h"

enum { PATH_SIZE = 2048, FORMER = STATE_FORMER };
_Static_assert(REALTIME_FILES == FORMER + 1, "the files of a session");

struct realtime {
    struct session        *s;
    struct state_realtime *state;
    pthread_mutex_t        lock;
    struct backup          current, former[FORMER]; /* current.end is unused: see `end` */
    char                   path[PATH_SIZE];         /* of the current file, without ".etl" */
    uint8_t               *header;
    uint32_t               buffer_size, slots;
    uint64_t               cap;    /* bytes of all waiting buffers */
    uint64_t               end;    /* D1 */
    uint64_t               window; /* buffers below belong to complete windows; for the logger alone */
    uint64_t               shown;  /* D4 */
    /* a flush ended before this buffer: the buffer before it ends a window, whatever its own flag says */
    uint64_t ends;
    uint32_t lost; /* as published */
    uint64_t events_lost;
    bool     opened;
};

static inline struct os *os_of(const struct realtime *r) { return r->s->env->os; }

/* ---- realtime.c ---- */

unsigned realtime_consumers(const struct realtime *r); /* number of consumers */
/* A consumer will not get [from, to). False: it already had or missed all of these. */
bool realtime_missed(struct realtime *r, struct state_consumer *c, uint64_t from, uint64_t to);
/* Deletes a file: of a former boot, or the current one. */
void realtime_former_drop(struct realtime *r, unsigned i);
void realtime_current_drop(struct realtime *r);

/* ---- realtime_consumers.c: as in struct realtime_part; these take the lock themselves ---- */

wstatus realtime_attach(struct session *s, uint32_t id, struct ctl_consume_answer *answer);
wstatus realtime_next(struct session *s, uint32_t id, const struct ctl_consume_request *q, struct ctl_consume_answer *a,
                      size_t room, bool *wait);
void    realtime_gone(struct session *s, uint32_t id);
void    realtime_farewell(struct session *s, uint32_t id, bool marks, struct ctl_consume_answer *a,
                          int fds[REALTIME_FILES], unsigned *count);
void    realtime_leave(struct session *s, bool keep);
void    realtime_forget(struct session *s);
#endif
