/* trace_instance.h - a test's own trace buffer (tracefs' instances/NAME), armed like the buffer of the kernel command
 * line: for tests of the kernel phase. No other buffer is touched. */
#ifndef AUTOLOGGER_KERNEL_TESTS_TRACE_INSTANCE_H
#define AUTOLOGGER_KERNEL_TESTS_TRACE_INSTANCE_H
#include "autologger/kernel/phase/tracepage.h"
#include "autologger/kernel/source/sources.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct trace_instance {
    int  root, dir;
    char name[64];
};

static inline bool instance_write(const struct trace_instance *t, const char *file, const char *text)
{
    int     fd = openat(t->dir, file, O_WRONLY | O_CLOEXEC);
    ssize_t n  = fd < 0 ? -1 : write(fd, text, strlen(text));
    if (fd >= 0)
        close(fd);
    return n > 0;
}
/* False, with nothing left behind, when this machine does not allow it. */
static inline bool instance_make(struct trace_instance *t, const char *purpose)
{
    char path[128];
    snprintf(t->name, sizeof t->name, "al-%s-%d", purpose, (int)getpid());
    snprintf(path, sizeof path, "instances/%s", t->name);
    t->dir  = -1;
    t->root = tracefs_open();
    if (t->root < 0)
        return false;
    if (mkdirat(t->root, path, 0700) == 0)
        t->dir = openat(t->root, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (t->dir < 0)
        close(t->root);
    return t->dir >= 0;
}
static inline void instance_remove(struct trace_instance *t)
{
    char path[128];
    instance_write(t, "tracing_on", "0");
    instance_write(t, "events/enable", "0");
    close(t->dir);
    snprintf(path, sizeof path, "instances/%s", t->name);
    for (int i = 0; i < 100 && unlinkat(t->root, path, AT_REMOVEDIR) < 0 && errno == EBUSY; i++)
        usleep(10000);
    close(t->root);
}
/* "group:name group:name" */
static inline bool instance_events(const struct trace_instance *t, const char *events)
{
    char all[512], *save = NULL;
    bool good = true;
    snprintf(all, sizeof all, "%s", events);
    for (char *word = strtok_r(all, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        char path[128], *colon = strchr(word, ':');
        *colon = 0;
        snprintf(path, sizeof path, "events/%s/%s/enable", word, colon + 1);
        good &= instance_write(t, path, "1");
    }
    return good;
}
static inline bool instance_stats(const struct trace_instance *t, unsigned cpu, struct trace_stats *out)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "per_cpu/cpu%u/stats", cpu);
    return tracefs_read(t->dir, path, text, sizeof text) > 0 && trace_stats_parse(text, out);
}
/* Takes the pages of a CPU out of the buffer. Returns how many bytes. */
static inline size_t instance_pages(const struct trace_instance *t, unsigned cpu, size_t page_size, uint8_t *out,
                                    size_t room)
{
    char    path[64];
    size_t  used = 0;
    ssize_t n;
    snprintf(path, sizeof path, "per_cpu/cpu%u/trace_pipe_raw", cpu);
    int fd = openat(t->dir, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    while (fd >= 0 && used + page_size <= room && (n = read(fd, out + used, page_size)) > 0)
        used += (size_t)n;
    if (fd >= 0)
        close(fd);
    return used;
}
#endif
