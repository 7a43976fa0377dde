/* identity.c - this program's identity, for filters and for the items of events. See filter.h. */
#include "autologger/provider/filter.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

struct filter_identity al_identity;
static uint64_t        event_keys; /* the next one */

enum { PID_BITS = 22, PROC_TEXT = 4096 };

/* A whole file of /proc; "" when it can't be read. */
static void identity_read_text(const char *path, char *out, size_t size)
{
    size_t  used = 0;
    ssize_t n    = 0;
    int     fd   = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && used + 1 < size && ((n = read(fd, out + used, size - 1 - used)) > 0 || (n < 0 && errno == EINTR)))
        used += n > 0 ? (size_t)n : 0;
    out[used] = 0;
    if (fd >= 0)
        close(fd);
}

static void read_program(struct filter_identity *who)
{
    static const char gone[] = " (deleted)"; /* a newer program was installed: its name is the same */
    ssize_t           n      = readlink("/proc/self/exe", who->program, sizeof who->program - 1);
    if (n <= 0) { /* no /proc: the name that it was called by */
        const char *called = (const char *)(uintptr_t)getauxval(AT_EXECFN);
        snprintf(who->program, sizeof who->program, "%s", called ? called : "");
        return;
    }
    who->program[n]   = 0;
    const size_t tail = sizeof gone - 1;
    if ((size_t)n > tail && strcmp(who->program + (size_t)n - tail, gone) == 0)
        who->program[(size_t)n - tail] = 0;
}

/* Finds 64 hex digits that stand alone: docker-<id>.scope, /docker/<id>, /kubepods/.../<id>. */
static void find_container(struct filter_identity *who)
{
    enum { DIGITS = IDENTITY_CONTAINER - 1 };
    for (const char *p = who->cgroup; *p;) {
        size_t n = 0;
        while (isxdigit((unsigned char)p[n]))
            n++;
        if (n == DIGITS && (p == who->cgroup || !isalnum((unsigned char)p[-1])) && !isalnum((unsigned char)p[n])) {
            memcpy(who->container, p, DIGITS);
            who->container[DIGITS] = 0;
            for (unsigned i = 0; i < 2 * sizeof who->container_id; i++) {
                const uint8_t digit      = (uint8_t)(p[i] <= '9' ? p[i] - '0' : (p[i] | 0x20) - 'a' + 10);
                who->container_id[i / 2] = (uint8_t)(who->container_id[i / 2] << 4 | digit);
            }
        }
        p += n ? n : 1;
    }
}

/* Lines "number:controllers:path"; version 2's line has no controllers, and systemd's is the next best. */
void identity_cgroup(struct filter_identity *out, const char *proc_cgroup)
{
    *out->cgroup = *out->container = 0;
    for (const char *line = proc_cgroup; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
        const char *end = line + strcspn(line, "\n");
        if (!path || path > end)
            continue;
        const bool two     = path == controllers + 1,
                   systemd = strncmp(controllers + 1, "name=systemd:", sizeof "name=systemd:" - 1) == 0;
        if ((two && (path[1] != '/' || path + 2 < end)) || systemd || !*out->cgroup)
            snprintf(out->cgroup, sizeof out->cgroup, "%.*s", (int)(end - path - 1), path + 1);
    }
    find_container(out);
}

/* The 22nd field, after the name, which may contain anything: clock ticks since boot. Two programs with one pid don't
 * begin in the same tick. */
uint64_t identity_start_key(const char *proc_stat, uint32_t pid)
{
    const char *p = strrchr(proc_stat, ')');
    for (int field = 2; p && field < 22; field++)
        if ((p = strchr(p, ' ')))
            p++;
    return (p ? strtoull(p, NULL, 10) : 0) << PID_BITS | (pid & ((1u << PID_BITS) - 1));
}

/* As autologger's kernel events name users: S-1-5-18 for root, S-1-22-1-uid for others (as Samba writes Unix users). */
static void make_sid(struct filter_identity *who, uint32_t uid)
{
    static const uint8_t root[12]      = {1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0},
                         unix_user[12] = {1, 2, 0, 0, 0, 0, 0, 22, 1, 0, 0, 0};
    memcpy(who->sid, uid ? unix_user : root, sizeof root);
    memcpy(who->sid + sizeof root, &uid, sizeof uid);
    who->sid_size = uid ? sizeof root + sizeof uid : sizeof root;
}

/* Counts from a start that grows with time, faster than a program writes: a later program with the same pid gets other
 * keys. */
static void start_event_keys(uint32_t pid)
{
    enum { KEYS_A_MS = 10, COUNT_BITS = 64 - PID_BITS };
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    const uint64_t ms = (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
    __atomic_store_n(&event_keys, (uint64_t)pid << COUNT_BITS | ((ms << KEYS_A_MS) & ((UINT64_C(1) << COUNT_BITS) - 1)),
                     __ATOMIC_RELAXED);
}

uint64_t identity_event_key(void) { return __atomic_fetch_add(&event_keys, 1, __ATOMIC_RELAXED); }

void identity_read(void)
{
    char                    text[PROC_TEXT];
    struct filter_identity *who     = &al_identity;
    const pid_t             session = getsid(0);

    who->pid = who->own_pid = (uint32_t)getpid();
    who->terminal_session   = session > 0 ? (uint32_t)session : 0;
    read_program(who);
    identity_read_text("/proc/self/cgroup", text, sizeof text);
    identity_cgroup(who, text);
    identity_read_text("/proc/self/stat", text, sizeof text);
    who->start_key = identity_start_key(text, who->pid);
    make_sid(who, (uint32_t)geteuid());
    start_event_keys(who->pid);
}

void identity_foreign(uint32_t pid)
{
    struct filter_identity *who = &al_identity;
    who->pid                    = pid;
    who->start_key              = who->start_key >> PID_BITS << PID_BITS | (pid & ((1u << PID_BITS) - 1));
    start_event_keys(pid);
}
