/* The converter on raw records that no kernel made. Proves: KRN-03, KRN-04, KRN-05, KRN-06, KRN-07, KRN-08, KRN-09,
 * KRN-16, KRN-24, and issue 2: incoming stacks, exact times, adoption without doubles. */
#include "autologger/kernel/tests/convert_fixture.h"

static int setup(void **state)
{
    (void)state;
    fixture_begin(&(struct klog_config){.mask       = {0x707, 0x286},
                                        .hooks      = {0x0F2E, 0x0524, 0x0532, 0x010D},
                                        .hook_count = 4,
                                        .clock      = {1, CLOCK_READ_RAW, 1000000000}});
    return 0;
}

static void fork_exec_exit(void **state)
{
    (void)state;
    struct raw_process shell       = {.own = {RAW_PROCESS, 0, 0, 1000, 500, 500}, .ppid = 1, .session = 7, .uid = 1000};
    struct raw_thread  main_thread = {
         .own = {RAW_THREAD, 0, 0, 1001, 500, 500}, .prio = 120, .affinity = 3, .name = "sh"};
    maker_own(&maker, &shell, sizeof shell, "sh", "sh -i");
    maker_own(&maker, &main_thread, sizeof main_thread, NULL, NULL);
    maker_chunk(&maker, 0, RAW_CHUNK_OWN);
    maker_task(&maker, 0, PERF_RECORD_FORK, 2000, 600, 500, 600, 500);
    maker_task(&maker, 0, PERF_RECORD_FORK, 2500, 600, 600, 601, 600); /* a second thread */
    maker_task(&maker, 0, PERF_RECORD_EXIT, 2600, 600, 600, 601, 600);
    maker_comm(&maker, 0, 3000, 600, 600, "prog", true);
    maker_mmap(&maker, 0, 3100, 600, 0x555500001000, 0x2000, "/usr/bin/prog");
    maker_mmap(&maker, 0, 3101, 600, 0x555500001000, 0x2000, "/usr/bin/prog"); /* again: once per file and base */
    maker_comm(&maker, 0, 3200, 600, 600, "renamed", false);
    maker_task(&maker, 0, PERF_RECORD_EXIT, 4000, 600, 500, 600, 500);
    maker_chunk(&maker, 1, RAW_CHUNK_PERF);
    /* chunk of CPU 1, ids of CPU 0: the chunk tells the ring; side-band records need no id */
    struct raw_process exec = {.own = {RAW_NOTE_EXEC, 0, 0, 3000, 600, 600}, .uid = 33, .session = 9, .ppid = 500};
    struct raw_process code = {.own = {RAW_NOTE_EXIT, 0, 0, 4000, 600, 600}, .exit_code = 3 << 8};
    struct raw_image   elf  = {.own      = {RAW_NOTE_IMAGE, 0, 0, 3100, 600, 600},
                               .base     = 0x555500000000,
                               .size     = 0x8000,
                               .stamp    = 42,
                               .checksum = 43};
    maker_own(&maker, &exec, sizeof exec, "program", "program --all");
    maker_own(&maker, &code, sizeof code, "", "");
    maker_own(&maker, &elf, sizeof elf, NULL, NULL);
    elf.own.time = 3101;
    maker_own(&maker, &elf, sizeof elf, NULL, NULL);
    maker_chunk(&maker, 0, RAW_CHUNK_OWN);
    maker_pass(&maker, 9000, UINT64_MAX);
    run();

    assert_int_equal(count(0x0303), 1);
    assert_int_equal(count(0x0301), 2);
    assert_int_equal(count(0x0302), 2);
    const struct one *dc = nth(0x0303, 0), *start = nth(0x0301, 0), *end = nth(0x0302, 0), *again = nth(0x0301, 1),
                     *last = nth(0x0302, 1);
    assert_true(dc->type == ETL_PERFINFO64 && dc->version == 4 && u32(dc, 8) == 500 && u32(dc, 20) == 0x103);
    assert_true(start->type == ETL_SYSTEM64 && start->pid == 500 && start->tid == 500 && u32(start, 8) == 600 &&
                u32(start, 12) == 500);
    assert_int_equal(u32(start, 16), 7); /* session and uid of the parent */
    assert_int_equal(u32(start, 36 + 16 + 12), 1000);
    assert_string_equal((const char *)start->payload + 36 + 16 + 16, "sh");
    assert_true(u64(start, 0) == u64(end, 0) && u64(start, 0) != u64(again, 0) && u64(again, 0) == u64(last, 0));
    assert_int_equal(u32(again, 36 + 16 + 12), 33);
    assert_string_equal((const char *)again->payload + 36 + 16 + 16, "program");
    assert_memory_equal(again->payload + 36 + 16 + 16 + 8, "p\0r\0o\0g\0r\0a\0m\0 \0-\0-\0a\0l\0l\0\0", 28);
    assert_int_equal(u32(last, 20), 3);
    /* threads: main and second, the main one anew at exec */
    assert_int_equal(count(0x0501), 3);
    assert_int_equal(count(0x0502), 3);
    assert_true(nth(0x0501, 1)->version == 3 && u32(nth(0x0501, 1), 4) == 601);
    assert_int_equal(count(0x0548), 1);
    /* the image: whole file, from the note; unloaded at the end */
    assert_int_equal(count(0x030A), 1);
    const struct one *load = nth(0x030A, 0);
    assert_true(load->version == 3 && u64(load, 0) == 0x555500000000 && u64(load, 8) == 0x8000 &&
                u32(load, 16) == 600 && u32(load, 20) == 43 && u32(load, 24) == 42);
    assert_memory_equal(load->payload + 56,
                        "\\\0D\0e\0v\0i\0c\0e\0\\\0H\0a\0r\0d\0d\0i\0s\0k\0V\0o\0l\0u\0m\0e\0001\0\\\0u\0s\0r\0\\", 55);
    assert_int_equal(count(0x1402), 1);
    /* its whole build id, once, before it */
    static const uint8_t build_id[] = {20, 0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0,
                                       0,  0, 0,    0,    0,    0,    0,    0,    0,    0,    0};
    unsigned             told       = 0;
    for (size_t i = 0; i < out.count; i++)
        if (out.event[i].type == ETL_EVENT64 &&
            memmem(out.event[i].payload, out.event[i].size, build_id, sizeof build_id)) {
            assert_true(out.event[i].time < load->time &&
                        memmem(out.event[i].payload, out.event[i].size, "BuildId", 8) != NULL);
            told++;
        }
    assert_int_equal(told, 1);
}

