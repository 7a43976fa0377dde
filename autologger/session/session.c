#include "autologger/session/session.h"

#include "autologger/ring/quiesce.h"
#include "autologger/session/internal.h"
#include "registry-sim/base/visible_print.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

size_t state_slot_bytes(unsigned cpus)
{
    return sizeof(struct state_slot) + sizeof(uint64_t) * ((size_t)(STATE_UIDS + 1) * (2 * cpus + 1) + cpus + 1);
}

enum { NO_SYSCONFIG = 0x10000000, TRACEPOINT_RING = 1 << 20, USER_STACK_RING = 8 << 20, PAGE_SHIFT = 12 };

/* Without the part for a ring in memory. */
static uint64_t streams_bytes(const struct state_session *st)
{
    return st->memory_bytes >> (st->log_file_mode & ETL_MODE_BUFFERING ? 1 : 0);
}

/* The chunks that MaximumBuffers pays for. */
uint32_t session_budget(const struct state_session *st, uint32_t chunk_shift)
{
    const uint32_t budget = (uint32_t)(streams_bytes(st) >> (chunk_shift + (st->tracepoint_count && !st->kernel))),
                   least  = st->cpus + 1;
    /* MaximumBuffers is for one CPU here; programs write on all */
    return budget < least && st->log_file_mode & ETL_MODE_NO_PER_PROCESSOR ? least : budget ? budget : 1;
}

/* Address space alone: memory is used when it is granted. The keeper (daemon/early/alraw.c) saves at most 1 GB. */
uint32_t session_capacity(uint32_t budget, uint32_t chunk_shift)
{
    enum { TIMES = 4, LEAST_BYTES = 16 << 20, MOST_BYTES = 512 << 20 };
    const uint32_t most = (uint32_t)MOST_BYTES >> chunk_shift, least = budget + ((uint32_t)LEAST_BYTES >> chunk_shift);
    const uint32_t wanted = budget < most / TIMES ? budget * TIMES : most, room = wanted > least ? wanted : least;
    return budget < most ? room < most ? room : most : budget;
}

uint64_t session_raw_bytes(const struct state_session *st) { return streams_bytes(st) / (st->kernel ? 1 : 2); }

void session_keep(struct session *s, const char *kind, int number, int fd)
{
    char name[64];
    if (!s->env->keep)
        return;
    if (number >= 0)
        snprintf(name, sizeof name, "%s:%u:%d", kind, s->state->index, number);
    else
        snprintf(name, sizeof name, "%s:%u", kind, s->state->index);
    s->env->keep(s->env->keep_ctx, name, fd, 0);
}

void session_keep_klog(void *ctx, const char *klog_name, int fd, size_t ring_bytes)
{
    struct session *s = ctx;
    char            name[128];
    snprintf(name, sizeof name, "klog:%u:%s", s->state->index, klog_name);
    s->env->keep(s->env->keep_ctx, name, fd, ring_bytes);
}

void session_keep_klogs(struct session *s)
{
    if (s->klog && s->env->keep)
        klog_fds(s->klog, session_keep_klog, s);
}

static void note_condition(void *ctx, wstatus number, bool note, const char *item, const char *reason,
                           const char *advice)
{
    condition_add(ctx, number, note, item, "", 0, advice, "%s", reason);
}

void session_klog_config(const struct session *s, struct condition_list *found, struct klog_config *c)
{
    const struct state_session *st = s->state;
    *c                             = (struct klog_config){.hook_count          = st->hook_count,
                                                          .raw_bytes           = session_raw_bytes(st),
                                                          .clock               = s->clock,
                                                          .units               = st->units,
                                                          .proc_fd             = s->env->proc_fd,
                                                          .kernel_phase        = s->env->kernel_phase && st->phase,
                                                          .condition           = note_condition,
                                                          .condition_ctx       = found,
                                                          .system_config       = s->env->system_config,
                                                          .devices             = st->devices,
                                                          .user_stack_bytes    = st->user_stack_bytes,
                                                          .stack_cache_bytes   = st->stack_cache_bytes,
                                                          .stack_cache_buckets = st->stack_cache_buckets,
                                                          .ring_bytes          = st->user_stack_bytes ? USER_STACK_RING : 0};
    memcpy(c->mask, st->group_mask, sizeof c->mask);
    c->raw_most         = (uint64_t)session_capacity((uint32_t)(c->raw_bytes >> PAGE_SHIFT), PAGE_SHIFT) << PAGE_SHIFT;
    c->tracepoints      = s->state->tracepoint;
    c->tracepoint_count = st->tracepoint_count;
    if (!st->kernel) { /* tracepoints alone: no flags, half of the memory, smaller rings */
        memset(c->mask, 0, sizeof c->mask);
        c->mask[0]    = NO_SYSCONFIG;
        c->hook_count = 0;
        c->ring_bytes = TRACEPOINT_RING;
        /* the main buffer is a kernel session's, else the first such session's */
        c->kernel_phase   = s->env->kernel_phase;
        c->phase_instance = !st->phase && s->env->phase_taken ? s->phase_instance : NULL;
    }
    memcpy(c->hooks, st->hooks, sizeof c->hooks);
}

