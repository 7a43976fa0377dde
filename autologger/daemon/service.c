#include "autologger/daemon/date_watch.h"
#include "autologger/daemon/service_parts.h"

#include "autologger/daemon/file_numbers.h"
#include "autologger/session/anchor.h"
#include "registry-sim/base/visible_print.h"
#include "registry-sim/store/change_number.h"
#include "registry-sim/store/snapshot.h"
#include "registry-sim/win32/filetime.h"

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
#include <time.h>
#include <unistd.h>

/* ---- kernel sources that are opened by a thread of their own ---- */

static uint64_t boot_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Keeps the rows for a successor. */
void service_rows_keep(struct service *v)
{
    struct reason why;
    if (rows_store(v->rows, &v->results, &why) != W_SUCCESS)
        visible_line(stderr, "autologgerd: %s", why.text);
}

static void service_booted(struct service *v)
{
    v->state->sessions_most = v->table.most;
    service_rows_keep(v);
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
    v->date_fd = e.data.fd = date_watch_open();
    if (v->date_fd >= 0)
        epoll_ctl(v->epoll_fd, EPOLL_CTL_ADD, v->date_fd, &e);
}

/* Gives each session's file the date that the system has now. */
static void date_step(struct service *v)
{
    if (!date_watch_was_set(v->date_fd))
        return;
    for (unsigned i = 0; i < SHM_SESSIONS; i++)
        if (v->table.slot[i])
            session_date_set(v->table.slot[i]);
}

static void cpus_step(struct service *v)
{
    struct pollfd p = {.fd = v->cpu_fd, .events = POLLIN};
    if (v->cpu_fd < 0 || poll(&p, 1, 0) <= 0)
        return;
    v->options.cpus_empty(v->cpu_fd);
    cpus_look(v);
}

/* Also for sessions whose former daemon died, or was ended, while it opened their sources: they begin to record now. */
static void kernel_begin(struct service *v, bool adopted)
{
    struct reason why;
    for (unsigned i = 0; adopted && i < SHM_SESSIONS; i++) {
        struct session *s = v->table.slot[i];
        if (s && session_wants_kernel(s) && !s->klog && !s->state->stop_asked)
            condition_add(
                &s->conditions, W_NOT_READY, true, "kernel events", "", 0,
                "nothing, if this happens once; else the machine is too busy",
                "who made this session was ended before the kernel's events were open: they begin with this daemon");
    }
    if (kernel_start_begin(&v->table, v->env.changed_fd, &v->kernel, &why) != W_SUCCESS)
        visible_line(stderr, "autologgerd: %s", why.text);
}

/* Starts the sessions whose sources are open now. `wait`: waits for all of them. */
void service_kernel_finish(struct service *v, bool wait)
{
    struct kernel_opened *o;
    if (!kernel_start_done(v->kernel, wait))
        return;
    while ((o = kernel_start_take(v->kernel)))
        boot_kernel_start(&v->table, o->session, o->klog, &o->found, &v->results, v->journal, &o->why);
    kernel_start_finish(v->kernel);
    v->kernel          = NULL;
    v->state->armed_ns = boot_ns();
    cpus_look(v); /* a processor may have come since they were opened */
    service_booted(v);
}

/* ---- the file system is ready, results ---- */

/* ns since the kernel began, on the clock of the events in this boot's files. */
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

static bool service_settled(const struct service *v)
{
    const struct boot_part *part = v->options.boot;
    return result_list_final(&v->results) && (!part || part->settled(part->ctx));
}

