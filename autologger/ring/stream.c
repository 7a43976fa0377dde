/* stream.c - memory of a stream set; its chunks are stream_pool.c, reading is stream_read.c. See stream.h. Layout of
 * the control memfd: shm_control, pool, states of chunks. Of the data memfd: shm_data, shm_stream[], shm_refusal[],
 * takers, marks, tables, chunks from a page boundary on. */
#include "autologger/ring/stream.h"

#include "autologger/ring/quiesce.h"
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

/* The layout of both memfds, from the counts alone. */
enum { SPARE_SLOTS = 32 /* of a table: for chunks that are linked ahead, and the one that is being released */ };
struct stream_layout {
    uint32_t slots; /* of a table: a power of two */
    uint64_t pool, claims, states, control_size;
    uint64_t refusals, takers, marks, tables, chunks, data_size;
};
static struct stream_layout stream_layout_of(unsigned streams, uint32_t chunk_shift, uint32_t chunk_count,
                                             bool overwrite)
{
    struct stream_layout l = {.slots = 1};
    while (l.slots < chunk_count + SPARE_SLOTS)
        l.slots *= 2;
    l.claims       = sizeof(struct shm_control);
    l.pool         = l.claims + (overwrite ? (uint64_t)chunk_count * sizeof(uint64_t) : 0);
    l.states       = l.pool + (uint64_t)chunk_count * 4;
    l.control_size = round_up(l.states + chunk_count, PAGE);
    l.refusals     = sizeof(struct shm_data) + (uint64_t)streams * sizeof(struct shm_stream);
    l.takers       = l.refusals + SHM_REFUSALS * sizeof(struct shm_refusal);
    l.marks        = overwrite ? round_up(l.takers + (uint64_t)chunk_count * 4, 8) : 0;
    l.tables = round_up(overwrite ? l.marks + (uint64_t)chunk_count * 8 : l.takers + (uint64_t)chunk_count * 4, PAGE);
    l.chunks = round_up(l.tables + (uint64_t)streams * l.slots * 8, PAGE);
    l.data_size = l.chunks + ((uint64_t)chunk_count << chunk_shift);
    return l;
}

