#include "autologger/consumer/live.h"

#include "autologger/control/client.h"
#include "autologger/wire/backup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

const struct guid live_lost_class = {0x6a399ae0, 0x4bc6, 0x4de9, {0x87, 0x0b, 0x36, 0x57, 0xf8, 0x94, 0x7e, 0x7e}};

enum { BUFFER_HEAD = sizeof(struct etl_buffer_header), MOST = 16 << 20, HEADER_ROOM = 128 << 10, GONE_MOST = 100 };

/* A backup file that was handed over when the session ended. */
struct rest {
    int                fd;
    struct backup_mark mark;
};

struct live {
    struct control_client *control;
    char                   session[CTL_NAME];
    int                    stop_fd;
    /* buffer to ask for; all below are processed once the window is; goes back when no window is given */
    uint64_t           next;
    uint64_t           header_file;
    uint8_t           *header;
    uint32_t           header_size; /* 0: none yet */
    uint32_t           buffer_size;
    uint8_t           *window;
    size_t             size, capacity;
    unsigned           buffers;
    int64_t            last_stamp;
    struct etl_reader *reader;
    struct live_losses losses, told;
    bool               ended;
    struct rest        rest[CONTROL_FDS];
    unsigned           rest_count;
    uint64_t           end;
};

wstatus live_open(const char *runtime_dir, const char *session, struct live **out, struct reason *why)
{
    struct live              *l = calloc(1, sizeof *l);
    struct ctl_consume_answer a;
    wstatus                   st;

    if (!l)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for a consumer");
    l->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    l->header  = malloc(HEADER_ROOM);
    if (l->stop_fd < 0 || !l->header)
        st = reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for a consumer");
    else if ((st = control_open(runtime_dir, &l->control, why)) == W_SUCCESS &&
             (st = control_consume(l->control, session, &a, why)) == W_SUCCESS) {
        control_cancel_by(l->control, l->stop_fd);
        snprintf(l->session, sizeof l->session, "%s", session);
        l->next   = a.sequence;
        l->losses = l->told = (struct live_losses){a.events_lost, a.buffers_lost, a.files_lost};
        *out                = l;
        return W_SUCCESS;
    }
    live_close(l, false);
    return st;
}

/* ---- the parts of a window ---- */

static uint8_t *window_grow(struct live *l, size_t bytes)
{
    if (l->size + bytes > l->capacity) {
        size_t   capacity = 2 * (l->size + bytes);
        uint8_t *more     = realloc(l->window, capacity);
        if (!more)
            return NULL;
        l->window   = more;
        l->capacity = capacity;
    }
    l->size += bytes;
    return l->window + l->size - bytes;
}

/* Fills the unused part of a buffer, behind `used` bytes: the reader wants all buffers of a file to have one size. */
static bool pad(struct live *l, size_t used)
{
    size_t   bytes = l->buffer_size - used;
    uint8_t *at    = window_grow(l, bytes);
    if (at)
        memset(at, 0xFF, bytes);
    return at != NULL;
}

static wstatus window_begin(struct live *l, struct reason *why)
{
    uint8_t *at = window_grow(l, l->header_size);
    if (!at || (memcpy(at, l->header, l->header_size), !pad(l, l->header_size)))
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the events");
    return W_SUCCESS;
}

static wstatus header_check(struct live *l, struct reason *why)
{
    if (l->header_size >= BUFFER_HEAD)
        memcpy(&l->buffer_size, l->header, sizeof l->buffer_size);
    if (l->header_size < BUFFER_HEAD || l->buffer_size < l->header_size || l->buffer_size > MOST)
        return reason_set(why, W_INVALID_DATA, "the session's header says buffers of %u bytes", l->buffer_size);
    return W_SUCCESS;
}

