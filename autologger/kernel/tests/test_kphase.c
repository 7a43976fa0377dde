/* The kernel phase without a kernel: recorded pages of a real boot, pages made by hand, clocks, and the seam with perf.
 * Proves: ANA-10 (the kernel's part). */
#include "autologger/kernel/tests/phase_fixture.h"
#include "autologger/wire/etl.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { SEEN_MAX = 4096 };
struct seen {
    uint16_t       hook;
    uint8_t        header_type;
    uint64_t       time;
    uint32_t       size;
    const uint8_t *data;
    char           name[20];
};
struct events {
    struct seen at[SEEN_MAX];
    unsigned    count;
    uint8_t     bytes[1 << 20];
    size_t      used;
};

/* Ends the log and converts all of it. */
static void convert_all(struct phase_fixture *f, struct events *out, struct convert *c)
{
    out->count = 0;
    out->used  = 0;
    drain_pass(&f->drain, true);
    assert_int_equal(convert_init(c, &f->config, &f->log, NULL), 0);
    for (unsigned cpu = 0; cpu < f->rings.cpus; cpu++) {
        struct klog_record r;
        for (; convert_peek(c, cpu, &r); convert_pop(c, cpu)) {
            struct seen *s = &out->at[out->count++];
            assert_true(out->count < SEEN_MAX && out->used + r.size <= sizeof out->bytes);
            memcpy(out->bytes + out->used, r.data, r.size);
            *s = (struct seen){.hook        = (uint16_t)(r.data[7] << 8 | r.data[6]),
                               .header_type = r.data[2],
                               .time        = r.time,
                               .size        = r.size,
                               .data        = out->bytes + out->used};
            out->used += r.size;
            if (s->header_type == ETL_EVENT64) { /* traits, then schema: u16 size, no tags, the name */
                s->hook = 0;
                uint16_t traits;
                memcpy(&traits, s->data + sizeof(struct etl_event_header), 2);
                snprintf(s->name, sizeof s->name, "%s",
                         (const char *)s->data + sizeof(struct etl_event_header) + traits + 8 + 3);
            }
        }
    }
}
static unsigned count_of(const struct events *e, uint16_t hook, const char *name)
{
    unsigned n = 0;
    for (unsigned i = 0; i < e->count; i++)
        n += name ? strcmp(e->at[i].name, name) == 0 : e->at[i].hook == hook && e->at[i].header_type != ETL_EVENT64;
    return n;
}
static const struct seen *find(const struct events *e, uint16_t hook, const char *name, unsigned which)
{
    for (unsigned i = 0; i < e->count; i++)
        if ((name ? strcmp(e->at[i].name, name) == 0 : e->at[i].hook == hook && e->at[i].header_type != ETL_EVENT64) &&
            which-- == 0)
            return &e->at[i];
    return NULL;
}
/* P1: every entry is counted in one of these sums */
static void check_sum(const struct phase_fixture *f)
{
    const struct raw_phase *s       = &f->log.header->phase;
    const struct raw_slot  *slot    = rawlog_published(&f->log);
    uint64_t                records = 0;
    for (unsigned i = 1; i < f->count; i++)
        records += slot->drained[i] + slot->lost_memory[i];
    assert_int_equal(s->entries, records + s->absorbed + s->late + s->lost + s->damaged);
}

/* ---- a recorded boot ---- */

