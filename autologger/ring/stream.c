/* stream.c - memory and grants of a stream set; reading is stream_read.c. See stream.h.
 * Layout of the control memfd: shm_control, shm_stream_control[], tables, quarantine bytes. Of the data memfd: shm_data,
 * shm_stream[], shm_refusal[], chunks from a page boundary on. */
#include "autologger/ring/stream.h"

#include "autologger/ring/stream_private.h"
#include "autologger/wire/etl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096, SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL };

static uint64_t round_up(uint64_t v, uint64_t to) { return (v + to - 1) / to * to; }

uint32_t stream_chunk_shift(uint32_t buffer_bytes)
{
    uint32_t largest = buffer_bytes > 72 ? buffer_bytes - 72 : 0, shift = 12;
    if (largest > ETL_MAX_EVENT)
        largest = ETL_MAX_EVENT;
    while (1u << shift < largest)
        shift++;
    return shift;
}

/* Where everything lies, from the counts alone. */
struct layout {
    uint32_t slots; /* of a table: a power of two */
    uint64_t tables, quarantine, control_size;
    uint64_t refusals, chunks, data_size;
};
static struct layout layout_of(unsigned streams, uint32_t chunk_shift, uint32_t chunk_count)
{
    struct layout l = {.slots = 1};
    while (l.slots < chunk_count)
        l.slots *= 2;
    l.tables       = sizeof(struct shm_control) + (uint64_t)streams * sizeof(struct shm_stream_control);
    l.quarantine   = l.tables + (uint64_t)streams * l.slots * 4;
    l.control_size = round_up(l.quarantine + chunk_count, PAGE);
    l.refusals     = sizeof(struct shm_data) + (uint64_t)streams * sizeof(struct shm_stream);
    l.chunks       = round_up(l.refusals + SHM_REFUSALS * sizeof(struct shm_refusal), PAGE);
    l.data_size    = l.chunks + ((uint64_t)chunk_count << chunk_shift);
    return l;
}

static struct stream_set *set_new(void)
{
    struct stream_set *s = calloc(1, sizeof *s);
    if (s)
        s->data_fd = s->control_fd = s->control_ro_fd = -1;
    return s;
}

static wstatus map_both(struct stream_set *s, uint64_t control_size, uint64_t data_size, struct reason *why)
{
    void *c = mmap(NULL, control_size, PROT_READ | PROT_WRITE, MAP_SHARED, s->control_fd, 0);
    if (c == MAP_FAILED)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "the control memory can't be mapped: %s", strerror(errno));
    s->control      = c;
    s->control_size = control_size;
    void *d         = mmap(NULL, data_size, PROT_READ | PROT_WRITE, MAP_SHARED, s->data_fd, 0);
    if (d == MAP_FAILED)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "the event memory can't be mapped: %s", strerror(errno));
    s->data      = d;
    s->data_size = data_size;
    return W_SUCCESS;
}

/* Points every stream into the mappings, which have the layout of `l`. */
static wstatus set_streams(struct stream_set *s, const struct layout *l, struct reason *why)
{
    s->count      = s->control->stream_count;
    s->stream     = calloc(s->count, sizeof *s->stream);
    s->free_chunk = calloc((size_t)s->control->chunk_count + 1, sizeof *s->free_chunk);
    if (!s->stream || !s->free_chunk)
        return reason_set(why, W_OUTOFMEMORY, "no memory for %u streams", s->count);
    s->chunks     = s->data + l->chunks;
    s->refusal    = (struct shm_refusal *)(void *)(s->data + l->refusals);
    s->quarantine = (uint8_t *)s->control + l->quarantine;
    for (unsigned i = 0; i < s->count; i++) {
        struct stream *st = &s->stream[i];
        st->shared        = (struct shm_stream *)(void *)(s->data + sizeof(struct shm_data)) + i;
        st->control       = (struct shm_stream_control *)(void *)(s->control + 1) + i;
        st->table         = (uint32_t *)(void *)((uint8_t *)s->control + l->tables) + (size_t)i * l->slots;
    }
    return W_SUCCESS;
}