/* A buffer is complete at the window's end: `size` bytes, from `from` on. */
static wstatus buffer_done(struct live *l, size_t from, uint32_t size, struct reason *why)
{
    struct etl_buffer_header h;
    memcpy(&h, l->window + from, sizeof h);
    if (h.buffer_size != l->buffer_size || size > l->buffer_size)
        return reason_set(why, W_INVALID_DATA, "a buffer has %u bytes, the others %u", h.buffer_size, l->buffer_size);
    if (h.time_stamp > l->last_stamp)
        l->last_stamp = h.time_stamp;
    l->buffers++;
    return pad(l, size) ? W_SUCCESS : reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the events");
}

static void losses_hear(struct live *l, const struct ctl_consume_answer *a)
{
    l->losses = (struct live_losses){a->events_lost, a->buffers_lost, a->files_lost};
}

/* Adds losses as events, in a buffer of their own behind the last. */
static wstatus losses_append(struct live *l, struct reason *why)
{
    const struct {
        bool    heard;
        uint8_t type;
    } kinds[] = {{l->losses.events > l->told.events, LIVE_LOST_EVENT},
                 {l->losses.buffers > l->told.buffers, LIVE_LOST_BUFFER},
                 {l->losses.files > l->told.files, LIVE_LOST_FILE}};
    uint8_t  bytes[BUFFER_HEAD + 3 * sizeof(struct etl_full_header)];
    uint32_t size = BUFFER_HEAD;

    for (unsigned i = 0; i < 3; i++) {
        struct etl_full_header e = {.size        = sizeof e,
                                    .header_type = ETL_FULL64,
                                    .marker      = ETL_MARKER,
                                    .type        = kinds[i].type,
                                    .time        = l->last_stamp,
                                    .guid        = live_lost_class};
        if (kinds[i].heard) {
            memcpy(bytes + size, &e, sizeof e);
            size += (uint32_t)sizeof e;
        }
    }
    l->told = l->losses;
    if (size == BUFFER_HEAD)
        return W_SUCCESS;
    struct etl_buffer_header h = {.buffer_size     = l->buffer_size,
                                  .saved_offset    = size,
                                  .current_offset  = size,
                                  .offset          = size,
                                  .time_stamp      = l->last_stamp,
                                  .sequence_number = INT64_MAX,
                                  .state           = ETL_BUFFER_STATE_FLUSH,
                                  .flag            = ETL_BUFFER_PROC_INDEX,
                                  .type            = ETL_BUFFER_TYPE_GENERIC};
    memcpy(bytes, &h, sizeof h);
    uint8_t *at = window_grow(l, size);
    if (!at || (memcpy(at, bytes, size), !pad(l, size)))
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the events");
    return W_SUCCESS;
}

/* ---- from the daemon ---- */

/* The daemon reports the end of a session, or of its real time, to readers at their next request. A daemon that dies
 * before that request reports nothing, and its successor knows no readers. The session itself then shows the reason.
 * The end of the daemon has its own message. */
static wstatus explain_forgotten(struct live *l, struct reason *why)
{
    struct ctl_state_answer state;
    struct ctl_session_info s;
    if (control_state(l->control, &state, NULL))
        return W_WMI_INSTANCE_NOT_FOUND;
    if (control_query(l->control, l->session, &s, NULL))
        return reason_set(
            why, W_WMI_INSTANCE_NOT_FOUND,
            "session \"%s\" has ended, and the daemon was replaced before this reader had fetched the rest of its "
            "events. Do: look for them in the session's file, if it had one",
            l->session);
    if (s.log_file_mode & ETL_MODE_REAL_TIME)
        return reason_set(
            why, W_WMI_INSTANCE_NOT_FOUND,
            "real time of session \"%s\" was switched off and on again, and the daemon was replaced before this "
            "reader had fetched the rest. Do: begin to read again: autologger watch \"%s\"",
            l->session, l->session);
    return reason_set(
        why, W_WMI_INSTANCE_NOT_FOUND,
        "real time of session \"%s\" was switched off, and the daemon was replaced before this reader had fetched "
        "the rest, which is in the session's file (%s). Do: autologger update \"%s\" --real-time on, then read again",
        l->session, s.log_path, l->session);
}

