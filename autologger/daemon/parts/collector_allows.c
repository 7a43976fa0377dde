/* collector_allows.c - see collector_allows.h. */
#include "autologger/daemon/parts/collector_allows.h"

#include "autologger/daemon/end/merge_job.h"
#include "autologger/daemon/parts/collector.h"
#include "autologger/daemon/parts/writer.h"

#include <linux/perf_event.h>
#include <string.h>

static bool collector_allows_may_start(const char *word)
{
    static const char *const words[] = {
#define LAUNCHED(word) word,
#include "autologger/daemon/parts/launched.def"
#undef LAUNCHED
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}

/* "#" of the pattern stands for a number as the kernel writes it. */
static bool collector_allows_fits(const char *pattern, const char *path)
{
    for (; *pattern; pattern++)
        if (*pattern == '#') {
            const size_t digits = strspn(path, "0123456789");
            if (!digits || digits > 10 || *path == '0')
                return false;
            path += digits;
        } else if (*path++ != *pattern) {
            return false;
        }
    return !*path;
}

static bool may_open(const char *path)
{
    return false
#define REACH_FILE(pattern) || collector_allows_fits(pattern, path)
#define REACH_TARGET(pattern)
#define REACH_SHOWN(pattern)
#include "autologger/daemon/parts/reach_paths.def"
#undef REACH_FILE
#undef REACH_TARGET
#undef REACH_SHOWN
        ;
}

static bool may_tell(const char *path)
{
    return false
#define REACH_FILE(pattern)
#define REACH_TARGET(pattern) || collector_allows_fits(pattern, path)
#define REACH_SHOWN(pattern)
#include "autologger/daemon/parts/reach_paths.def"
#undef REACH_FILE
#undef REACH_TARGET
#undef REACH_SHOWN
        ;
}

static bool may_show(const char *path)
{
    return false
#define REACH_FILE(pattern)
#define REACH_TARGET(pattern)
#define REACH_SHOWN(pattern) || collector_allows_fits(pattern, path)
#include "autologger/daemon/parts/reach_paths.def"
#undef REACH_FILE
#undef REACH_TARGET
#undef REACH_SHOWN
        ;
}

/* Events of a whole processor: counters, tracepoints, and the side band's. No breakpoint and no probe: those name an
 * address or a path. */
static bool may_record(const struct reach_request *q)
{
    struct perf_event_attr attr;
    memcpy(&attr, q->attr, sizeof attr);
    const struct perf_event_attr *a = &attr;
    /* -1 is every processor; the kernel reads as many bytes as it is told */
    if (q->number > INT32_MAX || a->size > sizeof attr)
        return false;
    return a->type == PERF_TYPE_SOFTWARE || a->type == PERF_TYPE_TRACEPOINT || a->type == PERF_TYPE_HARDWARE ||
           a->type == PERF_TYPE_HW_CACHE || a->type == PERF_TYPE_RAW;
}

bool collector_allows(const struct reach_request *q)
{
    if (!memchr(q->text, 0, sizeof q->text))
        return false;
    switch (q->what) {
    case REACH_LAUNCH: return collector_allows_may_start(q->text);
    case REACH_PERF: return may_record(q);
    case REACH_OPEN: return may_open(q->text);
    case REACH_LINK: return may_tell(q->text);
    case REACH_SHOW: return may_show(q->text);
    case REACH_LOAD: return q->program < REACH_PROGRAM_KINDS && q->number <= COLLECTOR_CPUS;
    case REACH_HELPER: return q->number <= 1;
    case REACH_AGAIN:
    case REACH_PROC:
    case REACH_TRACEFS: return true;
    default: return false;
    }
}
