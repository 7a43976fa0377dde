/* The kernel phase on this machine's real events: a trace instance stands for the buffer that the kernel command line
 * arms; a second one, which records all the time, is the independent witness of every context switch. Proves: ANA-10
 * (the kernel's part), KRN-07. Needs tracefs and CAP_PERFMON; else skipped. */
// timeout: 60
#include "autologger/kernel/klog.h"
#include "autologger/kernel/phase/kphase.h"
#include "autologger/kernel/tests/trace_instance.h"
#include "autologger/wire/etl.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

enum { CPUS = 64, SWITCHES = 200000, WITNESS_BYTES = 32 << 20 };
struct switched {
    uint64_t time;
    uint32_t old, new;
};
struct list {
    struct switched *at;
    size_t           count;
};
struct run {
    struct klog *k;
    pthread_t    drainer;
    int          stop;
    unsigned     cpus, conditions;
    bool         joined;
    struct list  ours[CPUS], witness[CPUS];
    uint64_t     last[CPUS], phase_end, events, forks, stacks, reads, phases;
    int64_t      offset[CPUS];
};

static void on_condition(void *ctx, wstatus number, bool note, const char *item, const char *reason, const char *advice)
{
    struct run *r = ctx;
    print_message("condition%s %u: %s: %s. Do: %s\n", note ? " (note)" : "", number, item, reason, advice);
    r->joined |= note && strcmp(item, "kernel phase") == 0 && strstr(reason, "clocks joined within");
    r->conditions += !note;
}

static void add(struct list *l, uint64_t time, uint32_t old, uint32_t new)
{
    if (!l->at)
        l->at = malloc(SWITCHES * sizeof *l->at);
    assert_non_null(l->at);
    if (l->count < SWITCHES)
        l->at[l->count++] = (struct switched){time, old, new};
}

static void take(struct run *r, unsigned cpu, const struct klog_record *e)
{
    assert_true(e->time > r->last[cpu]); /* L5, over the seam too */
    r->last[cpu] = e->time;
    r->events++;
    if (e->data[2] == ETL_EVENT64 && !memmem(e->data, e->size, "KernelPhaseEnd", sizeof "KernelPhaseEnd"))
        return;                      /* BuildId or Boot */
    if (e->data[2] == ETL_EVENT64) { /* KernelPhaseEnd: the payload begins behind two items */
        size_t   at = sizeof(struct etl_event_header);
        uint16_t total, linkage;
        uint32_t of;
        for (linkage = 1; linkage & 1; at += total) {
            memcpy(&total, e->data + at, 2);
            memcpy(&linkage, e->data + at + 4, 2);
        }
        memcpy(&of, e->data + at, 4);
        assert_true(of < CPUS && memcmp(e->data + at + 4, "perf", 5) == 0);
        memcpy(&r->offset[of], e->data + at + 9, 8);
        r->phase_end = e->time;
        r->phases++;
        return;
    }
    uint16_t hook = (uint16_t)(e->data[7] << 8 | e->data[6]);
    uint32_t tid[2];
    if (hook == 0x0524) {
        memcpy(tid, e->data + 16, sizeof tid);
        add(&r->ours[cpu], e->time, tid[1], tid[0]);
    }
    r->forks += hook == 0x0301;
    r->stacks += hook == 0x1820 && !r->phase_end;
    r->reads += hook == 0x010D;
}

static void collect(struct run *r)
{
    bool any = true;
    while (any) {
        any = false;
        for (unsigned cpu = 0; cpu < r->cpus; cpu++) {
            struct klog_record e;
            uint64_t           time = 0;
            for (int i = 0; i < 1000 && klog_peek(r->k, cpu, &e); i++) {
                take(r, cpu, &e);
                time = e.time;
                klog_pop(r->k, cpu);
                any = true;
            }
            if (time)
                klog_release(r->k, cpu, time);
        }
    }
}

static void *drain_main(void *arg)
{
    struct run *r = arg;
    while (!__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE))
        klog_drain(r->k, 10);
    return NULL;
}

