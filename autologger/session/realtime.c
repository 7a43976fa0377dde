/* realtime.c - the files in which a real-time session's buffers wait, and the logger's half of realtime.h. */
#include "autologger/session/backup_owner.h"
#include "autologger/session/realtime_private.h"

#include "autologger/etl/header.h"
#include "registry-sim/base/visible_print.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEFAULT_MB = 10, LEAST_BUFFER = 4096 };

/* ---- names ---- */

static void realtime_path_set(struct realtime *r)
{
    char text[GUID_TEXT_SIZE];
    guid_format(&r->s->state->guid, text);
    snprintf(r->path, sizeof r->path, "%s/RtBackup/EtwRT%.*s", r->s->env->log_dir ? r->s->env->log_dir : ".",
             (int)strlen(text) - 2, text + 1);
}

/* Number 0 is the current file, 1.. those of former boots. */
static const char *realtime_path_of(const struct realtime *r, unsigned number, char *out)
{
    if (number)
        snprintf(out, PATH_SIZE + 16, "%s.%u.etl", r->path, number);
    else
        snprintf(out, PATH_SIZE + 16, "%s.etl", r->path);
    return out;
}
#define PATH_OF(r, number) realtime_path_of(r, number, (char[PATH_SIZE + 16]){0})

/* As for log files: writers to the log folder must not choose where root writes. */
static bool folder_is_link(const struct realtime *r)
{
    char           folder[PATH_SIZE];
    struct os_stat at;
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(r->path, '/') - r->path), r->path);
    return os_of(r)->lstat(os_of(r), folder, &at) == 0 && S_ISLNK(at.mode);
}

/* ---- how far each consumer is; under lock ---- */

unsigned realtime_consumers(const struct realtime *r)
{
    unsigned n = 0;
    for (unsigned i = 0; i < STATE_CONSUMERS; i++)
        n += r->state->consumer[i].in_use != 0;
    return n;
}

/* No consumer needs buffers below this number. */
static uint64_t released(const struct realtime *r)
{
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; i < STATE_CONSUMERS; i++)
        if (r->state->consumer[i].in_use && r->state->consumer[i].next < least)
            least = r->state->consumer[i].next;
    return least == UINT64_MAX ? r->state->delivered : least;
}

/* Number of waiting buffers of one file; `least` is the first buffer needed. */
static uint64_t realtime_waiting(const struct backup *b, uint64_t end, uint64_t least)
{
    uint64_t from = least > b->first ? least : b->first;
    return b->fd >= 0 && end > from ? end - from : 0;
}

static bool realtime_is_full(const struct realtime *r, uint64_t number)
{
    uint64_t least = released(r), mine = realtime_waiting(&r->current, number, least),
             bytes = (mine + 2) * r->buffer_size;
    for (unsigned i = 0; i < FORMER; i++)
        bytes += realtime_waiting(&r->former[i], r->former[i].end, least) * r->former[i].buffer_size;
    return mine >= r->slots || bytes > r->cap;
}

/* A buffer that the consumer was given, and has not acknowledged, is not missed; none counts twice. */
bool realtime_missed(struct realtime *r, struct state_consumer *c, uint64_t from, uint64_t to)
{
    if (c->next == from)
        c->next = to;
    from = from > c->holes ? from : c->holes;
    if (from >= to)
        return false;
    c->holes = to;
    c->missed += to - from;
    /* read without the lock, for the session's counters */
    __atomic_store_n(&r->state->missed, r->state->missed + (to - from), __ATOMIC_RELAXED);
    return true;
}

/* D2: consumers behind what others have acknowledged miss the oldest buffer. False: there is no such consumer. */
static bool slowest_skips(struct realtime *r)
{
    uint64_t least = released(r);
    if (least >= r->state->delivered)
        return false;
    for (unsigned i = 0; i < STATE_CONSUMERS; i++) {
        struct state_consumer *c = &r->state->consumer[i];
        if (c->in_use && c->next == least)
            realtime_missed(r, c, least, least + 1);
    }
    return true;
}

void realtime_former_drop(struct realtime *r, unsigned i)
{
    r->state->former[i].in_use = 0;
    backup_close(os_of(r), &r->former[i]);
    os_of(r)->unlink(os_of(r), PATH_OF(r, i + 1));
}

