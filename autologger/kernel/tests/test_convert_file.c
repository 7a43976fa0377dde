/* File operations, system calls and memory calls from raw records. Proves: LEG-08, and issue 4, FILE_IO, FILE_IO_INIT,
 * SYSCALL, VIRT_ALLOC: every field, names, what a successor must know, damaged records. */
#include "autologger/kernel/source/filekey.h"
#include "autologger/kernel/source/filetap_record.h"
#include "autologger/kernel/source/memcalls.h"
#include "autologger/kernel/source/syscalls.h"
#include "autologger/kernel/tests/convert_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>

enum {
    CREATE = 0x0440,
    CLEANUP,
    CLOSE,
    READ,
    WRITE,
    SETINFO,
    DELETE,
    RENAME,
    DIRENUM,
    FLUSH,
    QUERY,
    FSCONTROL,
    OPEND,
    DELETE_PATH = 0x044F,
    RENAME_PATH,
    LINK_PATH,
    NAME         = 0x0420,
    NAME_GONE    = 0x0423,
    NAME_RUNDOWN = 0x0424
};
enum { /* rows of the table of calls */
       CALL_NONE,
#define CALL(row, number, kind, fd, path, dir, path2, dir2, flags, amount, offset, info) CALL_##row,
#include "autologger/kernel/source/filecalls.def"
#undef CALL
       CALL_END
};
enum { PID = 500, TID = 501, DEV = 8 << 20 | 1 };
#define TEXT(t) t, sizeof(t) /* with its NUL */

static int setup_files(void **state)
{
    (void)state;
    fixture_begin(&(struct klog_config){
        .mask = {0x06000000}, .hooks = {READ, OPEND}, .hook_count = 2, .clock = {1, CLOCK_READ_RAW, 1000000000}});
    return 0;
}
static int setup_calls(void **state)
{
    (void)state;
    fixture_begin(&(struct klog_config){.mask = {0, 0x8000, 0x40}, .clock = {1, CLOCK_READ_RAW, 1000000000}});
    maker.log.header->syscall[39] = 0xffffffff81000390;
    return 0;
}

struct made {
    struct tap_record r;
    size_t            text;
};
static struct made made(unsigned call)
{
    struct made m;
    memset(&m, 0, sizeof m);
    m.r.call = (tap_u8)call;
    return m;
}
static void add_text(struct made *m, unsigned which, const char *text, size_t size)
{
    memcpy(m->r.text + m->text, text, size);
    m->r.text_bytes[which] = (tap_u16)size;
    m->text += size;
}
static void of_file(struct made *m, uint64_t file, uint64_t ino)
{
    m->r.file = file;
    m->r.ino  = ino;
    m->r.dev  = DEV;
    m->r.flags |= TAP_FILE;
}
static void put(const struct made *m, unsigned source, uint64_t time)
{
    maker_sample(&maker, 0, source, time, PID, TID, 0x7000, 3, &m->r, (uint32_t)(TAP_HEAD + m->text));
}
static void put_end(unsigned call, uint64_t time, int64_t result)
{
    struct made m = made(call);
    m.r.arg[0]    = (tap_u64)result;
    put(&m, SRC_FILE_EXIT, time);
}
static void all(void)
{
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_pass(&maker, 90000, UINT64_MAX);
    run();
}

static void opened(uint64_t time, const char *path, uint64_t file, uint64_t ino, const char *names, size_t size)
{
    struct made m = made(CALL_openat);
    m.r.arg[2]    = O_RDONLY;
    add_text(&m, TAP_TEXT_PATH, path, strlen(path) + 1);
    add_text(&m, TAP_TEXT_BASE, TEXT("anna\0home"));
    put(&m, SRC_FILE_ENTER, time);
    m          = made(CALL_openat);
    m.r.arg[0] = 3;
    of_file(&m, file, ino);
    add_text(&m, TAP_TEXT_NAME, names, size);
    put(&m, SRC_FILE_EXIT, time + 100);
}