bool session_wants_kernel(const struct session *s)
{
    return s->state->kernel || (s->state->tracepoint_count && s->state->kernel_open != STATE_KERNEL_REFUSED);
}

/* Common to new and adopted sessions. */
wstatus session_setup(struct session *s, struct reason *why)
{
    const struct state_session *st   = s->state;
    bool                        slow = false;
    struct epoll_event          wake = {.events = EPOLLIN};

    s->wake_fd  = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (s->wake_fd < 0 || s->epoll_fd < 0 || epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, s->wake_fd, &wake) < 0)
        return reason_set(why, wstatus_from_errno(errno), "cannot create the session's descriptors: %s",
                          strerror(errno));
    s->clock           = clock_for_type(st->clock_type, &s->env->machine, &slow);
    const bool instead = s->clock.type != st->clock_type;
    if (slow && !instead)
        condition_add(&s->conditions, W_NOT_SUPPORTED, true, "ClockType", "", 0,
                      "expect a higher cost per event, or choose ClockType 2",
                      "this clock needs more than the CPU's time-stamp counter: %s", s->env->machine.why_not);
    if (instead)
        condition_add(&s->conditions, W_NOT_SUPPORTED, true, "ClockType", "", 0,
                      slow ? "expect a higher cost per event, or choose ClockType 2"
                           : "nothing: times are right; or declare ClockType QPC",
                      "CPUCycle cannot be used here, so QPC is used: %s", s->env->machine.why_not);
    s->chunk_shift   = stream_chunk_shift(st->buffer_kb * 1024u);
    s->budget_chunks = session_budget(st, s->chunk_shift);
    wstatus status   = s->env->realtime && st->log_file_mode & ETL_MODE_REAL_TIME
                           ? s->env->realtime->create(s, &s->realtime, why)
                           : W_SUCCESS;
    return status ? status : logger_create(s, &s->logger, why);
}

wstatus session_new(struct session_env *env, struct directory *directory, struct session **out, struct reason *why)
{
    struct session *s = calloc(1, sizeof *s);
    if (!s)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the session");
    s->env       = env;
    s->directory = directory;
    s->state_fd = s->wake_fd = s->epoll_fd = s->ring_fd = s->private_fd = -1;
    pthread_mutex_init(&s->lock, NULL);
    *out = s;
    return W_SUCCESS;
}

void session_copy_text(char *out, size_t capacity, const char *text)
{
    snprintf(out, capacity, "%s", text ? text : "");
}

wstatus session_owner_begin(const struct session_env *env, const struct state_owner *o, struct reason *why)
{
    return o->set && env->owner ? env->owner->begin(o, why) : W_SUCCESS;
}

void session_owner_end(const struct session_env *env, const struct state_owner *o)
{
    if (o->set && env->owner)
        env->owner->end(o);
}

struct os *session_owner_os(const struct session_env *env, const struct state_owner *o)
{
    return o->set && env->owner ? env->owner->os(env->os) : env->os;
}

wstatus session_owner_path(const struct session_env *env, const struct state_owner *o, const char *path,
                           struct reason *why)
{
    struct os     *os = session_owner_os(env, o);
    struct os_stat there;
    const int      r = os == env->os ? 0 : os->lstat(os, path, &there);
    return r == -EXDEV
               ? reason_set(
                     why, W_ACCESS_DENIED,
                     "%s: a program serves a part of this path (FUSE), and may never answer. Do: choose a folder on a local disk",
                     path)
           : r == -ELOOP
               ? reason_set(why, W_ACCESS_DENIED,
                            "%s: this path leads through /proc, or through too many links. Do: name the folder itself",
                            path)
               : W_SUCCESS;
}

