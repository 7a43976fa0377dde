/* A session on a machine without memory: every allocation and every mapping fails in turn, from its creation to its
 * end. Whatever fails, nothing crashes or leaks, the caller gets a Status with a reason, and attempted = written +
 * lost.
 * Proves: COR-20, LGT-05. */
// timeout: 180
#include "autologger/session/tests/fixture.h"

#include <errno.h>
#include <fcntl.h>

/* The linker redirects calls of the code under test to here (see CMakeLists.txt). */
static struct fault {
    unsigned at, calls; /* call number `at` fails (1-based); 0: none */
    bool     armed;
} memory, mapping;

static bool fails(struct fault *f) { return f->armed && ++f->calls == f->at; }

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
char *__real_strdup(const char *s);
void *__real_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
char *__wrap_strdup(const char *s);
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);

static void *none(void)
{
    errno = ENOMEM;
    return NULL;
}
void *__wrap_malloc(size_t size) { return fails(&memory) ? none() : __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) { return fails(&memory) ? none() : __real_calloc(count, size); }
void *__wrap_realloc(void *old, size_t size) { return fails(&memory) ? none() : __real_realloc(old, size); }
void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return fails(&memory) ? none() : __real_aligned_alloc(alignment, size);
}
char *__wrap_strdup(const char *s) { return fails(&memory) ? none() : __real_strdup(s); }
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (!fails(&mapping))
        return __real_mmap(address, size, protection, flags, fd, offset);
    errno = ENOMEM;
    return MAP_FAILED;
}

static void arm(bool on) { memory.armed = mapping.armed = on; }

static void writes(struct session *s, struct program *w)
{
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 60; i++)
            program_write(w, &(int[50]){i}, 200);
        arm(true);
        logger_pass(s->logger, false, round % 3 == 0);
        arm(false);
    }
}

/* The program maps its memory; a failure of that is the program's own. Returns whether it attached. */
static bool attach(struct program *w, struct session *s, unsigned slot, unsigned entry)
{
    arm(true);
    const struct session_uid *u = session_admit(s, (uint32_t)geteuid());
    arm(false);
    if (u)
        program_attach(w, s, (uint32_t)geteuid(), slot, entry);
    return u != NULL;
}

/* One whole session. */
static void run(void)
{
    struct fixture          f;
    struct plan_text        t;
    struct program          w = {0};
    unsigned                slot, entry;
    struct session         *s   = NULL;
    struct enable_terms     all = {0};
    struct reason           why = {0};
    struct ctl_session_info info;

    fixture_init(&f, false);
    struct plan plan = plan_make(&f, &t, "memory", 8, 16, 32);
    arm(true);
    wstatus st = table_add(&f.table, &plan, &s, &why);
    if (!st)
        st = session_enable(s, &test_provider, "key", &all, &slot, &entry, &why);
    if (!st)
        st = session_start(s, &why);
    if (!st)
        session_fs_ready(s);
    arm(false);
    if (st) {
        assert_true(strlen(why.text) > 5);
        fixture_finish(&f);
        return;
    }
    if (attach(&w, s, slot, entry))
        writes(s, &w);
    arm(true);
    session_stop(s);
    arm(false);
    session_info(s, &info);
    assert_int_equal(w.attempted, info.events_written + info.lost_ring + info.lost_memory + info.lost_file);
    if (session_file_status(s, &why)) {
        assert_true(strlen(why.text) > 5);
    } else {
        struct found found = file_read(t.path);
        assert_int_equal(found.events, info.events_written);
        assert_int_equal(found.inversions + found.damage, 0);
    }
    fixture_finish(&f);
}

static unsigned every_one_fails_in_turn(struct fault *f)
{
    for (unsigned at = 1;; at++) {
        memory = mapping = (struct fault){0};
        f->at            = at;
        run();
        if (f->calls < at)
            return at - 1;
        assert_true(at < 2000);
    }
}

static void allocations(void **state)
{
    (void)state;
    unsigned n = every_one_fails_in_turn(&memory);
    print_message("%u allocations failed in turn\n", n);
    assert_true(n > 10);
}
static void mappings(void **state)
{
    (void)state;
    unsigned n = every_one_fails_in_turn(&mapping);
    print_message("%u mappings failed in turn\n", n);
    assert_true(n > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(allocations), cmocka_unit_test(mappings)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
