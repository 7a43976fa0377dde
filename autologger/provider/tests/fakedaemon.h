/* fakedaemon.h - the daemon's side of autologger/wire/control.h in a thread of the test, with real streams.
 * Enough to register, enable, disable, detach, die and come back. Test code: it aborts when something is impossible. */
#ifndef PROVIDER_TESTS_FAKEDAEMON_H
#define PROVIDER_TESTS_FAKEDAEMON_H
#include "autologger/ring/quiesce.h"
#include "autologger/ring/stream.h"
#include "autologger/wire/control.h"
#include "autologger/wire/etl.h"
#include "autologger/wire/filter.h"
#include "registry-sim/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { FAKE_CLIENTS = 16, FAKE_PROVIDERS = 64, FAKE_SESSIONS = 8, FAKE_REGS = 2048 };

static inline uint64_t raw_now_ns(void) { return os_linux()->raw_ns(os_linux()); }

struct fake_session {
    struct stream_set *set;
    int                eventfd;
    uint32_t           generation;
    struct guid        guid;
};
struct fake_reg {
    int      client; /* -1 = free */
    uint32_t index, slot;
};
struct fakedaemon {
    char                  dir[64];
    pthread_mutex_t       lock;
    pthread_cond_t        changed;
    pthread_t             thread;
    int                   listener, stop[2];
    int                   client[FAKE_CLIENTS];   /* -1 = free */
    uint32_t              attached[FAKE_CLIENTS]; /* bit per session */
    unsigned              owed[FAKE_CLIENTS];     /* CTL_ENABLE not acknowledged yet */
    struct shm_directory *directory;
    int                   directory_fd, directory_ro;
    struct fake_session   session[FAKE_SESSIONS];
    struct fake_reg       reg[FAKE_REGS];
    unsigned              registers, unregisters, acks, hellos;
    uint32_t              ticket;
    uint8_t               traits[256]; /* of the last CTL_REGISTER */
    uint32_t              traits_size;
    unsigned              traits_told; /* CTL_REGISTER for existing registrations */
    struct stream_record  record;
    unsigned              record_stream;
    int                   record_session;
};

#define FAKE_CHECK(x) \
    do { \
        if (!(x)) { \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #x, strerror(errno)); \
            abort(); \
        } \
    } while (0)

static inline void fake_send(int fd, const void *data, size_t size, const int *fds, unsigned count)
{
    char          space[CMSG_SPACE(sizeof(int) * 3)] __attribute__((aligned(8))) = {0};
    struct iovec  v                                                              = {(void *)(uintptr_t)data, size};
    struct msghdr m                                                              = {.msg_iov = &v, .msg_iovlen = 1};
    if (count) {
        m.msg_control     = space;
        m.msg_controllen  = CMSG_SPACE(sizeof(int) * count);
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level     = SOL_SOCKET;
        c->cmsg_type      = SCM_RIGHTS;
        c->cmsg_len       = CMSG_LEN(sizeof(int) * count);
        memcpy(CMSG_DATA(c), fds, sizeof(int) * count);
    }
    (void)!sendmsg(fd, &m, MSG_NOSIGNAL); /* the client may be gone */
}

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FAKE_OWN_MEMORY_GROWS /* ThreadSanitizer's memory grows with every access */
#endif
#endif
/* This process' resident memory; 0 where it does not show the library's. */
static inline unsigned long fake_resident_kb(void)
{
    unsigned long kb = 0;
#ifndef FAKE_OWN_MEMORY_GROWS
    char  line[128];
    FILE *f = fopen("/proc/self/status", "re");
    FAKE_CHECK(f);
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "VmRSS: %lu kB", &kb) == 1)
            break;
    fclose(f);
    FAKE_CHECK(kb > 0);
#endif
    return kb;
}

