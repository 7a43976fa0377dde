/* Mappings and page faults from raw records. Proves: issue 4, VAMAP, ALL_FAULTS, HARD_FAULTS: areas that are joined,
 * cut, handed down; classes; what a successor knows. */
#include "autologger/kernel/source/filekey.h"
#include "autologger/kernel/tests/convert_fixture.h"

#include <signal.h>

enum { PAGE = 4096, DEV_MAJOR = 254, DEV_MINOR = 3 };
static uint64_t now;

static int setup(void **state)
{
    (void)state;
    now = 2000;
    fixture_begin(&(struct klog_config){.mask = {0xB003}, .clock = {1, CLOCK_READ_RAW, 1000000000}});
    for (uint32_t pid = 500; pid <= 600; pid += 100) {
        struct raw_process p = {.own = {RAW_PROCESS, 0, 0, 1000, pid, pid}};
        struct raw_thread  t = {.own = {RAW_THREAD, 0, 0, 1000, pid, pid}, .prio = 120};
        maker_own(&maker, &p, sizeof p, "p", "");
        maker_own(&maker, &t, sizeof t, NULL, NULL);
    }
    maker_chunk(&maker, 0, RAW_CHUNK_OWN);
    return 0;
}

static void area(uint32_t pid, uint64_t page, uint64_t pages, uint64_t offset_page, uint64_t inode, uint32_t prot,
                 uint32_t flags, const char *name)
{
    char   text[64] = "";
    size_t at       = maker_begin(&maker, PERF_RECORD_MMAP2, 0);
    memcpy(text, name, strlen(name));
    maker_u32(&maker, pid);
    maker_u32(&maker, pid);
    maker_u64(&maker, page * PAGE);
    maker_u64(&maker, pages * PAGE);
    maker_u64(&maker, offset_page * PAGE);
    maker_u32(&maker, inode ? DEV_MAJOR : 0);
    maker_u32(&maker, inode ? DEV_MINOR : 0);
    maker_u64(&maker, inode);
    maker_u64(&maker, 0);
    maker_u32(&maker, prot);
    maker_u32(&maker, flags);
    maker_put(&maker, text, sizeof text);
    maker_u32(&maker, pid);
    maker_u32(&maker, pid);
    maker_u64(&maker, now += 10);
    maker_u64(&maker, 0);
    maker_u64(&maker, maker_id(0, SRC_MAPPINGS));
    maker_end(&maker, at);
}
static void file_area(uint32_t pid, uint64_t page, uint64_t pages, uint64_t offset_page, uint64_t inode)
{
    area(pid, page, pages, offset_page, inode, PROT_READ, MAP_PRIVATE, inode == 7 ? "/lib/seven" : "/lib/other");
}
static void unmap(uint32_t pid, uint64_t page, uint64_t pages, int64_t result)
{
    struct {
        uint64_t common, number, address, length;
    } in = {0, 11, page * PAGE, pages * PAGE};
    struct {
        uint64_t common, number;
        int64_t  result;
    } back = {0, 11, result};
    maker_sample(&maker, 0, SRC_MUNMAP, now += 10, pid, pid, 0, 0, &in, sizeof in);
    maker_sample(&maker, 0, SRC_MUNMAP_EXIT, now += 10, pid, pid, 0, 0, &back, sizeof back);
}
static void finish(void)
{
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_pass(&maker, 900000, UINT64_MAX);
    run();
}
static void expect_map(uint16_t hook, unsigned n, uint32_t pid, uint64_t page, uint64_t pages, uint64_t offset_page,
                       uint64_t inode)
{
    const struct one *e = nth(hook, n);
    assert_non_null(e);
    assert_true(e->size == 44 && e->version == 3 && e->type == ETL_PERFINFO64);
    assert_int_equal(u64(e, 0), page * PAGE);
    assert_int_equal(u64(e, 8), file_key(file_dev(DEV_MAJOR, DEV_MINOR), inode));
    assert_int_equal(u64(e, 24), pages * PAGE);
    assert_int_equal(u64(e, 32), offset_page * PAGE);
    assert_int_equal(u32(e, 40), pid);
}

