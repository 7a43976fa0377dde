/* elf_helper.c - the asker's side: starts helpers, hands out questions, gives up helpers that hang. See
 * elf_helper.h. */
#include "autologger/kernel/source/elf_helper.h"
#include "autologger/kernel/source/reach.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    CAREFUL,
    DARING,
    KINDS,
    LEFT_MOST    = 64,
    DEATHS_MOST  = 3,
    END_TRIES    = 20,
    BUSY         = 10,
    WAIT_STEP_MS = 20,
    HELPER_NICE  = -5
};

struct elf_helper_asked {
    struct elf_helper_asked *next;
    uint64_t                 since;
    size_t                   size; /* of the message, which extends beyond this struct */
    struct elf_message       message;
};
struct elf_helper_list {
    struct elf_helper_asked *first, **last;
};
struct elf_helper_child {
    pid_t pid;
    int   pidfd; /* of a child of the process with the capabilities (reach.h); -1: a child of this process */
};
struct helper {
    int                     fd; /* -1: no helper runs */
    struct elf_helper_child child;
    unsigned                in_flight, deaths;
    uint64_t                since; /* time of its last answer, or of the first question in flight */
    struct elf_helper_list  queue, flight;
};
struct elf_helper {
    int                    proc;
    unsigned               unanswered;
    struct helper          kind[KINDS];
    struct elf_helper_list unknown; /* answered with "not known", not given to the asker yet */
};

/* Helpers that were told to end, of all askers of this process. */
static struct {
    pthread_mutex_t lock;
    unsigned        count;
    struct {
        struct elf_helper_child child;
        int                     kind;
        bool                    hung;
    } is[LEFT_MOST];
} left = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t elf_helper_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void list_init(struct elf_helper_list *l)
{
    l->first = NULL;
    l->last  = &l->first;
}

static void list_put(struct elf_helper_list *l, struct elf_helper_asked *a)
{
    a->next  = NULL;
    *l->last = a;
    l->last  = &a->next;
}

static struct elf_helper_asked *list_take(struct elf_helper_list *l)
{
    struct elf_helper_asked *a = l->first;
    if (a && !(l->first = a->next))
        l->last = &l->first;
    return a;
}

/* Puts all of `from` before the questions in `to`. */
static void list_return(struct elf_helper_list *to, struct elf_helper_list *from)
{
    if (!from->first)
        return;
    *from->last = to->first;
    if (!to->first)
        to->last = from->last;
    to->first = from->first;
    list_init(from);
}

static void list_free(struct elf_helper_list *l)
{
    for (struct elf_helper_asked *a; (a = list_take(l));)
        free(a);
}

static bool has_ended(const struct elf_helper_child *c)
{
    struct pollfd p = {.fd = c->pidfd, .events = POLLIN};
    if (c->pidfd < 0)
        return waitpid(c->pid, NULL, WNOHANG | __WALL) != 0;
    if (poll(&p, 1, 0) <= 0)
        return false;
    close(c->pidfd);
    return true;
}

/* Removes helpers that have ended; returns the number of hung ones of a kind; *ending: those of all kinds that did not
 * hang and are still ending. */
static unsigned left_reap(int kind, unsigned *ending)
{
    unsigned hung = 0, kept = 0;
    *ending = 0;
    pthread_mutex_lock(&left.lock);
    for (unsigned i = 0; i < left.count; i++) {
        if (has_ended(&left.is[i].child))
            continue;
        hung += left.is[i].hung && left.is[i].kind == kind;
        *ending += !left.is[i].hung;
        left.is[kept++] = left.is[i];
    }
    left.count = kept;
    pthread_mutex_unlock(&left.lock);
    return hung;
}

static void left_add(struct elf_helper_child child, int kind, bool hung)
{
    unsigned ending;
    left_reap(kind, &ending);
    pthread_mutex_lock(&left.lock);
    if (left.count < LEFT_MOST) {
        left.is[left.count].child  = child;
        left.is[left.count].kind   = kind;
        left.is[left.count++].hung = hung;
    } else if (child.pidfd >= 0) {
        close(child.pidfd);
    }
    pthread_mutex_unlock(&left.lock);
}

/* Unmaps shared mappings: a helper that hangs must not keep the memory of sessions. */
static void memory_drop(int proc)
{
    char    text[8192];
    size_t  used = 0;
    ssize_t n;
    int     fd = openat(proc, "self/maps", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && (n = read(fd, text + used, sizeof text - used)) > 0) {
        char *line = text, *all = text + used + n, *end;
        for (; (end = memchr(line, '\n', (size_t)(all - line))); line = end + 1) {
            char    *dash = NULL, *p = NULL;
            uint64_t from = strtoull(line, &dash, 16), to = *dash == '-' ? strtoull(dash + 1, &p, 16) : 0;
            if (p && end - p > 5 && p[4] == 's' && to > from)
                munmap((void *)(uintptr_t)from, (size_t)(to - from)); // NOLINT(performance-no-int-to-ptr)
        }
        used = (size_t)(all - line);
        memmove(text, line, used);
        if (used == sizeof text)
            break;
    }
    if (fd >= 0)
        close(fd);
}

