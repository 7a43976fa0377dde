/* Names of frames: image, file and function, and the reason when a frame has no name. The file is this program.
 * Proves: CON-21 (names by build id), CON-22 (module!function). */
#include "autologger/consumer/classic_event.h"
#include "autologger/consumer/dump.h"
#include "autologger/consumer/tests/names_maker.h"
#include "autologger/kernel/source/procfs.h"
#include "autologger/symbols/symbols.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#define SCHEDULE UINT64_C(0xffffffff81000100)
enum { STACKS_MAX = 16, FRAMES = 8 };

__attribute__((noinline)) int symbols_known_function(int x);
int                           symbols_known_function(int x)
{
    volatile int y = x;
    return y * 3;
}

static char            trace[64], self[512], nt[600];
static struct elf_info elf;
static uint64_t        base, function;
static struct image    m;
static int64_t         now;

static int setup(void **state)
{
    Dl_info info;
    ssize_t n      = readlink("/proc/self/exe", self, sizeof self - 1);
    int (*at)(int) = symbols_known_function;
    (void)state;
    if (n <= 0 || !dladdr((void *)(uintptr_t)at, &info))
        return -1;
    self[n]  = 0;
    base     = (uintptr_t)info.dli_fbase;
    function = (uintptr_t)at;
    elf      = (struct elf_info){0};
    int fd   = open(self, O_RDONLY | O_CLOEXEC);
    if (!elf_read(fd, &elf))
        return -1;
    close(fd);
    make_nt_path(self, nt, sizeof nt);
    strcpy(trace, "/tmp/al-symbols-XXXXXX");
    close(mkstemp(trace));
    struct etl_file_info info_of = build_info(32768);
    info_of.log_file_mode |= ETL_MODE_SYSTEM_LOGGER;
    m = image_start(&info_of);
    image_buffer(&m, 1, 1);
    now = 2000000;
    return 0;
}
static int teardown(void **state)
{
    (void)state;
    return unlink(trace);
}

static void own_image(uint16_t hook, const uint8_t *id)
{
    uint32_t half[2];
    memcpy(half, id, sizeof half);
    make_image(&m, now++, hook, base, elf.high - elf.low, half[0], half[1], nt);
}

/* A switch and its stack. */
static void stack_of(const uint64_t *frames, unsigned count)
{
    uint8_t  bytes[16 + FRAMES * 8] = {0}, other[24] = {0};
    uint32_t ids[2] = {MAKER_PID, MAKER_PID};
    image_kernel(&m, now, 0x0524, 4, 0, other, sizeof other);
    memcpy(bytes, &now, 8);
    memcpy(bytes + 8, ids, 8);
    memcpy(bytes + 16, frames, count * 8ul);
    image_kernel(&m, now + 1, 0x1820, 2, 0, bytes, 16 + count * 8ul);
    now += 2;
}

static void kernel_symbols(void)
{
    uint8_t       bytes[200];
    struct writer w = wr_make(bytes, sizeof bytes);
    wr_bytes(&w, "vmlinux", 8);
    wr_u16(&w, 3);
    wr_u64(&w, SCHEDULE);
    wr_u32(&w, 0x80);
    wr_bytes(&w, "schedule", 9);
    wr_u64(&w, SCHEDULE + 0x1000);
    wr_u32(&w, 0x80);
    wr_bytes(&w, "ret_from_fork", 14);
    wr_u64(&w, SCHEDULE + 0x2000);
    wr_u32(&w, 0x80);
    wr_bytes(&w, "entry_SYSCALL_64_after_hwframe", 31);
    make_named(&m, now++, MAKER_SYMBOLS, sizeof MAKER_SYMBOLS - 1, bytes, w.pos);
}

struct seen {
    unsigned          count;
    struct frame_name frame[FRAMES];
};