static void mapped_and_unmapped(void **state)
{
    (void)state;
    file_area(500, 100, 10, 0, 7);
    area(500, 200, 10, 0, 0, PROT_READ | PROT_WRITE, MAP_PRIVATE, "//anon");
    area(500, 300, 4, 0, 7, PROT_READ | PROT_EXEC, MAP_PRIVATE, "/lib/seven"); /* code: an image */
    unmap(500, 103, 2, -22);                                                   /* refused */
    unmap(500, 103, 2, 0);                                                     /* a hole */
    unmap(500, 90, 400, 0);                                                    /* and the rest, of all of them */
    finish();
    assert_int_equal(count(0x0425), 1);
    expect_map(0x0425, 0, 500, 100, 10, 0, 7);
    assert_int_equal(count(0x0426), 3);
    expect_map(0x0426, 0, 500, 103, 2, 3, 7);
    expect_map(0x0426, 1, 500, 100, 3, 0, 7);
    expect_map(0x0426, 2, 500, 105, 5, 5, 7);
    const struct one *name = nth(0x0420, 0);
    assert_true(name && count(0x0420) == 1 && name->time < nth(0x0425, 0)->time &&
                u64(name, 0) == u64(nth(0x0425, 0), 8));
    assert_memory_equal(name->payload + name->size - 12, "s\0e\0v\0e\0n\0\0", 12);
}

/* The kernel reports an area again when its rights change, and the whole area when it joins two. */
static void told_again(void **state)
{
    (void)state;
    file_area(500, 100, 10, 0, 7);
    file_area(500, 104, 2, 4, 7);                              /* mprotect() of a part */
    file_area(500, 100, 15, 0, 7);                             /* grown by the following part of the file */
    file_area(500, 95, 10, 3, 8);                              /* another file over its beginning */
    area(500, 112, 1, 0, 0, PROT_READ, MAP_PRIVATE, "//anon"); /* anonymous memory over a part of it */
    finish();
    assert_int_equal(count(0x0425), 3);
    expect_map(0x0425, 1, 500, 110, 5, 10, 7);
    expect_map(0x0425, 2, 500, 95, 10, 3, 8);
    assert_int_equal(count(0x0426), 2);
    expect_map(0x0426, 0, 500, 100, 5, 0, 7);
    expect_map(0x0426, 1, 500, 112, 1, 12, 7);
}

static void fork_exec_and_exit(void **state)
{
    (void)state;
    file_area(500, 100, 10, 0, 7);
    maker_task(&maker, 0, PERF_RECORD_FORK, now += 10, 700, 500, 700, 500);
    maker_task(&maker, 0, PERF_RECORD_FORK, now += 10, 701, 500, 701, 500);
    unmap(700, 100, 5, 0); /* an inherited area, whose mapping was not seen */
    file_area(700, 400, 1, 0, 8);
    unmap(500, 100, 1, 0);                                   /* still the parent's own */
    maker_comm(&maker, 0, now += 10, 700, 700, "new", true); /* ends all its areas */
    maker_task(&maker, 0, PERF_RECORD_EXIT, now += 10, 700, 500, 700, 500);
    maker_task(&maker, 0, PERF_RECORD_EXIT, now += 10, 701, 500, 701, 500);
    maker_task(&maker, 0, PERF_RECORD_EXIT, now += 10, 500, 1, 500, 500);
    finish();
    assert_int_equal(count(0x0425), 2);
    assert_int_equal(count(0x0426), 3);
    expect_map(0x0426, 0, 500, 100, 1, 0, 7);
    expect_map(0x0426, 1, 700, 400, 1, 0, 8);
    expect_map(0x0426, 2, 500, 101, 9, 1, 7);
}

static void at_start_and_stop(void **state)
{
    struct raw_mapping m    = {.own    = {RAW_MAPPING, 0, 0, 1500, 500, 500},
                               .start  = 100 * PAGE,
                               .end    = 110 * PAGE,
                               .offset = 2 * PAGE,
                               .inode  = 7,
                               .dev    = file_dev(DEV_MAJOR, DEV_MINOR)};
    struct raw_own     stop = {RAW_STOP, 0, 0, 800000, 0, 0};
    (void)state;
    maker_own(&maker, &m, sizeof m, "/lib/seven", NULL);
    maker_own(&maker, &stop, sizeof stop, NULL, NULL);
    maker_chunk(&maker, 0, RAW_CHUNK_OWN);
    file_area(500, 100, 10, 2, 7); /* in both the rundown and a record */
    unmap(500, 109, 1, 0);
    finish();
    assert_true(count(0x0425) == 0 && count(0x0427) == 1 && count(0x0428) == 1 && count(0x0426) == 1 &&
                count(0x0424) == 1);
    expect_map(0x0427, 0, 500, 100, 10, 2, 7);
    expect_map(0x0428, 0, 500, 100, 9, 2, 7);
}

