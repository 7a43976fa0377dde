/* /proc's facts about the kernel: addresses of symbols by any of their names, the length of its image. */
#include "autologger/kernel/source/procfs.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static int proc;

static void found(void *ctx, uint64_t address, const char *name)
{
    (void)address;
    strcpy(ctx, name);
}

static void symbols_by_any_of_their_names(void **state)
{
    static const char *const names[] = {"_stext", "no_such_symbol|_etext", "no_such_symbol_either"};
    uint64_t                 out[3];
    (void)state;
    if (proc_kallsyms(proc, names, 2, out, NULL) == 0)
        skip(); /* hidden by kptr_restrict */
    assert_true(out[0] && out[1] > out[0]);
    assert_int_equal(proc_kallsyms(proc, names, 3, out, NULL), 2);
    assert_int_equal(out[2], 0);

    char                 name[512] = "";
    struct kallsyms_wish wish      = {.sorted = &out[1], .count = 1, .found = found, .ctx = name};
    uint64_t             end       = out[1], again[1];
    assert_int_equal(proc_kallsyms(proc, names + 2, 0, again, &wish), 0);
    assert_true(*name != 0);

    uint64_t bytes = proc_kernel_bytes(proc);
    if (bytes) /* the image is longer than its code */
        assert_true(out[0] + bytes > end && bytes < UINT64_C(1) << 30);
}

/* The cheap way gives the same address as the symbols. */
static void the_kernel_is_where_its_symbols_are(void **state)
{
    static const char *const names[] = {"_stext", "_end", "_etext"};
    uint64_t                 out[3], start = 0, end = 0;
    (void)state;
    if (!proc_kernel_place(proc, &start, &end) || !proc_kallsyms(proc, names, 1, out, NULL))
        skip(); /* no /proc/kcore, or hidden */
    proc_kallsyms(proc, names, 3, out, NULL);
    assert_int_equal(start, out[0]);
    assert_true(end > start && end - start < UINT64_C(1) << 30);
    assert_true(!out[1] || end == out[1]);
    assert_true(!out[2] || end > out[2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(symbols_by_any_of_their_names),
                                       cmocka_unit_test(the_kernel_is_where_its_symbols_are)};
    proc                            = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
