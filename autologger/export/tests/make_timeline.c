/* Writes a kernel trace whose every value follows from a rule: two processors, six threads of two processes, context
 * switches, wake-ups, samples with stacks, disk transfers, a loss without a processor. For tests that decode the output
 * of `autologger convert` and `report`. Usage: make_timeline FILE [SECONDS from the machine's start to the
 * session's]. */
#include "autologger/etl/tests/build.h"
#include "registry-sim/base/cursor.h"

#include <stdio.h>

enum {
    CPUS      = 2,
    THREADS   = 6,
    STEPS     = 400,
    SWITCH    = 0x0524,
    READY     = 0x0532,
    SAMPLE    = 0x0F2E,
    STACK     = 0x1820,
    SET_NAME  = 0x0548,
    DISK_READ = 0x010A,
    BUFFER    = 128 << 10
};

struct record {
    uint8_t       bytes[256];
    struct writer w;
};

static void record_begin(struct record *r)
{
    memset(r->bytes, 0, sizeof r->bytes);
    r->w = wr_make(r->bytes, sizeof r->bytes);
}

static uint32_t tid_of(unsigned n) { return 101 + n; }
static uint32_t pid_of(unsigned n) { return n < 4 ? 100 : 105; }

static void name_thread(struct image *m, int64_t time, unsigned n)
{
    struct record r;
    char          name[] = "thread-0";

    name[7] = (char)('0' + n);
    record_begin(&r);
    wr_u32(&r.w, pid_of(n));
    wr_u32(&r.w, tid_of(n));
    for (const char *p = name; *p; p++)
        wr_u16(&r.w, (uint16_t)*p);
    wr_u16(&r.w, 0);
    image_kernel(m, time, SET_NAME, 2, 0, r.bytes, r.w.pos);
}

static void switch_threads(struct image *m, int64_t time, uint32_t next, uint32_t previous, uint8_t state)
{
    struct record r;

    record_begin(&r);
    wr_u32(&r.w, next);
    wr_u32(&r.w, previous);
    wr_u8(&r.w, (uint8_t)(next % 16));
    wr_u8(&r.w, (uint8_t)(previous % 16 + 16));
    wr_u16(&r.w, 0); /* idle state, spare */
    wr_u8(&r.w, 6);  /* wait reason */
    wr_u8(&r.w, 1);
    wr_u8(&r.w, state);
    image_kernel(m, time, SWITCH, 4, 0, r.bytes, 24);
}

static void wake(struct image *m, int64_t time, uint32_t tid)
{
    struct record r;

    record_begin(&r);
    wr_u32(&r.w, tid);
    image_kernel(m, time, READY, 2, 0, r.bytes, 8);
}

/* A sample of the thread, and its stack of three frames. */
static void sample(struct image *m, int64_t time, uint32_t pid, uint32_t tid, uint64_t ip)
{
    struct record r;

    record_begin(&r);
    wr_u64(&r.w, ip);
    wr_u32(&r.w, tid);
    wr_u32(&r.w, 1);
    image_kernel(m, time, SAMPLE, 2, 0, r.bytes, r.w.pos);
    record_begin(&r);
    wr_u64(&r.w, (uint64_t)time);
    wr_u32(&r.w, pid);
    wr_u32(&r.w, tid);
    for (uint64_t depth = 0; depth < 3; depth++)
        wr_u64(&r.w, ip + depth * 0x1000);
    image_kernel(m, time + 1, STACK, 2, 0, r.bytes, r.w.pos);
}

static void transfer(struct image *m, int64_t time, uint32_t bytes, uint64_t took, uint32_t tid)
{
    struct record r;

    record_begin(&r);
    wr_u32(&r.w, 1);       /* disk */
    wr_u32(&r.w, 0x60043); /* IrpFlags */
    wr_u32(&r.w, bytes);
    wr_u32(&r.w, 0);
    wr_u64(&r.w, bytes * UINT64_C(16)); /* ByteOffset */
    wr_u64(&r.w, 0);
    wr_u64(&r.w, bytes + UINT64_C(0x100000)); /* Irp */
    wr_u64(&r.w, took);
    wr_u32(&r.w, tid);
    image_kernel(m, time, DISK_READ, 3, 0, r.bytes, r.w.pos);
}

/* Each processor runs threads of its own, so that no thread runs on two at a time. */
static void run_cpu(struct image *m, unsigned cpu)
{
    static const uint8_t states[] = {1, 5, 5, 4};
    uint32_t             running  = 0;

    for (unsigned i = 0; i < STEPS; i++) {
        int64_t  time = 2000000 + (int64_t)i * 1000 + cpu * 37;
        unsigned n    = (i * 7 / 3) % 4; /* 3: idle */
        uint32_t next = n == 3 ? 0 : tid_of(n + cpu * 3);
        wake(m, time - 11, tid_of(i % 3 + cpu * 3));
        if (next == running)
            continue;
        switch_threads(m, time, next, running, states[i % 4]);
        running = next;
        if (next && i % 5 == 0)
            sample(m, time + 100, pid_of(next - 101), next, 0x400000 + i * 16ul);
        if (i % 9 == 0)
            transfer(m, time + 300, i + 512, i % 200 + 1, next);
    }
}

static void lose(struct image *m, int64_t time)
{
    static const char traits[] = "\x12\0Autologger-Loss", schema[] = "\x23\0\0Lost\0Cpu\0\x08"
                                                                     "Cause\0\x02Source\0\x02"
                                                                     "Count\0\x0A";
    struct guid       provider = guid_from_name("Autologger-Loss");
    struct record     r;

    record_begin(&r);
    wr_u32(&r.w, UINT32_MAX);
    wr_bytes(&r.w, "withheld", 9);
    wr_bytes(&r.w, "sched:sched_waking", 19);
    wr_u64(&r.w, 27);
    uint32_t at = m->pos;
    image_tracelogging(m, time, traits, sizeof traits, schema, sizeof schema - 1, r.bytes, r.w.pos);
    memcpy(image_last(m) + at + offsetof(struct etl_event_header, provider), &provider, sizeof provider);
}

int main(int argc, char **argv)
{
    if (argc != 2 && argc != 3)
        return 100;
    struct etl_file_info info = build_info(BUFFER);
    info.log_file_mode        = ETL_MODE_SEQUENTIAL | 0x02000000; /* a kernel session */
    info.processors           = CPUS;
    if (argc == 3)
        info.boot_time = info.start_time - strtoull(argv[2], NULL, 10) * UINT64_C(10000000);
    struct image m = image_start(&info);
    for (unsigned cpu = 0; cpu < CPUS; cpu++) {
        image_buffer(&m, (uint16_t)cpu, cpu + 1);
        for (unsigned n = 0; cpu == 0 && n < THREADS; n++)
            name_thread(&m, 1500000 + n, n);
        run_cpu(&m, cpu);
    }
    lose(&m, 2500000);
    FILE *f  = fopen(argv[1], "wbx");
    bool  ok = f && fwrite(m.data, 1, m.size, f) == m.size;
    ok       = f && fclose(f) == 0 && ok;
    if (!ok)
        perror(argv[1]);
    image_free(&m);
    return ok ? 0 : 111;
}