wstatus session_kernel_open(const struct session *s, struct klog **out, struct condition_list *found,
                            struct reason *why)
{
    struct klog_config config;
    session_klog_config(s, found, &config);
    s->env->phase_taken |= config.kernel_phase;
    s->state->phase |= config.kernel_phase && !config.phase_instance;
    return (s->env->kernel_open ? s->env->kernel_open : klog_create)(&config, out, why);
}

/* Without tracepoints a session of programs goes on. */
void session_without_tracepoints(struct session *s, const struct reason *why)
{
    for (unsigned i = 0; i < s->state->tracepoint_count; i++)
        condition_add(&s->conditions, why->status, false, s->state->tracepoint[i].name, "", 0,
                      why->status == W_PRIVILEGE_NOT_HELD ? "run with CAP_PERFMON, or as root" : "see the reason",
                      "its tracepoints could not be opened: %s", why->text);
    s->state->kernel_open = STATE_KERNEL_REFUSED;
}

wstatus session_kernel_start(struct session *s, struct klog *klog, struct condition_list *found, struct reason *why)
{
    s->klog = klog;
    for (unsigned i = 0; i < found->count; i++) {
        const struct condition *c = &found->items[i];
        condition_add(&s->conditions, c->number, c->note, c->item, c->source_file, c->source_line, c->advice, "%s",
                      c->reason);
    }
    condition_list_finish(found);
    if (klog) {
        klog_tell(klog, &s->conditions);
        session_keep_klogs(s);
        s->state->kernel_open = STATE_KERNEL_OPEN;
    } else {
        session_without_tracepoints(s, why);
    }
    return session_start(s, why);
}

wstatus session_enable(struct session *s, const struct guid *provider, const char *key,
                       const struct enable_terms *terms, unsigned *slot, unsigned *entry, struct reason *why)
{
    int                  found = directory_get(s->directory, provider);
    struct state_enable *e     = NULL;

    if (strlen(key) >= sizeof e->key)
        return reason_set(why, W_FILENAME_EXCED_RANGE,
                          "the path of the provider's key has %zu bytes, more than %zu. Do: choose a shorter name",
                          strlen(key), sizeof e->key - 1);
    for (unsigned i = 0; i < STATE_ENABLES && !e; i++)
        if (!*s->state->enable[i].key) /* never used: an ended one keeps its place, for reports about it */
            e = &s->state->enable[i];
    if (found < 0 || !e)
        return reason_set(why, W_NO_SYSTEM_RESOURCES, "all %d provider places are taken",
                          found < 0 ? SHM_PROVIDERS : STATE_ENABLES);
    session_expect(s, terms->filter);
    wstatus st = directory_enable(s->directory, (unsigned)found, s->state->index, terms, entry, why);
    if (st)
        return st;
    *slot            = (unsigned)found;
    e->slot          = (uint32_t)found;
    e->entry         = *entry;
    e->registrations = s->directory->registrations[found];
    e->guid          = *provider;
    for (unsigned u = 0; u < s->uid_count; u++)
        stream_refused_forget(s->uid[u].streams, *slot);
    session_copy_text(e->units, sizeof e->units, terms->units);
    if (*key) /* its first byte last: a running logger takes a place with a key as complete */
        memcpy(e->key + 1, key + 1, strlen(key));
    __atomic_store_n(e->key, *key, __ATOMIC_RELEASE);
    __atomic_store_n(&e->in_use, 1, __ATOMIC_RELEASE);
    return W_SUCCESS;
}

void session_tight(const struct session_env *env)
{
    int fd = env->tight_file ? open(env->tight_file, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
    if (fd >= 0)
        close(fd);
}

/* While no file may be written, no consumer waits for the rings' records. */
enum { DRAIN_MS = 100, DRAIN_HELD_MS = 5000, DRAIN_NICE = -20 };

/* On a busy machine a ring is full before an ordinary thread has its turn, however nice the others are. What a turn
 * costs is bounded by what the rings hold. If refused (a daemon without the right): the highest ordinary priority, or
 * an unchanged one. */
static void session_come_first(void)
{
    const struct sched_param least = {.sched_priority = 1};
    if (sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &least) < 0)
        setpriority(PRIO_PROCESS, (id_t)gettid(), DRAIN_NICE);
}

