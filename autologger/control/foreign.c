/* foreign.c - see foreign.h. */
#include "autologger/control/foreign.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Threads begin one after another, so the next one to ask usually has one of the next numbers; else all threads are
 * read. */
enum { STATUS_MOST = 4096, NEXT_MOST = 8, TRIES = 3 };

unsigned foreign_levels(const char *status, uint32_t *inner)
{
    const char *line  = strstr(status, "\nNSpid:");
    unsigned    count = 0;
    if (!line)
        return 0;
    for (const char *p = line + strlen("\nNSpid:"); *p && *p != '\n';) {
        char *end;
        p += strspn(p, " \t");
        const unsigned long number = strtoul(p, &end, 10);
        if (end == p)
            break;
        *inner = (uint32_t)number;
        count++;
        p = end;
    }
    return count;
}

/* `path`: below /proc. */
static unsigned levels_at(int proc_fd, const char *path, uint32_t *inner)
{
    char    full[64], text[STATUS_MOST];
    ssize_t n  = -1;
    int     fd = -1;
    if (proc_fd > 0)
        fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
    else if (snprintf(full, sizeof full, "/proc/%s", path) < (int)sizeof full)
        fd = open(full, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    n = read(fd, text, sizeof text - 1); /* the line is within the first 1,000 bytes */
    close(fd);
    text[n > 0 ? n : 0] = 0;
    return foreign_levels(text, inner);
}

unsigned foreign_process(int proc_fd, uint32_t pid, uint32_t *inner)
{
    char path[32];
    snprintf(path, sizeof path, "%u/status", pid);
    return pid ? levels_at(proc_fd, path, inner) : 0;
}

static bool is_thread(int proc_fd, uint32_t pid, uint32_t tid, uint32_t wanted)
{
    char     path[64];
    uint32_t inner = 0;
    snprintf(path, sizeof path, "%u/task/%u/status", pid, tid);
    return levels_at(proc_fd, path, &inner) && inner == wanted;
}

/* The inner number in `known`, searched from *at on, for both lists have the same order. 0: not there. */
static uint32_t known_inner(const struct foreign_threads *known, uint32_t outer, unsigned *at)
{
    for (unsigned i = *at; i < known->count; i++)
        if (known->thread[i].outer == outer) {
            *at = i + 1;
            return known->thread[i].inner;
        }
    return 0;
}

/* Reads all threads of `pid` into `known`; those already there are not read again. */
static void look_at_all(int proc_fd, uint32_t pid, struct foreign_threads *known)
{
    char                    path[64];
    struct foreign_threads *now = malloc(sizeof *now);
    unsigned                at  = 0;
    snprintf(path, sizeof path, proc_fd > 0 ? "%u/task" : "/proc/%u/task", pid);
    int  fd  = proc_fd > 0 ? openat(proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                           : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir && fd >= 0)
        close(fd);
    if (known->pid != pid)
        known->count = 0;
    known->pid     = pid;
    unsigned count = 0;
    for (struct dirent *e; now && dir && count < FOREIGN_THREADS && (e = readdir(dir));) {
        const uint32_t tid = (uint32_t)strtoul(e->d_name, NULL, 10);
        if (!tid)
            continue;
        uint32_t inner = known_inner(known, tid, &at);
        snprintf(path, sizeof path, "%u/task/%u/status", pid, tid);
        if (inner || levels_at(proc_fd, path, &inner)) {
            now->thread[count].inner   = inner;
            now->thread[count++].outer = tid;
        }
    }
    if (dir)
        closedir(dir);
    if (now) {
        memcpy(known->thread, now->thread, count * sizeof *now->thread);
        known->count = count;
    }
    free(now);
}

static uint32_t control_foreign_find(int proc_fd, uint32_t pid, uint32_t inner, struct foreign_threads *known)
{
    for (unsigned i = known->count; i-- > 0;) {
        if (known->thread[i].inner != inner)
            continue;
        if (is_thread(proc_fd, pid, known->thread[i].outer, inner))
            return known->thread[i].outer;
        known->thread[i].inner = 0; /* another thread has this number now */
    }
    return 0;
}

uint32_t foreign_thread(int proc_fd, uint32_t pid, uint32_t inner, uint32_t near, struct foreign_threads *known)
{
    uint32_t outer = known->pid == pid ? control_foreign_find(proc_fd, pid, inner, known) : 0;
    for (uint32_t i = 1; !outer && near && i <= NEXT_MOST; i++)
        if (is_thread(proc_fd, pid, near + i, inner))
            outer = near + i;
    /* a list that is read while threads begin and end can be incomplete */
    for (unsigned i = 0; !outer && pid && i < TRIES; i++) {
        look_at_all(proc_fd, pid, known);
        outer = control_foreign_find(proc_fd, pid, inner, known);
    }
    return outer;
}