/* Names all stacks of the trace. The names live as long as `*s`. */
static unsigned all(const char *const *folders, unsigned count, struct symbols **s, struct seen seen[STACKS_MAX])
{
    struct reason      why = {0};
    struct etl_reader *r;
    struct etl_event   e;
    unsigned           n = 0;
    FILE              *f = fopen(trace, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(m.data, 1, m.size, f), m.size);
    fclose(f);
    image_free(&m);
    assert_int_equal(symbols_open(trace, &(struct symbols_options){.folders = folders, .folder_count = count}, s, &why),
                     W_SUCCESS);
    struct frame_namer namer = symbols_namer(*s);
    assert_int_equal(etl_reader_open(trace, &r, NULL), W_SUCCESS);
    while (etl_next(r, &e)) {
        struct frame_name frames[FRAMES];
        unsigned          k = namer.stack(namer.ctx, &e, frames, FRAMES);
        if (!k)
            continue;
        assert_true(n < STACKS_MAX);
        seen[n].count = k;
        memcpy(seen[n++].frame, frames, sizeof frames);
    }
    etl_reader_close(r);
    return n;
}

static void named(const struct frame_name *f, const char *module, const char *name, uint64_t offset)
{
    assert_int_equal(f->state, FRAME_NAMED);
    assert_string_equal(f->module, module);
    assert_string_equal(f->function, name);
    assert_int_equal(f->offset, offset);
}

static void functions_have_names(void **state)
{
    const uint64_t whole[]  = {SCHEDULE + 0x20, function + 1, function + 1},
                   end[]    = {SCHEDULE + 0x20, SCHEDULE + 0x1001};
    const uint64_t border[] = {function, function},
                   broken[] = {function + 1, 7, UINT64_C(0x8000000000000007), SCHEDULE + 0x20};
    struct symbols       *s;
    struct symbols_counts n;
    struct seen           seen[STACKS_MAX];
    (void)state;
    if (elf.build_id_size != 20)
        skip();
    stack_of(whole, 3); /* before the image: a rundown at the end applies to it */
    stack_of(end, 2);
    stack_of(border, 2);
    stack_of(broken, 4);
    image_kernel(&m, now++, 0x0524, 4, 0, (uint8_t[24]){0}, 24); /* a switch without a stack */
    image_kernel(&m, now++, 0x0532, 2, 0, (uint8_t[8]){0}, 8);   /* this class has no stacks: none were requested */
    make_build_id(&m, now++, elf.build_id);
    own_image(HOOK_IMAGE_DC_START, elf.build_id);
    kernel_symbols();
    assert_int_equal(all(NULL, 0, &s, seen), 4);
    const char *module = strrchr(self, '/') + 1;
    named(&seen[0].frame[0], "vmlinux", "schedule", 0x20);
    named(&seen[0].frame[1], module, "symbols_known_function", 1); /* the frame where the kernel was entered */
    named(&seen[0].frame[2], module, "symbols_known_function", 1);
    named(&seen[1].frame[1], "vmlinux", "ret_from_fork", 1);
    /* the first frame is the address reached; later ones are return addresses, and belong to the function before */
    named(&seen[2].frame[0], module, "symbols_known_function", 0);
    assert_true(seen[2].frame[1].state != FRAME_NAMED ||
                strcmp(seen[2].frame[1].function, "symbols_known_function") != 0);
    for (unsigned i = 1; i < 4; i++)
        assert_int_equal(seen[3].frame[i].state, FRAME_NO_CODE);
    assert_true(symbols_counts(s, &n));
    assert_true(n.kernel == KERNEL_SAVED && n.kernel_frames == 3 && n.kernel_named == 3);
    assert_int_equal(n.by_state[FRAME_NO_CODE], 3);
    assert_int_equal(n.complete, 1); /* ret_from_fork */
    assert_int_equal(n.cut, 3);
    assert_int_equal(n.missing, 1);
    assert_int_equal(n.unknown, 0);
    assert_int_equal(n.row_count, 1);
    assert_true(n.rows->hook == 0x0524 && n.rows->events == 5 && n.rows->with_stack == 4);
    assert_true(n.rows->kernel[STACK_COMPLETE] == 1 && n.rows->kernel[STACK_CUT] == 1 &&
                n.rows->kernel[STACK_NO_PART] == 2);
    assert_true(n.rows->user[STACK_CUT] == 3 && n.rows->user[STACK_NO_PART] == 1);
    assert_int_equal(n.list_count, 0);
    symbols_close(s);
}