/* Recording has ended. */
static void come_last(void)
{
    sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0});
    setpriority(PRIO_PROCESS, (id_t)gettid(), 0);
}

/* During a long pass no records are taken from the kernel. */
static void tell_slow_pass(struct session *s)
{
    enum { SLOW_MS = 1000 };
    const uint64_t one = 1, ms = klog_pass_ns(s->klog) / 1000000;
    if (ms < SLOW_MS || ms < 2 * atomic_load(&s->drain_slowest_ms))
        return;
    atomic_store(&s->drain_slowest_ms, ms);
    visible_line(
        stderr,
        "autologgerd: session %s: what the kernel recorded was not taken for %llu ms: what its memory cannot hold meanwhile is lost, and counted",
        s->state->name, (unsigned long long)ms);
    (void)!write(s->env->changed_fd, &one, sizeof one);
}

void session_drain_look(struct session *s)
{
    const uint64_t ms = atomic_load(&s->drain_slowest_ms);
    if (!ms || s->drain_noted)
        return;
    s->drain_noted = true;
    condition_add(
        &s->conditions, W_TIMEOUT, true, "kernel-drain", "", 0,
        "look for a process whose memory map or command line cannot be read at once (ps hangs at it, too); else raise MaximumBuffers",
        "what the kernel recorded was not taken for %llu ms: what its memory cannot hold meanwhile is lost, and counted",
        (unsigned long long)ms);
}

static void wake(struct session *s)
{
    uint64_t one = 1;
    if (s->wake_fd >= 0)
        (void)!write(s->wake_fd, &one, sizeof one);
}

/* The kernel logger has stopped: the logger may write the rest. */
static void logger_end(struct session *s)
{
    atomic_store(&s->stop, true);
    wake(s);
}

/* S7 */
static void *drain_main(void *ctx)
{
    struct session *s   = ctx;
    uint64_t        one = 1;
    pthread_setname_np(pthread_self(), "kernel-drain");
    session_come_first();
    while (atomic_load(&s->drain_goal) == DRAIN_GOES_ON) {
        klog_drain(s->klog, atomic_load(&s->fs_ready) || !klog_patient(s->klog) ? DRAIN_MS : DRAIN_HELD_MS);
        tell_slow_pass(s);
        /* also when no record was kept: memory may be full, and only the logger can free it */
        if (atomic_load(&s->fs_ready))
            (void)!write(s->wake_fd, &one, sizeof one);
        else if (klog_tight(s->klog))
            session_tight(s->env);
    }
    if (atomic_load(&s->drain_goal) == DRAIN_LEAVES)
        return NULL;
    come_last();
    klog_stop(s->klog);
    if (atomic_load(&s->drain_goal) == DRAIN_ENDS)
        logger_end(s);
    return NULL;
}

wstatus session_start(struct session *s, struct reason *why)
{
    atomic_store(&s->phase, atomic_load(&s->fs_ready) ? SESSION_WRITING : SESSION_HELD);
    s->state->state = (uint32_t)atomic_load(&s->phase);
    if (s->klog) {
        wstatus st = klog_start(s->klog, why);
        if (st)
            return st;
        if (s->env->keep)
            klog_fds_started(s->klog, session_keep_klog, s);
    }
    if (!s->env->threads)
        return W_SUCCESS;
    if (s->klog && !(s->drain_runs = pthread_create(&s->drain_thread, NULL, drain_main, s) == 0))
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "cannot start the drain thread");
    if (!(s->logger_runs = pthread_create(&s->logger_thread, NULL, logger_main, s) == 0))
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "cannot start the logger thread");
    return W_SUCCESS;
}

void session_fs_ready(struct session *s)
{
    atomic_store(&s->fs_ready, true);
    if (s->klog)
        klog_wake(s->klog);
    wake(s);
}

void session_flush_soon(struct session *s)
{
    atomic_fetch_add(&s->flush_asked, 1);
    wake(s);
}

