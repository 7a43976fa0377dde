#include "autologger/daemon/end/merge_job.h"

#include "autologger/daemon/end/merge_host.h"
#include "autologger/daemon/end/phase_count.h"
#include "autologger/daemon/parts/collector.h"
#include "autologger/daemon/self_start.h"
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
#include <sys/socket.h>
#include <unistd.h>

enum { NICE = 10, END_MS = 5000 };
#define TEMPORARY ".merging-" /* merge.c's: the target's name, this, a process id */

/* What is merged. */
struct task {
    const struct merge_parts *parts;
    const struct result_list *rows;
};

/* A dead process that nobody has waited for has no command line any more. */
static bool lives(int pid)
{
    char path[40], one;
    snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
    int  fd    = open(path, O_RDONLY | O_CLOEXEC);
    bool alive = fd >= 0 ? read(fd, &one, 1) == 1 : kill(pid, 0) == 0 || errno == EPERM; /* if /proc hides it */
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

/* In the process without rights. `task` is this process's copy. */
static void merge_job_merge(void *ctx, struct os *edge, void *out)
{
    const struct task   *task  = ctx;
    struct merge_parts   parts = *task->parts;
    struct result_list   rows  = *task->rows; /* its own numbers */
    struct merge_counts  counts;
    struct merge_answer *a = out;

    parts.temporary_of = getppid(); /* the daemon ends its child, and then removes what that left */
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
        visible_line(stderr, "autologgerd: %s was merged by a process without some of its guards: %s", target,
                     sandbox_text(missing, text, sizeof text));
}

/* ---- the process ---- */

static bool order_take(int fd, struct merge_order *o)
{
    ssize_t n;
    do
        n = recv(fd, o, sizeof *o, 0);
    while (n < 0 && errno == EINTR);
    return n > 0 && merge_order_whole(o, (size_t)n);
}

int merge_job_run(void)
{
    static struct merge_order o;
    static struct result_row  row[MERGE_PARTS];
    const char               *inputs[MERGE_PARTS];
    struct merge_answer       a = {.status = W_CANCELLED}, said = {.status = W_CANCELLED};

    self_alone();
    self_patient();
    prctl(PR_SET_NAME, "merge-host", 0, 0, 0);
    const int asker = fcntl(0, F_DUPFD_CLOEXEC, 3); /* not inherited by the guest and autologger-unwind */
    const int null  = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (asker < 0 || null < 0 || dup2(null, 0) < 0 || !order_take(asker, &o))
        return 1;
    setpriority(PRIO_PROCESS, 0, NICE);
    o.boot.rows  = NULL;
    o.boot.count = o.boot.capacity = 0;
    o.parts.count                  = o.count;
    o.parts.own_count              = 0;
    o.parts.publishers             = o.publishers_size ? o.publishers : NULL;
    for (unsigned i = 0; i < o.count; i++) {
        memcpy(row[i].log_path, o.input[i].path, sizeof row[i].log_path);
        row[i].kernel  = o.input[i].kernel;
        o.parts.row[i] = &row[i];
        inputs[i]      = row[i].log_path;
    }
    struct task       task = {&o.parts, &o.boot};
    struct merge_host host = {.inputs     = inputs,
                              .count      = o.count,
                              .target     = o.parts.target,
                              .bytes      = o.parts.bytes,
                              .guest      = merge_job_merge,
                              .ctx        = &task,
                              .publishers = o.parts.publishers ? o.parts.publishers : publishers_folder(),
                              .answer     = &said,
                              .size       = sizeof said,
                              .asker_fd   = asker};
    a.status               = merge_host_run(&host, &a.why);
    if (a.status == W_SUCCESS && merge_answer_whole(&said, sizeof said)) {
        a = said;
        layers_missing(o.parts.target, host.layers);
    } else if (a.status == W_SUCCESS) {
        a.status =
            reason_set(&a.why, W_CANCELLED, "the process that merged %.300s said what is no answer", o.parts.target);
    }
    return send(asker, &a, sizeof a, MSG_NOSIGNAL) == (ssize_t)sizeof a ? 0 : 1;
}

/* ---- in the daemon ---- */

static wstatus order_send(int fd, const struct merge_parts *parts, const struct result_list *rows, struct reason *why)
{
    struct merge_order *o   = calloc(1, sizeof *o);
    const size_t        far = parts->publishers ? strlen(parts->publishers) + 1 : 0;
    if (!o)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory to merge");
    if (far > sizeof o->publishers) {
        free(o);
        return reason_set(why, W_FILENAME_EXCED_RANGE, "%s: the path is too long", parts->publishers);
    }
    o->count           = parts->count;
    o->publishers_size = (uint32_t)far;
    memcpy(o->publishers, parts->publishers ? parts->publishers : "", far);
    o->parts = *parts;
    o->boot  = *rows;
    memset(o->parts.row, 0, sizeof o->parts.row); /* no address of this process goes out */
    memset(o->parts.own, 0, sizeof o->parts.own);
    o->parts.publishers = NULL;
    o->boot.rows        = NULL;
    for (unsigned i = 0; i < parts->count; i++) {
        snprintf(o->input[i].path, sizeof o->input[i].path, "%s", parts->row[i]->log_path);
        o->input[i].kernel = parts->row[i]->kernel;
    }
    const bool sent  = send(fd, o, merge_order_size(o), MSG_NOSIGNAL) == (ssize_t)merge_order_size(o);
    const int  error = errno;
    free(o);
    return sent ? W_SUCCESS : reason_set(why, wstatus_from_errno(error), "cannot merge: %s", strerror(error));
}

wstatus merge_job_start(struct merge_job *job, const struct merge_parts *parts, const struct result_list *rows,
                        struct reason *why)
{
    *job = (struct merge_job){.end_fd = -1};
    snprintf(job->target, sizeof job->target, "%s", parts->target);
    temporaries_remove(job->target);
    job->end_fd = collector_launch(MERGE_WORD);
    if (job->end_fd < 0)
        return reason_set(why, wstatus_from_errno(errno), "cannot merge: %s", strerror(errno));
    job->runs        = true;
    const wstatus st = order_send(job->end_fd, parts, rows, why);
    if (st)
        merge_job_finish(job);
    return st;
}

bool merge_job_ended(struct merge_job *job, int wait_ms, wstatus *status, struct merge_told *told, struct reason *why)
{
    struct pollfd       p = {.fd = job->end_fd, .events = POLLIN};
    struct merge_answer a;

    if (!job->runs || poll(&p, 1, wait_ms) <= 0)
        return false;
    const ssize_t n = recv(job->end_fd, &a, sizeof a, MSG_DONTWAIT);
    if (n > 0 && merge_answer_whole(&a, (size_t)n)) {
        *status = a.status;
        *told   = a.told;
        *why    = a.why;
    } else {
        *status = reason_set(why, W_CANCELLED, "the process that merged %.300s ended before it was done", job->target);
        memset(told, 0, sizeof *told);
    }
    merge_job_finish(job); /* after its last message: the target exists or not */
    return true;
}

/* The host ends its guest when it sees that nobody listens any more; it closes its socket as its last act. A host that
 * waits for a file system that does not answer is left behind. */
void merge_job_finish(struct merge_job *job)
{
    if (job->runs) {
        struct pollfd       p = {.fd = job->end_fd, .events = POLLIN};
        struct merge_answer a;
        shutdown(job->end_fd, SHUT_WR);
        while (poll(&p, 1, END_MS) > 0 && recv(job->end_fd, &a, sizeof a, MSG_DONTWAIT) > 0)
            ;
        temporaries_remove(job->target);
    }
    if (job->end_fd >= 0)
        close(job->end_fd);
    *job = (struct merge_job){.end_fd = -1};
}
