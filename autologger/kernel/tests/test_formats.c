/* The sources' fields in recorded format files (data/linux-VERSION, from tracefs of such kernels). Proves: issue 4,
 * formats are read by field name; kernels that lack a tracepoint or a field are tolerated. */
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

static bool listed(const char *const *names, const char *name)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

/* Each source exists with all of its fields, except the sources listed as absent in this kernel, and fields of newer
 * kernels. */
static void all_fields(const char *version, const char *const *absent)
{
    int      root  = recorded(version);
    unsigned found = 0, bad = 0;
    for (unsigned kind = 0; kind < SRC_COUNT; kind++) {
        struct raw_source s    = {0};
        const char       *name = source_table[kind].name, *missing = NULL;
        char              text[32];
        /* our own probes: boot-tests/scenarios/devices */
        if (!strchr(name, ':') || strncmp(name, "autologger:", 11) == 0)
            continue;
        int id = tracefs_tracepoint(root, &source_table[kind], &s, &missing, text);
        if (id <= 0 ? id != -ENOENT || !listed(absent, name) : listed(absent, name)) {
            print_message("Linux %s: %s is %s\n", version, name, id > 0 ? "there" : "not recorded");
            bad++;
        }
        if (id > 0 && missing && !(source_table[kind].flags & SOURCE_NEWER)) {
            print_message("Linux %s: %s has no %s\n", version, name, missing);
            bad++;
        }
        found += id > 0;
    }
    close(root);
    print_message("Linux %s: %u tracepoints\n", version, found);
    assert_int_equal(bad, 0);
}

static void of_6_1(void **state)
{
    (void)state;
    all_fields("6.1", (const char *const[]){"sock:sock_send_length", "sock:sock_recv_length",
                                            "filemap:mm_filemap_fault", "ipi:ipi_send_cpu", NULL});
}

static void of_6_12(void **state)
{
    (void)state;
    all_fields("6.12", (const char *const[]){NULL});
}

/* Tests of converters make records with the layout of 6.18: with exactly these fields. */
static void of_6_18(void **state)
{
    static const unsigned made[] = {SRC_SOCKET_STATE, SRC_SEND_LENGTH,  SRC_RECV_LENGTH,  SRC_RETRANSMIT,
                                    SRC_FAULT_USER,   SRC_FAULT_KERNEL, SRC_FAULT_SIGNAL, SRC_FILE_FAULT,
                                    SRC_MUNMAP,       SRC_MUNMAP_EXIT,  SRC_SPLIT,        SRC_REMAP};
    int                   root   = recorded("6.18");
    (void)state;
    /* a kernel without modules */
    all_fields("6.18", (const char *const[]){"module:module_load", "module:module_free", NULL});
    maker_init(&maker, 1, 1 << 20);
    for (unsigned i = 0; i < sizeof made / sizeof *made; i++) {
        struct raw_source s = {0}, *m = &maker.log.header->source[made[i]];
        const char       *missing;
        char              text[32];
        assert_true(tracefs_tracepoint(root, &source_table[made[i]], &s, &missing, text) > 0);
        for (unsigned f = 0; f < RAW_FIELDS && s.field[f].offset != RAW_NO_FIELD; f++)
            if (s.field[f].offset != m->field[f].offset || s.field[f].size != m->field[f].size)
                fail_msg("%s, field %u: %u+%u in the format file, %u+%u in the tests", source_table[made[i]].name, f,
                         s.field[f].offset, s.field[f].size, m->field[f].offset, m->field[f].size);
    }
    maker_finish(&maker);
    close(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(of_6_1), cmocka_unit_test(of_6_12), cmocka_unit_test(of_6_18)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
