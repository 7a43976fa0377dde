/* The unwinder against the compiler's: the same return addresses, in recursion, through a callback of the C library,
 * in functions with a frame of variable size, in a thread, on a stack of its own (a coroutine's); and what damaged tables give.
 * Proves: SPC-02 (stacks). */
#include "autologger/heap/here.h"

#include <pthread.h>
#include <setjmp.h> /* cmocka */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unwind.h>

#include <cmocka.h>

enum { FRAMES = 200 };
static uint64_t           ours[FRAMES];
static unsigned           our_count;
static void              *theirs[FRAMES];
static int                their_count;
static struct unwind_room work;

/* Not backtrace(): a sanitizer stands before it. */
static _Unwind_Reason_Code their_frame(struct _Unwind_Context *at, void *unused)
{
    void *const ip = (void *)(uintptr_t)_Unwind_GetIP(at);
    (void)unused;
    if (!ip || their_count == FRAMES)
        return _URC_END_OF_STACK;
    theirs[their_count++] = ip;
    return _URC_NO_REASON;
}

/* Both begin at the caller of this function. */
static __attribute__((noinline)) void take(void)
{
    const struct unwind_frame first = here_frame();
    our_count                       = unwind_stack(&first, &work, ours, FRAMES);
    their_count                     = 0;
    _Unwind_Backtrace(their_frame, NULL);
    __asm__ volatile("" ::: "memory");
}

/* theirs[0] is in take itself. The outermost frame of a thread, with address 0, counts for neither. */
static void compare(unsigned least)
{
    assert_true(our_count >= least);
    assert_int_equal(our_count, their_count - 1);
    for (unsigned i = 0; i < our_count; i++)
        assert_int_equal(ours[i], (uint64_t)(uintptr_t)theirs[i + 1]);
}

static __attribute__((noinline)) void deep(int depth)
{
    if (depth)
        deep(depth - 1);
    else
        take();
    __asm__ volatile("" ::: "memory");
}
static void test_recursion(void **state)
{
    (void)state;
    deep(60);
    compare(60);
}

static int callback(const void *a, const void *b)
{
    take();
    return *(const int *)a - *(const int *)b;
}
static void test_callback(void **state)
{
    int numbers[] = {3, 1, 2};
    (void)state;
    qsort(numbers, 3, sizeof *numbers, callback);
    compare(4);
}

static __attribute__((noinline)) void variable(size_t size)
{
    char room[size];
    memset(room, 1, size);
    deep(3);
    __asm__ volatile("" ::"r"(room) : "memory");
}
static void test_variable(void **state)
{
    (void)state;
    for (size_t size = 1; size < 5000; size += 777) {
        variable(size);
        compare(5);
    }
}

static void *in_thread(void *unused)
{
    deep(5);
    return unused;
}
static void test_thread(void **state)
{
    pthread_t t;
    (void)state;
    assert_int_equal(pthread_create(&t, NULL, in_thread, NULL), 0);
    pthread_join(t, NULL);
    compare(6);
}

static ucontext_t own, other;
static void       coroutine(void) { deep(7); }
static void       test_coroutine(void **state)
{
    static _Alignas(16) char stack[256 * 1024];
    (void)state;
    getcontext(&other);
    other.uc_stack.ss_sp   = stack;
    other.uc_stack.ss_size = sizeof stack;
    other.uc_link          = &own;
    makecontext(&other, coroutine, 0);
    swapcontext(&own, &other);
    assert_true(our_count >= 8);
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(ours[i], (uint64_t)(uintptr_t)theirs[i + 1]);
}

static void test_no_table(void **state)
{
    (void)state;
    static const uint8_t nothing[64];
    const uint64_t       low  = (uint64_t)(uintptr_t)nothing;
    struct unwind_rule   rule = unwind_rule_find(nothing, low, low + sizeof nothing, low + 8);
    assert_false(rule.valid);
    rule = unwind_rule_find(nothing, low, low, low);
    assert_false(rule.valid);
    rule = unwind_rule_find(NULL, low, low + 8, low);
    assert_false(rule.valid);
    const struct unwind_frame made = {0x1234, 0x1000, 0x1000}; /* in no file */
    assert_int_equal(unwind_stack(&made, &work, ours, FRAMES), 1);
}

static unsigned told;
static void     image_seen(struct unwind_room *seen)
{
    assert_true(seen->low < seen->high && seen->low % 4096 == 0);
    told++;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recursion), cmocka_unit_test(test_callback),  cmocka_unit_test(test_variable),
        cmocka_unit_test(test_thread),    cmocka_unit_test(test_coroutine), cmocka_unit_test(test_no_table),
    };
    unwind_begin(image_seen);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed || told < 2; /* the program, the C library */
}