void realtime_current_drop(struct realtime *r)
{
    r->state->current.in_use = 0;
    backup_close(os_of(r), &r->current);
    os_of(r)->unlink(os_of(r), PATH_OF(r, 0));
}

/* ---- existing files ---- */

/* Renames a damaged file, so that it can be examined; its events are lost. */
static void set_aside(struct realtime *r, unsigned number, const struct reason *why)
{
    char aside[PATH_SIZE + 32];
    snprintf(aside, sizeof aside, "%s.damaged", r->path);
    os_of(r)->rename(os_of(r), PATH_OF(r, number), aside);
    r->state->files_lost++;
    visible_line(stderr, "autologgerd: real-time events that waited are lost: %s", why->text);
}

/* A place for one more file of a former boot; if there is none, the oldest is given up. */
static unsigned former_place(struct realtime *r)
{
    unsigned oldest = 0;
    for (unsigned i = 0; i < FORMER; i++) {
        if (r->former[i].fd < 0)
            return i;
        if (r->former[i].first < r->former[oldest].first)
            oldest = i;
    }
    visible_line(stderr, "autologgerd: real-time events that waited since %u boots are given up: %s", FORMER + 1,
                 PATH_OF(r, oldest + 1));
    realtime_former_drop(r, oldest);
    r->state->files_lost++;
    return oldest;
}

/* The file holds another owner's events: it stays, under a name that no session has; a message names it. */
static void keep_for_others(struct realtime *r, unsigned number, const char *because)
{
    enum { KEPT_MOST = 10000 };
    struct session *s = r->s;
    struct os_stat  at;
    char            kept[PATH_SIZE + 32];
    unsigned        n = 0;
    do
        snprintf(kept, sizeof kept, "%s.kept-%u.etl", r->path, ++n);
    while (n < KEPT_MOST && os_of(r)->lstat(os_of(r), kept, &at) == 0);
    const char *where =
        n < KEPT_MOST && os_of(r)->rename(os_of(r), PATH_OF(r, number), kept) == 0 ? kept : PATH_OF(r, number);
    pthread_mutex_lock(&s->lock);
    reason_set(&s->realtime_kept, W_ACCESS_DENIED,
               "%s holds real-time events that waited, and is not given to this session: %s", where, because);
    visible_line(stderr, "autologgerd: session \"%s\": %s", s->state->name, s->realtime_kept.text);
    pthread_mutex_unlock(&s->lock);
}

/* Opens a file of a former boot, by its number. */
static void former_take(struct realtime *r, unsigned number)
{
    struct reason why;
    struct backup b;
    wstatus       st = backup_open(os_of(r), PATH_OF(r, number), &b, &why);

    if (st == W_FILE_NOT_FOUND || st == W_PATH_NOT_FOUND)
        return;
    if (st) {
        set_aside(r, number, &why);
        return;
    }
    const char *other = backup_owner_other(r->s, &b.mark);
    if (other) {
        backup_close(os_of(r), &b);
        keep_for_others(r, number, other);
        return;
    }
    if (b.end == b.delivered || !r->state->persistent) {
        backup_close(os_of(r), &b);
        os_of(r)->unlink(os_of(r), PATH_OF(r, number));
        return;
    }
    unsigned place = number ? number - 1 : former_place(r);
    /* this boot needs its name; a file that can't be renamed is read while it is open */
    if (!number && os_of(r)->rename(os_of(r), PATH_OF(r, 0), PATH_OF(r, place + 1)) < 0)
        os_of(r)->unlink(os_of(r), PATH_OF(r, 0));
    r->former[place] = b;
}

/* A boot begins: files of former boots come first, and the numbers continue after them. */
static uint64_t former_find(struct realtime *r)
{
    uint64_t next = 0, delivered = UINT64_MAX;

    /* the current one last: it needs a place */
    for (unsigned number = folder_is_link(r) ? 0 : FORMER + 1; number-- > 0;)
        former_take(r, number);
    for (unsigned i = 0; i < FORMER; i++)
        if (r->former[i].fd >= 0) {
            const struct backup *b = &r->former[i];
            next                   = b->end > next ? b->end : next;
            delivered              = b->delivered < delivered ? b->delivered : delivered;
            r->state->former[i]    = (struct state_backup){b->first, b->end, 1, b->slots, b->buffer_size, 0};
        }
    r->state->delivered = delivered < next ? delivered : next;
    for (unsigned i = 0; i < STATE_CONSUMERS; i++)
        r->state->consumer[i].next = r->state->delivered;
    return next;
}