/* Short sleeps, children and a write: switches on all CPUs, forks, block requests. */
static void work(unsigned ms)
{
    struct timespec a, b;
    char            path[] = AL_BINARY_DIR "/kphaseXXXXXX", block[4096] = "k";
    int             fd = mkstemp(path);
    assert_true(fd >= 0);
    clock_gettime(CLOCK_MONOTONIC, &a);
    do {
        pid_t pid = fork();
        if (pid == 0) {
            usleep(200);
            _exit(0);
        }
        assert_true(write(fd, block, sizeof block) > 0 && fdatasync(fd) == 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        for (int i = 0; i < 10; i++)
            usleep(50);
        clock_gettime(CLOCK_MONOTONIC, &b);
    } while ((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000 < (long)ms);
    close(fd);
    unlink(path);
}

static void *busy_main(void *arg)
{
    while (!__atomic_load_n((int *)arg, __ATOMIC_ACQUIRE))
        usleep(30);
    return NULL;
}

static void witness_read(struct run *r, const struct trace_instance *t)
{
    uint8_t          *bytes = malloc(WITNESS_BYTES);
    char              text[4096];
    struct raw_source s = {0};
    const char       *missing;
    char              field[32];
    assert_non_null(bytes);
    assert_true(tracefs_read(t->dir, "events/header_page", text, sizeof text) > 0);
    size_t page_size = trace_page_size(text);
    int    id        = tracefs_tracepoint(t->dir, &source_table[SRC_SWITCH], &s, &missing, field);
    for (unsigned cpu = 0; cpu < r->cpus; cpu++) {
        size_t n = instance_pages(t, cpu, page_size, bytes, WITNESS_BYTES);
        for (size_t at = 0; at < n; at += page_size) {
            struct trace_page  page;
            struct trace_entry e;
            assert_true(trace_page_begin(&page, bytes + at, page_size));
            while (trace_page_next(&page, &e)) {
                uint16_t here;
                uint32_t old, new;
                memcpy(&here, e.data, 2);
                if (here != id)
                    continue;
                memcpy(&old, e.data + s.field[F_SWITCH_PREV_PID].offset, 4);
                memcpy(&new, e.data + s.field[F_SWITCH_NEXT_PID].offset, 4);
                add(&r->witness[cpu], e.time, old, new);
            }
            assert_false(page.damaged);
        }
    }
    free(bytes);
}

static bool same(const struct switched *a, const struct switched *b) { return a->old == b->old && a->new == b->new; }

/* The place in the witness's list where ours begins: of the places where the next switches agree, too, the nearest in
 * time. */
static size_t anchor(const struct list *o, const struct list *w, int64_t offset)
{
    enum { AGREE = 40 };
    uint64_t best = UINT64_MAX;
    size_t   at   = w->count;
    for (size_t i = 0; i + AGREE < w->count; i++) {
        size_t  n = 0;
        int64_t d = (int64_t)(w->at[i].time + (uint64_t)offset - o->at[0].time);
        while (n < AGREE && n < o->count && same(&w->at[i + n], &o->at[n]))
            n++;
        if ((n == AGREE || n == o->count) && (uint64_t)llabs(d) < best) {
            best = (uint64_t)llabs(d);
            at   = i;
        }
    }
    return at;
}

static size_t silent_in_all;
/* A thread that perf never switches away from has events that the kernel delivers to nobody, and does not count: some
 * guests' kernels do so with threads of their host. */
static bool hidden(const struct run *r, uint32_t tid)
{
    for (unsigned cpu = 0; cpu < r->cpus; cpu++)
        for (size_t i = 0; i < r->ours[cpu].count; i++)
            if (r->ours[cpu].at[i].old == tid)
                return false;
    return true;
}

/* Every switch of ours is in the witness's list, in order, none twice. Returns how many of the witness's are missing in
 * between. */
static uint64_t compare(const struct run *r, unsigned cpu)
{
    const struct list *o = &r->ours[cpu], *w = &r->witness[cpu];
    size_t             at = o->count ? anchor(o, w, r->offset[cpu]) : 0, from = at, silent = 0;
    for (size_t i = 0; i < o->count; i++) {
        size_t before = at;
        for (; at < w->count && !same(&w->at[at], &o->at[i]); at++)
            silent += hidden(r, w->at[at].old);
        if (at == w->count)
            fail_msg("CPU %u, switch %zu of %zu (%u to %u) is not among the witness's: twice, or out of order", cpu, i,
                     o->count, o->at[i].old, o->at[i].new);
        if (at != before)
            print_message("  CPU %u: %zu missing, %lld us from the seam\n", cpu, at - before,
                          (long long)(o->at[i].time - r->phase_end) / 1000);
        at++;
    }
    silent_in_all += silent;
    if (silent)
        print_message("  CPU %u: %zu of threads that the kernel hides\n", cpu, silent);
    return o->count ? at - from - o->count - silent : 0;
}

static uint64_t withheld;
static void     show_source(void *ctx, const char *name, uint64_t attempted, uint64_t drained, uint64_t lost)
{
    uint64_t *phase = ctx;
    print_message("  %-44s attempted %7llu drained %7llu lost %llu\n", name, (unsigned long long)attempted,
                  (unsigned long long)drained, (unsigned long long)lost);
    if (strcmp(name, "sched:sched_switch") == 0)
        withheld = attempted - drained - lost;
    if (strncmp(name, "kernel phase sched", 18) == 0)
        *phase += drained;
}

static void seam(void **state)
{
    static struct run     r;
    struct trace_instance phase, witness;
    struct klog_counters  n;
    struct reason         why   = {0};
    int                   quiet = 0;
    pthread_t             busy[2];
    (void)state;
    r.cpus = (unsigned)sysconf(_SC_NPROCESSORS_CONF);
    if (r.cpus > CPUS || !instance_make(&phase, "phase"))
        skip();
    assert_true(instance_make(&witness, "witness"));
    const struct trace_instance *both[] = {&witness, &phase};
    for (int i = 0; i < 2; i++)
        assert_true(instance_write(both[i], "trace_clock", "perf") &&
                    instance_write(both[i], "buffer_size_kb", "16384"));
    assert_true(instance_events(&witness, "sched:sched_switch"));
    instance_write(&phase, "options/stacktrace", "1");
    assert_true(instance_events(
        &phase, "sched:sched_switch sched:sched_process_fork sched:sched_process_exec sched:sched_process_exit "
                "task:task_newtask block:block_rq_insert block:block_rq_issue block:block_rq_complete"));
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&busy[i], NULL, busy_main, &quiet), 0);
    work(200);
    struct klog_config config = {.mask           = {0x713, 0x4},
                                 .hooks          = {0x0524},
                                 .hook_count     = 1,
                                 .raw_bytes      = 64 << 20,
                                 .clock          = {1, CLOCK_READ_RAW, 1000000000},
                                 .kernel_phase   = true,
                                 .phase_instance = phase.name,
                                 .condition      = on_condition,
                                 .condition_ctx  = &r};
    wstatus            st     = klog_create(&config, &r.k, &why);
    if (st == 0) {
        assert_int_equal(pthread_create(&r.drainer, NULL, drain_main, &r), 0);
        assert_int_equal(klog_start(r.k, &why), 0);
        work(200);
        klog_stop(r.k);
    }
    instance_write(&witness, "tracing_on", "0");
    __atomic_store_n(&quiet, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 2; i++)
        pthread_join(busy[i], NULL);
    instance_remove(&phase);
    if (st == 0)
        witness_read(&r, &witness);
    instance_remove(&witness);
    if (st) {
        print_message("skipped: %s\n", why.text);
        skip();
    }
    __atomic_store_n(&r.stop, 1, __ATOMIC_RELEASE);
    klog_wake(r.k);
    pthread_join(r.drainer, NULL);
    collect(&r);
    uint64_t phase_records = 0, missing = 0;
    klog_counters(r.k, &n);
    klog_sources(r.k, show_source, &phase_records);
    print_message("  attempted %llu converted %llu withheld %llu lost %llu/%llu/%llu clock error %llu ns\n",
                  (unsigned long long)n.attempted, (unsigned long long)n.converted, (unsigned long long)n.withheld,
                  (unsigned long long)n.lost_ring, (unsigned long long)n.lost_memory,
                  (unsigned long long)n.lost_conversion, (unsigned long long)n.clock_error_ns);
    assert_int_equal(n.attempted, n.converted + n.withheld + n.lost_ring + n.lost_memory + n.lost_conversion);
    assert_int_equal(n.lost_ring + n.lost_memory + n.lost_conversion, 0);
    assert_true(r.joined && r.phases == r.cpus && phase_records > 1000 && r.stacks > 100 && r.forks > 10);
    assert_true(n.clock_error_ns > 0 && n.clock_error_ns < 1000000);
    for (unsigned cpu = 0; cpu < r.cpus; cpu++) {
        uint64_t here = compare(&r, cpu);
        print_message("  CPU %u: %zu switches, the witness has %zu; missing in between %llu\n", cpu, r.ours[cpu].count,
                      r.witness[cpu].count, (unsigned long long)here);
        missing += here;
    }
    for (unsigned cpu = 0; cpu < r.cpus; cpu++) {
        free(r.ours[cpu].at);
        free(r.witness[cpu].at);
    }
    assert_true(missing <= withheld && withheld <= missing + silent_in_all);
    klog_destroy(r.k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(seam)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
