/* bench_request.h - the events of `autologger bench read`: the content of event i, the same for LTTng-UST and an .etl.
 * C alone. Threads: pure. */
#ifndef TOOLS_BENCH_REQUEST_H
#define TOOLS_BENCH_REQUEST_H
#include <stdint.h>

struct bench_request {
    uint32_t    number;
    uint64_t    bytes;
    int32_t     status;
    double      load;
    const char *path;
};
static inline struct bench_request bench_request(uint32_t i)
{
    static const char *const paths[] = {"/usr/lib/x86_64-linux-gnu/libc.so.6", "/etc/hosts", "/var/log/syslog", "/"};
    return (struct bench_request){i, (uint64_t)i * 4096, -(int32_t)(i % 100), i / 8.0, paths[i % 4]};
}
#endif
