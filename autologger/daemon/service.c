#include "autologger/daemon/service.h"

#include "autologger/control/server.h"
#include "autologger/daemon/created.h"
#include "autologger/daemon/file_numbers.h"
#include "autologger/daemon/kernel_start.h"
#include "autologger/daemon/rows.h"
#include "autologger/kernel/kphase.h"
#include "registry-sim/store/change_number.h"
#include "registry-sim/win32/filetime.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

struct service {
    struct service_options options;
    struct handed         *handed;
    struct state_daemon   *state;
    int                    state_fd, listen_fd, signal_fd, epoll_fd;
    int                    cpu_fd; /* readable: processors came or went; -1 */
    int                    consumers_fd; /* eventfd: a session has something for its consumers */
    struct created         edge;
    struct session_env     env;
    struct session_table   table;
    struct journal        *journal;
    struct rows           *rows;
    struct result_list     results;
    struct control_server *server;
    struct kernel_start   *kernel; /* kernel sources are being opened; NULL: not, or no longer */
    bool                   ending;
    bool                   rows_stay; /* this boot had its sessions already, and its rows: there are none of ours */
};

/* ---- what is found or made at start ---- */

static void boot_id_read(char *out, size_t size)
{
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    *out    = 0;
    if (f) {
        if (fgets(out, (int)size, f))
            out[strcspn(out, "\n")] = 0;
        fclose(f);
    }
}

static wstatus state_map(struct service *v, int fd, struct reason *why)
{
    struct stat st;

    v->state_fd = fd;
    if (fstat(fd, &st) < 0 || (size_t)st.st_size != sizeof *v->state)
        return reason_set(why, W_INVALID_DATA, "the state handed over has the wrong size: it is another version's");
    v->state = mmap(NULL, sizeof *v->state, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (v->state == MAP_FAILED) {
        v->state = NULL;
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "cannot map the daemon's state: %s", strerror(errno));
    }
    return W_SUCCESS;
}

/* The predecessor died while it booted: no program had been let in and no file been made, so the boot is simply done again. */
static void state_forget(struct service *v)
{
    munmap(v->state, sizeof *v->state);
    close(v->state_fd);
    v->state    = NULL;
    v->state_fd = -1;
    handed_drop(v->handed);
}

static wstatus state_adopt(struct service *v, bool *adopted, struct reason *why)
{
    int fd = handed_take(v->handed, "daemon");

    *adopted = false;
    if (fd < 0) {
        handed_drop(v->handed);
        return W_SUCCESS;
    }
    wstatus st = state_map(v, fd, why);
    if (st)
        return st;
    if (v->state->magic == STATE_MAGIC_DAEMON && v->state->version != STATE_VERSION)
        return reason_set(why, W_INVALID_DATA, "the state handed over has version %u; this daemon knows %u", v->state->version, STATE_VERSION);
    if (v->state->magic != STATE_MAGIC_DAEMON || !v->state->boot_done) {
        state_forget(v);
        return W_SUCCESS;
    }
    *adopted = true;
    v->state->adopted++;
    return W_SUCCESS;
}

static wstatus state_create(struct service *v, struct reason *why)
{
    int fd = os_linux()->shm_create(os_linux(), "autologger-daemon", sizeof *v->state, 0);
    if (fd < 0)
        return reason_set(why, wstatus_from_errno(-fd), "cannot create the daemon's state: %s", strerror(-fd));
    wstatus st = state_map(v, fd, why);
    if (st)
        return st;
    v->state->version      = STATE_VERSION;
    v->state->size         = sizeof *v->state;
    v->state->start_raw_ns = os_linux()->raw_ns(os_linux());
    v->state->rehearsal    = v->options.rehearsal;
    v->state->early_ns     = v->options.begin_ns;
    v->state->held_ns      = v->options.held_ns;
    if (v->options.snapshot) {
        v->state->change_number = v->options.snapshot->change_number;
        memcpy(v->state->snapshot_content, v->options.snapshot->content, sizeof v->state->snapshot_content);
    }
    snprintf(v->state->store, sizeof v->state->store, "%s", v->options.store_saved ? v->options.store_saved : v->options.store_path);
    snprintf(v->state->log_dir, sizeof v->state->log_dir, "%s", v->options.log_dir);
    boot_id_read(v->state->boot_id, sizeof v->state->boot_id);
    if (v->options.boot_id)
        snprintf(v->state->boot_id, sizeof v->state->boot_id, "%s", v->options.boot_id);
    if (v->options.rehearsal)
        snprintf(v->state->boot_id, sizeof v->state->boot_id, "rehearsal-%d-%llu", (int)getpid(),
                 (unsigned long long)v->state->start_raw_ns);
    v->state->magic = STATE_MAGIC_DAEMON;
    return W_SUCCESS;
}

