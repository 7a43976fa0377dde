#include "autologger/daemon/end/boot_watch.h"

#include "autologger/daemon/child.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { STAT_LINE = 256, JOBS_WAIT_MS = 2000, JOBS_NAMED = 3 };

struct boot_watch {
    struct os            *os;
    struct boot_done      done;
    bool                  systemd, resting;
    int                   epoll_fd, timer_fd, stat_fd;
    struct child          ask;
    char                 *stat; /* the part of /proc/stat with its CPU lines */
    struct boot_done_cpu *cpu;
    unsigned              cpus;
};

static void boot_watch_timer_set(struct boot_watch *w, unsigned first_ms, unsigned every_ms)
{
    struct itimerspec t = {.it_value    = {first_ms / 1000, first_ms % 1000 * 1000000},
                           .it_interval = {every_ms / 1000, every_ms % 1000 * 1000000}};
    timerfd_settime(w->timer_fd, 0, &t, NULL);
}

/* ---- /proc/stat ---- */

/* "cpu3 user nice system idle iowait irq softirq steal guest guest_nice": guest time is in user already. */
static void parse_cpu(struct boot_watch *w, const char *line)
{
    unsigned number;
    uint64_t t[8] = {0};
    if (sscanf(line,
               "cpu%u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
               &number, &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) < 5 ||
        number >= w->cpus)
        return;
    w->cpu[number].idle = t[3];
    for (unsigned i = 0; i < 8; i++)
        w->cpu[number].total += t[i];
}

static void sample(struct boot_watch *w)
{
    size_t  size = (size_t)(w->cpus + 1) * STAT_LINE;
    ssize_t n    = pread(w->stat_fd, w->stat, size, 0);

    memset(w->cpu, 0, w->cpus * sizeof *w->cpu);
    if (n <= 0)
        return;
    w->stat[n] = 0;
    char *rest = w->stat, *line;
    /* without rest: the line is cut off */
    while ((line = strsep(&rest, "\n")) && rest && strncmp(line, "cpu", 3) == 0)
        if (line[3] != ' ')
            parse_cpu(w, line);
    if (boot_done_sample(&w->done, w->os->raw_ns(w->os), w->cpu, w->cpus))
        boot_watch_timer_set(w, 0, 0);
}

/* ---- systemd ---- */

static void after_mark_one(struct boot_watch *w)
{
    if (w->done.target_ns && !w->done.idle_ns && !w->resting) {
        boot_watch_timer_set(w, BOOT_SLICE_MS, BOOT_SLICE_MS);
        sample(w);
    }
}

static void boot_watch_answered(struct boot_watch *w, enum boot_answer answer)
{
    unsigned again = boot_done_answer(&w->done, w->os->raw_ns(w->os), answer);
    if (again)
        boot_watch_timer_set(w, again, 0);
    else
        after_mark_one(w);
}

static void boot_watch_ask(struct boot_watch *w)
{
    static const char *const argv[] = {"systemctl", "is-system-running", "--wait", NULL};
    struct epoll_event       e      = {.events = EPOLLIN};

    if (!child_start(&w->ask, (char *const *)(uintptr_t)argv, -1)) {
        boot_watch_answered(w, BOOT_ANSWER_NONE);
        return;
    }
    e.data.fd = w->ask.end_fd;
    if (epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, w->ask.end_fd, &e) < 0) {
        child_finish(&w->ask);
        boot_watch_answered(w, BOOT_ANSWER_NONE);
    }
}

static void ask_ended(struct boot_watch *w)
{
    char text[CHILD_TEXT];
    int  code;
    if (child_ended(&w->ask, &code, text)) /* its exit code is 0 only for "running": the word says more */
        boot_watch_answered(w, boot_answer_parse(text));
}

/* ---- the watch ---- */