/* A process without a recorded fork is known from its exec on, with the parent that /proc showed then. */
static void an_exec_without_a_fork(void **state)
{
    (void)state;
    maker_comm(&maker, 0, 3000, 600, 600, "prog", true);
    maker_comm(&maker, 0, 3500, 700, 700, "gone", true);
    maker_task(&maker, 0, PERF_RECORD_FORK, 3600, 800, 600, 800, 600);
    maker_comm(&maker, 0, 3700, 800, 800, "child", true);
    maker_chunk(&maker, 1, RAW_CHUNK_PERF);
    struct raw_process exec = {.own = {RAW_NOTE_EXEC, 0, 0, 3000, 600, 600}, .uid = 33, .session = 9, .ppid = 500};
    struct raw_process gone = {.own = {RAW_NOTE_EXEC, 0, 0, 3500, 700, 700}, .flags = RAW_PROCESS_NO_COMMAND};
    /* its parent has ended meanwhile */
    struct raw_process child = {.own = {RAW_NOTE_EXEC, 0, 0, 3700, 800, 800}, .uid = 33, .session = 9, .ppid = 1};
    maker_own(&maker, &exec, sizeof exec, "program", "program --all");
    maker_own(&maker, &gone, sizeof gone, "", "");
    maker_own(&maker, &child, sizeof child, "child", "child");
    maker_chunk(&maker, 0, RAW_CHUNK_OWN);
    maker_pass(&maker, 9000, UINT64_MAX);
    run();
    assert_int_equal(count(0x0301), 4);
    const uint32_t wanted[][2] = {{600, 500}, {700, 0}, {800, 600}, {800, 600}};
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(u32(nth(0x0301, i), 8), wanted[i][0]);
        assert_int_equal(u32(nth(0x0301, i), 12), wanted[i][1]);
    }
}

static const char *process_name(const struct one *e)
{
    return (const char *)e->payload + 36 + 16 + (u32(e, 36 + 16 + 8) == 18 ? 12 : 16);
}

/* D-31: a fork before the walk of /proc reaches its parent: name, command line, user and session are those that the
 * walk finds. */