static wstatus listen_open(struct service *v, struct reason *why)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};

    if ((v->listen_fd = handed_take(v->handed, "listen")) >= 0)
        return W_SUCCESS;
    if (snprintf(a.sun_path, sizeof a.sun_path, "%s/control", v->options.runtime_dir) >= (int)sizeof a.sun_path)
        return reason_set(why, W_FILENAME_EXCED_RANGE, "the runtime folder's path is too long: %s", v->options.runtime_dir);
    v->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    unlink(a.sun_path);
    mode_t old = umask(0);
    int    r   = v->listen_fd < 0 ? -1 : bind(v->listen_fd, (struct sockaddr *)&a, sizeof a);
    umask(old);
    if (r < 0 || listen(v->listen_fd, 256) < 0)
        return reason_set(why, wstatus_from_errno(errno), "cannot listen at %s: %s", a.sun_path, strerror(errno));
    return W_SUCCESS;
}

static wstatus signals_open(struct service *v, struct reason *why)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, SIGUSR1);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    v->signal_fd      = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    v->env.changed_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    v->epoll_fd       = epoll_create1(EPOLL_CLOEXEC);
    v->consumers_fd   = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event e[3] = {{.events = EPOLLIN, .data.fd = v->signal_fd}, {.events = EPOLLIN, .data.fd = v->env.changed_fd},
                               {.events = EPOLLIN, .data.fd = v->consumers_fd}};
    if (v->signal_fd < 0 || v->consumers_fd < 0 || v->env.changed_fd < 0 || v->epoll_fd < 0 ||
        epoll_ctl(v->epoll_fd, EPOLL_CTL_ADD, v->signal_fd, &e[0]) < 0 ||
        epoll_ctl(v->epoll_fd, EPOLL_CTL_ADD, v->env.changed_fd, &e[1]) < 0 ||
        epoll_ctl(v->epoll_fd, EPOLL_CTL_ADD, v->consumers_fd, &e[2]) < 0)
        return reason_set(why, wstatus_from_errno(errno), "cannot set up the daemon's waiting: %s", strerror(errno));
    return W_SUCCESS;
}

static void env_fill(struct service *v, bool adopted)
{
    struct clock_anchor *anchor = &v->env.anchor;

    created_init(&v->edge, os_linux(), &v->state->files_created, &v->state->files_created_early, &v->state->fs_ready);
    v->env.os      = &v->edge.os;
    v->env.cpus    = (unsigned)v->env.os->cpu_count(v->env.os);
    v->env.threads = true;
    v->env.kernel_later = v->options.kernel_beside;
    v->env.realtime     = v->options.realtime;
    v->env.system_config = v->options.system_config;
    v->env.consumers_fd = v->options.realtime ? v->consumers_fd : 0;
    v->env.tight_file   = v->options.tight_file;
    v->env.proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    /* asked now: when the sources are opened, an early program may have no /proc any more. The first who can takes it */
    v->env.kernel_phase = !v->options.rehearsal && kphase_asked_here();
    v->env.keep    = handed_keep;
    v->env.keep_ctx = v->handed;
    v->env.log_dir    = v->state->log_dir;
    v->env.free_floor = UINT64_C(64) << 20;
    clock_machine_find(&v->env.machine);
    _Static_assert(sizeof *anchor == sizeof v->state->anchor, "the anchor is handed over as it is");
    if (adopted) { /* one anchor and one frequency per boot */
        memcpy(anchor, v->state->anchor, sizeof *anchor);
        v->env.machine.tsc_usable &= anchor->tsc_hz != 0; /* a boot that is recovered may have been another machine's */
        v->env.machine.tsc_hz = anchor->tsc_hz;
    } else {
        clock_anchor_take(&v->env.machine, anchor);
        if (v->env.kernel_phase)
            clock_anchor_back(anchor, 0); /* then no event of this boot is older than the files say that they begin */
        memcpy(v->state->anchor, anchor, sizeof *anchor);
    }
    v->table.env     = &v->env;
    v->table.ceiling = plan_memory_ceiling(v->env.os->ram_bytes(v->env.os));
}

