#include "tools/heap/heap_run.h"

#include "registry-sim/text/textbuf.h"
#include "tools/files/program_find.h"
#include "tools/heap/heap_collect.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_FD = 900 /* far from the numbers that programs expect */, SERVE_MS = 20, VARIABLE_MOST = 64 };
#define LIBRARY "libautologger-heap.so"

static volatile sig_atomic_t heap_child; /* gets the signals that end this command */

static void heap_pass_on(int signal)
{
    if (heap_child > 0)
        kill(heap_child, signal);
}

/* ld.so cuts the list of libraries at blanks and colons. */
static wstatus library_find(char *out, size_t size, struct reason *why)
{
    const wstatus st = program_find(LIBRARY, out, size, why);
    if (!st && strpbrk(out, " :"))
        return reason_set(why, W_INVALID_NAME,
                          "%s: the dynamic loader takes no path with a blank or a colon. Do: install autologger", out);
    return st;
}

/* A number that programs do not expect, as far as this process may have one. */
static int descriptor_put(int fd)
{
    struct rlimit most;
    int           first = FIRST_FD;
    if (!getrlimit(RLIMIT_NOFILE, &most) && most.rlim_cur != RLIM_INFINITY && most.rlim_cur <= (rlim_t)first)
        first = most.rlim_cur > 16 ? (int)most.rlim_cur - 1 : 3;
    return fcntl(fd, F_DUPFD, first);
}

/* execvp's own search, before a file is made for a program that is not there. */
static wstatus program_exists(const char *name, struct reason *why)
{
    const char *list = getenv("PATH");
    char        path[PATH_MAX];
    struct stat st;
    if (strchr(name, '/'))
        return access(name, X_OK) || stat(name, &st) || S_ISDIR(st.st_mode)
                   ? reason_set(why, wstatus_from_errno(errno ? errno : EACCES), "%s: %s", name,
                                strerror(errno ? errno : EACCES))
                   : W_SUCCESS;
    for (const char *at = list ? list : "/usr/bin:/bin"; *at;) {
        const size_t n = strcspn(at, ":");
        snprintf(path, sizeof path, "%.*s/%s", (int)n, n ? at : ".", name);
        if (!access(path, X_OK) && !stat(path, &st) && S_ISREG(st.st_mode))
            return W_SUCCESS;
        at += n + (at[n] == ':');
    }
    return reason_set(why, W_FILE_NOT_FOUND, "%s: %s in PATH", name, strerror(ENOENT));
}

/* In the child: waits until the collector knows it, then becomes the program. */
static void child_begin(const struct heap_run *run, const struct heap_collector *c, const char *library, int go,
                        int failed)
{
    char        variable[VARIABLE_MOST], *list = NULL, byte;
    const char *before = getenv("LD_PRELOAD");
    const int   fd     = descriptor_put(heap_collector_fd(c));
    int         error  = fd < 0 ? errno : 0;
    while (!error && read(go, &byte, 1) < 0 && errno == EINTR)
        ;
    if (!error) {
        heap_collector_variable(c, fd, getpid(), variable, sizeof variable);
        if (asprintf(&list, "%s%s%s", library, before && *before ? ":" : "", before ? before : "") < 0 ||
            setenv("LD_PRELOAD", list, 1) || setenv(HEAP_VARIABLE, variable, 1))
            error = ENOMEM;
    }
    if (!error) {
        execvp(run->argv[0], run->argv);
        error = errno;
    }
    if (write(failed, &error, sizeof error) < 0)
        _exit(126);
    _exit(127);
}

static char *command_join(char **argv)
{
    struct textbuf b = {0};
    for (; *argv; argv++) {
        textbuf_puts(&b, b.size ? " " : "");
        textbuf_puts(&b, *argv);
    }
    return b.data; /* NULL: no memory */
}

/* A terminal's SIGINT and SIGQUIT reach the program too; a file that may not grow is a failed write; an ignored SIGCHLD
 * would hide the exit code. */
static const struct heap_signal {
    int number;
    void (*handler)(int number);
} heap_signals[] = {{SIGINT, SIG_IGN},      {SIGQUIT, SIG_IGN}, {SIGTERM, heap_pass_on},
                    {SIGHUP, heap_pass_on}, {SIGXFSZ, SIG_IGN}, {SIGCHLD, SIG_DFL}};