/* As in the payload: ASCII, '\' for '/', from the volume on */
static void expect_path(const struct one *e, size_t at, const char *path)
{
    static const char volume[] = "\\Device\\HarddiskVolume1";
    char              text[512];
    size_t            n = 0;
    assert_non_null(e);
    for (; at + 1 < e->size && (e->payload[at] || e->payload[at + 1]); at += 2, n++)
        text[n] = e->payload[at] == '\\' && n >= sizeof volume - 1 ? '/' : (char)e->payload[at];
    text[n] = 0;
    assert_int_equal(at + 2, e->size);
    if (*path) {
        assert_memory_equal(text, volume, sizeof volume - 1);
        assert_string_equal(text + sizeof volume - 1, path);
    } else {
        assert_string_equal(text, "");
    }
}

static void open_read_close(void **state)
{
    (void)state;
    opened(1000, "./data.txt", 0xffff888000001000, 77, TEXT("data.txt\0anna\0home"));
    struct made m = made(CALL_read);
    m.r.arg[2]    = 4096;
    m.r.pos       = 8192;
    of_file(&m, 0xffff888000001000, 77);
    put(&m, SRC_FILE_ENTER, 2000);
    put_end(CALL_read, 2100, 100);
    m = made(CALL_close);
    of_file(&m, 0xffff888000001000, 77);
    put(&m, SRC_FILE_ENTER, 3000); /* another descriptor of the file is left */
    put_end(CALL_close, 3100, 0);
    m.r.flags |= TAP_LAST;
    put(&m, SRC_FILE_ENTER, 4000);
    put_end(CALL_close, 4100, 0);
    m = made(CALL_read); /* the same address for another open file, opened before the trace */
    of_file(&m, 0xffff888000001000, 78);
    add_text(&m, TAP_TEXT_NAME, TEXT("old\0var"));
    put(&m, SRC_FILE_ENTER, 5000);
    all();

    const struct one *create = nth(CREATE, 0), *read = nth(READ, 0), *later = nth(READ, 1);
    assert_true(count(CREATE) == 1 && count(CLEANUP) == 2 && count(CLOSE) == 1 && count(READ) == 2 &&
                count(OPEND) == 5);
    assert_true(create->type == ETL_PERFINFO64 && create->version == 3 && u32(create, 16) == TID &&
                u32(create, 20) == 1u << 24);
    expect_path(create, 32, "/home/anna/data.txt");
    assert_true(read->size == 48 && u64(read, 0) == 8192 && u64(read, 16) == u64(create, 8) &&
                u64(read, 24) == file_key(DEV, 77) && u32(read, 32) == TID && u32(read, 36) == 4096);
    assert_true(u64(nth(OPEND, 0), 0) == u64(create, 0) && u64(nth(OPEND, 0), 8) == 0 && u32(nth(OPEND, 0), 16) == 0);
    assert_true(u64(nth(OPEND, 1), 0) == u64(read, 8) && u64(nth(OPEND, 1), 8) == 100);
    assert_true(u64(nth(CLOSE, 0), 8) == u64(create, 8) && u64(nth(CLEANUP, 1), 0) != u64(nth(CLOSE, 0), 0));
    assert_true(u64(later, 16) == 0xffff888000001000 && u64(later, 24) == file_key(DEV, 78));
    assert_true(count(NAME) == 2 && u64(nth(NAME, 0), 0) == file_key(DEV, 77));
    expect_path(nth(NAME, 0), 8, "/home/anna/data.txt");
    expect_path(nth(NAME, 1), 8, "/var/old");
    /* no stacks: the source of ends was opened without them */
    assert_int_equal(count(0x1820), 0);
}