static inline void fake_attach(struct fakedaemon *d, int c, unsigned s)
{
    struct fake_session *f = &d->session[s];
    if (d->attached[c] & (1u << s))
        return;
    d->attached[c] |= 1u << s;
    struct ctl_attach m      = {{sizeof m, CTL_ATTACH, CTL_VERSION, 0, 0}, s, f->generation, f->guid};
    int               fds[3] = {stream_set_data_fd(f->set), stream_set_control_fd_readonly(f->set), f->eventfd};
    fake_send(d->client[c], &m, sizeof m, fds, 3);
}
static inline void fake_enable_message(struct fakedaemon *d, const struct fake_reg *r, unsigned e, uint32_t code)
{
    const struct shm_enable *en = &d->directory->provider[r->slot].enable[e];
    struct ctl_enable        m  = {.header       = {sizeof m, CTL_ENABLE, CTL_VERSION, 0, 0},
                                   .index        = r->index,
                                   .enable_index = e,
                                   .control_code = code,
                                   .level        = en->level,
                                   .any          = en->any,
                                   .all          = en->all,
                                   .source       = d->session[en->session].guid,
                                   .ticket       = ++d->ticket};
    d->owed[r->client]++;
    fake_send(d->client[r->client], &m, sizeof m, NULL, 0);
}

/* The slot of a provider, created when it is missing. */
static inline uint32_t fake_slot(struct fakedaemon *d, const struct guid *guid)
{
    for (uint32_t i = 0; i < FAKE_PROVIDERS; i++) {
        struct shm_provider *p = &d->directory->provider[i];
        if ((p->generation & 1) && guid_equal(&p->guid, guid))
            return i;
        if (!(p->generation & 1)) {
            p->guid = *guid;
            p->generation++;
            return i;
        }
    }
    abort();
}

static inline void fake_register(struct fakedaemon *d, int c, const struct ctl_register *m, size_t size)
{
    struct ctl_registered a = {{sizeof a, CTL_REGISTER, CTL_VERSION, m->header.sequence, 0}, m->index, 0, 0, 0};
    struct fake_reg      *r = NULL;
    if (m->header.status & CTL_REGISTER_TRAITS) {
        d->traits_size = m->traits_size < sizeof d->traits ? m->traits_size : sizeof d->traits;
        memcpy(d->traits, m + 1, d->traits_size);
        d->traits_told++;
        return;
    }
    for (unsigned i = 0; i < FAKE_REGS && !r; i++)
        if (d->reg[i].client < 0)
            r = &d->reg[i];
    FAKE_CHECK(r && size == sizeof *m + m->traits_size);
    if (m->traits_size) {
        d->traits_size = m->traits_size < sizeof d->traits ? m->traits_size : sizeof d->traits;
        memcpy(d->traits, m + 1, d->traits_size);
    }
    *r                     = (struct fake_reg){c, m->index, fake_slot(d, &m->provider)};
    struct shm_provider *p = &d->directory->provider[r->slot];
    a.slot                 = r->slot;
    a.generation           = p->generation;
    for (unsigned e = 0; e < SHM_PROVIDER_SESSIONS; e++)
        if (p->enable[e].enabled) {
            fake_attach(d, c, p->enable[e].session);
            a.enabled_count++;
        }
    fake_send(d->client[c], &a, sizeof a, NULL, 0);
    for (unsigned e = 0; e < SHM_PROVIDER_SESSIONS; e++)
        if (p->enable[e].enabled)
            fake_enable_message(d, r, e, 1);
    d->registers++;
}

static inline void fake_drop_client(struct fakedaemon *d, int c)
{
    close(d->client[c]);
    d->client[c]   = -1;
    d->attached[c] = d->owed[c] = 0;
    for (unsigned i = 0; i < FAKE_REGS; i++)
        if (d->reg[i].client == c)
            d->reg[i].client = -1;
}

static inline void fake_message(struct fakedaemon *d, int c)
{
    static union {
        struct ctl_header     header;
        struct ctl_register   reg;
        struct ctl_unregister unreg;
        uint8_t               bytes[CTL_MAX];
    } m;
    ssize_t n = recv(d->client[c], &m, sizeof m, MSG_DONTWAIT);
    if (n <= 0) {
        if (n == 0 || errno != EAGAIN)
            fake_drop_client(d, c);
        return;
    }
    FAKE_CHECK((size_t)n >= sizeof m.header && m.header.size == (uint32_t)n && m.header.version == CTL_VERSION);
    switch (m.header.type) {
    case CTL_HELLO: {
        struct ctl_hello h = {.header          = {sizeof h, CTL_HELLO, CTL_VERSION, m.header.sequence, 0},
                              .highest_version = 1,
                              .shm_major       = SHM_MAJOR,
                              .processors      = 2,
                              .daemon_instance = 1};
        fake_send(d->client[c], &h, sizeof h, &d->directory_ro, 1);
        d->hellos++;
        break;
    }
    case CTL_REGISTER: fake_register(d, c, &m.reg, (size_t)n); break;
    case CTL_UNREGISTER:
        for (unsigned i = 0; i < FAKE_REGS; i++)
            if (d->reg[i].client == c && d->reg[i].index == m.unreg.index)
                d->reg[i].client = -1;
        d->unregisters++;
        break;
    case CTL_ENABLE_ACK:
        d->acks++;
        d->owed[c] -= d->owed[c] != 0;
        break;
    default: abort();
    }
}

