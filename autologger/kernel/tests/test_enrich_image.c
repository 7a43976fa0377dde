/* A burst of mappings of one file, all before a helper has answered: each has its note. Proves: MRG-03. */
#include "autologger/kernel/source/drain.h"
#include "autologger/kernel/tests/raw_maker.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { BURST = 500, GONE = 0x7FFFFFF0, OTHER_USER = 6101 };
struct fixture {
    struct drain    d;
    struct maker    maker;
    struct elf_info libc;
    char            path[4096], copy[64]; /* paths of the C library: root's file, and a user's */
};

static void library_find(struct fixture *f)
{
    struct proc_mapping m;
    char                line[4400];
    FILE               *maps = fopen("/proc/self/maps", "re");
    assert_non_null(maps);
    while (!*f->path && fgets(line, sizeof line, maps))
        if (proc_mapping_parse(line, false, &m) && strstr(m.path, "/libc.so."))
            snprintf(f->path, sizeof f->path, "%s", m.path);
    fclose(maps);
    int fd = open(f->path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && elf_read(fd, &f->libc));
    assert_true(f->libc.build_id_size == 20 && f->libc.execs > 0);
    close(fd);
}

static void library_copy(struct fixture *f)
{
    uint8_t bytes[65536];
    ssize_t n;
    snprintf(f->copy, sizeof f->copy, "/tmp/al-enrich-XXXXXX");
    int in = open(f->path, O_RDONLY | O_CLOEXEC), out = mkostemp(f->copy, O_CLOEXEC);
    assert_true(in >= 0 && out >= 0);
    while ((n = read(in, bytes, sizeof bytes)) > 0)
        assert_int_equal(write(out, bytes, (size_t)n), n);
    assert_int_equal(n, 0);
    if (geteuid() == 0)
        assert_int_equal(fchown(out, OTHER_USER, OTHER_USER), 0);
    close(in);
    close(out);
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    *state            = f;
    assert_non_null(f);
    maker_init(&f->maker, 1, 1 << 20);
    f->d.log   = &f->maker.log;
    f->d.proc  = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    f->d.elves = calloc(1, sizeof *f->d.elves);
    f->d.notes = calloc(1, sizeof *f->d.notes);
    f->d.text  = malloc(DRAIN_TEXT);
    assert_true(f->d.proc >= 0 && f->d.elves && f->d.notes && f->d.text && enrich_images_init(&f->d));
    library_find(f);
    library_copy(f);
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    enrich_images_finish(&f->d);
    maker_finish(&f->maker);
    unlink(f->copy);
    close(f->d.proc);
    free(f->d.elves);
    free(f->d.notes);
    free(f->d.text);
    free(f);
    return 0;
}

/* A mapping of the C library's code by a process that is gone: only the path and the build id are known. */
static void mapping(struct fixture *f, uint64_t time, uint64_t base, const char *path)
{
    struct {
        struct perf_event_header header;
        uint32_t                 pid, tid;
        uint64_t                 addr, len, pgoff;
        uint8_t                  id_size, reserved[3], id[20];
        uint32_t                 prot, flags;
        char                     name[256];
    } r      = {.pid = GONE, .tid = GONE, .id_size = 20, .prot = PROT_READ | PROT_EXEC};
    size_t n = (strlen(path) + 8) & ~(size_t)7;
    r.header = (struct perf_event_header){PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID, 0};
    r.pgoff  = f->libc.exec[0].offset & ~UINT64_C(4095);
    r.addr   = base + (f->libc.exec[0].vaddr & ~UINT64_C(4095)) - f->libc.low;
    r.len    = f->libc.exec[0].size;
    memcpy(r.id, f->libc.build_id, sizeof r.id);
    assert_true(n + TRAILER_SIZE <= sizeof r.name);
    snprintf(r.name, sizeof r.name, "%s", path);
    enrich_image(&f->d, (const uint8_t *)&r, offsetof(typeof(r), name) + n + TRAILER_SIZE, time);
}

static uint64_t base_of(unsigned i) { return (UINT64_C(1) << 40) + i * (UINT64_C(1) << 32); }

/* All notes are there, once each, in any order, each with its own place and time. */
static void check_notes(const struct fixture *f, unsigned first, unsigned count)
{
    static bool seen[BURST];
    memset(seen, 0, sizeof seen);
    assert_int_equal(f->d.notes->records, count);
    for (size_t at = 0; at < f->d.notes->used;) {
        struct raw_image r;
        memcpy(&r, f->d.notes->data + at, sizeof r);
        unsigned i = (unsigned)((r.base - base_of(0)) >> 32);
        assert_true(r.own.size >= sizeof r && i >= first && i < first + count && !seen[i]);
        seen[i] = true;
        assert_int_equal(r.base, base_of(i));
        assert_int_equal(r.size, f->libc.high - f->libc.low);
        assert_int_equal(r.own.time, 1000 + i);
        assert_memory_equal(r.build_id, f->libc.build_id, 20);
        at += r.own.size;
    }
}

static void of_roots_file(void **state)
{
    struct fixture *f = *state;
    for (unsigned i = 0; i < BURST; i++)
        mapping(f, 1000 + i, base_of(i), f->path);
    assert_int_equal(enrich_images_horizon(&f->d, 5000), 999); /* it waits for the first */
    enrich_images(&f->d, true);
    assert_int_equal(enrich_images_horizon(&f->d, 5000), 5000);
    check_notes(f, 0, BURST);
}

static void of_a_users_file(void **state)
{
    struct fixture *f = *state;
    for (unsigned i = 0; i < BURST; i++)
        mapping(f, 1000 + i, base_of(i), f->copy);
    enrich_images(&f->d, true);
    check_notes(f, 0, BURST);
}

/* The first mapping's path does not exist: all others have their notes. */
static void the_first_is_not_known(void **state)
{
    struct fixture *f = *state;
    mapping(f, 1000, base_of(0), "/no/such/library");
    for (unsigned i = 1; i < BURST; i++)
        mapping(f, 1000 + i, base_of(i), f->path);
    enrich_images(&f->d, true);
    check_notes(f, 1, BURST - 1);
}

/* More mappings than are kept: the rest gets no note, and nothing breaks. */
static void more_than_can_wait(void **state)
{
    struct fixture *f = *state;
    for (unsigned i = 0; i < 10000; i++)
        mapping(f, 1000 + i, base_of(i), f->path);
    enrich_images(&f->d, true);
    assert_int_equal(enrich_images_horizon(&f->d, 50000), 50000);
    assert_int_equal(f->d.log->work->own_lost, 0);
    mapping(f, 1000, base_of(0), f->path); /* known by now */
    assert_int_equal(enrich_images_horizon(&f->d, 50000), 50000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(of_roots_file, setup, teardown),
        cmocka_unit_test_setup_teardown(of_a_users_file, setup, teardown),
        cmocka_unit_test_setup_teardown(the_first_is_not_known, setup, teardown),
        cmocka_unit_test_setup_teardown(more_than_can_wait, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
