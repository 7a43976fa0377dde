/* bench_tracer.c - see bench_tracer.h. */
#include "tools/bench/bench_tracer.h"
#include "autologger/control/client.h"
#include "autologger/etl/reader.h"
#include "tools/files/program_find.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_BYTES = 400, START_MS = 20000, MODE_DIR = 0700 };
#define INSTANCE "/sys/kernel/tracing/instances/autologger-bench"
#define SESSION "NT Kernel Logger"

/* ---- programs ---- */

/* Prepares the child: it prints nothing on the terminal, and ends when the bench is killed; its messages go to
 * `said`. */
static void bench_tracer_child_begin(const struct bench_bed *bed, int out)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/said", bed->dir);
    int said = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, 0);
    dup2(out < 0 ? null : out, 1);
    dup2(said, 2);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
}

/* The first line of the last program's messages, for a reason. */
static const char *bench_tracer_said(const struct bench_bed *bed, char out[160])
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/said", bed->dir);
    FILE  *f = fopen(path, "re");
    size_t n = f ? fread(out, 1, 159, f) : 0;
    out[n]   = 0;
    if (f)
        fclose(f);
    out[strcspn(out, "\n")] = 0;
    return *out ? out : "it said nothing";
}

/* Starts a program; *out (may be NULL) gets its standard output. */
static pid_t bench_tracer_program_start(const struct bench_bed *bed, char *const argv[], int *out)
{
    int pipe_fd[2] = {-1, -1};
    if (out && pipe2(pipe_fd, O_CLOEXEC))
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        bench_tracer_child_begin(bed, pipe_fd[1]);
        execvp(argv[0], argv);
        _exit(127);
    }
    if (out) {
        close(pipe_fd[1]);
        *out = pipe_fd[0];
    }
    return pid;
}

