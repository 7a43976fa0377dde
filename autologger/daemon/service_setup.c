/* service_setup.c - what a service finds or makes at its start: its state, its socket, signals, the environment of its
 * sessions. See service_parts.h. */
#include "autologger/daemon/service_parts.h"
#include "autologger/kernel/source/reach.h"

#include "autologger/control/message.h"
#include "autologger/daemon/keeper.h"
#include "autologger/kernel/phase/kphase.h"
#include "registry-sim/base/clock_kept.h"
#include "registry-sim/base/visible_print.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static void service_setup_boot_id_read(char *out, size_t size)
{
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    *out    = 0;
    if (f) {
        if (fgets(out, (int)size, f))
            out[strcspn(out, "\n")] = 0;
        fclose(f);
    }
}

static wstatus service_setup_state_map(struct service *v, int fd, struct reason *why)
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

/* The predecessor died while it booted: no program had been let in and no file been made, so the boot is done again. */
static void state_forget(struct service *v)
{
    munmap(v->state, sizeof *v->state);
    close(v->state_fd);
    v->state    = NULL;
    v->state_fd = -1;
    handed_drop(v->handed);
}

wstatus service_state_adopt(struct service *v, bool *adopted, struct reason *why)
{
    int fd = handed_take(v->handed, "daemon");

    *adopted = false;
    if (fd < 0) {
        handed_drop(v->handed);
        return W_SUCCESS;
    }
    wstatus st = service_setup_state_map(v, fd, why);
    if (st)
        return st;
    if (v->state->magic == STATE_MAGIC_DAEMON && v->state->version != STATE_VERSION)
        return reason_set(why, W_INVALID_DATA, "the state handed over has version %u; this daemon knows %u",
                          v->state->version, STATE_VERSION);
    if (v->state->magic != STATE_MAGIC_DAEMON || !v->state->boot_done) {
        state_forget(v);
        return W_SUCCESS;
    }
    *adopted = true;
    v->state->adopted++;
    return W_SUCCESS;
}

wstatus service_state_create(struct service *v, struct reason *why)
{
    int fd = os_linux()->shm_create(os_linux(), "autologger-daemon", sizeof *v->state, 0);
    if (fd < 0)
        return reason_set(why, wstatus_from_errno(-fd), "cannot create the daemon's state: %s", strerror(-fd));
    wstatus st = service_setup_state_map(v, fd, why);
    if (st)
        return st;
    v->state->version      = STATE_VERSION;
    v->state->size         = sizeof *v->state;
    v->state->start_raw_ns = os_linux()->raw_ns(os_linux());
    v->state->rehearsal    = v->options.rehearsal;
    v->state->early_ns     = v->options.begin_ns;
    v->state->held_ns      = v->options.held_ns;
    if (v->options.snapshot)
        v->state->change_number = v->options.snapshot->change_number;
    snprintf(v->state->store, sizeof v->state->store, "%s",
             v->options.store_saved ? v->options.store_saved : v->options.store_path);
    snprintf(v->state->log_dir, sizeof v->state->log_dir, "%s", v->options.log_dir);
    service_setup_boot_id_read(v->state->boot_id, sizeof v->state->boot_id);
    if (v->options.boot_id)
        snprintf(v->state->boot_id, sizeof v->state->boot_id, "%s", v->options.boot_id);
    if (v->options.rehearsal)
        snprintf(v->state->boot_id, sizeof v->state->boot_id, "rehearsal-%d-%llu", (int)getpid(),
                 (unsigned long long)v->state->start_raw_ns);
    v->state->magic = STATE_MAGIC_DAEMON;
    return W_SUCCESS;
}

/* Who may connect. Every user may connect to "control": the rights of each request are checked, and any user may have
 * some. With --control-group only root and the group may. */
static bool restricted(const struct service *v, enum ctl_socket which)
{
    return which == CTL_SOCKET_CONTROL && v->options.control_group;
}
static wstatus listen_mode(const struct service *v, enum ctl_socket which, const char *path, struct reason *why)
{
    const mode_t mode = which == CTL_SOCKET_ROOT ? 0600 : restricted(v, which) ? 0660 : 0666;
    if ((restricted(v, which) && chown(path, (uid_t)-1, *v->options.control_group) < 0) || chmod(path, mode) < 0)
        return reason_set(why, wstatus_from_errno(errno), "%s: %s", path, strerror(errno));
    return W_SUCCESS;
}

