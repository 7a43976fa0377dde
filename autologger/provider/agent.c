/* agent.c - the library's one thread in a process: connects, announces registrations, attaches sessions, runs
 * callbacks. See process.h (P3) and autologger/wire/control.h. */
#include "autologger/provider/process.h"
#include "autologger/provider/classic.h"
#include "autologger/provider/connect.h"
#include "autologger/include/TraceLoggingProvider.h"
#include "autologger/wire/control.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FDS_MAX = 3, ACKS = 4096, POLL_MS = 10000 };
enum sent { SENT, SENT_LATER, SENT_NEVER }; /* later: the daemon does not read just now. The agent never waits for it */

/* Acknowledgements not sent yet; when it is full the oldest are dropped (the daemon has a bound of its own). */
static struct {
    uint32_t ticket[ACKS];
    unsigned first, count;
    bool     blocked; /* there is something to send as soon as possible */
} outbox;

/* The daemon had no place for this program. */
static bool agent_refused;
/* The program closed the connection: its sessions and directory are still in use. They are the daemon's memory, and it
 * reads what is written there meanwhile. Which of them hold is known when the new connection has answered for every
 * registration. */
static bool doubting;
static void agent_let_go(void);

struct agent_message {
    union {
        struct ctl_header     header;
        struct ctl_hello      hello;
        struct ctl_registered registered;
        struct ctl_attach     attach;
        struct ctl_detach     detach;
        struct ctl_enable     enable;
        struct ctl_foreign    foreign;
        struct ctl_thread     thread;
        uint8_t               bytes[CTL_MAX];
    };
    size_t size;
    int    fd[FDS_MAX]; /* -1 = none */
};