static void forks_before_their_parent_is_told(void **state)
{
    (void)state;
    maker_task(&maker, 0, PERF_RECORD_FORK, 2000, 600, 500, 600, 500);
    maker_task(&maker, 0, PERF_RECORD_FORK, 2100, 700, 600, 700, 600); /* its parent 600 gets the values first */
    maker_task(&maker, 0, PERF_RECORD_FORK, 2200, 800, 44, 800, 44);   /* its parent ends before the walk */
    maker_task(&maker, 0, PERF_RECORD_EXIT, 2300, 600, 500, 600, 500);
    maker_chunk(&maker, 1, RAW_CHUNK_PERF);
    struct raw_process shell       = {.own = {RAW_PROCESS, 0, 0, 3000, 500, 500}, .ppid = 1, .session = 7, .uid = 1000};
    struct raw_thread  main_thread = {
         .own = {RAW_THREAD, 0, 0, 3001, 500, 500}, .prio = 120, .affinity = 3, .name = "sh"};
    struct raw_process orphan     = {.own = {RAW_PROCESS, 0, 0, 3100, 800, 800}, .ppid = 1, .session = 8, .uid = 1000};
    struct raw_thread  its_thread = {
         .own = {RAW_THREAD, 0, 0, 3101, 800, 800}, .prio = 120, .affinity = 3, .name = "orphan"};
    maker_own(&maker, &shell, sizeof shell, "sh", "sh -i");
    maker_own(&maker, &main_thread, sizeof main_thread, NULL, NULL);
    maker_own(&maker, &orphan, sizeof orphan, "orphan", "orphan -x");
    maker_own(&maker, &its_thread, sizeof its_thread, NULL, NULL);
    maker_chunk(&maker, 0, RAW_CHUNK_OWN);
    maker_task(&maker, 0, PERF_RECORD_EXIT, 4000, 800, 44, 800, 44);
    maker_task(&maker, 0, PERF_RECORD_FORK, 5000, 900, 500, 900, 500);
    maker_chunk(&maker, 1, RAW_CHUNK_PERF);
    maker_pass(&maker, 9000, UINT64_MAX);
    run();

    assert_int_equal(count(0x0301), 4);
    for (unsigned i = 0; i < 4; i++) {
        const struct one *start = nth(0x0301, i);
        assert_string_equal(process_name(start), i == 2 ? "" : "sh");
        assert_int_equal(u32(start, 16), i == 2 ? 0 : 7);
    }
    assert_memory_equal(process_name(nth(0x0301, 0)) + 3, "s\0h\0 \0-\0i\0\0", 12);
    assert_int_equal(u32(nth(0x0301, 0), 12), 500);
    /* threads, too */
    assert_memory_equal(nth(0x0501, 0)->payload + 72, "s\0h\0\0", 6);
    assert_memory_equal(nth(0x0501, 1)->payload + 72, "s\0h\0\0", 6);
    /* the parent is told as always; 800 too: its start had no name, and it has one from here on */
    assert_int_equal(count(0x0303), 2);
    assert_true(u32(nth(0x0303, 0), 8) == 500 && u32(nth(0x0303, 1), 8) == 800);
    assert_string_equal(process_name(nth(0x0303, 1)), "orphan");
    assert_string_equal(process_name(nth(0x0302, 0)), "sh");
    assert_string_equal(process_name(nth(0x0302, 1)), "orphan");
    assert_int_equal(count(0x0548), 1); /* its thread's name */
}

/* A damaged record claims an exec of the system's process: the process stays as it is. */
static void exec_of_the_system(void **state)
{
    (void)state;
    maker_comm(&maker, 0, 1000, 4, 77, "nonsense", true);
    maker_comm(&maker, 0, 1100, 4, 4, "nonsense", true);
    maker_task(&maker, 0, PERF_RECORD_FORK, 2000, 2, 0, 2, 0);
    maker_task(&maker, 0, PERF_RECORD_FORK, 2500, 90, 2, 90, 2);
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_pass(&maker, 9000, UINT64_MAX);
    run();
    assert_int_equal(count(0x0301), 0);
    assert_int_equal(count(0x0302), 0);
    assert_int_equal(count(0x0501), 2);
    assert_int_equal(nth(0x0501, 1)->pid, 4);
    assert_int_equal(u32(nth(0x0501, 1), 0), 4);
}

/* A damaged record has a time that means "none" elsewhere: it is converted, and counted, nevertheless. */
static void times_that_no_clock_shows(void **state)
{
    (void)state;
    maker_task(&maker, 0, PERF_RECORD_FORK, UINT64_MAX, 600, 500, 600, 500);
    maker_task(&maker, 0, PERF_RECORD_FORK, UINT64_MAX - 1, 700, 500, 700, 500);
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_task(&maker, 0, PERF_RECORD_FORK, 2000, 800, 500, 800, 500);
    maker_chunk(&maker, 1, RAW_CHUNK_PERF);
    maker_pass(&maker, 9000, UINT64_MAX);
    run();
    assert_int_equal(count(0x0301), 3);
    assert_int_equal(u32(nth(0x0301, 0), 8), 800);
}

