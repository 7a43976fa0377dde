/* daemon_memory.c - see daemon_memory.h. */
#include "tools/live/daemon_memory.h"
#include "autologger/control/client.h"
#include "registry-sim/base/clock.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { LINK_MOST = 256, SETS_MOST = 65536, STREAMS_MOST = 65536, CHUNKS_MOST = 1 << 24 };
static const char MEMFD[] = "/memfd:autologger-", GONE[] = " (deleted)";

/* ---- one process' descriptors ---- */

struct memory_visit {
    pid_t pid;
    int   folder; /* /proc/PID/fd */
    DIR  *dir;
    char  name[NAME_MAX + 1], target[LINK_MOST];
};

static bool visit_begin(struct memory_visit *v, pid_t pid)
{
    char path[48];
    *v = (struct memory_visit){.pid = pid, .folder = -1};
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    v->dir    = opendir(path);
    v->folder = v->dir ? dirfd(v->dir) : -1;
    return v->dir != NULL;
}

/* The next descriptor, with its name and what it is. */
static bool visit_next(struct memory_visit *v)
{
    for (const struct dirent *d; v->dir && (d = readdir(v->dir));) {
        const ssize_t n =
            isdigit((unsigned char)*d->d_name) ? readlinkat(v->folder, d->d_name, v->target, sizeof v->target - 1) : -1;
        if (n <= 0)
            continue;
        v->target[n] = 0;
        snprintf(v->name, sizeof v->name, "%s", d->d_name);
        return true;
    }
    return false;
}

static void visit_end(struct memory_visit *v)
{
    if (v->dir)
        closedir(v->dir);
}

/* Which of autologger's memories it is ("daemon", "state", "control", "data", "directory"), or NULL. */
static const char *visit_kind(struct memory_visit *v)
{
    char *end = strstr(v->target, GONE);
    if (strncmp(v->target, MEMFD, strlen(MEMFD)) != 0)
        return NULL;
    if (end)
        *end = 0;
    return v->target + strlen(MEMFD);
}

/* `size` bytes of the memory at `offset`; NULL: it has fewer, or there is no memory for the copy. */
static void *visit_copy(const struct memory_visit *v, uint64_t offset, size_t size)
{
    uint8_t  *copy = size ? malloc(size) : NULL;
    const int fd   = copy ? openat(v->folder, v->name, O_RDONLY | O_CLOEXEC) : -1;
    size_t    done = 0;
    ssize_t   n    = 1;
    while (fd >= 0 && done < size && n > 0)
        if ((n = pread(fd, copy + done, size - done, (off_t)(offset + done))) > 0)
            done += (size_t)n;
    if (fd >= 0)
        close(fd);
    if (done == size && size)
        return copy;
    free(copy);
    return NULL;
}

/* ---- which process ---- */

/* The inode of the socket that listens at `path`, by /proc/net/unix; 0: none. */
static uint64_t socket_inode(const char *path)
{
    FILE    *f     = fopen("/proc/net/unix", "re");
    char    *line  = NULL;
    size_t   room  = 0;
    uint64_t found = 0;
    while (f && !found && getline(&line, &room, f) > 0) {
        unsigned long flags;
        uint64_t      inode;
        int           at          = 0;
        line[strcspn(line, "\n")] = 0;
        if (sscanf(line, "%*s %*s %*s %lx %*s %*s %" SCNu64 " %n", &flags, &inode, &at) == 2 && at > 0 &&
            flags & 0x10000 /* it listens */ && strcmp(line + at, path) == 0)
            found = inode;
    }
    free(line);
    if (f)
        fclose(f);
    return found;
}

/* Does the process hold a daemon's state, and (when `socket_text` is not NULL) that socket, too? */
static bool holds_state(pid_t pid, const char *socket_text)
{
    struct memory_visit v;
    bool                socket = !socket_text, state = false;
    visit_begin(&v, pid);
    while (visit_next(&v) && !(socket && state)) {
        const bool  is_it = socket_text && strcmp(v.target, socket_text) == 0;
        const char *kind  = is_it ? NULL : visit_kind(&v);
        socket |= is_it;
        state |= kind && strcmp(kind, "daemon") == 0;
    }
    visit_end(&v);
    return socket && state;
}