enum { SIGNALS = sizeof heap_signals / sizeof *heap_signals };
static void signals_set(struct sigaction before[SIGNALS], bool begin)
{
    for (int i = 0; i < SIGNALS; i++) {
        const struct sigaction mine = {.sa_handler = heap_signals[i].handler};
        sigaction(heap_signals[i].number, begin ? &mine : &before[i], begin ? &before[i] : NULL);
    }
}

/* Serves until the program has ended. */
static void heap_serve(struct heap_run *run, struct heap_collector *c, struct reason *why)
{
    for (;;) {
        heap_collector_serve(c, SERVE_MS, why);
        const pid_t ended  = waitpid(run->pid, &run->wait_status, WNOHANG);
        run->ended_unknown = ended < 0 && errno != EINTR;
        if (ended == run->pid || run->ended_unknown)
            return;
    }
}

static wstatus run_program(struct heap_run *run, struct heap_collector *c, const char *library,
                           struct sigaction before[SIGNALS], struct reason *why)
{
    int go[2], failed[2], error = 0;
    if (pipe2(go, O_CLOEXEC))
        return reason_set(why, wstatus_from_errno(errno), "pipe: %s", strerror(errno));
    if (pipe2(failed, O_CLOEXEC)) {
        close(go[0]), close(go[1]);
        return reason_set(why, wstatus_from_errno(errno), "pipe: %s", strerror(errno));
    }
    fflush(NULL);
    run->pid = fork();
    if (run->pid == 0) {
        close(go[1]);
        child_begin(run, c, library, go[0], failed[1]);
    }
    close(go[0]);
    close(failed[1]);
    if (run->pid < 0) {
        close(go[1]), close(failed[0]);
        return reason_set(why, wstatus_from_errno(errno), "fork: %s", strerror(errno));
    }
    heap_child       = run->pid;
    const char *name = strrchr(run->argv[0], '/');
    char       *line = command_join(run->argv);
    heap_collector_process(c, run->pid, name ? name + 1 : run->argv[0], line ? line : run->argv[0]);
    free(line);
    signals_set(before, true); /* heap_run sets them back */
    close(go[1]);
    const bool not_run = read(failed[0], &error, sizeof error) == sizeof error;
    close(failed[0]);
    if (not_run)
        waitpid(run->pid, &run->wait_status, 0);
    else
        heap_serve(run, c, why);
    heap_child = 0;
    return not_run ? reason_set(why, wstatus_from_errno(error), "%s: %s", run->argv[0], strerror(error)) : W_SUCCESS;
}

wstatus heap_run(struct heap_run *run, struct reason *why)
{
    char                   library[PATH_MAX], name[128], file[PATH_MAX];
    struct heap_collector *c;
    struct heap_counts     counts;
    struct timespec        from, to;
    struct sigaction       before[SIGNALS];

    wstatus st = program_exists(run->argv[0], why);
    st         = st ? st : library_find(library, sizeof library, why);
    if (st)
        return st;
    const char *base = strrchr(run->argv[0], '/');
    snprintf(name, sizeof name, "Heap %s", base ? base + 1 : run->argv[0]);
    if (run->file[0] == '/' || !realpath(".", file) || strlen(file) + strlen(run->file) + 2 > sizeof file)
        snprintf(file, sizeof file, "%s", run->file);
    else
        snprintf(file + strlen(file), sizeof file - strlen(file), "/%s", run->file);
    st = heap_collector_create(file, name, (run->allocations ? HEAP_ALLOCATIONS : 0u) | (run->locks ? HEAP_LOCKS : 0u),
                               &c, why);
    if (st)
        return st;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; i < SIGNALS; i++)
        sigaction(heap_signals[i].number, NULL, &before[i]);
    const wstatus ran = run_program(run, c, library, before, why);
    clock_gettime(CLOCK_MONOTONIC, &to);
    struct reason ending;
    st                 = heap_collector_finish(c, &counts, ran ? &ending : why);
    run->seconds       = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
    run->attempted     = counts.attempted;
    run->written       = counts.written;
    run->lost          = counts.lost;
    run->attached      = counts.attached;
    run->given_up      = counts.given_up;
    run->own_allocator = counts.own_allocator;
    heap_collector_destroy(c);
    signals_set(before, false);
    if (ran) /* nothing ran: no file */
        unlink(file);
    return ran ? ran : st;
}