static void kernel_threads_are_system(void **state)
{
    (void)state;
    struct raw_thread kthreadd = {
        .own = {RAW_THREAD, 0, 0, 1000, 2, 2}, .prio = 120, .flags = RAW_PROCESS_KERNEL, .name = "kthreadd"};
    maker_own(&maker, &kthreadd, sizeof kthreadd, NULL, NULL);
    maker_chunk(&maker, 0, RAW_CHUNK_OWN);
    maker_task(&maker, 0, PERF_RECORD_FORK, 2000, 70, 2, 70, 2);
    maker_task(&maker, 0, PERF_RECORD_EXIT, 3000, 70, 2, 70, 2);
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_pass(&maker, 9000, UINT64_MAX);
    run();
    assert_int_equal(count(0x0301) + count(0x0302), 0);
    assert_true(u32(nth(0x0503, 0), 0) == 4 && u32(nth(0x0501, 0), 0) == 4 && u32(nth(0x0501, 0), 4) == 70);
    assert_int_equal(count(0x0502), 1);
}

static void two_processes(uint64_t time)
{
    for (uint32_t pid = 500; pid <= 600; pid += 100) {
        struct raw_process p = {.own = {RAW_PROCESS, 0, 0, time, pid, pid}};
        struct raw_thread  t = {.own = {RAW_THREAD, 0, 0, time, pid, pid}, .prio = 120};
        maker_own(&maker, &p, sizeof p, "p", "");
        maker_own(&maker, &t, sizeof t, NULL, NULL);
    }
    maker_chunk(&maker, 0, RAW_CHUNK_OWN);
}

static void switch_stack_of_the_incoming(void **state)
{
    (void)state;
    two_processes(1000);
    maker_switch(&maker, 0, 2000, 500, 600, 1, 0x5000, 4); /* A leaves from 0x5000 */
    maker_switch(&maker, 0, 3000, 600, 0, 2, 0x6000, 5);   /* B leaves from 0x6000 */
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_switch(&maker, 1, 4000, 0, 500, 0, 0, 0);            /* A comes back on another CPU */
    maker_switch(&maker, 1, 4000, 500, 600, 0x100, 0x5500, 2); /* same time: moved on by a tick */
    maker_chunk(&maker, 1, RAW_CHUNK_PERF);
    maker_pass(&maker, 9000, UINT64_MAX);
    run();
    assert_int_equal(count(0x0524), 4);
    assert_int_equal(count(0x1820), 2);
    const struct one *back = nth(0x0524, 2), *stack = nth(0x1820, 0);
    assert_true(back->version == 4 && back->size == 24 && u32(back, 0) == 500 && u32(back, 4) == 0 && back->cpu == 1);
    assert_int_equal(back->payload[14], 2); /* the idle thread is running */
    assert_true(stack->cpu == 1 && u64(stack, 0) == back->time && stack->time == back->time + 1);
    assert_true(u32(stack, 8) == 500 && u32(stack, 12) == 500 && stack->size == 16 + 4 * 8);
    assert_true(u64(stack, 16) == 0x5000 && u64(stack, 40) == 0x5030);
    const struct one *a_out = nth(0x0524, 3);
    assert_true(a_out->time == 4002 && u64(nth(0x1820, 1), 0) == a_out->time && u64(nth(0x1820, 1), 16) == 0x6000);
    assert_true(a_out->payload[12] == 32 && a_out->payload[14] == 1); /* preempted: ready */
    const struct one *first = nth(0x0524, 0), *second = nth(0x0524, 1);
    assert_true(first->payload[12] == 6 && first->payload[13] == 1 && first->payload[14] == 5 &&
                first->payload[9] == 8);
    assert_true(first->payload[8] == 11 && second->payload[12] == 0 && second->payload[14] == 5);
}

