/* Unwinding copies of this program's own stack: the functions that are on it, in order, to where it began; a copy that
 * is too short, files that are not the ones, and nonsense end the stack and say why. Proves: issue 4 "by DWARF from
 * copied stack memory". */
#include "autologger/kernel/source/procfs.h"
#include "autologger/symbols/unwind.h"

#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#ifdef __x86_64__
static struct unwind_copy copy;
static uint8_t            stack[STACK_COPY_MOST];
static uintptr_t          after[3]; /* where the calls of outer, middle and the test return to */

/* Copies the present registers and stack, also the bytes between variables. */
__attribute__((noinline, no_sanitize("address"))) static void take_copy(void)
{
    static const int order[STACK_COPY_REGISTERS] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI,
                                                    REG_RBP, REG_RSP, REG_RIP, REG_R8,  REG_R9,  REG_R10,
                                                    REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    extern char    **environ;
    ucontext_t       u;
    getcontext(&u);
    copy = (struct unwind_copy){(uint32_t)getpid(), (uint32_t)gettid(), {0}, 0, 0};
    for (unsigned i = 0; i < STACK_COPY_REGISTERS; i++)
        copy.registers[i] = (uint64_t)u.uc_mcontext.gregs[order[i]];
    const uint64_t from = copy.registers[STACK_COPY_SP], to = (uintptr_t)environ; /* above all frames */
    copy.size = (uint32_t)(to - from < sizeof stack ? to - from : sizeof stack);
    for (uint32_t i = 0; i < copy.size; i++) /* not memcpy: a sanitizer checks that */
        stack[i] = ((volatile uint8_t *)(uintptr_t)from)[i];
    after[0] = (uintptr_t)__builtin_return_address(0);
}
__attribute__((noinline)) static void middle(void)
{
    take_copy();
    after[1] = (uintptr_t)__builtin_return_address(0);
}
__attribute__((noinline)) static void outer(void)
{
    middle();
    after[2] = (uintptr_t)__builtin_return_address(0);
}

struct reported {
    struct unwind *u;
    uint32_t       changed;
};

static int report(struct dl_phdr_info *info, size_t size, void *ctx)
{
    const struct reported *to  = ctx;
    struct elf_info        elf = {0};
    char                   self[512];
    ssize_t                n    = readlink("/proc/self/exe", self, sizeof self - 1);
    const char            *path = *info->dlpi_name ? info->dlpi_name : self;
    (void)size;
    self[n > 0 ? n : 0] = 0;
    int fd              = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0; /* the vdso */
    elf_read(fd, &elf);
    close(fd);
    struct unwind_image image = {
        .base = info->dlpi_addr + elf.low, .size = elf.high - elf.low, .process_id = (uint32_t)getpid()};
    memcpy(&image.stamp, elf.build_id, 4);
    memcpy(&image.checksum, elf.build_id + 4, 4);
    image.checksum ^= to->changed;
    assert_true(unwind_image(to->u, &image, path));
    return 0;
}

static struct unwind *known(uint32_t changed)
{
    struct elf_search nowhere = {NULL, 0};
    struct reported   to      = {unwind_create(&nowhere), changed};
    assert_non_null(to.u);
    dl_iterate_phdr(report, &to);
    return to.u;
}

static void the_calls_are_found(void **state)
{
    struct unwind       *u = known(0);
    struct unwind_answer a;
    (void)state;
    outer();
    for (int i = 0; i < 2; i++) { /* the second time from cached tables */
        unwind_stack(u, &copy, stack, &a);
        assert_true(a.count > 5);
        assert_int_equal(a.frames[0], copy.registers[STACK_COPY_IP]);
        for (unsigned k = 0; k < 3; k++)
            assert_int_equal(a.frames[k + 1], after[k]);
        assert_int_equal(a.end, UNWIND_WHOLE);
    }
    unwind_destroy(u);
}

static void what_is_missing_ends_the_stack(void **state)
{
    struct unwind       *u = known(0), *others = known(1);
    struct unwind_answer whole, a;
    (void)state;
    outer();
    unwind_stack(u, &copy, stack, &whole);
    struct unwind_copy few = copy;
    few.size               = 256;
    unwind_stack(u, &few, stack, &a);
    assert_int_equal(a.end, UNWIND_NO_MEMORY);
    assert_true(a.count >= 1 && a.count < whole.count &&
                memcmp(a.frames, whole.frames, a.count * sizeof *a.frames) == 0);
    few.size = 0;
    unwind_stack(u, &few, stack, &a);
    assert_true(a.end == UNWIND_NO_MEMORY && a.count == 1);
    unwind_stack(others, &copy, stack, &a); /* files with other build ids are at the paths */
    assert_true(a.end == UNWIND_NO_TABLE && a.count == 1);
    few            = copy;
    few.process_id = 1; /* its images are not known */
    unwind_stack(u, &few, stack, &a);
    assert_true(a.end == UNWIND_NO_TABLE && a.count == 1);
    few                          = copy;
    few.registers[STACK_COPY_IP] = 0x1234; /* code in no file: by frame pointers, and there is none */
    few.registers[STACK_COPY_BP] = 1;
    unwind_stack(u, &few, stack, &a);
    assert_true(a.end != UNWIND_WHOLE && a.count >= 1 && a.frames[0] == 0x1234);
    unwind_destroy(others);
    unwind_destroy(u);
}

static void images_go(void **state)
{
    struct unwind       *u = known(0);
    struct unwind_answer a;
    (void)state;
    outer();
    struct dl_find_object found;
    assert_int_equal(_dl_find_object((void *)after[0], &found), 0);
    const struct unwind_image gone = {
        .base = (uintptr_t)found.dlfo_map_start, .process_id = (uint32_t)getpid(), .gone = 1};
    assert_true(unwind_image(u, &gone, "gone"));
    unwind_stack(u, &copy, stack, &a);
    assert_true(a.end != UNWIND_WHOLE);
    unwind_destroy(u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_calls_are_found),
                                       cmocka_unit_test(what_is_missing_ends_the_stack), cmocka_unit_test(images_go)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void) { return 77; }
#endif
