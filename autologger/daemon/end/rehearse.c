#include "autologger/daemon/end/rehearse.h"

#include "autologger/control/client.h"
#include "autologger/daemon/end/merge_boot.h"
#include "autologger/daemon/parts/runtime_dir.h"
#include "autologger/schema/publishers.h"
#include "registry-sim/base/os.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { DEFAULT_RUN_SECONDS = 10, DEFAULT_EARLY_MS = 300, START_SECONDS = 20, PROGRAMS_MAX = 64 };

struct rehearse_rehearsal {
    const struct rehearse_options *o;
    struct rehearse_result        *out;
    char                           runtime_dir[256];
    pid_t                          daemon;
    struct {
        pid_t       pid;
        bool        ended;
        const char *command;
    } program[PROGRAMS_MAX];
    unsigned programs;
};

/* The only process-wide state here: a signal handler can only note that the signal came. */
static volatile sig_atomic_t interrupted;
static void                  rehearse_on_signal(int number) { interrupted = number; }

static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { ENDING = sizeof ending_signals / sizeof *ending_signals };
struct old_signals {
    struct sigaction ending[ENDING], pipe;
};

/* Whatever signal ends the rehearsal, the boot ends in order: files complete, nothing left running. */
static void rehearse_signals_take(struct old_signals *old)
{
    struct sigaction take = {.sa_handler = rehearse_on_signal}, ignore = {.sa_handler = SIG_IGN};
    interrupted = 0;
    for (unsigned i = 0; i < ENDING; i++)
        sigaction(ending_signals[i], &take, &old->ending[i]);
    sigaction(SIGPIPE, &ignore, &old->pipe);
}

static void signals_give_back(const struct old_signals *old)
{
    for (unsigned i = 0; i < ENDING; i++)
        sigaction(ending_signals[i], &old->ending[i], NULL);
    sigaction(SIGPIPE, &old->pipe, NULL);
}