wstatus service_save(struct service *v, struct reason *why)
{
    struct regstore *store = NULL;
    const bool       first = !v->state->concluded && service_settled(v);

    times_note(v);
    service_rows_keep(v);
    if (!v->state->fs_ready || v->rows_stay || !v->options.save)
        return W_SUCCESS;
    wstatus                     st     = v->options.store_open(v->state->store, true, &store, why);
    const struct service_saving saving = {v->env.os,   store, v->options.runtime_dir, v->journal, v->state,
                                          &v->results, first};
    st                                 = st ? st : v->options.save(&saving, why);
    if (st)
        visible_line(stderr, "autologgerd: the results could not be written to %s: %s", v->state->store, why->text);
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

/* Reads everything in one transaction: a lock per value is most of the cost of reading. A snapshot has no transactions,
 * and needs none. */
static wstatus reader_open(struct service *v, const char *path, struct regstore **out, struct reason *why)
{
    wstatus st = v->options.store_open(path, false, out, why);
    if (!st)
        regstore_begin(*out, NULL);
    return st;
}

/* A boot that started from a snapshot has file numbers of the day it was sealed. */
static void numbers_renew(struct service *v)
{
    struct regstore *store;
    struct reason    why;
    if (!v->state->early_ns || reader_open(v, v->state->store, &store, &why) != W_SUCCESS)
        return; /* results_save reports what is wrong with the store */
    file_numbers_renew(&v->table, store, v->journal, &v->results);
    regstore_close(store);
}

static wstatus fs_ready(void *ctx, struct reason *why)
{
    struct service *v = ctx;
    (void)why;
    if (v->state->fs_ready)
        return W_SUCCESS;
    service_key_begin(v);
    boot_files(v);
    numbers_renew(v);
    __atomic_store_n(&v->state->fs_ready, 1, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < SHM_SESSIONS; i++)
        if (v->table.slot[i])
            session_fs_ready(v->table.slot[i]);
    /* the loop saves the results: a store that is in use must not delay the boot */
    eventfd_write(v->env.changed_fd, 1);
    boot_ready(v);
    return W_SUCCESS;
}

static wstatus update(void *ctx, struct session *s, const struct session_terms *terms, struct session_update **out,
                      struct reason *why)
{
    struct service         *v    = ctx;
    const struct start_host host = {&v->table, v->state->log_dir, v->state->fs_ready, v->server};
    service_kernel_finish(v, true); /* its sources may still be being opened */
    return v->options.update(&host, s, terms, out, why);
}

static void updated(void *ctx, struct session *s, wstatus st)
{
    struct service         *v    = ctx;
    const struct start_host host = {&v->table, v->state->log_dir, v->state->fs_ready, v->server};
    struct reason           ignored;
    v->options.updated(&host, s);
    if (st)
        return;
    boot_update(&v->table, s, &v->results);
    service_rows_keep(v);
    service_save(v, &ignored);
}

static wstatus service_start(void *ctx, const void *snapshot, size_t size, struct ctl_update_answer *answer,
                             struct session **wait)
{
    struct service         *v    = ctx;
    const struct start_host host = {&v->table, v->state->log_dir, v->state->fs_ready, v->server};
    if (v->ending) {
        snprintf(answer->text, sizeof answer->text, "the daemon is ending: it starts no more sessions");
        return W_NOT_READY;
    }
    service_kernel_finish(v, true); /* sessions being opened were asked for earlier */
    wstatus st = v->options.start(&host, snapshot, size, answer, wait);
    cpus_look(v);
    return st;
}

static wstatus service_started(void *ctx, struct session *s, unsigned told, struct ctl_update_answer *answer)
{
    struct service         *v    = ctx;
    const struct start_host host = {&v->table, v->state->log_dir, v->state->fs_ready, v->server};
    struct reason           ignored;
    const wstatus           st = v->options.started(&host, s, told, answer);
    if (st) /* programs that came meanwhile know of it, and others may have asked for something */
        service_stop(v, s, &ignored);
    return st;
}

static wstatus service_file(void *ctx, struct session *s, const char *name, struct ctl_update_answer *answer,
                            struct logger_errand **errand)
{
    struct service         *v    = ctx;
    const struct start_host host = {&v->table, v->state->log_dir, v->state->fs_ready, v->server};
    return v->options.file(&host, s, name, answer, errand);
}

/* The boot's change number stays: rights are no part of what is traced. */
static wstatus access_save(void *ctx, const struct guid *object, const uint8_t *descriptor, size_t size,
                           struct reason *why)
{
    struct service  *v     = ctx;
    struct regstore *store = NULL;
    if (!v->state->fs_ready)
        return reason_set(why, W_NOT_READY, "the store cannot be written yet");
    wstatus st = v->options.store_open(v->state->store, true, &store, why);
    st         = st ? st : v->options.rights->save(store, object, descriptor, size, why);
    regstore_close(store);
    return st;
}

static wstatus rights_begin(struct service *v, struct control_hooks *hooks, struct reason *why)
{
    const struct service_rights *part = v->options.rights;
    if (!part)
        return W_SUCCESS;
    wstatus st         = part->load(v->options.store_open, v->state->store, part->group_file, &v->rights, why);
    hooks->descriptors = v->rights;
    hooks->rights      = st ? NULL : part->asked(v->rights);
    hooks->access      = part->request;
    hooks->access_save = access_save;
    return st;
}

static wstatus end_sessions(struct service *v, struct reason *why)
{
    if (v->ending)
        return W_SUCCESS;
    v->ending = true;
    if (v->options.boot)
        v->options.boot->ending(v->options.boot->ctx);
    service_stop_all(v, false);
    return service_save(v, why);
}

static wstatus shut_down(void *ctx, struct reason *why) { return end_sessions(ctx, why); }

/* ---- the machine's boot ---- */

static unsigned boot_running(void *ctx)
{
    struct service *v = ctx;
    unsigned        n = 0;
    for (unsigned i = 0; i < SHM_SESSIONS; i++)
        n += v->table.slot[i] && *v->table.slot[i]->state->key;
    return n;
}

static wstatus boot_end_asked(void *ctx, struct reason *why)
{
    struct service         *v    = ctx;
    const struct boot_part *part = v->options.boot;
    return part ? part->end(part->ctx, why)
                : reason_set(why, W_NOT_SUPPORTED, "this daemon does not trace the machine's boot");
}

static void boot_stop(void *ctx) { service_stop_all(ctx, true); }

static wstatus boot_save(void *ctx, struct reason *why) { return service_save(ctx, why); }

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
    const struct beside_host host = {&v->table,   &v->results,      v->handed, v->options.runtime_dir,
                                     v->epoll_fd, v->env.changed_fd};
    for (const struct beside *b = v->options.beside; b; b = b->next)
        b->begin(b->ctx, &host);
}