/* The process that began to listen at `path`; 0: nobody answers there. It may have ended, and have a successor. */
static pid_t first_listener(const char *path)
{
    struct sockaddr_un to   = {.sun_family = AF_UNIX};
    struct ucred       who  = {0};
    socklen_t          size = sizeof who;
    const int          fd   = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && snprintf(to.sun_path, sizeof to.sun_path, "%s", path) < (int)sizeof to.sun_path &&
        connect(fd, (const struct sockaddr *)&to, sizeof to) == 0 &&
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0)
        who.pid = 0;
    if (fd >= 0)
        close(fd);
    return who.pid;
}

/* The process that has the listening socket now and the state; 0: none. */
static pid_t daemon_memory_holder(uint64_t inode)
{
    char  text[48];
    pid_t found = 0;
    DIR  *proc  = inode ? opendir("/proc") : NULL;
    snprintf(text, sizeof text, "socket:[%" PRIu64 "]", inode);
    for (const struct dirent *d; proc && !found && (d = readdir(proc));) {
        const int number = isdigit((unsigned char)*d->d_name) ? atoi(d->d_name) : 0;
        if (number > 0 && holds_state(number, text))
            found = number;
    }
    if (proc)
        closedir(proc);
    return found;
}

wstatus daemon_memory_find(const char *runtime_dir, pid_t *pid, struct reason *why)
{
    const char *const folder = runtime_dir ? runtime_dir : control_runtime_dir();
    char              path[PATH_MAX];

    snprintf(path, sizeof path, "%s/control", folder);
    const pid_t    first = first_listener(path);
    const uint64_t inode = socket_inode(path);
    *pid                 = first > 0 && holds_state(first, NULL) ? first : daemon_memory_holder(inode);
    if (*pid)
        return W_SUCCESS;
    if (!first && !inode)
        return reason_set(why, W_FILE_NOT_FOUND,
                          "no daemon listens at %s. Do: start autologgerd, or name its process with --pid", path);
    return geteuid() ? reason_set(why, W_ACCESS_DENIED,
                                  "the memory of the daemon at %s may not be read. Do: run it as root", path)
                     : reason_set(why, W_FILE_NOT_FOUND,
                                  "which process is the daemon at %s is not known. Do: name it with --pid", path);
}

/* ---- what is in it ---- */

static wstatus take_daemon(struct daemon_memory *m, const struct memory_visit *v, struct reason *why)
{
    const struct state_daemon *s = m->state = visit_copy(v, 0, sizeof *m->state);
    if (!s || s->magic != STATE_MAGIC_DAEMON)
        return reason_set(why, W_INVALID_DATA, "process %d: its memory of the daemon makes no sense", (int)m->pid);
    if (s->version != STATE_VERSION || s->size != sizeof *s)
        return reason_set(
            why, W_REVISION_MISMATCH,
            "process %d has state of version %u, this program reads %u. Do: use the autologger that was installed with that daemon",
            (int)m->pid, s->version, (unsigned)STATE_VERSION);
    return W_SUCCESS;
}

static void take_session(struct daemon_memory *m, const struct memory_visit *v)
{
    struct state_session *head = visit_copy(v, 0, sizeof *head), *s = NULL;
    const bool fits = head && head->magic == STATE_MAGIC_SESSION && head->version == STATE_VERSION && head->in_use &&
                      head->size >= sizeof *head && head->size < 1u << 28 && m->sessions < SHM_SESSIONS;
    if (fits && (s = visit_copy(v, 0, head->size))) {
        const unsigned i      = (unsigned)(s->current & 1);
        const uint64_t offset = s->slot_offset[i], size = s->slot_size;
        const bool there = s->current && size >= sizeof(struct state_slot) && offset % 8 == 0 && offset >= sizeof *s &&
                           offset + size <= s->size;
        m->session[m->sessions++] =
            (struct memory_session){s, there ? (const void *)((const uint8_t *)s + offset) : NULL};
    }
    free(head);
}

