/* set_counters.c - see set_counters.h. */
#include "tools/sets/set_counters.h"
#include "registry-sim/base/visible_print.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { THINGS = 4096, NUMBERS = 8, METRICS = 512, TOP = 10, LEVEL = 4, ROOM = 256, SECTOR = 512 };
/* What was read the last time of a processor, a disk, an interface or a process. */
struct counted {
    char     name[64];
    uint64_t number[NUMBERS];
    bool     seen; /* in this reading */
};
struct metric { /* for the report */
    char     name[96];
    double   least, sum, greatest;
    uint64_t count;
};
struct set_counters {
    bool                  wanted[SET_COUNTERS];
    struct typed_provider provider;
    struct typed_event    event;
    struct counted        things[SET_COUNTERS][THINGS];
    unsigned              thing_count[SET_COUNTERS];
    struct metric         metric[METRICS];
    unsigned              metrics, left_out; /* left_out: values for which there was no room */
    double                before, seconds;   /* since the reading before; 0: this is the first */
    long                  tick, page_kb;
    wstatus               failed;
    struct reason         why;
};

static double counters_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- an event ---- */

static void counters_begin(struct set_counters *c, enum set_counter kind)
{
    struct reason why;
    typed_event_init(&c->event, set_counter_names[kind], &why);
}

static void counters_text(struct set_counters *c, const char *key, const char *text)
{
    struct reason why;
    typed_event_add_text(&c->event, key, text, &why);
}

static void counters_keep(struct set_counters *c, const char *name, double value)
{
    unsigned i = 0;
    while (i < c->metrics && strcmp(c->metric[i].name, name) != 0)
        i++;
    if (i == METRICS) {
        c->left_out++;
        return;
    }
    struct metric *m = &c->metric[i];
    if (i == c->metrics) {
        c->metrics++;
        snprintf(m->name, sizeof m->name, "%s", name);
        m->least = m->greatest = value;
    }
    m->least    = fmin(m->least, value);
    m->greatest = fmax(m->greatest, value);
    m->sum += value;
    m->count++;
}

/* A field, and a row of the report; `of` "": no row. */
static void counters_value(struct set_counters *c, const char *of, const char *key, double value)
{
    char          text[ROOM], name[ROOM];
    struct reason why;
    snprintf(text, sizeof text, "%s=%.2f", key, value);
    typed_event_add(&c->event, text, &why);
    snprintf(name, sizeof name, "%.60s %s", of, key);
    if (*of)
        counters_keep(c, name, value);
}

static void counters_number(struct set_counters *c, const char *key, int64_t value)
{
    char          text[ROOM];
    struct reason why;
    snprintf(text, sizeof text, "%s=%" PRId64, key, value);
    typed_event_add(&c->event, text, &why);
}

static void counters_end(struct set_counters *c)
{
    struct reason why = {0};
    /* each write that no session takes waits a second: the first one is enough */
    const wstatus st = c->failed ? W_SUCCESS : typed_provider_write(&c->provider, &c->event, LEVEL, 0, &why);
    if (st) {
        c->failed = st;
        c->why    = why;
    }
}

/* ---- what was read before ---- */

/* The differences of the numbers to the reading before; false: there was none. */
static bool counters_since(struct set_counters *c, enum set_counter kind, const char *name,
                           const uint64_t number[NUMBERS], double since[NUMBERS])
{
    struct counted *things = c->things[kind];
    unsigned        i      = 0;
    while (i < c->thing_count[kind] && strcmp(things[i].name, name) != 0)
        i++;
    if (i == THINGS) {
        c->left_out++;
        return false;
    }
    const bool known = i < c->thing_count[kind];
    if (!known) {
        snprintf(things[i].name, sizeof things[i].name, "%s", name);
        c->thing_count[kind]++;
    }
    for (unsigned k = 0; k < NUMBERS; k++)
        since[k] = number[k] >= things[i].number[k] ? (double)(number[k] - things[i].number[k]) : 0;
    memcpy(things[i].number, number, sizeof things[i].number);
    things[i].seen = true;
    return known && c->seconds > 0;
}

/* Forgets what this reading did not see: a process that ended, a disk that is gone. */
static void counters_forget(struct set_counters *c, enum set_counter kind)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < c->thing_count[kind]; i++)
        if (c->things[kind][i].seen) {
            c->things[kind][kept]        = c->things[kind][i];
            c->things[kind][kept++].seen = false;
        }
    c->thing_count[kind] = kept;
}

/* ---- the readings ---- */

