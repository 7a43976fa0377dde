/* stream_read.c - reading what hostile clients wrote: clamp, copy once, walk the copy. See stream.h. */
#include "autologger/ring/classic.h"
#include "autologger/ring/stream_private.h"
#include "autologger/wire/etl.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { HEADER_SIZE = sizeof(struct etl_event_header), ABANDON_NS = 1000000000 };

static uint32_t stream_read_padded(uint32_t size) { return (size + 7) & ~7u; }

/* Links chunks up to `wpos`, as far as the tables name them (R1, R4). False: a position that no honest writer has. */
static bool link_up_to(struct stream_set *s, struct ring_stream *st, uint64_t wpos)
{
    const uint64_t end = (wpos >> s->control->chunk_shift) + ((wpos & (stream_chunk_size(s) - 1)) != 0);
    if (end > st->linked && end - st->linked > s->control->chunk_count)
        return false;
    while (st->linked < end)
        stream_link(s, st);
    return true;
}

void stream_snapshot(struct stream_set *s)
{
    for (unsigned i = 0; i < s->count; i++) {
        struct ring_stream *st   = &s->stream[i];
        uint64_t            wpos = __atomic_load_n(&st->shared->wpos, __ATOMIC_ACQUIRE);
        uint64_t            ok   = stream_is_fallback(s, i) ? wpos & ~SHM_CLOSED : wpos;
        if (ok == st->snap)
            continue;
        if (ok >= st->snap && ok % 8 == 0 &&
            (stream_overwrites(s) ? !stream_claims_absurd(s, st, ok) : link_up_to(s, st, ok))) {
            st->snap = ok;
            continue;
        }
        if (wpos != st->bad_wpos) /* R1 */
            s->corrupt++;
        st->bad_wpos = wpos;
    }
    if (stream_overwrites(s))
        stream_claims_limit(s);
}

/* Bytes of the record at `data` (`left` bytes are there), or 0 when it is invalid. */
static uint32_t stream_read_record_size(const struct stream_set *s, const uint8_t *data, uint32_t left)
{
    uint16_t size;
    if (left < HEADER_SIZE)
        return 0;
    memcpy(&size, data, sizeof size);
    if (size < HEADER_SIZE || size > s->control->max_event || stream_read_padded(size) > left ||
        (data[2] != ETL_EVENT64 && data[2] != ETL_EVENT32) || data[3] != ETL_MARKER)
        return 0;
    return size;
}
static bool is_filler(const uint8_t *data, uint32_t left)
{
    uint32_t word;
    if (left < sizeof word)
        return false;
    memcpy(&word, data, sizeof word);
    return word == ETL_FILLER;
}
static uint64_t stream_read_record_time(const uint8_t *data)
{
    uint64_t time;
    memcpy(&time, data + offsetof(struct etl_event_header, time), sizeof time);
    return time;
}

void stream_set_times(struct stream_set *s, uint64_t floor, uint64_t limit, uint64_t stamp)
{
    s->floor = floor;
    s->limit = limit;
    s->stamp = stamp;
}

void stream_set_limit(struct stream_set *s, uint64_t limit) { s->limit = limit; }

/* The record's time, made plausible. Stored in the private copy, so that the next look gets the same. */
static uint64_t true_time(struct stream_set *s, struct ring_stream *st, bool fallback, uint8_t *data)
{
    const uint64_t time = stream_read_record_time(data);
    uint64_t       good = time > s->limit ? s->stamp : time;
    if (!fallback && s->floor) {
        const uint64_t least = st->last_time > s->floor ? st->last_time : s->floor;
        good                 = good < least ? least : good;
    }
    if (__builtin_expect(good != time, 0)) {
        memcpy(data + offsetof(struct etl_event_header, time), &good, sizeof good);
        /* else: clocks differ a little between processors */
        s->adjusted += good < time || good - time > s->limit - s->stamp;
    }
    return good;
}
static uint64_t chunk_end(const struct stream_set *s, uint64_t pos) { return (pos | (stream_chunk_size(s) - 1)) + 1; }

/* True: the table names no valid chunk for the next record (counted); moves past it. */
static bool skip_unlinked(struct stream_set *s, struct ring_stream *st)
{
    if (*stream_slot(s, st, st->pos) != SHM_NO_CHUNK)
        return false;
    st->pos = chunk_end(s, st->pos) < st->snap ? chunk_end(s, st->pos) : st->snap;
    return true;
}