static struct stream_set *set_new(void)
{
    struct stream_set *s = calloc(1, sizeof *s);
    if (s)
        s->data_fd = s->control_fd = s->control_ro_fd = -1, s->limit = UINT64_MAX;
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

/* The header as created, and as programs find it unless one has scribbled. The daemon itself uses only this one. */
static struct shm_data data_header(const struct stream_set *s, const struct stream_layout *l)
{
    return (struct shm_data){.header = {SHM_MAGIC_DATA, SHM_MAJOR, SHM_MINOR, sizeof(struct shm_data), 0, l->data_size},
                             .stream_count   = s->control->stream_count,
                             .stream_offset  = sizeof(struct shm_data),
                             .chunk_offset   = l->chunks,
                             .refusal_offset = (uint32_t)l->refusals,
                             .table_offset   = (uint32_t)l->tables,
                             .table_mask     = l->slots - 1,
                             .taker_offset   = (uint32_t)l->takers,
                             .mark_offset    = (uint32_t)l->marks,
                             .session_number = s->control->session + 1,
                             .uid            = s->control->uid,
                             .pool_head      = s->control->chunk_count};
}

/* Points every stream into the mappings, which have the layout of `l`. */
static wstatus set_streams(struct stream_set *s, const struct stream_layout *l, struct reason *why)
{
    const uint32_t        count  = s->control->chunk_count;
    const struct shm_data header = data_header(s, l);

    s->count      = s->control->stream_count;
    s->stream     = calloc(s->count, sizeof *s->stream);
    s->free_chunk = calloc((size_t)count + 1, sizeof *s->free_chunk);
    if (!s->stream || !s->free_chunk)
        return reason_set(why, W_OUTOFMEMORY, "no memory for %u streams", s->count);
    s->chunks     = s->data + l->chunks;
    s->refusal    = (struct shm_refusal *)(void *)(s->data + l->refusals);
    s->taker      = (uint32_t *)(void *)(s->data + l->takers);
    s->pool       = (uint32_t *)(void *)((uint8_t *)s->control + l->pool);
    s->state      = (uint8_t *)s->control + l->states;
    s->table_mask = l->slots - 1;
    for (unsigned i = 0; i < s->count; i++) {
        struct ring_stream *st = &s->stream[i];
        st->shared             = (struct shm_stream *)(void *)(s->data + sizeof(struct shm_data)) + i;
        st->entry              = (uint64_t *)(void *)(s->data + l->tables) + (size_t)i * l->slots;
        if (!(st->chunk = malloc(l->slots * sizeof *st->chunk)))
            return reason_set(why, W_OUTOFMEMORY, "no memory for %u streams", s->count);
        memset(st->chunk, 0xFF, l->slots * sizeof *st->chunk); /* SHM_NO_CHUNK */
    }
    return stream_claims_init(s, &header, l->claims, why);
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

static int stream_reopen_readonly(int fd)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static void fill_headers(struct stream_set *s, const struct stream_config *c, const struct stream_layout *l,
                         uint64_t now_ns)
{
    *s->control = (struct shm_control){
        .header             = {SHM_MAGIC_CONTROL, SHM_MAJOR, SHM_MINOR, sizeof(struct shm_control), 0, l->control_size},
        .clock_kind         = c->clock_kind,
        .session            = c->session,
        .session_generation = c->session_generation,
        .stream_count       = c->cpus + 1,
        .chunk_shift        = c->chunk_shift,
        .chunk_count        = c->chunk_count,
        .max_event          = c->max_event,
        .pool_offset        = (uint32_t)l->pool,
        .uid                = c->uid,
        .state_offset       = (uint32_t)l->states,
        .pool_wake          = SHM_WAKE_NEVER,
        .overwrite          = c->overwrite,
        .claim_offset       = (uint32_t)l->claims,
        .lost.at_ns         = now_ns,
        .overwritten.at_ns  = now_ns};
    const struct shm_data d = data_header(s, l);
    memcpy(s->data, &d, sizeof d);
    s->pool_index = c->chunk_count;
}

static bool config_ok(const struct stream_config *c, const struct stream_layout *l)
{
    return c->cpus >= 1 && c->cpus < 65536 && c->chunk_shift >= 12 && c->chunk_shift <= 16 &&
           c->max_event >= sizeof(struct etl_event_header) && c->max_event <= ETL_MAX_EVENT &&
           round_up(c->max_event, 8) <= 1u << c->chunk_shift && l->control_size <= UINT32_MAX &&
           l->chunks <= UINT32_MAX;
}

wstatus stream_set_create(struct os *os, const struct stream_config *config, struct stream_set **out,
                          struct reason *why)
{
    struct stream_layout l =
        stream_layout_of(config->cpus + 1, config->chunk_shift, config->chunk_count, config->overwrite);
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
        (s->data_fd = make_memfd(os, "autologger-data", l.data_size, l.tables, why)) < 0)
        goto out;
    if ((s->control_ro_fd = stream_reopen_readonly(s->control_fd)) < 0) {
        status = reason_set(why, wstatus_from_errno(errno), "/proc/self/fd can't be used: %s", strerror(errno));
        goto out;
    }
    if ((status = map_both(s, l.control_size, l.data_size, why)) != W_SUCCESS)
        goto out;
    const uint64_t now_ns = os->raw_ns(os);
    fill_headers(s, config, &l, now_ns > STREAM_SAVED_NS ? now_ns - STREAM_SAVED_NS : 1);
    if ((status = set_streams(s, &l, why)) != W_SUCCESS)
        goto out;
    while (s->free_count < config->chunk_count) { /* chunk 0 on top */
        s->free_chunk[s->free_count] = config->chunk_count - 1 - s->free_count;
        s->free_count++;
    }
    stream_set_pool(s, config->pool);
    *out = s;
    s    = NULL;
out:
    stream_set_destroy(s);
    return status;
}

static wstatus adopt_check(int data_fd, int control_fd, struct stat *data, struct stat *control, struct reason *why)
{
    const int wanted = F_SEAL_SHRINK | F_SEAL_GROW;
    int       ds = fcntl(data_fd, F_GET_SEALS), cs = fcntl(control_fd, F_GET_SEALS);
    if (fstat(data_fd, data) < 0 || fstat(control_fd, control) < 0 || ds < 0 || cs < 0 || (ds & wanted) != wanted ||
        (cs & wanted) != wanted)
        return reason_set(why, W_INVALID_DATA, "the memory handed over is not sealed");
    if (control->st_size < (off_t)sizeof(struct shm_control) || data->st_size < (off_t)sizeof(struct shm_data))
        return reason_set(why, W_INVALID_DATA, "the memory handed over is too small");
    return W_SUCCESS;
}

/* A chunk that a table names: counted as taken by a writer, until a snapshot sees it linked. */
static void adopt_linked(struct stream_set *s, uint32_t chunk, uint8_t *used)
{
    if (used[chunk] || s->state[chunk] == SHM_CHUNK_STALLED)
        return; /* hostile: of two entries the first counts */
    used[chunk]     = 1;
    s->state[chunk] = SHM_CHUNK_POOL;
    s->granted++;
}

/* The predecessor wrote the pool; the clients write its head. Behind a false head lie chunks that are elsewhere. Such a
 * pool is left empty; its chunks without a stream become free. */
static void adopt_pool(struct stream_set *s, uint8_t *used)
{
    const uint32_t count = s->control->chunk_count, index = stream_pool_index(s);

    for (uint32_t i = index; i < count; i++) {
        const uint32_t chunk = s->pool[i];
        if (chunk >= count || used[chunk]) {
            memset(used, 0, count);
            s->granted = 0;
            s->corrupt++;
            stream_pool_empty(s);
            return;
        }
        used[chunk] = 1;
        s->granted++;
    }
}

/* The positions come from the predecessor alone. */
static bool adopt_positions(struct stream_set *s, const uint64_t *rpos)
{
    const uint32_t shift = s->control->chunk_shift;

    for (unsigned i = 0; i < s->count; i++) {
        struct ring_stream *st = &s->stream[i];
        if (rpos[i] % 8 != 0)
            return false;
        st->pos = st->released = st->snap = rpos[i];
        st->linked                        = rpos[i] >> shift;
    }
    return true;
}

/* The streams' chunks are the clients' word: nonsense is left to the snapshot, which counts it. */
static void stream_adopt_streams(struct stream_set *s, uint8_t *used)
{
    const uint32_t count = s->control->chunk_count, shift = s->control->chunk_shift;

    if (stream_overwrites(s)) {
        stream_claims_linked(s, adopt_linked, used);
        stream_claims_adopt(s, used);
        return;
    }
    for (unsigned i = 0; i < s->count; i++) {
        const struct ring_stream *st   = &s->stream[i];
        const uint64_t            wpos = __atomic_load_n(&st->shared->wpos, __ATOMIC_SEQ_CST) & ~SHM_CLOSED;
        for (uint64_t n = st->linked; n << shift < wpos && n < st->linked + count; n++) {
            const uint64_t entry = __atomic_load_n(&st->entry[n & s->table_mask], __ATOMIC_ACQUIRE);
            if (shm_entry_is(entry, n) && (uint32_t)entry < count)
                adopt_linked(s, (uint32_t)entry, used);
        }
    }
    stream_ahead(s, adopt_linked, used);
}

/* The rest is free, except chunks that a living thread of the fallback stream may have taken. */
static void adopt_rest(struct stream_set *s, const uint8_t *used)
{
    for (uint32_t c = s->control->chunk_count; c-- > 0;) {
        if (used[c] || s->state[c] == SHM_CHUNK_STALLED)
            continue;
        if (s->state[c] == SHM_CHUNK_POOL && stream_will_link(s, c)) {
            s->granted++;
            continue;
        }
        if (s->state[c] == SHM_CHUNK_POOL && stream_unmarked(s, c)) {
            s->state[c] = SHM_CHUNK_STALLED;
            continue;
        }
        s->state[c]                    = SHM_CHUNK_FREE;
        s->free_chunk[s->free_count++] = c;
    }
}

static wstatus adopt_first(struct stream_set *s, const uint64_t *rpos, struct reason *why)
{
    s->adopted = calloc(s->control->chunk_count + 1u, 1);
    if (!s->adopted)
        return reason_set(why, W_OUTOFMEMORY, "no memory for %u chunks", s->control->chunk_count);
    if (!adopt_positions(s, rpos))
        return reason_set(why, W_INVALID_DATA, "the positions handed over make no sense");
    adopt_pool(s, s->adopted);
    return W_SUCCESS;
}

void stream_set_adopt_finish(struct stream_set *s)
{
    stream_adopt_streams(s, s->adopted);
    adopt_rest(s, s->adopted);
    free(s->adopted);
    s->adopted = NULL;
    if (stream_overwrites(s)) /* a predecessor may have died while it wanted no signals */
        stream_set_want_signals(s);
}

wstatus stream_set_adopt(int data_fd, int control_fd, const uint64_t *rpos, struct stream_set **out, struct reason *why)
{
    wstatus       st = stream_set_adopt_begin(data_fd, control_fd, rpos, out, why);
    struct reason ignored;
    if (st)
        return st;
    (void)quiesce_all_cpus(&ignored);
    stream_set_adopt_finish(*out);
    return W_SUCCESS;
}

wstatus stream_set_adopt_begin(int data_fd, int control_fd, const uint64_t *rpos, struct stream_set **out,
                               struct reason *why)
{
    struct stat          data, control;
    struct stream_layout l;
    struct stream_set   *s      = NULL;
    wstatus              status = adopt_check(data_fd, control_fd, &data, &control, why);

