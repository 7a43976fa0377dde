/* VAMAP on this machine: a known number of file mappings made and undone is found again, by process, and what there was
 * at the start and at the stop. Proves: issue 4, truth of VAMAP. Needs CAP_PERFMON; else skipped. */
#include "autologger/kernel/tests/klog_fixture.h"

#include <fcntl.h>
#include <sys/wait.h>

enum { PAGE = 4096, PAGES = 8, MAPPINGS = 100, LEFT = 5 };

static void workload(int fd)
{
    for (int i = 0; i < MAPPINGS + LEFT; i++) {
        char *p = mmap(NULL, (PAGES - 1) * PAGE, PROT_READ, MAP_SHARED, fd, PAGE);
        if (p == MAP_FAILED || mprotect(p, PAGE, PROT_NONE)) /* other rights do not make another mapping */
            _exit(1);
        if (i < MAPPINGS && i % 2 == 0 && munmap(p, (PAGES - 1) * PAGE))
            _exit(2);
        if (i < MAPPINGS && i % 2 == 1 && (munmap(p, PAGE) || munmap(p + PAGE, (PAGES - 2) * PAGE))) /* in two parts */
            _exit(3);
    }
    _exit(0); /* the last mappings end with the process */
}

struct found {
    size_t   events;
    uint64_t bytes, key;
};
static struct found find_all(const struct collector *c, uint16_t hook, pid_t pid, uint64_t key)
{
    struct found f = {0};
    for (size_t i = 0; i < c->count; i++) {
        const struct seen *s = &c->event[i];
        if (s->hook != hook || u32_at(s, 40) != (uint32_t)pid || (key && u64_at(s, 8) != key))
            continue;
        assert_true(s->size == 44 && s->version == 3 && u64_at(s, 16) == 0);
        f.events++;
        f.bytes += u64_at(s, 24);
    }
    return f;
}

static void VAMAP_of_a_file(void **state)
{
    static struct collector c;
    static char             block[PAGES * PAGE];
    struct klog_counters    n;
    char                    path[256];
    int                     status;
    struct klog_config      config = config_make(&c, 0x8003, 0);
    (void)state;
    snprintf(path, sizeof path, "%s/mappedXXXXXX", AL_BINARY_DIR);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, block, sizeof block), sizeof block);
    char *before      = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
    config.hooks[0]   = 0x0426;
    config.hook_count = 1;
    assert_true(before != MAP_FAILED);
    if (!start(&c, &config)) {
        unlink(path);
        skip();
    }
    pid_t pid = fork();
    if (pid == 0)
        workload(fd);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    halt(&c);
    munmap(before, PAGE);
    unlink(path);
    close(fd);
    check_balance(&c, &n);
    uint64_t key = 0;
    for (size_t i = 0; i < c.count && !key; i++)
        if (c.event[i].hook == 0x0420 && text_has(&c.event[i], 8, strrchr(path, '/') + 1))
            key = u64_at(&c.event[i], 0);
    assert_true(key >> 63 && (key & 15) == 0);
    struct found map = find_all(&c, 0x0425, pid, key), unmap = find_all(&c, 0x0426, pid, key);
    assert_int_equal(map.events, MAPPINGS + LEFT);
    assert_int_equal(unmap.events, MAPPINGS / 2 + MAPPINGS / 2 * 2 + LEFT);
    assert_int_equal(map.bytes, (uint64_t)(MAPPINGS + LEFT) * (PAGES - 1) * PAGE);
    assert_int_equal(unmap.bytes, map.bytes);
    struct found at_start = find_all(&c, 0x0427, getpid(), key), at_stop = find_all(&c, 0x0428, getpid(), key);
    assert_true(at_start.events == 1 && at_start.bytes == PAGE && at_stop.events == 1 && at_stop.bytes == PAGE);
    for (size_t i = 0; i < c.count; i++)
        if (c.event[i].hook == 0x0425 && u64_at(&c.event[i], 8) == key)
            assert_int_equal(u64_at(&c.event[i], 32), PAGE); /* the offset in the file */
    assert_int_equal(c.conditions, 0);
    assert_true(n.stacks + n.stacks_missing >= MAPPINGS); /* one for each munmap() that removed a mapping */
    finish(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(VAMAP_of_a_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