static void elf_helper_come_first(void)
{
    const struct sched_param least = {.sched_priority = 1};
    if (sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &least) < 0)
        setpriority(PRIO_PROCESS, 0, HELPER_NICE);
}

static _Noreturn void child_main(int proc, int socket, int kind)
{
    prctl(PR_SET_NAME, kind == DARING ? "elf-daring" : "elf-careful", 0, 0, 0);
    proc   = fcntl(proc, F_DUPFD, 2);
    socket = fcntl(socket, F_DUPFD, 2);
    if (proc < 0 || socket < 0 || dup2(proc, 0) < 0 || dup2(socket, 1) < 0)
        _exit(1);
    if (syscall(SYS_close_range, 2u, ~0u, 0u) < 0)
        for (int fd = 2; fd < 65536; fd++)
            close(fd);
    memory_drop(0);
    if (kind == CAREFUL) /* like the drainer: a busy machine must not delay an answer */
        elf_helper_come_first();
    elf_child_run(0, 1, kind == DARING);
}

int elf_helper_begin(int proc, bool dares, int *socket)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -errno;
    const long pid   = syscall(SYS_clone, 0, 0, 0, 0, 0);
    const int  error = errno;
    if (pid == 0)
        child_main(proc, pair[1], dares ? DARING : CAREFUL);
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        return -error;
    }
    *socket = pair[0];
    return (int)pid;
}

static bool elf_helper_start(struct elf_helper *h, int kind)
{
    struct helper *e = &h->kind[kind];
    unsigned       ending;
    int            fd = -1, pidfd = -1;
    if (e->deaths >= DEATHS_MOST || left_reap(kind, &ending) >= HELPERS_HUNG || h->proc < 0)
        return false;
    const int pid =
        reach_is_far() ? reach_helper(kind == DARING, &fd, &pidfd) : elf_helper_begin(h->proc, kind == DARING, &fd);
    if (pid < 0)
        return false;
    e->fd    = fd;
    e->child = (struct elf_helper_child){pid, pidfd};
    e->since = elf_helper_now_ns();
    return true;
}

/* Ends a helper; its unanswered questions wait for the next one. `blamed`: except the first, which is answered with
 * "not known". */
static void elf_helper_end(struct elf_helper *h, int kind, bool hung, bool blamed)
{
    struct helper *e = &h->kind[kind];
    if (e->fd < 0)
        return;
    if (e->child.pidfd >= 0)
        syscall(SYS_pidfd_send_signal, e->child.pidfd, SIGKILL, NULL, 0);
    else
        kill(e->child.pid, SIGKILL);
    close(e->fd);
    left_add(e->child, kind, hung);
    if (blamed && e->flight.first)
        list_put(&h->unknown, list_take(&e->flight));
    list_return(&e->queue, &e->flight);
    e->fd        = -1;
    e->in_flight = 0;
}

/* A helper that waits for a processor does not hang, but it is not waited for forever. */
static bool has_hung(const struct elf_helper *h, const struct helper *e, uint64_t now)
{
    struct proc_stat st;
    if (!e->in_flight || now - e->since < HELPER_NS)
        return false;
    return now - e->since > BUSY * (uint64_t)HELPER_NS || !proc_stat(h->proc, (uint32_t)e->child.pid, 0, &st) ||
           st.state != 'R';
}