static void counters_processor_line(struct set_counters *c, const char *line)
{
    uint64_t n[NUMBERS] = {0};
    double   d[NUMBERS], all = 0;
    char     name[16];
    if (sscanf(line,
               "%15s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
               name, &n[0], &n[1], &n[2], &n[3], &n[4], &n[5], &n[6], &n[7]) < 9 ||
        strncmp(name, "cpu", 3) != 0 || !counters_since(c, COUNT_PROCESSOR, name, n, d))
        return;
    for (unsigned i = 0; i < NUMBERS; i++)
        all += d[i];
    if (all <= 0)
        return;
    const bool total = !name[3];
    counters_begin(c, COUNT_PROCESSOR);
    counters_number(c, "cpu", total ? -1 : atoi(name + 3));
    counters_value(c, total ? "Processor" : "", "busy%", 100 - 100 * (d[3] + d[4]) / all);
    counters_value(c, total ? "Processor" : "", "user%", 100 * (d[0] + d[1]) / all);
    counters_value(c, total ? "Processor" : "", "system%", 100 * (d[2] + d[5] + d[6]) / all);
    counters_value(c, total ? "Processor" : "", "iowait%", 100 * d[4] / all);
    counters_value(c, total ? "Processor" : "", "steal%", 100 * d[7] / all);
    counters_end(c);
}

/* "NAME:  123 kB" of /proc/meminfo */
static void counters_memory(struct set_counters *c, FILE *from)
{
    static const char *const names[] = {"MemTotal", "MemAvailable", "Cached", "Dirty", "SwapTotal", "SwapFree"};
    uint64_t                 value[sizeof names / sizeof *names] = {0}, number;
    char                     line[ROOM], name[64];
    while (fgets(line, sizeof line, from))
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (sscanf(line, "%63[^:]: %" SCNu64, name, &number) == 2 && strcmp(name, names[i]) == 0)
                value[i] = number;
    counters_begin(c, COUNT_MEMORY);
    counters_number(c, "totalKB", (int64_t)value[0]);
    counters_value(c, "Memory", "availableMB", (double)value[1] / 1024);
    counters_value(c, "Memory", "cachedMB", (double)value[2] / 1024);
    counters_value(c, "Memory", "dirtyMB", (double)value[3] / 1024);
    counters_value(c, "Memory", "swapUsedMB", (double)(value[4] - value[5]) / 1024);
    counters_end(c);
}

static void counters_disk_line(struct set_counters *c, const char *line)
{
    uint64_t n[NUMBERS] = {0};
    double   d[NUMBERS];
    char     name[64], path[128], of[80];
    /* major minor name, then reads, merged, sectors, ms; writes, merged, sectors, ms; in flight, ms busy */
    if (sscanf(line, "%*u %*u %63s %" SCNu64 " %*u %" SCNu64 " %*u %" SCNu64 " %*u %" SCNu64 " %*u %*u %" SCNu64, name,
               &n[0], &n[1], &n[2], &n[3], &n[4]) < 6)
        return;
    snprintf(path, sizeof path, "/sys/block/%s", name);
    if (access(path, F_OK) != 0 || strncmp(name, "loop", 4) == 0 || strncmp(name, "ram", 3) == 0)
        return; /* a partition, or no disk */
    if (!counters_since(c, COUNT_DISK, name, n, d))
        return;
    snprintf(of, sizeof of, "Disk %s", name);
    counters_begin(c, COUNT_DISK);
    counters_text(c, "name", name);
    counters_value(c, of, "reads/s", d[0] / c->seconds);
    counters_value(c, of, "readKB/s", d[1] * SECTOR / 1024 / c->seconds);
    counters_value(c, of, "writes/s", d[2] / c->seconds);
    counters_value(c, of, "writtenKB/s", d[3] * SECTOR / 1024 / c->seconds);
    counters_value(c, of, "busy%", fmin(100, d[4] / 10 / c->seconds));
    counters_end(c);
}

static void counters_network_line(struct set_counters *c, const char *line)
{
    uint64_t n[NUMBERS] = {0};
    double   d[NUMBERS];
    char     name[64], of[80];
    if (sscanf(line,
               " %63[^:]: %" SCNu64 " %" SCNu64 " %" SCNu64 " %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64 " %" SCNu64,
               name, &n[0], &n[1], &n[2], &n[3], &n[4], &n[5]) < 7 ||
        !counters_since(c, COUNT_NETWORK, name, n, d))
        return;
    snprintf(of, sizeof of, "Network %s", name);
    counters_begin(c, COUNT_NETWORK);
    counters_text(c, "name", name);
    counters_value(c, of, "receivedKB/s", d[0] / 1024 / c->seconds);
    counters_value(c, of, "receivedPackets/s", d[1] / c->seconds);
    counters_value(c, of, "sentKB/s", d[3] / 1024 / c->seconds);
    counters_value(c, of, "sentPackets/s", d[4] / c->seconds);
    counters_value(c, of, "errors/s", (d[2] + d[5]) / c->seconds);
    counters_end(c);
}

struct counted_process {
    int    pid;
    char   name[32];
    double busy, resident_kb;
};

