/* The events that a merge adds: the file of each image, also when another file is at the path by now, and the kernel's
 * names.
 * Proves: MRG-03 (image identity before each image event), CON-21. */
#include "autologger/consumer/classic_event.h"
#include "autologger/consumer/kernel_symbols.h"
#include "autologger/consumer/merge.h"
#include "autologger/consumer/tests/names_maker.h"
#include "autologger/etl/writer.h"
#include "autologger/kernel/source/procfs.h"
#include "registry-sim/base/cursor.h"
#include "registry-sim/base/os.h"
#include "registry-sim/win32/utf16.h"
#include "tools/dev/read_back.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { PID = MAKER_PID, SETS_MAX = 64 };

static char folder[40], input[64], output[64], again[64];

static int setup(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/al-identity-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(input, sizeof input, "%s/k.etl", folder);
    snprintf(output, sizeof output, "%s/m.etl", folder);
    snprintf(again, sizeof again, "%s/n.etl", folder);
    return 0;
}
static int teardown(void **state)
{
    char command[80];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static void save(struct image *m)
{
    FILE *f = fopen(input, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(m->data, 1, m->size, f), m->size);
    fclose(f);
    image_free(m);
}

static struct image start(void)
{
    struct etl_file_info info = build_info(16384);
    info.log_file_mode |= ETL_MODE_SYSTEM_LOGGER;
    struct image m = image_start(&info);
    image_buffer(&m, 1, 1);
    return m;
}

struct set {
    uint8_t  opcode;
    int64_t  time;
    uint32_t pid, tid;
    uint8_t  payload[600];
    uint32_t size;
};

/* All ImageID events; each must directly precede an Image event of its CPU and time, in the order 64, 0, 36 or 32. */
static unsigned sets_read(const char *path, struct set *sets)
{
    struct etl_reader *r;
    struct etl_event   e;
    unsigned           n = 0, open = 0;
    assert_int_equal(etl_reader_open(path, &r, NULL), W_SUCCESS);
    while (etl_next(r, &e)) {
        struct image_fields image;
        if (e.kind == ETL_KIND_FULL)
            read_back_see(e.record, e.record_size);
        if (e.kind == ETL_KIND_FULL) {
            assert_true(n < SETS_MAX && e.payload_size <= sizeof sets->payload);
            sets[n] = (struct set){.opcode = e.opcode,
                                   .time   = e.raw_time,
                                   .pid    = e.process_id,
                                   .tid    = e.thread_id,
                                   .size   = e.payload_size};
            memcpy(sets[n++].payload, e.payload, e.payload_size);
            assert_int_equal(e.cpu, 1);
            assert_int_equal(open, e.opcode == 64 ? 0 : e.opcode == 0 ? (open == 64 ? 64 : 0) : 1);
            open = e.opcode == 64 ? 64 : e.opcode == 0 ? 1 : 2;
        } else {
            bool is_image = image_event_read(&e, &image);
            assert_int_equal(open, is_image ? 2 : 0);
            if (is_image)
                assert_true(sets[n - 1].time == e.raw_time && sets[n - 1].pid == PID && sets[n - 1].tid == e.thread_id);
            open = 0;
        }
    }
    etl_reader_close(r);
    return n;
}

static const struct set *debug_id(const struct set *sets, unsigned count, int64_t time)
{
    for (unsigned i = 0; i < count; i++)
        if (sets[i].time == time && (sets[i].opcode == 36 || sets[i].opcode == 32))
            return &sets[i];
    fail_msg("no set at %lld", (long long)time);
    return NULL;
}

static void what_was_mapped_counts(void **state)
{
    char                self[512], nt[600];
    struct elf_info     elf     = {0};
    const char         *files[] = {input}, *merged[] = {output};
    struct merge_counts c;
    struct reason       why;
    struct set          sets[SETS_MAX];
    uint32_t            half[2];
    uint8_t             other[20] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
    (void)state;
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(length > 0);
    self[length] = 0;
    int fd       = open(self, O_RDONLY | O_CLOEXEC);
    assert_true(elf_read(fd, &elf));
    close(fd);
    if (elf.build_id_size != 20)
        skip(); /* the linker makes no build id */
    memcpy(half, elf.build_id, sizeof half);
    make_nt_path(self, nt, sizeof nt);

    struct image m = start();
    make_build_id(&m, 2000000, other); /* build id of the file that was at the path then */
    make_image(&m, 2000001, HOOK_IMAGE_LOAD, 0x1000, 0x5000, 0x04030201, 0x08070605, nt);
    /* no build id in the trace, but the file at the path has it */
    make_image(&m, 2000002, HOOK_IMAGE_LOAD, 0x7000, 0x5000, half[0], half[1], nt);
    /* another file is at the path by now: unknown */
    make_image(&m, 2000003, HOOK_IMAGE_LOAD, 0x9000, 0x5000, half[0] + 1, half[1], nt);
    make_image(&m, 2000004, HOOK_IMAGE_LOAD, 0xB000, 0x5000, 1, 0, "[vdso]");
    make_image(&m, 2000005, HOOK_IMAGE_UNLOAD, 0x1000, 0x5000, 0x04030201, 0x08070605, nt);
    image_event(&m, 2000006, 1);
    save(&m);
    assert_int_equal(merge_files(os_linux(), files, 1, output, &c, &why), W_SUCCESS);
    assert_int_equal(c.out, c.in - c.headers_dropped + c.added + (c.headers_dropped ? 1 : 0));
    assert_int_equal(c.identity.images, 5);
    assert_int_equal(c.identity.with_build_id, 3);
    assert_int_equal(c.identity.no_file, 1);
    unsigned n = sets_read(output, sets);
    assert_int_equal(n, 3 + 3 + 3 + 2 + 2); /* one FileVersion for each of three files */
    assert_int_equal(c.added, n);
    const struct set *was = debug_id(sets, n, 2000001), *now = debug_id(sets, n, 2000002),
                     *gone = debug_id(sets, n, 2000003);
    assert_true(was->opcode == 36 && now->opcode == 36 && gone->opcode == 32 &&
                debug_id(sets, n, 2000004)->opcode == 32);
    assert_memory_equal(was->payload + 12, other, 16);
    assert_memory_equal(now->payload + 12, elf.build_id, 16);
    assert_memory_equal(debug_id(sets, n, 2000005)->payload + 12, other, 16);
    assert_string_equal((const char *)was->payload + 32, "autologger.consumer.test_identity.debug");

    assert_int_equal(merge_files(os_linux(), merged, 1, again, &c, &why), W_SUCCESS); /* the images have their events */
    assert_int_equal(c.added, 0);
    assert_int_equal(c.identity.with_build_id, 3);
    assert_int_equal(sets_read(again, sets), n);
}

static void put_file(const char *name, const void *text, size_t size)
{
    char path[200];
    snprintf(path, sizeof path, "%s/root/%s", folder, name);
    for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
        *p = 0;
        mkdir(path, 0700);
        *p = '/';
    }
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, size, f), size);
    fclose(f);
}
#define PUT(name, text) put_file(name, text, sizeof text - 1)