static void names_follow_renames(void **state)
{
    (void)state;
    opened(1000, "a", 0xffff888000001000, 77, TEXT("a\0anna\0home"));
    opened(2000, "b", 0xffff888000002000, 78, TEXT("b\0anna\0home"));
    struct made m = made(CALL_renameat2);
    add_text(&m, TAP_TEXT_PATH, TEXT("/home/anna/a"));
    add_text(&m, TAP_TEXT_PATH2, TEXT("b"));
    add_text(&m, TAP_TEXT_BASE2, TEXT("anna\0home"));
    put(&m, SRC_FILE_ENTER, 3000);
    put_end(CALL_renameat2, 3100, 0);
    put(&m, SRC_FILE_ENTER, 4000); /* again: a is gone */
    put_end(CALL_renameat2, 4100, -ENOENT);
    m = made(CALL_unlinkat);
    add_text(&m, TAP_TEXT_PATH, TEXT("b"));
    add_text(&m, TAP_TEXT_BASE, TEXT("anna\0home"));
    put(&m, SRC_FILE_ENTER, 5000);
    put_end(CALL_unlinkat, 5100, 0);
    m = made(CALL_newfstatat); /* never opened in the trace */
    add_text(&m, TAP_TEXT_PATH, TEXT("/never"));
    put(&m, SRC_FILE_ENTER, 6000);
    put_end(CALL_newfstatat, 6100, -EACCES);
    all();
    assert_true(u64(nth(RENAME, 0), 16) == file_key(DEV, 77) && u32(nth(RENAME, 0), 36) == 10 &&
                u64(nth(RENAME, 0), 8) == 0);
    assert_true(u64(nth(RENAME, 0), 0) == u64(nth(RENAME_PATH, 0), 0));
    expect_path(nth(RENAME_PATH, 0), 40, "/home/anna/b");
    assert_true(u64(nth(NAME_GONE, 0), 0) == file_key(DEV, 78)); /* the former b */
    expect_path(nth(NAME_GONE, 0), 8, "/home/anna/b");
    expect_path(nth(NAME, 2), 8, "/home/anna/b");
    assert_int_equal(u64(nth(NAME, 2), 0), file_key(DEV, 77));
    assert_true(u64(nth(RENAME, 1), 16) != file_key(DEV, 77)); /* no file has the name a any more: a key of the name */
    assert_int_equal(u32(nth(OPEND, 3), 16), 0xC0000034);
    assert_true(u64(nth(DELETE, 0), 16) == file_key(DEV, 77) && u32(nth(DELETE, 0), 36) == 13);
    expect_path(nth(DELETE_PATH, 0), 40, "/home/anna/b");
    expect_path(nth(NAME_GONE, 1), 8, "/home/anna/b");
    assert_true(u64(nth(QUERY, 0), 16) >> 63 && u64(nth(QUERY, 0), 16) == u64(nth(NAME, count(NAME) - 1), 0));
    expect_path(nth(NAME, count(NAME) - 1), 8, "/never");
    assert_int_equal(u32(nth(OPEND, 5), 16), 0xC0000022);
}

/* The path's page was not in memory: the operation is told at its end. */
static void path_that_comes_late(void **state)
{
    (void)state;
    struct made m = made(CALL_openat);
    m.r.flags     = TAP_NO_PATH;
    m.r.arg[2]    = O_RDONLY;
    put(&m, SRC_FILE_ENTER, 1000);
    m          = made(CALL_openat);
    m.r.arg[0] = (tap_u64)-ENOENT;
    m.r.arg[2] = O_CREAT | O_EXCL;
    add_text(&m, TAP_TEXT_PATH, TEXT("/etc/late"));
    put(&m, SRC_FILE_EXIT, 2000);
    put_end(CALL_openat, 3000, 0); /* an end without a beginning */
    all();
    assert_true(count(CREATE) == 1 && count(OPEND) == 1);
    expect_path(nth(CREATE, 0), 32, "/etc/late");
    assert_true(nth(CREATE, 0)->time >= 2000 && nth(CREATE, 0)->time < nth(OPEND, 0)->time &&
                u64(nth(CREATE, 0), 0) == u64(nth(OPEND, 0), 0));
    assert_true(u32(nth(CREATE, 0), 20) == 2u << 24 && u32(nth(OPEND, 0), 16) == 0xC0000034);
}