static void defined(uint16_t hook, uint64_t key, const uint64_t *frames, unsigned count)
{
    uint8_t bytes[8 + FRAMES * 8];
    memcpy(bytes, &key, 8);
    memcpy(bytes + 8, frames, count * 8ul);
    image_kernel(&m, now++, hook, 2, 0, bytes, 8 + count * 8ul);
}
/* A switch whose stack is told by keys; 0: no such part. */
static void keys_of(uint64_t kernel, uint64_t user)
{
    uint8_t  bytes[24] = {0}, other[24] = {0};
    uint32_t ids[2]  = {MAKER_PID, MAKER_PID};
    int64_t  trigger = now++;
    image_kernel(&m, trigger, 0x0524, 4, 0, other, sizeof other);
    memcpy(bytes, &trigger, 8);
    memcpy(bytes + 8, ids, 8);
    for (unsigned i = 0; i < 2; i++) {
        const uint64_t key = i ? user : kernel;
        memcpy(bytes + 16, &key, 8);
        if (key)
            image_kernel(&m, now++, i ? 0x1826 : 0x1825, 2, 0, bytes, sizeof bytes);
    }
}

/* A key is named by the frames of its definition, before its use (KeyCreate, as we write it) or behind it (as Windows
 * does), and can be defined again after its deletion; a key without a definition is a stack without frames. */
static void keys_have_the_names_of_their_stacks(void **state)
{
    const uint64_t in_kernel[] = {SCHEDULE + 0x20, SCHEDULE + 0x2001}, user[] = {function + 1},
                   thread[] = {SCHEDULE + 0x20, SCHEDULE + 0x1001};
    struct symbols       *s;
    struct symbols_counts n;
    struct seen           seen[STACKS_MAX];
    (void)state;
    if (elf.build_id_size != 20)
        skip();
    make_build_id(&m, now++, elf.build_id);
    own_image(HOOK_IMAGE_DC_START, elf.build_id);
    kernel_symbols();
    defined(0x1822, 0x77, in_kernel, 2);
    keys_of(0x77, 0x88); /* 0x88 is defined at the end */
    keys_of(0x55, 0);
    defined(0x1823, 0x55, thread, 2);
    keys_of(0x55, 0); /* another stack, since its deletion */
    keys_of(0, 0x99); /* lost */
    defined(0x1824, 0x77, in_kernel, 2);
    defined(0x1824, 0x88, user, 1);
    defined(0x1824, 0x55, in_kernel, 2);
    assert_int_equal(all(NULL, 0, &s, seen), 4);
    const char *module = strrchr(self, '/') + 1;
    assert_true(seen[0].count == 2 && seen[1].count == 1 && seen[2].count == 2 && seen[3].count == 2);
    named(&seen[0].frame[0], "vmlinux", "schedule", 0x20);
    named(&seen[0].frame[1], "vmlinux", "entry_SYSCALL_64_after_hwframe", 1);
    named(&seen[1].frame[0], module, "symbols_known_function", 1);
    named(&seen[2].frame[1], "vmlinux", "ret_from_fork", 1);
    named(&seen[3].frame[1], "vmlinux", "entry_SYSCALL_64_after_hwframe", 1);
    assert_true(symbols_counts(s, &n));
    assert_true(n.row_count == 1 && n.rows->hook == 0x0524 && n.rows->events == 4 && n.rows->with_stack == 4 &&
                n.missing == 0);
    assert_int_equal(n.complete, 1); /* ret_from_fork */
    assert_int_equal(n.kernel_frames + n.user_frames, 7);
    symbols_close(s);
}

