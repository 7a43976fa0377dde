/* The tables of kernel flags and hooks, row by row against lists of Windows that are not part of the project. */
#include "autologger/kernel/tables/flags.h"
#include "tools/dev/foreign.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static char masks_path[4096], stacks_path[4096];

static void flags_equal_the_list(void **state)
{
    FILE    *masks = fopen(masks_path, "r");
    char     line[512], symbol[128];
    size_t   flags, seen = 0;
    unsigned word, bits;
    (void)state;
    const struct kernel_flag *f = kernel_flags(&flags);
    assert_non_null(masks);
    while (fgets(line, sizeof line, masks))
        if (sscanf(line, "%u\t0x%x\t%*s\t%127[^\t (]", &word, &bits, symbol) == 3) {
            assert_true(seen < flags);
            assert_int_equal(f[seen].word, word);
            assert_int_equal(f[seen].bits, bits);
            assert_string_equal(f[seen].symbol, symbol);
            seen++;
        }
    assert_int_equal(seen, flags);
    fclose(masks);
}

static void hooks_equal_the_list(void **state)
{
    FILE    *stacks = fopen(stacks_path, "r");
    char     line[512], name[128], enabled_by[128];
    size_t   hooks, seen = 0;
    unsigned hook;
    (void)state;
    const struct kernel_hook *h = kernel_hooks(&hooks);
    assert_non_null(stacks);
    while (fgets(line, sizeof line, stacks))
        if (sscanf(line, "%127s\t0x%x\t%*s\t%*s\t%*[^\t]\t%*s\t%127[^\t\n]", name, &hook, enabled_by) == 3) {
            assert_true(seen < hooks);
            assert_string_equal(h[seen].name, name);
            assert_int_equal(h[seen].hook, hook);
            assert_string_equal(h[seen].enabled_by, enabled_by);
            seen++;
        }
    assert_int_equal(seen, hooks);
    fclose(stacks);
}

int main(void)
{
    if (!foreign_path("../facts/kernel-group-masks.tsv", masks_path, sizeof masks_path) ||
        !foreign_path("../facts/stackwalk-keywords.tsv", stacks_path, sizeof stacks_path))
        return FOREIGN_SKIPPED;
    const struct CMUnitTest tests[] = {cmocka_unit_test(flags_equal_the_list), cmocka_unit_test(hooks_equal_the_list)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