/* ---- boot or adoption ---- */

static wstatus service_boot(struct service *v, struct reason *why)
{
    struct regstore *store = NULL;
    /* the journal's id is this daemon's: a second daemon in the same boot has a journal of its own */
    char    id[64];
    wstatus st = directory_create(v->env.os, &v->table.directory, why);

    snprintf(id, sizeof id, "%.40s.%llu", v->state->boot_id, (unsigned long long)v->state->start_raw_ns);
    st = st ? st : journal_create(v->env.os, id, &v->journal, why);
    st = st ? st : rows_create(v->env.os, &v->rows, why);
    if (st)
        return st;
    service_keep_own(v);
    snprintf(v->results.boot_id, sizeof v->results.boot_id, "%s", v->state->boot_id);
    v->results.time      = filetime_from_unix_ns(v->env.os->realtime_ns(v->env.os));
    v->results.rehearsal = v->options.rehearsal;
    /* read-only: a reader creates no file and can't hold up a writer */
    st = reader_open(v, v->options.store_path, &store, why);
    if (st == W_FILE_NOT_FOUND && !v->options.rehearsal)
        return W_SUCCESS; /* nothing is declared: a daemon for sessions that are started later */
    if (!st && change_number_get(store, &v->results.change_number, why) != W_SUCCESS)
        visible_line(stderr, "autologgerd: %s", why->text);
    /* the hash of its content, not the one in its head: early_facts.c compares it with the store, which only root can
     * write */
    if (!st && v->options.snapshot)
        st = snapshot_content_hash(store, v->state->snapshot_content, why);
    st = st ? st : boot_sessions(v, store, why);
    regstore_close(store);
    if (!st)
        service_booted(v);
    return st;
}

static void adopt_session(struct service *v, int fd)
{
    struct session *s = NULL;
    struct reason   why;
    /* for its row, also when the rest of the state is damaged */
    char key[sizeof((struct state_session *)0)->key] = "";

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
    visible_line(stderr, "autologgerd: session %s could not be taken over: %s", key, why.text);
    struct result_row *row = result_find_key(&v->results, key);
    if (row) {
        row->status = st;
        snprintf(row->reason, sizeof row->reason, "after a restart of the daemon: %s", why.text);
    }
}

