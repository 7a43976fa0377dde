#include "autologger/units/waiting.h"

#include "autologger/kernel/source/reach.h"
#include "autologger/units/sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DESCRIPTORS = 64, LOCKS_MOST = 64 << 10, LINE = 512 };

/* How to find what a system call waits for, by its arguments. */
enum call_how {
    HOW_FD,
    HOW_ANY,
    HOW_LOCKED,
    HOW_CONTROL,
    HOW_SLEEP,
    HOW_CHILD,
    HOW_SIGNAL,
    HOW_FUTEX,
    HOW_MODULE,
    HOW_MOUNT,
    HOW_RANDOM,
    HOW_OTHER
};
static const struct waiting_call {
    long          number;
    const char   *name;
    enum call_how how;
} waiting_calls[] = {
#define C(call, how) {SYS_##call, #call, HOW_##how},
#include "autologger/units/wait_calls.def"
#undef C
};

struct waiting_look {
    int             proc;
    uint32_t        pid;
    uint64_t        argument[3];
    const char     *call;
    struct waiting *out;
};

const char *waiting_word(enum wait_kind kind)
{
    static const char *const words[] = {
#define K(name, word) word,
#include "autologger/wire/wait_kinds.def"
#undef K
    };
    return words[kind];
}

/* ---- its state ---- */

/* "PID (NAME) STATE ...": the name may have blanks and parentheses. */
static bool state_read(int proc, uint32_t pid, char name[WAIT_NAME], char *state)
{
    char path[REACH_PATH], text[LINE];
    snprintf(path, sizeof path, "%u/stat", pid);
    const int fd = reach_open(proc, path);
    if (fd < 0)
        return false;
    const ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    char *const begin = strchr(text, '('), *const end = strrchr(text, ')');
    if (!begin || !end || end < begin || end[1] != ' ')
        return false;
    *end = 0;
    snprintf(name, WAIT_NAME, "%s", begin + 1);
    *state = end[2];
    return true;
}

/* "NUMBER ARGUMENT... STACK COUNTER", or "-1 STACK COUNTER" outside of any call, or "running". */
static const struct waiting_call *call_read(struct waiting_look *l, bool *paged)
{
    char     path[REACH_PATH], text[LINE];
    uint64_t argument[6], stack;
    long     number;

    *paged = false;
    snprintf(path, sizeof path, "%u/syscall", l->pid);
    const ssize_t n = reach_text(l->proc, path, text, sizeof text);
    l->out->stuck   = n == -ETIMEDOUT;
    if (n <= 0)
        return NULL;
    *paged = strncmp(text, "-1 ", 3) == 0;
    if (sscanf(text, "%ld %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64, &number,
               &argument[0], &argument[1], &argument[2], &argument[3], &argument[4], &argument[5], &stack) != 8 ||
        stack <= UINT32_MAX) /* a 32-bit program, whose calls have other numbers */
        return NULL;
    memcpy(l->argument, argument, sizeof l->argument);
    for (size_t i = 0; i < sizeof waiting_calls / sizeof *waiting_calls; i++)
        if (waiting_calls[i].number == number)
            return &waiting_calls[i];
    return NULL;
}

static void function_read(const struct waiting_look *l)
{
    char path[REACH_PATH];
    snprintf(path, sizeof path, "%u/wchan", l->pid);
    if (reach_text(l->proc, path, l->out->function, WAIT_FUNCTION) < 0 || strcmp(l->out->function, "0") == 0)
        *l->out->function = 0;
    l->out->function[strcspn(l->out->function, "\n")] = 0;
}

/* ---- its descriptors ---- */

static bool waiting_descriptor(const struct waiting_look *l, uint64_t fd, char *out, size_t size)
{
    char path[REACH_PATH];
    snprintf(path, sizeof path, "%u/fd/%" PRIu64, l->pid, fd);
    return fd < INT32_MAX && reach_link(l->proc, path, out, size) > 0;
}

static bool is_socket(const char *target, uint64_t *inode)
{
    return sscanf(target, "socket:[%" SCNu64 "]", inode) == 1;
}

static void descriptor_name(const struct waiting_look *l, uint64_t fd)
{
    char     target[WAIT_OBJECT];
    uint64_t inode;

    l->out->kind = WAIT_FILE;
    if (!waiting_descriptor(l, fd, target, sizeof target))
        return;
    if (is_socket(target, &inode)) {
        struct socket_end end = {.inode = inode};
        sockets_find(l->proc, l->pid, &end, 1);
        l->out->kind = end.kind;
        memcpy(l->out->object, end.object, sizeof end.object);
        return;
    }
    if (strncmp(target, "pipe:", 5) == 0)
        l->out->kind = WAIT_PIPE;
    else if (*target == '/' || strncmp(target, "anon_inode:", 11) == 0)
        memcpy(l->out->object, target, sizeof target);
}

/* Ranks several objects: a process with a connection that does not come up, or a question to a name server, hardly
 * waits for something else. Connections to systemd's journal and the like do not count: most programs have them. */