static inline void *fake_main(void *arg)
{
    struct fakedaemon *d = arg;
    for (;;) {
        struct pollfd p[FAKE_CLIENTS + 2] = {{d->stop[0], POLLIN, 0}, {d->listener, POLLIN, 0}};
        for (int i = 0; i < FAKE_CLIENTS; i++)
            p[i + 2] = (struct pollfd){d->client[i], POLLIN, 0};
        poll(p, FAKE_CLIENTS + 2, -1);
        pthread_mutex_lock(&d->lock);
        if (p[0].revents) {
            pthread_mutex_unlock(&d->lock);
            return NULL;
        }
        for (int i = 0; i < FAKE_CLIENTS; i++)
            if (p[i + 2].revents && d->client[i] >= 0)
                fake_message(d, i);
        if (p[1].revents)
            for (int i = 0; i < FAKE_CLIENTS; i++)
                if (d->client[i] < 0) {
                    d->client[i] = accept4(d->listener, NULL, NULL, SOCK_CLOEXEC);
                    break;
                }
        pthread_cond_broadcast(&d->changed);
        pthread_mutex_unlock(&d->lock);
    }
}

static inline void fake_make_directory(struct fakedaemon *d)
{
    const uint32_t at   = sizeof(struct shm_directory) + FAKE_PROVIDERS * sizeof(struct shm_provider);
    uint64_t       size = at + SHM_FILTER_BYTES;
    d->directory_fd     = memfd_create("fake-directory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    FAKE_CHECK(d->directory_fd >= 0 && ftruncate(d->directory_fd, (off_t)size) == 0);
    FAKE_CHECK(fcntl(d->directory_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", d->directory_fd);
    d->directory_ro = open(path, O_RDONLY | O_CLOEXEC);
    d->directory    = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, d->directory_fd, 0);
    FAKE_CHECK(d->directory_ro >= 0 && d->directory != MAP_FAILED);
    d->directory->header =
        (struct shm_header){SHM_MAGIC_DIRECTORY, SHM_MAJOR, SHM_MINOR, sizeof *d->directory, 0, size};
    d->directory->provider_count  = FAKE_PROVIDERS;
    d->directory->provider_offset = sizeof *d->directory;
    d->directory->filter_offset   = at;
    d->directory->filter_bytes    = SHM_FILTER_BYTES;
}

/* Makes a runtime folder and sets the environment; no daemon yet. */
static inline void fakedaemon_init(struct fakedaemon *d)
{
    memset(d, 0, sizeof *d);
    strcpy(d->dir, "/tmp/fakedaemon-XXXXXX");
    FAKE_CHECK(mkdtemp(d->dir));
    setenv("AUTOLOGGER_RUNTIME_DIR", d->dir, 1);
}
static inline void fakedaemon_start(struct fakedaemon *d)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    char               dir[64];
    memcpy(dir, d->dir, sizeof dir);
    memset(d, 0, sizeof *d);
    memcpy(d->dir, dir, sizeof dir);
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->changed, NULL);
    for (unsigned i = 0; i < FAKE_CLIENTS; i++)
        d->client[i] = -1;
    for (unsigned i = 0; i < FAKE_REGS; i++)
        d->reg[i].client = -1;
    d->record_session = -1;
    fake_make_directory(d);
    snprintf(a.sun_path, sizeof a.sun_path, "%s/control", d->dir);
    unlink(a.sun_path);
    d->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    FAKE_CHECK(bind(d->listener, (struct sockaddr *)&a, sizeof a) == 0 && listen(d->listener, 16) == 0);
    FAKE_CHECK(pipe2(d->stop, O_CLOEXEC) == 0);
    FAKE_CHECK(pthread_create(&d->thread, NULL, fake_main, d) == 0);
}
static inline void fakedaemon_stop(struct fakedaemon *d)
{
    FAKE_CHECK(write(d->stop[1], "x", 1) == 1);
    pthread_join(d->thread, NULL);
    for (int i = 0; i < FAKE_CLIENTS; i++)
        if (d->client[i] >= 0)
            close(d->client[i]);
    for (unsigned i = 0; i < FAKE_SESSIONS; i++)
        if (d->session[i].set) {
            stream_set_destroy(d->session[i].set);
            close(d->session[i].eventfd);
        }
    munmap(d->directory, d->directory->header.size);
    close(d->directory_fd);
    close(d->directory_ro);
    close(d->listener);
    close(d->stop[0]);
    close(d->stop[1]);
    char path[96];
    snprintf(path, sizeof path, "%s/control", d->dir);
    unlink(path);
}
static inline void fakedaemon_finish(struct fakedaemon *d) { rmdir(d->dir); }