static void copy_tree(const char *from, const char *to, const char *const *files, size_t count)
{
    static uint8_t bytes[65536];
    for (size_t i = 0; i < count; i++) {
        char path[512], *slash;
        snprintf(path, sizeof path, "%s/%s", to, files[i]);
        for (slash = strchr(path + strlen(to) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
            *slash = 0;
            mkdir(path, 0700);
            *slash = '/';
        }
        int out = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        snprintf(path, sizeof path, "%s/%s", from, files[i]);
        int     in = open(path, O_RDONLY);
        ssize_t n  = in < 0 ? 0 : read(in, bytes, sizeof bytes);
        assert_true(out >= 0 && write(out, bytes, (size_t)n) == n);
        close(out);
        if (in >= 0)
            close(in);
    }
}

static const char *const tree[] = {"events/header_page",
                                   "events/ftrace/print/format",
                                   "events/ftrace/kernel_stack/format",
                                   "events/initcall/initcall_start/format",
                                   "events/initcall/initcall_finish/format",
                                   "events/initcall/initcall_level/format",
                                   "events/sched/sched_switch/format",
                                   "events/sched/sched_process_fork/format",
                                   "events/sched/sched_process_exec/format",
                                   "events/sched/sched_process_exit/format",
                                   "events/task/task_newtask/format",
                                   "events/module/module_load/format",
                                   "events/block/block_rq_insert/format",
                                   "events/block/block_rq_issue/format",
                                   "events/block/block_rq_complete/format",
                                   "per_cpu/cpu0/stats",
                                   "per_cpu/cpu0/trace_pipe_raw",
                                   "trace_clock",
                                   "tracing_on",
                                   "trace_marker" /* empty: this kernel's marks tell nothing */};

static void recorded_6_1(void **state)
{
    static struct phase_fixture f;
    static struct events        e;
    static struct convert       c;
    char                        folder[] = AL_BINARY_DIR "/kphaseXXXXXX", command[600], on[2] = "";
    (void)state;
    assert_non_null(mkdtemp(folder));
    copy_tree(AL_TEST_DIR "/data/linux-6.1", folder, tree, sizeof tree / sizeof *tree);
    assert_true(phase_make(&f, 1));
    f.p->dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    kphase_sources(f.p, f.sources, &f.count);
    assert_int_equal(f.p->count, 12);
    assert_int_equal(f.p->page_size, 4096);
    assert_true(phase_open(&f));
    kphase_sync(f.p);
    kphase_stop(f.p);
    int fd = openat(f.p->dir, "tracing_on", O_RDONLY);
    assert_true(fd >= 0 && read(fd, on, 1) == 1 && on[0] == '0');
    close(fd);
    kphase_import(f.p, &f.drain);
    check_sum(&f);
    assert_int_equal(f.log.header->phase.entries, 383);
    assert_int_equal(f.log.header->phase.absorbed, 191 + 19); /* stacks, task_newtask */
    assert_int_equal(f.log.header->phase.lost + f.log.header->phase.damaged + f.log.header->phase.late, 0);
    assert_true(f.p->error_ns > 0 && f.p->error_ns < 100000000); /* from the time in the stats file */
    unsigned        functions;
    const uint64_t *function = kphase_functions(f.p, &functions);
    assert_int_equal(functions, 34);
    for (unsigned i = 1; i < functions; i++)
        assert_true(function[i - 1] < function[i]);
    convert_all(&f, &e, &c);
    assert_int_equal(c.converted, 85 + 34 + 34 + 18 + 2);
    assert_int_equal(c.lost, 0);
    assert_int_equal(count_of(&e, 0, "InitcallLevel"), 2);
    assert_int_equal(count_of(&e, 0, "InitcallStart"), 34);
    assert_int_equal(count_of(&e, 0, "InitcallFinish"), 34);
    assert_int_equal(count_of(&e, 0, "KernelPhaseEnd"), 1);
    assert_int_equal(count_of(&e, 0x0524, NULL), 85);
    assert_int_equal(count_of(&e, 0x0501, NULL), 18); /* threads: pid 1, kthreadd, and its 16 children */
    assert_int_equal(count_of(&e, 0x0301, NULL), 1);  /* one process: the rest belong to System */
    assert_true(count_of(&e, 0x1820, NULL) > 60);     /* stacks of switches */
    const struct seen *level = find(&e, 0, "InitcallLevel", 0), *last = find(&e, 0, "KernelPhaseEnd", 0);
    const struct seen *first = &e.at[0];
    assert_ptr_equal(level, first); /* at t = 0 */
    assert_true(memcmp(level->data + level->size - 8, "console", 8) == 0);
    assert_int_equal(last->time - first->time > 800000000, 1);
    convert_finish(&c);
    phase_finish(&f);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

/* ---- pages made by hand ---- */

enum {
    ID_SWITCH  = 300,
    ID_FORK    = 301,
    ID_EXEC    = 302,
    ID_EXIT    = 303,
    ID_NEWTASK = 304,
    ID_START   = 20,
    ID_FINISH  = 21,
    ID_OTHER   = 999
};

/* Fields as on 6.18: the parent's name of a fork lies behind the record */
static void sources_make(struct phase_fixture *f)
{
    phase_source(f, SRC_SWITCH, ID_SWITCH,
                 (const struct raw_field[]){{24, 4}, {28, 4}, {32, 8}, {56, 4}, {60, 4}, {8, 16}, {40, 16}}, 7, true);
    phase_source(f, SRC_FORK, ID_FORK, (const struct raw_field[]){{12, 4}, {20, 4}, {8, 4}}, 3, false);
    phase_source(f, SRC_EXEC, ID_EXEC, (const struct raw_field[]){{8, 4}, {12, 4}}, 2, false);
    phase_source(f, SRC_EXIT, ID_EXIT, (const struct raw_field[]){{24, 4}}, 1, false);
    phase_source(f, SRC_NEWTASK, ID_NEWTASK, (const struct raw_field[]){{8, 4}, {32, 8}}, 2, false);
    phase_source(f, SRC_INITCALL_START, ID_START, (const struct raw_field[]){{8, 8}}, 1, false);
    phase_source(f, SRC_INITCALL_FINISH, ID_FINISH, (const struct raw_field[]){{8, 8}, {16, 4}}, 2, false);
}
struct common {
    uint16_t type;
    uint8_t  flags, preempt;
    uint32_t tid;
};
static void put_switch(struct page_maker *m, uint32_t delta, uint32_t prev, const char *prev_name, uint32_t next,
                       const char *next_name)
{
    struct {
        struct common c;
        char          prev[16];
        uint32_t      prev_pid, prev_prio;
        uint64_t      state;
        char          next[16];
        uint32_t      next_pid, next_prio;
    } s = {{ID_SWITCH, 1, 2, prev}, "", prev, 120, 1, "", next, 120};
    memcpy(s.prev, prev_name, strnlen(prev_name, 15));
    memcpy(s.next, next_name, strnlen(next_name, 15));
    page_entry(m, delta, &s, sizeof s);
}
static void put_stack(struct page_maker *m, const struct common *of, unsigned frames, uint64_t base)
{
    struct {
        struct common c;
        uint32_t      size, pad;
        uint64_t      frame[8];
    } s = {{4, of->flags, of->preempt, of->tid}, frames, 0, {0}};
    for (unsigned i = 0; i < frames; i++)
        s.frame[i] = base + i;
    page_entry(m, 1, &s, 16 + frames * 8);
}
static void put_newtask(struct page_maker *m, uint32_t by, uint32_t tid, uint64_t flags)
{
    struct {
        struct common c;
        uint32_t      pid;
        char          comm[20];
        uint64_t      flags;
    } s = {{ID_NEWTASK, 0, 0, by}, tid, "", flags};
    page_entry(m, 1, &s, sizeof s);
}
static void put_fork(struct page_maker *m, uint32_t parent, const char *name, uint32_t child)
{
    struct {
        struct common c;
        uint32_t      where, parent, where2, child;
        char          text[16];
    } s = {{ID_FORK, 0, 0, parent}, 24 | 16 << 16, parent, 24 | 16 << 16, child, ""};
    memcpy(s.text, name, strnlen(name, 15));
    page_entry(m, 1, &s, sizeof s);
}
static void put_exec(struct page_maker *m, uint32_t pid, const char *path)
{
    struct {
        struct common c;
        uint32_t      where, pid, old, pad;
        char          text[40];
    } s = {{ID_EXEC, 0, 0, pid}, 24 | 40 << 16, pid, pid, 0, ""};
    memcpy(s.text, path, strnlen(path, 39));
    page_entry(m, 1, &s, sizeof s);
}
static void put_exit(struct page_maker *m, uint32_t tid)
{
    struct {
        struct common c;
        char          comm[16];
        uint32_t      pid, prio;
    } s = {{ID_EXIT, 0, 0, tid}, "", tid, 120};
    page_entry(m, 1, &s, sizeof s);
}
static void put_initcall(struct page_maker *m, uint32_t delta, bool begins, uint64_t function, int32_t result)
{
    struct {
        struct common c;
        uint64_t      function;
        int32_t       result, pad;
    } s = {{begins ? ID_START : ID_FINISH, 0, 0, 1}, function, result, 0};
    page_entry(m, delta, &s, begins ? 16 : 20);
}

static void begin(struct phase_fixture *f, unsigned cpus)
{
    assert_true(phase_make(f, cpus));
    sources_make(f);
    assert_true(phase_open(f));
    f->p->stop_before = f->p->stop_after = f->p->arming = f->p->armed = UINT64_C(1) << 60;
    kphase_begin(f->p, &f->drain);
}
static void page_in(struct phase_fixture *f, unsigned cpu, struct page_maker *m, unsigned entries)
{
    page_pad(m);
    kphase_page(f->p, cpu, m->bytes, sizeof m->bytes);
    kphase_cpu_end(f->p, cpu);
    f->p->sum.entries += entries;
}
static void sync_at(struct phase_fixture *f, unsigned cpu, uint64_t before, uint64_t after, uint64_t trace)
{
    f->p->sync[f->p->syncs++] = (struct kphase_sync){before, after, trace, cpu};
}

/* A stack belongs to the entry of its own context, also after an interrupt in between, and over the end of a page. */
static void stacks_find_their_entries(void **state)
{
    static struct phase_fixture f;
    static struct events        e;
    static struct convert       c;
    struct page_maker           m;
    struct common               task = {0, 1, 2, 900}, interrupt = {0, 0x09, 2, 900}, next = {0, 1, 2, 901};
    (void)state;
    begin(&f, 1);
    page_begin(&m, 990);
    put_fork(&m, 2, "kthreadd", 900);
    put_fork(&m, 2, "kthreadd", 901);
    put_switch(&m, 8, 900, "one", 901, "two");
    struct {
        struct common c;
        uint8_t       rest[56];
    } irq = {{ID_SWITCH, 0x09, 2, 900}, {0}};
    page_entry(&m, 10, &irq, sizeof irq); /* not a real switch: only its context matters */
    put_stack(&m, &interrupt, 2, 0xffffffff80002000);
    put_stack(&m, &task, 3, 0xffffffff80001000);
    put_switch(&m, 10, 901, "two", 900, "one");
    page_in(&f, 0, &m, 7);
    page_begin(&m, 2000);
    put_stack(&m, &next, 1, 0xffffffff80003000); /* its entry was flushed with the CPU's pages: no entry's stack */
    put_switch(&m, 10, 900, "one", 901, "two");
    page_pad(&m);
    kphase_page(f.p, 0, m.bytes, sizeof m.bytes);
    page_begin(&m, 3000);
    put_stack(&m, &task, 4, 0xffffffff80004000);
    put_switch(&m, 10, 901, "two", 900, "one"); /* 900 comes in, with the stack from when it left */
    page_in(&f, 0, &m, 4);
    kphase_end(f.p, &f.drain);
    check_sum(&f);
    /* from the raw log: chain lengths of the five samples, in the order of their entries */
    static const uint64_t wanted[5] = {3, 2, 0, 4, 0};
    uint64_t              times[5] = {0}, chains[5] = {0};
    unsigned              n = 0;
    for (uint64_t pos = 0; pos < rawlog_published(&f.log)->write_pos;) {
        struct raw_chunk chunk;
        memcpy(&chunk, rawlog_at(&f.log, pos), sizeof chunk);
        pos += sizeof chunk;
        for (uint64_t end = pos + chunk.bytes; pos < end;) {
            const uint8_t *r = rawlog_at(&f.log, pos);
            if (chunk.kind == RAW_CHUNK_PERF && r[0] == 9 && n < 5) {
                memcpy(&times[n], r + SAMPLE_TIME_AT, 8);
                memcpy(&chains[n++], r + SAMPLE_BODY_AT, 8);
            }
            uint16_t size;
            memcpy(&size, r + 6, 2);
            pos += size;
        }
    }
    assert_int_equal(n, 5);
    static const uint64_t at[5] = {1000, 1010, 1022, 2011, 3011};
    for (unsigned i = 0; i < 5; i++)
        for (unsigned k = 0; k < 5; k++)
            if (times[k] == at[i])
                assert_int_equal(chains[k], wanted[i] ? wanted[i] + 1 : 0); /* plus the marker of the kernel's part */
    convert_all(&f, &e, &c);
    const struct seen *last = find(&e, 0x1820, NULL, count_of(&e, 0x1820, NULL) - 1);
    uint64_t           frame;
    memcpy(&frame, last->data + 32, 8);
    assert_int_equal(frame, 0xffffffff80004000);
    convert_finish(&c);
    phase_finish(&f);
}

static uint32_t u32_at(const struct seen *s, size_t at)
{
    uint32_t v;
    memcpy(&v, s->data + at, 4);
    return v;
}

/* fork, exec, exit and threads, as perf would have told them */
static void tasks(void **state)
{
    static struct phase_fixture f;
    static struct events        e;
    static struct convert       c;
    struct page_maker           m;
    enum { BASE = 3900000 }; /* no process of this machine */
    (void)state;
    begin(&f, 1);
    sync_at(&f, 0, 5000, 5000, 5000);
    page_begin(&m, 1000);
    put_fork(&m, 0, "swapper/0", 1);
    put_fork(&m, 0, "swapper/0", 2);
    put_fork(&m, 2, "kthreadd", BASE); /* a kernel thread */
    put_switch(&m, 5, BASE, "kthreadd", 1, "swapper/0");
    put_switch(&m, 5, 1, "swapper/0", BASE, "kworker/9"); /* its name came later */
    put_fork(&m, BASE, "kworker/9", BASE + 1);            /* a helper of the kernel */
    put_exec(&m, BASE + 1, "/sbin/modprobe");
    put_newtask(&m, BASE + 1, BASE + 2, 0x10000); /* with a thread */
    put_fork(&m, BASE + 1, "modprobe", BASE + 2);
    put_exit(&m, BASE + 2);
    put_exit(&m, BASE + 1);
    page_in(&f, 0, &m, 11);
    kphase_end(f.p, &f.drain);
    check_sum(&f);
    convert_all(&f, &e, &c);
    assert_int_equal(c.lost, 0);
    /* Process Start: swapper/0, the helper, modprobe; End: the helper (its exec), modprobe */
    assert_int_equal(count_of(&e, 0x0301, NULL), 3);
    assert_int_equal(count_of(&e, 0x0302, NULL), 2);
    const struct seen *init = find(&e, 0x0301, NULL, 0), *helper = find(&e, 0x0301, NULL, 1),
                      *modprobe = find(&e, 0x0301, NULL, 2);
    assert_int_equal(u32_at(init, 32 + 8), 1);
    assert_int_equal(u32_at(helper, 32 + 8), BASE + 1);
    assert_int_equal(u32_at(helper, 32 + 12), 4); /* its parent: System */
    assert_int_equal(u32_at(modprobe, 32 + 8), BASE + 1);
    assert_memory_equal(modprobe->data + 32 + 64, "modprobe", 9); /* behind 36 bytes and the SID of root */
    /* Thread Start: 1, 2, the kernel thread, the helper, modprobe's first and second */
    assert_int_equal(count_of(&e, 0x0501, NULL), 6);
    assert_int_equal(count_of(&e, 0x0502, NULL), 3);
    assert_int_equal(u32_at(find(&e, 0x0501, NULL, 2), 32), 4); /* System's */
    assert_int_equal(u32_at(find(&e, 0x0501, NULL, 5), 32), BASE + 1);
    assert_int_equal(u32_at(find(&e, 0x0501, NULL, 5), 36), BASE + 2);
    /* names: of 1 and 2, whose parent has none; the kernel thread's new name comes last */
    const struct seen *renamed = find(&e, 0x0548, NULL, 2);
    assert_int_equal(count_of(&e, 0x0548, NULL), 3);
    assert_int_equal(u32_at(renamed, 16 + 4), BASE);
    assert_int_equal(renamed->data[16 + 8], 'k');
    convert_finish(&c);
    phase_finish(&f);
}

static void initcalls_have_durations(void **state)
{
    static struct phase_fixture f;
    static struct events        e;
    static struct convert       c;
    struct page_maker           m;
    (void)state;
    begin(&f, 1);
    page_begin(&m, 7000);
    put_initcall(&m, 0, true, 0xffffffff80100000, 0);
    put_initcall(&m, 0, true, 0xffffffff80200000, 0); /* nested: a module's */
    put_initcall(&m, 300, false, 0xffffffff80200000, -19);
    put_initcall(&m, 1000, false, 0xffffffff80100000, 0);
    put_initcall(&m, 5, false, 0xffffffff80300000, 0); /* its beginning was not recorded */
    struct common other[2] = {{ID_OTHER, 0, 0, 1}};
    page_entry(&m, 1, other, sizeof other);
    page_in(&f, 0, &m, 6);
    kphase_end(f.p, &f.drain);
    check_sum(&f);
    assert_int_equal(f.log.header->phase.absorbed, 1);
    convert_all(&f, &e, &c);
    static const struct {
        int32_t  result;
        uint64_t ns;
    } wanted[3] = {{-19, 300}, {0, 1300}, {0, 0}};
    assert_int_equal(count_of(&e, 0, "InitcallFinish"), 3);
    for (unsigned i = 0; i < 3; i++) {
        const struct seen *s = find(&e, 0, "InitcallFinish", i);
        uint64_t           ns;
        memcpy(&ns, s->data + s->size - 8, 8);
        assert_int_equal(ns, wanted[i].ns);
        assert_int_equal((int32_t)u32_at(s, s->size - 12), wanted[i].result);
    }
    convert_finish(&c);
    phase_finish(&f);
}

/* Entries that do not fit into the memory for raw records are counted, by source. */
static void full_memory_is_counted(void **state)
{
    static struct phase_fixture f;
    struct page_maker           m;
    enum { PAGES = 600, EACH = 40 };
    (void)state;
    assert_true(phase_make(&f, 1));
    f.config.raw_bytes = 1 << 20;
    sources_make(&f);
    assert_true(phase_open(&f));
    kphase_begin(f.p, &f.drain);
    for (unsigned i = 0; i < PAGES; i++) {
        page_begin(&m, 1000 + i * 1000);
        for (unsigned k = 0; k < EACH; k++)
            put_switch(&m, 1, 900 + k, "a", 901 + k, "a");
        page_in(&f, 0, &m, EACH);
    }
    kphase_end(f.p, &f.drain);
    check_sum(&f);
    const struct raw_slot *slot = rawlog_published(&f.log);
    assert_true(slot->drained[1] > 1000 && slot->lost_memory[1] > 1000);
    assert_int_equal(slot->drained[1] + slot->lost_memory[1], PAGES * EACH);
    phase_finish(&f);
}

/* ---- clocks ---- */

static void clocks_join_at_the_narrowest_mark(void **state)
{
    static struct phase_fixture f;
    (void)state;
    begin(&f, 2);
    sync_at(&f, 0, 10000000, 10009000, 4000000); /* 9 us wide */
    sync_at(&f, 1, 10020000, 10021000, 4017600); /* 1 us: raw - trace is 6002400 .. 6003400 */
    sync_at(&f, 0, 10030000, 10034000, 4028000);
    sync_at(&f, 1, 9, 9, 0); /* never seen */
    kphase_join(f.p);
    for (unsigned c = 0; c < 2; c++)
        assert_int_equal(f.p->cpu[c].map.offset, 6002900);
    assert_int_equal(f.p->error_ns, 501);
    phase_finish(&f);
}

static void marks_that_disagree_widen_the_error(void **state)
{
    static struct phase_fixture f;
    (void)state;
    begin(&f, 2);
    sync_at(&f, 0, 1000000, 1001000, 500000);  /* 500000 .. 501000 */
    sync_at(&f, 1, 2000000, 2002000, 1498000); /* 502000 .. 504000: 1500 away from 500500 */
    kphase_join(f.p);
    assert_int_equal(f.p->cpu[0].map.offset, 500500);
    assert_int_equal(f.p->cpu[1].map.offset, 500500); /* one clock: the order over CPUs stays */
    assert_int_equal(f.p->error_ns, 501 + 1500);
    phase_finish(&f);
}

static void cpus_with_clocks_of_their_own(void **state)
{
    static struct phase_fixture f;
    (void)state;
    begin(&f, 3);
    sync_at(&f, 0, 1000000, 1001000, 500000);
    sync_at(&f, 1, 2000000, 2002000, 1000000); /* half a millisecond away */
    kphase_join(f.p);
    assert_int_equal(f.p->cpu[0].map.offset, 500500);
    assert_int_equal(f.p->cpu[1].map.offset, 1001000);
    assert_int_equal(f.p->cpu[2].map.offset, 500500); /* without a mark: the best offset known; the error shows it */
    assert_true(f.p->error_ns >= 499000);
    phase_finish(&f);
}

/* A trace clock that began before CLOCK_MONOTONIC_RAW: no time below 0, and the order stays. */
static void early_times_are_squeezed(void **state)
{
    struct trace_map m = trace_map_make(-1000), plus = trace_map_make(1000);
    (void)state;
    uint64_t before = 0;
    for (uint64_t t = 0; t < 5000; t++) {
        uint64_t raw = trace_map_raw(&m, t);
        assert_true(raw >= before && raw <= t);
        before = raw;
    }
    assert_int_equal(trace_map_raw(&m, 0), 0);
    assert_int_equal(trace_map_raw(&m, 1999), 999);
    assert_int_equal(trace_map_raw(&m, 2000), 1000);
    assert_int_equal(trace_map_raw(&m, 4000), 3000);
    assert_int_equal(trace_map_raw(&plus, 0), 1000);
}

/* ---- the seam ---- */

/* A name of 16 bytes: bytes behind its end differ from buffer to buffer. A number of 8 bytes has no end. */
static void names_are_compared_to_their_end(void **state)
{
    (void)state;
    struct raw_source s     = {.kind = SRC_TRACEPOINT};
    uint8_t           a[32] = {[4] = 7}, b[32] = {[4] = 7};
    for (unsigned i = 0; i < RAW_FIELDS; i++)
        s.field[i].offset = RAW_NO_FIELD;
    s.field[0] = (struct raw_field){8, 16};
    s.field[1] = (struct raw_field){24, 8};
    memcpy(a + 8, "worker\0left over", 16);
    memcpy(b + 8, "worker\0of before", 16);
    assert_true(seam_hash(&s, a, sizeof a) == seam_hash(&s, b, sizeof b));
    b[13] = 'd';
    assert_true(seam_hash(&s, a, sizeof a) != seam_hash(&s, b, sizeof b));
    b[13] = 'r';
    b[31] = 1;
    assert_true(seam_hash(&s, a, sizeof a) != seam_hash(&s, b, sizeof b));
}

static const struct seam_times times = {1000, 2010, 2000, 2100, 20};
#define SEAM(trace, perf) seam_find(trace, sizeof trace / sizeof *trace, perf, sizeof perf / sizeof *perf, &times)

static void seam(void **state)
{
    (void)state;
    static const struct seam_event f[] = {{900, 1}, {1100, 2}, {1200, 1}, {1300, 2}, {1400, 3}, {1500, 1}, {1990, 2}};
    static const struct seam_event after[] = {{1203, 1}, {1302, 2}, {1404, 3}, {1506, 1}, {1994, 2}, {2500, 9}};
    assert_int_equal(SEAM(f, after), 2); /* not 0 or 5, which have the same content */
    static const struct seam_event late[] = {{2400, 1}, {2500, 2}};
    assert_int_equal(SEAM(f, late), 7); /* perf's first event came after the buffer had stopped: all entries are kept */
    assert_int_equal(seam_find(f, 7, NULL, 0, &times), 7);
    static const struct seam_event edge[] = {{2003, 2}, {2400, 1}};
    assert_int_equal(SEAM(f, edge), 6); /* while it stopped: the entry 13 ns before is the same event */
    static const struct seam_event other[] = {{2030, 2}};
    assert_int_equal(SEAM(f, other), 7); /* 40 ns before: another event of the same content */
    static const struct seam_event g2[] = {{1990, 2}, {2005, 3}, {2015, 2}, {2020, 3}}, slow[] = {{2080, 2}, {2085, 3}},
                                   unsure[] = {{2080, 3}};
    /* long after perf's arming: perf has the event, though 65 ns lie between the two records */
    assert_int_equal(SEAM(g2, slow), 2);
    assert_int_equal(seam_find(g2, 2, unsure, 1, &times), 2); /* perhaps before perf's arming: another event */
    /* the kernel withholds some from perf: the rest is in order */
    static const struct seam_event withheld[] = {{1205, 1}, {1405, 3}, {1995, 2}};
    assert_int_equal(SEAM(f, withheld), 2);
    /* an interrupted handler: the nearest in time is wrong, the following entries decide */
    static const struct seam_event g[]       = {{1100, 1}, {1110, 2}, {1190, 1}, {1300, 4}};
    static const struct seam_event shifted[] = {{1180, 1}, {1185, 2}, {1195, 1}, {1305, 4}};
    assert_int_equal(SEAM(g, shifted), 0);
    static const struct seam_event nothing[] = {{1250, 77}};
    assert_int_equal(SEAM(f, nothing), 3); /* no match: decided by the clocks */
    static const struct seam_event before[] = {{1105, 1}, {1205, 1}};
    assert_int_equal(SEAM(f, before) > 0, 1); /* the first entry is older than perf */
}

/* Entries that perf has are left out of the log: kphase_put gets none of them. */
static void late_entries_are_left_out(void **state)
{
    static struct phase_fixture f;
    static struct events        e;
    static struct convert       c;
    struct page_maker           m;
    (void)state;
    begin(&f, 1);
    f.p->tail_from = 2000;
    page_begin(&m, 1000);
    put_initcall(&m, 0, true, 0xffffffff80100000, 0);
    put_initcall(&m, 1500, true, 0xffffffff80200000, 0);
    put_initcall(&m, 100, false, 0xffffffff80200000, 0);
    page_in(&f, 0, &m, 3);
    assert_int_equal(f.p->cpu[0].late_count, 2);
    f.p->cpu[0].late[1].drop = 1;
    kphase_end(f.p, &f.drain);
    check_sum(&f);
    assert_int_equal(f.log.header->phase.late, 1);
    convert_all(&f, &e, &c);
    assert_true(count_of(&e, 0, "InitcallStart") == 2 && count_of(&e, 0, "InitcallFinish") == 0);
    convert_finish(&c);
    phase_finish(&f);
}

/* ---- the command line ---- */

static void command_line(void **state)
{
    char               text[1024];
    struct klog_config config = {.mask = {0x10, 0}, .hooks = {0x0524}, .hook_count = 1};
    (void)state;
    assert_true(kphase_asked("autologger=kernel"));
    assert_true(kphase_asked("root=/dev/x autologger=kernel quiet\n"));
    assert_false(kphase_asked("root=/dev/x autologger=kernels noautologger=kernel autologger=off"));
    assert_false(kphase_asked(""));
    size_t n = kphase_arguments(&config, text, sizeof text);
    assert_int_equal(n, strlen(text));
    assert_true(kphase_asked(text));
    assert_non_null(strstr(text, ",sched:sched_switch,"));
    assert_non_null(strstr(text, " trace_clock=perf trace_options=stacktrace"));
    assert_null(strstr(text, "block"));
    assert_int_equal(kphase_arguments(&config, text, 10), n); /* cut, but returns the full length */
    assert_int_equal(strlen(text), 9);
}

static void not_asked_for(void **state)
{
    struct raw_source  sources[RAW_SOURCES];
    unsigned           count  = 1;
    struct klog_config config = {.mask = {0x10, 0}, .phase_instance = "al-none"};
    (void)state;
    assert_null(kphase_open(&config, 1, sources, &count));
    config.kernel_phase = true; /* there is no such buffer */
    assert_null(kphase_open(&config, 1, sources, &count));
    assert_int_equal(count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_6_1),
        cmocka_unit_test(stacks_find_their_entries),
        cmocka_unit_test(tasks),
        cmocka_unit_test(initcalls_have_durations),
        cmocka_unit_test(full_memory_is_counted),
        cmocka_unit_test(clocks_join_at_the_narrowest_mark),
        cmocka_unit_test(marks_that_disagree_widen_the_error),
        cmocka_unit_test(cpus_with_clocks_of_their_own),
        cmocka_unit_test(early_times_are_squeezed),
        cmocka_unit_test(seam),
        cmocka_unit_test(names_are_compared_to_their_end),
        cmocka_unit_test(late_entries_are_left_out),
        cmocka_unit_test(command_line),
        cmocka_unit_test(not_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