struct taken {
    uint8_t  bytes[16384];
    uint32_t size;
    unsigned events;
};
static wstatus take(void *ctx, uint16_t cpu, const void *record, uint32_t size, int64_t time, struct reason *why)
{
    struct taken *t = ctx;
    (void)why;
    assert_true(cpu == 0 && time == 3000000 && t->size + size < sizeof t->bytes);
    if (!memmem(record, size, "[vdso]", 6)) /* depends on this machine's vdso */
        read_back_see(record, size);
    memcpy(t->bytes + t->size, record, size);
    t->size += size;
    t->events++;
    return W_SUCCESS;
}

static bool has(const struct taken *t, const char *text)
{
    return memmem(t->bytes, t->size, text, strlen(text) + 1) != NULL;
}

static void symbols_files(void)
{
    PUT("proc/sys/kernel/random/boot_id", "11111111-2222-3333-4444-555555555555\n");
    PUT("proc/kallsyms",
        "ffffffff81000000 T _stext\nffffffff81000000 T startup_64\nffffffff81000100 T schedule\n"
        "ffffffff81000180 d no_function\nffffffff81000200 t _inner\nffffffff81000200 T outer\n"
        "ffffffff81000300 T _etext\nffffffffc0001000 t ext4_one\t[ext4]\nffffffffc0001080 t ext4_two\t[ext4]\n");
    PUT("proc/modules", "ext4 8192 1 - Live 0xffffffffc0001000\n");
    PUT("sys/module/ext4/notes/.note.gnu.build-id", "\4\0\0\0\x14\0\0\0\3\0\0\0GNU\0ABCDEFGHIJKLMNOPQRST");
    PUT("sys/kernel/notes", "\4\0\0\0\x14\0\0\0\3\0\0\0GNU\0abcdefghijklmnopqrst");
}

