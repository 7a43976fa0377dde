/* How fast the converter turns raw records into ETL records, beside copying the same bytes. Proves: KRN-07 (at
 * volume). */
#include "autologger/kernel/tests/raw_maker.h"

#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
static int by_value(const void *a, const void *b) { return *(const double *)a < *(const double *)b ? -1 : 1; }

enum { ROUNDS = 9, PASSES = 200, PER_PASS = 500 };

/* A mix as a busy machine gives: switches and ready threads with stacks, samples. */
static void fill(struct maker *m)
{
    for (unsigned p = 0; p < PASSES; p++) {
        uint64_t t = 1000000 + p * UINT64_C(1000000);
        for (unsigned cpu = 0; cpu < 2; cpu++) {
            for (unsigned i = 0; i < PER_PASS; i++) {
                uint32_t a = 500 + i % 64, b = 500 + (i + 1) % 64;
                if (i % 10 == 0)
                    maker_sample(m, cpu, SRC_CLOCK, t + i * 1000, a, a, 0x400000 + i, 16, NULL, 0);
                else if (i % 2)
                    maker_switch(m, cpu, t + i * 1000 + cpu, a, b, 1, 0x500000 + i, 16);
                else
                    maker_waking(m, cpu, t + i * 1000 + cpu, a, b);
            }
            maker_chunk(m, cpu, RAW_CHUNK_PERF);
        }
        maker_pass(m, t + 999999, t + 999999);
    }
    maker_pass(m, UINT64_C(1) << 40, UINT64_MAX);
}

int main(void)
{
    static struct maker m;
    struct klog_config  config = {.mask       = {0x707, 0x286},
                                  .hooks      = {0x0F2E, 0x0524, 0x0532},
                                  .hook_count = 3,
                                  .clock      = {1, CLOCK_READ_TSC, 2500000000u}};
    double              ratio[ROUNDS], rate = 0;
    uint64_t            events = 0;
    maker_init(&m, 2, 64 << 20);
    for (uint32_t tid = 500; tid < 564; tid++) {
        struct raw_process p = {.own = {RAW_PROCESS, 0, 0, 1000, tid, tid}};
        struct raw_thread  t = {.own = {RAW_THREAD, 0, 0, 1000, tid, tid}, .prio = 120};
        maker_own(&m, &p, sizeof p, "p", "");
        maker_own(&m, &t, sizeof t, NULL, NULL);
    }
    maker_chunk(&m, 0, RAW_CHUNK_OWN);
    fill(&m);
    uint64_t bytes = rawlog_published(&m.log)->write_pos;
    uint8_t *copy  = malloc(bytes);
    if (!copy)
        return 1;
    memset(copy, 1, bytes);
    for (int round = 0; round < ROUNDS; round++) {
        struct convert c;
        double         t0 = now();
        memcpy(copy, m.log.data, bytes);
        __asm__ volatile("" ::"r"(copy) : "memory");
        double t1 = now();
        if (convert_init(&c, &config, &m.log, NULL))
            return 1;
        bool any = true;
        events   = 0;
        while (any) {
            any = false;
            for (unsigned cpu = 0; cpu < 2; cpu++) {
                struct klog_record r;
                for (int i = 0; i < 256 && convert_peek(&c, cpu, &r); i++, events++, any = true)
                    convert_pop(&c, cpu);
            }
        }
        double t2 = now();
        if (c.converted != m.drained || c.lost)
            return 1;
        convert_finish(&c);
        ratio[round] = (t2 - t1) / (t1 - t0);
        double here  = (double)m.drained / (t2 - t1);
        rate         = here > rate ? here : rate;
    }
    qsort(ratio, ROUNDS, sizeof *ratio, by_value);
    printf(
        "{\"row\": \"kernel records converted\", \"peer\": \"memcpy of the raw bytes\", \"peer_version\": \"libc\", \"ratio\": %.2f, "
        "\"better\": \"lower\", \"goal\": 30, \"rounds\": %d, \"p25\": %.2f, \"p75\": %.2f}\n",
        ratio[ROUNDS / 2], ROUNDS, ratio[ROUNDS / 4], ratio[ROUNDS * 3 / 4]);
    printf("%.2f million raw records a second, %llu events from %llu records, %.1f MB\n", rate / 1e6,
           (unsigned long long)events, (unsigned long long)m.drained, (double)bytes / 1e6);
    free(copy);
    maker_finish(&m);
    return ratio[ROUNDS / 2] < 100 ? 0 : 1;
}