/* Every kind of every call gives an event of a size that its layout allows. */
static void every_call(void **state)
{
    (void)state;
    for (unsigned call = 1; call < CALL_END; call++) {
        struct made m = made(call);
        of_file(&m, 0xffff888000001000, 77);
        add_text(&m, TAP_TEXT_PATH, TEXT("/x"));
        add_text(&m, TAP_TEXT_PATH2, TEXT("/y"));
        put(&m, SRC_FILE_ENTER, call * 1000);
        put_end(call, call * 1000 + 1, 0);
    }
    all();
    unsigned operations = 0;
    for (size_t i = 0; i < out.count; i++) {
        const struct one *e = &out.event[i];
        operations += e->hook >= CREATE && e->hook <= FSCONTROL && e->hook != CLOSE;
        if (e->hook == READ || e->hook == WRITE)
            assert_int_equal(e->size, 48);
        if (e->hook == SETINFO || e->hook == QUERY || e->hook == FSCONTROL || e->hook == DELETE || e->hook == RENAME)
            assert_int_equal(e->size, 40);
        if (e->hook == FLUSH || e->hook == CLEANUP)
            assert_int_equal(e->size, 28);
    }
    assert_int_equal(operations, CALL_END - 1);
    assert_int_equal(count(OPEND), CALL_END - 1);
}

static void damaged_records(void **state)
{
    (void)state;
    struct made m = made(0);
    put(&m, SRC_FILE_ENTER, 1000); /* no call */
    m = made(CALL_END);
    put(&m, SRC_FILE_ENTER, 1100);
    m = made(CALL_openat);
    add_text(&m, TAP_TEXT_PATH, "no end", 6);
    put(&m, SRC_FILE_ENTER, 1200);
    m                             = made(CALL_openat);
    m.r.text_bytes[TAP_TEXT_NAME] = 60000; /* beyond the record */
    put(&m, SRC_FILE_ENTER, 1300);
    maker_sample(&maker, 0, SRC_FILE_ENTER, 1400, PID, TID, 0, 0, &m.r, TAP_HEAD - 8);
    maker_sample(&maker, 0, SRC_FILE_EXIT, 1500, PID, TID, 0, 0, &m.r, 4);
    put_end(CALL_openat, 1600, 0);
    all();
    assert_true(count(CREATE) == 0 && count(OPEND) == 0);
}

/* A successor ends operations that began with its predecessor. */
static void successor_knows_open_operations(void **state)
{
    static uint64_t irp, object;
    struct convert  a, b;
    (void)state;
    opened(1000, "a", 0xffff888000001000, 77, TEXT("a\0anna\0home"));
    struct made m = made(CALL_renameat2);
    add_text(&m, TAP_TEXT_PATH, TEXT("/home/anna/a"));
    add_text(&m, TAP_TEXT_PATH2, TEXT("/home/anna/b"));
    put(&m, SRC_FILE_ENTER, 2000);
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_pass(&maker, 5000, 4000);
    assert_int_equal(convert_init(&a, &config, &maker.log, NULL), 0);
    take_all(&a);
    irp    = u64(nth(RENAME, 0), 0);
    object = u64(nth(CREATE, 0), 8);
    int fd = memfd_create("snapshot", MFD_CLOEXEC);
    assert_int_equal(convert_snapshot_write(&a, convert_needed(&a), fd, NULL), 0);
    convert_finish(&a);

    put_end(CALL_renameat2, 6000, 0);
    m = made(CALL_write);
    of_file(&m, 0xffff888000001000, 77);
    put(&m, SRC_FILE_ENTER, 7000);
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_pass(&maker, 90000, UINT64_MAX);
    out.count = 0;
    assert_int_equal(convert_init(&b, &config, &maker.log, NULL), 0);
    assert_int_equal(convert_snapshot_read(&b, fd, NULL), 0);
    take_all(&b);
    assert_true(count(OPEND) == 1 && u64(nth(OPEND, 0), 0) == irp && u32(nth(OPEND, 0), 16) == 0);
    expect_path(nth(NAME, 0), 8, "/home/anna/b"); /* the new name was kept, too */
    assert_true(u64(nth(NAME, 0), 0) == file_key(DEV, 77) && u64(nth(WRITE, 0), 16) == object);
    convert_finish(&b);
    close(fd);
}