/* Waits until `*counter` is at least `wanted` (2 s). */
static inline int fakedaemon_wait(struct fakedaemon *d, const unsigned *counter, unsigned wanted)
{
    struct timespec until;
    int             error = 0;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 2;
    pthread_mutex_lock(&d->lock);
    while (*counter < wanted && error == 0)
        error = pthread_cond_timedwait(&d->changed, &d->lock, &until);
    pthread_mutex_unlock(&d->lock);
    return error == 0;
}

/* Waits until every CTL_ENABLE is acknowledged (2 s). */
static inline void fakedaemon_wait_acks(struct fakedaemon *d)
{
    for (int tries = 0; tries < 2000; tries++) {
        unsigned owed = 0;
        pthread_mutex_lock(&d->lock);
        for (int c = 0; c < FAKE_CLIENTS; c++)
            owed += d->owed[c];
        pthread_mutex_unlock(&d->lock);
        if (!owed)
            return;
        usleep(tries < 20 ? 50 : 1000);
    }
    errno = ETIMEDOUT;
    FAKE_CHECK(false);
}

static inline void fakedaemon_session(struct fakedaemon *d, unsigned s, uint32_t buffer_bytes, uint32_t chunks)
{
    struct stream_config c = {.cpus        = (unsigned)sysconf(_SC_NPROCESSORS_CONF),
                              .chunk_count = chunks,
                              .pool        = chunks,
                              .chunk_shift = stream_chunk_shift(buffer_bytes),
                              .clock_kind  = CLOCK_READ_TSC,
                              .session     = s,
                              .max_event   = buffer_bytes - 72 < 65535 ? buffer_bytes - 72 : 65535,
                              .uid         = getuid()};
    static uint32_t      generation;
    struct fake_session *f = &d->session[s];
    c.session_generation = f->generation = ++generation;
    f->guid                              = (struct guid){0x5E550000 + s, 1, 2, {3}};
    f->eventfd                           = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    FAKE_CHECK(f->eventfd >= 0 && stream_set_create(os_linux(), &c, &f->set, NULL) == 0);
    stream_set_open(f->set, true);
}

static inline void fake_tell(struct fakedaemon *d, uint32_t slot, unsigned e, uint32_t code, unsigned s)
{
    for (unsigned i = 0; i < FAKE_REGS; i++)
        if (d->reg[i].client >= 0 && d->reg[i].slot == slot) {
            fake_attach(d, d->reg[i].client, s);
            fake_enable_message(d, &d->reg[i], e, code);
        }
}
/* Enables (or changes) provider `guid` in session `s`, as enable index `s`, and waits for all acknowledgements.
 * `filter` may be NULL. */