static struct kernel_names *names_of(const char *boot_id, const uint64_t *frames, unsigned count)
{
    struct kernel_names *k = kernel_names_create();
    struct etl_reader   *r;
    struct etl_event     e;
    uint8_t              bytes[256] = {0}, boot[64];
    struct writer        w          = wr_make(boot, sizeof boot);
    struct image         m          = start();
    wr_bytes(&w, boot_id, strlen(boot_id) + 1);
    wr_bytes(&w, "6.1", 4);
    if (*boot_id)
        make_named(&m, 2000000, MAKER_BOOT, sizeof MAKER_BOOT - 1, boot, w.pos);
    memcpy(bytes + 16, frames, count * 8ul);
    image_kernel(&m, 2000001, 0x1820, 2, 0, bytes, 16 + count * 8ul);
    save(&m);
    assert_int_equal(etl_reader_open(input, &r, NULL), W_SUCCESS);
    while (etl_next(r, &e))
        assert_true(kernel_names_see(k, &e));
    etl_reader_close(r);
    return k;
}

static void functions_in_stacks_are_saved(void **state)
{
    static const uint64_t frames[] = {UINT64_C(0xffffffff81000110), UINT64_C(0xffffffff81000210),
                                      UINT64_C(0xffffffffc0001090),
                                      UINT64_C(0xffffffff81000300) /* a call at the end of `outer` */,
                                      UINT64_C(0xffffffffc0009000), UINT64_C(0x8000000000000007),
                                      /* an address behind a value that is no address does not count either */
                                      UINT64_C(0xffff888000001000)};
    struct taken          t        = {.size = 0};
    struct reason         why;
    char                  root[64];
    (void)state;
    snprintf(root, sizeof root, "%s/root", folder);
    symbols_files();
    struct kernel_names *k = names_of("11111111-2222-3333-4444-555555555555", frames, 7);
    assert_int_equal(kernel_names_write(k, root, 3000000, &(struct added_events){take, &t}, &why), W_SUCCESS);
    const struct kernel_names_counts *c = kernel_names_counts(k);
    assert_int_equal(c->addresses, 5); /* the last one is no kernel address */
    assert_int_equal(c->named, 4);     /* and one lies behind ext4's end */
    assert_true(has(&t, "schedule") && has(&t, "outer") && has(&t, "ext4_two") && has(&t, "ext4") &&
                has(&t, "vmlinux"));
    assert_false(has(&t, "ext4_one") || has(&t, "_inner") || has(&t, "_stext") || has(&t, "_etext") ||
                 has(&t, "no_function"));
    assert_non_null(memmem(t.bytes, t.size, "ABCDEFGHIJKLMNOPQRST", 20));
    assert_non_null(memmem(t.bytes, t.size, "abcdefghijklmnopqrst", 20));
    assert_true(c->events == t.events && c->bytes == t.size && c->none[0] == 0);
    kernel_names_destroy(k);
}

static void event_with_stack(struct image *m, int64_t time, const uint64_t *stack, uint16_t count)
{
    uint8_t                 bytes[256];
    size_t                  n = build_item(bytes, ETL_EXT_STACK64, false, stack, (uint16_t)(count * 8));
    struct etl_event_header h = build_event(time, n);
    h.flags |= ETL_EVENT_EXTENDED;
    image_add(m, &h, sizeof h, bytes, n);
}

/* Stacks of tracepoints that are providers; a program's stack has no kernel functions, whatever follows its
 * addresses. */
