#include "autologger/daemon/end/merge_host.h"

#include "autologger/consumer/provenance.h"
#include "autologger/consumer/unwinding.h"
#include "autologger/daemon/end/merge_guest.h"
#include "autologger/sandbox/sandbox.h"
#include "registry-sim/base/opening.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A guest's limits, beside what its files need. */
enum { SECONDS = 1800, CPU_SECONDS = 900, DESCRIPTORS = 512, A_SECOND = 256 << 10, PACKED = 64 };
#define MEMORY (UINT64_C(4) << 30)
#define TEMPORARY ".merging-" /* merge.c's: the target's name, this, the host's process id */

/* ---- what the guest may have ---- */

static bool is_temporary(const struct merge_host *h, const char *path)
{
    const size_t n = strlen(h->target), m = strlen(TEMPORARY);
    char         pid[16];
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    return strncmp(path, h->target, n) == 0 && strncmp(path + n, TEMPORARY, m) == 0 && strcmp(path + n + m, pid) == 0;
}

static bool is_own(const struct merge_host *h, const char *path)
{
    for (unsigned i = 0; i < h->count; i++)
        if (strcmp(path, h->inputs[i]) == 0)
            return true;
    return strcmp(path, h->target) == 0 || is_temporary(h, path);
}

static bool is_of_machine(const struct merge_host *h, const char *path)
{
    static const char *const patterns[] = {
#define MERGE_PATH(pattern) pattern,
#include "autologger/daemon/end/merge_paths.def"
#undef MERGE_PATH
    };
    const size_t n = strlen(h->publishers);
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        if (fnmatch(patterns[i], path, FNM_PATHNAME) == 0)
            return true;
    return strncmp(path, h->publishers, n) == 0 && fnmatch("/{*}.alm", path + n, FNM_PATHNAME) == 0;
}

/* Its own files and those of the machine as they are; any other only if it is an ELF file. */
static int open_for(const struct merge_host *h, const struct merge_ask *ask)
{
    const int how = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (ask->flags & O_NOFOLLOW);
    const int fd =
        is_own(h, ask->path) || is_of_machine(h, ask->path) ? open(ask->path, how) : opening_elf_for(ask->path);
    return fd < 0 ? -errno : fd;
}

static int create_for(const struct merge_host *h, const struct merge_ask *ask)
{
    const int allowed = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    if (!is_temporary(h, ask->path) || ask->flags & ~allowed || ask->mode & ~0640u)
        return -EACCES;
    return os_linux()->open(os_linux(), ask->path, ask->flags | O_NOFOLLOW, ask->mode);
}

static void merge_host_unwind_end(struct merge_host *h)
{
    if (h->unwind <= 0)
        return;
    kill(h->unwind, SIGKILL);
    while (waitpid(h->unwind, NULL, 0) < 0 && errno == EINTR)
        ;
    h->unwind = 0;
}

static int merge_host_unwind_begin(struct merge_host *h, struct merge_reply *reply)
{
    merge_host_unwind_end(h);
    const int fd = unwinding_start(&h->unwind, reply->why, sizeof reply->why);
    reply->pid   = h->unwind;
    return fd < 0 ? -ENOENT : fd;
}

static int stat_for(const struct merge_host *h, const struct merge_ask *ask, struct os_stat *out)
{
    struct os *os = os_linux();
    if (!is_own(h, ask->path))
        return -EACCES;
    return ask->what == MERGE_STAT ? os->stat(os, ask->path, out) : os->lstat(os, ask->path, out);
}

int merge_host_reply(struct merge_host *h, const struct merge_ask *ask, struct merge_reply *reply)
{
    struct os *os = os_linux();
    int        fd = -1;

    *reply = (struct merge_reply){.result = -EINVAL};
    if (memchr(ask->path, 0, sizeof ask->path) && memchr(ask->to, 0, sizeof ask->to))
        switch (ask->what) {
        case MERGE_OPEN: reply->result = fd = open_for(h, ask); break;
        case MERGE_CREATE: reply->result = fd = create_for(h, ask); break;
        case MERGE_UNWIND: reply->result = fd = merge_host_unwind_begin(h, reply); break;
        case MERGE_UNWIND_STOP:
            merge_host_unwind_end(h);
            reply->result = 0;
            break;
        case MERGE_STAT:
        case MERGE_LSTAT: reply->result = stat_for(h, ask, &reply->stat); break;
        case MERGE_RENAME:
            reply->result = is_temporary(h, ask->path) && strcmp(ask->to, h->target) == 0
                                ? os->rename(os, ask->path, ask->to)
                                : -EACCES;
            break;
        case MERGE_UNLINK: reply->result = is_temporary(h, ask->path) ? os->unlink(os, ask->path) : -EACCES; break;
        default: break;
        }
    reply->passed = fd >= 0;
    return fd < 0 ? -1 : fd;
}

/* ---- the guest ---- */

struct last_word {
    unsigned layers;
};

