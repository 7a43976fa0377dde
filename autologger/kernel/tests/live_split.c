/* SPLIT_IO on this machine's disk: every part that the kernel made of large writes is told, and leads to the disk events of the parts.
 * Proves: issue 4, truth of SPLIT_IO. Needs CAP_PERFMON and a disk that splits; else skipped. */
#include "autologger/kernel/tests/klog_fixture.h"

#include <fcntl.h>
#include <sys/syscall.h>

enum { WRITE_BYTES = 16 << 20, WRITES = 4 };

static const struct seen *of_irp(const struct collector *c, uint16_t hook, size_t at, uint64_t irp)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->event[i].hook == hook && u64_at(&c->event[i], at) == irp)
            return &c->event[i];
    return NULL;
}

static void SPLIT_IO_of_large_writes(void **state)
{
    static struct collector c;
    struct klog_counters    n;
    char                    path[256];
    uint32_t                tid    = (uint32_t)syscall(SYS_gettid);
    struct klog_config      config = config_make(&c, 0x200503, 0);
    (void)state;
    config.hooks[0]   = 0x1B20;
    config.hook_count = 1;
    snprintf(path, sizeof path, "%s/splitXXXXXX", AL_BINARY_DIR);
    int fd = mkostemp(path, O_DIRECT);
    if (fd < 0) {
        print_message("skipped: no O_DIRECT here\n");
        skip();
    }
    unlink(path);
    char *buffer = aligned_alloc(2 << 20, WRITE_BYTES); /* of large pages, so that one request can be larger than a disk takes */
    assert_non_null(buffer);
    madvise(buffer, WRITE_BYTES, MADV_HUGEPAGE);
    memset(buffer, 's', WRITE_BYTES);
    assert_int_equal(posix_fallocate(fd, 0, (off_t)WRITES * WRITE_BYTES), 0);
    if (!start(&c, &config)) {
        close(fd);
        free(buffer);
        skip();
    }
    for (int i = 0; i < WRITES; i++)
        assert_int_equal(write(fd, buffer, WRITE_BYTES), WRITE_BYTES);
    halt(&c);
    close(fd);
    free(buffer);
    check_balance(&c, &n);
    size_t   splits = 0, linked = 0;
    uint64_t bytes = 0;
    for (size_t i = 0; i < c.count; i++) {
        const struct seen *s = &c.event[i];
        if (s->hook == 0x010B && u32_at(s, 48) == tid)
            bytes += u32_at(s, 8);
        if (s->hook != 0x1B20)
            continue;
        assert_true(s->size == 16 && s->version == 2 && u64_at(s, 0) != u64_at(s, 8));
        const struct seen *whole = of_irp(&c, 0x010B, 32, u64_at(s, 0)), *part = of_irp(&c, 0x010B, 32, u64_at(s, 8));
        splits++;
        if (!whole || !part || u32_at(whole, 48) != tid)
            continue; /* another's */
        assert_int_equal(u64_at(part, 16), u64_at(whole, 16) + u32_at(whole, 8)); /* goes on where the first ends */
        assert_true(of_irp(&c, 0x010D, 0, u64_at(s, 8)) != NULL);
        linked++;
    }
    print_message("  %zu splits, %zu of them ours; %llu bytes written\n", splits, linked, (unsigned long long)bytes);
    bool all = delivered("block:block_rq_complete") == delivered("block:block_rq_issue");
    finish(&c);
    if (delivered("block:block_split") == 0 || !all) {
        print_message("skipped: this disk takes 16 MB at once, or its kernel does not tell of all requests\n");
        skip();
    }
    assert_true(linked > 0 && linked <= splits);
    assert_int_equal(bytes, (uint64_t)WRITES * WRITE_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(SPLIT_IO_of_large_writes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