static void functions_in_stacks_of_events_are_saved(void **state)
{
    static const uint64_t kernel[]  = {0, UINT64_C(0xffffffff81000110), UINT64_C(0xffffffff81000210), 0x401000},
                          program[] = {0, 0x401000, UINT64_C(0xffffffffc0001090)}, empty[] = {0};
    struct image         m = start();
    struct kernel_names *k = kernel_names_create();
    struct taken         t = {.size = 0};
    struct reason        why;
    struct etl_reader   *r;
    struct etl_event     e;
    char                 root[64];
    (void)state;
    snprintf(root, sizeof root, "%s/root", folder);
    symbols_files();
    make_named(&m, 2000000, MAKER_BOOT, sizeof MAKER_BOOT - 1,
               "11111111-2222-3333-4444-555555555555\0"
               "6.1",
               41);
    event_with_stack(&m, 2000001, kernel, 4);
    event_with_stack(&m, 2000002, program, 3);
    event_with_stack(&m, 2000003, empty, 1);
    image_event(&m, 2000004, 1);
    save(&m);
    assert_int_equal(etl_reader_open(input, &r, NULL), W_SUCCESS);
    for (unsigned i = 0; etl_next(r, &e); i++)
        assert_true((i % 2 ? kernel_names_see : kernel_names_see_stack)(k, &e) && kernel_names_see(k, &e));
    etl_reader_close(r);
    assert_int_equal(kernel_names_write(k, root, 3000000, &(struct added_events){take, &t}, &why), W_SUCCESS);
    assert_int_equal(kernel_names_counts(k)->addresses, 2);
    assert_int_equal(kernel_names_counts(k)->named, 2);
    assert_true(has(&t, "schedule") && has(&t, "outer") && !has(&t, "ext4_two"));
    kernel_names_destroy(k);
}

/* Addresses of another boot mean other functions: no names are better than wrong ones. */
static void another_boot_gives_no_names(void **state)
{
    static const uint64_t frames[] = {UINT64_C(0xffffffff81000110)};
    struct taken          t        = {.size = 0};
    struct reason         why;
    char                  root[64];
    (void)state;
    snprintf(root, sizeof root, "%s/root", folder);
    symbols_files();
    struct kernel_names *k = names_of("99999999-2222-3333-4444-555555555555", frames, 1);
    assert_int_equal(kernel_names_write(k, root, 3000000, &(struct added_events){take, &t}, &why), W_SUCCESS);
    assert_int_equal(t.events, 0);
    assert_non_null(strstr(kernel_names_counts(k)->none, "another boot"));
    kernel_names_destroy(k);
    k = names_of("", frames, 1);
    assert_int_equal(kernel_names_write(k, root, 3000000, &(struct added_events){take, &t}, &why), W_SUCCESS);
    assert_true(t.events == 0 && strstr(kernel_names_counts(k)->none, "does not say") != NULL);
    kernel_names_destroy(k);
    PUT("proc/kallsyms", "0000000000000000 T _stext\n0000000000000000 T schedule\n"); /* without rights */
    k = names_of("11111111-2222-3333-4444-555555555555", frames, 1);
    assert_int_equal(kernel_names_write(k, root, 3000000, &(struct added_events){take, &t}, &why), W_SUCCESS);
    assert_true(t.events == 0 && strstr(kernel_names_counts(k)->none, "CAP_SYSLOG") != NULL);
    kernel_names_destroy(k);
}

/* The first event of every file: its header, here with losses of both kinds. */
static void header_of_a_file(void **state)
{
    struct etl_file_info info = build_info(16384);
    struct etl_writer   *w;
    struct etl_reader   *r;
    struct etl_event     e;
    uint8_t             *buffer = calloc(1, 16384);
    (void)state;
    info.max_file_size = 64;
    info.file_name     = "/var/log/k.etl";
    assert_int_equal(etl_writer_create(os_linux(), input, &info, 0, &w, NULL), W_SUCCESS);
    assert_int_equal(etl_writer_put(w, buffer, 72, 1, info.start_raw + 5, NULL), W_SUCCESS);
    etl_writer_add_lost(w, 3);
    assert_int_equal(etl_writer_finish(w, info.start_time + 1000000, 5, true, NULL), W_SUCCESS);
    etl_writer_destroy(w);
    assert_int_equal(etl_reader_open(input, &r, NULL), W_SUCCESS);
    assert_true(etl_next(r, &e) && e.hook == 0);
    read_back_see(e.record, e.record_size);
    etl_reader_close(r);
    free(buffer);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {T(what_was_mapped_counts),
                                       T(functions_in_stacks_are_saved),
                                       T(functions_in_stacks_of_events_are_saved),
                                       T(another_boot_gives_no_names),
                                       T(header_of_a_file),
                                       cmocka_unit_test(every_class_is_read_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
