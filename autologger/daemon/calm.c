#include "autologger/daemon/calm.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

bool calm_parse(const char *text, uint64_t *idle, uint64_t *total)
{
    enum { WANTED = 8, IDLE = 3 }; /* user, nice, system, idle, iowait, irq, softirq, steal */
    const char *p = text + 4;
    unsigned    n = 0;
    if (strncmp(text, "cpu ", 4) != 0)
        return false;
    for (*idle = *total = 0; n < WANTED; n++) {
        char    *end;
        uint64_t value = strtoull(p, &end, 10);
        if (end == p)
            break;
        *total += value;
        *idle = n == IDLE ? value : *idle;
        p     = end;
    }
    return n > IDLE;
}

static bool stat_read(int fd, uint64_t *idle, uint64_t *total)
{
    char    text[256];
    ssize_t n           = pread(fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = 0;
    return calm_parse(text, idle, total);
}

/* The early program's lock lives as long as its keeper. */
static bool early_lives(const char *runtime_dir)
{
    char path[1100];
    snprintf(path, sizeof path, "%s/early.lock", runtime_dir);
    int  fd    = open(path, O_RDONLY | O_CLOEXEC);
    bool alive = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0;
    if (fd >= 0)
        close(fd);
    return alive;
}

void calm_wait(const char *runtime_dir, const char *proc_stat, int signal_fd)
{
    char     hurry[1100];
    uint64_t idle = 0, total = 0, idle_before = 0, total_before = 0;
    int      fd = open(proc_stat, O_RDONLY | O_CLOEXEC);

    snprintf(hurry, sizeof hurry, "%s/" CALM_HURRY, runtime_dir);
    stat_read(fd, &idle_before, &total_before);
    for (unsigned calm = 0, waited = 0; fd >= 0 && calm < CALM_SLICES && waited < CALM_LIMIT_MS;
         waited += CALM_SLICE_MS) {
        struct pollfd p = {.fd = signal_fd, .events = POLLIN};
        if (access(hurry, F_OK) == 0 || !early_lives(runtime_dir) || poll(&p, 1, CALM_SLICE_MS) != 0)
            break;
        if (!stat_read(fd, &idle, &total))
            break;
        bool slice   = total > total_before && (idle - idle_before) * 100 >= (total - total_before) * CALM_IDLE_PERCENT;
        calm         = slice ? calm + 1 : 0;
        idle_before  = idle;
        total_before = total;
    }
    if (fd >= 0)
        close(fd);
}
