/* Tracepoints that are providers, from the kernel phase on: a trace instance stands for the buffer that the kernel
 * command line arms (trace_instance=), with its own clock. A thread gives itself numbered names all the time
 * (task:task_rename); the session must have each number once and in order, from before the session was made until after
 * its stop, with the fields of the format file. The same when the program that made the session dies before, while or
 * after it reads the buffer: its successor has the remaining events, and counts the lost ones.
 * Proves: issue 4, tracepoints wanted from the kernel phase too; issue 14, a death within the kernel phase is not
 * silent. Needs tracefs and CAP_PERFMON; else skipped. */
// timeout: 60
#include "autologger/kernel/klog.h"
#include "autologger/kernel/tests/trace_instance.h"
#include "autologger/wire/etl.h"

#include <linux/perf_event.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <cmocka.h>

enum { NO_SYSCONFIG = 0x10000000, EARLY = 2000, LATE = 2000, MOST = 1 << 20, KEPT = 256 };
enum death { LIVES, DIES_BEFORE, DIES_READING, DIES_BEHIND };
static struct {
    enum death   death;
    bool         dies; /* the program dies as soon as the buffer is imported */
    jmp_buf      death_place;
    unsigned     read; /* entries of the buffer that were read and lost with the program */
    struct klog *k;
    int          renaming, draining;
    unsigned     renamed; /* how many numbers were given */
    bool         joined;
    uint8_t      seen[MOST];
    unsigned     others, phase_ends, last;
    uint64_t     last_time, phase_end;
} r;
static struct {
    struct kept_fd {
        char   name[64];
        int    fd;
        void  *ring;
        size_t bytes;
    } item[KEPT];
    unsigned count;
} kept;

static void on_condition(void *ctx, wstatus number, bool note, const char *item, const char *reason, const char *advice)
{
    (void)ctx, (void)advice;
    print_message("condition%s %u: %s: %s\n", note ? " (note)" : "", number, item, reason);
    r.joined |= note && strcmp(item, "kernel phase") == 0 && strstr(reason, "clocks joined within");
    if (r.dies && r.joined)
        longjmp(r.death_place, 1);
    assert_true(note || (r.death == DIES_READING && strstr(reason, "entries of the kernel's trace buffer are gone")));
}

/* ---- descriptors and memory that outlive the program ---- */

static void keep(void *ctx, const char *name, int fd, size_t ring_bytes)
{
    struct kept_fd *k = &kept.item[kept.count++];
    (void)ctx;
    assert_true(kept.count <= KEPT);
    snprintf(k->name, sizeof k->name, "%s", name);
    k->fd    = dup(fd);
    k->bytes = ring_bytes;
    k->ring  = ring_bytes ? mmap(NULL, ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, k->fd, 0) : NULL;
}

static int kept_take(void *ctx, const char *name)
{
    (void)ctx;
    for (unsigned i = 0; i < kept.count; i++)
        if (strcmp(kept.item[i].name, name) == 0)
            return dup(kept.item[i].fd);
    return -1;
}

static void kept_drop(void)
{
    for (unsigned i = 0; i < kept.count; i++) {
        close(kept.item[i].fd);
        if (kept.item[i].ring)
            munmap(kept.item[i].ring, kept.item[i].bytes);
    }
    kept.count = 0;
}

/* Arms perf's events, stops the buffer, and reads the first page of each CPU out of it. */
static void read_some(const struct trace_instance *phase)
{
    char page[65536], path[64], text[1024];
    for (unsigned i = 0; i < kept.count; i++)
        ioctl(kept.item[i].fd, PERF_EVENT_IOC_ENABLE, 0); /* fails for other descriptors */
    usleep(5000);
    assert_true(instance_write(phase, "tracing_on", "0"));
    for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++) {
        struct trace_stats stats;
        snprintf(path, sizeof path, "per_cpu/cpu%ld/trace_pipe_raw", cpu);
        int fd = openat(phase->dir, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        assert_true(fd >= 0);
        (void)!read(fd, page, (size_t)sysconf(_SC_PAGESIZE));
        close(fd);
        snprintf(path, sizeof path, "per_cpu/cpu%ld/stats", cpu);
        assert_true(tracefs_read(phase->dir, path, text, sizeof text) > 0 && trace_stats_parse(text, &stats));
        r.read += (unsigned)stats.read;
    }
    print_message("  %u entries were read by the one that died\n", r.read);
    assert_true(r.read > 0);
}

