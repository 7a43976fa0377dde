/* Fuzz target: all analyses, exports and the redactor over a file of arbitrary bytes. The seeds are those of fuzz_etl.
 * The results are checked against the promises of the headers: sums, pairs, time on processors, records that keep their
 * size. */
#include "autologger/analysis/activities.h"
#include "autologger/analysis/counts.h"
#include "autologger/analysis/delta.h"
#include "autologger/analysis/images.h"
#include "autologger/analysis/moment.h"
#include "autologger/analysis/resources.h"
#include "autologger/export/convert.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static ssize_t swallow(void *cookie, const char *bytes, size_t size)
{
    (void)cookie, (void)bytes;
    return (ssize_t)size;
}

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void count(struct trace *t)
{
    struct counts *c;
    if (counts_create(t, &c, NULL))
        return;
    for (int by = 0; by < COUNTS_TABLES; by++) {
        uint64_t sum = 0;
        for (size_t i = 0; i < c->table[by].rows; i++)
            sum += c->table[by].row[i].events;
        must(sum == c->events);
    }
    counts_destroy(c);
}

static void pairs(struct trace *t)
{
    struct delta_options o = {.by = DELTA_THREAD, .worst = 5};
    struct delta        *d;
    must(event_spec_parse("*:start", &o.begin) && event_spec_parse("*", &o.end));
    if (delta_create(t, &o, &d, NULL))
        return;
    must(d->begins == d->pairs + d->open && d->ends == d->pairs + d->unmatched_ends && d->time.count == d->pairs);
    delta_destroy(d);
}

static void used(struct trace *t)
{
    struct resources *r;
    if (resources_create(t, &r, NULL))
        return;
    must(r->idle + r->unknown_cpu <= r->cpu_time);
    resources_destroy(r);
}

static void others(struct trace *t, int round)
{
    struct activities *a;
    struct images     *i;
    struct moment      m;
    if (round == 0 && !activities_create(t, &a, NULL)) {
        must(a->with_activity <= a->events);
        activities_destroy(a);
    } else if (round == 1 && !images_create(t, &i, NULL)) {
        must(i->with_build_id <= i->rows && i->rows <= i->loads);
        images_destroy(i);
    } else if (round == 2 && !moment_create(t, trace_start(t) + 10, &m, NULL)) {
        moment_finish(&m);
    }
}

static void convert(struct trace *t, int round, FILE *null)
{
    struct convert_counts         n;
    wstatus                       st = round == 0   ? convert_perfetto(t, NULL, null, &n, NULL)
                                       : round == 1 ? convert_chrome(t, NULL, null, &n, NULL)
                                                    : convert_folded(t, NULL, round == 2 ? FOLDED_CPU : FOLDED_WAITING, NULL, null, &n, NULL);
    const struct timeline_counts *l  = &n.timeline;
    if (!st && round < 2)
        must(l->switches + l->wakes + l->samples + l->stacks + l->slices + l->begins + l->instants + l->counters +
                 l->names ==
             l->read);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *null;
    char         name[32];
    const char  *path = name;

    if (!null)
        null = fopencookie(NULL, "w", (cookie_io_functions_t){.write = swallow});
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    for (int round = 0; round < 11; round++) {
        struct trace    *t;
        struct redactor *r = round == 10 ? redactor_create(REDACT_ALL) : NULL;
        if (trace_open(&path, 1, &t, NULL))
            break;
        if (r && redactor_learn_file(r, path, NULL) == W_SUCCESS)
            trace_redact(t, r);
        if (round == 0)
            count(t);
        else if (round == 1)
            pairs(t);
        else if (round == 2)
            used(t);
        else if (round < 6)
            others(t, round - 3);
        else
            convert(t, (round - 6) % 4, null);
        trace_close(t);
        redactor_destroy(r);
    }
    close(fd);
    return 0;
}
