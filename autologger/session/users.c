/* users.c - the users whose programs write to a session, and how they share its memory. See session.h, S1.
 * Threads: session_admit and session_user_left: the controlling thread. session_share: also the logger thread. All of it under the session's
 * lock where streams' pools change. Not for: reading streams (logger_merge.c), who may write (control). */
#include "autologger/session/internal.h"

#include <sys/eventfd.h>
#include <sys/epoll.h>
#include <unistd.h>

bool session_watch(struct session *s, int event_fd)
{
    struct epoll_event e = {.events = EPOLLIN | EPOLLET, .data.u64 = 1};
    return epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, event_fd, &e) == 0;
}

/* What is left of the budget when all busy chunks are paid for. */
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

/* Equal parts for those whose programs are attached. */
static uint32_t part_of(const struct session *s, unsigned user, uint32_t left, unsigned writing, unsigned *before)
{
    if (!s->uid[user].live)
        return 0;
    const unsigned place = (*before)++;
    return left / writing + (place < left % writing);
}

uint32_t session_share(struct session *s)
{
    const uint32_t left    = chunks_left(s);
    const unsigned writing = users_writing(s);
    uint32_t       granted = 0;
    unsigned       before  = 0;

    if (writing > s->state->users_most)
        s->state->users_most = writing;
    for (unsigned u = 0; u < s->uid_count; u++) {
        struct stream_set *set  = s->uid[u].streams;
        const uint32_t     part = part_of(s, u, left, writing, &before);
        if (stream_set_granted(set) - stream_set_busy(set) > part)
            stream_set_pool(set, part);
        granted += stream_set_granted(set);
    }
    before = 0;
    for (unsigned u = 0; u < s->uid_count; u++) {
        struct stream_set *set   = s->uid[u].streams;
        const uint32_t     part  = part_of(s, u, left, writing, &before), had = stream_set_granted(set);
        const uint32_t     there = had - stream_set_busy(set), room = s->budget_chunks > granted ? s->budget_chunks - granted : 0;
        stream_set_pool(set, part < there + room ? part : there + room);
        granted += stream_set_granted(set) - had;
    }
    return left;
}

static bool streams_make(struct session *s, struct session_uid *u, bool admitted)
{
    struct stream_config c = {.cpus = s->env->cpus, .chunk_shift = s->chunk_shift, .max_event = s->state->buffer_kb * 1024u - 72,
                              .chunk_count = admitted ? session_capacity(s->budget_chunks, s->chunk_shift) : 0, .uid = u->uid,
                              .clock_kind = s->clock.read_kind, .session = s->state->index,
                              .session_generation = s->state->generation};
    struct reason        why;

    if (c.max_event > ETL_MAX_EVENT)
        c.max_event = ETL_MAX_EVENT;
    u->admitted = admitted;
    return stream_set_create(s->env->os, &c, &u->streams, &why) == W_SUCCESS;
}

/* The last place is shared by all that came too late: it has no chunks. */
static struct session_uid *find_user(struct session *s, uint32_t uid)
{
    for (unsigned i = 0; i < s->uid_count; i++)
        if (s->uid[i].uid == uid || i == STATE_UIDS - 1)
            return &s->uid[i];
    return NULL;
}

static void wake_logger(struct session *s)
{
    const uint64_t one = 1;
    if (s->wake_fd >= 0)
        (void)!write(s->wake_fd, &one, sizeof one);
}

/* Under lock. Where others hold most of the memory, the logger is to write it out. */
static void share_and_wake(struct session *s)
{
    if (session_share(s) < s->budget_chunks / 2)
        wake_logger(s);
}

const struct session_uid *session_admit(struct session *s, uint32_t uid)
{
    struct session_uid *u = find_user(s, uid);
    if (u) {
        if (!u->live && u->admitted) {
            pthread_mutex_lock(&s->lock);
            u->live = true;
            share_and_wake(s);
            pthread_mutex_unlock(&s->lock);
        }
        return u;
    }
    const unsigned n         = s->uid_count;
    const bool     has_place = n < STATE_UIDS - 1;
    u           = &s->uid[n];
    u->uid      = uid;
    u->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    /* without memory for its streams the user gets a set without chunks: its events are lost with error 8, and counted */
    if (u->event_fd < 0 || !session_watch(s, u->event_fd) || (!streams_make(s, u, has_place) && (!has_place || !streams_make(s, u, false)))) {
        if (u->event_fd >= 0)
            close(u->event_fd);
        return NULL;
    }
    pthread_mutex_lock(&s->lock);
    u->live = u->admitted;
    s->uid_count++;
    share_and_wake(s);
    pthread_mutex_unlock(&s->lock);
    stream_set_open(u->streams, true);
    s->state->uid[n] = uid;
    session_keep(s, "data", (int)n, stream_set_data_fd(u->streams));
    session_keep(s, "control", (int)n, stream_set_control_fd(u->streams));
    session_keep(s, "event", (int)n, u->event_fd);
    __atomic_store_n(&s->state->uid_count, s->uid_count, __ATOMIC_RELEASE);
    if (!u->admitted)
        condition_add(&s->conditions, W_NOT_ENOUGH_MEMORY, false, "users", "", 0,
                      has_place ? "end programs that need memory" : "stop the session and start it anew: users whose programs have ended then leave their places",
                      has_place ? "there is no memory for the streams of the programs of uid %u: their events are lost"
                                : "all places for users are taken: the events of the programs of uid %u, and of all further users, are lost",
                      uid);
    return u;
}

void session_user_left(struct session *s, uint32_t uid)
{
    for (unsigned i = 0; i < s->uid_count; i++) {
        if (s->uid[i].uid != uid || !s->uid[i].live)
            continue;
        pthread_mutex_lock(&s->lock);
        s->uid[i].live = false;
        share_and_wake(s);
        pthread_mutex_unlock(&s->lock);
    }
}