static void hand_out(struct elf_helper *h, int kind)
{
    struct helper *e = &h->kind[kind];
    while (e->queue.first && e->in_flight < HELPER_FLIGHT) {
        struct elf_helper_asked *a = e->queue.first;
        if (kind == DARING && elf_helper_now_ns() - a->since > RISKY_NS) {
            list_put(&h->unknown, list_take(&e->queue));
            continue;
        }
        if (e->fd < 0 && !elf_helper_start(h, kind)) {
            list_return(&h->unknown, &e->queue);
            return;
        }
        if (send(e->fd, &a->message, a->size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
            if (errno != EAGAIN && errno != ENOBUFS) {
                e->deaths++;
                elf_helper_end(h, kind, false, e->in_flight > 0);
                continue;
            }
            return;
        }
        if (!e->in_flight++)
            e->since = elf_helper_now_ns();
        list_put(&e->flight, list_take(&e->queue));
    }
}

bool elf_ask(struct elf_helper *h, const struct elf_question *q, const char *path)
{
    size_t                   length = strlen(path) + 1;
    struct elf_helper_asked *a      = path[0] == '/' && length <= ELF_PATH ? malloc(sizeof *a + length) : NULL;
    if (!a)
        return false;
    a->size             = sizeof a->message + length;
    a->since            = elf_helper_now_ns();
    a->message.question = *q;
    memcpy(a + 1, path, length);
    list_put(&h->kind[CAREFUL].queue, a);
    h->unanswered++;
    hand_out(h, CAREFUL);
    return true;
}

/* The next reply of a helper, if there is one. */
static bool reply_take(struct elf_helper *h, int kind, struct elf_reply *reply)
{
    struct helper *e = &h->kind[kind];
    ssize_t        n = e->fd < 0 ? -1 : recv(e->fd, reply, sizeof *reply, MSG_DONTWAIT);
    if (n == (ssize_t)sizeof *reply && e->flight.first)
        return true;
    if (e->fd >= 0 && (n >= 0 || errno != EAGAIN)) { /* it ended on its own: a file made it fail */
        e->deaths++;
        elf_helper_end(h, kind, false, true);
    }
    return false;
}

static bool answer_of(struct elf_helper *h, int kind, uint64_t *key, struct elf_info *out)
{
    struct helper   *e = &h->kind[kind];
    struct elf_reply reply;
    while (reply_take(h, kind, &reply)) {
        struct elf_helper_asked *a = list_take(&e->flight);
        e->in_flight--;
        e->since = elf_helper_now_ns();
        if (reply.verdict == ELF_RISKY && kind == CAREFUL) {
            list_put(&h->kind[DARING].queue, a);
            continue;
        }
        *key       = a->message.question.key;
        *out       = reply.info;
        out->valid = reply.verdict == ELF_FOUND;
        free(a);
        return true;
    }
    if (has_hung(h, e, elf_helper_now_ns()))
        elf_helper_end(h, kind, true, true);
    return false;
}

bool elf_answer(struct elf_helper *h, uint64_t *key, struct elf_info *out)
{
    bool found = false;
    for (int kind = 0; kind < KINDS && !found && h->unanswered; kind++) {
        found = answer_of(h, kind, key, out);
        hand_out(h, kind);
    }
    struct elf_helper_asked *a = found ? NULL : list_take(&h->unknown);
    if (a) {
        *key = a->message.question.key;
        *out = (struct elf_info){0};
        free(a);
    }
    h->unanswered -= found || a;
    return found || a;
}

unsigned elf_unanswered(const struct elf_helper *h) { return h->unanswered; }

int elf_patience(const struct elf_helper *h)
{
    const struct helper *careful = &h->kind[CAREFUL];
    return careful->queue.first || careful->flight.first ? CAREFUL_MS : RISKY_NS / 1000000;
}

void elf_helper_wait(struct elf_helper *h, int timeout_ms)
{
    struct pollfd p[KINDS];
    if (h->unknown.first)
        return;
    for (int kind = 0; kind < KINDS; kind++)
        p[kind] = (struct pollfd){h->kind[kind].in_flight ? h->kind[kind].fd : -1, POLLIN, 0};
    poll(p, KINDS, timeout_ms < WAIT_STEP_MS ? timeout_ms : WAIT_STEP_MS); /* elf_answer finds a helper that hangs */
}

void elf_helper_rest(struct elf_helper *h)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct helper *e = &h->kind[kind];
        if (e->fd >= 0 && !e->in_flight && !e->queue.first && elf_helper_now_ns() - e->since > HELPER_REST_NS)
            elf_helper_end(h, kind, false, false);
    }
}

struct elf_helper *elf_helper_create(int proc)
{
    struct elf_helper *h = calloc(1, sizeof *h);
    if (!h)
        return NULL;
    h->proc = proc;
    list_init(&h->unknown);
    for (int kind = 0; kind < KINDS; kind++) {
        h->kind[kind].fd = -1;
        list_init(&h->kind[kind].queue);
        list_init(&h->kind[kind].flight);
    }
    return h;
}

/* Idle helpers end at once; waits some milliseconds at most for them, so that no zombie stays. */
void elf_helper_destroy(struct elf_helper *h)
{
    unsigned ending = 0;
    if (!h)
        return;
    for (int kind = 0; kind < KINDS; kind++) {
        struct helper *e = &h->kind[kind];
        ending += e->fd >= 0 && !e->in_flight;
        elf_helper_end(h, kind, e->in_flight > 0, false);
        list_free(&e->queue);
    }
    for (int i = 0; i < END_TRIES && ending; i++) {
        left_reap(CAREFUL, &ending);
        if (ending)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    list_free(&h->unknown);
    free(h);
}