static wstatus service_adopt(struct service *v, struct reason *why)
{
    int directory = handed_take(v->handed, "directory"), journal = handed_take(v->handed, "journal"),
        rows   = handed_take(v->handed, "rows");
    wstatus st = directory < 0 || journal < 0 || rows < 0
                     ? reason_set(why, W_INVALID_DATA, "not everything was handed over by the former daemon")
                     : directory_adopt(directory, &v->table.directory, why);

    st = st ? st : journal_adopt(journal, &v->journal, why);
    if (st == W_INVALID_DATA && v->journal)
        st = W_SUCCESS; /* the sound part of it was kept */
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

static void service_limit_raise(int limit)
{
    struct rlimit r = {RLIM_INFINITY, RLIM_INFINITY};
    if (limit == RLIMIT_MEMLOCK && setrlimit(RLIMIT_MEMLOCK, &r) == 0)
        return;
    if (getrlimit(limit, &r) == 0) {
        r.rlim_cur = r.rlim_max;
        setrlimit(limit, &r);
    }
}

wstatus service_create(const struct service_options *options, struct handed *handed, struct service **out,
                       struct reason *why)
{
    struct service *v       = calloc(1, sizeof *v);
    bool            adopted = false;
    wstatus         st;

    if (!v)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the daemon");
    v->options  = *options;
    v->handed   = handed;
    v->state_fd = v->signal_fd = v->epoll_fd = v->env.changed_fd = v->env.answers_fd = v->consumers_fd = v->cpu_fd =
        v->date_fd                                                                                     = -1;
    service_limit_raise(RLIMIT_NOFILE);
    /* for rings; before Linux 5.11 also for BPF programs, for which an initramfs allows 64 KB */
    service_limit_raise(RLIMIT_MEMLOCK);
    struct control_hooks hooks = {.ctx      = v,
                                  .stop     = service_stop,
                                  .fs_ready = fs_ready,
                                  .shutdown = shut_down,
                                  .end_boot = boot_end_asked,
                                  .update   = v->options.update ? update : NULL,
                                  .updated  = updated,
                                  .start    = v->options.start ? service_start : NULL,
                                  .started  = service_started,
                                  .file     = v->options.file ? service_file : NULL,
                                  .enabling = v->options.enabling};
    memset(v->listen_fd, 0xFF, sizeof v->listen_fd);
    if ((st = service_signals_open(v, why)) || (st = service_listen_open(v, why)) ||
        (st = service_state_adopt(v, &adopted, why)) || (!adopted && (st = service_state_create(v, why))))
        goto out;
    service_env_fill(v, adopted);
    if (v->state->fs_ready)
        service_key_begin(v);
    if ((st = rights_begin(v, &hooks, why))) /* adopted sessions ask for them */
        goto out;
    if ((st = adopted ? service_adopt(v, why) : service_boot(v, why)))
        goto out;
    v->state->boot_done = 1; /* from here on a successor adopts */
    if ((st = server_create(v->listen_fd, &v->table, v->state, &hooks, &v->server, why)))
        goto out;
    if (adopted) {
        server_adopt(v->server, handed_take, v->handed);
        eventfd_write(v->env.changed_fd, 1); /* the predecessor may have died before it saved the rows */
    }
    kernel_begin(v, adopted);
    if (!v->state->ready_ns)
        v->state->ready_ns = boot_ns();
    if (!options->hold)
        fs_ready(v, why);
    if (adopted)
        service_stop_asked(v);
    boot_ready(v);
    beside_begin(v);
    cpus_watch(v);
    if (adopted)
        cpus_look(v); /* a processor may have come or gone unnoticed */
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

/* Ends nothing: what a successor needs is published at every moment, and the rows as of now are kept. `seal`: the
 * sessions take no more events, so that the kept state is final. */
static void leave(struct service *v, bool seal)
{
    service_kernel_finish(v, true);
    for (unsigned i = 0; i < SHM_SESSIONS; i++)
        if (v->table.slot[i])
            (seal ? session_seal : session_leave)(v->table.slot[i]);
    update_all(v);
    service_rows_keep(v);
}

wstatus service_loop(struct service *v, bool *left, struct reason *why)
{
    const struct boot_part *boot = v->options.boot;

    *left = false;
    while (!server_quit(v->server)) {
        struct signalfd_siginfo info;
        uint64_t                count;
        if (boot)
            boot->step(boot->ctx);
        for (const struct beside *b = v->options.beside; b; b = b->next)
            b->step(b->ctx);
        service_stop_private(v); /* a private session may have been started */
        if (!server_step(v->server, v->epoll_fd, -1))
            continue;
        if (read(v->signal_fd, &info, sizeof info) == sizeof info) {
            *left = info.ssi_signo == SIGHUP || info.ssi_signo == SIGUSR1;
            if (!*left)
                break;
            handed_notify(v->handed, "LEAVING=1"); /* it lives: the keeper waits for work in progress */
            leave(v, info.ssi_signo == SIGUSR1);
            return W_SUCCESS;
        }
        service_stop_private(v);
        cpus_step(v);
        date_step(v);
        if (read(v->consumers_fd, &count, sizeof count) == sizeof count)
            server_consumers(v->server);
        if (read(v->env.answers_fd, &count, sizeof count) == sizeof count)
            server_held(v->server);
        /* a session's file failed, or a session ended */
        if (read(v->env.changed_fd, &count, sizeof count) == sizeof count) {
            service_kernel_finish(v, false);
            service_stop_step(v);
            update_all(v);
            service_save(v, why);
        }
    }
    wstatus st = end_sessions(v, why);
    for (const struct beside *b = v->options.beside; b; b = b->next)
        b->end(b->ctx);
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
    klog_settle(); /* with the rights that this process still reaches */
    server_destroy(v->server);
    if (v->rights)
        v->options.rights->destroy(v->rights);
    table_finish(&v->table);
    directory_destroy(v->table.directory);
    journal_destroy(v->journal);
    rows_destroy(v->rows);
    result_list_finish(&v->results);
    if (v->state)
        munmap(v->state, sizeof *v->state);
    const int fds[] = {v->state_fd,       v->signal_fd,      v->epoll_fd,
                       v->env.changed_fd, v->env.answers_fd, v->consumers_fd,
                       v->cpu_fd,         v->date_fd,        v->env.proc_fd ? v->env.proc_fd : -1};
    for (unsigned i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    for (unsigned i = 0; i < CTL_SOCKETS; i++)
        if (v->listen_fd[i] >= 0)
            close(v->listen_fd[i]);
    free(v);
}