static void disk_pairs(void **state)
{
    (void)state;
    maker_block(&maker, 0, SRC_RQ_INSERT, 1000, 500, 2048, 8, "WS");
    maker_block(&maker, 0, SRC_RQ_ISSUE, 1500, 22, 2048, 16, "WS"); /* grown; no second Init */
    maker_block(&maker, 0, SRC_RQ_ISSUE, 1600, 500, 4096, 8, "RA"); /* never inserted */
    maker_block(&maker, 0, SRC_RQ_ISSUE, 1700, 500, 0, 0, "FF");
    maker_block(&maker, 0, SRC_RQ_ISSUE, 1800, 500, 9000, 8, "DS"); /* discard: no counterpart */
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_block(&maker, 1, SRC_RQ_COMPLETE, 2000, 0, 2048, 8, "WS"); /* in two parts */
    maker_block(&maker, 1, SRC_RQ_COMPLETE, 2500, 0, 2056, 8, "WS");
    maker_block(&maker, 1, SRC_RQ_COMPLETE, 2600, 0, 4096, 8, "RA");
    maker_block(&maker, 1, SRC_RQ_COMPLETE, 2700, 0, 0, 0, "FF");
    maker_block(&maker, 1, SRC_RQ_COMPLETE, 2800, 0, 7777, 8, "R"); /* issued before the trace */
    maker_chunk(&maker, 1, RAW_CHUNK_PERF);
    maker_pass(&maker, 9000, UINT64_MAX);
    run();
    assert_true(count(0x010D) == 1 && count(0x010C) == 1 && count(0x010F) == 1);
    assert_true(count(0x010B) == 1 && count(0x010A) == 1 && count(0x010E) == 1);
    const struct one *init = nth(0x010D, 0), *w = nth(0x010B, 0), *f = nth(0x010E, 0);
    assert_true(init->version == 3 && init->size == 12 && w->version == 3 && w->size == 52 && f->size == 28);
    assert_int_equal(u64(w, 32), u64(init, 0)); /* Irp */
    assert_true(u32(w, 8) == 16 * 512 && u64(w, 16) == 2048 * 512 && u32(w, 48) == 500);
    assert_int_equal(u64(w, 40), w->time - init->time); /* the response time */
    assert_int_equal(u32(w, 4), 0x1 | 0x200 | 0x4 | 3u << 17);
    assert_int_equal(u64(f, 8), f->time - nth(0x010F, 0)->time);
}

/* A full device refuses a request, and a kernel worker issues it again: the request stays one, and the asker's. */
static void disk_requeued(void **state)
{
    (void)state;
    maker_block(&maker, 0, SRC_RQ_ISSUE, 1000, 500, 2048, 16, "WS");
    maker_block(&maker, 0, SRC_RQ_REQUEUE, 1010, 500, 2048, 16, "WS");
    maker_block(&maker, 0, SRC_RQ_ISSUE, 1200, 22, 2048, 16, "WS"); /* full again */
    maker_block(&maker, 0, SRC_RQ_REQUEUE, 1210, 22, 2048, 16, "WS");
    maker_block(&maker, 0, SRC_RQ_INSERT, 1300, 22, 2048, 16, "WS"); /* by way of a scheduler's list */
    maker_block(&maker, 0, SRC_RQ_ISSUE, 1400, 22, 2048, 16, "WS");
    maker_block(&maker, 0, SRC_RQ_REQUEUE, 1410, 22, 9999, 8, "W"); /* it was issued before the trace */
    maker_block(&maker, 0, SRC_RQ_ISSUE, 1500, 500, 4096, 16, "R"); /* a part completes, the rest is refused */
    maker_block(&maker, 0, SRC_RQ_COMPLETE, 1600, 0, 4096, 8, "R");
    maker_block(&maker, 0, SRC_RQ_REQUEUE, 1610, 0, 4104, 8, "R");
    maker_block(&maker, 0, SRC_RQ_ISSUE, 1700, 22, 4104, 8, "R");
    maker_block(&maker, 0, SRC_RQ_ISSUE, 1800, 500, 8192, 8, "WS");  /* its completion is lost */
    maker_block(&maker, 0, SRC_RQ_ISSUE, 1900, 600, 8192, 24, "WS"); /* so this is a new request */
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_block(&maker, 1, SRC_RQ_COMPLETE, 2000, 0, 2048, 16, "WS");
    maker_block(&maker, 1, SRC_RQ_COMPLETE, 2100, 0, 4104, 8, "R");
    maker_block(&maker, 1, SRC_RQ_COMPLETE, 2200, 0, 8192, 24, "WS");
    maker_chunk(&maker, 1, RAW_CHUNK_PERF);
    maker_pass(&maker, 9000, UINT64_MAX);
    run();
    assert_true(count(0x010D) == 3 && count(0x010C) == 1 && count(0x010B) == 2 && count(0x010A) == 1);
    const struct one *init = nth(0x010D, 0), *w = nth(0x010B, 0), *r = nth(0x010A, 0), *other = nth(0x010B, 1);
    assert_true(u32(init, 8) == 500 && u32(w, 48) == 500 && u32(w, 8) == 16 * 512 && u64(w, 32) == u64(init, 0));
    assert_int_equal(u64(w, 40), w->time - init->time); /* from the first issue on */
    assert_true(u32(r, 48) == 500 && u32(r, 8) == 16 * 512 && u64(r, 32) == u64(nth(0x010C, 0), 0));
    assert_true(u32(other, 48) == 600 && u32(other, 8) == 24 * 512 && u64(other, 32) == u64(nth(0x010D, 2), 0));
}

