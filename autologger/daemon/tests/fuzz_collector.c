/* Requests to the collector, of any bytes: it allows what its tables say. Other code than the collector's own checks
 * that. */
#include "autologger/daemon/parts/collector_allows.h"

#include <ctype.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* "123/maps": the number of a process, then a name without a folder that leads anywhere else. */
static void must_be_of_a_process(const char *path, const char *const *names, size_t count)
{
    char *end;
    must(isdigit((unsigned char)*path) && *path != '0' && strtoull(path, &end, 10) > 0 && *end == '/');
    for (size_t i = 0; i < count; i++)
        if (strcmp(end + 1, names[i]) == 0)
            return;
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const        machine[] = {"kallsyms", "modules", "iomem", "kcore"};
    static const char *const        files[]   = {"maps", "auxv", "ns/user", "ns/pid", "status", "stat", "cmdline"},
                             *const links[]   = {"exe"};
    struct reach_request            q         = {0};
    memcpy(&q, data, size < sizeof q ? size : sizeof q);
    if (size && data[0] < 2 * REACH_WHATS)
        q.what = data[0]; /* most numbers are no request */
    if (!collector_allows(&q))
        return 0;
    must(q.what < REACH_WHATS && memchr(q.text, 0, sizeof q.text));
    if (q.what == REACH_OPEN) {
        for (size_t i = 0; i < sizeof machine / sizeof *machine; i++)
            if (strcmp(q.text, machine[i]) == 0)
                return 0;
        must_be_of_a_process(q.text, files, sizeof files / sizeof *files);
    }
    if (q.what == REACH_LINK)
        must_be_of_a_process(q.text, links, 1);
    if (q.what == REACH_LAUNCH)
        must(strcmp(q.text, "--writer") == 0 || strcmp(q.text, "--merge") == 0 || strcmp(q.text, "--clean-once") == 0);
    if (q.what == REACH_PERF) {
        struct perf_event_attr a;
        memcpy(&a, q.attr, sizeof a);
        must(a.type < PERF_TYPE_MAX && a.type != PERF_TYPE_BREAKPOINT && (int32_t)q.number >= 0);
    }
    return 0;
}