static void adopt_one(struct realtime *r, struct state_backup *at, unsigned number, struct backup *out)
{
    struct reason why;
    if (!at->in_use)
        return;
    if (backup_open(os_of(r), PATH_OF(r, number), out, &why) == W_SUCCESS && out->first == at->first &&
        out->slots == at->slots && out->buffer_size == at->buffer_size) {
        out->end = at->end;
        return;
    }
    backup_close(os_of(r), out);
    reason_set(&why, W_INVALID_DATA, "%s is not what the former daemon left", PATH_OF(r, number));
    set_aside(r, number, &why);
    at->in_use = 0;
}

/* False: a predecessor's last buffer is still to be shown, for its window is unfinished. */
static bool ends_window(const struct realtime *r, uint64_t end)
{
    struct etl_buffer_header h;
    const struct backup     *b = &r->current;
    return b->fd < 0 || end <= b->first || !backup_head(os_of(r), b, end - 1, &h) || h.flag & ETL_BUFFER_FLUSH_MARKER;
}

static void realtime_open(struct realtime *r, const struct etl_file_info *info, uint64_t *next)
{
    struct etl_file_info mine = *info;
    const char          *name = strrchr(r->path, '/');

    mine.file_name     = name ? name + 1 : r->path;
    mine.log_file_mode = (info->log_file_mode & ~(uint32_t)(ETL_MODE_SEQUENTIAL | ETL_MODE_APPEND | ETL_MODE_NEWFILE)) |
                         ETL_MODE_CIRCULAR;
    pthread_mutex_lock(&r->lock);
    etl_header_build(&mine, r->header);
    if (r->state->opened) {
        adopt_one(r, &r->state->current, 0, &r->current);
        for (unsigned i = 0; i < FORMER; i++)
            adopt_one(r, &r->state->former[i], i + 1, &r->former[i]);
        if (r->current.fd >= 0) /* MaximumBuffers may have been different then */
            r->slots = r->current.slots;
    } else {
        r->state->base = former_find(r);
        __atomic_store_n(&r->state->opened, 1, __ATOMIC_RELEASE);
    }
    if (*next < r->state->base) /* also when a predecessor died before it published a buffer */
        *next = r->state->base;
    r->end    = *next;
    r->window = r->shown = ends_window(r, r->end) ? r->end : r->end - 1;
    r->opened            = true;
    pthread_mutex_unlock(&r->lock);
}

/* Readers get the header with each window, so what they read next has dates by the new line. */
static void realtime_date(struct realtime *r, uint64_t start_time, uint64_t boot_time)
{
    struct {
        uint64_t boot_time, perf_freq, start_time;
        uint32_t clock_type, buffers_lost;
    } h;
    uint8_t *at = r->header + HEADER_AT_BOOT_TIME;
    pthread_mutex_lock(&r->lock);
    memcpy(&h, at, sizeof h);
    if (r->opened && (h.clock_type == 1 || h.clock_type == 3)) {
        h.boot_time  = boot_time;
        h.start_time = start_time;
        memcpy(at, &h, sizeof h);
        if (r->current.fd >= 0) /* on an error the file keeps the old dates */
            os_pwrite_all(os_of(r), r->current.fd, at,
                          offsetof(struct etl_logfile_header, clock_type) -
                              offsetof(struct etl_logfile_header, boot_time),
                          HEADER_AT_BOOT_TIME);
    }
    pthread_mutex_unlock(&r->lock);
}

/* ---- buffers in ---- */

static wstatus current_make(struct realtime *r, uint64_t number, struct reason *why)
{
    struct os         *os   = os_of(r);
    const char        *path = PATH_OF(r, 0);
    struct backup      made;
    int                e;
    struct backup_mark mark = {.first = number, .slots = r->slots, .buffer_size = r->buffer_size};

    if (folder_is_link(r))
        return reason_set(why, W_BAD_PATHNAME,
                          "the folder of %s is a link; links below the log folder are not followed", path);
    backup_owner_set(r->s, &mark);
    e = os_mkdir_parents(os, path, 0750);
    e = e < 0 ? e : backup_create(os, path, r->header, &mark, &made);
    if (e < 0)
        return reason_set(why, wstatus_from_errno(-e), "%s: %s", path, strerror(-e));
    pthread_mutex_lock(&r->lock);
    r->current        = made;
    r->state->current = (struct state_backup){.first = number, .slots = r->slots, .buffer_size = r->buffer_size};
    __atomic_store_n(&r->state->current.in_use, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&r->lock);
    return W_SUCCESS;
}