static void samples_ready_and_dpc(void **state)
{
    (void)state;
    two_processes(1000);
    maker_sample(&maker, 0, SRC_CLOCK, 2000, 500, 500, 0x400100, 3, NULL, 0);
    maker_waking(&maker, 0, 2500, 500, 600);
    maker_softirq(&maker, 0, SRC_SOFTIRQ_ENTRY, 3000, 3);
    maker_sample(&maker, 0, SRC_CLOCK, 3100, 600, 600, 0x400200, 3, NULL, 0);
    maker_softirq(&maker, 0, SRC_SOFTIRQ_EXIT, 3500, 3);
    maker_softirq(&maker, 0, SRC_SOFTIRQ_ENTRY, 3600, 1);
    maker_softirq(&maker, 0, SRC_SOFTIRQ_EXIT, 3700, 1);
    maker_softirq(&maker, 0, SRC_SOFTIRQ_EXIT, 3800, 4); /* began before the trace */
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_pass(&maker, 9000, UINT64_MAX);
    run();
    const struct one *a = nth(0x0F2E, 0), *b = nth(0x0F2E, 1), *dpc = nth(0x0F44, 0);
    assert_true(a->version == 2 && a->size == 16 && u64(a, 0) == 0x400100 && u32(a, 8) == 500 && a->payload[12] == 1);
    assert_int_equal(a->payload[14], 8 << 3);
    assert_int_equal(b->payload[14], 8 << 3 | 1); /* inside a DPC */
    assert_true(u32(nth(0x0532, 0), 0) == 600 && nth(0x0532, 0)->payload[6] == 1);
    assert_int_equal(count(0x1820), 3);
    assert_int_equal(u32(nth(0x1820, 1), 12), 500); /* the waker's stack */
    assert_true(u64(dpc, 0) == 3000 && dpc->time == 3500 && count(0x0F44) == 1 && count(0x0F45) == 1);
}

static void order_over_cpus_and_horizon(void **state)
{
    struct convert c;
    (void)state;
    config.hook_count = 0;
    for (uint64_t t = 1000; t < 2000; t += 20)
        maker_switch(&maker, 0, t, 1, 2, 1, 0, 0);
    maker_switch(&maker, 0, 1500, 1, 2, 1, 0, 0); /* an interrupt's record before the interrupted one's */
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    for (uint64_t t = 1010; t < 2000; t += 20)
        maker_switch(&maker, 1, t, 1, 2, 1, 0, 0);
    maker_chunk(&maker, 1, RAW_CHUNK_PERF);
    maker_pass(&maker, 1500, 1495);
    assert_int_equal(convert_init(&c, &config, &maker.log, NULL), 0);
    take_all(&c);
    for (size_t i = 0; i < out.count; i++)
        assert_true(out.event[i].time <= 1495 && (i == 0 || out.event[i].time >= out.event[i - 1].time));
    assert_int_equal(out.count, 25 + 25);
    assert_int_equal(convert_horizon(&c), 1495);
    maker_switch(&maker, 1, 1200, 1, 2, 1, 0, 0); /* a late record: it gets the time reached, not an earlier one */
    maker_chunk(&maker, 1, RAW_CHUNK_PERF);
    maker_pass(&maker, 9000, UINT64_MAX);
    take_all(&c);
    for (size_t i = 1; i < out.count; i++)
        assert_true(out.event[i].time >= out.event[i - 1].time);
    assert_int_equal(out.count, 50 + 50 + 2);
    assert_int_equal(c.late, 1);
    assert_int_equal(convert_horizon(&c), UINT64_MAX);
    convert_finish(&c);
}

static void equal_times_are_moved_on(void **state)
{
    (void)state;
    two_processes(1000);
    for (int i = 0; i < 50; i++)
        maker_waking(&maker, 0, 5000, 500, 600);
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_pass(&maker, 9000, UINT64_MAX);
    run();
    uint64_t last = 0;
    for (size_t i = 0; i < out.count; i++) {
        if (out.event[i].cpu != 0)
            continue;
        assert_true(out.event[i].time > last);
        last = out.event[i].time;
    }
    for (unsigned i = 0; i < 50; i++)
        assert_int_equal(u64(nth(0x1820, i), 0), nth(0x0532, i)->time);
}