/* In a child: signals as a program expects them, and an end when the rehearsal is killed. */
static void rehearse_child_begin(void)
{
    for (unsigned i = 0; i < ENDING; i++)
        signal(ending_signals[i], SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    setpgid(0, 0); /* a Ctrl-C at the terminal reaches the rehearsal alone, which then ends the boot in order */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
}

static void progress(const struct rehearse_rehearsal *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void progress(const struct rehearse_rehearsal *r, const char *format, ...)
{
    char    line[1400];
    va_list args;
    if (!r->o->progress)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    r->o->progress(r->o->progress_ctx, line);
}

/* Returns early when a signal comes. */
static void rehearse_sleep_ms(unsigned ms)
{
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

/* Files and folders below `path`. */
static unsigned entries_below(const char *path)
{
    DIR     *d = opendir(path);
    unsigned n = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        char below[2048];
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        n++;
        snprintf(below, sizeof below, "%s/%s", path, e->d_name);
        if (e->d_type == DT_DIR)
            n += entries_below(below);
    }
    if (d)
        closedir(d);
    return n;
}

static wstatus rehearse_folders_make(struct rehearse_rehearsal *r, struct reason *why)
{
    static const char *const places[] = {"/run", "/tmp"};
    char                     path[1100];
    const char              *user = getenv("XDG_RUNTIME_DIR");

    snprintf(path, sizeof path, "%s/x", r->o->out_dir);
    int e = os_mkdir_parents(os_linux(), path, 0755);
    if (e < 0)
        return reason_set(why, wstatus_from_errno(-e), "cannot create the output folder %s: %s", r->o->out_dir,
                          strerror(-e));
    for (int i = geteuid() == 0 || !user ? 0 : -1; i < 2; i++) {
        snprintf(r->runtime_dir, sizeof r->runtime_dir, "%.200s/autologger-rehearsal-XXXXXX", i < 0 ? user : places[i]);
        if (mkdtemp(r->runtime_dir)) {
            chmod(r->runtime_dir, 0755);
            return W_SUCCESS;
        }
    }
    return reason_set(why, wstatus_from_errno(errno), "cannot create a runtime folder: %s", strerror(errno));
}

static wstatus rehearse_daemon_start(struct rehearse_rehearsal *r, struct reason *why)
{
    r->daemon = fork();
    if (r->daemon == 0) {
        rehearse_child_begin();
        unsetenv("NOTIFY_SOCKET");
        unsetenv("AUTOLOGGER_KEPT");
        execl(r->o->daemon_path, "autologgerd", "--keep", "--hold", "--rehearsal", "--store", r->o->store_path,
              "--log-dir", r->o->out_dir, "--runtime-dir", r->runtime_dir, (char *)NULL);
        _exit(127);
    }
    if (r->daemon < 0)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "cannot start the daemon: %s", strerror(errno));
    return W_SUCCESS;
}

static wstatus daemon_connect(struct rehearse_rehearsal *r, struct control_client **client, struct reason *why)
{
    for (unsigned waited = 0; waited < START_SECONDS * 1000 && !interrupted; waited += 20) {
        int status;
        if (control_open(r->runtime_dir, client, why) == W_SUCCESS)
            return W_SUCCESS;
        if (waitpid(r->daemon, &status, WNOHANG) == r->daemon) {
            r->daemon = 0;
            return reason_set(why, W_INVALID_OPERATION, "the daemon %s ended with exit code %d before it was ready",
                              r->o->daemon_path, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
        }
        rehearse_sleep_ms(20);
    }
    if (interrupted)
        return reason_set(why, W_CANCELLED, "interrupted before the daemon was ready");
    return reason_set(why, W_TIMEOUT, "the daemon was not ready within %d s", START_SECONDS);
}

/* Stands between the rehearsal and a program: passes its exit code on, and ends it with all its children when told to,
 * or when the rehearsal is killed. Never returns. */
static void program_mind(const char *command, pid_t parent)
{
    struct timespec patience = {2, 0};
    sigset_t        signals, old;
    int             status = 0;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGCHLD);
    sigprocmask(SIG_BLOCK, &signals, &old);
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        sigprocmask(SIG_SETMASK, &old, NULL);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    if (pid < 0)
        _exit(127);
    setpgid(pid, pid);
    if (getppid() != parent) /* the rehearsal was killed before the death signal was asked for */
        raise(SIGTERM);
    for (int number; (number = sigwaitinfo(&signals, NULL)) != SIGTERM;)
        if (number == SIGCHLD && waitpid(pid, &status, WNOHANG) == pid)
            _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    kill(-pid, SIGTERM);
    sigdelset(&signals, SIGTERM);
    while (waitpid(pid, &status, WNOHANG) == 0 && sigtimedwait(&signals, NULL, &patience) == SIGCHLD)
        ;
    kill(-pid, SIGKILL);
    _exit(0);
}

static void programs_start(struct rehearse_rehearsal *r)
{
    pid_t parent = getpid();

    for (const char **c = r->o->commands; c && *c && r->programs < PROGRAMS_MAX; c++) {
        pid_t pid = fork();
        if (pid == 0) {
            rehearse_child_begin();
            setenv("AUTOLOGGER_RUNTIME_DIR", r->runtime_dir, 1);
            program_mind(*c, parent);
        }
        if (pid < 0) {
            r->out->programs_failed++;
            continue;
        }
        r->program[r->programs].command = *c;
        r->program[r->programs++].pid   = pid;
        progress(r, "started: %s", *c);
    }
}

/* True when all have ended. */
static bool programs_ended(struct rehearse_rehearsal *r)
{
    bool all = true;
    for (unsigned i = 0; i < r->programs; i++) {
        int status;
        if (!r->program[i].ended && waitpid(r->program[i].pid, &status, WNOHANG) == r->program[i].pid) {
            r->program[i].ended = true;
            if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
                r->out->programs_failed++;
                progress(r, "%s %d: %s", WIFEXITED(status) ? "ended with exit code" : "ended by signal",
                         WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), r->program[i].command);
            }
        }
        all &= r->program[i].ended;
    }
    return all;
}

static void programs_run(struct rehearse_rehearsal *r)
{
    unsigned limit = (r->o->run_seconds ? r->o->run_seconds : DEFAULT_RUN_SECONDS) * 1000, waited = 0;

    programs_start(r);
    bool any = r->o->commands && *r->o->commands;
    for (; waited < limit && !interrupted && !(any && programs_ended(r)); waited += 50)
        rehearse_sleep_ms(50);
}

/* Ends the programs that still run, with their children: the rehearsal leaves nothing behind. Being stopped is no
 * failure. */
static void programs_kill(struct rehearse_rehearsal *r)
{
    programs_ended(r);
    for (unsigned i = 0; i < r->programs; i++)
        if (!r->program[i].ended) {
            progress(r, "still running at the end, stopped: %s", r->program[i].command);
            kill(r->program[i].pid, SIGTERM);
        }
    for (unsigned waited = 0; waited < 4000; waited += 20) {
        bool all = true;
        for (unsigned i = 0; i < r->programs; i++) {
            if (!r->program[i].ended && waitpid(r->program[i].pid, NULL, WNOHANG) == r->program[i].pid)
                r->program[i].ended = true;
            all &= r->program[i].ended;
        }
        if (all)
            break;
        rehearse_sleep_ms(20);
    }
    for (unsigned i = 0; i < r->programs; i++)
        if (!r->program[i].ended) {
            kill(r->program[i].pid, SIGKILL);
            waitpid(r->program[i].pid, NULL, 0);
        }
}