static void keep_own(struct service *v)
{
    handed_keep(v->handed, "daemon", v->state_fd, 0);
    handed_keep(v->handed, "listen", v->listen_fd, 0);
    handed_keep(v->handed, "directory", v->table.directory->fd, 0);
    handed_keep(v->handed, "journal", journal_fd(v->journal), 0);
    handed_keep(v->handed, "rows", rows_fd(v->rows), 0);
}

/* ---- kernel sources that are opened beside ---- */

static uint64_t boot_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* For a successor. */
static void rows_keep(struct service *v)
{
    struct reason why;
    if (rows_store(v->rows, &v->results, &why) != W_SUCCESS)
        fprintf(stderr, "autologgerd: %s\n", why.text);
}

static void booted(struct service *v)
{
    rows_keep(v);
    if (v->options.booted)
        v->options.booted(v->options.ctx, &v->results);
}

static void cpus_look(struct service *v)
{
    for (unsigned i = 0; i < SHM_SESSIONS && v->options.cpus_look; i++)
        if (v->table.slot[i])
            v->options.cpus_look(v->table.slot[i]);
}

static void cpus_watch(struct service *v)
{
    struct epoll_event e = {.events = EPOLLIN};
    v->cpu_fd = e.data.fd = v->options.cpus_open ? v->options.cpus_open() : -1;
    if (v->cpu_fd >= 0)
        epoll_ctl(v->epoll_fd, EPOLL_CTL_ADD, v->cpu_fd, &e);
}

static void cpus_step(struct service *v)
{
    struct pollfd p = {.fd = v->cpu_fd, .events = POLLIN};
    if (v->cpu_fd < 0 || poll(&p, 1, 0) <= 0)
        return;
    v->options.cpus_empty(v->cpu_fd);
    cpus_look(v);
}

/* Also those of a predecessor that died while it opened them. */
static void kernel_begin(struct service *v)
{
    struct reason why;
    if (kernel_start_begin(&v->table, v->env.changed_fd, &v->kernel, &why) != W_SUCCESS)
        fprintf(stderr, "autologgerd: %s\n", why.text);
}

/* Starts the sessions whose sources are open now. `wait`: all of them. */
static void kernel_finish(struct service *v, bool wait)
{
    struct kernel_opened *o;
    if (!kernel_start_done(v->kernel, wait))
        return;
    while ((o = kernel_start_take(v->kernel)))
        boot_kernel_start(&v->table, o->session, o->klog, &o->found, &v->results, v->journal, &o->why);
    kernel_start_finish(v->kernel);
    v->kernel          = NULL;
    v->state->armed_ns = boot_ns();
    cpus_look(v); /* since they were opened one may have come */
    booted(v);
}

/* ---- the file system is ready, results ---- */

/* ns since the kernel began as the events of this boot's files have it. */
static uint64_t on_files_clock(const struct clock_anchor *a, uint64_t raw_ns)
{
    const uint64_t anchor_ns = a->filetime > a->boot_filetime ? (a->filetime - a->boot_filetime) * 100 : 0;
    return anchor_ns + raw_ns > a->raw_ns ? anchor_ns + raw_ns - a->raw_ns : 0;
}