/* Waits for its end; adds its CPU time. */
static int bench_tracer_program_end(pid_t pid, double *cpu_ns)
{
    struct rusage used;
    int           status;
    if (pid <= 0 || wait4(pid, &status, 0, &used) != pid)
        return -1;
    *cpu_ns += (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e9 +
               (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e3;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static uint64_t file_bytes(const char *path)
{
    struct stat st;
    return stat(path, &st) ? 0 : (uint64_t)st.st_size;
}

static bool bench_tracer_text_write(const char *path, const char *text)
{
    FILE *f  = fopen(path, "we");
    bool  ok = f && fputs(text, f) >= 0;
    return (f ? fclose(f) == 0 : false) && ok;
}

/* ---- this project ---- */

static const char *bench_tracer_below(const struct bench_bed *bed, const char *name, char out[PATH_BYTES])
{
    snprintf(out, PATH_BYTES, "%s/%s", bed->dir, name);
    return out;
}

static wstatus session_declare(const struct bench_bed *bed, struct reason *why)
{
    char   text[512], ini[PATH_BYTES], store[PATH_BYTES], message[160];
    double unused = 0;
    snprintf(
        text, sizeof text,
        "[GlobalLogger]\nEnableKernelFlags = PROC_THREAD+CSWITCH\n%sBufferSize = 1024 KB\nMinimumBuffers = 16\nMaximumBuffers = 64\n"
        "MaxFileSize = 0\nFileName = C:\\bench.etl\n",
        bed->stacks ? "StackWalkingFilter = CSwitch\n" : "");
    char *const argv[] = {(char *)bed->self,
                          "import",
                          "--store",
                          (char *)bench_tracer_below(bed, "store", store),
                          (char *)bench_tracer_below(bed, "bench.ini", ini),
                          NULL};
    unlink(store);
    if (!bench_tracer_text_write(ini, text) ||
        bench_tracer_program_end(bench_tracer_program_start(bed, argv, NULL), &unused))
        return reason_set(why, W_GEN_FAILURE, "the session of the bench cannot be declared: %s",
                          bench_tracer_said(bed, message));
    return W_SUCCESS;
}

static wstatus bench_tracer_ours_begin(struct bench_bed *bed, struct reason *why)
{
    char                    store[PATH_BYTES], logs[PATH_BYTES], run[PATH_BYTES], message[160];
    struct control_client  *c = NULL;
    struct ctl_session_info info;
    wstatus                 st = session_declare(bed, why);
    if (st)
        return st;
    char *const argv[] = {(char *)bed->daemon,
                          "--store",
                          (char *)bench_tracer_below(bed, "store", store),
                          "--log-dir",
                          (char *)bench_tracer_below(bed, "logs", logs),
                          "--runtime-dir",
                          (char *)bench_tracer_below(bed, "run", run),
                          NULL};
    bed->pid           = bench_tracer_program_start(bed, argv, NULL);
    for (unsigned waited = 0; waited < START_MS; waited += 5, usleep(5000))
        if (control_open(run, &c, why) == W_SUCCESS)
            break;
    st = c ? control_query(c, SESSION, &info, why) : W_TIMEOUT;
    control_close(c);
    return st ? reason_set(why, st, "the session of the bench does not run: %s",
                           c ? why->text : bench_tracer_said(bed, message))
              : W_SUCCESS;
}

/* Counts the switches and their stacks in the file; no other stacks were asked for. */
static wstatus switches_count(const char *path, struct bench_taken *out, struct reason *why)
{
    struct etl_reader *r = NULL;
    struct etl_event   e;
    wstatus            st = etl_reader_open(path, &r, why);
    while (!st && etl_next(r, &e)) {
        out->switches += e.hook == HOOK_THREAD_CSWITCH;
        out->stacks += e.hook == HOOK_STACK_WALK;
    }
    etl_reader_close(r);
    return st;
}

static wstatus bench_tracer_ours_end(struct bench_bed *bed, struct bench_taken *out, struct reason *why)
{
    char                    run[PATH_BYTES], file[PATH_BYTES];
    struct control_client  *c    = NULL;
    struct ctl_session_info last = {0};
    wstatus                 st   = control_open(bench_tracer_below(bed, "run", run), &c, why);
    if (!st)
        st = control_stop(c, SESSION, &last, why);
    if (!st)
        st = control_shutdown(c, why);
    control_close(c);
    if (st && bed->pid > 0)
        kill(bed->pid, SIGTERM);
    bench_tracer_program_end(bed->pid, &out->cpu_ns);
    bed->pid      = 0;
    uint64_t lost = ctl_events_lost(&last);
    if (!st && lost)
        st = reason_set(why, W_RETRY, "the session lost %llu events", (unsigned long long)lost);
    bench_tracer_below(bed, "logs/c/bench.etl", file);
    out->bytes = file_bytes(file);
    if (!st)
        st = switches_count(file, out, why);
    unlink(file);
    return st;
}

/* ---- perf ---- */

/* perf answers "ack\n" to each command. */
static bool perf_command(const struct bench_bed *bed, const char *command)
{
    char          answer[16];
    struct pollfd p = {bed->control[1], POLLIN, 0};
    return write(bed->control[0], command, strlen(command)) > 0 && poll(&p, 1, START_MS) == 1 &&
           read(bed->control[1], answer, sizeof answer) > 0;
}

static wstatus perf_begin(struct bench_bed *bed, struct reason *why)
{
    char control[PATH_BYTES + 16], data[PATH_BYTES], ctl[PATH_BYTES], ack[PATH_BYTES], message[160];
    bench_tracer_below(bed, "ctl", ctl);
    bench_tracer_below(bed, "ack", ack);
    snprintf(control, sizeof control, "--control=fifo:%.190s,%.190s", ctl, ack);
    if ((mkfifo(ctl, 0600) && errno != EEXIST) || (mkfifo(ack, 0600) && errno != EEXIST) ||
        (bed->control[0] = open(ctl, O_RDWR | O_CLOEXEC)) < 0 || (bed->control[1] = open(ack, O_RDWR | O_CLOEXEC)) < 0)
        return reason_set(why, wstatus_from_errno(errno), "cannot make the bench's pipes: %s", strerror(errno));
    /* rings of the same size as ours; without perf's work on build ids at the end (-B) and its cache of them (-N) */
    char *const argv[] = {"perf",
                          "record",
                          "-q",
                          "-a",
                          "-B",
                          "-N",
                          "-m",
                          "4M",
                          "-D",
                          "-1",
                          control,
                          "-e",
                          "sched:sched_switch",
                          "-o",
                          (char *)bench_tracer_below(bed, "perf.data", data),
                          bed->stacks ? "-g" : NULL,
                          NULL};
    bed->pid           = bench_tracer_program_start(bed, argv, NULL);
    if (bed->pid > 0 && perf_command(bed, "enable\n"))
        return W_SUCCESS;
    return reason_set(why, W_GEN_FAILURE, "perf record does not record: %s", bench_tracer_said(bed, message));
}

/* The samples in the text of perf script: each has its event's name once. */
static uint64_t samples_read(int fd, uint64_t *with_stack, bool stacks)
{
    FILE    *f     = fdopen(fd, "r");
    char    *line  = NULL;
    size_t   room  = 0;
    uint64_t count = 0;
    bool     head  = false;
    while (f && getline(&line, &room, f) > 0) {
        bool event = strstr(line, "sched:sched_switch:") != NULL;
        count += event;
        *with_stack += stacks && head && !event && *line != '\n';
        head = event;
    }
    free(line);
    if (f)
        fclose(f);
    return count;
}

/* "Warning:\nProcessed N events and lost M chunks!": a lost event costs less. */
static bool perf_lost(const struct bench_bed *bed)
{
    char   text[512], path[PATH_BYTES];
    FILE  *f = fopen(bench_tracer_below(bed, "said", path), "re");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    text[n]  = 0;
    if (f)
        fclose(f);
    return strstr(text, " lost ") != NULL;
}

static wstatus perf_script(struct bench_bed *bed, const char *data, struct bench_taken *out, struct reason *why)
{
    char message[160];
    int  fd;
    /* addresses without names, as on our side */
    char *const argv[] = {"perf", "script",
                          "-i",   (char *)data,
                          "-F",   bed->stacks ? "comm,tid,cpu,time,event,trace,ip" : "comm,tid,cpu,time,event,trace",
                          NULL};
    pid_t       pid    = bench_tracer_program_start(bed, argv, &fd);
    if (pid > 0)
        out->switches = samples_read(fd, &out->stacks, bed->stacks);
    if (bench_tracer_program_end(pid, &out->cpu_ns))
        return reason_set(why, W_RETRY, "perf script failed: %s", bench_tracer_said(bed, message));
    if (perf_lost(bed))
        return reason_set(why, W_RETRY, "perf record lost events");
    return W_SUCCESS;
}

static wstatus perf_end(struct bench_bed *bed, struct bench_taken *out, struct reason *why)
{
    char data[PATH_BYTES], message[160];
    if (bed->pid > 0)
        kill(bed->pid, SIGINT);
    int code = bench_tracer_program_end(bed->pid, &out->cpu_ns);
    bed->pid = 0;
    for (int i = 0; i < 2; i++)
        if (bed->control[i] >= 0)
            close(bed->control[i]);
    bed->control[0] = bed->control[1] = -1;
    out->bytes                        = file_bytes(bench_tracer_below(bed, "perf.data", data));
    if (code != 0 && code != 128 + SIGINT)
        return reason_set(why, W_RETRY, "perf record ended with %d (does another session record on this machine?): %s",
                          code, bench_tracer_said(bed, message));
    wstatus st = perf_script(bed, data, out, why);
    unlink(data);
    return st;
}

/* ---- the kernel's trace instance ---- */

static bool instance_write(const char *name, const char *text)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, INSTANCE "/%s", name);
    int  fd = open(path, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return ok;
}

static wstatus ftrace_begin(struct bench_bed *bed, struct reason *why)
{
    if (mkdir(INSTANCE, MODE_DIR) && errno != EEXIST)
        return reason_set(why, wstatus_from_errno(errno), "no trace instance can be made in /sys/kernel/tracing: %s",
                          strerror(errno));
    if (!instance_write("buffer_size_kb", "4096") ||
        (bed->stacks &&
         (!instance_write("options/stacktrace", "1") || !instance_write("options/userstacktrace", "1"))) ||
        !instance_write("events/sched/sched_switch/enable", "1"))
        return reason_set(why, wstatus_from_errno(errno), "the trace instance refuses context switches: %s",
                          strerror(errno));
    return W_SUCCESS;
}

static wstatus ftrace_end(struct bench_bed *bed, struct bench_taken *out, struct reason *why)
{
    (void)bed, (void)out, (void)why;
    instance_write("events/sched/sched_switch/enable", "0");
    rmdir(INSTANCE);
    return W_SUCCESS;
}

const struct bench_tracer bench_tracers[BENCH_TRACERS] = {
    [BENCH_OURS]   = {"autologger", bench_tracer_ours_begin, bench_tracer_ours_end},
    [BENCH_PERF]   = {"perf", perf_begin, perf_end},
    [BENCH_FTRACE] = {"trace instance", ftrace_begin, ftrace_end},
};

/* ---- the bed ---- */

static wstatus perf_find(struct bench_bed *bed, struct reason *why)
{
    char   *argv[] = {"perf", "--version", NULL};
    int     fd     = -1;
    double  unused = 0;
    pid_t   pid    = bench_tracer_program_start(bed, argv, &fd);
    ssize_t n      = pid > 0 ? read(fd, bed->perf_version, sizeof bed->perf_version - 1) : -1;
    if (fd >= 0)
        close(fd);
    if (bench_tracer_program_end(pid, &unused) || n <= 0)
        return reason_set(
            why, W_FILE_NOT_FOUND,
            "perf, which the bench compares with, is missing. Do: run tools/bench-peers, or install linux-perf");
    bed->perf_version[n]                                = 0;
    bed->perf_version[strcspn(bed->perf_version, "\n")] = 0;
    return W_SUCCESS;
}

wstatus bench_bed_make(struct bench_bed *bed, const char *programs, struct reason *why)
{
    static const char *const folders[] = {"logs", "run"};
    char                     path[PATH_BYTES];
    const char              *tmp = getenv("TMPDIR");
    *bed                         = (struct bench_bed){.control = {-1, -1}};
    if (geteuid() != 0)
        return reason_set(why, W_PRIVILEGE_NOT_HELD,
                          "the bench of kernel events records the whole machine. Do: run it as root");
    snprintf(bed->dir, sizeof bed->dir, "%.200s/autologger-bench-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(bed->dir)) {
        *bed->dir = 0;
        return reason_set(why, wstatus_from_errno(errno), "cannot create a folder for the bench: %s", strerror(errno));
    }
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        mkdir(bench_tracer_below(bed, folders[i], path), MODE_DIR);
    wstatus st = W_SUCCESS;
    if (programs) {
        snprintf(bed->self, sizeof bed->self, "%s/autologger", programs);
        snprintf(bed->daemon, sizeof bed->daemon, "%s/autologgerd", programs);
    } else if (!(st = program_find("autologgerd", bed->daemon, sizeof bed->daemon, why))) {
        st = program_find("autologger", bed->self, sizeof bed->self, why);
    }
    if (!st)
        st = perf_find(bed, why);
    if (!st && access("/sys/kernel/tracing/instances", W_OK))
        st = reason_set(
            why, W_NOT_SUPPORTED,
            "the kernel's trace instances, which the bench compares with, are not at /sys/kernel/tracing. Do: "
            "mount -t tracefs none /sys/kernel/tracing");
    return st;
}

static int bench_tracer_remove_one(const char *path, const struct stat *st, int flag, struct FTW *place)
{
    (void)st, (void)flag, (void)place;
    return remove(path);
}

void bench_bed_remove(struct bench_bed *bed)
{
    double unused = 0;
    if (bed->pid > 0) {
        kill(bed->pid, SIGTERM);
        bench_tracer_program_end(bed->pid, &unused);
    }
    if (*bed->dir)
        nftw(bed->dir, bench_tracer_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