/* The program dies at the chosen moment, and its successor adopts the session. */
static wstatus die(const struct trace_instance *phase, const struct klog_config *config, struct reason *why)
{
    klog_fds(r.k, keep, NULL);
    if (r.death == DIES_READING)
        read_some(phase);
    if (r.death == DIES_BEHIND) {
        r.dies = true;
        if (setjmp(r.death_place) == 0)
            klog_start(r.k, why);
        assert_true(r.joined);
        r.dies = r.joined = false;
    } else {
        klog_destroy(r.k);
    }
    wstatus st = klog_adopt(config, kept_take, NULL, &r.k, why);
    kept_drop();
    return st;
}

static bool is_given_back(const struct trace_instance *phase)
{
    char text[16];
    return tracefs_read(phase->dir, "events/enable", text, sizeof text) > 0 && *text == '0';
}

static void *rename_main(void *arg)
{
    (void)arg;
    while (__atomic_load_n(&r.renaming, __ATOMIC_ACQUIRE) && r.renamed < MOST) {
        char name[16];
        snprintf(name, sizeof name, "al%u", r.renamed);
        prctl(PR_SET_NAME, name);
        __atomic_add_fetch(&r.renamed, 1, __ATOMIC_RELEASE);
        for (volatile int i = 0; i < 2000; i++) {
        }
    }
    return NULL;
}

static void *drain_main(void *arg)
{
    (void)arg;
    while (__atomic_load_n(&r.draining, __ATOMIC_ACQUIRE))
        klog_drain(r.k, 10);
    return NULL;
}

static void renamed_wait(unsigned more)
{
    for (unsigned to = __atomic_load_n(&r.renamed, __ATOMIC_ACQUIRE) + more;
         __atomic_load_n(&r.renamed, __ATOMIC_ACQUIRE) < to;)
        usleep(1000);
}

/* task_rename's fields: pid (not in newer kernels), oldcomm, newcomm, oom_score_adj. The new name is the last one with
 * our prefix. */
static void take(const struct klog_record *e)
{
    static const char schema[] = "newcomm";
    unsigned          number[2], n = 0;
    if (e->data[2] != ETL_EVENT64)
        return;
    if (memmem(e->data, e->size, "KernelPhaseEnd", sizeof "KernelPhaseEnd")) {
        r.phase_ends++;
        r.phase_end = e->time;
        return;
    }
    if (!memmem(e->data, e->size, "task_rename", sizeof "task_rename") ||
        !memmem(e->data, e->size, schema, sizeof schema))
        return;
    assert_non_null(memmem(e->data, e->size, "Test-Tracepoints", sizeof "Test-Tracepoints"));
    for (size_t at = sizeof(struct etl_event_header); at + 4 < e->size && n < 2; at++)
        if (memcmp(e->data + at, "al", 2) == 0 && sscanf((const char *)e->data + at, "al%u", &number[n]) == 1)
            n++;
    if (n < 1 || number[n - 1] >= MOST) {
        r.others++;
        return;
    }
    assert_int_equal(r.seen[number[n - 1]]++, 0); /* none twice */
}

static void collect(void)
{
    unsigned cpus = (unsigned)sysconf(_SC_NPROCESSORS_CONF);
    for (bool any = true; any;) {
        any = false;
        for (unsigned cpu = 0; cpu < cpus; cpu++)
            for (struct klog_record e; klog_peek(r.k, cpu, &e); any = true) {
                take(&e);
                klog_pop(r.k, cpu);
            }
    }
}

static uint64_t of_phase;
static void     show_source(void *ctx, const char *name, uint64_t attempted, uint64_t drained, uint64_t lost)
{
    (void)ctx;
    print_message("  %-44s attempted %7llu drained %7llu lost %llu\n", name, (unsigned long long)attempted,
                  (unsigned long long)drained, (unsigned long long)lost);
    if (strcmp(name, "kernel phase task:task_rename") == 0)
        of_phase += drained;
}