static void times_note(struct service *v)
{
    v->results.early_ns = v->state->early_ns;
    v->results.held_ns  = v->state->held_ns;
    v->results.ready_ns = v->state->ready_ns;
    v->results.armed_ns = v->state->armed_ns;
    v->results.start_ns = on_files_clock(&v->env.anchor, v->state->start_raw_ns);
    if (v->state->change_number) /* an early boot read a snapshot, which has the number in its head */
        v->results.change_number = v->state->change_number;
}

static bool settled(const struct service *v)
{
    const struct boot_part *part = v->options.boot;
    return result_list_final(&v->results) && (!part || part->settled(part->ctx));
}

static wstatus save(struct service *v, struct reason *why)
{
    struct regstore *store = NULL;
    const bool       first = !v->state->concluded && settled(v);

    times_note(v);
    rows_keep(v);
    if (!v->state->fs_ready || v->rows_stay || !v->options.save)
        return W_SUCCESS;
    wstatus st = v->options.store_open(v->state->store, true, &store, why);
    const struct service_saving saving = {v->env.os, store, v->options.runtime_dir, v->journal, v->state, &v->results, first};
    st = st ? st : v->options.save(&saving, why);
    if (st)
        fprintf(stderr, "autologgerd: the results could not be written to %s: %s\n", v->state->store, why->text);
    regstore_close(store);
    if (first) {
        v->state->concluded = 1;
        if (v->options.concluded)
            v->options.concluded(v->options.ctx, &v->results);
    }
    return st;
}

static void boot_files(struct service *v);
static void boot_ready(struct service *v);

/* Reads all of it in one transaction: a lock taken per value is most of what reading costs. A snapshot has none, and needs none. */
static wstatus reader_open(struct service *v, const char *path, struct regstore **out, struct reason *why)
{
    wstatus st = v->options.store_open(path, false, out, why);
    if (!st)
        regstore_begin(*out, NULL);
    return st;
}

/* A boot that went by a snapshot has file numbers of the day it was sealed. */
static void numbers_renew(struct service *v)
{
    struct regstore *store;
    struct reason    why;
    if (!v->state->early_ns || reader_open(v, v->state->store, &store, &why) != W_SUCCESS)
        return; /* results_save says what is wrong with the store */
    file_numbers_renew(&v->table, store, v->journal, &v->results);
    regstore_close(store);
}

static wstatus fs_ready(void *ctx, struct reason *why)
{
    struct service *v = ctx;
    (void)why;
    if (v->state->fs_ready)
        return W_SUCCESS;
    boot_files(v);
    numbers_renew(v);
    __atomic_store_n(&v->state->fs_ready, 1, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < SHM_SESSIONS; i++)
        if (v->table.slot[i])
            session_fs_ready(v->table.slot[i]);
    eventfd_write(v->env.changed_fd, 1); /* the results are saved by the loop: a store that is in use holds up nobody who boots */
    boot_ready(v);
    return W_SUCCESS;
}

static wstatus stop(void *ctx, struct session *s, struct ctl_session_info *final, struct reason *why)
{
    struct service *v = ctx;
    kernel_finish(v, true); /* its sources may be being opened */
    server_session_gone(v->server, s);
    session_stop(s);
    server_session_ended(v->server, s, v->ending);
    if (final)
        session_info(s, final);
    boot_update(&v->table, s, &v->results);
    boot_conclude(&v->results, s->state->key, v->env.cpus);
    rows_keep(v); /* before the session is gone: a successor could not ask it any more */
    table_remove(&v->table, s);
    save(v, why);
    return W_SUCCESS; /* it is stopped; what became of its file is in `final` */
}

static wstatus update(void *ctx, struct session *s, const struct session_terms *terms, struct condition_list *found, struct reason *why)
{
    struct service *v = ctx;
    struct reason   ignored;
    if (!v->options.update)
        return reason_set(why, W_NOT_SUPPORTED, "this program does not change sessions while they run");
    kernel_finish(v, true); /* its sources may be being opened */
    wstatus st = v->options.update(s, terms, found, why);
    if (!st) {
        boot_update(&v->table, s, &v->results);
        rows_keep(v);
        save(v, &ignored);
    }
    return st;
}