static void rehearse_daemon_end(struct rehearse_rehearsal *r)
{
    if (r->daemon > 0) {
        int status;
        for (unsigned waited = 0; waited < 5000 && waitpid(r->daemon, &status, WNOHANG) == 0; waited += 20)
            rehearse_sleep_ms(20);
        if (waitpid(r->daemon, &status, WNOHANG) == 0) {
            kill(r->daemon, SIGTERM);
            waitpid(r->daemon, &status, 0);
        }
    }
    runtime_dir_remove(r->runtime_dir);
}

/* ---- merging ---- */

static wstatus files_merge(struct rehearse_rehearsal *r, struct regstore *store, struct result_list *rows,
                           struct reason *why)
{
    struct merge_parts  parts;
    struct merge_counts merged;
    char                publishers[PUBLISHERS_PATH];

    merge_parts_select(os_linux(), rows, &parts);
    if (!parts.count)
        return W_SUCCESS;
    parts.publishers = publishers_beside(r->o->store_path, publishers);
    merge_parts_configuration(&parts, store, rows);
    wstatus st = merge_parts_run(os_linux(), &parts, &merged, why);
    if (st)
        return st;
    merge_parts_note(&parts);
    merge_parts_times(&parts, rows);
    snprintf(r->out->merged_path, sizeof r->out->merged_path, "%s", parts.target);
    r->out->events_merged = merged.out;
    if ((st = result_save(store, rows, why)))
        return st;
    if (!r->o->keep_premerge)
        merge_parts_remove(os_linux(), &parts);
    progress(r, "merged %u file%s, %llu events: %s", parts.count, parts.count == 1 ? "" : "s",
             (unsigned long long)merged.out, parts.target);
    return W_SUCCESS;
}

static wstatus rehearse_merge(struct rehearse_rehearsal *r, struct reason *why)
{
    struct regstore   *store = NULL;
    struct result_list rows  = {0};
    wstatus            st    = regstore_open(r->o->store_path, true, &store, why);

    st = st ? st : result_load(store, &rows, why);
    st = st ? st : files_merge(r, store, &rows, why);
    result_list_finish(&rows);
    regstore_close(store);
    return st;
}

/* ---- the moments of a boot ---- */

static wstatus boot(struct rehearse_rehearsal *r, struct control_client **client, struct reason *why)
{
    struct ctl_state_answer state;
    unsigned                before = entries_below(r->o->out_dir);
    wstatus                 st     = rehearse_daemon_start(r, why);

    if (st || (st = daemon_connect(r, client, why)))
        return st;
    rehearse_sleep_ms(r->o->early_ms ? r->o->early_ms : DEFAULT_EARLY_MS);
    if ((st = control_state(*client, &state, why)))
        return st;
    unsigned after              = entries_below(r->o->out_dir);
    r->out->files_created_early = state.files_created_early + (after > before ? after - before : 0);
    progress(r, "early phase: %u session%s started, events held in memory, %llu files created", state.sessions,
             state.sessions == 1 ? "" : "s", (unsigned long long)r->out->files_created_early);
    if ((st = control_fs_ready(*client, why)))
        return st;
    progress(r, "file system ready: log files are opened");
    programs_run(r);
    progress(r, "stopping");
    return control_shutdown(*client, why);
}

wstatus rehearse_lock(const char *out_dir, int *lock_fd, struct reason *why)
{
    *lock_fd = open(out_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*lock_fd >= 0 && flock(*lock_fd, LOCK_EX | LOCK_NB) == 0)
        return W_SUCCESS;
    int error = errno;
    if (*lock_fd >= 0)
        close(*lock_fd);
    *lock_fd = -1;
    return error == EWOULDBLOCK
               ? reason_set(why, W_BUSY, "another rehearsal is writing to %s; choose another --out", out_dir)
               : reason_set(why, wstatus_from_errno(error), "%s: %s", out_dir, strerror(error));
}

wstatus rehearse_run(const struct rehearse_options *options, struct rehearse_result *out, struct reason *why)
{
    struct rehearse_rehearsal r      = {.o = options, .out = out};
    struct control_client    *client = NULL;
    struct old_signals        old;
    wstatus                   st;

    memset(out, 0, sizeof *out);
    rehearse_signals_take(&old);
    if (!(st = rehearse_folders_make(&r, why))) {
        st = boot(&r, &client, why);
        control_close(client);
        if (st && r.daemon > 0)
            kill(r.daemon, SIGTERM); /* it stops its sessions and completes its files */
        programs_kill(&r);
        rehearse_daemon_end(&r);
        /* a failed merge is reported separately: the Status table is there all the same */
        if (!st && rehearse_merge(&r, &out->merge_failed) == W_SUCCESS)
            memset(&out->merge_failed, 0, sizeof out->merge_failed);
    }
    out->interrupted = interrupted != 0;
    signals_give_back(&old);
    return st;
}