static wstatus room_check(struct realtime *r, struct reason *why)
{
    struct os      *os = os_of(r);
    struct os_space space;
    uint64_t        floor = r->s->env->free_floor;
    if (floor && os->space(os, PATH_OF(r, 0), &space) == 0 && space.free_bytes < floor + r->buffer_size)
        return reason_set(why, W_DISK_FULL, "%s.etl: %llu MB must stay free", r->path,
                          (unsigned long long)(floor >> 20));
    return W_SUCCESS;
}

static wstatus realtime_put(struct realtime *r, uint8_t *buffer, uint32_t filled, uint16_t cpu, int64_t time,
                            uint64_t number, bool window, struct reason *why)
{
    bool full;

    pthread_mutex_lock(&r->lock);
    while ((full = realtime_is_full(r, number)) && slowest_skips(r))
        ;
    pthread_mutex_unlock(&r->lock);
    if (full)
        return reason_set(why, W_LOG_FILE_FULL, "%s.etl is full: no consumer has read it", r->path);
    wstatus st = r->current.fd < 0 ? current_make(r, number, why) : W_SUCCESS;
    st         = st ? st : room_check(r, why);
    if (st)
        return st;
    etl_buffer_seal(buffer, r->buffer_size, filled, cpu, (uint16_t)r->s->state->index, (int64_t)number, time,
                    ETL_BUFFER_RTBACKUP | (window ? ETL_BUFFER_FLUSH_MARKER : 0));
    /* without the lock: this slot has no reader, for its new buffer is not shown yet and its old one is released */
    int e = os_pwrite_all(os_of(r), r->current.fd, buffer, r->buffer_size,
                          backup_slot_at(r->current.first, r->slots, r->buffer_size, number));
    if (e < 0)
        return reason_set(why, wstatus_from_errno(-e), "%s.etl: %s", r->path, strerror(-e));
    if (window)
        r->window = number + 1;
    return W_SUCCESS;
}

static void consumers_wake(const struct realtime *r)
{
    uint64_t one = 1;
    if (r->s->env->consumers_fd > 0)
        (void)!write(r->s->env->consumers_fd, &one, sizeof one);
}

static void realtime_show(struct realtime *r, uint64_t end, uint32_t lost, uint64_t events_lost)
{
    pthread_mutex_lock(&r->lock);
    r->end = end;
    if (r->window == end)
        r->shown = end;
    else if (end > r->shown + 1)
        r->shown = end - 1;
    r->lost        = lost;
    r->events_lost = events_lost;
    bool wanted    = realtime_consumers(r) != 0;
    pthread_mutex_unlock(&r->lock);
    if (wanted)
        consumers_wake(r);
}

static void realtime_tidy(struct realtime *r)
{
    pthread_mutex_lock(&r->lock);
    const bool more = r->shown < r->end && realtime_consumers(r);
    r->window = r->ends = r->shown = r->end;
    uint64_t least                 = released(r);
    for (unsigned i = 0; i < FORMER; i++)
        if (r->former[i].fd >= 0 && r->former[i].end <= least)
            realtime_former_drop(r, i);
    if (r->current.fd >= 0 && r->end > r->current.first && r->end <= least)
        realtime_current_drop(r);
    pthread_mutex_unlock(&r->lock);
    if (more)
        consumers_wake(r);
}

static bool realtime_tight(struct realtime *r, uint64_t number) { return number - r->window >= r->slots / 4; }

static uint64_t events_between(const struct realtime *r, uint64_t from, uint64_t to)
{
    struct backup part = r->current;
    part.end           = to < r->end ? to : r->end;
    return from < part.end ? backup_events(os_of(r), &part, from) : 0;
}

/* Number of events in the current file, from buffer `from` on, that are in no log file. */
static uint64_t unsaved(const struct realtime *r, uint64_t from)
{
    const uint64_t in = r->state->file_from, out = r->state->file_to, behind = from > out ? from : out;
    if (in > out)
        return events_between(r, behind, in);
    return events_between(r, from, in) + events_between(r, behind, r->end);
}