static wstatus live_ask(struct live *l, struct ctl_consume_request *q, const struct ctl_consume_answer **a,
                        struct reason *why)
{
    int      fds[CONTROL_FDS];
    unsigned count = 0;
    wstatus  st    = control_consume_next(l->control, q, a, fds, &count, why);

    if (st == W_WMI_INSTANCE_NOT_FOUND)
        return explain_forgotten(l, why);
    if (st || !((*a)->flags & CTL_CONSUME_ENDED)) {
        for (unsigned i = 0; !st && i < count; i++)
            close(fds[i]);
        return st;
    }
    l->ended = true;
    l->end   = (*a)->sequence;
    for (unsigned i = 0; i < count; i++) {
        struct rest *r = &l->rest[l->rest_count];
        uint32_t     size;
        r->fd = fds[i];
        if (pread(r->fd, &size, sizeof size, 0) == sizeof size && size >= 1024 && size <= MOST &&
            pread(r->fd, &r->mark, sizeof r->mark, (off_t)backup_mark_at(size)) == sizeof r->mark &&
            backup_mark_sound(&r->mark))
            l->rest_count++;
        else
            close(r->fd);
    }
    return W_SUCCESS;
}

static wstatus header_get(struct live *l, uint64_t done, uint64_t number, struct reason *why)
{
    struct ctl_consume_request       q = {.done = done, .wanted = number, .what = CTL_CONSUME_HEADER};
    const struct ctl_consume_answer *a;
    wstatus                          st = live_ask(l, &q, &a, why);

    if (st || l->ended)
        return st;
    if (a->bytes != a->size || a->size > HEADER_ROOM || a->size < BUFFER_HEAD)
        return reason_set(why, W_INVALID_DATA, "the daemon sent a header of %u bytes", a->size);
    memcpy(l->header, a + 1, a->bytes);
    l->header_size = a->size;
    l->header_file = a->file;
    return header_check(l, why);
}

/* The system's date may have been set since the header was fetched: then the session's header has another line from its
 * clock to dates, which dates the events of this window. It costs a message per window. Without an answer the dates
 * stay as they were. */
static void header_renew(struct live *l, uint64_t done)
{
    const struct ctl_consume_answer *a;
    struct ctl_consume_request       q = {.done = done, .wanted = l->next - 1, .what = CTL_CONSUME_HEADER};
    if (live_ask(l, &q, &a, NULL) || l->ended || a->file != l->header_file || a->size != l->header_size ||
        a->bytes != a->size)
        return;
    struct etl_buffer_header h;
    memcpy(&h, a + 1, sizeof h);
    if (h.buffer_size != l->buffer_size)
        return;
    memcpy(l->header, a + 1, a->bytes);
    memcpy(l->window, a + 1, a->bytes);
}

enum got { GOT_BUFFER, GOT_WINDOW, GOT_OTHER_FILE, GOT_END };

