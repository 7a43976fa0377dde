/* Writes a trace of a boot that is much busier than any: big_trace PATH EVENTS. Four processors, 20,000 processes one
 * after another, each with switches to and from it with stacks, wake-ups by another one, samples with stacks; disk
 * transfers. For the bench of the page. */
#include "autologger/etl/writer.h"
#include "registry-sim/base/os.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER = 256 * 1024, HEAD = 72, CPUS = 4, PROCESSES = 20000, FRAMES = 16, STEP_NS = 20000 };

struct writing {
    struct etl_writer *w;
    uint8_t           *buffer[CPUS];
    uint32_t           filled[CPUS];
    uint64_t           written;
};

static void put_buffer(struct writing *t, unsigned cpu, int64_t time)
{
    struct reason why;
    if (t->filled[cpu] > HEAD && etl_writer_put(t->w, t->buffer[cpu], t->filled[cpu], (uint16_t)cpu, time, &why)) {
        fprintf(stderr, "big_trace: %s\n", why.text);
        exit(1);
    }
    t->filled[cpu] = HEAD;
}

static uint8_t *event(struct writing *t, unsigned cpu, uint8_t group, uint8_t type, uint8_t version, int64_t time,
                      uint32_t payload)
{
    const uint32_t size = (uint32_t)sizeof(struct etl_perfinfo_header) + payload, whole = (size + 7) & ~7u;
    if (t->filled[cpu] + whole > BUFFER)
        put_buffer(t, cpu, time);
    uint8_t                         *at = t->buffer[cpu] + t->filled[cpu];
    const struct etl_perfinfo_header h  = {.version     = version,
                                           .header_type = ETL_PERFINFO64,
                                           .flags       = 0xC0,
                                           .size        = (uint16_t)size,
                                           .type        = type,
                                           .group       = group,
                                           .time        = time};
    memset(at, 0, whole);
    memcpy(at, &h, sizeof h);
    t->filled[cpu] += whole;
    t->written++;
    return at + sizeof h;
}

static void stack(struct writing *t, unsigned cpu, int64_t time, uint32_t pid, unsigned which)
{
    uint8_t *p = event(t, cpu, 0x18, 0x20, 2, time, 16 + 8 * FRAMES);
    memcpy(p, &time, 8);
    memcpy(p + 8, &pid, 4);
    memcpy(p + 12, &pid, 4);
    for (unsigned i = 0; i < FRAMES; i++) {
        const uint64_t frame = i < 9 ? UINT64_C(0xffffffff81000000) + (which * 7 + i) % 400 * 64
                                     : UINT64_C(0x555500000000) + (which + i) % 300 * 32;
        memcpy(p + 16 + 8 * i, &frame, 8);
    }
}

static void process(struct writing *t, unsigned cpu, uint8_t type, int64_t time, uint32_t pid)
{
    char      name[32], command[64];
    const int n           = snprintf(name, sizeof name, "worker-%u", pid % 900) + 1,
              m           = snprintf(command, sizeof command, "/usr/bin/worker-%u --of boot %u", pid % 900, pid) + 1;
    const uint32_t parent = pid > 1010 ? 1000 + pid % 10 : 1, session = 0, status = type == 1 ? 259 : 0;
    uint8_t       *p = event(t, cpu, 0x03, type, 4, time, (uint32_t)(36 + 8 + n + 2 * m + 4));
    memcpy(p + 8, &pid, 4), memcpy(p + 12, &parent, 4), memcpy(p + 16, &session, 4), memcpy(p + 20, &status, 4);
    memcpy(p + 44, name, (size_t)n);
    for (int i = 0; i < m; i++)
        p[44 + n + 2 * i] = (uint8_t)command[i];
    if (type == 1) {
        p = event(t, cpu, 0x05, 1, 3, time, 80);
        memcpy(p, &pid, 4), memcpy(p + 4, &pid, 4);
    }
}

static void turn(struct writing *t, unsigned cpu, int64_t time, uint32_t *running, uint32_t next, unsigned which)
{
    uint8_t *p = event(t, cpu, 0x05, 0x32, 2, time, 8);
    memcpy(p, &next, 4);
    p = event(t, cpu, 0x05, 0x24, 4, time + 2000, 24);
    memcpy(p, &next, 4), memcpy(p + 4, &running[cpu], 4);
    p[12] = 6, p[13] = 1, p[14] = 5;
    running[cpu] = next;
    stack(t, cpu, time + 2000, next, which);
    p                 = event(t, cpu, 0x0F, 0x2E, 2, time + 9000, 16);
    const uint64_t ip = UINT64_C(0xffffffff81000000);
    memcpy(p, &ip, 8), memcpy(p + 8, &next, 4);
    p[12] = 1;
    stack(t, cpu, time + 9000, next, which * 3);
    if (which % 16 == 0) {
        const uint32_t bytes = 65536;
        const uint64_t took  = 900000;
        p                    = event(t, cpu, 0x01, 0x0A, 3, time + 9500, 52);
        memcpy(p + 8, &bytes, 4), memcpy(p + 40, &took, 8), memcpy(p + 48, &next, 4);
    }
}

int main(int argc, char **argv)
{
    const struct etl_file_info info          = {.logger_name   = "NT Kernel Logger",
                                                .file_name     = "big.etl",
                                                .buffer_size   = BUFFER,
                                                .processors    = CPUS,
                                                .log_file_mode = 1,
                                                .clock_type    = 1,
                                                .perf_freq     = 1000000000,
                                                .boot_time     = UINT64_C(134000000000000000),
                                                .start_time    = UINT64_C(134000000000000000)};
    const uint64_t             wanted        = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
    struct writing             t             = {0};
    uint32_t                   running[CPUS] = {0}, started = 0, ended = 0;
    struct reason              why;

    if (!wanted || etl_writer_create(os_linux(), argv[1], &info, 0, &t.w, &why))
        return 1;
    for (unsigned i = 0; i < CPUS; i++) {
        t.buffer[i] = calloc(1, BUFFER);
        t.filled[i] = HEAD;
    }
    for (uint64_t i = 0; t.written < wanted; i++) {
        const int64_t  time = (int64_t)i * STEP_NS + 1000;
        const unsigned cpu  = (unsigned)(i % CPUS);
        if (started < PROCESSES && t.written >= wanted / PROCESSES * started) {
            process(&t, cpu, 1, time, 1000 + started++);
            if (started > 60)
                process(&t, cpu, 2, time + 100, 1000 + ended++);
        }
        turn(&t, cpu, time + 1000, running, 1000 + ended + (uint32_t)(i * 7919 % (started - ended)),
             (unsigned)(i * 31 % 4001));
    }
    for (unsigned i = 0; i < CPUS; i++)
        put_buffer(&t, i, INT64_MAX / 2);
    const bool fine = etl_writer_finish(t.w, info.start_time + 1, 0, false, &why) == 0;
    etl_writer_destroy(t.w);
    for (unsigned i = 0; i < CPUS; i++)
        free(t.buffer[i]);
    printf("%llu\n", (unsigned long long)t.written);
    return fine ? 0 : 1;
}
