/* bench_stand.c - see bench_stand.h. */
#include "tools/bench/bench_stand.h"
#include "autologger/control/client.h"
#include "tools/files/program_find.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATH_BYTES = 400, START_MS = 20000, STEP_MS = 20, MODE_DIR = 0700, LINE_BYTES = 1 << 17 };
#define LTTNG "lttng", "--no-sessiond"

const char *bench_stand_path(const struct bench_stand *s, const char *name, char out[400])
{
    snprintf(out, PATH_BYTES, "%s/%s", s->dir, name);
    return out;
}

double bench_clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double bench_stand_cpu_of(pid_t pid)
{
    clockid_t       clock;
    struct timespec t = {0};
    if (clock_getcpuclockid(pid, &clock) == 0)
        clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

double bench_daemon_cpu(const struct bench_stand *s) { return bench_stand_cpu_of(s->daemon); }

double bench_lttng_cpu(const struct bench_stand *s)
{
    char           path[64];
    double         ns = bench_stand_cpu_of(s->sessiond);
    struct dirent *e;

    snprintf(path, sizeof path, "/proc/%d/task", (int)s->sessiond);
    DIR *tasks = opendir(path);
    while (tasks && (e = readdir(tasks))) { /* any of its threads may have started a consumer */
        char children[360];
        int  child;
        snprintf(children, sizeof children, "%s/%s/children", path, e->d_name);
        FILE *f = *e->d_name == '.' ? NULL : fopen(children, "re");
        while (f && fscanf(f, "%d", &child) == 1)
            ns += bench_stand_cpu_of(child);
        if (f)
            fclose(f);
    }
    if (tasks)
        closedir(tasks);
    return ns;
}

/* ---- programs ---- */

/* Prepares a child: its messages go to a file, it ends when the bench is killed, and it finds this stand's daemons
 * alone. */
static void bench_stand_child_begin(const struct bench_stand *s, int in, int out)
{
    char path[PATH_BYTES];
    int  null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int  said = open(bench_stand_path(s, "said", path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    dup2(in < 0 ? null : in, 0);
    dup2(out < 0 ? said : out, 1);
    dup2(said, 2);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    setenv("LTTNG_HOME", s->dir, 1);
    setenv("LTTNG_RUNDIR", bench_stand_path(s, "lttng-run", path), 1);
    setenv("LTTNG_UST_REGISTER_TIMEOUT", "20000", 1);
    setenv("LTTNG_UST_ALLOW_BLOCKING", "1", 1); /* for a session that must not lose events */
    setenv("AUTOLOGGER_RUNTIME_DIR", bench_stand_path(s, "run", path), 1);
}

static pid_t bench_stand_program_start(const struct bench_stand *s, const char *const argv[], int in, int out)
{
    pid_t pid = fork();
    if (pid == 0) {
        bench_stand_child_begin(s, in, out);
        execvp(argv[0], (char *const *)argv);
        _exit(127);
    }
    return pid;
}

static int bench_stand_program_end(pid_t pid)
{
    int status = -1;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static size_t bench_stand_said(const struct bench_stand *s, char *text, size_t size)
{
    char   path[PATH_BYTES];
    FILE  *f = fopen(bench_stand_path(s, "said", path), "re");
    size_t n = f ? fread(text, 1, size - 1, f) : 0;
    text[n]  = 0;
    if (f)
        fclose(f);
    return n;
}

static wstatus bench_stand_run(const struct bench_stand *s, const char *const argv[], struct reason *why)
{
    char text[200];
    if (bench_stand_program_end(bench_stand_program_start(s, argv, -1, -1)) == 0)
        return W_SUCCESS;
    bench_stand_said(s, text, sizeof text);
    text[strcspn(text, "\n")] = 0;
    return reason_set(why, W_GEN_FAILURE, "%s %s failed: %s", argv[0], argv[1] ? argv[1] : "",
                      *text ? text : "it said nothing");
}

wstatus bench_self_run(const struct bench_stand *s, const char *const args[], struct reason *why)
{
    const char *argv[32] = {s->self};
    for (unsigned i = 0; i + 2 < sizeof argv / sizeof *argv && args[i]; i++)
        argv[i + 1] = args[i];
    return bench_stand_run(s, argv, why);
}

static wstatus bench_stand_programs_find(struct bench_stand *s, const char *programs, struct reason *why)
{
    static const char *const names[] = {"autologger", "autologgerd", "autologger-bench-writer",
                                        "autologger-bench-lttng"};
    char *const place[] = {s->self, s->daemon_path, s->writer_path[BENCH_SIDE_OURS], s->writer_path[BENCH_SIDE_LTTNG]};
    struct reason ignored;

    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        if (programs)
            snprintf(place[i], sizeof s->self, "%s/%s", programs, names[i]);
        else
            program_find(names[i], place[i], sizeof s->self, &ignored);
        if (access(place[i], X_OK))
            return reason_set(
                why, W_FILE_NOT_FOUND,
                "%s is not built. Do: build autologger, run tools/bench-peers, which builds it, and run the bench "
                "from the build tree",
                names[i]);
    }
    return W_SUCCESS;
}

static wstatus peers_find(struct bench_stand *s, struct reason *why)
{
    static const char *const peers[] = {"lttng", "lttng-sessiond"};
    for (unsigned i = 0; i < sizeof peers / sizeof *peers; i++) {
        const char *const argv[] = {peers[i], "--version", NULL};
        if (bench_stand_run(s, argv, why))
            return reason_set(why, W_FILE_NOT_FOUND,
                              "%s, which the bench compares with, is missing. Do: run tools/bench-peers", peers[i]);
        if (i == 0)
            bench_stand_said(s, s->lttng_version, sizeof s->lttng_version);
    }
    s->lttng_version[strcspn(s->lttng_version, "\n\"")] = 0;
    return W_SUCCESS;
}

static void bench_stand_pause_ms(long ms) { nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL); }

/* ---- the two daemons ---- */

static wstatus daemon_begin(struct bench_stand *s, struct reason *why)
{
    char                   store[PATH_BYTES], logs[PATH_BYTES], runtime[PATH_BYTES];
    struct control_client *c      = NULL;
    bool                   runs   = false;
    const char *const      argv[] = {s->daemon_path,
                                     "--store",
                                     bench_stand_path(s, "store", store),
                                     "--log-dir",
                                     bench_stand_path(s, "logs", logs),
                                     "--runtime-dir",
                                     bench_stand_path(s, "run", runtime),
                                     NULL};
    s->daemon                     = bench_stand_program_start(s, argv, -1, -1);
    for (unsigned waited = 0; waited < START_MS && !runs; waited += STEP_MS)
        if (!(runs = control_open(runtime, &c, why) == W_SUCCESS))
            bench_stand_pause_ms(STEP_MS);
    if (runs)
        control_close(c);
    return runs ? W_SUCCESS : reason_set(why, W_TIMEOUT, "the daemon of the bench does not start");
}

static wstatus sessiond_begin(struct bench_stand *s, struct reason *why)
{
    static const char *const argv[] = {"lttng-sessiond", "--no-kernel", NULL}, *const list[] = {LTTNG, "list", NULL};
    s->sessiond = bench_stand_program_start(s, argv, -1, -1);
    for (unsigned waited = 0; waited < START_MS; waited += 5 * STEP_MS, bench_stand_pause_ms(5 * STEP_MS))
        if (!bench_stand_run(s, list, why))
            return W_SUCCESS;
    return reason_set(why, W_TIMEOUT, "lttng-sessiond does not start. Do: run tools/bench-peers");
}

static void bench_stand_daemon_end(pid_t *pid)
{
    if (*pid > 0) {
        kill(*pid, SIGTERM);
        bench_stand_program_end(*pid);
    }
    *pid = 0;
}

/* ---- programs that write ---- */

static wstatus writer_begin(struct bench_stand *s, enum bench_side side, struct reason *why)
{
    struct bench_program *p      = &s->program[side];
    const char *const     argv[] = {s->writer_path[side], NULL};
    int                   to[2], from[2];
    cpu_set_t             set;

    if (pipe2(to, O_CLOEXEC))
        return reason_set(why, wstatus_from_errno(errno), "no pipe: %s", strerror(errno));
    if (pipe2(from, O_CLOEXEC)) {
        close(to[0]), close(to[1]);
        return reason_set(why, wstatus_from_errno(errno), "no pipe: %s", strerror(errno));
    }
    p->pid = bench_stand_program_start(s, argv, to[0], from[1]);
    close(to[0]);
    close(from[1]);
    p->to   = fdopen(to[1], "w");
    p->from = fdopen(from[0], "r");
    /* pin its first thread alone: the threads of its library run where there is room */
    CPU_ZERO(&set);
    CPU_SET((size_t)s->cpu[0], &set);
    if (p->pid <= 0 || !p->to || !p->from)
        return reason_set(why, W_GEN_FAILURE, "%s cannot be started", s->writer_path[side]);
    double  ready[4];
    wstatus st = bench_ask(s, side, ready, 4, why, "addresses");
    sched_setaffinity(p->pid, sizeof set, &set);
    return st;
}

static void writer_end(struct bench_program *p)
{
    if (p->to)
        fclose(p->to); /* the end of its input */
    if (p->from)
        fclose(p->from);
    bench_stand_program_end(p->pid);
    *p = (struct bench_program){0};
}

wstatus bench_tell(struct bench_stand *s, enum bench_side side, struct reason *why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bool ok = s->program[side].to && vfprintf(s->program[side].to, format, args) > 0 &&
              fputc('\n', s->program[side].to) != EOF && fflush(s->program[side].to) == 0;
    va_end(args);
    return ok ? W_SUCCESS : reason_set(why, W_GEN_FAILURE, "%s has ended", s->writer_path[side]);
}

wstatus bench_hear(struct bench_stand *s, enum bench_side side, double *answer, unsigned count, struct reason *why)
{
    static char line[LINE_BYTES];
    char       *at = fgets(line, sizeof line, s->program[side].from) ? line : NULL, *end;

    for (unsigned i = 0; i < count && at; i++, at = end) {
        answer[i] = strtod(at, &end);
        if (end == at)
            at = end = NULL;
        if (!end)
            break;
    }
    return at ? W_SUCCESS : reason_set(why, W_GEN_FAILURE, "%s does not answer", s->writer_path[side]);
}

wstatus bench_ask(struct bench_stand *s, enum bench_side side, double *answer, unsigned count, struct reason *why,
                  const char *format, ...)
{
    char    command[160];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof command, format, args);
    va_end(args);
    wstatus st = bench_tell(s, side, why, "%s", command);
    return st ? st : bench_hear(s, side, answer, count, why);
}

/* ---- sessions ---- */

/* Both sides go through the same amount of memory: cache misses are part of an event's cost. */
enum { MEMORY_MB_A_CPU = 4 };

static wstatus bench_stand_ours_begin(struct bench_stand *s, enum bench_keep keep, struct reason *why)
{
    static const char *const providers[] = {"{1d2c6e54-3b7f-5a10-8e21-6b656e636801}",
                                            "{1d2c6e54-3b7f-5a10-8e21-6b656e636802}"};
    char                     buffers[32], size[32], least[32], most[32];
    const long               cpus = sysconf(_SC_NPROCESSORS_CONF);
    snprintf(least, sizeof least, "MinimumBuffers=%ld", MEMORY_MB_A_CPU * cpus);
    snprintf(most, sizeof most, "MaximumBuffers=%ld", MEMORY_MB_A_CPU * cpus);
    const char *const memory[] = {"start",      BENCH_SESSION,
                                  "--set",      "LogFileMode=buffering",
                                  "--set",      "BufferSize=1024KB",
                                  "--set",      least,
                                  "--set",      most,
                                  "--provider", providers[0],
                                  "--provider", providers[1],
                                  NULL};
    snprintf(buffers, sizeof buffers, "MinimumBuffers=%ld", BENCH_DISK_MB_A_CPU / BENCH_DISK_BUFFER_MB * cpus);
    snprintf(size, sizeof size, "BufferSize=%dKB", BENCH_DISK_BUFFER_MB * 1024);
    const char *const disk[] = {"start", BENCH_SESSION,   "--set",    size,        "--set",      buffers,
                                "--set", "MaxFileSize=0", "--output", "bench.etl", "--provider", providers[0],
                                NULL};
    return bench_self_run(s, keep == BENCH_IN_MEMORY ? memory : disk, why);
}

static wstatus lttng_begin(struct bench_stand *s, enum bench_keep keep, struct reason *why)
{
    char path[PATH_BYTES], output[PATH_BYTES + 16];
    snprintf(output, sizeof output, "--output=%s", bench_stand_path(s, "lttng-trace", path));
    const bool        memory    = keep == BENCH_IN_MEMORY;
    const char *const create[]  = {LTTNG, "create", BENCH_SESSION, output, memory ? "--snapshot" : NULL, NULL};
    const char *const channel[] = {LTTNG,
                                   "enable-channel",
                                   "-u",
                                   "all",
                                   memory ? "--subbuf-size=1M" : "--subbuf-size=4M",
                                   memory ? "--num-subbuf=4" /* MEMORY_MB_A_CPU */ : "--num-subbuf=16",
                                   memory ? "--overwrite" : "--blocking-timeout=inf",
                                   NULL};
    const char *const number[]  = {
         LTTNG, "enable-event", "-u",
         "-c",  "all",          "contoso_bench:number,contoso_bench:text,contoso_bench:bytes,contoso_bench:step",
         NULL};
    const char *const        start[] = {LTTNG, "start", NULL};
    const char *const *const steps[] = {create, channel, number, start};
    wstatus                  st      = W_SUCCESS;

    for (unsigned i = 0; i < sizeof steps / sizeof *steps && !st; i++)
        st = bench_stand_run(s, steps[i], why);
    return st;
}

wstatus bench_session_begin(struct bench_stand *s, enum bench_side side, enum bench_keep keep, struct reason *why)
{
    return side == BENCH_SIDE_OURS ? bench_stand_ours_begin(s, keep, why) : lttng_begin(s, keep, why);
}

static wstatus bench_stand_ours_end(struct bench_stand *s, struct ctl_session_info *out, struct reason *why)
{
    char                   runtime[PATH_BYTES];
    struct control_client *c  = NULL;
    wstatus                st = control_open(bench_stand_path(s, "run", runtime), &c, why);
    if (!st)
        st = control_stop(c, BENCH_SESSION, out, why);
    control_close(c);
    return st;
}

/* "Warning: N events were discarded": a lost event costs less. */
static wstatus lttng_end(struct bench_stand *s, struct ctl_session_info *out, struct reason *why)
{
    static const char *const stop[] = {LTTNG, "stop", NULL}, *const destroy[] = {LTTNG, "destroy", BENCH_SESSION, NULL};
    char    text[2000];
    wstatus st = bench_stand_run(s, stop, why);

    bench_stand_said(s, text, sizeof text);
    if (out)
        *out = (struct ctl_session_info){.lost_ring = strstr(text, "discarded") || strstr(text, " lost") ? 1 : 0};
    return st ? st : bench_stand_run(s, destroy, why);
}

wstatus bench_session_end(struct bench_stand *s, enum bench_side side, struct ctl_session_info *out, struct reason *why)
{
    return side == BENCH_SIDE_OURS ? bench_stand_ours_end(s, out, why) : lttng_end(s, out, why);
}

/* ---- the stand ---- */

/* The last two CPUs: the first ones get more interrupts. */
static void cpus_choose(struct bench_stand *s)
{
    cpu_set_t set;
    int       found = 0;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    for (int cpu = CPU_SETSIZE - 1; cpu >= 0 && found < 2; cpu--)
        if (CPU_ISSET((size_t)cpu, &set))
            s->cpu[found++] = cpu;
    if (found < 2)
        s->cpu[1] = s->cpu[0];
}

wstatus bench_stand_make(struct bench_stand *s, const char *programs, struct reason *why)
{
    static const char *const folders[] = {"logs", "run", "lttng-run"};
    char                     path[PATH_BYTES];
    const char              *tmp = getenv("TMPDIR");

    *s = (struct bench_stand){0};
    signal(SIGPIPE, SIG_IGN); /* the end of a program is reported as an error */
    snprintf(s->dir, sizeof s->dir, "%.200s/autologger-bench-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(s->dir)) {
        *s->dir = 0;
        return reason_set(why, wstatus_from_errno(errno), "cannot create a folder for the bench: %s", strerror(errno));
    }
    for (unsigned i = 0; i < sizeof folders / sizeof *folders; i++)
        mkdir(bench_stand_path(s, folders[i], path), MODE_DIR);
    cpus_choose(s);
    wstatus st = peers_find(s, why);
    if (!st)
        st = bench_stand_programs_find(s, programs, why);
    if (!st)
        st = daemon_begin(s, why);
    if (!st)
        st = sessiond_begin(s, why);
    for (unsigned side = 0; side < BENCH_SIDES && !st; side++)
        st = writer_begin(s, side, why);
    return st;
}

static int bench_stand_remove_one(const char *path, const struct stat *st, int flag, struct FTW *place)
{
    (void)st, (void)flag, (void)place;
    return remove(path);
}

void bench_stand_remove(struct bench_stand *s)
{
    for (unsigned side = 0; side < BENCH_SIDES; side++)
        writer_end(&s->program[side]);
    bench_stand_daemon_end(&s->sessiond);
    bench_stand_daemon_end(&s->daemon);
    if (*s->dir)
        nftw(s->dir, bench_stand_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
