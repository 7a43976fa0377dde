/* The sources' fields in recorded format files (data/linux-VERSION, from tracefs of such kernels). Proves: issue 4, formats are read by
 * field name; kernels that lack a tracepoint or a field are tolerated. */
#include "autologger/kernel/tests/raw_maker.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

static struct maker maker;

static int recorded(const char *version)
{
    char path[512];
    snprintf(path, sizeof path, "%s/data/linux-%s", AL_TEST_DIR, version);
    int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_true(root >= 0);
    return root;
}

/* How many rows of the table are recorded there; each has all of its fields, but for those of newer kernels. */
static unsigned all_fields(const char *version, const char *const *absent)
{
    int      root  = recorded(version);
    unsigned found = 0;
    for (unsigned kind = 0; kind < SRC_COUNT; kind++) {
        struct raw_source s = {0};
        const char       *missing;
        char              text[32];
        if (!strchr(source_table[kind].name, ':'))
            continue;
        int id = tracefs_tracepoint(root, &source_table[kind], &s, &missing, text);
        for (unsigned i = 0; absent[i]; i++)
            if (strcmp(absent[i], source_table[kind].name) == 0)
                assert_int_equal(id, -ENOENT);
        if (id < 0)
            continue;
        if (missing && !(source_table[kind].flags & SOURCE_NEWER))
            fail_msg("Linux %s: %s has no %s", version, source_table[kind].name, missing);
        assert_true(id > 0);
        found++;
    }
    close(root);
    return found;
}

static void of_6_1(void **state)
{
    static const char *const absent[] = {"sock:sock_send_length", "sock:sock_recv_length", "filemap:mm_filemap_fault", NULL};
    (void)state;
    assert_true(all_fields("6.1", absent) >= 9 + 6);
}

/* Tests of converters make records as 6.18 lays them out: with these very fields. */
static void of_6_18(void **state)
{
    static const unsigned made[] = {SRC_SOCKET_STATE, SRC_SEND_LENGTH, SRC_RECV_LENGTH, SRC_RETRANSMIT, SRC_FAULT_USER, SRC_FAULT_KERNEL,
                                    SRC_FAULT_SIGNAL, SRC_FILE_FAULT, SRC_MUNMAP, SRC_MUNMAP_EXIT, SRC_SPLIT, SRC_REMAP};
    int root = recorded("6.18");
    (void)state;
    assert_true(all_fields("6.18", (const char *const[]){NULL}) >= sizeof made / sizeof *made);
    maker_init(&maker, 1, 1 << 20);
    for (unsigned i = 0; i < sizeof made / sizeof *made; i++) {
        struct raw_source s = {0}, *m = &maker.log.header->source[made[i]];
        const char       *missing;
        char              text[32];
        assert_true(tracefs_tracepoint(root, &source_table[made[i]], &s, &missing, text) > 0);
        for (unsigned f = 0; f < RAW_FIELDS && s.field[f].offset != RAW_NO_FIELD; f++)
            if (s.field[f].offset != m->field[f].offset || s.field[f].size != m->field[f].size)
                fail_msg("%s, field %u: %u+%u in the format file, %u+%u in the tests", source_table[made[i]].name, f, s.field[f].offset,
                         s.field[f].size, m->field[f].offset, m->field[f].size);
    }
    maker_finish(&maker);
    close(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(of_6_1), cmocka_unit_test(of_6_18)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