/* ---- system calls ---- */

static void call_begin(uint64_t time, uint64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    uint64_t r[9] = {0, number, a, b, c, d};
    maker_sample(&maker, 0, SRC_SYS_ENTER, time, PID, TID, 0, 0, r, sizeof r - 8);
}
static void call_end(uint64_t time, uint64_t number, int64_t result)
{
    uint64_t r[3] = {0, number, (uint64_t)result};
    maker_sample(&maker, 0, SRC_SYS_EXIT, time, PID, TID, 0, 0, r, sizeof r);
}
static void memory_call(uint64_t time, uint64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, int64_t result)
{
    call_begin(time, number, a, b, c, d);
    call_end(time + 10, number, result);
}

static void system_calls(void **state)
{
    (void)state;
    call_begin(1000, 39, 0, 0, 0, 0);
    call_end(1010, 39, PID);
    call_begin(1100, 511, 0, 0, 0, 0); /* no call has this number */
    call_end(1110, 511, -ENOSYS);
    call_begin(1200, 1u << 30, 0, 0, 0, 0);
    call_end(1210, 1u << 30, -512);
    call_end(1300, 56, 0); /* the new process returns from its parent's call */
    all();
    assert_true(count(0x0F33) == 3 && count(0x0F34) == 4 && count(0x0262) == 0);
    const struct one *enter = nth(0x0F33, 0);
    assert_true(enter->type == ETL_SYSTEM64 && enter->version == 2 && enter->size == 8 && enter->pid == PID &&
                enter->tid == TID);
    assert_int_equal(u64(enter, 0), 0xffffffff81000390);
    assert_true(u32(nth(0x0F34, 0), 0) == 0 && nth(0x0F34, 0)->size == 4 && nth(0x0F34, 0)->tid == TID);
    assert_true(u64(nth(0x0F33, 1), 0) == 0 && u32(nth(0x0F34, 1), 0) == 0xC0000002 &&
                u32(nth(0x0F34, 2), 0) == 0xC0000120);
}

static void memory_calls(void **state)
{
    (void)state;
    uint64_t anonymous = MAP_PRIVATE | MAP_ANONYMOUS, at = 0x7f0000000000;
    config.mask[2] = 0;
    memory_call(1000, SYS_mmap, 0, 5000, PROT_READ, anonymous, (int64_t)at);
    memory_call(1100, SYS_mmap, 0, 4096, PROT_NONE, anonymous, (int64_t)at + 0x10000);
    memory_call(1200, SYS_mmap, 0, 4096, PROT_READ, MAP_PRIVATE, (int64_t)at + 0x20000); /* a file */
    memory_call(1300, SYS_mmap, 0, 1ull << 60, PROT_READ, anonymous, -ENOMEM);
    memory_call(1400, SYS_mremap, at, 8192, 16384, 0, (int64_t)at);          /* grows where it is */
    memory_call(1500, SYS_mremap, at, 16384, 4096, 0, (int64_t)at);          /* shrinks */
    memory_call(1600, SYS_mremap, at, 4096, 8192, 0, (int64_t)at + 0x30000); /* moves */
    memory_call(1700, SYS_madvise, at + 0x30000, 4096, MADV_FREE, 0, 0);
    memory_call(1800, SYS_madvise, at + 0x30000, 4096, MADV_WILLNEED, 0, 0);
    memory_call(1900, SYS_munmap, at + 0x30000, 8192, 0, 0, 0);
    memory_call(2000, SYS_brk, 0x555500002800, 0, 0, 0, 0x555500002800); /* the former end of the heap is unknown */
    memory_call(2100, SYS_brk, 0x555500004800, 0, 0, 0, 0x555500004800);
    memory_call(2200, SYS_brk, 0x555500004900, 0, 0, 0, 0x555500004900); /* within the last page */
    memory_call(2300, SYS_brk, 0, 0, 0, 0, 0x555500004900);
    memory_call(2400, SYS_brk, 0x555500002800, 0, 0, 0, 0x555500002800);
    call_end(2500, SYS_munmap, 0); /* its beginning was lost */
    all();
    static const struct {
        uint16_t hook;
        uint32_t flags;
        uint64_t base, size;
    } should[] = {{0x0262, 0x3000, 0x7f0000000000, 8192}, {0x0262, 0x2000, 0x7f0000010000, 4096},
                  {0x0262, 0x3000, 0x7f0000002000, 8192}, {0x0263, 0x8000, 0x7f0000001000, 12288},
                  {0x0263, 0x8000, 0x7f0000000000, 4096}, {0x0262, 0x3000, 0x7f0000030000, 8192},
                  {0x0263, 0x4000, 0x7f0000030000, 4096}, {0x0263, 0x8000, 0x7f0000030000, 8192},
                  {0x0262, 0x3000, 0x555500003000, 8192}, {0x0263, 0x8000, 0x555500003000, 8192}};
    size_t n   = 0;
    for (size_t i = 0; i < out.count; i++) {
        const struct one *e = &out.event[i];
        if (e->hook != 0x0262 && e->hook != 0x0263)
            continue;
        assert_true(n < sizeof should / sizeof *should);
        assert_true(e->size == 24 && e->version == 2 && e->type == ETL_PERFINFO64 && u32(e, 16) == PID);
        assert_int_equal(e->hook, should[n].hook);
        assert_int_equal(u64(e, 0), should[n].base);
        assert_int_equal(u64(e, 8), should[n].size);
        assert_int_equal(u32(e, 20), should[n].flags);
        n++;
    }
    assert_int_equal(n, sizeof should / sizeof *should);
    assert_int_equal(count(0x0F33), 0); /* not asked for */
}