/* The quality of stacks, naming only their ends: a system call without the program's part is not a complete stack; the
 * program's part may be broken where the kernel's is complete, and may come in its own event. */
static void ends_tell_what_stacks_are_worth(void **state)
{
    const uint64_t call[] = {SCHEDULE + 0x20, SCHEDULE + 0x2001},
                   both[] = {SCHEDULE + 0x20, SCHEDULE + 0x2001, function + 1}, user[] = {function + 1};
    struct symbols       *s;
    struct symbols_counts n;
    struct seen           seen[STACKS_MAX];
    struct etl_reader    *r;
    struct etl_event      e;
    (void)state;
    if (elf.build_id_size != 20)
        skip();
    make_build_id(&m, now++, elf.build_id);
    own_image(HOOK_IMAGE_DC_START, elf.build_id);
    stack_of(call, 2);
    stack_of(both, 3);
    stack_of(call, 2);
    now -= 2; /* the program's part of the same event, as in Windows */
    uint8_t bytes[24] = {0};
    memcpy(bytes, &now, 8);
    memcpy(bytes + 16, user, 8);
    image_kernel(&m, now + 2, 0x1820, 2, 0, bytes, sizeof bytes);
    now += 3;
    kernel_symbols();
    assert_int_equal(all(NULL, 0, &s, seen), 4);
    symbols_close(s);
    assert_int_equal(symbols_open(trace, &(struct symbols_options){.folders = NULL, .folder_count = 0}, &s, NULL),
                     W_SUCCESS);
    assert_int_equal(etl_reader_open(trace, &r, NULL), W_SUCCESS);
    while (etl_next(r, &e))
        symbols_judge(s, &e);
    etl_reader_close(r);
    assert_true(symbols_counts(s, &n) && n.row_count == 1);
    assert_true(n.rows->events == 3 && n.rows->with_stack == 3 && n.missing == 0);
    assert_true(n.rows->kernel[STACK_COMPLETE] == 3 && n.rows->kernel[STACK_NO_PART] == 0);
    assert_true(n.rows->user[STACK_CUT] == 2 && n.rows->user[STACK_NO_PART] == 1);
    assert_true(n.complete == 0 && n.cut == 3);
    assert_true(n.kernel_frames == 6 && n.kernel_named == 0); /* names were not asked for */
    symbols_close(s);
}

static void an_image_has_its_time(void **state)
{
    const uint64_t  frames[] = {function + 1};
    struct symbols *s;
    struct seen     seen[STACKS_MAX];
    (void)state;
    if (elf.build_id_size != 20)
        skip();
    stack_of(frames, 1);
    own_image(HOOK_IMAGE_LOAD, elf.build_id);
    stack_of(frames, 1);
    own_image(HOOK_IMAGE_UNLOAD, elf.build_id);
    stack_of(frames, 1);
    assert_int_equal(all(NULL, 0, &s, seen), 3);
    assert_int_equal(seen[0].frame[0].state, FRAME_NO_IMAGE);
    assert_int_equal(seen[1].frame[0].state, FRAME_NAMED); /* by the 8 bytes that the event carries */
    assert_int_equal(seen[2].frame[0].state, FRAME_NO_IMAGE);
    symbols_close(s);
}