/* R2: makes the private copy cover `pos`, up to the end of the chunk or of the snapshot. */
static bool copy_at(struct stream_set *s, struct ring_stream *st, uint64_t pos)
{
    if (pos >= st->copy_pos && pos < st->copy_pos + st->copy_size)
        return true;
    if (!st->copy && !(st->copy = malloc(stream_chunk_size(s))))
        return false;
    uint64_t end  = chunk_end(s, pos) < st->snap ? chunk_end(s, pos) : st->snap;
    st->copy_pos  = pos;
    st->copy_size = (uint32_t)(end - pos);
    memcpy(st->copy, stream_at(s, st, pos), st->copy_size);
    return true;
}

static bool peek_cpu(struct stream_set *s, unsigned index, struct stream_record *out)
{
    struct ring_stream *st = &s->stream[index];
    while (stream_covered(s, st)) {
        if (skip_unlinked(s, st))
            continue;
        if (!copy_at(s, st, st->pos))
            return false;
        uint8_t *data = st->copy + (st->pos - st->copy_pos);
        uint32_t left = (uint32_t)(st->copy_pos + st->copy_size - st->pos);
        uint32_t size = stream_read_record_size(s, data, left);
        if (size) {
            *out = (struct stream_record){data, size, (uint16_t)index, true_time(s, st, false, data),
                                          st->pos + stream_read_padded(size)};
            stream_gap_ends(s, st, out->time);
            return true;
        }
        s->corrupt += !is_filler(data, left);
        st->pos += left; /* after nonsense too: the start of the next record is unknown */
    }
    return false;
}

/* The head of the fallback stream: 0 (reserved, not marked yet), or its first word. */
static uint64_t head_word(const struct stream_set *s, const struct ring_stream *st)
{
    return __atomic_load_n((uint64_t *)(void *)stream_at(s, st, st->pos), __ATOMIC_ACQUIRE);
}
static bool is_pending(uint64_t word) { return word == 0 || (word & 0xFF000000u) == SHM_RESERVED; }

/* Moves the position past a head that is no record: filler, abandoned or nonsense. */
static void skip_head(struct stream_set *s, struct ring_stream *st, uint64_t word)
{
    uint64_t end  = chunk_end(s, st->pos) < st->snap ? chunk_end(s, st->pos) : st->snap;
    uint32_t size = stream_read_padded((uint32_t)(word & 0xFFFF));
    if ((uint32_t)word == ETL_FILLER) {
        st->pos = end;
    } else if ((word & 0xFF000000u) == SHM_ABANDONED && size >= 8 && size <= end - st->pos) {
        st->pos += size;
    } else {
        s->corrupt++;
        st->pos = end;
    }
}

static bool peek_fallback(struct stream_set *s, unsigned index, struct stream_record *out)
{
    struct ring_stream *st = &s->stream[index];
    if (!st->copy && !(st->copy = malloc(stream_chunk_size(s))))
        return false;
    while (stream_covered(s, st)) {
        if (skip_unlinked(s, st))
            continue;
        uint64_t       word = head_word(s, st);
        uint64_t       end  = chunk_end(s, st->pos) < st->snap ? chunk_end(s, st->pos) : st->snap;
        const uint32_t left = (uint32_t)(end - st->pos);
        if (is_pending(word))
            return false;
        uint32_t size = (uint32_t)(word & 0xFFFF), cpu;
        if ((word >> 24 & 0xFF) == ETL_MARKER && size >= HEADER_SIZE && stream_read_padded(size) <= left) {
            memcpy(st->copy, stream_at(s, st, st->pos), stream_read_padded(size));
            memcpy(st->copy, &word, sizeof word);
        }
        if ((word >> 24 & 0xFF) != ETL_MARKER || stream_read_padded(size) > left ||
            !stream_read_record_size(s, st->copy, stream_read_padded(size))) {
            skip_head(s, st, word);
            continue;
        }
        memcpy(&cpu, st->copy + offsetof(struct etl_event_header, kernel_time), sizeof cpu);
        memset(st->copy + offsetof(struct etl_event_header, kernel_time), 0, sizeof cpu);
        if (cpu > s->count - 1) { /* equal: a late event (ring_write_told) */
            s->corrupt++;
            cpu = 0;
        }
        *out = (struct stream_record){st->copy, size, (uint16_t)cpu, true_time(s, st, true, st->copy),
                                      st->pos + stream_read_padded(size)};
        stream_gap_ends(s, st, out->time);
        return true;
    }
    return false;
}

bool stream_peek(struct stream_set *s, unsigned index, struct stream_record *out)
{
    bool some               = stream_is_fallback(s, index) ? peek_fallback(s, index, out) : peek_cpu(s, index, out);
    s->stream[index].peeked = some ? out->end : 0;
    return some;
}

