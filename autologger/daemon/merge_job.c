#include "autologger/daemon/merge_job.h"

#include "autologger/daemon/merge_host.h"
#include "autologger/daemon/phase_count.h"
#include "autologger/sandbox/sandbox.h"
#include "autologger/schema/publishers.h"
#include "registry-sim/base/visible_print.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NICE = 10 };
#define TEMPORARY ".merging-" /* merge.c's: the target's name, this, a process id */

/* What the child says at its end; smaller than PIPE_BUF, so it comes whole. */
struct answer {
    struct reason     why;
    wstatus           status;
    struct merge_told told;
};
/* What the merge is of. */
struct task {
    const struct merge_parts *parts;
    const struct result_list *rows;
};
_Static_assert(sizeof(struct answer) <= 4096, "an answer is written at once");

/* A process that has died, but that nobody has waited for, has no command line any more. */
static bool lives(int pid)
{
    char path[40], one;
    snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
    int  fd    = open(path, O_RDONLY | O_CLOEXEC);
    bool alive = fd >= 0 && read(fd, &one, 1) == 1;
    if (fd >= 0)
        close(fd);
    return alive;
}

static void temporaries_remove(const char *target)
{
    char  folder[1024];
    char *slash = strrchr(strcpy(folder, target), '/');
    if (!slash)
        return;
    *slash           = 0;
    const char *base = slash + 1;
    DIR        *d    = opendir(*folder ? folder : "/");
    for (struct dirent *e; d && (e = readdir(d));) {
        size_t n = strlen(base);
        if (strncmp(e->d_name, base, n) != 0 || strncmp(e->d_name + n, TEMPORARY, strlen(TEMPORARY)) != 0)
            continue;
        if (!lives(atoi(e->d_name + n + strlen(TEMPORARY))))
            unlinkat(dirfd(d), e->d_name, 0);
    }
    if (d)
        closedir(d);
}

/* In the process that has no rights. */
static void merge(void *ctx, struct os *edge, void *out)
{
    const struct task  *task  = ctx;
    struct merge_parts  parts = *task->parts;
    struct result_list  rows  = *task->rows; /* its own numbers */
    struct merge_counts counts;
    struct answer      *a     = out;

    parts.temporary_of = getppid(); /* the daemon ends its child, and then takes away what it left */
    a->status          = merge_parts_run(edge, &parts, &counts, &a->why);
    if (a->status)
        return;
    phase_count(parts.target, &rows, &a->told.phases);
    merge_parts_times(&parts, &rows);
    a->told.first_kernel_ns = rows.first_kernel_ns;
    a->told.first_user_ns   = rows.first_user_ns;
}

static void layers_missing(const char *target, unsigned in)
{
    char           text[400];
    const unsigned missing = sandbox_all(SANDBOX_PARSER) & ~in;
    if (missing)
        visible_line(stderr, "autologgerd: %s was merged by a process without some of its guards: %s", target, sandbox_text(missing, text, sizeof text));
}

/* The host of a merge, beside the daemon. */
static void child(const struct merge_parts *parts, const struct result_list *rows, int out_fd, pid_t parent)
{
    const char       *inputs[MERGE_PARTS];
    struct answer     a    = {.status = W_CANCELLED}, said = {.status = W_CANCELLED};
    struct task       task = {parts, rows};
    struct merge_host host = {.inputs = inputs, .count = parts->count, .target = parts->target, .bytes = parts->bytes, .guest = merge, .ctx = &task,
                              .publishers = parts->publishers ? parts->publishers : publishers_folder(), .answer = &said, .size = sizeof said};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    setpriority(PRIO_PROCESS, 0, NICE);
    dup2(out_fd, 3); /* no descriptor of the daemon is held open by us */
    close_range(4, ~0u, 0);
    for (unsigned i = 0; i < parts->count; i++)
        inputs[i] = parts->row[i]->log_path;
    a.status = merge_host_run(&host, &a.why);
    if (a.status == W_SUCCESS) {
        a = said;
        a.why.text[sizeof a.why.text - 1] = 0;
        layers_missing(parts->target, host.layers);
    }
    _exit(write(3, &a, sizeof a) == sizeof a ? 0 : 1);
}

wstatus merge_job_start(struct merge_job *job, const struct merge_parts *parts, const struct result_list *rows, struct reason *why)
{
    int   pipe_fd[2];
    pid_t parent = getpid();

    *job = (struct merge_job){.end_fd = -1};
    snprintf(job->target, sizeof job->target, "%s", parts->target);
    temporaries_remove(job->target);
    if (pipe2(pipe_fd, O_CLOEXEC) < 0)
        return reason_set(why, wstatus_from_errno(errno), "cannot merge: %s", strerror(errno));
    job->pid = fork();
    if (job->pid == 0)
        child(parts, rows, pipe_fd[1], parent);
    int error = errno;
    close(pipe_fd[1]);
    job->end_fd = pipe_fd[0];
    if (job->pid > 0)
        return W_SUCCESS;
    job->pid = 0;
    merge_job_finish(job);
    return reason_set(why, wstatus_from_errno(error), "cannot merge: %s", strerror(error));
}

bool merge_job_ended(struct merge_job *job, int wait_ms, wstatus *status, struct merge_told *told, struct reason *why)
{
    struct pollfd p = {.fd = job->end_fd, .events = POLLIN};
    struct answer a;

    if (job->pid <= 0 || poll(&p, 1, wait_ms) <= 0)
        return false;
    if (read(job->end_fd, &a, sizeof a) == sizeof a) {
        *status = a.status;
        *told   = a.told;
        *why    = a.why;
    } else {
        *status = reason_set(why, W_CANCELLED, "the process that merged %.300s ended before it was done", job->target);
        memset(told, 0, sizeof *told);
    }
    merge_job_finish(job); /* its last word is said: the target is there or not */
    return true;
}

void merge_job_finish(struct merge_job *job)
{
    if (job->pid > 0) {
        kill(job->pid, SIGKILL);
        waitpid(job->pid, NULL, 0);
        temporaries_remove(job->target);
    }
    if (job->end_fd >= 0)
        close(job->end_fd);
    *job = (struct merge_job){.end_fd = -1};
}
