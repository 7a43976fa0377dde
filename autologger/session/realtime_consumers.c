/* realtime_consumers.c - a real-time session's consumers: what each is given, has acknowledged and has missed, and what
 * it gets when the session ends. See realtime.h.
 * Invariants: D2 and D3 of realtime.h.
 * Threads: the controlling thread, under the lock of struct realtime.
 * Not for: how buffers come into the files (realtime.c). */
#include "autologger/session/realtime_private.h"

#include <fcntl.h>
#include <stdio.h>

bool realtime_attached(const struct session *s, uint32_t id)
{
    for (unsigned i = 0; i < STATE_CONSUMERS; i++)
        if (s->state->realtime.consumer[i].in_use && s->state->realtime.consumer[i].id == id)
            return true;
    return false;
}

static struct state_consumer *consumer_find(struct realtime *r, uint32_t id)
{
    for (unsigned i = 0; i < STATE_CONSUMERS; i++)
        if (r->state->consumer[i].in_use && r->state->consumer[i].id == id)
            return &r->state->consumer[i];
    return NULL;
}

static void losses_tell(struct realtime *r, struct state_consumer *c, struct ctl_consume_answer *answer)
{
    c->told.events       = r->events_lost;
    c->told.buffers      = r->lost; /* its own misses do not count for the next consumer */
    c->told.files        = r->state->files_lost;
    answer->events_lost  = c->told.events;
    answer->buffers_lost = (uint32_t)(c->told.buffers + c->missed);
    answer->files_lost   = (uint32_t)c->told.files;
}