void stream_pop(struct stream_set *s, unsigned index)
{
    struct ring_stream *st = &s->stream[index];
    if (st->peeked) {
        if (!stream_is_fallback(s, index))
            st->last_time = stream_read_record_time(st->copy + (st->pos - st->copy_pos));
        st->pos    = st->peeked;
        st->peeked = 0;
        s->events++;
    }
}

/* A copy that runs ahead of its reader. */
struct stream_read_copying {
    const uint8_t *from; /* the clients' memory: each byte is read once (R2) */
    uint8_t       *to;
    uint32_t       done, end;
};
enum { COPY_STEP = 1024 /* the C library copies larger ones past the nearest cache */, LINE = 64 };

/* Copies at least up to `until`. */
static void copy_on(struct stream_read_copying *c, uint32_t until)
{
    uint32_t step = until - c->done > COPY_STEP ? until - c->done : COPY_STEP;
    if (step > c->end - c->done)
        step = c->end - c->done;
    memcpy(c->to + c->done, c->from + c->done, step);
    c->done += step;
}

/* Prefetches the memory one step ahead of these bytes, in small portions, so that parsing goes on while it arrives. */
static inline void ask_ahead(const struct stream_read_copying *c, uint32_t at, uint32_t bytes)
{
    const uint32_t last = at + bytes + COPY_STEP < c->end ? at + bytes + COPY_STEP : c->end;
    for (uint32_t line = (at + COPY_STEP) & ~(LINE - 1u); line + LINE <= last; line += LINE)
        __builtin_prefetch(c->from + line);
}

/* Events in a row of one provider, for the tally. */
struct stream_read_row {
    uint64_t guid[2];
    uint32_t count;
};
static inline void row_tell(const struct stream_read_row *row, const struct stream_tally *tally)
{
    if (tally && row->count)
        tally->events(tally->ctx, row->guid, row->count);
}
static inline void stream_read_row_add(struct stream_read_row *row, const uint8_t *record,
                                       const struct stream_tally *tally)
{
    uint64_t guid[2];
    memcpy(guid, record + offsetof(struct etl_event_header, provider), sizeof guid);
    if ((guid[0] ^ row->guid[0]) | (guid[1] ^ row->guid[1])) {
        row_tell(row, tally);
        *row = (struct stream_read_row){{guid[0], guid[1]}, 0};
    }
    row->count++;
}

/* True for nearly every record: an event, and not one of the older API. */
static inline bool begins_as_usual(uint64_t word)
{
    const uint64_t kind    = (uint64_t)ETL_MARKER << 24 | (uint64_t)ETL_EVENT32 << 16,
                   classic = (uint64_t)SHM_CLASSIC << 32;
    return (word & (classic | UINT64_C(0xFFFE0000))) == kind;
}
_Static_assert((ETL_EVENT32 | 1) == ETL_EVENT64 && !(ETL_EVENT32 & 1), "the two differ in the last bit");

/* Walks whole records at the front of `c`, as far as they are wanted. */
static void stream_read_walk(const struct stream_set *s, struct stream_read_copying *c, uint64_t from, uint64_t horizon,
                             const struct stream_tally *tally, struct stream_run *run)
{
    const uint32_t         most = s->control->max_event;
    uint32_t               at = 0, events = 0;
    uint64_t               last = from;
    struct stream_read_row row  = {{0, 0}, 0};

    while (at < c->end) {
        if (at + HEADER_SIZE > c->done && c->done < c->end)
            copy_on(c, at + HEADER_SIZE);
        const uint8_t *record = c->to + at;
        uint64_t       word;
        memcpy(&word, record, sizeof word);
        const uint32_t size = (uint32_t)(word & 0xFFFF), need = stream_read_padded(size);
        if (!begins_as_usual(word) || size < HEADER_SIZE || size > most || need > c->end - at)
            break;
        const uint64_t time = stream_read_record_time(record);
        if (time >= horizon || time < last) /* the second: implausible; stream_peek corrects it */
            break;
        if (events++ == 0)
            run->first_time = time;
        last = time;
        stream_read_row_add(&row, record, tally);
        ask_ahead(c, at, need);
        at += need;
    }
    if (at > c->done)
        copy_on(c, at);
    row_tell(&row, tally);
    run->bytes     = at;
    run->events    = events;
    run->last_time = last;
}

