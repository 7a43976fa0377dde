/* progress.c - see progress.h. */
#include "tools/base/progress.h"
#include "registry-sim/base/visible_print.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { QUIET = 2000, EVERY = 100, WIDTH = 40 };

static int64_t progress_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

struct progress progress_start(const char *what)
{
    return (struct progress){what, progress_now(), 0, isatty(STDERR_FILENO) == 1};
}

void progress_tell(void *progress, unsigned per_mille)
{
    struct progress *p = progress;
    int64_t          t = p->terminal ? progress_now() : 0;

    if (!p->terminal || t - p->began < QUIET || t - p->shown < EVERY)
        return;
    p->shown        = t;
    unsigned filled = (per_mille > 1000 ? 1000 : per_mille) * WIDTH / 1000;
    visible_printf(stderr, "\r%s [%.*s%*s] %3u %%", p->what, (int)filled, "########################################",
                   (int)(WIDTH - filled), "", (per_mille > 1000 ? 1000 : per_mille) / 10);
}

void progress_end(struct progress *p)
{
    if (p->shown)
        visible_printf(stderr, "\r%*s\r", 70, "");
    p->shown = 0;
}