static int make_memfd(struct os *os, const char *name, uint64_t size, uint64_t populate, struct reason *why)
{
    int fd = os->shm_create(os, name, size, populate);
    if (fd < 0) {
        reason_set(why, fd == -ENOMEM ? W_NOT_ENOUGH_MEMORY : wstatus_from_errno(-fd), "no memory for %s: %s", name,
                   strerror(-fd));
        return -1;
    }
    if (fchmod(fd, 0600) < 0 || fcntl(fd, F_ADD_SEALS, SEALS) < 0) {
        reason_set(why, wstatus_from_errno(errno), "%s can't be sealed: %s", name, strerror(errno));
        close(fd);
        return -1;
    }
    return fd;
}

static int reopen_readonly(int fd)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static void fill_headers(struct stream_set *s, const struct stream_config *c, const struct layout *l)
{
    *s->control = (struct shm_control){
        .header = {SHM_MAGIC_CONTROL, SHM_MAJOR, SHM_MINOR, sizeof(struct shm_control), 0, l->control_size},
        .clock_kind = c->clock_kind, .session = c->session, .session_generation = c->session_generation,
        .stream_count = c->cpus + 1, .chunk_shift = c->chunk_shift, .chunk_count = c->chunk_count,
        .max_event = c->max_event, .stream_offset = sizeof(struct shm_control), .uid = c->uid,
        .quarantine_offset = (uint32_t)l->quarantine};
    for (unsigned i = 0; i <= c->cpus; i++)
        ((struct shm_stream_control *)(void *)(s->control + 1))[i] = (struct shm_stream_control){
            .table_offset = (uint32_t)(l->tables + (uint64_t)i * l->slots * 4), .table_mask = l->slots - 1};
    struct shm_data d = {.header = {SHM_MAGIC_DATA, SHM_MAJOR, SHM_MINOR, sizeof d, 0, l->data_size},
                         .stream_count = c->cpus + 1, .stream_offset = sizeof d, .chunk_offset = l->chunks,
                         .refusal_offset = (uint32_t)l->refusals};
    memcpy(s->data, &d, sizeof d);
}

static bool config_ok(const struct stream_config *c, const struct layout *l)
{
    return c->cpus >= 1 && c->cpus < 65536 && c->chunk_shift >= 12 && c->chunk_shift <= 16 &&
           c->max_event >= sizeof(struct etl_event_header) && c->max_event <= ETL_MAX_EVENT &&
           round_up(c->max_event, 8) <= 1u << c->chunk_shift && l->control_size <= UINT32_MAX;
}

wstatus stream_set_create(struct os *os, const struct stream_config *config, struct stream_set **out, struct reason *why)
{
    struct layout      l = layout_of(config->cpus + 1, config->chunk_shift, config->chunk_count);
    struct stream_set *s = NULL;
    wstatus            status;

    *out = NULL;
    if (!config_ok(config, &l))
        return reason_set(why, W_INVALID_PARAMETER, "streams of %u bytes an event, %u chunks of 2^%u do not work",
                          config->max_event, config->chunk_count, config->chunk_shift);
    status = reason_set(why, W_OUTOFMEMORY, "no memory for a set of streams");
    if (!(s = set_new()))
        goto out;
    status = W_NOT_ENOUGH_MEMORY;
    if ((s->control_fd = make_memfd(os, "autologger-control", l.control_size, 0, why)) < 0 ||
        (s->data_fd = make_memfd(os, "autologger-data", l.data_size, l.chunks, why)) < 0)
        goto out;
    if ((s->control_ro_fd = reopen_readonly(s->control_fd)) < 0) {
        status = reason_set(why, wstatus_from_errno(errno), "/proc/self/fd can't be used: %s", strerror(errno));
        goto out;
    }
    if ((status = map_both(s, l.control_size, l.data_size, why)) != W_SUCCESS)
        goto out;
    fill_headers(s, config, &l);
    if ((status = set_streams(s, &l, why)) != W_SUCCESS)
        goto out;
    while (s->free_count < config->chunk_count) { /* chunk 0 on top */
        s->free_chunk[s->free_count] = config->chunk_count - 1 - s->free_count;
        s->free_count++;
    }
    for (unsigned i = 0; i < s->count; i++) {
        uint32_t want = config->chunk_count == 0 ? 0 : stream_is_fallback(s, i) ? 1 : config->initial_chunks;
        if (stream_set_grow(s, i, want) != want) {
            status = reason_set(why, W_NOT_ENOUGH_MEMORY, "the first %u chunks of stream %u can't be had", want, i);
            goto out;
        }
    }
    *out = s;
    s    = NULL;
out:
    stream_set_destroy(s);
    return status;
}