/* ---- faults ---- */

static void fault(uint32_t tid, uint64_t address, uint64_t error)
{
    struct {
        uint64_t common, address, ip, error;
    } r = {0, address, 0x400000, error};
    maker_sample(&maker, 0, SRC_FAULT_USER, now += 10, tid, tid, 0, 0, &r, sizeof r);
}
static void looked_for(uint32_t tid, uint64_t index)
{
    struct {
        uint64_t common, inode, dev, index;
    } r = {0, 7, 0, index};
    maker_sample(&maker, 0, SRC_FILE_FAULT, now += 10, tid, tid, 0, 0, &r, sizeof r);
}
static void resolved(unsigned source, uint32_t tid, uint64_t address)
{
    maker_address(&maker, 0, source, now += 10, tid, 0x400000, address);
}

static void classes(void **state)
{
    static const struct {
        uint64_t page, error;
        uint16_t hook;
    } row[] = {
        /* a private file: read, written, copied, present before */
        {100, 4, 0x020A}, {100, 6, 0x020C}, {100, 7, 0x020C}, {100, 5, 0x020A},
        {200, 4, 0x020B}, {200, 6, 0x020B}, {200, 7, 0x020C}, {200, 5, 0x020A}, /* memory */
        {300, 6, 0x020A}, {300, 7, 0x020A},                                     /* a shared file */
        {400, 6, 0x020B},                                                       /* shared memory */
        {500, 6, 0x020B},                                                       /* an unknown area: a grown stack */
    };
    enum { ROWS = sizeof row / sizeof *row };
    (void)state;
    file_area(500, 100, 1, 0, 7);
    area(500, 200, 1, 0, 0, PROT_READ, MAP_PRIVATE, "//anon");
    area(500, 300, 1, 0, 9, PROT_READ, MAP_SHARED, "/data");
    area(500, 400, 1, 0, 10, PROT_READ, MAP_SHARED, "/dev/zero (deleted)");
    for (unsigned i = 0; i < ROWS; i++) {
        fault(500, row[i].page * PAGE + 8, row[i].error);
        resolved(SRC_FAULT_MINOR, 500, row[i].page * PAGE + 8);
    }
    finish();
    unsigned seen = 0;
    for (size_t i = 0; i < out.count; i++) {
        const struct one *e = &out.event[i];
        if (e->hook < 0x020A || e->hook > 0x020F)
            continue;
        assert_true(seen < ROWS && e->size == 16 && e->version == 2 && e->pid == 500 && e->tid == 500);
        assert_int_equal(u64(e, 0), row[seen].page * PAGE + 8);
        assert_int_equal(u64(e, 8), 0x400000);
        assert_int_equal(e->hook, row[seen].hook);
        seen++;
    }
    assert_int_equal(seen, ROWS);
}

static void hard_faults(void **state)
{
    (void)state;
    config.mask[0] = 0x2003;
    file_area(500, 100, 10, 5, 7);
    looked_for(500, 999); /* an earlier fault on another page, which was in memory */
    looked_for(500, 8);
    uint64_t began = now;
    looked_for(500, 8); /* a second time, after the wait */
    resolved(SRC_FAULT_MAJOR, 500, 103 * PAGE + 9);
    resolved(SRC_FAULT_MAJOR, 600, 103 * PAGE + 9); /* another process: swapped-out memory */
    finish();
    const struct one *h = nth(0x0220, 0), *swapped = nth(0x0220, 1);
    assert_true(count(0x0220) == 2 && h->size == 40 && h->version == 2 && h->type == ETL_PERFINFO64 &&
                count(0x020E) == 0 && count(0x0425) == 0);
    assert_true(u64(h, 0) == began && u64(h, 8) == 8 * PAGE && u64(h, 16) == 103 * PAGE + 9 && u32(h, 32) == 500 &&
                u32(h, 36) == PAGE);
    assert_int_equal(u64(h, 24), file_key(file_dev(DEV_MAJOR, DEV_MINOR), 7));
    assert_true(u64(nth(0x0420, 0), 0) == u64(h, 24));
    assert_true(u64(swapped, 0) == swapped->time && u64(swapped, 24) == 0 && u64(swapped, 8) == 0);
}