static void narrow_program(void)
{
    struct raw_process p = {.own = {RAW_PROCESS, 0, 0, 900, PID, PID}, .flags = RAW_PROCESS_32BIT};
    maker_own(&maker, &p, sizeof p, "narrow", "");
    maker_chunk(&maker, 0, RAW_CHUNK_OWN);
    maker.log.header->narrow[11] = 0xffffffff81000b00;
    maker.log.header->narrow[64] = 0xffffffff81000400;
}

/* The calls of 32-bit programs have other numbers; those of x32 programs are marked. */
static void narrow_programs_have_their_own(void **state)
{
    (void)state;
    narrow_program();
    memory_call(1000, SYS_munmap, 0x1000, 8192, 0, 0, 0); /* 11: execve there */
    memory_call(1100, 64, 0, 0, 0, 0, 1);                 /* getppid */
    memory_call(1200, 39, 0, 0, 0, 0, 0);                 /* mkdir, whose address is hidden */
    memory_call(1300, SYSCALL_X32 | 39, 0, 0, 0, 0, 1);
    memory_call(1400, 511, 0, 0, 0, 0, -ENOSYS);
    memory_call(1500, UINT64_MAX, 0, 0, 0, 0, -ENOSYS); /* set by a tracer */
    all();
    assert_true(count(0x0263) == 0 && count(0x0F33) == 6 && count(0x0F34) == 6);
    static const uint64_t should[] = {0xffffffff81000b00, 0xffffffff81000400, 0, 0xffffffff81000390, 0, 0};
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(u64(nth(0x0F33, i), 0), should[i]);
}