/* Again while writers are faster: there is a mark ahead of them as long as there is room. */
void stream_wake_set(struct stream_set *s, struct stream *st)
{
    const uint64_t base  = st->released & ~(uint64_t)(stream_chunk_size(s) - 1);
    const uint64_t limit = st->control->limit;
    uint64_t       wpos  = __atomic_load_n(&st->shared->wpos, __ATOMIC_RELAXED) & ~SHM_CLOSED;
    uint64_t       mark  = base + (limit - base) / 2;
    do {
        if (wpos >= mark && wpos < limit) /* crossed already: the next half of what is left */
            mark = wpos + (limit - wpos) / 2 + 1;
        __atomic_store_n(&st->control->wake, mark, __ATOMIC_SEQ_CST);
        wpos = __atomic_load_n(&st->shared->wpos, __ATOMIC_SEQ_CST) & ~SHM_CLOSED;
    } while (wpos >= mark && wpos < limit);
}

/* Appends a populated chunk to the stream. R4: the table entry and the memory are there before the limit rises. */
static void grant(struct stream_set *s, unsigned index, uint32_t chunk)
{
    struct stream *st    = &s->stream[index];
    uint64_t       limit = st->control->limit;
    if (stream_is_fallback(s, index))
        memset(s->chunks + ((uint64_t)chunk << s->control->chunk_shift), 0, stream_chunk_size(s));
    __atomic_store_n(stream_slot(s, st, limit), chunk, __ATOMIC_RELAXED);
    __atomic_store_n(&st->control->limit, limit + stream_chunk_size(s), __ATOMIC_RELEASE);
}

unsigned stream_set_grow(struct stream_set *s, unsigned index, unsigned chunks)
{
    unsigned done = 0;
    for (; done < chunks && s->free_count; done++) {
        uint32_t chunk = s->free_chunk[s->free_count - 1];
        uint64_t at    = (uint64_t)(s->chunks - s->data) + ((uint64_t)chunk << s->control->chunk_shift);
        if (fallocate(s->data_fd, 0, (off_t)at, stream_chunk_size(s)) < 0)
            break;
        s->free_count--;
        s->granted++;
        grant(s, index, chunk);
    }
    if (done)
        stream_wake_set(s, &s->stream[index]);
    else if (chunks == 0 || !s->free_count) /* until something is released nobody needs to tell */
        __atomic_store_n(&s->stream[index].control->wake, SHM_WAKE_NEVER, __ATOMIC_RELAXED);
    return done;
}

void stream_set_want_signals(struct stream_set *s)
{
    for (unsigned i = 0; i < s->count; i++)
        if (__atomic_load_n(&s->stream[i].control->wake, __ATOMIC_RELAXED) == SHM_WAKE_NEVER)
            stream_wake_set(s, &s->stream[i]);
}

void stream_release(struct stream_set *s, unsigned index, uint64_t pos)
{
    struct stream *st    = &s->stream[index];
    const uint64_t chunk = stream_chunk_size(s);

    if (pos > st->pos)
        pos = st->pos; /* R3: what was not read is not released */
    if (pos <= st->released)
        return;
    uint64_t base = st->released & ~(chunk - 1);
    st->released  = pos;
    for (; base + chunk <= pos; base += chunk) {
        uint32_t freed = *stream_slot(s, st, base);
        if (!s->quarantine[freed]) {
            grant(s, index, freed);
        } else {
            s->granted--;
            stream_set_grow(s, index, 1); /* if there is none, the stream is one chunk shorter from now on */
        }
    }
    stream_wake_set(s, st);
}