/* A process' share of one processor; false: it is new, or gone. */
static bool counters_process(struct set_counters *c, const char *pid, struct counted_process *out)
{
    uint64_t n[NUMBERS] = {0};
    double   d[NUMBERS];
    char     path[ROOM], line[1024], key[64];
    long     pages = 0;
    snprintf(path, sizeof path, "/proc/%s/stat", pid);
    FILE        *from = fopen(path, "re");
    const size_t got  = from ? fread(line, 1, sizeof line - 1, from) : 0; /* a name may have a line feed */
    const bool   read = got > 0;
    line[got]         = 0;
    if (from)
        fclose(from);
    const char *open = read ? strchr(line, '(') : NULL, *close = read ? strrchr(line, ')') : NULL;
    uint64_t    user, system, start;
    if (!open || !close ||
        sscanf(close + 1,
               " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64 " %*d %*d %*d %*d %*d %*d %" SCNu64
               " %*u %ld",
               &user, &system, &start, &pages) < 4)
        return false;
    n[0] = user + system;
    snprintf(key, sizeof key, "%s.%" PRIu64, pid, start); /* a number that is used again is another process */
    if (!counters_since(c, COUNT_PROCESS, key, n, d))
        return false;
    *out = (struct counted_process){atoi(pid), "", 100 * d[0] / (double)c->tick / c->seconds,
                                    (double)(pages * c->page_kb)};
    snprintf(out->name, sizeof out->name, "%.*s", (int)(close - open - 1), open + 1);
    return true;
}

/* The processes with the most processor time of this interval. */
static void counters_processes(struct set_counters *c)
{
    struct counted_process top[TOP] = {0}, now;
    unsigned               count    = 0;
    DIR                   *d        = opendir("/proc");
    for (const struct dirent *e; d && (e = readdir(d));) {
        if (!isdigit((unsigned char)*e->d_name) || !counters_process(c, e->d_name, &now) || now.busy <= 0)
            continue;
        unsigned at = count;
        while (at > 0 && top[at - 1].busy < now.busy)
            at--;
        if (at == TOP)
            continue;
        count += count < TOP;
        memmove(&top[at + 1], &top[at], (count - at - 1) * sizeof *top);
        top[at] = now;
    }
    if (d)
        closedir(d);
    for (unsigned i = 0; i < count; i++) {
        counters_begin(c, COUNT_PROCESS);
        counters_number(c, "pid", top[i].pid);
        counters_text(c, "name", top[i].name);
        counters_value(c, "", "busy%", top[i].busy);
        counters_number(c, "residentKB", (int64_t)top[i].resident_kb);
        counters_end(c);
    }
}

static void counters_lines(struct set_counters *c, const char *path, void (*take)(struct set_counters *, const char *))
{
    FILE  *from = fopen(path, "re");
    char  *line = NULL;
    size_t size = 0;
    while (from && getline(&line, &size, from) > 0)
        take(c, line);
    free(line);
    if (from)
        fclose(from);
}

wstatus set_counters_take(struct set_counters *c, struct reason *why)
{
    const double now = counters_now();
    c->seconds       = c->before > 0 ? now - c->before : 0;
    c->before        = now;
    c->failed        = W_SUCCESS;
    FILE *memory     = c->wanted[COUNT_MEMORY] ? fopen("/proc/meminfo", "re") : NULL;
    if (c->wanted[COUNT_PROCESSOR])
        counters_lines(c, "/proc/stat", counters_processor_line);
    if (memory) {
        counters_memory(c, memory);
        fclose(memory);
    }
    if (c->wanted[COUNT_DISK])
        counters_lines(c, "/proc/diskstats", counters_disk_line);
    if (c->wanted[COUNT_NETWORK])
        counters_lines(c, "/proc/net/dev", counters_network_line);
    if (c->wanted[COUNT_PROCESS])
        counters_processes(c);
    for (unsigned i = 0; i < SET_COUNTERS; i++)
        counters_forget(c, (enum set_counter)i);
    return c->failed ? reason_set(why, c->failed, "%s", c->why.text) : W_SUCCESS;
}

void set_counters_print(const struct set_counters *c, FILE *to)
{
    if (c->metrics)
        visible_printf(to, "%-44s %12s %12s %12s\n", "COUNTER", "LEAST", "AVERAGE", "GREATEST");
    for (unsigned i = 0; i < c->metrics; i++) {
        const struct metric *m = &c->metric[i];
        visible_printf(to, "%-44s %12.2f %12.2f %12.2f\n", m->name, m->least, m->sum / (double)m->count, m->greatest);
    }
    if (c->left_out)
        visible_printf(to, "%u values are left out: more than %d things of a kind, or more than %d rows\n", c->left_out,
                       THINGS, METRICS);
}

wstatus set_counters_open(const bool wanted[SET_COUNTERS], const char *runtime_dir, struct set_counters **out,
                          struct reason *why)
{
    struct set_counters *c = calloc(1, sizeof *c);
    *out                   = c;
    if (!c)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for counters");
    memcpy(c->wanted, wanted, sizeof c->wanted);
    c->tick    = sysconf(_SC_CLK_TCK);
    c->page_kb = sysconf(_SC_PAGESIZE) / 1024;
    return typed_provider_open(&c->provider, SET_COUNTERS_PROVIDER, runtime_dir, why);
}

void set_counters_close(struct set_counters *c)
{
    if (c)
        typed_provider_close(&c->provider);
    free(c);
}