wstatus realtime_attach(struct session *s, uint32_t id, struct ctl_consume_answer *answer)
{
    struct realtime       *r = s->realtime;
    struct state_consumer *c = NULL;

    if (!r)
        return W_WMI_INSTANCE_NOT_FOUND;
    pthread_mutex_lock(&r->lock);
    for (unsigned i = 0; i < STATE_CONSUMERS && !c; i++)
        if (!r->state->consumer[i].in_use)
            c = &r->state->consumer[i];
    if (c) {
        *c      = (struct state_consumer){.id = id, .next = r->state->delivered, .holes = r->state->delivered};
        c->told = (__typeof__(c->told)){r->state->told.events, r->state->told.buffers, r->state->told.files};
        answer->events_lost  = r->state->told.events;
        answer->buffers_lost = (uint32_t)r->state->told.buffers;
        answer->files_lost   = (uint32_t)r->state->told.files;
        answer->sequence     = c->next;
        __atomic_store_n(&c->in_use, 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&r->lock);
    if (c)
        session_flush_soon(s); /* it gets all events so far, whatever FlushTimer says */
    return c ? W_SUCCESS : W_NO_SYSTEM_RESOURCES;
}

static void marks_write(struct realtime *r, uint64_t from, uint64_t to)
{
    for (unsigned i = 0; i < FORMER; i++)
        if (r->former[i].fd >= 0 && from < r->former[i].end && to > r->former[i].first)
            backup_mark_write(os_of(r), &r->former[i], to < r->former[i].end ? to : r->former[i].end);
    if (r->current.fd >= 0 && to > r->current.first)
        backup_mark_write(os_of(r), &r->current, to);
}

static void realtime_consumers_acknowledge(struct realtime *r, struct state_consumer *c, uint64_t done)
{
    if (done > r->end)
        done = r->end;
    if (done > c->next)
        c->next = done;
    if (done <= r->state->delivered)
        return;
    uint64_t before       = r->state->delivered;
    r->state->delivered   = done;
    r->state->told.events = c->told.events, r->state->told.files = c->told.files,
    r->state->told.buffers = c->told.buffers;
    marks_write(r, before, done);
}

static struct backup *realtime_consumers_file_of(struct realtime *r, uint64_t number)
{
    for (unsigned i = 0; i < FORMER; i++)
        if (r->former[i].fd >= 0 && number >= r->former[i].first && number < r->former[i].end)
            return &r->former[i];
    return r->current.fd >= 0 && number >= r->current.first && number < r->end ? &r->current : NULL;
}

/* The first buffer of the next file after `number`, which is in no file. */
static uint64_t file_after(const struct realtime *r, uint64_t number)
{
    uint64_t next = r->end;
    for (unsigned i = 0; i < REALTIME_FILES; i++) {
        const struct backup *b = i < FORMER ? &r->former[i] : &r->current;
        if (b->fd >= 0 && b->first > number && b->first < next)
            next = b->first;
    }
    return next;
}

/* Buffer `number` can't be read: its file is damaged or was cut short. Counts it once for each consumer, and the file
 * once for all. */
static void hole_count(struct realtime *r, struct state_consumer *c, struct backup *b, uint64_t number)
{
    if (realtime_missed(r, c, number, number + 1) && !b->damaged) {
        b->damaged = true;
        r->state->files_lost++;
    }
}

/* The first existing buffer from *number on. NULL: none yet. */
static struct backup *find_from(struct realtime *r, struct state_consumer *c, uint64_t *number,
                                struct etl_buffer_header *head)
{
    while (*number < r->shown) {
        struct backup *b = realtime_consumers_file_of(r, *number);
        if (b && backup_head(os_of(r), b, *number, head))
            return b;
        if (b) {
            hole_count(r, c, b, (*number)++);
            continue;
        }
        const uint64_t next = file_after(r, *number);
        realtime_missed(r, c, *number, next); /* their file was counted when it was given up */
        *number = next;
    }
    return NULL;
}

static wstatus header_answer(struct realtime *r, uint64_t first, struct ctl_consume_answer *a, size_t room)
{
    struct backup           *b = realtime_consumers_file_of(r, first);
    struct etl_buffer_header h;

    if (!b)
        return W_FILE_NOT_FOUND;
    if (os_of(r)->pread(os_of(r), b->fd, &h, sizeof h, 0) != sizeof h || h.saved_offset > room)
        return W_INVALID_DATA;
    a->file = b->first;
    a->size = a->bytes = h.saved_offset;
    return os_of(r)->pread(os_of(r), b->fd, a + 1, a->bytes, 0) == (ssize_t)a->bytes ? W_SUCCESS : W_INVALID_DATA;
}

/* Reads a part of buffer `number` to behind the answer. */
static bool realtime_consumers_part_read(const struct realtime *r, const struct backup *b, uint64_t number,
                                         struct ctl_consume_answer *a)
{
    const uint64_t at = backup_slot_at(b->first, b->slots, b->buffer_size, number) + a->offset;
    for (int i = 0; i < 2; i++) /* a read may fail once */
        if (os_of(r)->pread(os_of(r), b->fd, a + 1, a->bytes, at) == (ssize_t)a->bytes)
            return true;
    return false;
}

static bool buffer_answer(struct realtime *r, struct state_consumer *c, const struct ctl_consume_request *q,
                          struct ctl_consume_answer *a, size_t room)
{
    struct etl_buffer_header h;
    struct backup           *b;

    for (uint64_t number = q->wanted > c->next ? q->wanted : c->next; r->opened && (b = find_from(r, c, &number, &h));
         number++) {
        a->sequence = number;
        a->file     = b->first;
        a->size     = h.saved_offset;
        a->offset   = number == q->wanted && q->offset < a->size ? q->offset : 0;
        a->bytes    = a->size - a->offset < room ? a->size - a->offset : (uint32_t)room;
        a->flags =
            h.flag & ETL_BUFFER_FLUSH_MARKER || number + 1 == r->ends || (b != &r->current && number + 1 == b->end)
                ? CTL_CONSUME_WINDOW
                : 0;
        if (realtime_consumers_part_read(r, b, number, a)) {
            if (a->offset + a->bytes == a->size && c->holes <= number)
                c->holes = number + 1; /* the consumer has had it */
            return true;
        }
        hole_count(r, c, b, number); /* else all later buffers would wait for ever */
    }
    return false;
}

wstatus realtime_next(struct session *s, uint32_t id, const struct ctl_consume_request *q, struct ctl_consume_answer *a,
                      size_t room, bool *wait)
{
    struct realtime *r  = s->realtime;
    wstatus          st = W_SUCCESS;

    *wait = false;
    if (!r)
        return W_WMI_INSTANCE_NOT_FOUND;
    pthread_mutex_lock(&r->lock);
    struct state_consumer *c = consumer_find(r, id);
    if (!c) {
        st = W_WMI_INSTANCE_NOT_FOUND;
    } else {
        realtime_consumers_acknowledge(r, c, q->done);
        if (q->what == CTL_CONSUME_HEADER)
            st = header_answer(r, q->wanted, a, room);
        else if (q->what == CTL_CONSUME_BUFFER)
            *wait = !buffer_answer(r, c, q, a, room);
        if (!st && !*wait)
            losses_tell(r, c, a);
    }
    pthread_mutex_unlock(&r->lock);
    return st;
}

void realtime_gone(struct session *s, uint32_t id)
{
    struct realtime *r = s->realtime;
    if (!r)
        return;
    pthread_mutex_lock(&r->lock);
    struct state_consumer *c = consumer_find(r, id);
    if (c)
        c->in_use = 0;
    pthread_mutex_unlock(&r->lock);
}

/* A consumer that may not move the marks gets a read-only descriptor: the next boot reads the file too. */
static int file_share(const struct backup *b, bool marks)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", b->fd);
    return marks ? fcntl(b->fd, F_DUPFD_CLOEXEC, 0) : open(path, O_RDONLY | O_CLOEXEC);
}

