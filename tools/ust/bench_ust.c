/* autologger-bench-ust: writes N events by LTTng-UST, for `autologger bench read`. Built where liblttng-ust-dev is
 * (tools/bench-peers). */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tools/ust/bench_events.h"

#include "tools/bench/bench_request.h"

#include <stdlib.h>

int main(int argc, char **argv)
{
    uint32_t n = argc == 2 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;

    for (uint32_t i = 0; i < n; i++) {
        struct bench_request r = bench_request(i);
        lttng_ust_tracepoint(contoso, request, r.number, r.bytes, r.status, r.load, r.path);
    }
    return n ? 0 : 100;
}