static wstatus listen_one(struct service *v, enum ctl_socket which, struct reason *why)
{
    static const char *const names[] = CTL_SOCKET_NAMES;
    static const char *const kept[]  = SERVICE_LISTEN_KEPT;
    struct sockaddr_un       a       = {.sun_family = AF_UNIX};
    int                     *fd      = &v->listen_fd[which];

    if (snprintf(a.sun_path, sizeof a.sun_path, "%s/%s", v->options.runtime_dir, names[which]) >=
        (int)sizeof a.sun_path)
        return reason_set(why, W_FILENAME_EXCED_RANGE, "the runtime folder's path is too long: %s",
                          v->options.runtime_dir);
    if ((*fd = handed_take(v->handed, kept[which])) >= 0) {
        message_refuse_descriptors(*fd); /* an older predecessor did not do this */
        return access(a.sun_path, F_OK) == 0 ? listen_mode(v, which, a.sun_path, why) : W_SUCCESS;
    }
    *fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    message_refuse_descriptors(*fd);
    unlink(a.sun_path);
    /* the file's first mode is right, or stricter */
    mode_t old = umask(which == CTL_SOCKET_ROOT || restricted(v, which) ? 0177 : 0111);
    int    r   = *fd < 0 ? -1 : bind(*fd, (struct sockaddr *)&a, sizeof a);
    umask(old);
    if (r < 0 || listen(*fd, 256) < 0)
        return reason_set(why, wstatus_from_errno(errno), "cannot listen at %s: %s", a.sun_path, strerror(errno));
    return listen_mode(v, which, a.sun_path, why);
}

wstatus service_listen_open(struct service *v, struct reason *why)
{
    wstatus st = W_SUCCESS;
    /* "control" is the last: a client that finds it finds the others */
    for (enum ctl_socket which = CTL_SOCKETS; !st && which-- > 0;)
        st = listen_one(v, which, why);
    return st;
}

wstatus service_signals_open(struct service *v, struct reason *why)
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
    v->env.answers_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    const int fds[]   = {v->signal_fd, v->env.changed_fd, v->consumers_fd, v->env.answers_fd};
    bool      all     = v->epoll_fd >= 0;
    for (size_t i = 0; all && i < sizeof fds / sizeof *fds; i++) {
        struct epoll_event e = {.events = EPOLLIN, .data.fd = fds[i]};
        all                  = fds[i] >= 0 && epoll_ctl(v->epoll_fd, EPOLL_CTL_ADD, fds[i], &e) == 0;
    }
    if (!all)
        return reason_set(why, wstatus_from_errno(errno), "cannot set up the daemon's waiting: %s", strerror(errno));
    return W_SUCCESS;
}

/* True: the state is of a boot that this machine is not in: it is recovered from a file. */
static bool of_another_boot(const struct service *v)
{
    char here[sizeof v->state->boot_id];
    service_setup_boot_id_read(here, sizeof here);
    return !v->state->rehearsal && strcmp(v->state->boot_id, v->options.boot_id ? v->options.boot_id : here) != 0;
}

/* On any thread: the descriptors are locked. */
static void rights_digest(void *ctx, const struct guid *object, bool kernel, uint8_t out[32])
{
    const struct service *v = ctx;
    if (v->rights)
        v->options.rights->digest(v->rights, object, kernel, out);
}

void service_key_begin(struct service *v)
{
    struct reason why;
    if (v->env.machine_key || !v->options.realtime)
        return;
    const wstatus st = v->options.rehearsal && machine_key_random(v->machine_key)
                           ? W_SUCCESS
                           : machine_key_load(v->state->store, v->machine_key, &why);
    if (!st)
        v->env.machine_key = v->machine_key;
    else
        visible_line(stderr, "autologgerd: real-time events that waited are kept and not delivered: %s", why.text);
}