static inline void fakedaemon_enable_filtered(struct fakedaemon *d, unsigned s, const void *guid, uint8_t level,
                                              uint64_t any, uint64_t all, uint8_t flags,
                                              const struct filter_block *filter)
{
    struct guid g;
    memcpy(&g, guid, sizeof g);
    pthread_mutex_lock(&d->lock);
    uint32_t             slot = fake_slot(d, &g);
    struct shm_provider *p    = &d->directory->provider[slot];
    struct shm_enable    e    = p->enable[s];
    for (unsigned i = 0; i < FAKE_REGS; i++)
        if (d->reg[i].client >= 0 && d->reg[i].slot == slot)
            fake_attach(d, d->reg[i].client, s);
    e.enabled = SHM_ENABLED_PLAINLY, e.level = level, e.session = (uint8_t)s, e.flags = flags, e.any = any, e.all = all,
    e.generation++;
    if (filter) { /* in the other one of two places */
        const uint32_t offset =
            (uint32_t)(2 * s + 1 + (p->filter[s] == (2 * s + 1) * FILTER_BLOCK_MAX)) * FILTER_BLOCK_MAX;
        FAKE_CHECK(offset + filter->size <= SHM_FILTER_BYTES);
        memcpy((uint8_t *)d->directory + d->directory->filter_offset + offset, filter, filter->size);
        __atomic_store_n(&p->filter[s], offset, __ATOMIC_SEQ_CST);
        __atomic_fetch_or(&p->filtered, (uint8_t)(1u << s), __ATOMIC_SEQ_CST);
        e.enabled = SHM_ENABLED_FILTERED;
    }
    p->enable[s].any = any;
    p->enable[s].all = all;
    uint64_t first;
    memcpy(&first, &e, sizeof first);
    __atomic_store_n((uint64_t *)(void *)&p->enable[s], first, __ATOMIC_SEQ_CST);
    if (!filter)
        __atomic_fetch_and(&p->filtered, (uint8_t) ~(1u << s), __ATOMIC_SEQ_CST);
    __atomic_fetch_or(&p->mask, (uint8_t)(1u << s), __ATOMIC_SEQ_CST);
    fake_tell(d, slot, s, 1, s);
    pthread_mutex_unlock(&d->lock);
    fakedaemon_wait_acks(d);
}
static inline void fakedaemon_enable(struct fakedaemon *d, unsigned s, const void *guid, uint8_t level, uint64_t any,
                                     uint64_t all, uint8_t flags)
{
    fakedaemon_enable_filtered(d, s, guid, level, any, all, flags, NULL);
}
static inline void fakedaemon_disable(struct fakedaemon *d, unsigned s, const void *guid)
{
    struct guid g;
    memcpy(&g, guid, sizeof g);
    pthread_mutex_lock(&d->lock);
    uint32_t             slot = fake_slot(d, &g);
    struct shm_provider *p    = &d->directory->provider[slot];
    __atomic_fetch_and(&p->mask, (uint8_t) ~(1u << s), __ATOMIC_SEQ_CST);
    __atomic_fetch_and(&p->filtered, (uint8_t) ~(1u << s), __ATOMIC_SEQ_CST);
    p->enable[s].generation++;
    p->enable[s].enabled = 0;
    p->filter[s]         = 0;
    fake_tell(d, slot, s, 0, s);
    pthread_mutex_unlock(&d->lock);
    quiesce_all_cpus(NULL);
    fakedaemon_wait_acks(d);
}
/* Stops session `s` without disabling anything first, and tells everybody. */
static inline void fakedaemon_detach(struct fakedaemon *d, unsigned s)
{
    pthread_mutex_lock(&d->lock);
    stream_set_open(d->session[s].set, false);
    for (int c = 0; c < FAKE_CLIENTS; c++)
        if (d->client[c] >= 0 && (d->attached[c] & (1u << s))) {
            struct ctl_detach m = {{sizeof m, CTL_DETACH, CTL_VERSION, 0, 0}, s, d->session[s].generation};
            fake_send(d->client[c], &m, sizeof m, NULL, 0);
            d->attached[c] &= ~(1u << s);
        }
    pthread_mutex_unlock(&d->lock);
}

/* The next event of session `s` over all its streams, oldest stream first; NULL when there is none. */
static inline const struct stream_record *fakedaemon_next(struct fakedaemon *d, unsigned s)
{
    struct stream_set *set = d->session[s].set;
    if (d->record_session >= 0)
        stream_pop(d->session[d->record_session].set, d->record_stream);
    d->record_session = -1;
    stream_snapshot(set);
    struct stream_record best = {0}, r;
    for (unsigned i = 0; i < stream_set_count(set); i++) {
        stream_release(set, i, stream_position(set, i));
        if (stream_peek(set, i, &r) && (!best.data || r.time < best.time)) {
            best              = r;
            d->record_stream  = i;
            d->record_session = (int)s;
        }
    }
    d->record = best;
    return best.data ? &d->record : NULL;
}
static inline unsigned fakedaemon_count(struct fakedaemon *d, unsigned s)
{
    unsigned n = 0;
    while (fakedaemon_next(d, s))
        n++;
    return n;
}
#endif
