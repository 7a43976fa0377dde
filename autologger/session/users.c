/* users.c - the users whose programs write to a session, and how they share its memory. See session.h, S1.
 * Threads: session_admit and session_user_left: the controlling thread. session_share: also the logger thread. All of
 * it under the session's lock where streams' pools change.
 * Not for: reading streams (logger_merge.c), who may write (control). */
#include "autologger/session/internal.h"

#include <sys/eventfd.h>
#include <sys/epoll.h>
#include <unistd.h>

bool session_watch(struct session *s, int event_fd)
{
    struct epoll_event e = {.events = EPOLLIN | EPOLLET, .data.u64 = 1};
    return epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, event_fd, &e) == 0;
}

/* The budget without all busy chunks. */
static uint32_t chunks_left(const struct session *s)
{
    uint32_t busy = 0;
    for (unsigned u = 0; u < s->uid_count; u++)
        busy += stream_set_busy(s->uid[u].streams);
    return s->budget_chunks > busy ? s->budget_chunks - busy : 0;
}

static unsigned users_writing(const struct session *s)
{
    unsigned n = 0;
    for (unsigned u = 0; u < s->uid_count; u++)
        n += s->uid[u].live;
    return n;
}

/* Equal parts for the users whose programs are attached. */
static uint32_t users_part_of(const struct session *s, unsigned user, uint32_t left, unsigned writing, unsigned *before)
{
    if (!s->uid[user].live)
        return 0;
    const unsigned place = (*before)++;
    return left / writing + (place < left % writing);
}

/* Adds up to `more` chunks to the user's pool, as far as there is room. Returns the room left. */
static uint32_t users_give(struct stream_set *set, uint32_t more, uint32_t room)
{
    const uint32_t has = stream_set_granted(set), there = has - stream_set_busy(set);
    stream_set_pool(set, there + (more < room ? more : room));
    const uint32_t got = stream_set_granted(set) - has;
    return room > got ? room - got : 0;
}

/* When writers overwrite, memory never becomes free by itself. Each user gets an equal part of all of it, except what
 * is set aside for a new user: for each processor one chunk to fill while the logger reads another. A user with less
 * than it needs gets that at once, from the memory set aside and from the oldest events of users with more. Beyond that
 * it gets unused chunks of richer users' pools. The rest comes with reading or, when the pool is empty, from users
 * without programs. */
static void share_all(struct session *s, unsigned writing)
{
    uint32_t       part[STATE_UIDS], need[STATE_UIDS], wanted = 0, granted = 0, ended = 0, poor = 0;
    const uint32_t least = 2 * s->state->cpus + 1, streams = s->state->cpus + 1;
    const uint32_t aside  = s->budget_chunks >= 8 * least ? least : s->budget_chunks >= 4 * streams ? streams : 0;
    unsigned       before = 0;

    for (unsigned u = 0; u < s->uid_count; u++) {
        const uint32_t has = stream_set_granted(s->uid[u].streams);
        part[u]            = users_part_of(s, u, s->budget_chunks - aside, writing, &before);
        need[u]            = part[u] >= 2 * least ? least : part[u] < streams ? part[u] : streams;
        if (has == stream_set_busy(s->uid[u].streams))
            ended += has < part[u] ? part[u] - has : 0;
        wanted += has < need[u] ? need[u] - has : 0;
        poor += has < part[u] ? part[u] - has : 0;
        granted += has;
    }
    uint32_t room = s->budget_chunks > granted ? s->budget_chunks - granted : 0;
    for (unsigned u = 0; u < s->uid_count; u++) {
        const uint32_t has = stream_set_granted(s->uid[u].streams), more = has > part[u] ? has - part[u] : 0;
        const uint32_t unused = has - stream_set_busy(s->uid[u].streams), idle = unused < poor ? unused : poor;
        const uint32_t needed = s->uid[u].live || ended < wanted ? wanted : ended,
                       free   = room > aside ? room - aside : 0;
        const uint32_t first = needed > room ? needed - room : 0, rest = idle > free ? idle - free : 0,
                       lack = first > rest ? first : rest;
        room += stream_set_yield(s->uid[u].streams, more < lack ? more : lack, part[u]);
    }
    for (unsigned u = 0; u < s->uid_count; u++) {
        const uint32_t has = stream_set_granted(s->uid[u].streams);
        if (has < need[u])
            room = users_give(s->uid[u].streams, need[u] - has, room);
    }
    room = room > aside ? room - aside : 0;
    for (unsigned u = 0; u < s->uid_count; u++) {
        const uint32_t has = stream_set_granted(s->uid[u].streams);
        room               = users_give(s->uid[u].streams, part[u] > has ? part[u] - has : 0, room);
    }
}