static wstatus adopt_check(int data_fd, int control_fd, struct stat *data, struct stat *control, struct reason *why)
{
    const int wanted = F_SEAL_SHRINK | F_SEAL_GROW;
    int       ds     = fcntl(data_fd, F_GET_SEALS), cs = fcntl(control_fd, F_GET_SEALS);
    if (fstat(data_fd, data) < 0 || fstat(control_fd, control) < 0 || ds < 0 || cs < 0 || (ds & wanted) != wanted ||
        (cs & wanted) != wanted)
        return reason_set(why, W_INVALID_DATA, "the memory handed over is not sealed");
    if (control->st_size < (off_t)sizeof(struct shm_control) || data->st_size < (off_t)sizeof(struct shm_data))
        return reason_set(why, W_INVALID_DATA, "the memory handed over is too small");
    return W_SUCCESS;
}

/* A predecessor that took chunks back (stream_shrink.c), one at a time, may have died with the limit below what a writer had reached by the
 * former one. That chunk is still named behind the limit, and nobody has got it since: it is the stream's again. */
static void adopt_beyond(struct stream_set *s, struct stream *st, uint8_t *used)
{
    const uint64_t chunk = stream_chunk_size(s), wpos = __atomic_load_n(&st->shared->wpos, __ATOMIC_SEQ_CST) & ~SHM_CLOSED;
    const uint64_t limit = st->control->limit;
    const uint32_t c     = *stream_slot(s, st, limit);
    if (wpos <= limit || wpos > limit + chunk || c >= s->control->chunk_count || used[c] || s->quarantine[c])
        return; /* nothing, or hostile */
    used[c] = 1;
    s->granted++;
    __atomic_store_n(&st->control->limit, limit + chunk, __ATOMIC_RELEASE);
}

/* The chunks of every stream are those that its table names within [rpos, limit); each may be named once. */
static bool adopt_chunks(struct stream_set *s, const uint64_t *rpos)
{
    const uint64_t chunk = stream_chunk_size(s);
    uint8_t       *used  = calloc(s->control->chunk_count + 1u, 1);
    bool           ok    = used != NULL;

    for (unsigned i = 0; ok && i < s->count; i++) {
        struct stream *st    = &s->stream[i];
        uint64_t       limit = st->control->limit, base = rpos[i] & ~(chunk - 1);
        ok = limit % chunk == 0 && rpos[i] % 8 == 0 && rpos[i] <= limit && (limit - base) / chunk <= s->control->chunk_count;
        for (uint64_t p = base; ok && p < limit; p += chunk) {
            uint32_t c = *stream_slot(s, st, p);
            ok         = c < s->control->chunk_count && !used[c];
            if (ok)
                used[c] = 1;
            s->granted++;
        }
        st->pos = st->released = st->snap = rpos[i];
    }
    for (unsigned i = 0; ok && i < s->count; i++)
        adopt_beyond(s, &s->stream[i], used);
    for (uint32_t c = s->control->chunk_count; ok && c-- > 0;)
        if (!used[c] && !s->quarantine[c])
            s->free_chunk[s->free_count++] = c;
    free(used);
    return ok;
}

wstatus stream_set_adopt(int data_fd, int control_fd, const uint64_t *rpos, struct stream_set **out, struct reason *why)
{
    struct stat        data, control;
    struct layout      l;
    struct stream_set *s      = NULL;
    wstatus            status = adopt_check(data_fd, control_fd, &data, &control, why);

    *out = NULL;
    if (status != W_SUCCESS)
        return status;
    status = reason_set(why, W_OUTOFMEMORY, "no memory for a set of streams");
    if (!(s = set_new()))
        goto out;
    s->data_fd = data_fd; /* ours from here on; given back on failure */
    s->control_fd = control_fd;
    if ((status = map_both(s, (uint64_t)control.st_size, (uint64_t)data.st_size, why)) != W_SUCCESS)
        goto out;
    const struct shm_control *c = s->control;
    if (c->header.magic != SHM_MAGIC_CONTROL || c->header.major != SHM_MAJOR || c->stream_count < 2 ||
        c->stream_count > 65536 || c->chunk_shift < 12 || c->chunk_shift > 16 || c->chunk_count > 1u << 28) {
        status = reason_set(why, W_INVALID_DATA, "the memory handed over is of an unknown version");
        goto out;
    }
    l = layout_of(c->stream_count, c->chunk_shift, c->chunk_count);
    if (l.control_size != s->control_size || l.data_size != s->data_size || c->quarantine_offset != l.quarantine) {
        status = reason_set(why, W_INVALID_DATA, "the memory handed over has other sizes than it says");
        goto out;
    }
    if ((status = set_streams(s, &l, why)) != W_SUCCESS)
        goto out;
    if (!adopt_chunks(s, rpos)) {
        status = reason_set(why, W_INVALID_DATA, "the chunk tables handed over contradict each other");
        goto out;
    }
    if ((s->control_ro_fd = reopen_readonly(control_fd)) < 0) {
        status = reason_set(why, wstatus_from_errno(errno), "/proc/self/fd can't be used: %s", strerror(errno));
        goto out;
    }
    *out = s;
    s    = NULL;
out:
    if (s)
        s->data_fd = s->control_fd = -1;
    stream_set_destroy(s);
    return status;
}