/* Fetches the next buffer, part by part. It is in the window only with GOT_BUFFER or GOT_WINDOW. */
static wstatus buffer_get(struct live *l, uint64_t done, enum got *got, struct reason *why)
{
    struct ctl_consume_request       q    = {.done = done, .wanted = l->next, .what = CTL_CONSUME_BUFFER};
    const struct ctl_consume_answer *a    = NULL;
    size_t                           from = l->size;
    unsigned                         gone = 0;

    for (;;) {
        q.offset   = (uint32_t)(l->size - from);
        wstatus st = live_ask(l, &q, &a, why);
        if (st)
            return st;
        losses_hear(l, a);
        if (l->ended || !l->header_size || a->file != l->header_file || (a->sequence != q.wanted && q.offset)) {
            l->size = from; /* the buffer begins again, or another one does */
            if (l->ended || (l->header_size && a->file != l->header_file && l->buffers)) {
                *got = l->ended ? GOT_END : GOT_OTHER_FILE;
                return W_SUCCESS;
            }
            if ((!l->header_size || a->file != l->header_file) && (st = header_get(l, done, a->sequence, why))) {
                if (st != W_FILE_NOT_FOUND || ++gone > GONE_MOST)
                    return st;
                continue; /* we were too slow: it is gone, to make room for newer ones */
            }
            if (l->ended) {
                *got = GOT_END;
                return W_SUCCESS;
            }
            if (!l->buffers) {
                l->size = 0;
                if ((st = window_begin(l, why)))
                    return st;
                from = l->size;
            }
            continue;
        }
        if (a->offset != q.offset || !a->bytes || a->size < BUFFER_HEAD || a->size > MOST)
            return reason_set(why, W_INVALID_DATA, "the daemon sent byte %u of a buffer where %u was asked for",
                              a->offset, q.offset);
        q.wanted    = a->sequence;
        uint8_t *at = window_grow(l, a->bytes);
        if (!at)
            return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the events");
        memcpy(at, a + 1, a->bytes);
        if (l->size - from < a->size)
            continue;
        l->next = a->sequence + 1;
        *got    = a->flags & CTL_CONSUME_WINDOW ? GOT_WINDOW : GOT_BUFFER;
        return buffer_done(l, from, a->size, why);
    }
}

/* ---- from the files that the session left ---- */

static const struct rest *rest_of(const struct live *l, uint64_t number)
{
    for (unsigned i = 0; i < l->rest_count; i++)
        if (number >= l->rest[i].mark.first && (i + 1 == l->rest_count || number < l->rest[i + 1].mark.first))
            return &l->rest[i];
    return NULL;
}

static bool rest_header(struct live *l, const struct rest *r)
{
    struct etl_buffer_header h;
    struct reason            why;
    if (pread(r->fd, &h, sizeof h, 0) != sizeof h || h.saved_offset < sizeof h || h.saved_offset > HEADER_ROOM ||
        pread(r->fd, l->header, h.saved_offset, 0) != (ssize_t)h.saved_offset)
        return false;
    l->header_size = h.saved_offset;
    l->header_file = r->mark.first;
    return header_check(l, &why) == W_SUCCESS;
}

/* Reads the rest, up to the end of a window. */
static wstatus rest_get(struct live *l, struct reason *why)
{
    for (bool window = false; l->next < l->end && !window; l->next++) {
        const struct rest       *r = rest_of(l, l->next);
        struct etl_buffer_header h;
        if (r && l->buffers && r->mark.first != l->header_file)
            return W_SUCCESS;
        off_t where = r ? (off_t)backup_slot_at(r->mark.first, r->mark.slots, r->mark.buffer_size, l->next) : 0;
        bool  sound = r && pread(r->fd, &h, sizeof h, where) == sizeof h && (uint64_t)h.sequence_number == l->next &&
                     h.saved_offset >= sizeof h && h.saved_offset <= r->mark.buffer_size;
        if (!sound || ((!l->header_size || r->mark.first != l->header_file) && !rest_header(l, r))) {
            l->losses.buffers++; /* it can't be read */
            continue;
        }
        if (!l->buffers) {
            l->size    = 0;
            wstatus st = window_begin(l, why);
            if (st)
                return st;
        }
        uint8_t *at = window_grow(l, h.saved_offset);
        if (!at)
            return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the events");
        if (pread(r->fd, at, h.saved_offset, where) != (ssize_t)h.saved_offset) {
            l->size -= h.saved_offset;
            l->losses.buffers++;
            continue;
        }
        wstatus st = buffer_done(l, (size_t)(at - l->window), h.saved_offset, why);
        if (st)
            return st;
        window = h.flag & ETL_BUFFER_FLUSH_MARKER;
    }
    return W_SUCCESS;
}