static bool is_declared(const struct session *s) { return s && *s->state->key; }

/* User sessions first: the kernel session then covers their whole life. */
static void stop_sessions(struct service *v, bool declared_only)
{
    struct reason why;
    kernel_finish(v, true);
    for (unsigned kernel = 0; kernel < 2; kernel++)
        for (unsigned i = 0; i < SHM_SESSIONS; i++)
            if (v->table.slot[i] && v->table.slot[i]->state->kernel == kernel && (!declared_only || is_declared(v->table.slot[i])))
                stop(v, v->table.slot[i], NULL, &why);
}

static wstatus end_sessions(struct service *v, struct reason *why)
{
    if (v->ending)
        return W_SUCCESS;
    v->ending = true;
    if (v->options.boot)
        v->options.boot->ending(v->options.boot->ctx);
    stop_sessions(v, false);
    return save(v, why);
}

static wstatus shut_down(void *ctx, struct reason *why) { return end_sessions(ctx, why); }

/* ---- the machine's boot ---- */

static unsigned boot_running(void *ctx)
{
    struct service *v = ctx;
    unsigned        n = 0;
    for (unsigned i = 0; i < SHM_SESSIONS; i++)
        n += is_declared(v->table.slot[i]);
    return n;
}

static wstatus boot_end_asked(void *ctx, struct reason *why)
{
    struct service         *v    = ctx;
    const struct boot_part *part = v->options.boot;
    return part ? part->end(part->ctx, why) : reason_set(why, W_NOT_SUPPORTED, "this daemon does not trace the machine's boot");
}

static void boot_stop(void *ctx) { stop_sessions(ctx, true); }

static wstatus boot_save(void *ctx, struct reason *why) { return save(ctx, why); }

static struct boot_host boot_host(struct service *v)
{
    return (struct boot_host){v, v->epoll_fd, v->state, &v->results, boot_running, boot_stop, boot_save};
}

static void boot_files(struct service *v)
{
    const struct boot_host host = boot_host(v);
    if (v->options.boot)
        v->options.boot->files(v->options.boot->ctx, &host);
}

static void boot_ready(struct service *v)
{
    const struct boot_host host = boot_host(v);
    if (v->options.boot && v->state->fs_ready)
        v->options.boot->ready(v->options.boot->ctx, &host);
}

static wstatus boot_sessions(struct service *v, struct regstore *store, struct reason *why)
{
    const struct boot_part *part = v->options.boot;
    struct reason           off  = {0};
    enum boot_may           may  = part ? part->may_start(part->ctx, v->state->boot_id, store, &off) : BOOT_START;

    v->rows_stay = may == BOOT_AGAIN;
    if (may == BOOT_AGAIN)
        return W_SUCCESS;
    return may == BOOT_OFF ? boot_off(&v->table, v->options.log_dir, store, v->journal, &v->results, &off, why)
                           : boot_run(&v->table, v->options.log_dir, store, v->journal, &v->results, why);
}

static void beside_begin(struct service *v)
{
    const struct beside_host host = {&v->table, &v->results, v->handed, v->options.runtime_dir, v->epoll_fd, v->env.changed_fd};
    if (v->options.beside)
        v->options.beside->begin(v->options.beside->ctx, &host);
}

/* ---- boot or adoption ---- */

static wstatus service_boot(struct service *v, struct reason *why)
{
    struct regstore *store = NULL;
    char             id[64]; /* of the journal: this daemon's, for a second one in the same boot has a journal of its own */
    wstatus          st = directory_create(v->env.os, &v->table.directory, why);

    snprintf(id, sizeof id, "%.40s.%llu", v->state->boot_id, (unsigned long long)v->state->start_raw_ns);
    st = st ? st : journal_create(v->env.os, id, &v->journal, why);
    st = st ? st : rows_create(v->env.os, &v->rows, why);
    if (st)
        return st;
    keep_own(v);
    snprintf(v->results.boot_id, sizeof v->results.boot_id, "%s", v->state->boot_id);
    v->results.time      = filetime_from_unix_ns(v->env.os->realtime_ns(v->env.os));
    v->results.rehearsal = v->options.rehearsal;
    /* read-only: a reader creates no file and can't hold up a writer */
    st = reader_open(v, v->options.store_path, &store, why);
    if (st == W_FILE_NOT_FOUND && !v->options.rehearsal)
        return W_SUCCESS; /* nothing is declared: a daemon for sessions started later */
    if (!st && change_number_get(store, &v->results.change_number, why) != W_SUCCESS)
        fprintf(stderr, "autologgerd: %s\n", why->text);
    st = st ? st : boot_sessions(v, store, why);
    regstore_close(store);
    if (!st)
        booted(v);
    return st;
}