static wstatus boot_watch_open_all(struct boot_watch *w, const struct boot_watch_options *options, struct reason *why)
{
    struct epoll_event e = {.events = EPOLLIN};

    w->cpus     = (unsigned)w->os->cpu_count(w->os);
    w->cpu      = calloc(w->cpus, sizeof *w->cpu);
    w->stat     = malloc((size_t)(w->cpus + 1) * STAT_LINE + 1);
    w->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    w->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    w->stat_fd  = open(options->proc_stat, O_RDONLY | O_CLOEXEC);
    if (!w->cpu || !w->stat)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory to watch for boot-done");
    e.data.fd = w->timer_fd;
    if (w->epoll_fd < 0 || w->timer_fd < 0 || w->stat_fd < 0 ||
        epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, w->timer_fd, &e) < 0)
        return reason_set(why, wstatus_from_errno(errno), "cannot watch for boot-done: %s", strerror(errno));
    return W_SUCCESS;
}

wstatus boot_watch_create(struct os *os, const struct boot_watch_options *options, struct boot_watch **out,
                          struct reason *why)
{
    struct boot_watch *w = calloc(1, sizeof *w);

    if (!w)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory to watch for boot-done");
    w->os       = os;
    w->epoll_fd = w->timer_fd = w->stat_fd = -1;
    w->ask                                 = (struct child){0, -1, -1};
    boot_done_init(&w->done, options->ready_ns);
    w->done.target_ns = options->target_ns;
    w->done.idle_ns   = options->idle_ns;
    wstatus st        = boot_watch_open_all(w, options, why);
    if (st) {
        boot_watch_destroy(w);
        return st;
    }
    w->systemd = access(options->systemd_dir, F_OK) == 0;
    if (!w->done.target_ns && w->systemd)
        boot_watch_ask(w);
    else
        boot_done_unasked(&w->done, "no systemd here: the first mark is where the file system was ready");
    if (!w->done.idle_ns && w->ask.pid == 0)
        after_mark_one(w);
    *out = w;
    return W_SUCCESS;
}

void boot_watch_destroy(struct boot_watch *w)
{
    if (!w)
        return;
    child_finish(&w->ask);
    const int fds[] = {w->epoll_fd, w->timer_fd, w->stat_fd};
    for (unsigned i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    boot_done_finish(&w->done);
    free(w->cpu);
    free(w->stat);
    free(w);
}

int boot_watch_fd(const struct boot_watch *w) { return w->epoll_fd; }

const struct boot_done *boot_watch_done(const struct boot_watch *w) { return &w->done; }

void boot_watch_step(struct boot_watch *w)
{
    uint64_t expired;

    ask_ended(w);
    if (read(w->timer_fd, &expired, sizeof expired) != sizeof expired)
        return;
    if (!w->done.target_ns)
        boot_watch_ask(w);
    else if (!w->done.idle_ns)
        sample(w);
}

void boot_watch_rest(struct boot_watch *w)
{
    w->resting = true;
    if (w->done.target_ns)
        boot_watch_timer_set(w, 0, 0);
}

/* ---- units that are still starting ---- */

void boot_jobs_text(const char *jobs, char *out, size_t size)
{
    unsigned count = 0;
    size_t   at    = 0;
    char     unit[200], type[32], state[32], number[32];

    *out = 0;
    for (const char *line = jobs; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        if (sscanf(line, "%31s %199s %31s %31s", number, unit, type, state) != 4 || strcmp(type, "start") != 0 ||
            strcmp(state, "running") != 0)
            continue;
        if (count++ < JOBS_NAMED && at < size)
            at += (size_t)snprintf(out + at, size - at, "%s%s", count == 1 ? "systemd is still starting " : ", ", unit);
    }
    if (count > JOBS_NAMED && at < size)
        snprintf(out + at, size - at, " and %u more", count - JOBS_NAMED);
}

void boot_watch_jobs(struct boot_watch *w, char *out, size_t size)
{
    static const char *const argv[] = {"systemctl", "list-jobs", "--no-legend", "--no-pager",
                                       "--plain",   "--full",    NULL};
    struct child             c;
    char                     text[CHILD_TEXT];
    int                      code;

    *out = 0;
    if (!w->systemd || !child_start(&c, (char *const *)(uintptr_t)argv, -1))
        return;
    struct pollfd p = {.fd = c.end_fd, .events = POLLIN};
    poll(&p, 1, JOBS_WAIT_MS);
    if (child_ended(&c, &code, text))
        boot_jobs_text(text, out, size);
    child_finish(&c);
}