/* A long mixed history, in several passes. */
static void history(unsigned from, unsigned to)
{
    for (unsigned round = from; round < to; round++) {
        uint64_t t   = 10000 + round * 1000;
        uint32_t pid = 1000 + round;
        maker_task(&maker, 0, PERF_RECORD_FORK, t, pid, 500, pid, 500);
        maker_comm(&maker, 0, t + 10, pid, pid, "child", true);
        maker_mmap(&maker, 0, t + 20, pid, 0x10000 + round * 4096, 4096, "/lib/x.so");
        maker_switch(&maker, 0, t + 30, 500, pid, 1, 0x5000 + round, 6);
        maker_block(&maker, 0, SRC_RQ_ISSUE, t + 40, pid, 100 + round * 8, 8, "W");
        maker_softirq(&maker, 0, SRC_SOFTIRQ_ENTRY, t + 45, 3);
        maker_chunk(&maker, 0, RAW_CHUNK_PERF);
        maker_switch(&maker, 1, t + 35, 600, 0, 1, 0x6000 + round, 7);
        maker_switch(&maker, 1, t + 900, pid, 500, 1, 0x7000 + round, 3);
        if (round > 3)
            maker_block(&maker, 1, SRC_RQ_COMPLETE, t + 50, 0, 100 + (round - 3) * 8, 8, "W");
        if (round > 5)
            maker_task(&maker, 1, PERF_RECORD_EXIT, t + 60, pid - 5, 500, pid - 5, 500);
        maker_chunk(&maker, 1, RAW_CHUNK_PERF);
        maker_pass(&maker, t + 999, t + 500);
    }
}

static void adoption_doubles_nothing(void **state)
{
    static struct out whole;
    (void)state;
    two_processes(1000);
    maker_pass(&maker, 9000, 2000);
    history(0, 20);
    struct convert a;
    assert_int_equal(convert_init(&a, &config, &maker.log, NULL), 0);
    take_all(&a);
    assert_true(convert_settled(&a));
    size_t   first  = out.count;
    int      fd     = memfd_create("snapshot", MFD_CLOEXEC);
    uint64_t needed = convert_needed(&a);
    assert_int_equal(convert_snapshot_write(&a, needed, fd, NULL), 0);
    history(20, 40);
    take_all(&a);
    maker_pass(&maker, 99999, UINT64_MAX);
    take_all(&a);
    uint64_t converted = a.converted, events = a.events, stacks = a.stacks;
    convert_finish(&a);
    whole       = out;
    whole.bytes = NULL;
    /* the successor: the file holds the events up to a point behind the snapshot */
    size_t   cut         = first + (out.count - first) / 2;
    uint64_t released[2] = {0};
    for (size_t i = 0; i < cut; i++)
        released[out.event[i].cpu] = out.event[i].time;
    struct convert b;
    out.count                  = 0;
    maker.log.header->free_pos = needed;
    assert_int_equal(convert_init(&b, &config, &maker.log, NULL), 0);
    assert_int_equal(convert_snapshot_read(&b, fd, NULL), 0);
    for (unsigned i = 0; i < 2; i++)
        b.queue[i].suppress = released[i];
    take_all(&b);
    assert_int_equal(out.count, whole.count - cut);
    for (size_t i = 0; i < out.count; i++) {
        const struct one *x = &whole.event[cut + i], *y = &out.event[i];
        assert_true(x->hook == y->hook && x->time == y->time && x->cpu == y->cpu && x->size == y->size);
        assert_memory_equal(x->payload, y->payload, x->size);
    }
    assert_true(b.converted == converted && b.events == events && b.stacks == stacks && b.lost == 0);
    convert_finish(&b);
    close(fd);
}

static void damaged_snapshot_is_refused(void **state)
{
    (void)state;
    two_processes(1000);
    maker_pass(&maker, 9000, 2000);
    history(0, 10);
    struct convert a;
    assert_int_equal(convert_init(&a, &config, &maker.log, NULL), 0);
    take_all(&a);
    int fd = memfd_create("snapshot", MFD_CLOEXEC);
    assert_int_equal(convert_snapshot_write(&a, convert_needed(&a), fd, NULL), 0);
    convert_finish(&a);
    off_t size = lseek(fd, 0, SEEK_END);
    for (off_t keep = size - 1; keep >= 0; keep -= size / 50 + 1) {
        struct convert b;
        struct reason  why;
        assert_int_equal(ftruncate(fd, keep), 0);
        assert_int_equal(convert_init(&b, &config, &maker.log, NULL), 0);
        assert_int_equal(convert_snapshot_read(&b, fd, &why), W_INVALID_DATA);
        convert_finish(&b);
    }
    close(fd);
}