/* Another file at the path: its names are not used, and the wanted build id is reported. */
static void another_file_is_not_believed(void **state)
{
    static const uint8_t  other[20] = {0xab, 0xcd, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18};
    const uint64_t        frames[]  = {SCHEDULE + 0x20, function + 1};
    const char           *folders[] = {"/usr/bin", "/nowhere"};
    struct symbols       *s;
    struct symbols_counts n;
    struct seen           seen[STACKS_MAX];
    (void)state;
    make_build_id(&m, now++, other);
    own_image(HOOK_IMAGE_LOAD, other);
    stack_of(frames, 2);
    assert_int_equal(all(folders, 2, &s, seen), 1);
    assert_int_equal(seen[0].frame[0].state, FRAME_NO_FILE); /* no kernel symbols in the trace, and another boot */
    assert_int_equal(seen[0].frame[1].state, FRAME_NO_FILE);
    assert_string_equal(seen[0].frame[1].path, self);
    assert_string_equal(seen[0].frame[1].build_id, "abcd0102030405060708090a0b0c0d0e0f101112");
    assert_int_equal(seen[0].frame[1].offset, function + 1 - base);
    assert_true(symbols_counts(s, &n));
    assert_true(n.unknown == 1 && n.cut == 0 && n.complete == 0); /* the file that would decide is missing */
    assert_true(n.kernel == KERNEL_NONE && strstr(n.kernel_why, "not the boot") != NULL);
    assert_int_equal(n.list_count, 1);
    assert_true(strcmp(n.list[0].path, self) == 0 && n.list[0].frames == 1 &&
                strcmp(n.list[0].build_id, seen[0].frame[1].build_id) == 0);
    symbols_close(s);
}

/* When the process ended too soon, its single executable mapping is the image. */
static void a_single_mapping_will_do(void **state)
{
    const uint64_t  frames[] = {function + 1};
    struct symbols *s;
    struct seen     seen[STACKS_MAX];
    uint32_t        half[2];
    (void)state;
    if (elf.build_id_size != 20 || elf.execs != 1)
        skip();
    uint64_t from = elf.exec[0].vaddr & ~UINT64_C(4095),
             to   = (elf.exec[0].vaddr + elf.exec[0].size + 4095) & ~UINT64_C(4095);
    memcpy(half, elf.build_id, sizeof half);
    make_build_id(&m, now++, elf.build_id);
    make_image(&m, now++, HOOK_IMAGE_LOAD, base - elf.low + from, to - from, half[0], half[1], nt);
    stack_of(frames, 1);
    assert_int_equal(all(NULL, 0, &s, seen), 1);
    named(&seen[0].frame[0], strrchr(self, '/') + 1, "symbols_known_function", 1);
    symbols_close(s);
}

static void the_dump_shows_them(void **state)
{
    const uint64_t  frames[] = {SCHEDULE + 0x20, 0x1000, UINT64_C(0x8000000000000007)};
    struct symbols *s;
    struct seen     seen[STACKS_MAX];
    char           *text;
    size_t          size;
    (void)state;
    stack_of(frames, 3);
    kernel_symbols();
    assert_int_equal(all(NULL, 0, &s, seen), 1);
    struct frame_namer namer = symbols_namer(s);
    for (int json = 0; json < 2; json++) {
        struct dump_options options = {.frames = &namer, .format = json ? DUMP_JSON : DUMP_TEXT};
        struct dump_counts  counts;
        struct reason       why;
        struct etl_reader  *r;
        FILE               *out = open_memstream(&text, &size);
        assert_int_equal(etl_reader_open(trace, &r, NULL), W_SUCCESS);
        assert_int_equal(dump_events(r, &options, out, &counts, &why), W_SUCCESS);
        etl_reader_close(r);
        fclose(out);
        if (json) {
            assert_non_null(strstr(
                text,
                "\"frames\":[{\"address\":\"0xffffffff81000120\",\"module\":\"vmlinux\",\"function\":\"schedule\",\"offset\":32}"));
            assert_non_null(
                strstr(text, "{\"address\":\"0x1000\",\"state\":\"no-image\",\"path\":\"\",\"build_id\":\"\"}"));
        } else {
            assert_non_null(strstr(text, "\n    vmlinux!schedule+0x20\n    0x1000 (of no image"));
            assert_non_null(strstr(text, "\n    0x8000000000000007 (no address"));
        }
        free(text);
    }
    symbols_close(s);
}

/* D-78: a trace of Windows names the kernel's modules; an address in none of them does not belong to a vmlinux
 * either. */