static void adopt_session(struct service *v, int fd)
{
    struct session *s = NULL;
    struct reason   why;
    char            key[sizeof ((struct state_session *)0)->key] = ""; /* of its row, also when the rest of the state is damaged */

    if (pread(fd, key, sizeof key - 1, offsetof(struct state_session, key)) < 0)
        *key = 0;
    wstatus st = session_adopt(&v->env, v->table.directory, fd, handed_take, v->handed, &s, &why);
    if (!st && (st = table_add_adopted(&v->table, s, &why))) {
        session_destroy(s);
    } else if (!st) {
        if (v->state->fs_ready)
            session_fs_ready(s);
        bool waits = session_wants_kernel(s) && !s->klog; /* kernel_begin opens its sources */
        if (!waits && (st = session_start(s, &why)))
            table_remove(&v->table, s);
    }
    if (!st)
        return;
    fprintf(stderr, "autologgerd: session %s could not be taken over: %s\n", key, why.text);
    struct result_row *row = result_find_key(&v->results, key);
    if (row) {
        row->status = st;
        snprintf(row->reason, sizeof row->reason, "after a restart of the daemon: %s", why.text);
    }
}

static wstatus service_adopt(struct service *v, struct reason *why)
{
    int     directory = handed_take(v->handed, "directory"), journal = handed_take(v->handed, "journal"),
            rows      = handed_take(v->handed, "rows");
    wstatus st        = directory < 0 || journal < 0 || rows < 0
                            ? reason_set(why, W_INVALID_DATA, "not everything was handed over by the former daemon")
                            : directory_adopt(directory, &v->table.directory, why);

    st = st ? st : journal_adopt(journal, &v->journal, why);
    if (st == W_INVALID_DATA && v->journal)
        st = W_SUCCESS; /* what is sound of it was kept */
    st = st ? st : rows_adopt(rows, &v->rows, &v->results, why);
    if (st)
        return st;
    for (unsigned i = 0; i < SHM_SESSIONS; i++) {
        char name[32];
        snprintf(name, sizeof name, "session.%u", i);
        int fd = handed_take(v->handed, name);
        if (fd >= 0)
            adopt_session(v, fd);
    }
    return W_SUCCESS;
}

/* Those that the predecessor was stopping when it died. */
static void stop_asked(struct service *v)
{
    struct reason why;
    for (unsigned i = 0; i < SHM_SESSIONS; i++)
        if (v->table.slot[i] && v->table.slot[i]->state->stop_asked)
            stop(v, v->table.slot[i], NULL, &why);
}

static void limit_raise(void)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) == 0) {
        r.rlim_cur = r.rlim_max;
        setrlimit(RLIMIT_NOFILE, &r);
    }
}