static void current_give_up(struct realtime *r, uint32_t *buffers, uint64_t *events)
{
    const uint64_t least = released(r);
    *buffers             = (uint32_t)realtime_waiting(&r->current, r->end, least);
    *events              = unsaved(r, least > r->current.first ? least : r->current.first);
    realtime_current_drop(r);
}

/* Rights may have changed meanwhile: the next boot compares those at the end. */
static void mark_renew(struct realtime *r, struct backup *b)
{
    if (b->fd < 0)
        return;
    backup_owner_set(r->s, &b->mark);
    backup_mark_write(os_of(r), b, r->state->delivered > b->first ? r->state->delivered : b->first);
}

static void marks_renew(struct realtime *r)
{
    mark_renew(r, &r->current);
    for (unsigned i = 0; i < FORMER; i++)
        mark_renew(r, &r->former[i]);
}

static void realtime_finish(struct realtime *r, uint32_t *buffers, uint64_t *events)
{
    realtime_tidy(r);
    pthread_mutex_lock(&r->lock);
    *buffers = 0, *events = 0;
    if (r->current.fd >= 0 && r->state->persistent && !realtime_consumers(r)) {
        marks_renew(r);
        os_of(r)->fsync(os_of(r), r->current.fd);
    } else if (r->current.fd >= 0 && !realtime_consumers(r))
        current_give_up(r, buffers, events);
    pthread_mutex_unlock(&r->lock);
}

static void realtime_drop(struct realtime *r, uint32_t *buffers, uint64_t *events)
{
    realtime_tidy(r);
    pthread_mutex_lock(&r->lock);
    *buffers = 0, *events = 0;
    if (r->current.fd >= 0 && !realtime_consumers(r))
        current_give_up(r, buffers, events);
    pthread_mutex_unlock(&r->lock);
}

/* ---- life ---- */

static void realtime_destroy(struct realtime *r)
{
    if (!r)
        return;
    for (unsigned i = 0; i < FORMER; i++)
        backup_close(os_of(r), &r->former[i]);
    backup_close(os_of(r), &r->current);
    pthread_mutex_destroy(&r->lock);
    free(r->header);
    free(r);
}

static wstatus realtime_create(struct session *s, struct realtime **out, struct reason *why)
{
    const struct state_session *st     = s->state;
    struct realtime            *r      = calloc(1, sizeof *r);
    uint64_t                    buffer = st->buffer_kb * UINT64_C(1024), least = 2 * buffer * st->maximum_buffers;

    if (buffer < LEAST_BUFFER) {
        free(r);
        return reason_set(why, W_INVALID_PARAMETER, "a real-time session needs buffers of 4 KB at least");
    }
    if (!r || !(r->header = malloc(buffer))) {
        free(r);
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for real-time delivery");
    }
    r->s     = s;
    r->state = &s->state->realtime;
    if (!r->state->opened) {
        r->state->file_from = *session_log_path(st) ? 0 : UINT64_MAX;
        r->state->file_to   = UINT64_MAX;
    }
    r->buffer_size = (uint32_t)buffer;
    r->cap = (uint64_t)(st->max_file_size && !(st->log_file_mode & ETL_MODE_KBYTES) ? st->max_file_size : DEFAULT_MB)
             << 20;
    r->cap         = r->cap > least ? r->cap : least;
    uint64_t slots = r->cap / buffer > 3 ? r->cap / buffer - 1 : 2;
    r->slots       = slots < BACKUP_SLOTS_MOST ? (uint32_t)slots : BACKUP_SLOTS_MOST;
    r->current.fd  = -1;
    for (unsigned i = 0; i < FORMER; i++)
        r->former[i].fd = -1;
    pthread_mutex_init(&r->lock, NULL);
    realtime_path_set(r);
    *out = r;
    return W_SUCCESS;
}

const struct realtime_part realtime_delivery = {
    .create   = realtime_create,
    .destroy  = realtime_destroy,
    .open     = realtime_open,
    .date     = realtime_date,
    .put      = realtime_put,
    .show     = realtime_show,
    .tidy     = realtime_tidy,
    .tight    = realtime_tight,
    .finish   = realtime_finish,
    .drop     = realtime_drop,
    .attach   = realtime_attach,
    .next     = realtime_next,
    .gone     = realtime_gone,
    .farewell = realtime_farewell,
    .leave    = realtime_leave,
    .forget   = realtime_forget,
};