static void take_control(struct daemon_memory *m, const struct memory_visit *v)
{
    struct shm_control    *c    = visit_copy(v, 0, sizeof *c);
    struct memory_streams *set  = c ? calloc(1, sizeof *set) : NULL;
    void                  *more = set && m->sets < SETS_MOST ? reallocarray(m->set, m->sets + 1, sizeof *m->set) : NULL;
    if (more)
        m->set = more;
    if (more && c->header.magic == SHM_MAGIC_CONTROL && c->stream_count <= STREAMS_MOST &&
        c->chunk_count <= CHUNKS_MOST) {
        uint8_t *state = visit_copy(v, c->state_offset, c->chunk_count);
        set->control   = *c;
        for (uint32_t i = 0; state && i < c->chunk_count; i++)
            if (state[i] <= SHM_CHUNK_STALLED)
                set->chunks[state[i]]++;
        free(state);
        m->set[m->sets++] = set;
        set               = NULL;
    }
    free(set);
    free(c);
}

static struct memory_streams *set_of(struct daemon_memory *m, const struct shm_data *d)
{
    for (unsigned i = 0; i < m->sets; i++) {
        const struct shm_control *c = &m->set[i]->control;
        if (!m->set[i]->has_data && c->session + 1 == d->session_number && c->uid == d->uid &&
            c->stream_count == d->stream_count)
            return m->set[i];
    }
    return NULL;
}

/* Programs write there: a set's numbers are what they say they are. */
static void take_data(struct daemon_memory *m, const struct memory_visit *v)
{
    struct shm_data       *d   = visit_copy(v, 0, sizeof *d);
    struct memory_streams *set = d && d->header.magic == SHM_MAGIC_DATA ? set_of(m, d) : NULL;
    if (set && (set->stream = visit_copy(v, d->stream_offset, set->control.stream_count * sizeof *set->stream))) {
        const uint32_t head = shm_pool_index(d->pool_head);
        set->has_data       = true;
        set->streams        = set->control.stream_count;
        set->in_pool        = head < set->control.chunk_count ? set->control.chunk_count - head : 0;
    }
    free(d);
}

static void take_directory(struct daemon_memory *m, const struct memory_visit *v)
{
    struct shm_directory *d    = visit_copy(v, 0, sizeof *d);
    struct shm_provider  *p    = NULL;
    const bool            fits = d && d->header.magic == SHM_MAGIC_DIRECTORY && d->provider_count <= SHM_PROVIDERS;
    if (fits && (p = visit_copy(v, d->provider_offset, d->provider_count * sizeof *p)))
        for (uint32_t i = 0; i < d->provider_count; i++)
            m->providers += p[i].generation & 1;
    free(p);
    free(d);
}

/* What each kind of memory is good for; of the data memory only when all sets are known. */
static const struct memory_kind {
    const char *name;
    unsigned    round;
    void (*take)(struct daemon_memory *m, const struct memory_visit *v);
} memory_kinds[] = {{"state", 0, take_session},
                    {"control", 0, take_control},
                    {"directory", 0, take_directory},
                    {"data", 1, take_data}};

/* A descriptor may be there twice (the read-only one of a control memory): each memory is taken once, by its inode. */
struct memory_seen {
    uint64_t *inode;
    size_t    count;
};
static bool seen_before(struct memory_seen *seen, const struct memory_visit *v)
{
    struct stat st;
    uint64_t   *more;
    if (fstatat(v->folder, v->name, &st, 0) < 0)
        return true;
    for (size_t i = 0; i < seen->count; i++)
        if (seen->inode[i] == st.st_ino)
            return true;
    if ((more = reallocarray(seen->inode, seen->count + 1, sizeof *more))) {
        seen->inode                = more;
        seen->inode[seen->count++] = st.st_ino;
    }
    return !more;
}