wstatus service_create(const struct service_options *options, struct handed *handed, struct service **out, struct reason *why)
{
    struct service *v       = calloc(1, sizeof *v);
    bool            adopted = false;
    wstatus         st;

    if (!v)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the daemon");
    v->options  = *options;
    v->handed   = handed;
    v->state_fd = v->listen_fd = v->signal_fd = v->epoll_fd = v->env.changed_fd = v->consumers_fd = v->cpu_fd = -1;
    limit_raise();
    const struct control_hooks hooks = {.ctx = v, .stop = stop, .fs_ready = fs_ready, .shutdown = shut_down, .end_boot = boot_end_asked, .update = update, .update_answer = v->options.update_answer};
    if ((st = signals_open(v, why)) || (st = listen_open(v, why)) || (st = state_adopt(v, &adopted, why)) ||
        (!adopted && (st = state_create(v, why))))
        goto out;
    env_fill(v, adopted);
    if ((st = adopted ? service_adopt(v, why) : service_boot(v, why)))
        goto out;
    v->state->boot_done = 1; /* from here on a successor takes over what there is */
    if ((st = server_create(v->listen_fd, &v->table, v->state, &hooks, &v->server, why)))
        goto out;
    if (adopted) {
        server_adopt(v->server, handed_take, v->handed);
        eventfd_write(v->env.changed_fd, 1); /* the predecessor may have died before it saved the rows */
    }
    kernel_begin(v);
    if (!v->state->ready_ns)
        v->state->ready_ns = boot_ns();
    if (!options->hold)
        fs_ready(v, why);
    if (adopted)
        stop_asked(v);
    boot_ready(v);
    beside_begin(v);
    cpus_watch(v);
    if (adopted)
        cpus_look(v); /* a processor may have come or gone while nobody looked */
    handed_notify(v->handed, "READY=1");
    *out = v;
    return W_SUCCESS;
out:
    service_destroy(v);
    return st;
}

static void update_all(struct service *v)
{
    for (unsigned i = 0; i < SHM_SESSIONS; i++)
        if (v->table.slot[i])
            boot_update(&v->table, v->table.slot[i], &v->results);
}

/* Nothing is ended: what a successor needs is published at every moment, and the rows as of now are kept. `seal`: the sessions
 * take no more events, so that what is kept is final. */
static void leave(struct service *v, bool seal)
{
    kernel_finish(v, true);
    for (unsigned i = 0; i < SHM_SESSIONS; i++)
        if (v->table.slot[i])
            (seal ? session_seal : session_leave)(v->table.slot[i]);
    update_all(v);
    rows_keep(v);
}

wstatus service_loop(struct service *v, bool *left, struct reason *why)
{
    const struct boot_part *boot = v->options.boot;

    const struct beside *beside = v->options.beside;

    *left = false;
    while (!server_quit(v->server)) {
        struct signalfd_siginfo info;
        uint64_t                count;
        if (boot)
            boot->step(boot->ctx);
        if (beside)
            beside->step(beside->ctx);
        if (!server_step(v->server, v->epoll_fd, -1))
            continue;
        if (read(v->signal_fd, &info, sizeof info) == sizeof info) {
            *left = info.ssi_signo == SIGHUP || info.ssi_signo == SIGUSR1;
            if (!*left)
                break;
            handed_notify(v->handed, "LEAVING=1"); /* it lives: the keeper waits for what is under way */
            leave(v, info.ssi_signo == SIGUSR1);
            return W_SUCCESS;
        }
        cpus_step(v);
        if (read(v->consumers_fd, &count, sizeof count) == sizeof count)
            server_consumers(v->server);
        if (read(v->env.changed_fd, &count, sizeof count) == sizeof count) { /* a session's file failed, or a session ended */
            kernel_finish(v, false);
            update_all(v);
            save(v, why);
        }
    }
    wstatus st = end_sessions(v, why);
    if (beside)
        beside->end(beside->ctx);
    if (boot)
        boot->ended(boot->ctx);
    return st;
}

const struct result_list *service_results(const struct service *v) { return &v->results; }

void service_destroy(struct service *v)
{
    if (!v)
        return;
    kernel_start_finish(v->kernel);
    server_destroy(v->server);
    table_finish(&v->table);
    directory_destroy(v->table.directory);
    journal_destroy(v->journal);
    rows_destroy(v->rows);
    result_list_finish(&v->results);
    if (v->state)
        munmap(v->state, sizeof *v->state);
    const int fds[] = {v->state_fd, v->listen_fd, v->signal_fd, v->epoll_fd, v->env.changed_fd, v->consumers_fd, v->cpu_fd, v->env.proc_fd ? v->env.proc_fd : -1};
    for (unsigned i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    free(v);
}