/* Any byte of the log may be wrong: the converter must end, give valid records in order, and count its losses. */
static void hostile_bytes(void **state)
{
    uint32_t seed = 12345;
    (void)state;
    two_processes(1000);
    maker_pass(&maker, 9000, 2000);
    history(0, 12);
    maker_pass(&maker, 99999, UINT64_MAX);
    uint64_t size = rawlog_published(&maker.log)->write_pos;
    uint8_t *good = malloc(size);
    memcpy(good, maker.log.data, size);
    for (int round = 0; round < 400; round++) {
        struct convert     c;
        struct klog_record r;
        for (int i = 0; i < 1 + round % 40; i++) {
            seed                               = seed * 1664525 + 1013904223;
            maker.log.data[(seed >> 7) % size] = (uint8_t)(seed >> 24);
        }
        assert_int_equal(convert_init(&c, &config, &maker.log, NULL), 0);
        uint64_t last[2] = {0};
        for (unsigned cpu = 0; cpu < 2; cpu++)
            for (unsigned n = 0; n < 100000 && convert_peek(&c, cpu, &r); n++) {
                assert_true(r.time > last[cpu] && r.size >= 16 && r.size <= ETL_MAX_EVENT);
                last[cpu] = r.time;
                convert_pop(&c, cpu);
            }
        assert_true(c.converted + c.lost <= maker.drained + 1000 || c.damaged || c.lost > 0);
        convert_finish(&c);
        memcpy(maker.log.data, good, size);
    }
    free(good);
}

static void start_and_stop_bookkeeping(void **state)
{
    (void)state;
    struct raw_system sys  = {.own          = {RAW_SYSTEM, 0, 0, 1000, 0, 0},
                              .mhz          = 2500,
                              .cpus         = 2,
                              .page_bytes   = 4096,
                              .memory_bytes = 1 << 30,
                              .host         = "box"};
    struct raw_image  kern = {
         .own = {RAW_IMAGE, 0, 0, 1001, 0, 0}, .base = UINT64_C(0xffffffff81000000), .size = 0x2000000, .stamp = 9};
    struct raw_own done = {RAW_RUNDOWN_DONE, 0, 0, 1500, 0, 0}, stop = {RAW_STOP, 0, 0, 8000, 0, 0};
    maker_own(&maker, &sys, sizeof sys, NULL, NULL);
    maker_own(&maker, &kern, sizeof kern, "/boot/vmlinux", NULL);
    maker_chunk(&maker, 0, RAW_CHUNK_OWN);
    two_processes(1200);
    maker_own(&maker, &done, sizeof done, NULL, NULL);
    maker_own(&maker, &stop, sizeof stop, NULL, NULL);
    maker_chunk(&maker, 0, RAW_CHUNK_OWN);
    maker_pass(&maker, 9000, UINT64_MAX);
    run();
    const struct one *masks = nth(0x0005, 0), *interval = nth(0x0F49, 0), *cpu = nth(0x0B0A, 0),
                     *image = nth(0x1403, 0);
    assert_true(masks->size == 36 && u32(masks, 0) == 0x707 && u32(masks, 4) == 0x286);
    assert_true(interval->version == 3 && interval->size == 24 && u32(interval, 4) == 10000);
    assert_true(cpu->version == 3 && cpu->size == 828 && u32(cpu, 0) == 2500 && u32(cpu, 8) == 1024);
    assert_true(image->type == ETL_SYSTEM64 && u32(image, 16) == 0 && u64(image, 0) >> 63);
    assert_true(count(0x0303) == 4 && count(0x0304) == 4 && count(0x0503) == 4 && count(0x0504) == 4);
    assert_true(count(0x1404) == 1 && count(0x0008) == 2 && count(0x0F4A) == 1 && count(0x0020) == 1);
    assert_int_equal(u32(nth(0x0005, 1), 0), 0);
    unsigned volume = 0;
    for (size_t i = 0; i < out.count; i++)
        volume += out.event[i].type == ETL_FULL64;
    assert_int_equal(volume, 1);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {T(fork_exec_exit),
                                       T(an_exec_without_a_fork),
                                       T(forks_before_their_parent_is_told),
                                       T(exec_of_the_system),
                                       T(times_that_no_clock_shows),
                                       T(kernel_threads_are_system),
                                       T(switch_stack_of_the_incoming),
                                       T(disk_pairs),
                                       T(disk_requeued),
                                       T(samples_ready_and_dpc),
                                       T(order_over_cpus_and_horizon),
                                       T(equal_times_are_moved_on),
                                       T(adoption_doubles_nothing),
                                       T(damaged_snapshot_is_refused),
                                       T(hostile_bytes),
                                       T(start_and_stop_bookkeeping),
                                       cmocka_unit_test(every_class_is_read_back)};
    int                     failed  = cmocka_run_group_tests(tests, NULL, NULL);
    free(out.bytes);
    return failed;
}