#ifdef __x86_64__
static void narrow_memory(void **state)
{
    (void)state;
    narrow_program();
    memory_call(1000, 192, 0, 5000, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, 0xf7000000);
    memory_call(1100, 163, 0xf7000000, 8192, 16384, 0, 0xf7000000);
    memory_call(1200, 219, 0xf7000000, 4096, MADV_DONTNEED, 0, 0);
    memory_call(1300, 91, 0xf7000000, 16384, 0, 0, 0);
    memory_call(1400, 45, 0, 0, 0, 0, 0x8050000);
    memory_call(1500, 45, 0x8052000, 0, 0, 0, 0x8052000);
    memory_call(1600, SYS_mmap, 0, 5000, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, 0xf7000000); /* 9: link there */
    memory_call(1700, SYSCALL_X32 | SYS_munmap, 0xf7100000, 4096, 0, 0, 0);
    all();
    static const struct {
        uint16_t hook;
        uint32_t flags;
        uint64_t base, size;
    } should[] = {{0x0262, 0x3000, 0xf7000000, 8192}, {0x0262, 0x3000, 0xf7002000, 8192},
                  {0x0263, 0x4000, 0xf7000000, 4096}, {0x0263, 0x8000, 0xf7000000, 16384},
                  {0x0262, 0x3000, 0x8050000, 8192},  {0x0263, 0x8000, 0xf7100000, 4096}};
    size_t n   = 0;
    for (size_t i = 0; i < out.count; i++) {
        const struct one *e = &out.event[i];
        if (e->hook != 0x0262 && e->hook != 0x0263)
            continue;
        assert_true(n < sizeof should / sizeof *should && e->hook == should[n].hook);
        assert_int_equal(u64(e, 0), should[n].base);
        assert_int_equal(u64(e, 8), should[n].size);
        assert_int_equal(u32(e, 20), should[n].flags);
        n++;
    }
    assert_int_equal(n, sizeof should / sizeof *should);
}
#endif

static void successor_knows_open_calls(void **state)
{
    struct convert a, b;
    (void)state;
    memory_call(1000, SYS_brk, 0, 0, 0, 0, 0x555500002000);
    call_begin(2000, SYS_munmap, 0x1000, 4096, 0, 0);
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_pass(&maker, 5000, 4000);
    assert_int_equal(convert_init(&a, &config, &maker.log, NULL), 0);
    take_all(&a);
    int fd = memfd_create("snapshot", MFD_CLOEXEC);
    assert_int_equal(convert_snapshot_write(&a, convert_needed(&a), fd, NULL), 0);
    convert_finish(&a);
    call_end(6000, SYS_munmap, 0);
    memory_call(7000, SYS_brk, 0x555500003000, 0, 0, 0, 0x555500003000);
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_pass(&maker, 90000, UINT64_MAX);
    out.count = 0;
    assert_int_equal(convert_init(&b, &config, &maker.log, NULL), 0);
    assert_int_equal(convert_snapshot_read(&b, fd, NULL), 0);
    take_all(&b);
    assert_true(count(0x0263) == 1 && u64(nth(0x0263, 0), 0) == 0x1000);
    assert_true(count(0x0262) == 1 && u64(nth(0x0262, 0), 0) == 0x555500002000 && u64(nth(0x0262, 0), 8) == 4096);
    convert_finish(&b);
    close(fd);
}

static void filter_asks_for_what_is_wanted(void **state)
{
    char           text[256], number[32];
    const uint32_t memory[8] = {0, 0x8000}, both[8] = {0, 0x8000, 0x40}, alias[8] = {0x4080};
    (void)state;
    assert_true(memcalls_filter(memory, text, sizeof text));
    snprintf(number, sizeof number, "id == %d", SYS_munmap);
    assert_non_null(strstr(text, number));
    assert_false(memcalls_filter(both, text, sizeof text));
    assert_false(memcalls_filter(alias, text, sizeof text));
}

#define F(name) cmocka_unit_test_setup_teardown(name, setup_files, teardown)
#define C(name) cmocka_unit_test_setup_teardown(name, setup_calls, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {F(open_read_close),
                                       F(names_follow_renames),
                                       F(path_that_comes_late),
                                       F(every_call),
                                       F(damaged_records),
                                       F(successor_knows_open_operations),
                                       C(system_calls),
                                       C(memory_calls),
                                       C(narrow_programs_have_their_own),
#ifdef __x86_64__
                                       C(narrow_memory),
#endif
                                       C(successor_knows_open_calls),
                                       cmocka_unit_test(filter_asks_for_what_is_wanted),
                                       cmocka_unit_test(every_class_is_read_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