uint32_t session_share(struct session *s)
{
    const uint32_t left    = chunks_left(s);
    const unsigned writing = users_writing(s);
    uint32_t       granted = 0;
    unsigned       before  = 0;

    if (writing > s->state->users_most)
        s->state->users_most = writing;
    if (session_overwrites(s)) {
        share_all(s, writing);
        return left;
    }
    for (unsigned u = 0; u < s->uid_count; u++) {
        struct stream_set *set  = s->uid[u].streams;
        const uint32_t     part = users_part_of(s, u, left, writing, &before);
        if (stream_set_granted(set) - stream_set_busy(set) > part)
            stream_set_pool(set, part);
        granted += stream_set_granted(set);
    }
    before = 0;
    for (unsigned u = 0; u < s->uid_count; u++) {
        struct stream_set *set  = s->uid[u].streams;
        const uint32_t     part = users_part_of(s, u, left, writing, &before), had = stream_set_granted(set);
        const uint32_t     there = had - stream_set_busy(set),
                       room      = s->budget_chunks > granted ? s->budget_chunks - granted : 0;
        stream_set_pool(set, part < there + room ? part : there + room);
        granted += stream_set_granted(set) - had;
    }
    return left;
}

static wstatus streams_make(const struct session *s, uint32_t uid, bool admitted, struct stream_set **out,
                            struct reason *why)
{
    struct stream_config c = {.cpus               = s->state->cpus,
                              .chunk_shift        = s->chunk_shift,
                              .max_event          = s->state->buffer_kb * 1024u - 72,
                              .chunk_count        = admitted ? session_capacity(s->budget_chunks, s->chunk_shift) : 0,
                              .uid                = uid,
                              .clock_kind         = s->clock.read_kind,
                              .session            = s->state->index,
                              .session_generation = s->state->generation,
                              .overwrite          = session_overwrites(s)};

    if (c.max_event > ETL_MAX_EVENT)
        c.max_event = ETL_MAX_EVENT;
    return stream_set_create(s->env->os, &c, out, why);
}

wstatus session_empty(struct session *s, struct reason *why)
{
    return s->empty ? W_SUCCESS : streams_make(s, (uint32_t)-1, false, &s->empty, why);
}

/* The place of `uid`, else the place for it: a former user's, a new one, or the last, which all users share that find
 * none. */
static unsigned users_find_place(const struct session *s, uint32_t uid)
{
    unsigned gone = STATE_UIDS;
    for (unsigned i = 0; i < s->uid_count && i < STATE_UIDS - 1; i++) {
        if (!s->uid[i].gone && s->uid[i].uid == uid)
            return i;
        if (s->uid[i].gone && gone == STATE_UIDS)
            gone = i;
    }
    return gone < STATE_UIDS ? gone : s->uid_count < STATE_UIDS ? s->uid_count : STATE_UIDS - 1;
}

bool session_has_user(struct session *s, uint32_t uid)
{
    pthread_mutex_lock(&s->lock);
    const unsigned n     = users_find_place(s, uid);
    const bool     there = n < s->uid_count && !s->uid[n].gone && s->uid[n].uid == uid;
    pthread_mutex_unlock(&s->lock);
    return there;
}

static void wake_logger(struct session *s)
{
    const uint64_t one = 1;
    if (s->wake_fd >= 0)
        (void)!write(s->wake_fd, &one, sizeof one);
}

/* Under lock. Wakes the logger to write when others hold most of the memory, or to give up places when most are
 * taken. */
static void share_and_wake(struct session *s)
{
    if (session_share(s) < s->budget_chunks / 2 || session_places_scarce(s))
        wake_logger(s);
}

/* Drops a former user's descriptors and streams. A successor that finds some of them drops these too: the epoch says
 * that the place is free. */
static void place_clear(struct session *s, unsigned n)
{
    struct session_uid *u = &s->uid[n];
    session_keep(s, "data", (int)n, -1);
    session_keep(s, "control", (int)n, -1);
    session_keep(s, "event", (int)n, -1);
    stream_set_destroy(u->old);
    if (u->event_fd >= 0)
        close(u->event_fd);
    u->old      = NULL;
    u->event_fd = -1;
}

static void user_refused(struct session *s, uint32_t uid, bool has_place)
{
    char text[200];
    snprintf(
        text, sizeof text,
        has_place
            ? "there is no memory for the streams of the programs of uid %u: their events are lost"
            : "programs of 255 users are being traced, so there is no place for uid %u: the events of its programs are lost",
        uid);
    session_user_condition(
        s, W_NOT_ENOUGH_MEMORY, false, text, "users",
        has_place ? "end programs that need memory"
                  : "end the programs of users that need not be traced: their places are given to others then",
        text);
}

