/* autologger-units - the provider of systemd's units: a program of its own, which the daemon starts when a session
 * wants units, and never waits for. It listens to systemd (bus.h), finds new times (unit.h) and writes events (emit.h)
 * like any program. It ends with the thread that started it. When the connection to systemd ends, it prints the reason
 * and ends, and is started again: the reported times are kept in memory of the daemon (--known). */
#include "autologger/kernel/source/reach.h"
#include "autologger/units/cgroup.h"
#include "autologger/units/emit.h"
#include "autologger/units/starting.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BOOT_US = 600000000 /* a machine that is up for longer is not booting: no gentle questions */ };
enum {
    ROWS_MOST       = 256,
    ANSWER_S        = 60,
    PROCESSES_MOST  = 16,
    LOOKS_US        = 50000,
    STUCK_MOST      = 3,
    EXIT_BUS        = 1,
    EXIT_WRONG_CALL = 100,
    EXIT_REFUSED    = 111,
    OPTION_BUS      = 1000,
    OPTION_PROVIDER,
    OPTION_KNOWN,
    OPTION_RUNTIME_DIR,
    OPTION_REACH
};

/* News of a job before the list was complete: written in time order among the units' events. */
struct early_job {
    struct unit_job job;
    char           *result;
    uint64_t        us;
};

struct units_program {
    struct emit_row    rows[ROWS_MOST];
    unsigned           row_count;
    const char        *bus_address, *known_path;
    struct emitter    *emitter;
    struct bus        *bus;
    struct unit_known *known;
    int                asked_fd; /* eventfd: a session wants the state of all units */
    bool               listed, full;
    struct unit_event *first; /* events of all units before the list is complete, to be sorted */
    size_t             first_count, first_room;
    struct unit_known *held; /* until then: as `known`, with the times in `first` */
    /* states of units at their events: some units are gone, or start once more, before the list is complete */
    struct unit     **copy;
    size_t            copies;
    struct early_job *jobs;
    size_t            job_count, job_done;
    struct starting   starting;
    unsigned          stuck; /* looks that the kernel did not answer */
    int               proc;  /* a descriptor of /proc; -1: no more looks */
};

static const struct argp_option units_program_options[] = {
    {"bus", OPTION_BUS, "ADDRESS", 0, "where systemd listens (default " BUS_SYSTEMD ")", 0},
    {"provider", OPTION_PROVIDER, "{GUID}[,SESSION[,UNITS]]", 0,
     "a provider: its GUID, the session that it is for, which units", 0},
    {"runtime-dir", OPTION_RUNTIME_DIR, "DIR", 0, "of the daemon", 0},
    {"reach", OPTION_REACH, "FD", OPTION_HIDDEN, "a socket to who has the rights that it needs", 0},
    {"known", OPTION_KNOWN, "FILE", 0, "memory that says what was told before", 0},
    {0},
};