unsigned session_flush_begin(struct session *s)
{
    const unsigned asked = atomic_fetch_add(&s->flush_asked, 1) + 1;
    wake(s);
    return asked;
}

bool session_flush_end(struct session *s, unsigned asked, wstatus *st)
{
    const bool done = (int)(atomic_load(&s->flush_done) - asked) >= 0, over = atomic_load(&s->phase) >= SESSION_STOPPED;
    *st = atomic_load(&s->phase) == SESSION_FAILED ? s->state->status
          : !atomic_load(&s->fs_ready)             ? W_NOT_READY
          : done                                   ? W_SUCCESS
                                                   : W_TIMEOUT;
    return done || over;
}

wstatus session_flush(struct session *s)
{
    enum { FLUSH_WAIT_MS = 5000 };
    struct os *os = s->env->os;
    /* by the clock: on a busy machine a pause may take much longer */
    const uint64_t until = os->raw_ns(os) + FLUSH_WAIT_MS * UINT64_C(1000000);
    const unsigned asked = session_flush_begin(s);
    wstatus        st;
    while (!session_flush_end(s, asked, &st) && os->raw_ns(os) < until)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return st;
}

static void drain_ask(struct session *s, enum drain_goal goal)
{
    atomic_store(&s->drain_goal, goal);
    klog_wake(s->klog);
}

static void drain_join(struct session *s)
{
    if (s->drain_runs)
        pthread_join(s->drain_thread, NULL);
    s->drain_runs = false;
}

static void disable_all(struct session *s)
{
    for (unsigned i = 0; i < STATE_ENABLES; i++)
        if (s->state->enable[i].in_use) {
            directory_disable(s->directory, s->state->enable[i].slot, s->state->enable[i].entry);
            __atomic_store_n(&s->state->enable[i].in_use, 0, __ATOMIC_RELEASE);
        }
}

/* Everything except the kernel's records. */
static void streams_seal(struct session *s)
{
    struct reason why = {0};

    s->state->stop_asked = 1;
    if (atomic_load(&s->phase) < SESSION_STOPPING)
        atomic_store(&s->phase, SESSION_STOPPING);
    disable_all(s);
    pthread_mutex_lock(&s->lock);
    s->sealed = true;
    for (unsigned i = 0; i < s->uid_count; i++)
        stream_set_open(s->uid[i].streams, false);
    pthread_mutex_unlock(&s->lock);
    if (s->uid_count && quiesce_all_cpus(&why) != W_SUCCESS)
        condition_add(&s->conditions, why.status, false, "quiesce", "", 0, "run the daemon without a cpuset", "%s",
                      why.text);
}

/* The drain thread stops the kernel logger and does what follows. Without a drain thread it is done here. */
static void kernel_seal(struct session *s, enum drain_goal goal)
{
    if (s->drain_runs) {
        drain_ask(s, goal);
        return;
    }
    if (s->klog)
        klog_stop(s->klog);
    if (goal == DRAIN_ENDS)
        logger_end(s);
}

void session_seal(struct session *s)
{
    if (!s->sealed) {
        streams_seal(s);
        kernel_seal(s, DRAIN_SEALS);
    }
    drain_join(s);
}

void session_leave(struct session *s)
{
    if (s->drain_runs && !s->sealed)
        drain_ask(s, DRAIN_LEAVES);
    drain_join(s);
    if (s->klog && !s->sealed)
        klog_leave(s->klog);
}

/* Not a loss: the mode asks for it. */
static void note_overwritten(struct session *s)
{
    const struct state_slot *slot = session_slot(s->state);
    const uint64_t           gone = slot->overwritten + slot->overwritten_before + session_overwritten(s);
    if (gone)
        condition_add(&s->conditions, W_LOG_FILE_FULL, true, "LogFileMode", "", 0,
                      s->ring_fd < 0 ? "raise MaxFileSize to keep more"
                                     : "take a snapshot before the session stops: autologger snapshot",
                      s->ring_fd < 0 ? "CIRCULAR: %llu older events were overwritten by newer ones"
                                     : "BUFFERING: %llu events were in memory alone, and are gone",
                      (unsigned long long)gone);
}

void session_stop_begin(struct session *s)
{
    if (s->stopping)
        return;
    s->stopping = true;
    if (!s->sealed)
        streams_seal(s);
    kernel_seal(s, DRAIN_ENDS);
}