static void guest_run(const struct merge_host *h, int socket, int answer_fd, pid_t parent)
{
    static uint8_t       bytes[1 << 13];
    const struct sandbox s = {.kind        = SANDBOX_PARSER,
                              .memory      = MEMORY + 2 * h->bytes,
                              .file_size   = (h->bytes + (1 << 24)) * PACKED,
                              .cpu_seconds = CPU_SECONDS + (unsigned)(h->bytes / A_SECOND),
                              .descriptors = DESCRIPTORS,
                              .parent      = parent};
    struct last_word     word;

    if (h->size > sizeof bytes)
        _exit(1);
    socket    = fcntl(socket, F_DUPFD, 8); /* neither is where the other goes */
    answer_fd = fcntl(answer_fd, F_DUPFD, 8);
    if (dup2(socket, 3) < 0 || dup2(answer_fd, 4) < 0)
        _exit(1);
    close_range(5, ~0u, 0);
    sandbox_memory_unshare();
    provenance_prepare();
    struct os *edge = merge_guest(3);
    word.layers     = sandbox_enter(&s);
    h->guest(h->ctx, edge, bytes);
    _exit(write(4, &word, sizeof word) == sizeof word && write(4, bytes, h->size) == (ssize_t)h->size ? 0 : 1);
}

/* ---- the host ---- */

static int64_t merge_host_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static bool merge_host_is_wanted(const struct merge_host *h)
{
    struct pollfd p = {.fd = h->asker_fd, .events = POLLRDHUP};
    return poll(&p, 1, 0) <= 0;
}

/* Serves until the guest asks no more, or nobody wants its result. */
static void merge_host_serve(struct merge_host *h, int socket, int64_t until)
{
    static struct merge_ask ask;
    struct merge_reply      reply;
    struct pollfd           p[2] = {{.fd = socket, .events = POLLIN}, {.fd = h->asker_fd, .events = POLLRDHUP}};
    int                     stray;

    for (;;) {
        const int64_t left  = until - merge_host_now_ms();
        const int     ready = left > 0 ? poll(p, 2, left > 60000 ? 60000 : (int)left) : 0;
        if (left <= 0 || p[1].revents)
            return;
        if (ready <= 0)
            continue;
        const bool whole = merge_ask_receive(socket, &ask, sizeof ask, &stray);
        if (stray >= 0)
            close(stray); /* a guest passes no descriptors */
        if (!whole)
            return;
        const int  fd   = merge_host_reply(h, &ask, &reply);
        const bool sent = merge_ask_send(socket, &reply, sizeof reply, fd);
        if (fd >= 0)
            close(fd);
        if (!sent)
            return;
    }
}

/* Waits until the guest ends once it asks no more, or ends it. False: it took too long, or nobody wants it. */
static bool merge_host_ended(const struct merge_host *h, pid_t pid, int64_t until, int *status)
{
    const struct timespec a_moment = {.tv_nsec = 5000000};
    pid_t                 done;

    while ((done = waitpid(pid, status, WNOHANG)) == 0 && merge_host_now_ms() < until && merge_host_is_wanted(h))
        nanosleep(&a_moment, NULL);
    if (done != 0)
        return true;
    kill(pid, SIGKILL);
    while (waitpid(pid, status, 0) < 0 && errno == EINTR)
        ;
    return false;
}

static wstatus how_it_ended(struct merge_host *h, bool in_time, int status, int answer_fd, struct reason *why)
{
    struct last_word word;

    if (!in_time)
        return reason_set(why, W_TIMEOUT, "the process that merged %.300s was ended: it took longer than %u s",
                          h->target, h->seconds);
    if (WIFSIGNALED(status))
        return reason_set(why, W_CANCELLED, "the process that merged %.300s was ended by the signal %d (%s)%s",
                          h->target, WTERMSIG(status), strsignal(WTERMSIG(status)),
                          WTERMSIG(status) == SIGSYS ? ": it made a system call that no merge makes" : "");
    if (WEXITSTATUS(status) != 0 || read(answer_fd, &word, sizeof word) != sizeof word ||
        read(answer_fd, h->answer, h->size) != (ssize_t)h->size)
        return reason_set(why, W_CANCELLED, "the process that merged %.300s ended before it was done", h->target);
    h->layers = word.layers;
    return W_SUCCESS;
}

wstatus merge_host_run(struct merge_host *h, struct reason *why)
{
    int         pair[2], pipe_fd[2], status = 0;
    const pid_t self = getpid();

    h->unwind = 0;
    h->layers = 0;
    if (!h->seconds)
        h->seconds = SECONDS + (unsigned)(h->bytes / A_SECOND);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return reason_set(why, wstatus_from_errno(errno), "cannot merge: %s", strerror(errno));
    if (pipe2(pipe_fd, O_CLOEXEC) < 0) {
        const int error = errno;
        close(pair[0]);
        close(pair[1]);
        return reason_set(why, wstatus_from_errno(error), "cannot merge: %s", strerror(error));
    }
    const pid_t pid   = fork();
    const int   error = errno;
    if (pid == 0)
        guest_run(h, pair[1], pipe_fd[1], self);
    close(pair[1]);
    close(pipe_fd[1]);
    wstatus st = W_SUCCESS;
    if (pid > 0) {
        const int64_t until = merge_host_now_ms() + (int64_t)h->seconds * 1000;
        merge_host_serve(h, pair[0], until);
        close(pair[0]); /* a guest that still asks ends */
        const bool in_time = merge_host_ended(h, pid, until, &status);
        merge_host_unwind_end(h);
        st = how_it_ended(h, in_time, status, pipe_fd[0], why);
    } else {
        close(pair[0]);
        st = reason_set(why, wstatus_from_errno(error), "cannot merge: %s", strerror(error));
    }
    close(pipe_fd[0]);
    return st;
}