void service_env_fill(struct service *v, bool adopted)
{
    struct clock_anchor *anchor = &v->env.anchor;

    created_init(&v->edge, os_linux(), &v->state->files_created, &v->state->files_created_early, &v->state->fs_ready);
    v->edge.left_behind   = getenv(KEEPER_LEFT_BEHIND) != NULL;
    v->env.os             = &v->edge.os;
    v->env.cpus           = (unsigned)v->env.os->cpu_count(v->env.os);
    v->env.threads        = true;
    v->env.kernel_later   = v->options.kernel_beside;
    v->env.realtime       = v->options.realtime;
    v->env.next_file      = v->options.next_file;
    v->env.modes          = v->options.modes;
    v->env.message_number = &v->state->message_number;
    v->env.system_config  = v->options.system_config;
    v->env.consumers_fd   = v->options.realtime ? v->consumers_fd : 0;
    v->env.tight_file     = v->options.tight_file;
    v->env.rights_digest  = v->options.rights ? rights_digest : NULL;
    v->env.rights_ctx     = v;
    v->env.owner          = v->options.rights ? v->options.rights->owner : NULL;
    v->env.proc_fd        = reach_proc();
    v->env.proc_fd        = v->env.proc_fd < 0 ? -1 : v->env.proc_fd;
    /* asked now: when the sources are opened, an early program may have no /proc any more. The first session that can
     * takes it */
    v->env.kernel_phase = !v->options.rehearsal && kphase_asked_here();
    v->env.keep         = handed_keep;
    v->env.keep_ctx     = v->handed;
    v->env.log_dir      = v->state->log_dir;
    v->env.free_floor   = UINT64_C(64) << 20;
    clock_machine_find(&v->env.machine);
    _Static_assert(sizeof *anchor == sizeof v->state->anchor, "the anchor is handed over as it is");
    if (adopted) { /* one anchor and one frequency per boot */
        memcpy(anchor, v->state->anchor, sizeof *anchor);
        /* regardless of the machine now: its clocksource may have changed since, and a recovered boot may have been
         * another machine's */
        v->env.machine.tsc_usable = anchor->tsc_hz != 0;
        if (!v->env.machine.tsc_usable && !v->env.machine.why_not[0])
            snprintf(v->env.machine.why_not, sizeof v->env.machine.why_not,
                     "the processor's counter could not be used when this boot's sessions began");
        v->env.machine.tsc_hz = anchor->tsc_hz;
        if (v->env.machine.tsc_usable) /* the frequency that files of CPUCycle have in their headers */
            v->env.machine.cpu_mhz = clock_mhz(anchor->tsc_hz);
        v->env.clock_gone = of_another_boot(v);
        if (v->env.machine.tsc_usable && !v->env.clock_gone)
            clock_kept_write(clock_kept_path(), anchor->tsc_hz);
    } else {
        if (v->env.machine.tsc_usable)
            v->env.machine.tsc_hz = clock_kept_write(clock_kept_path(), v->env.machine.tsc_hz);
        clock_anchor_take(&v->env.machine, anchor);
        if (v->env.kernel_phase)
            clock_anchor_back(anchor, 0); /* no event of this boot is older than the beginning that its files state */
        memcpy(v->state->anchor, anchor, sizeof *anchor);
    }
    v->table.env     = &v->env;
    v->table.most    = v->state->sessions_most;
    v->table.ceiling = plan_memory_ceiling(v->env.os->ram_bytes(v->env.os));
}

void service_keep_own(struct service *v)
{
    handed_keep(v->handed, "daemon", v->state_fd, 0);
    static const char *const listen_kept[] = SERVICE_LISTEN_KEPT;
    for (unsigned i = 0; i < CTL_SOCKETS; i++)
        handed_keep(v->handed, listen_kept[i], v->listen_fd[i], 0);
    handed_keep(v->handed, "directory", v->table.directory->fd, 0);
    handed_keep(v->handed, "journal", journal_fd(v->journal), 0);
    handed_keep(v->handed, "rows", rows_fd(v->rows), 0);
}
