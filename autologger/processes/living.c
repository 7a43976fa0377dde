#include "autologger/processes/living.h"
#include "autologger/kernel/source/reach.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct process **living_place(const struct living *l, uint32_t pid)
{
    struct process **at = (struct process **)(uintptr_t)&l->bucket[pid % LIVING_BUCKETS];
    while (*at && (*at)->pid != pid)
        at = &(*at)->next;
    return at;
}

struct process *living_find(const struct living *l, uint32_t pid) { return *living_place(l, pid); }

struct process *living_add(struct living *l, uint32_t pid)
{
    struct process *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    living_remove(l, pid);
    p->pid                = pid;
    p->number             = ++l->number;
    *living_place(l, pid) = p;
    return p;
}

void living_remove(struct living *l, uint32_t pid)
{
    struct process **at = living_place(l, pid), *p = *at;
    if (!p)
        return;
    *at = p->next;
    free(p->image);
    free(p);
}

void living_each(const struct living *l, void (*each)(void *ctx, struct process *p), void *ctx)
{
    for (unsigned i = 0; i < LIVING_BUCKETS; i++)
        for (struct process *p = l->bucket[i], *next; p; p = next) {
            next = p->next;
            each(ctx, p);
        }
}

void living_finish(struct living *l)
{
    for (unsigned i = 0; i < LIVING_BUCKETS; i++)
        while (l->bucket[i])
            living_remove(l, l->bucket[i]->pid);
}

/* ---- /proc ---- */

/* Parses "PID (NAME) S PARENT ...": the name may have brackets and spaces. */
static bool stat_parse(char *text, struct process *p, uint64_t *ticks, char name[16])
{
    char    *open = strchr(text, '('), *close = strrchr(text, ')');
    unsigned field = 2;

    if (!open || !close || close < open)
        return false;
    snprintf(name, 16, "%.*s", (int)(close - open - 1), open + 1);
    *ticks = 0;
    for (char *rest = close + 1, *at; (at = strtok_r(rest, " ", &rest)) != NULL;) {
        field++;
        if (field == 4)
            p->parent = (uint32_t)strtoul(at, NULL, 10);
        else if (field == 20)
            p->threads = (uint32_t)strtoul(at, NULL, 10);
        else if (field == 22)
            *ticks = strtoull(at, NULL, 10);
    }
    return field >= 22;
}

static uint64_t living_clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void living_process_read(struct living *l, int proc, uint32_t pid, uint64_t now_ns, uint64_t boot_ns)
{
    char           path[PATH_MAX], text[1024], name[16];
    uint64_t       ticks;
    struct process read = {0}, *p;

    snprintf(path, sizeof path, "%u/stat", pid);
    const int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    FILE     *f  = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (!f && fd >= 0)
        close(fd);
    if (!f)
        return; /* gone */
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    if (!stat_parse(text, &read, &ticks, name) || !(p = living_add(l, pid)))
        return;
    const uint64_t began = ticks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK)),
                   age   = boot_ns > began ? boot_ns - began : 0;
    p->parent            = read.parent;
    p->threads           = read.threads;
    p->seen_ns           = living_clock_ns(CLOCK_MONOTONIC_RAW);
    p->began_ns          = now_ns > age ? now_ns - age : 0;
    snprintf(path, sizeof path, "%u/exe", pid);
    const ssize_t length = reach_link(proc, path, text, sizeof text);
    p->image             = strdup(length > 0 ? text : name);
    if (!p->image)
        living_remove(l, pid);
}

static void parent_number(void *ctx, struct process *p)
{
    const struct process *parent = living_find(ctx, p->parent);
    p->parent_number             = parent ? parent->number : 0;
}

bool living_read(struct living *l, const char *proc, uint64_t now_ns)
{
    const int      folder  = strcmp(proc, "/proc") == 0 ? reach_proc() : open(proc, O_PATH | O_DIRECTORY | O_CLOEXEC);
    const int      list    = folder >= 0 ? openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    DIR           *dir     = list >= 0 ? fdopendir(list) : NULL;
    const uint64_t boot_ns = living_clock_ns(CLOCK_BOOTTIME);

    if (!dir && list >= 0)
        close(list);
    if (!dir) {
        if (folder >= 0)
            close(folder);
        return false;
    }
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        char         *end;
        unsigned long pid = strtoul(e->d_name, &end, 10);
        if (pid && !*end && pid <= UINT32_MAX)
            living_process_read(l, folder, (uint32_t)pid, now_ns, boot_ns);
    }
    closedir(dir);
    close(folder);
    living_each(l, parent_number, l);
    return true;
}