static int likelihood(enum wait_kind kind, const char *object)
{
    switch (kind) {
    case WAIT_CONNECT: return 6;
    case WAIT_DNS: return 5;
    case WAIT_TCP: return 4;
    case WAIT_UDP: return 3;
    case WAIT_UNIX:
        return !*object || strncmp(object, "/run/systemd/journal/", 21) == 0 ||
                       strcmp(object, "/run/systemd/notify") == 0
                   ? 0
                   : 2;
    case WAIT_NETLINK: return 1;
    default: return 0;
    }
}

/* True if the last socket is one of those before it. */
static bool waiting_is_there(const struct socket_end *ends, unsigned last)
{
    for (unsigned i = 0; i < last; i++)
        if (ends[i].inode == ends[last].inode)
            return true;
    return false;
}

static void any_name(const struct waiting_look *l)
{
    struct socket_end ends[SOCKETS_AT_ONCE];
    char              target[WAIT_OBJECT];
    unsigned          watched = 0, count = 0;
    int               best = 0;

    for (uint64_t fd = 0; fd < DESCRIPTORS && count < SOCKETS_AT_ONCE; fd++) {
        if (!waiting_descriptor(l, fd, target, sizeof target))
            continue;
        const bool socket = is_socket(target, &ends[count].inode);
        if (socket && waiting_is_there(ends, count)) /* it has another descriptor */
            continue;
        count += socket;
        watched += socket || (fd > STDERR_FILENO && !strstr(target, "[eventpoll]"));
    }
    sockets_find(l->proc, l->pid, ends, count);
    for (unsigned i = 0; i < count; i++) {
        const int n = likelihood(ends[i].kind, ends[i].object);
        if (n < best || !n)
            continue;
        best         = n;
        l->out->kind = ends[i].kind;
        memcpy(l->out->object, ends[i].object, sizeof ends[i].object);
    }
    l->out->guessed = best && watched > 1;
}

/* ---- locks ---- */

/* "ID: -> KIND ... PID DEVICE:INODE ..." waits for the line before it with this id and without the arrow. */
static void lock_holder(const struct waiting_look *l)
{
    char     id[24], held[24] = "", arrow[8], *line = NULL;
    unsigned pid;
    int      holder = 0; /* -1: not of one process (OFD) */
    size_t   room = 0, seen = 0;
    FILE    *f;
    int      fd = openat(l->proc, "locks", O_RDONLY | O_CLOEXEC);

    if (fd < 0 || !(f = fdopen(fd, "r"))) {
        if (fd >= 0)
            close(fd);
        return;
    }
    while (getline(&line, &room, f) > 0 && (seen += strlen(line)) < LOCKS_MOST) {
        if (sscanf(line, "%23s %7s %*s %*s %*s %u", id, arrow, &pid) == 3 && strcmp(arrow, "->") == 0) {
            if (pid == l->pid && strcmp(id, held) == 0)
                l->out->holder = holder > 0 ? (uint32_t)holder : 0;
        } else if (sscanf(line, "%23s %*s %*s %*s %d", held, &holder) != 2) {
            *held = 0;
        }
    }
    free(line);
    fclose(f);
}

static void lock_name(const struct waiting_look *l)
{
    descriptor_name(l, l->argument[0]);
    l->out->kind = WAIT_LOCK;
    lock_holder(l);
}

/* ---- all ---- */

/* True for a call on several descriptors that has none: it only waits for time. */
static bool looks_at_none(const struct waiting_look *l)
{
    return strstr(l->call, "poll") && strncmp(l->call, "epoll", 5) != 0
               ? l->argument[1] == 0
               : strstr(l->call, "select") && l->argument[0] == 0;
}

static void by_call(struct waiting_look *l, enum call_how how)
{
    static const enum wait_kind kinds[] = {
        [HOW_SLEEP] = WAIT_SLEEP,   [HOW_CHILD] = WAIT_CHILD, [HOW_SIGNAL] = WAIT_SIGNAL, [HOW_FUTEX] = WAIT_FUTEX,
        [HOW_MODULE] = WAIT_MODULE, [HOW_MOUNT] = WAIT_MOUNT, [HOW_RANDOM] = WAIT_RANDOM, [HOW_OTHER] = WAIT_OTHER};
    switch (how) {
    case HOW_FD: descriptor_name(l, l->argument[0]); break;
    case HOW_LOCKED: lock_name(l); break;
    case HOW_CONTROL:
        if (l->argument[1] == F_SETLKW || l->argument[1] == F_OFD_SETLKW)
            lock_name(l);
        else
            descriptor_name(l, l->argument[0]);
        break;
    case HOW_ANY:
        if (looks_at_none(l))
            l->out->kind = WAIT_SLEEP;
        else
            any_name(l);
        break;
    default: l->out->kind = kinds[how];
    }
}

bool waiting_look(int proc, uint32_t pid, struct waiting *out)
{
    struct waiting_look l = {.proc = proc, .pid = pid, .out = out, .call = ""};
    char                state;
    bool                paged;

    *out = (struct waiting){0};
    if (!state_read(proc, pid, out->name, &state) || (state != 'S' && state != 'D'))
        return false;
    function_read(&l);
    const struct waiting_call *c = call_read(&l, &paged);
    if (c) {
        l.call = c->name;
        snprintf(out->call, sizeof out->call, "%s", c->name);
        by_call(&l, c->how);
    } else if (paged) {
        out->kind = WAIT_PAGE;
    }
    return true;
}