static error_t units_parse(int key, char *arg, struct argp_state *state)
{
    struct units_program *p = state->input;
    char                  guid[40];

    switch (key) {
    case OPTION_BUS: p->bus_address = arg; return 0;
    case OPTION_RUNTIME_DIR: setenv("AUTOLOGGER_RUNTIME_DIR", arg, 1); return 0; /* no other thread yet */
    case OPTION_REACH:
        fcntl(atoi(arg), F_SETFD, FD_CLOEXEC);
        reach_through(atoi(arg), false);
        return 0;
    case OPTION_KNOWN: p->known_path = arg; return 0;
    case OPTION_PROVIDER: {
        struct emit_row *r     = &p->rows[p->row_count];
        char            *comma = strchr(arg, ','), *second = comma ? strchr(comma + 1, ',') : NULL;
        snprintf(guid, sizeof guid, "%.*s", (int)strcspn(arg, ","), arg);
        if (p->row_count == ROWS_MOST || !guid_parse_braced(guid, &r->guid))
            argp_error(state, "\"%s\" is no provider", arg);
        r->session  = comma ? atoi(comma + 1) : -1;
        r->patterns = second ? second + 1 : NULL;
        p->row_count++;
        return 0;
    }
    case ARGP_KEY_ARG: argp_error(state, "unexpected argument \"%s\"", arg); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static uint64_t units_now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000;
}

/* ---- news from systemd ---- */

/* systemd's default cgroup of a service, used before systemd is asked: a short-lived service is gone before the
 * answer. */
static const char *usual_cgroup(const char *name, char *out, size_t size)
{
    const char *at = strchr(name, '@'), *dot = strrchr(name, '.');
    size_t      n;

    *out = 0;
    if (!dot || strcmp(dot, ".service") != 0)
        return out;
    if (!at) {
        snprintf(out, size, "/system.slice/%s", name);
        return out;
    }
    n = (size_t)snprintf(out, size, "/system.slice/system-");
    for (const char *c = name; c < at && n + 5 < size; c++) /* a '-' divides slices */
        n += (size_t)snprintf(out + n, size - n, *c == '-' ? "\\x2d" : "%c", *c);
    snprintf(out + n, size - n, ".slice/%s", name);
    return out;
}

enum { CGROUP_ROOM = 600 };
static const char *units_cgroup_of(const struct unit *u, char usual[CGROUP_ROOM])
{
    return u->cgroup && *u->cgroup ? u->cgroup : usual_cgroup(u->name, usual, CGROUP_ROOM);
}

static void cgroup_tell(struct units_program *p, const struct unit *u)
{
    char              usual[CGROUP_ROOM];
    const char *const path = units_cgroup_of(u, usual);
    const uint64_t    id   = cgroup_id(path);
    if (id && unit_cgroup_news(p->known, u->name, id))
        emit_cgroup(p->emitter, u, path, id);
}

/* ---- units whose start takes long ---- */

static bool units_ends_with(const char *name, const char *end)
{
    const size_t n = strlen(name), m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

/* Follows the start of a unit of a kind that has programs. */
static void starting_unit(struct units_program *p, const char *name, const char *cgroup, uint64_t since_us)
{
    char usual[CGROUP_ROOM];
    if (!units_ends_with(name, ".service") && !units_ends_with(name, ".mount") && !units_ends_with(name, ".swap"))
        return;
    if (!cgroup || !*cgroup)
        cgroup = usual_cgroup(name, usual, sizeof usual);
    if (!*cgroup) {
        snprintf(usual, sizeof usual, "/system.slice/%s", name);
        cgroup = usual;
    }
    starting_see(&p->starting, name, cgroup, since_us, units_now_us());
}

static void on_starts(void *ctx, const char *name)
{
    struct units_program *p = ctx;
    if (!starting_has(&p->starting, name)) /* else a signal has given more of it */
        starting_unit(p, name, NULL, units_now_us());
}

static void starting_follow(struct units_program *p, const struct unit *u)
{
    const bool starts = u->active && strcmp(u->active, "activating") == 0;
    if (starts && u->sub && strncmp(u->sub, "auto-restart", 12) == 0)
        starting_pause(&p->starting, u->name);
    else if (starts)
        starting_unit(p, u->name, u->cgroup, u->time[UNIT_ACTIVATING] ? u->time[UNIT_ACTIVATING] : units_now_us());
    else
        starting_over(&p->starting, u->name);
}

/* systemd's messages wait meanwhile: so not for long at a time. After STUCK_MOST looks that a process' files held up,
 * there are no more looks. */
static void starting_look(struct units_program *p)
{
    const uint64_t              until = units_now_us() + LOOKS_US;
    const struct starting_unit *u;
    struct waiting              w;
    uint32_t                    pid[PROCESSES_MOST];

    while (p->proc >= 0 && units_now_us() < until && (u = starting_due(&p->starting, units_now_us()))) {
        const unsigned n = cgroup_processes(u->cgroup, pid, PROCESSES_MOST);
        for (unsigned i = 0; i < n && p->stuck < STUCK_MOST; i++) {
            if (!waiting_look(p->proc, pid[i], &w))
                continue;
            emit_waiting(p->emitter, u->name, u->since_us, pid[i], &w);
            p->stuck += w.stuck;
        }
    }
    if (p->stuck >= STUCK_MOST && p->proc >= 0) {
        close(p->proc);
        p->proc = -1;
    }
}

/* ---- events of units ---- */

static void news_unit(void *ctx, const struct unit *u)
{
    struct units_program *p = ctx;
    bool                  full;

    if (p->first_count + UNIT_STEPS > p->first_room) {
        size_t             room  = p->first_room ? 2 * p->first_room : 1024;
        struct unit_event *grown = realloc(p->first, room * sizeof *grown);
        if (!grown) {
            p->full = true;
            return;
        }
        p->first      = grown;
        p->first_room = room;
    }
    p->first_count += unit_news(p->held, u, p->first + p->first_count, &full);
    p->full |= full;
}

/* Before the list is complete: a unit's events wait, so that all come in order. */
static void unit_hold(struct units_program *p, const struct unit *u)
{
    const size_t  before = p->first_count;
    struct unit **grown  = realloc(p->copy, (p->copies + 1) * sizeof *grown);
    struct unit  *copy   = grown ? malloc(sizeof *copy) : NULL;

    p->copy = grown ? grown : p->copy;
    if (!copy || !unit_copy(u, copy)) {
        free(copy);
        return; /* the complete list will have its last state */
    }
    news_unit(p, copy);
    if (p->first_count == before) {
        unit_finish(copy);
        free(copy);
        return;
    }
    p->copy[p->copies++] = copy;
    unit_told(p->held, copy);
}

static void on_unit(void *ctx, const struct unit *u)
{
    struct units_program *p = ctx;
    struct unit_event     events[UNIT_STEPS];
    bool                  full;

    starting_follow(p, u);
    if (!p->listed) {
        cgroup_tell(p, u);
        unit_hold(p, u);
        return;
    }
    unsigned count = unit_news(p->known, u, events, &full);
    p->full |= full;
    for (unsigned i = 0; i < count; i++)
        emit_step(p->emitter, &events[i]);
    unit_told(p->known, u); /* after writing: a program killed in between repeats events rather than omits them */
    cgroup_tell(p, u);
}

static void on_gone(void *ctx, const char *name)
{
    struct units_program *p = ctx;
    starting_over(&p->starting, name);
    unit_forget(p->known, name);
    if (p->held)
        unit_forget(p->held, name);
}

static void job_keep(struct units_program *p, const struct unit_job *job, const char *result, uint64_t us)
{
    struct early_job *grown = realloc(p->jobs, (p->job_count + 1) * sizeof *grown);
    if (!grown)
        return;
    p->jobs                      = grown;
    grown[p->job_count]          = (struct early_job){*job, result ? strdup(result) : NULL, us};
    grown[p->job_count].job.unit = strdup(job->unit);
    grown[p->job_count].job.type = job->type ? strdup(job->type) : NULL;
    p->job_count++;
}

/* Writes the news of jobs up to `until`. */
static void jobs_write(struct units_program *p, uint64_t until)
{
    for (; p->job_done < p->job_count && p->jobs[p->job_done].us <= until; p->job_done++) {
        struct early_job *j = &p->jobs[p->job_done];
        emit_job(p->emitter, &j->job, j->result, j->us);
        free(j->job.unit);
        free(j->job.type);
        free(j->result);
    }
}

static void on_job(void *ctx, const struct unit_job *job, const char *result)
{
    struct units_program *p  = ctx;
    const uint64_t        us = !result && job->running ? job->running : units_now_us();
    if (p->listed)
        emit_job(p->emitter, job, result, us);
    else
        job_keep(p, job, result, us);
}

static void rundown_unit(void *ctx, const struct unit *u)
{
    struct units_program *p = ctx;
    char                  usual[CGROUP_ROOM];
    emit_rundown(p->emitter, u, cgroup_id(units_cgroup_of(u, usual)));
}

static void cgroup_unit(void *ctx, const struct unit *u) { cgroup_tell(ctx, u); }

static void told_unit(void *ctx, const struct unit *u) { unit_told(((struct units_program *)ctx)->known, u); }

static void on_listed(void *ctx, const uint64_t marks[BUS_MARKS])
{
    struct units_program *p         = ctx;
    const uint64_t        listed_us = units_now_us();

    p->listed = true;
    alarm(0);
    bus_each(p->bus, news_unit, p);
    if (p->first_count)
        qsort(p->first, p->first_count, sizeof *p->first, unit_event_order);
    for (size_t i = 0; i < p->first_count; i++) {
        jobs_write(p, p->first[i].time);
        emit_step(p->emitter, &p->first[i]);
    }
    jobs_write(p, UINT64_MAX);
    for (size_t i = 0; i < p->copies; i++) {
        unit_told(p->known, p->copy[i]);
        unit_finish(p->copy[i]);
        free(p->copy[i]);
    }
    bus_each(p->bus, told_unit, p);
    free(p->held);
    free(p->copy);
    free(p->jobs);
    free(p->first);
    p->held        = NULL;
    p->copy        = NULL;
    p->copies      = 0;
    p->jobs        = NULL;
    p->first       = NULL;
    p->first_count = p->first_room = 0;
    emit_moment(p->emitter, listed_us);
    emit_marks(p->emitter, marks);
    bus_each(p->bus, cgroup_unit, p);
    bus_each(p->bus, rundown_unit, p);
    emit_moment(p->emitter, 0);
}

/* Before systemd's end of the boot its time is not known. */
static void on_finished(void *ctx, const uint64_t marks[BUS_MARKS])
{
    emit_marks(((struct units_program *)ctx)->emitter, marks);
}

/* ---- the program ---- */

static void on_asked(void *ctx) { eventfd_write(((struct units_program *)ctx)->asked_fd, 1); }

static bool known_map(struct units_program *p)
{
    const size_t size = sizeof *p->known;
    struct stat  st;
    int          fd = p->known_path ? open(p->known_path, O_RDWR | O_CLOEXEC) : -1;

    if (fd >= 0 && fstat(fd, &st) == 0 && (size_t)st.st_size >= size)
        p->known = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    else if (!p->known_path)
        p->known = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fd >= 0)
        close(fd);
    if (!p->known || p->known == MAP_FAILED || !(p->held = malloc(size)))
        return false;
    memcpy(p->held, p->known, size);
    return true;
}

static int units_failed(const struct reason *why, int code)
{
    fprintf(stdout, "%s\n", why->text);
    return code;
}

/* For a systemd that accepts the connection and never answers. */
static void on_alarm(int signal)
{
    static const char text[] = "systemd does not answer\n";
    (void)signal;
    (void)!write(1, text, sizeof text - 1);
    _exit(EXIT_BUS);
}

static int listen_to_systemd(struct units_program *p, struct reason *why)
{
    for (unsigned answers = 0;;) {
        struct pollfd fds[2] = {{.fd = bus_fd(p->bus), .events = POLLIN}, {.fd = p->asked_fd, .events = POLLIN}};
        eventfd_t     count;
        const int     bus_ms = bus_wait_ms(p->bus),
                  look_ms    = p->proc < 0 ? -1 : starting_wait_ms(&p->starting, units_now_us());
        if (poll(fds, 2, bus_ms < 0 || (look_ms >= 0 && look_ms < bus_ms) ? look_ms : bus_ms) < 0 && errno != EINTR)
            return units_failed(why, EXIT_REFUSED);
        starting_look(p);
        if (bus_step(p->bus, why))
            return units_failed(why, EXIT_BUS);
        if (!p->listed && bus_answers(p->bus) != answers)
            alarm(ANSWER_S);
        answers = bus_answers(p->bus);
        if (fds[1].revents && eventfd_read(p->asked_fd, &count) == 0 && p->listed) {
            emit_moment(p->emitter, units_now_us());
            bus_each(p->bus, rundown_unit, p);
            emit_moment(p->emitter, 0);
        }
    }
}

int main(int argc, char **argv)
{
    static struct units_program p    = {.bus_address = BUS_SYSTEMD};
    const struct argp           argp = {units_program_options,
                                        units_parse,
                                        NULL,
                                        "Writes what systemd's units do as events. The daemon starts it.",
                                        NULL,
                                        NULL,
                                        NULL};
    const struct bus_sink       sink = {&p, on_unit, on_starts, on_listed, on_gone, on_job, on_finished};
    struct reason               why  = {0};

    argp_err_exit_status = EXIT_WRONG_CALL;
    argp_parse(&argp, argc, argv, 0, NULL, &p);
    p.asked_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (p.asked_fd < 0 || !known_map(&p)) {
        reason_set(&why, W_NOT_ENOUGH_MEMORY, "no memory: %s", strerror(errno));
        return units_failed(&why, EXIT_REFUSED);
    }
    if (emit_create(p.rows, p.row_count, on_asked, &p, &p.emitter, &why))
        return units_failed(&why, EXIT_REFUSED);
    p.proc = reach_proc();
    eventfd_t before;
    eventfd_read(p.asked_fd, &before); /* the first list answers these requests */
    signal(SIGALRM, on_alarm);
    alarm(ANSWER_S); /* limit of each answer, until all units are listed */
    if (bus_open(p.bus_address, &sink, units_now_us() < BOOT_US, &p.bus, &why))
        return units_failed(&why, EXIT_BUS);
    int code = listen_to_systemd(&p, &why);
    bus_close(p.bus);
    starting_finish(&p.starting);
    emit_destroy(p.emitter);
    munmap(p.known, sizeof *p.known);
    return code;
}