/* Creates a place and streams for a new user. NULL: no memory. */
static struct session_uid *user_begin(struct session *s, unsigned n, uint32_t uid)
{
    struct session_uid fresh = {.uid = uid, .event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)}, *u = &s->uid[n];
    const bool         has_place = n < STATE_UIDS - 1;
    struct reason      why;
    fresh.admitted = has_place && streams_make(s, uid, true, &fresh.streams, &why) == W_SUCCESS;
    /* without memory for its streams the user gets a set without chunks: its events are lost with W_NOT_ENOUGH_MEMORY,
     * and counted */
    if (fresh.event_fd < 0 || !session_watch(s, fresh.event_fd) ||
        (!fresh.admitted && streams_make(s, uid, false, &fresh.streams, &why))) {
        stream_set_destroy(fresh.streams);
        if (fresh.event_fd >= 0)
            close(fresh.event_fd);
        return NULL;
    }
    pthread_mutex_lock(&s->lock);
    if (n < s->uid_count) {
        pthread_mutex_unlock(&s->lock);
        place_clear(s, n);
        pthread_mutex_lock(&s->lock);
    } else {
        s->uid_count++;
    }
    *u      = fresh;
    u->live = u->admitted;
    share_and_wake(s);
    pthread_mutex_unlock(&s->lock);
    stream_set_open(u->streams, true);
    s->state->uid[n] = uid;
    session_keep(s, "data", (int)n, stream_set_data_fd(u->streams));
    session_keep(s, "control", (int)n, stream_set_control_fd(u->streams));
    session_keep(s, "event", (int)n, u->event_fd);
    __atomic_store_n(&s->state->uid_epoch[n], s->state->uid_epoch[n] + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&s->state->uid_count, s->uid_count, __ATOMIC_RELEASE);
    if (!u->admitted)
        user_refused(s, uid, has_place);
    return u;
}

const struct session_uid *session_admit(struct session *s, uint32_t uid)
{
    pthread_mutex_lock(&s->lock);
    const unsigned      n     = users_find_place(s, uid);
    struct session_uid *u     = &s->uid[n];
    const bool          there = n < s->uid_count && !u->gone;
    if (there && !u->live && u->admitted) {
        u->live = true;
        if (!s->sealed)
            stream_set_open(u->streams, true); /* the logger may be about to give it up */
        share_and_wake(s);
    }
    pthread_mutex_unlock(&s->lock);
    return there ? u : user_begin(s, n, uid);
}

void session_user_left(struct session *s, uint32_t uid)
{
    for (unsigned i = 0; i < s->uid_count; i++) {
        if (s->uid[i].uid != uid || !s->uid[i].live)
            continue;
        pthread_mutex_lock(&s->lock);
        s->uid[i].live = false;
        s->users_left++;
        share_and_wake(s);
        session_users_trim(s);
        pthread_mutex_unlock(&s->lock);
    }
}

/* Once for each user and each kind. */
static void users_note(struct session *s, struct session_uid *u, bool *noted, wstatus number, const char *what)
{
    char text[200];
    if (*noted)
        return;
    *noted = true;
    snprintf(text, sizeof text, "programs of uid %u %s", u->uid, what);
    session_user_condition(s, number, true, text, "users",
                           "look at the programs of this user: the provider library does no such thing", text);
}

void session_users_trim(struct session *s)
{
    for (unsigned i = 0; i < s->uid_count; i++)
        if (!s->uid[i].gone)
            s->uid[i].trimmed |= stream_set_trim(s->uid[i].streams) != 0;
}

void session_users_look(struct session *s)
{
    pthread_mutex_lock(&s->lock);
    session_users_trim(s);
    for (unsigned i = 0; i < s->uid_count; i++) {
        struct session_uid    *u = &s->uid[i];
        struct stream_counters c;
        if (u->gone)
            continue;
        stream_counters(u->streams, session_now_ns(s), &c);
        if (c.adjusted)
            users_note(
                s, u, &u->times_noted, W_INVALID_DATA,
                "wrote events with times of the future or of the past: these have the time at which they were read");
        if (c.falsified)
            users_note(s, u, &u->counts_noted, W_INVALID_DATA,
                       "wrote counts of lost events that cannot be true: they are not counted");
        if (u->trimmed)
            users_note(s, u, &u->memory_noted, W_NOT_ENOUGH_MEMORY,
                       "took memory that is no part of the session's buffers: it was taken back");
    }
    pthread_mutex_unlock(&s->lock);
}
