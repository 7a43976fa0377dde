/* SPLIT_IO on this machine's disk: every part of a large write is told, and leads to the disk events of the parts. And
 * DISK_IO when more is requested than the disk takes at once: a request that it refuses, and that a worker
 * of the kernel's asks for again, stays the asker's. Proves: issue 4, truth of SPLIT_IO and DISK_IO, KRN-05. Needs
 * CAP_PERFMON and a disk that splits; else skipped. */
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
    /* large pages, so that one request can be larger than the disk's limit */
    char *buffer = aligned_alloc(2 << 20, WRITE_BYTES);
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
            continue;                                                             /* another program's */
        assert_int_equal(u64_at(part, 16), u64_at(whole, 16) + u32_at(whole, 8)); /* begins at the first's end */
        assert_true(of_irp(&c, 0x010D, 0, u64_at(s, 8)) != NULL);
        linked++;
    }
    print_message("  %zu splits, %zu of them ours; %llu bytes written\n", splits, linked, (unsigned long long)bytes);
    bool all = requests_told();
    finish(&c);
    if (delivered("block:block_split") == 0 || !all) {
        print_message("skipped: this disk takes 16 MB at once, or its kernel does not tell of all requests\n");
        skip();
    }
    assert_true(linked > 0 && linked <= splits);
    assert_int_equal(bytes, (uint64_t)WRITES * WRITE_BYTES);
}

/* ---- more than the disk takes ---- */

enum { WRITERS = 64, ROUNDS = 16, BLOCK = 256 << 10 };
static struct writer {
    pthread_t thread;
    uint32_t  tid;
    int       fd;
    char     *block;
    bool      bad;
} writers[WRITERS];

static void *writer_main(void *arg)
{
    struct writer *w = arg;
    w->tid           = (uint32_t)syscall(SYS_gettid);
    for (int i = 0; i < ROUNDS; i++)
        w->bad |= pwrite(w->fd, w->block, BLOCK, (off_t)i * BLOCK) != BLOCK;
    return NULL;
}

static bool writers_open(void)
{
    bool good = true;
    for (int i = 0; i < WRITERS; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/fullXXXXXX", AL_BINARY_DIR);
        writers[i] = (struct writer){.fd = mkostemp(path, O_DIRECT), .block = aligned_alloc(4096, BLOCK)};
        if (writers[i].fd >= 0)
            unlink(path);
        good &= writers[i].fd >= 0 && writers[i].block && posix_fallocate(writers[i].fd, 0, ROUNDS * BLOCK) == 0;
        if (writers[i].block)
            memset(writers[i].block, 'f', BLOCK);
    }
    return good;
}

static void writers_close(void)
{
    for (int i = 0; i < WRITERS; i++) {
        if (writers[i].fd >= 0)
            close(writers[i].fd);
        free(writers[i].block);
    }
}

static uint64_t written_by(const struct collector *c, uint32_t tid)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < c->count; i++)
        bytes += c->event[i].hook == 0x010B && u32_at(&c->event[i], 48) == tid ? u32_at(&c->event[i], 8) : 0;
    return bytes;
}

static void DISK_IO_of_a_full_disk(void **state)
{
    static struct collector c;
    struct klog_counters    n;
    unsigned                exact = 0;
    (void)state;
    struct klog_config config = config_make(&c, 0x500, 0);
    config.hook_count         = 0;
    if (!writers_open() || !start(&c, &config)) {
        writers_close();
        print_message("skipped: no O_DIRECT here, or no right\n");
        skip();
    }
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&writers[i].thread, NULL, writer_main, &writers[i]), 0);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(writers[i].thread, NULL);
    halt(&c);
    writers_close();
    check_balance(&c, &n);
    bool told = n.lost_ring + n.lost_memory + n.withheld == 0 && delivered("block:block_rq_complete") > 0;
    for (int i = 0; i < WRITERS; i++) {
        assert_false(writers[i].bad);
        exact += written_by(&c, writers[i].tid) == (uint64_t)ROUNDS * BLOCK;
    }
    print_message("  %llu requests were refused for a while; %u of %u threads have what they wrote\n",
                  (unsigned long long)delivered("block:block_rq_requeue"), exact, WRITERS);
    finish(&c);
    if (!told) {
        print_message("skipped: events were lost or withheld, or this is no disk\n");
        skip();
    }
    assert_int_equal(exact, WRITERS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(SPLIT_IO_of_large_writes),
                                       cmocka_unit_test(DISK_IO_of_a_full_disk)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