static enum sent send_bytes(const void *head, size_t head_size, const void *tail, size_t tail_size)
{
    struct iovec  v[2] = {{(void *)(uintptr_t)head, head_size}, {(void *)(uintptr_t)tail, tail_size}};
    struct msghdr m    = {.msg_iov = v, .msg_iovlen = tail_size ? 2 : 1};
    if (!known_fd_ok(&LIFE.socket))
        return SENT_NEVER;
    if (sendmsg(LIFE.socket.fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
        return SENT;
    if (errno != EAGAIN && errno != EINTR && errno != ENOBUFS)
        return SENT_NEVER;
    outbox.blocked = true;
    return SENT_LATER;
}

static enum sent send_acks(void)
{
    while (outbox.count) {
        struct ctl_enable_ack ack = {{sizeof ack, CTL_ENABLE_ACK, CTL_VERSION, 0, 0}, outbox.ticket[outbox.first], 0};
        enum sent             r   = send_bytes(&ack, sizeof ack, NULL, 0);
        if (r != SENT)
            return r;
        outbox.first = (outbox.first + 1) % ACKS;
        outbox.count--;
    }
    return SENT;
}
/* Asks the daemon for its number of a thread. */
static enum sent send_thread(uint32_t inner)
{
    const struct ctl_thread m = {{sizeof m, CTL_THREAD, CTL_VERSION, 0, 0}, inner, 0};
    return send_bytes(&m, sizeof m, NULL, 0);
}
static enum sent send_threads(void)
{
    enum sent r = SENT;
    for (uint32_t inner; r == SENT && (inner = thread_ids_next());)
        if ((r = send_thread(inner)) == SENT_LATER && !thread_ids_again(inner))
            thread_ids_told(inner, 0); /* too many threads ask: there is no place */
    return r;
}
static void agent_acknowledge(uint32_t ticket)
{
    if (outbox.count == ACKS) {
        outbox.first = (outbox.first + 1) % ACKS;
        outbox.count--;
    }
    outbox.ticket[(outbox.first + outbox.count++) % ACKS] = ticket;
}

/* Brings the daemon's picture of every index up to date. Lock held. */
static enum sent announce(void)
{
    enum sent r = SENT;
    for (unsigned i = 0; i < al_used; i++) {
        struct registration *g     = &al_table[i];
        const bool           again = g->announced == g->handle;
        if (again && (!g->handle || !g->traits_new || !g->answered))
            continue;
        if (g->announced && !again) {
            struct ctl_unregister u = {
                {sizeof u, CTL_UNREGISTER, CTL_VERSION, (uint32_t)(g->announced >> 32), 0}, i, 0};
            if ((r = send_bytes(&u, sizeof u, NULL, 0)) != SENT)
                return r;
            g->announced = 0;
        }
        if (g->handle) {
            struct ctl_register m = {
                {sizeof m, CTL_REGISTER, CTL_VERSION, (uint32_t)(g->handle >> 32), 0}, g->guid, i, 0};
            m.traits_size   = g->traits && g->traits_size <= CTL_MAX - sizeof m ? g->traits_size : 0;
            m.header.size   = (uint32_t)sizeof m + m.traits_size;
            m.header.status = (g->classic ? CTL_REGISTER_CLASSIC : 0) | (again ? CTL_REGISTER_TRAITS : 0) |
                              (g->callback || g->classic ? CTL_REGISTER_CALLBACK : 0);
            if ((r = send_bytes(&m, sizeof m, g->traits, m.traits_size)) != SENT)
                return r;
            __atomic_store_n(&g->traits_new, false, __ATOMIC_RELAXED);
            if (again)
                continue;
            g->answered = g->owed = 0;
            g->announced          = g->handle;
        }
    }
    return r;
}

static void on_registered(const struct ctl_registered *m)
{
    if (m->index >= INDEXES)
        return;
    struct registration *r = &al_table[m->index];
    if (m->header.sequence != (uint32_t)(r->announced >> 32) || !r->announced)
        return; /* the answer to an earlier user of this index */
    r->answered   = 1;
    r->owed       = m->enabled_count;
    r->denied     = m->header.status == W_ACCESS_DENIED || m->header.status == W_INVALID_NAME ? m->header.status : 0;
    agent_refused = m->header.status == W_NO_SYSTEM_RESOURCES;
    if (m->header.status != W_SUCCESS)
        r->owed = 0;
    else if (r->announced == r->handle) {
        /* never one slot with another slot's generation */
        if (r->slot_generation != m->generation || r->slot_number != m->slot)
            __atomic_store_n(&r->slot, NULL, __ATOMIC_RELEASE);
        r->slot_generation = m->generation;
        r->slot_number     = m->slot;
        memset(r->scope, 0, sizeof r->scope);
        __atomic_store_n(&r->slot, attach_slot(m->slot), __ATOMIC_RELEASE);
    }
    registration_recompute(m->index);
    pthread_cond_broadcast(&LIFE.changed);
}

/* A filter in the form for a callback: a copy that is good until the next one, with the session's bit for
 * EventWriteEx. */
static PEVENT_FILTER_DESCRIPTOR filter_for(uint32_t type, const void *data, uint32_t size, unsigned entry)
{
    static uint64_t                bytes[FILTER_SCHEMATIZED_MAX / sizeof(uint64_t)]; /* one agent per process */
    static EVENT_FILTER_DESCRIPTOR descriptor;
    const uint64_t                 instance = UINT64_C(1) << (entry & 63);
    if (size > sizeof bytes)
        return NULL;
    memcpy(bytes, data, size);
    if (type == FILTER_SCHEMATIZED && size >= sizeof(EVENT_FILTER_HEADER))
        memcpy((char *)bytes + offsetof(EVENT_FILTER_HEADER, InstanceId), &instance, sizeof instance);
    descriptor = (EVENT_FILTER_DESCRIPTOR){.Ptr = (ULONGLONG)(uintptr_t)bytes, .Size = size, .Type = type};
    return &descriptor;
}

/* The session's own filter for the provider; or, for this one time, the filter that came with the message. */
static PEVENT_FILTER_DESCRIPTOR own_filter(const struct registration *r, const struct ctl_enable *m)
{
    const unsigned     entry = m->enable_index;
    const size_t       more  = m->header.size - sizeof *m;
    struct filter_view f;
    uint32_t           size, type;
    const uint8_t     *data;
    if (m->filter_bytes && m->filter_bytes <= more)
        return filter_for(FILTER_SCHEMATIZED, m + 1, m->filter_bytes, entry);
    if (entry >= SHM_PROVIDER_SESSIONS || !r->slot || !(slot_word(r->slot) >> 8 & 1u << entry) ||
        !registration_filter(r->slot, entry, &f) || !(data = filter_view_own(&f, &type, &size)))
        return NULL;
    return filter_for(type, data, size, entry);
}

/* Lock held on entry and exit, not during the callback. EventUnregister waits for `calling`. */
static void run_callback(unsigned index, const struct guid *source, uint32_t code, const struct provider_terms *terms,
                         PEVENT_FILTER_DESCRIPTOR filter)
{
    struct registration *r        = &al_table[index];
    PENABLECALLBACK      callback = r->callback;
    void                *context  = r->context;
    GUID                 id;
    if (!callback || !r->handle)
        return;
    memcpy(&id, source, sizeof id);
    LIFE.calling = index + 1;
    process_unlock();
    callback(&id, code, terms->level, terms->any, terms->all, filter, context);
    process_lock();
    LIFE.calling = 0;
    pthread_cond_broadcast(&LIFE.changed);
}

/* Calls the provider back about a change of one session. As on Windows the callback gets the composite of all sessions
 * that enable the provider, and "enabled" as long as there is one: a program that keeps the last callback's values must
 * not stop writing for the sessions that remain. The message comes before or after the daemon's change of the
 * directory, so the message decides about its own session. */
static void tell_change(const struct ctl_enable *m, uint32_t code)
{
    const struct registration  *r    = &al_table[m->index];
    const uint32_t              bit  = 1u << (m->enable_index & 31);
    const struct shm_provider  *slot = r->slot && r->slot->generation == r->slot_generation ? r->slot : NULL;
    bool                        filtered;
    const struct provider_terms one = {m->level ? m->level : UINT8_MAX, m->any ? m->any : UINT64_MAX,
                                       m->any ? m->all : 0};
    struct provider_terms    terms  = registration_terms(slot, registration_enabled(r, slot, &filtered) & ~bit);
    PEVENT_FILTER_DESCRIPTOR filter = code ? own_filter(r, m) : NULL;
    if (code == EVENT_CONTROL_CODE_DISABLE_PROVIDER) {
        code = terms.level ? EVENT_CONTROL_CODE_ENABLE_PROVIDER : EVENT_CONTROL_CODE_DISABLE_PROVIDER;
    } else {
        terms.all   = terms.level ? terms.all & one.all : one.all;
        terms.level = one.level > terms.level ? one.level : terms.level;
        terms.any |= one.any;
    }
    run_callback(m->index, &m->source, code, &terms, filter);
}

/* The same for a provider of the older API. */
static void run_classic(unsigned index, uint32_t code, uint32_t entry, uint8_t level, uint64_t any)
{
    struct registration *r = &al_table[index];
    WNODE_HEADER         buffer;
    ULONG                size = sizeof buffer;
    if (!r->handle || !classic_change(r, code, entry, level, any, &buffer))
        return;
    WMIDPREQUEST callback = r->classic->callback;
    void        *context  = r->classic->context;
    LIFE.calling          = index + 1;
    process_unlock();
    callback(code ? WMI_ENABLE_EVENTS : WMI_DISABLE_EVENTS, context, &size, &buffer);
    process_lock();
    LIFE.calling = 0;
    pthread_cond_broadcast(&LIFE.changed);
}

/* What to tell the program: a session whose scope filter excludes it counts as absent. False: nothing. */
static bool told_code(const struct registration *r, const struct ctl_enable *m, uint32_t *code)
{
    const unsigned entry = m->enable_index & 31;
    const bool     meant = entry >= SHM_PROVIDER_SESSIONS || !r->slot || !(slot_word(r->slot) >> 8 & 1u << entry) ||
                       registration_in_scope(r, r->slot, entry);
    *code = meant ? m->control_code : EVENT_CONTROL_CODE_DISABLE_PROVIDER;
    return *code != EVENT_CONTROL_CODE_DISABLE_PROVIDER || r->enabled_for & 1u << entry;
}

static void agent_on_enable(const struct ctl_enable *m)
{
    uint32_t code;
    if (m->index < INDEXES) {
        struct registration *r = &al_table[m->index];
        if (r->handle && r->announced == r->handle && r->answered) {
            uint64_t handle = r->handle;
            uint32_t bit    = 1u << (m->enable_index & 31);
            registration_recompute(m->index);
            const bool tell = told_code(r, m, &code);
            r->enabled_for  = code == 0 ? r->enabled_for & ~bit : r->enabled_for | bit;
            r->doubted &= ~bit;
            if (tell && r->classic)
                run_classic(m->index, code, m->enable_index, m->level, m->any);
            else if (tell)
                tell_change(m, code);
            if (r->handle == handle && r->owed) {
                r->owed--;
                pthread_cond_broadcast(&LIFE.changed);
            }
        }
    }
    agent_acknowledge(m->ticket);
}

/* Another daemon may be in another namespace. */
static void numbers_forget(void)
{
    if (al_near.near.pid == LIFE.pid)
        return;
    identity_foreign(LIFE.pid);
    thread_ids_process(LIFE.pid);
}

static bool agent_on_hello(struct agent_message *m)
{
    if (m->hello.header.status != W_SUCCESS || m->hello.highest_version != CTL_VERSION || m->fd[0] < 0)
        return false;
    int fd   = m->fd[0];
    m->fd[0] = -1;
    if (doubting && !attach_is_directory(fd)) { /* another daemon */
        agent_let_go();
        numbers_forget();
    }
    if (!attach_directory(fd))
        return false;
    LIFE.state = AGENT_CONNECTED;
    return true;
}

/* A successor has adopted this connection: its streams, slots and answers still hold. Requests that the predecessor did
 * not answer are sent again by the announce() that follows every round of messages. */
static bool on_adopted(void)
{
    for (unsigned i = 0; i < al_used; i++)
        if (!al_table[i].answered)
            al_table[i].announced = 0;
    return true;
}

/* This process is in another namespace than the daemon: events carry the numbers that the daemon sees. The agent runs
 * callbacks, which may write events: its own number is asked for first, so that the answer is there before anything is
 * enabled. */
static void on_foreign(uint32_t pid)
{
    identity_foreign(pid);
    thread_ids_process(pid);
    send_thread((uint32_t)syscall(SYS_gettid));
}

/* A message must have the size that its type needs, as received. */
static bool handle(struct agent_message *m)
{
    const struct ctl_header *h = &m->header;
    if (m->size < sizeof *h || h->size != m->size || h->version != CTL_VERSION)
        return false;
    switch (h->type) {
    case CTL_HELLO:
        if (m->size < sizeof m->hello)
            return false;
        return LIFE.state == AGENT_CONNECTED ? on_adopted() : agent_on_hello(m);
    case CTL_REGISTER:
        if (m->size < sizeof m->registered)
            return false;
        on_registered(&m->registered);
        return true;
    case CTL_ATTACH:
        if (m->size < sizeof m->attach || m->fd[2] < 0)
            return false;
        attach_session(m->attach.session, m->attach.session_generation, m->fd);
        m->fd[0] = m->fd[1] = m->fd[2] = -1;
        return true;
    case CTL_DETACH:
        if (m->size < sizeof m->detach)
            return false;
        attach_detach(m->detach.session, m->detach.session_generation);
        return true;
    case CTL_FOREIGN:
        if (m->size < sizeof m->foreign)
            return false;
        on_foreign(m->foreign.pid);
        return true;
    case CTL_THREAD:
        if (m->size < sizeof m->thread)
            return false;
        thread_ids_told(m->thread.inner, m->thread.outer);
        return true;
    case CTL_ENABLE:
        if (m->size < sizeof m->enable)
            return false;
        agent_on_enable(&m->enable);
        return true;
    default: return true; /* messages of a newer daemon that this library need not know */
    }
}

/* 1: a message; 0: none now; -1: the connection is over. */
static int agent_receive(struct agent_message *m)
{
    char          space[CMSG_SPACE(sizeof(int) * FDS_MAX)] __attribute__((aligned(8)));
    struct iovec  v   = {m->bytes, sizeof m->bytes};
    struct msghdr msg = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};

    for (unsigned i = 0; i < FDS_MAX; i++)
        m->fd[i] = -1;
    if (!known_fd_ok(&LIFE.socket))
        return -1;
    ssize_t n = recvmsg(LIFE.socket.fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    m->size = (size_t)n;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(m->fd, CMSG_DATA(c), (count < FDS_MAX ? count : FDS_MAX) * sizeof(int));
    }
    return n == 0 ? -1 : 1;
}

static void tell_disabled(unsigned index)
{
    static const struct guid           nobody;
    static const struct provider_terms none;
    const struct registration         *r = &al_table[index];
    if (r->handle && r->classic)
        run_classic(index, 0, r->classic->entry, 0, 0);
    else if (r->handle)
        run_callback(index, &nobody, 0, &none, NULL);
}

/* Detaches everything; the registrations stay. Lock held. */
static void agent_let_go(void)
{
    doubting = false;
    attach_drop_all();
    for (unsigned i = 0; i < al_used; i++) {
        struct registration *r    = &al_table[i];
        const uint32_t       told = r->enabled_for;
        r->enabled_for            = 0;
        __atomic_store_n(&r->slot, NULL, __ATOMIC_RELEASE);
        registration_recompute(i);
        if (told)
            tell_disabled(i);
    }
}

static void doubt(void)
{
    doubting = true;
    attach_doubt_all();
    for (unsigned i = 0; i < al_used; i++)
        al_table[i].doubted = al_table[i].enabled_for;
}

/* Ends what the new connection has not confirmed: it ended while there was no connection. Lock held. */
static void doubts_settle(void)
{
    for (unsigned i = 0; i < al_used; i++)
        if (al_table[i].handle && (!al_table[i].answered || al_table[i].owed))
            return;
    doubting = false;
    attach_drop_doubted();
    for (unsigned i = 0; i < al_used; i++) {
        struct registration *r    = &al_table[i];
        const bool           over = r->doubted && !(r->enabled_for &= ~r->doubted);
        r->doubted                = 0;
        registration_recompute(i);
        if (over)
            tell_disabled(i);
    }
}

/* Ends the connection. `keep`: the program closed it. Lock held. */
static void disconnect(bool keep)
{
    known_fd_close(&LIFE.socket);
    process_keep_socket();
    LIFE.state   = AGENT_NO_DAEMON;
    outbox.count = 0;
    for (unsigned i = 0; i < al_used; i++) {
        al_table[i].announced = 0;
        al_table[i].answered = al_table[i].owed = 0;
    }
    if (keep)
        doubt();
    else
        agent_let_go();
    pthread_cond_broadcast(&LIFE.changed);
}

static bool say_hello(void)
{
    struct ctl_hello h = {
        .header = {sizeof h, CTL_HELLO, CTL_VERSION, 1, 0}, .highest_version = CTL_VERSION, .shm_major = SHM_MAJOR};
    return send_bytes(&h, sizeof h, NULL, 0) == SENT;
}

/* Handles messages until none is left; false when the connection is over. Lock held. */
static bool agent_serve(struct agent_message *m)
{
    int got;
    while ((got = agent_receive(m)) > 0) {
        bool ok = handle(m);
        for (unsigned i = 0; i < FDS_MAX; i++)
            if (m->fd[i] >= 0)
                close(m->fd[i]);
        if (!ok)
            return false;
    }
    outbox.blocked = false;
    if (doubting && LIFE.state == AGENT_CONNECTED)
        doubts_settle();
    return got == 0 && (LIFE.state != AGENT_CONNECTED ||
                        (send_acks() != SENT_NEVER && announce() != SENT_NEVER && send_threads() != SENT_NEVER));
}

static void wait_connected(void)
{
    short         events = outbox.blocked ? POLLIN | POLLOUT : POLLIN;
    struct pollfd p[2]   = {{.fd = LIFE.socket.fd, .events = events}, {.fd = LIFE.wake.fd, .events = POLLIN}};
    process_unlock();
    poll(p, 2, POLL_MS); /* if the program closed the descriptors, the next turn finds out */
    process_lock();
    agent_take_wake();
}

void *agent_main(void *unused)
{
    unsigned                    refusals = 0; /* in a row */
    static struct agent_message message;      /* one agent per process; too large for a small stack */
    (void)unused;
    process_lock();
    LIFE.agent   = pthread_self();
    outbox.count = 0; /* a parent's */
    doubting     = false;
    identity_read();
    for (;;) {
        if (!connect_daemon(&LIFE.socket)) {
            if (doubting)
                agent_let_go();
            if (!connect_or_wait(&LIFE.socket))
                continue;
        }
        process_keep_socket();
        if (!doubting) /* else the sessions in use know this program by these numbers */
            numbers_forget();
        LIFE.state = AGENT_STARTING;
        LIFE.epoch++;
        agent_refused = false;
        if (say_hello())
            while (agent_serve(&message))
                wait_connected();
        const bool closed = !known_fd_ok(&LIFE.socket);            /* by the program */
        agent_refused |= !closed && LIFE.state != AGENT_CONNECTED; /* the daemon hung up at once */
        disconnect(closed && (doubting || LIFE.state == AGENT_CONNECTED));
        refusals = agent_refused ? refusals + 1 : 0;
        if (agent_refused)
            connect_pause(refusals);
    }
    return NULL;
}