void realtime_farewell(struct session *s, uint32_t id, bool marks, struct ctl_consume_answer *a,
                       int fds[REALTIME_FILES], unsigned *count)
{
    struct realtime *r = s->realtime;

    *count = 0;
    if (!r)
        return;
    pthread_mutex_lock(&r->lock);
    struct state_consumer *c = consumer_find(r, id);
    a->flags                 = CTL_CONSUME_ENDED;
    a->sequence              = r->end;
    if (c)
        losses_tell(r, c, a);
    for (uint64_t at = 0; c && *count < REALTIME_FILES;) { /* in the order of their buffers */
        const struct backup *next = NULL;
        for (unsigned i = 0; i < REALTIME_FILES; i++) {
            const struct backup *b = i < FORMER ? &r->former[i] : &r->current;
            if (b->fd >= 0 && b->first >= at && (!next || b->first < next->first))
                next = b;
        }
        int fd = next ? file_share(next, marks) : -1;
        if (fd < 0)
            break;
        fds[(*count)++] = fd;
        at              = next->first + 1;
    }
    pthread_mutex_unlock(&r->lock);
}

void realtime_leave(struct session *s, bool keep)
{
    struct realtime *r = s->realtime;
    if (!r)
        return;
    pthread_mutex_lock(&r->lock);
    if (realtime_consumers(r) && !(keep && r->state->persistent)) {
        for (unsigned i = 0; i < FORMER; i++)
            if (r->former[i].fd >= 0)
                realtime_former_drop(r, i);
        if (r->current.fd >= 0)
            realtime_current_drop(r);
    }
    for (unsigned i = 0; i < STATE_CONSUMERS; i++)
        r->state->consumer[i].in_use = 0;
    pthread_mutex_unlock(&r->lock);
}

void realtime_forget(struct session *s)
{
    struct realtime *r = s->realtime;
    pthread_mutex_lock(&r->lock);
    for (unsigned i = 0; i < FORMER; i++)
        if (r->state->former[i].in_use)
            realtime_former_drop(r, i);
    if (r->state->current.in_use)
        realtime_current_drop(r);
    for (unsigned i = 0; i < STATE_CONSUMERS; i++)
        r->state->consumer[i].in_use = 0;
    /* as session_realtime_end */
    r->state->delivered = state_slot_word(session_slot(s->state), offsetof(struct state_slot, realtime_end) / 8);
    pthread_mutex_unlock(&r->lock);
}