static void violations(void **state)
{
    struct {
        uint64_t common;
        int32_t  sig, error, code;
        char     comm[16];
        int32_t  tid, group, result;
    } r = {0, SIGSEGV, 0, 1, "p", 500, 0, 0};
    (void)state;
    assert_int_equal(offsetof(__typeof__(r), tid), 36);
    fault(500, 0x10, 6);
    maker_sample(&maker, 0, SRC_FAULT_SIGNAL, now += 10, 500, 500, 0, 0, &r, sizeof r);
    maker_sample(&maker, 0, SRC_FAULT_SIGNAL, now += 10, 500, 500, 0, 0, &r, sizeof r); /* no fault is open */
    fault(500, 0x20, 6); /* the kernel handles it: a bad pointer in a system call */
    r.code = 0;          /* kill(pid, SIGSEGV) */
    maker_sample(&maker, 0, SRC_FAULT_SIGNAL, now += 10, 500, 500, 0, 0, &r, sizeof r);
    r.code = 1;
    r.tid  = 600;
    maker_sample(&maker, 0, SRC_FAULT_SIGNAL, now += 10, 500, 500, 0, 0, &r, sizeof r);
    finish();
    assert_int_equal(count(0x020F), 1);
    assert_true(u64(nth(0x020F, 0), 0) == 0x10 && u64(nth(0x020F, 0), 8) == 0x400000);
    assert_int_equal(count(0x020A) + count(0x020B) + count(0x020C), 0);
}

/* The records before the snapshot determine the successor's events. */
static void successor(void **state)
{
    struct convert a, b;
    (void)state;
    file_area(500, 100, 10, 5, 7);
    maker_task(&maker, 0, PERF_RECORD_FORK, now += 10, 700, 500, 700, 500);
    fault(500, 100 * PAGE, 6);
    looked_for(600, 3);
    struct {
        uint64_t common, number, address, length;
    } in = {0, 11, 109 * PAGE, PAGE};
    maker_sample(&maker, 0, SRC_MUNMAP, now += 10, 500, 500, 0, 0, &in, sizeof in);
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_pass(&maker, now + 100, now + 50);
    assert_int_equal(convert_init(&a, &config, &maker.log, NULL), 0);
    take_all(&a);
    int      fd     = memfd_create("snapshot", MFD_CLOEXEC);
    uint64_t needed = convert_needed(&a);
    assert_int_equal(convert_snapshot_write(&a, needed, fd, NULL), 0);
    convert_finish(&a);
    now += 100;
    struct {
        uint64_t common, number;
        int64_t  result;
    } back = {0, 11, 0};
    maker_sample(&maker, 0, SRC_MUNMAP_EXIT, now += 10, 500, 500, 0, 0, &back, sizeof back);
    resolved(SRC_FAULT_MINOR, 500, 100 * PAGE);
    unmap(700, 100, 1, 0);
    file_area(500, 100, 9, 5, 7);
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_pass(&maker, 900000, UINT64_MAX);
    out.count                  = 0;
    maker.log.header->free_pos = needed;
    assert_int_equal(convert_init(&b, &config, &maker.log, NULL), 0);
    assert_int_equal(convert_snapshot_read(&b, fd, NULL), 0);
    take_all(&b);
    assert_int_equal(out.count, 2);
    expect_map(0x0426, 0, 500, 109, 1, 14, 7);
    assert_int_equal(count(0x020C), 1);
    convert_finish(&b);
    off_t size = lseek(fd, 0, SEEK_END);
    /* cut anywhere: refused, and nothing of it stays */
    for (off_t keep = size - 1; keep >= 0; keep -= size / 60 + 1) {
        struct reason why;
        assert_int_equal(ftruncate(fd, keep), 0);
        assert_int_equal(convert_init(&b, &config, &maker.log, NULL), 0);
        assert_int_equal(convert_snapshot_read(&b, fd, &why), W_INVALID_DATA);
        convert_finish(&b);
    }
    close(fd);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(mapped_and_unmapped), T(told_again), T(fork_exec_and_exit),
        T(at_start_and_stop),   T(classes),    T(hard_faults),
        T(violations),          T(successor),  cmocka_unit_test(every_class_is_read_back)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(out.bytes);
    return failed;
}