struct stream_run stream_copy_chunk(struct stream_set *s, unsigned index, void *out, uint32_t capacity,
                                    uint64_t horizon, const struct stream_tally *tally)
{
    struct ring_stream *st  = &s->stream[index];
    struct stream_run   run = {.end = st->pos};

    st->peeked = 0;
    if (stream_is_fallback(s, index) || capacity < HEADER_SIZE || !stream_covered(s, st)) {
        run.end = st->pos;
        return run;
    }
    if (skip_unlinked(s, st)) {
        run.end  = st->pos;
        run.more = st->pos < st->snap;
        return run;
    }
    const uint64_t             end  = chunk_end(s, st->pos) < st->snap ? chunk_end(s, st->pos) : st->snap;
    const uint32_t             have = (uint32_t)(end - st->pos);
    struct stream_read_copying c    = {
           .from = stream_at(s, st, st->pos), .to = out, .end = have < capacity ? have : capacity & ~7u};
    stream_read_walk(s, &c, !s->floor || st->last_time < s->floor ? s->floor : st->last_time, horizon, tally, &run);
    st->pos += run.bytes;
    if (run.events) {
        st->last_time = run.last_time;
        stream_gap_ends(s, st, run.first_time);
    }
    run.more = true;
    if (run.bytes < c.end) { /* stopped at a record that is not wanted now, or must be corrected; or at no record */
        const uint8_t *record = c.to + run.bytes;
        if (stream_read_record_size(s, record, have - run.bytes)) {
            run.more = false;
        } else {
            s->corrupt += !is_filler(record, c.end - run.bytes);
            st->pos = end;
        }
    }
    run.more &= st->pos < st->snap;
    run.end = st->pos;
    s->events += run.events;
    return run;
}

struct stream_run stream_copy(struct stream_set *s, unsigned index, void *out, uint32_t capacity, uint64_t horizon)
{
    struct stream_run all = {.more = true}, run;
    while (all.more) {
        run = stream_copy_chunk(s, index, (uint8_t *)out + all.bytes, capacity - all.bytes, horizon, NULL);
        if (run.events && !all.events)
            all.first_time = run.first_time;
        if (run.events)
            all.last_time = run.last_time;
        all.events += run.events;
        all.bytes += run.bytes;
        all.end  = run.end;
        all.more = run.more;
    }
    return all;
}

bool stream_thread_gone(uint32_t tid)
{
    return tid != 0 && tid <= INT32_MAX && syscall(SYS_tkill, (int)tid, 0) < 0 && errno == ESRCH;
}

static void quarantine_head(struct stream_set *s, struct ring_stream *st)
{
    s->state[*stream_slot(s, st, st->pos)] = SHM_CHUNK_STALLED;
}

/* Nobody marked this place: its thread was stopped or died between two instructions. Takes every word up to the next
 * mark, so that a late mark of any thread in there fails; the memory is never used again. */
static void abandon_unmarked(struct stream_set *s, struct ring_stream *st)
{
    uint64_t end = chunk_end(s, st->pos) < st->snap ? chunk_end(s, st->pos) : st->snap;
    quarantine_head(s, st);
    for (uint64_t p = st->pos; p < end; p += 8) {
        uint64_t empty = 0;
        if (!__atomic_compare_exchange_n((uint64_t *)(void *)stream_at(s, st, p), &empty, (uint64_t)(SHM_ABANDONED | 8),
                                         false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            break;
    }
    s->abandoned++;
}

bool stream_fallback_blocked(struct stream_set *s, uint64_t now_ns)
{
    struct ring_stream *st = &s->stream[s->count - 1];
    if (!stream_covered(s, st) || *stream_slot(s, st, st->pos) == SHM_NO_CHUNK)
        return false;
    uint64_t word = head_word(s, st);
    if (!is_pending(word))
        return false;
    if (st->blocked_since == 0 || st->blocked_pos != st->pos) {
        st->blocked_pos   = st->pos;
        st->blocked_since = now_ns ? now_ns : 1;
    }
    bool gone = word != 0 && stream_thread_gone((uint32_t)(word >> 32));
    if (!gone && now_ns - st->blocked_since < ABANDON_NS)
        return true;
    st->blocked_since = 0;
    if (word == 0) {
        abandon_unmarked(s, st);
        return false;
    }
    if (!gone)
        quarantine_head(s, st); /* before the swap: the thread may still write there */
    uint64_t given_up = SHM_ABANDONED | (word & 0xFFFF);
    if (__atomic_compare_exchange_n((uint64_t *)(void *)stream_at(s, st, st->pos), &word, given_up, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        s->abandoned++;
    return false;
}
