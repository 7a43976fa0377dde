/* agent.c - the library's one thread in a process: connects, announces registrations, attaches sessions, runs callbacks.
 * See process.h (P3) and autologger/wire/control.h. */
#include "autologger/provider/process.h"
#include "autologger/provider/connect.h"
#include "autologger/include/TraceLoggingProvider.h"
#include "autologger/wire/control.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FDS_MAX = 3, SEND_WAIT_MS = 1000 };

struct message {
    union {
        struct ctl_header     header;
        struct ctl_hello      hello;
        struct ctl_registered registered;
        struct ctl_attach     attach;
        struct ctl_detach     detach;
        struct ctl_enable     enable;
        uint8_t               bytes[CTL_MAX];
    };
    size_t size;
    int    fd[FDS_MAX]; /* -1 = none */
};

static bool send_bytes(const void *head, size_t head_size, const void *tail, size_t tail_size)
{
    struct iovec  v[2] = {{(void *)(uintptr_t)head, head_size}, {(void *)(uintptr_t)tail, tail_size}};
    struct msghdr m    = {.msg_iov = v, .msg_iovlen = tail_size ? 2 : 1};
    for (int tries = 0; tries < 2; tries++) {
        if (!known_fd_ok(&LIFE.socket))
            return false;
        if (sendmsg(LIFE.socket.fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
            return true;
        if (errno != EAGAIN && errno != EINTR)
            return false;
        struct pollfd p = {.fd = LIFE.socket.fd, .events = POLLOUT};
        poll(&p, 1, SEND_WAIT_MS);
    }
    return false;
}

/* Brings the daemon's picture of every index up to date. Lock held. */
static bool announce(void)
{
    for (unsigned i = 0; i < al_used; i++) {
        struct registration *r = &al_table[i];
        if (r->announced == r->handle)
            continue;
        if (r->announced) {
            struct ctl_unregister u = {{sizeof u, CTL_UNREGISTER, CTL_VERSION, (uint32_t)(r->announced >> 32), 0}, i, 0};
            if (!send_bytes(&u, sizeof u, NULL, 0))
                return false;
            r->announced = 0;
        }
        if (r->handle) {
            struct ctl_register g = {{sizeof g, CTL_REGISTER, CTL_VERSION, (uint32_t)(r->handle >> 32), 0}, r->guid, i, 0};
            g.traits_size         = r->traits && r->traits_size <= CTL_MAX - sizeof g ? r->traits_size : 0;
            g.header.size         = (uint32_t)sizeof g + g.traits_size;
            r->answered = r->owed = 0;
            if (!send_bytes(&g, sizeof g, r->traits, g.traits_size))
                return false;
            r->announced = r->handle;
        }
    }
    return true;
}

static void on_registered(const struct ctl_registered *m)
{
    if (m->index >= INDEXES)
        return;
    struct registration *r = &al_table[m->index];
    if (m->header.sequence != (uint32_t)(r->announced >> 32) || !r->announced)
        return; /* the answer to an earlier user of this index */
    r->answered = 1;
    r->owed     = m->enabled_count;
    if (m->header.status != W_SUCCESS)
        r->owed = 0;
    else if (r->announced == r->handle) {
        r->slot_generation = m->generation;
        __atomic_store_n(&r->slot, attach_slot(m->slot), __ATOMIC_RELEASE);
    }
    registration_recompute(m->index);
    pthread_cond_broadcast(&LIFE.changed);
}

/* Lock held on entry and exit, not during the callback. EventUnregister waits for `calling`. */
static void run_callback(unsigned index, const struct guid *source, uint32_t code, uint8_t level, uint64_t any, uint64_t all)
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
    callback(&id, code, level, any, all, NULL, context);
    process_lock();
    LIFE.calling = 0;
    pthread_cond_broadcast(&LIFE.changed);
}

static bool on_enable(const struct ctl_enable *m)
{
    struct ctl_enable_ack ack = {{sizeof ack, CTL_ENABLE_ACK, CTL_VERSION, 0, 0}, m->ticket, 0};
    if (m->index < INDEXES) {
        struct registration *r = &al_table[m->index];
        if (r->handle && r->announced == r->handle && r->answered) {
            uint64_t handle = r->handle;
            uint32_t bit    = 1u << (m->enable_index & 31);
            registration_recompute(m->index);
            r->enabled_for = m->control_code == 0 ? r->enabled_for & ~bit : r->enabled_for | bit;
            run_callback(m->index, &m->source, m->control_code, m->level, m->any, m->all);
            if (r->handle == handle && r->owed) {
                r->owed--;
                pthread_cond_broadcast(&LIFE.changed);
            }
        }
    }
    return send_bytes(&ack, sizeof ack, NULL, 0);
}

static bool on_hello(struct message *m)
{
    if (m->hello.header.status != W_SUCCESS || m->hello.highest_version != CTL_VERSION || m->fd[0] < 0)
        return false;
    int fd   = m->fd[0];
    m->fd[0] = -1;
    if (!attach_directory(fd))
        return false;
    LIFE.state = AGENT_CONNECTED;
    return announce();
}

/* A successor has adopted this connection: streams, slots and answers of before hold. What its predecessor did not live to
 * answer is asked again by the announce() that follows every round of messages. */
static bool on_adopted(void)
{
    for (unsigned i = 0; i < al_used; i++)
        if (!al_table[i].answered)
            al_table[i].announced = 0;
    return true;
}

/* A message must have the size that its type needs, as received. */
static bool handle(struct message *m)
{
    const struct ctl_header *h = &m->header;
    if (m->size < sizeof *h || h->size != m->size || h->version != CTL_VERSION)
        return false;
    switch (h->type) {
    case CTL_HELLO:
        if (m->size < sizeof m->hello)
            return false;
        return LIFE.state == AGENT_CONNECTED ? on_adopted() : on_hello(m);
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
    case CTL_ENABLE: return m->size >= sizeof m->enable && on_enable(&m->enable);
    default: return true; /* a newer daemon says something we need not know */
    }
}

/* 1: a message; 0: none now; -1: the connection is over. */
static int receive(struct message *m)
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

/* The daemon is gone for good: everything is detached, the registrations stay. Lock held. */
static void disconnect(void)
{
    static const struct guid nobody;
    known_fd_close(&LIFE.socket);
    process_keep_socket();
    attach_drop_all();
    LIFE.state = AGENT_NO_DAEMON;
    for (unsigned i = 0; i < al_used; i++) {
        struct registration *r = &al_table[i];
        uint32_t             told = r->enabled_for;
        r->announced              = 0;
        r->answered = r->owed = r->enabled_for = 0;
        __atomic_store_n(&r->slot, NULL, __ATOMIC_RELEASE);
        registration_recompute(i);
        if (told && r->handle)
            run_callback(i, &nobody, 0, 0, 0, 0);
    }
    pthread_cond_broadcast(&LIFE.changed);
}

static bool say_hello(void)
{
    struct ctl_hello h = {.header = {sizeof h, CTL_HELLO, CTL_VERSION, 1, 0}, .highest_version = CTL_VERSION,
                          .shm_major = SHM_MAJOR};
    return send_bytes(&h, sizeof h, NULL, 0);
}

/* Lock held. Messages until none is left; false when the connection is over. */
static bool serve(struct message *m)
{
    int got;
    while ((got = receive(m)) > 0) {
        bool ok = handle(m);
        for (unsigned i = 0; i < FDS_MAX; i++)
            if (m->fd[i] >= 0)
                close(m->fd[i]);
        if (!ok)
            return false;
    }
    return got == 0 && (LIFE.state != AGENT_CONNECTED || announce());
}

static void wait_connected(void)
{
    struct pollfd p[2] = {{.fd = LIFE.socket.fd, .events = POLLIN}, {.fd = LIFE.wake.fd, .events = POLLIN}};
    uint64_t      n;
    process_unlock();
    poll(p, 2, 10000); /* a program that closed our descriptors is found out at the next turn */
    process_lock();
    if (known_fd_ok(&LIFE.wake)) {
        ssize_t got = read(LIFE.wake.fd, &n, sizeof n);
        (void)got;
    } else {
        LIFE.wake.open = false;
    }
}

void *agent_main(void *unused)
{
    static struct message message; /* one agent per process; too large for a small stack */
    (void)unused;
    process_lock();
    LIFE.agent = pthread_self();
    for (;;) {
        if (!connect_daemon(&LIFE.socket) && !connect_or_wait(&LIFE.socket))
            continue;
        process_keep_socket();
        LIFE.state = AGENT_STARTING;
        LIFE.epoch++;
        if (say_hello())
            while (serve(&message))
                wait_connected();
        disconnect();
    }
    return NULL;
}