void stream_set_destroy(struct stream_set *s)
{
    if (!s)
        return;
    for (unsigned i = 0; s->stream && i < s->count; i++)
        free(s->stream[i].copy);
    free(s->stream);
    free(s->free_chunk);
    if (s->data)
        munmap(s->data, s->data_size);
    if (s->control)
        munmap(s->control, s->control_size);
    const int fds[] = {s->data_fd, s->control_fd, s->control_ro_fd};
    for (unsigned i = 0; i < 3; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    free(s);
}

int      stream_set_data_fd(const struct stream_set *s) { return s->data_fd; }
int      stream_set_control_fd(const struct stream_set *s) { return s->control_fd; }
int      stream_set_control_fd_readonly(const struct stream_set *s) { return s->control_ro_fd; }
unsigned stream_set_count(const struct stream_set *s) { return s->count; }
uint32_t stream_set_granted(const struct stream_set *s) { return s->granted; }
const struct shm_control *stream_set_control(const struct stream_set *s) { return s->control; }
uint64_t stream_position(const struct stream_set *s, unsigned index) { return s->stream[index].pos; }
uint64_t stream_released(const struct stream_set *s, unsigned index) { return s->stream[index].released; }

void stream_set_open(struct stream_set *s, bool open)
{
    uint64_t *fallback = &s->stream[s->count - 1].shared->wpos;
    if (open)
        __atomic_fetch_and(fallback, ~SHM_CLOSED, __ATOMIC_SEQ_CST);
    __atomic_store_n(&s->control->open, open, __ATOMIC_SEQ_CST);
    if (!open)
        __atomic_fetch_or(fallback, SHM_CLOSED, __ATOMIC_SEQ_CST);
}

void stream_refused(const struct stream_set *s, uint32_t slot, struct stream_refused *out)
{
    struct shm_refusal r;
    memcpy(&r, &s->refusal[slot % SHM_REFUSALS], sizeof r); /* once: it is the clients' memory */
    if (r.slot != slot + 1)
        return;
    if (r.why & SHM_REFUSED_LEVEL) {
        if (!out->by_level || r.level < out->level)
            out->level = r.level;
        out->by_level = true;
    }
    out->by_filter |= (r.why & SHM_REFUSED_FILTER) != 0;
    if (r.why & SHM_REFUSED_KEYWORDS) {
        out->by_keywords = true;
        out->keywords |= r.keywords;
    }
}

void stream_refused_forget(struct stream_set *s, uint32_t slot)
{
    if (s->refusal[slot % SHM_REFUSALS].slot == slot + 1)
        memset(&s->refusal[slot % SHM_REFUSALS], 0, sizeof *s->refusal);
}

uint64_t stream_set_used(const struct stream_set *s)
{
    uint64_t used = 0;
    for (unsigned i = 0; i < s->count; i++)
        used += s->stream[i].snap - s->stream[i].released;
    return used;
}

bool stream_wants_more(const struct stream_set *s, unsigned index)
{
    const struct stream *st   = &s->stream[index];
    uint64_t             base = st->released & ~(uint64_t)(stream_chunk_size(s) - 1);
    /* as stream_wake_set has it: at the mark is crossed, and a stream without any chunk always wants one */
    return st->snap - base >= (st->control->limit - base) / 2;
}