static void kernels_of_others_have_their_own_modules(void **state)
{
    static const uint64_t NT = UINT64_C(0xfffff802424ab000), HAL = UINT64_C(0xfffff80242408000),
                          DRIVER    = UINT64_C(0xfffff80245000000);
    const uint64_t        frames[]  = {NT + 0x1234, HAL + 0x10, DRIVER + 0xFFF, DRIVER + 0x1001, NT + 0xab6000};
    const char           *modules[] = {"ntoskrnl.exe", "hal.dll", "storport.sys", "kernel",
                                       "ntoskrnl.exe" /* a return address behind its end */};
    const uint64_t        offsets[] = {0x1234, 0x10, 0xFFF, 0, 0xab6000};
    struct symbols       *s;
    struct symbols_counts n;
    struct seen           seen[STACKS_MAX];
    (void)state;
    make_image_of(&m, now++, HOOK_IMAGE_DC_START, 0, NT, 0xab6000, 1, 2, "\\SystemRoot\\system32\\ntoskrnl.exe");
    make_image_of(&m, now++, HOOK_IMAGE_DC_START, 0, HAL, 0xa3000, 3, 4, "\\SystemRoot\\system32\\hal.dll");
    make_image_of(&m, now++, HOOK_IMAGE_LOAD, 0, DRIVER, 0x1000, 5, 6, "\\SystemRoot\\System32\\drivers\\storport.sys");
    make_image(&m, now++, HOOK_IMAGE_DC_START, base, elf.high - elf.low, 7, 8, nt); /* its volume is named as ours is */
    stack_of(frames, 5);
    assert_int_equal(all(NULL, 0, &s, seen), 1);
    assert_int_equal(seen[0].count, 5);
    for (unsigned i = 0; i < 5; i++) {
        assert_string_equal(seen[0].frame[i].module, modules[i]);
        assert_int_equal(seen[0].frame[i].offset, offsets[i]);
        assert_int_equal(seen[0].frame[i].state, i == 3 ? FRAME_NO_IMAGE : FRAME_NO_FILE);
        assert_string_equal(seen[0].frame[i].build_id, "");
    }
    assert_true(symbols_counts(s, &n) && n.unknown == 1 && n.cut == 0 && n.kernel == KERNEL_NONE);
    symbols_close(s);
}

/* D-78: without images and names the kernel is unknown. */
static void a_kernel_that_nothing_tells(void **state)
{
    const uint64_t  frames[] = {SCHEDULE + 0x20};
    struct symbols *s;
    struct seen     seen[STACKS_MAX];
    (void)state;
    stack_of(frames, 1);
    assert_int_equal(all(NULL, 0, &s, seen), 1);
    assert_string_equal(seen[0].frame[0].module, "kernel");
    assert_int_equal(seen[0].frame[0].state, FRAME_NO_IMAGE);
    symbols_close(s);
}

/* A Linux kernel without names stays vmlinux, by its own image. */
static void a_linux_kernel_without_names(void **state)
{
    const uint64_t  frames[] = {SCHEDULE + 0x20};
    struct symbols *s;
    struct seen     seen[STACKS_MAX];
    (void)state;
    make_image_of(&m, now++, HOOK_IMAGE_DC_START, 0, SCHEDULE & ~UINT64_C(0xFFFFFF), 0x2000000, 1, 2,
                  "\\Device\\HarddiskVolume1\\boot\\vmlinux-6.1");
    stack_of(frames, 1);
    assert_int_equal(all(NULL, 0, &s, seen), 1);
    assert_string_equal(seen[0].frame[0].module, "vmlinux");
    assert_int_equal(seen[0].frame[0].state, FRAME_NO_FILE);
    symbols_close(s);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {T(functions_have_names),
                                       T(keys_have_the_names_of_their_stacks),
                                       T(ends_tell_what_stacks_are_worth),
                                       T(an_image_has_its_time),
                                       T(another_file_is_not_believed),
                                       T(a_single_mapping_will_do),
                                       T(the_dump_shows_them),
                                       T(kernels_of_others_have_their_own_modules),
                                       T(a_kernel_that_nothing_tells),
                                       T(a_linux_kernel_without_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