/* By a clock that cannot be set. */
static bool logger_joined(struct session *s, int wait_ms)
{
    struct timespec until;
    if (wait_ms < 0 || atomic_load(&s->logger_ended))
        return pthread_join(s->logger_thread, NULL) == 0;
    clock_gettime(CLOCK_MONOTONIC, &until);
    const uint64_t ns = (uint64_t)until.tv_nsec + (uint64_t)wait_ms * 1000000;
    until.tv_sec += (time_t)(ns / 1000000000);
    until.tv_nsec = (long)(ns % 1000000000);
    return pthread_clockjoin_np(s->logger_thread, NULL, CLOCK_MONOTONIC, &until) == 0;
}

static void note_end(struct session *s)
{
    note_overwritten(s);
    if (!s->klog)
        return;
    klog_counters(s->klog, &s->kernel_final);
    if (s->kernel_final.own_lost)
        condition_add(
            &s->conditions, W_NOT_ENOUGH_MEMORY, false, "rundown", "", 0, "raise MaximumBuffers",
            "%llu records of the rundown or the system configuration did not fit into memory and are not in the file",
            (unsigned long long)s->kernel_final.own_lost);
    if (s->kernel_final.throttled)
        condition_add(
            &s->conditions, W_NOT_FOUND, true, "PROFILE", "", 0,
            "lengthen the profile interval, or raise kernel.perf_event_max_sample_rate",
            "the kernel held sampling back %llu times: samples are missing between Throttled and Unthrottled of Autologger-Loss",
            (unsigned long long)s->kernel_final.throttled);
}

bool session_stop_end(struct session *s, int wait_ms)
{
    if (s->ended)
        return true;
    if (s->logger_runs && !logger_joined(s, wait_ms))
        return false;
    drain_join(s); /* it ends before the logger does */
    if (!s->logger_runs)
        logger_main(s); /* no threads: the final pass runs here */
    s->logger_runs = false;
    s->ended       = true;
    note_end(s);
    return true;
}

void session_stop(struct session *s)
{
    session_stop_begin(s);
    session_stop_end(s, -1);
}

static void drop_kept(struct session *s)
{
    if (!s->env->keep || !s->state)
        return;
    session_keep(s, "session", -1, -1);
    if (s->ring_fd >= 0)
        session_keep(s, "ring", -1, -1);
    for (int i = 0; i < (int)s->uid_count; i++) {
        session_keep(s, "data", i, -1);
        session_keep(s, "control", i, -1);
        session_keep(s, "event", i, -1);
    }
}

static void drop_klog_fd(void *ctx, const char *klog_name, int fd, size_t ring_bytes)
{
    (void)fd, (void)ring_bytes;
    session_keep_klog(ctx, klog_name, -1, 0);
}

void session_destroy(struct session *s)
{
    if (!s)
        return;
    if (s->logger_runs || s->drain_runs)
        session_stop(s);
    if (s->state)
        disable_all(s);
    drop_kept(s);
    if (s->klog && s->env->keep)
        klog_fds(s->klog, drop_klog_fd, s);
    klog_destroy(s->klog);
    logger_destroy(s->logger);
    if (s->realtime)
        s->env->realtime->destroy(s->realtime);
    for (unsigned i = 0; i < s->uid_count; i++) {
        if (s->uid[i].streams != s->empty)
            stream_set_destroy(s->uid[i].streams);
        stream_set_destroy(s->uid[i].old);
        if (s->uid[i].event_fd >= 0)
            close(s->uid[i].event_fd);
    }
    stream_set_destroy(s->empty);
    if (s->state)
        munmap(s->state, s->state->size);
    if (s->state_fd >= 0)
        close(s->state_fd);
    if (s->ring_fd >= 0)
        close(s->ring_fd);
    if (s->private_fd >= 0)
        close(s->private_fd);
    if (s->wake_fd >= 0)
        close(s->wake_fd);
    if (s->epoll_fd >= 0)
        close(s->epoll_fd);
    condition_list_finish(&s->conditions);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

wstatus session_file_status(struct session *s, struct reason *why)
{
    pthread_mutex_lock(&s->lock);
    *why = s->file_reason;
    pthread_mutex_unlock(&s->lock);
    return why->status;
}