/* No daemon takes an acknowledgement: moves the files' marks, so that the next boot does not deliver these events
 * again. */
static void rest_acknowledge(struct live *l)
{
    for (unsigned i = 0; i < l->rest_count; i++) {
        struct backup_mark *m = &l->rest[i].mark;
        if (m->delivered >= l->next || l->next < m->first)
            continue;
        m->delivered = l->next;
        m->check     = backup_mark_check(m);
        (void)!pwrite(l->rest[i].fd, m, sizeof *m, (off_t)backup_mark_at(m->buffer_size));
    }
}

/* ---- */

static wstatus window_open(struct live *l, struct etl_reader **out, struct reason *why)
{
    struct etl_event e;
    wstatus          st = losses_append(l, why);

    st = st ? st : etl_reader_open_memory(l->window, l->size, &l->reader, why);
    if (st)
        return st;
    etl_next(l->reader, &e); /* the header event: older than all others */
    *out = l->reader;
    return W_SUCCESS;
}

static bool losses_new(const struct live *l)
{
    return l->losses.events > l->told.events || l->losses.buffers > l->told.buffers || l->losses.files > l->told.files;
}

wstatus live_next(struct live *l, struct etl_reader **out, struct reason *why)
{
    uint64_t done = l->next, stop;
    wstatus  st   = W_SUCCESS;

    *out = NULL;
    etl_reader_close(l->reader);
    l->reader  = NULL;
    l->size    = 0;
    l->buffers = 0;
    if (l->header_size && (st = window_begin(l, why)))
        return st;
    if (l->ended) {
        rest_acknowledge(l);
        if (read(l->stop_fd, &stop, sizeof stop) == sizeof stop) {
            live_stop(l); /* for the next call, too */
            return reason_set(why, W_CANCELLED, "the waiting was cancelled");
        }
    }
    for (enum got got = GOT_BUFFER; !l->ended && got == GOT_BUFFER && !st;)
        st = buffer_get(l, done, &got, why);
    if (!st && l->buffers && !l->ended)
        header_renew(l, done);
    if (!st && l->ended)
        st = rest_get(l, why);
    if (!st && (l->buffers || (losses_new(l) && l->header_size)))
        st = window_open(l, out, why);
    if (st)
        l->next = done; /* the window was not delivered: the next consumer must get it */
    return st;
}

void live_stop(struct live *l)
{
    uint64_t one = 1;
    (void)!write(l->stop_fd, &one, sizeof one);
}

void live_interrupt_by(struct live *l, bool (*call)(void *ctx), void *ctx)
{
    control_interrupt_by(l->control, call, ctx);
}

struct live_losses live_losses(const struct live *l) { return l->losses; }

unsigned live_window(const struct live *l) { return l->buffers; }

/* Buffers lie behind the header's buffer, all of its size (pad). */
uint32_t live_filled(const struct live *l, unsigned buffer)
{
    struct etl_buffer_header h;
    memcpy(&h, l->window + (buffer + (size_t)1) * l->buffer_size, sizeof h);
    return h.saved_offset;
}

void live_close(struct live *l, bool done)
{
    struct ctl_consume_request       q = {.what = CTL_CONSUME_ACKNOWLEDGE};
    const struct ctl_consume_answer *a;
    struct reason                    why;

    if (!l)
        return;
    if (done && l->control && !l->ended) {
        control_cancel_by(l->control, -1);
        q.done = l->next;
        live_ask(l, &q, &a, &why);
    }
    if (done && l->ended)
        rest_acknowledge(l);
    etl_reader_close(l->reader);
    for (unsigned i = 0; i < l->rest_count; i++)
        close(l->rest[i].fd);
    control_close(l->control);
    if (l->stop_fd >= 0)
        close(l->stop_fd);
    free(l->header);
    free(l->window);
    free(l);
}