    *out = NULL;
    if (status != W_SUCCESS)
        return status;
    status = reason_set(why, W_OUTOFMEMORY, "no memory for a set of streams");
    if (!(s = set_new()))
        goto out;
    s->data_fd    = data_fd; /* ours from here on; given back on failure */
    s->control_fd = control_fd;
    if ((status = map_both(s, (uint64_t)control.st_size, (uint64_t)data.st_size, why)) != W_SUCCESS)
        goto out;
    const struct shm_control *c = s->control;
    if (c->header.magic != SHM_MAGIC_CONTROL || c->header.major != SHM_MAJOR || c->stream_count < 2 ||
        c->stream_count > 65536 || c->chunk_shift < 12 || c->chunk_shift > 16 || c->chunk_count > 1u << 28) {
        status = reason_set(why, W_INVALID_DATA, "the memory handed over is of an unknown version");
        goto out;
    }
    l = stream_layout_of(c->stream_count, c->chunk_shift, c->chunk_count, c->overwrite);
    if (l.control_size != s->control_size || l.data_size != s->data_size || c->pool_offset != l.pool ||
        c->state_offset != l.states || (c->overwrite && c->claim_offset != l.claims)) {
        status = reason_set(why, W_INVALID_DATA, "the memory handed over has other sizes than it says");
        goto out;
    }
    if ((status = set_streams(s, &l, why)) != W_SUCCESS)
        goto out;
    if ((status = adopt_first(s, rpos, why)) != W_SUCCESS)
        goto out;
    if ((s->control_ro_fd = stream_reopen_readonly(control_fd)) < 0) {
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
    for (unsigned i = 0; s->stream && i < s->count; i++) {
        free(s->stream[i].copy);
        free(s->stream[i].chunk);
    }
    free(s->stream);
    free(s->free_chunk);
    free(s->held);
    free(s->adopted);
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

int                       stream_set_data_fd(const struct stream_set *s) { return s->data_fd; }
int                       stream_set_control_fd(const struct stream_set *s) { return s->control_fd; }
int                       stream_set_control_fd_readonly(const struct stream_set *s) { return s->control_ro_fd; }
unsigned                  stream_set_count(const struct stream_set *s) { return s->count; }
const struct shm_control *stream_set_control(const struct stream_set *s) { return s->control; }
uint64_t                  stream_position(const struct stream_set *s, unsigned index) { return s->stream[index].pos; }
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
    const struct shm_refusal *from = &s->refusal[slot % SHM_REFUSALS];
    struct shm_refusal        r;                                /* each field is read once: it is the clients' memory */
    r.why      = __atomic_load_n(&from->why, __ATOMIC_ACQUIRE); /* first: clients set it after the others */
    r.slot     = __atomic_load_n(&from->slot, __ATOMIC_RELAXED);
    r.level    = __atomic_load_n(&from->level, __ATOMIC_RELAXED);
    r.keywords = __atomic_load_n(&from->keywords, __ATOMIC_RELAXED);
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
    if (stream_overwrites(s))
        return (uint64_t)stream_set_busy(s) << s->control->chunk_shift;
    for (unsigned i = 0; i < s->count; i++)
        used += s->stream[i].snap - s->stream[i].released;
    return used;
}

uint64_t stream_set_written(const struct stream_set *s)
{
    uint64_t written = 0;
    for (unsigned i = 0; i < s->count; i++)
        written += s->stream[i].snap;
    return written;
}

bool stream_waits(const struct stream_set *s, unsigned index) { return s->stream[index].pos < s->stream[index].snap; }

bool stream_set_idle(const struct stream_set *s)
{
    for (unsigned i = 0; i < s->count; i++)
        if (s->stream[i].snap != s->stream[i].released)
            return false;
    return true;
}