static void take_round(struct daemon_memory *m, unsigned round)
{
    struct memory_visit v;
    struct memory_seen  seen = {0};
    visit_begin(&v, m->pid);
    while (visit_next(&v)) {
        const char *kind = visit_kind(&v);
        for (size_t i = 0; kind && i < sizeof memory_kinds / sizeof *memory_kinds; i++)
            if (memory_kinds[i].round == round && strcmp(memory_kinds[i].name, kind) == 0 && !seen_before(&seen, &v))
                memory_kinds[i].take(m, &v);
    }
    visit_end(&v);
    free(seen.inode);
}

static int memory_by_session(const void *a, const void *b)
{
    const struct memory_session *x = a, *y = b;
    return x->state->index < y->state->index ? -1 : x->state->index > y->state->index;
}

static int memory_by_user(const void *a, const void *b)
{
    const struct shm_control *x = &(*(struct memory_streams *const *)a)->control,
                             *y = &(*(struct memory_streams *const *)b)->control;
    if (x->session != y->session)
        return x->session < y->session ? -1 : 1;
    return x->uid < y->uid ? -1 : x->uid > y->uid;
}

static wstatus find_state(struct daemon_memory *m, struct reason *why)
{
    struct memory_visit v;
    wstatus             st = W_FILE_NOT_FOUND;
    if (!visit_begin(&v, m->pid))
        return reason_set(why, errno == ENOENT ? W_FILE_NOT_FOUND : wstatus_from_errno(errno),
                          "process %d can't be looked at: %s. Do: %s", (int)m->pid, strerror(errno),
                          errno == ENOENT ? "look for autologgerd with ps" : "run it as root");
    while (st == W_FILE_NOT_FOUND && visit_next(&v)) {
        const char *kind = visit_kind(&v);
        if (kind && strcmp(kind, "daemon") == 0)
            st = take_daemon(m, &v, why);
    }
    visit_end(&v);
    return st != W_FILE_NOT_FOUND
               ? st
               : reason_set(why, st,
                            "process %d holds no memory of autologgerd. Do: name the service's or the keeper's process",
                            (int)m->pid);
}

wstatus daemon_memory_open(pid_t pid, struct daemon_memory **out, struct reason *why)
{
    struct daemon_memory *m = calloc(1, sizeof *m);
    char                  path[48];
    *out = NULL;
    if (!m)
        return reason_set(why, W_OUTOFMEMORY, "no memory for a daemon's state");
    m->pid           = pid;
    const wstatus st = find_state(m, why);
    if (st) {
        daemon_memory_close(m);
        return st;
    }
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    FILE *f = fopen(path, "re");
    if (f && fgets(m->program, sizeof m->program, f))
        m->program[strcspn(m->program, "\n")] = 0;
    if (f)
        fclose(f);
    take_round(m, 0);
    take_round(m, 1);
    qsort(m->session, m->sessions, sizeof *m->session, memory_by_session);
    if (m->sets)
        qsort(m->set, m->sets, sizeof(struct memory_streams *), memory_by_user);
    *out = m;
    return W_SUCCESS;
}

void daemon_memory_close(struct daemon_memory *m)
{
    if (!m)
        return;
    for (unsigned i = 0; i < m->sessions; i++)
        free((void *)(uintptr_t)m->session[i].state);
    for (unsigned i = 0; i < m->sets; i++) {
        free(m->set[i]->stream);
        free(m->set[i]);
    }
    free(m->set);
    free(m->state);
    free(m);
}

const char *daemon_memory_log_folder(const char *runtime_dir, char *out, size_t size)
{
    struct daemon_memory *m = NULL;
    pid_t                 pid;
    snprintf(out, size, "/var/log/autologger"); /* the shipped unit's */
    if (daemon_memory_find(runtime_dir, &pid, NULL) == W_SUCCESS && daemon_memory_open(pid, &m, NULL) == W_SUCCESS)
        snprintf(out, size, "%.*s", (int)sizeof m->state->log_dir, m->state->log_dir);
    daemon_memory_close(m);
    return out;
}
