/* The traces of tools/dev/make_traces.c, read in full: the number of events written, time order, no damage.
 * Proves: CON-02 (chronological over CPUs). D-50: from a clone alone. */
#include "autologger/etl/tests/counted_files.h"

static void counts_and_order(void **state)
{
    static const struct file files[] = {
        {"small.etl", "made-small", 4, 2, 3},
        {"programs.etl", "made-programs", 121, 4, 6},
        {"compressed.etl", "made-compressed", 201, 2, 7},
        {"kernel.etl", "NT Kernel Logger", 930, 2, 8},
    };
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        counted_file(AL_BINARY_DIR "/made", &files[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(counts_and_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