static void each_number_once(enum death death)
{
    struct trace_instance  phase;
    struct tracepoint_wish wish = {
        .guid = {0x11223344, 1, 2, {3}}, .name = "Test-Tracepoints", .pattern = "task:task_rename nothing:of_the_kind"};
    struct reason        why = {0};
    struct klog_counters n;
    pthread_t            renamer, drainer;
    bool                 given_back = false;
    memset(&r, 0, sizeof r);
    of_phase = 0;
    r.death  = death;
    if (!instance_make(&phase, "wishes"))
        skip();
    assert_true(instance_write(&phase, "buffer_size_kb", "16384") &&
                instance_events(&phase, "task:task_rename sched:sched_process_exit"));
    r.renaming = r.draining = 1;
    assert_int_equal(pthread_create(&renamer, NULL, rename_main, NULL), 0);
    renamed_wait(EARLY);
    struct klog_config config = {.mask             = {NO_SYSCONFIG},
                                 .raw_bytes        = 64 << 20,
                                 .clock            = {1, CLOCK_READ_RAW, 1000000000},
                                 .kernel_phase     = true,
                                 .phase_instance   = phase.name,
                                 .tracepoints      = &wish,
                                 .tracepoint_count = 1,
                                 .condition        = on_condition};
    wstatus            st     = klog_create(&config, &r.k, &why);
    if (st == 0 && death)
        assert_int_equal(die(&phase, &config, &why), 0);
    unsigned began = 0, ended = 0;
    if (st == 0) {
        if (!death) /* a successor starts the thread below */
            assert_int_equal(pthread_create(&drainer, NULL, drain_main, NULL), 0);
        assert_int_equal(klog_start(r.k, &why), 0);
        if (death)
            assert_int_equal(pthread_create(&drainer, NULL, drain_main, NULL), 0);
        began      = __atomic_load_n(&r.renamed, __ATOMIC_ACQUIRE);
        given_back = is_given_back(&phase);
        renamed_wait(LATE);
        ended = __atomic_load_n(&r.renamed, __ATOMIC_ACQUIRE);
        klog_stop(r.k);
        __atomic_store_n(&r.draining, 0, __ATOMIC_RELEASE);
        klog_wake(r.k);
        pthread_join(drainer, NULL);
    }
    __atomic_store_n(&r.renaming, 0, __ATOMIC_RELEASE);
    pthread_join(renamer, NULL);
    instance_remove(&phase);
    if (st) {
        print_message("skipped: %s\n", why.text);
        skip();
    }
    collect();
    klog_counters(r.k, &n);
    klog_sources(r.k, show_source, NULL);
    unsigned missing = 0;
    for (unsigned i = 0; i < ended; i++)
        missing += !r.seen[i];
    print_message("  %u numbers before the session had started, %u in all; %u missing; %u of others; withheld %llu\n",
                  began, ended, missing, r.others, (unsigned long long)n.withheld);
    print_message("  lost: ring %llu, memory %llu, conversion %llu\n", (unsigned long long)n.lost_ring,
                  (unsigned long long)n.lost_memory, (unsigned long long)n.lost_conversion);
    assert_int_equal(n.lost_ring + n.lost_memory + n.lost_conversion, r.read);
    assert_int_equal(n.attempted, n.converted + n.withheld + r.read);
    assert_true(r.phase_ends > 0 && wish.opened == 1 && given_back);
    assert_true(r.joined || death == DIES_BEHIND); /* otherwise the predecessor has reported it */
    assert_true(of_phase + r.read >= EARLY);
    assert_true(missing <= n.withheld + r.read && n.withheld < LATE / 2);
    klog_destroy(r.k);
}

static void by_one_program(void **state) { (void)state, each_number_once(LIVES); }
static void one_dies_before(void **state) { (void)state, each_number_once(DIES_BEFORE); }
static void one_dies_reading(void **state) { (void)state, each_number_once(DIES_READING); }
static void one_dies_behind(void **state) { (void)state, each_number_once(DIES_BEHIND); }

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_one_program), cmocka_unit_test(one_dies_before),
                                       cmocka_unit_test(one_dies_reading), cmocka_unit_test(one_dies_behind)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
