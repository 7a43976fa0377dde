/* Kernel flag, group and hook tables. Proves: KRN-10, KRN-11, KRN-12, KRN-13, KRN-15 (names), KRN-23. */
#include "autologger/kernel/tables/flags.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROWS(table) (sizeof(table) / sizeof *(table))

static void to_bytes(const uint32_t mask[GROUP_MASK_WORDS], uint8_t bytes[32])
{
    for (unsigned i = 0; i < 32; i++)
        bytes[i] = (uint8_t)(mask[i / 4] >> (i % 4 * 8));
}

/* Two registry exports of real machines, with the keywords that each was made from. */
static void real_exports_decode_and_encode(void **state)
{
    static const struct {
        uint8_t     bytes[12];
        const char *asked, *canonical;
    } rows[] = {
        {{0x07, 0x07, 0, 0, 0x86, 0x02},
         "PROC_THREAD+LOADER+DISK_IO+DISK_IO_INIT+DPC+CSWITCH+DISPATCHER+PROFILE",
         "PROC_THREAD+LOADER+DISK_IO+DISK_IO_INIT+PROFILE+CSWITCH+DPC+DISPATCHER"},
        {{0x07, 0x23, 0, 0, 0x86, 0x42, 0x88, 0},
         "base+latency+dispatcher",
         "PROC_THREAD+LOADER+DISK_IO+HARD_FAULTS+PROFILE+CSWITCH+DPC+DISPATCHER+INTERRUPT+MEMINFO+MEMINFO_WS"},
    };
    (void)state;
    for (size_t i = 0; i < ROWS(rows); i++) {
        uint8_t  bytes[32] = {0}, back[32];
        uint32_t mask[GROUP_MASK_WORDS], parsed[GROUP_MASK_WORDS];
        char     text[512];
        memcpy(bytes, rows[i].bytes, sizeof rows[i].bytes);
        assert_int_equal(group_mask_from_bytes(bytes, sizeof bytes, mask, NULL), W_SUCCESS);
        assert_int_equal(group_mask_parse(rows[i].asked, parsed, NULL), W_SUCCESS);
        assert_memory_equal(mask, parsed, sizeof mask);
        to_bytes(parsed, back);
        assert_memory_equal(bytes, back, sizeof bytes);
        group_mask_format(mask, text, sizeof text);
        assert_string_equal(text, rows[i].canonical);
    }
}

/* The file name of the first export holds the keywords: none missing, none more. */
static void file_name_keywords_are_the_flags(void **state)
{
    static const char            name[]    = "PROC_THREAD+LOADER+DISK_IO+DISK_IO_INIT+DPC+CSWITCH+DISPATCHER+PROFILE";
    static const uint8_t         bytes[32] = {0x07, 0x07, 0, 0, 0x86, 0x02};
    uint32_t                     mask[GROUP_MASK_WORDS];
    size_t                       count, named = 0;
    const struct kernel_keyword *k = kernel_keywords(&count);
    (void)state;
    assert_int_equal(group_mask_from_bytes(bytes, sizeof bytes, mask, NULL), W_SUCCESS);
    for (size_t i = 0; i < count; i++) {
        char list[128], pattern[40];
        snprintf(list, sizeof list, "+%s+", name);
        snprintf(pattern, sizeof pattern, "+%s+", k[i].name);
        bool in_name = strstr(list, pattern) != NULL;
        /* FILENAME is one of the two bits of DISK_IO */
        assert_int_equal(in_name || strcmp(k[i].name, "FILENAME") == 0, group_mask_has(mask, k[i].name));
        named += in_name;
    }
    assert_int_equal(named, 8);
}

static void alias_bits_move_to_their_place(void **state)
{
    static const struct {
        uint32_t    alias;
        const char *keyword;
    } rows[] = {{0x10, "CSWITCH"},     {0x20, "DPC"},          {0x40, "INTERRUPT"},   {0x80, "SYSCALL"},
                {0x800, "DISPATCHER"}, {0x4000, "VIRT_ALLOC"}, {0x800000, "DRIVERS"}, {0x1000000, "PROFILE"}};
    (void)state;
    for (size_t i = 0; i < ROWS(rows); i++) {
        uint8_t  bytes[4];
        uint32_t mask[GROUP_MASK_WORDS], want[GROUP_MASK_WORDS];
        char     text[64];
        for (unsigned b = 0; b < 4; b++)
            bytes[b] = (uint8_t)(rows[i].alias >> 8 * b);
        assert_int_equal(group_mask_from_bytes(bytes, 4, mask, NULL), W_SUCCESS);
        assert_int_equal(group_mask_parse(rows[i].keyword, want, NULL), W_SUCCESS);
        assert_memory_equal(mask, want, sizeof mask);
        assert_int_equal(mask[0], 0);
        uint32_t raw[GROUP_MASK_WORDS] = {rows[i].alias}; /* a mask without moved bits prints the same, once */
        group_mask_format(raw, text, sizeof text);
        assert_string_equal(text, rows[i].keyword);
        assert_true(group_mask_has(raw, rows[i].keyword));
    }
}

static void unknown_bits_are_kept(void **state)
{
    uint8_t  bytes[40];
    uint32_t mask[GROUP_MASK_WORDS], back[GROUP_MASK_WORDS];
    char     text[2048];
    (void)state;
    static const uint8_t odd[16] = {0, 1, 0, 0x08, 0, 0, 0, 0xE0, 0, 0, 0, 0, 0x78, 0x56, 0x34, 0x12};
    assert_int_equal(group_mask_from_bytes(odd, sizeof odd, mask, NULL), W_SUCCESS);
    group_mask_format(mask, text, sizeof text);
    assert_string_equal(text, "MASK0:0x08000100+MASK1:0xe0000000+MASK3:0x12345678");
    uint32_t seed = 1;
    for (unsigned round = 0; round < 2000; round++) {
        for (unsigned i = 0; i < sizeof bytes; i++)
            bytes[i] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
        size_t size = (seed >> 8) % 33;
        assert_int_equal(group_mask_from_bytes(bytes, size, mask, NULL), W_SUCCESS);
        size_t need = group_mask_format(mask, text, sizeof text);
        assert_int_equal(need, strlen(text));
        if (need == 0)
            continue;
        assert_int_equal(group_mask_parse(text, back, NULL), W_SUCCESS);
        assert_memory_equal(mask, back, sizeof mask);
    }
    struct reason why;
    assert_int_equal(group_mask_from_bytes(bytes, 40, mask, &why), W_SUCCESS);
    uint8_t over[41] = {0};
    assert_int_equal(group_mask_from_bytes(over, sizeof over, mask, &why), W_INVALID_USER_BUFFER);
    assert_non_null(strstr(why.text, "41"));
    static const uint8_t part[7] = {1, 0, 0, 0, 0xFF, 0xFF, 0xFF}; /* rounded down to one word */
    assert_int_equal(group_mask_from_bytes(part, sizeof part, mask, NULL), W_SUCCESS);
    assert_int_equal(mask[0], 1);
    assert_int_equal(mask[1], 0);
}

static void every_keyword_and_group_round_trips(void **state)
{
    size_t                       count, groups;
    const struct kernel_keyword *k = kernel_keywords(&count);
    const struct kernel_group   *g = kernel_groups(&groups);
    uint32_t                     mask[GROUP_MASK_WORDS], back[GROUP_MASK_WORDS];
    char                         text[512];
    (void)state;
    assert_int_equal(count, 64);
    assert_int_equal(groups, 11);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(group_mask_parse(k[i].name, mask, NULL), W_SUCCESS);
        group_mask_format(mask, text, sizeof text);
        assert_string_equal(text, k[i].name);
        assert_true(group_mask_has(mask, k[i].name));
    }
    for (size_t i = 0; i < groups; i++) {
        assert_int_equal(group_mask_parse(g[i].name, mask, NULL), W_SUCCESS);
        assert_memory_equal(mask, g[i].mask, sizeof mask);
        group_mask_format(mask, text, sizeof text);
        assert_null(strstr(text, "MASK"));
        assert_int_equal(group_mask_parse(text, back, NULL), W_SUCCESS);
        assert_memory_equal(mask, back, sizeof mask);
    }
}

/* KRN-23: the members of each group, spelled out: all bits of each keyword, and no others. */
static void groups_expand(void **state)
{
#define DISK "PROC_THREAD+LOADER+DISK_IO+HARD_FAULTS"
    static const char *const rows[][2] = {
        {"Base", DISK "+PROFILE+MEMINFO+MEMINFO_WS"},
        {"Diag", DISK "+DPC+INTERRUPT+CSWITCH+PERF_COUNTER+COMPACT_CSWITCH"},
        {"DiagEasy", DISK "+DPC+INTERRUPT+CSWITCH+PERF_COUNTER"},
        {"Latency", DISK "+DPC+INTERRUPT+CSWITCH+PROFILE"},
        {"FileIO", DISK "+FILE_IO+FILE_IO_INIT"},
        {"IOTrace", DISK "+CSWITCH"},
        {"ResumeTrace", DISK "+PROFILE+POWER"},
        {"SysProf", "PROC_THREAD+LOADER+PROFILE"},
        {"ResidentSet", DISK "+MEMORY+MEMINFO+VAMAP+SESSION+VIRT_ALLOC"},
        {"ReferenceSet",
         "PROC_THREAD+LOADER+HARD_FAULTS+MEMORY+FOOTPRINT+VIRT_ALLOC+MEMINFO+VAMAP+SESSION+REFSET+MEMINFO_WS"},
        {"Network", "PROC_THREAD + LOADER+NETWORKTRACE"}};
    uint32_t mask[GROUP_MASK_WORDS], spelled[GROUP_MASK_WORDS];
    size_t   groups;
    (void)state;
    kernel_groups(&groups);
    assert_int_equal(groups, ROWS(rows));
    for (size_t i = 0; i < ROWS(rows); i++) {
        assert_int_equal(group_mask_parse(rows[i][0], mask, NULL), W_SUCCESS);
        assert_int_equal(group_mask_parse(rows[i][1], spelled, NULL), W_SUCCESS);
        if (memcmp(mask, spelled, sizeof mask) != 0)
            fail_msg("%s is not %s", rows[i][0], rows[i][1]);
    }
}

static void every_flag_is_one_bit_in_place(void **state)
{
    size_t                    count;
    const struct kernel_flag *f = kernel_flags(&count);
    (void)state;
    for (size_t i = 0; i < count; i++) {
        assert_true(f[i].word < GROUP_MASK_WORDS && f[i].bits && !(f[i].bits & (f[i].bits - 1)));
        assert_true(f[i].bits < 1u << 29);
        assert_true(i == 0 || f[i - 1].word < f[i].word || f[i - 1].bits < f[i].bits);
        assert_true(strlen(f[i].what) > 2 && strlen(f[i].source) > 3);
        if (f[i].keyword) {
            uint32_t mask[GROUP_MASK_WORDS];
            assert_int_equal(group_mask_parse(f[i].keyword, mask, NULL), W_SUCCESS);
            assert_true(mask[f[i].word] & f[i].bits);
        }
    }
}

static void hooks_round_trip(void **state)
{
    size_t                    count;
    const struct kernel_hook *h = kernel_hooks(&count);
    uint16_t                  hooks[HOOK_MAX];
    unsigned                  n;
    char                      text[64];
    static const uint8_t      seed[] = {0x2e, 0x0f, 0, 0, 0x24, 0x05, 0, 0, 0x32, 0x05, 0, 0};
    (void)state;
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(hooks_parse(h[i].name, hooks, &n, NULL), W_SUCCESS);
        assert_int_equal(n, 1);
        assert_int_equal(hooks[0], h[i].hook);
        assert_string_equal(hook_name(hooks[0]), h[i].name);
        hooks_format(hooks, n, text, sizeof text);
        assert_string_equal(text, h[i].name);
    }
    assert_int_equal(hooks_from_bytes(seed, sizeof seed, hooks, &n, NULL), W_SUCCESS);
    assert_int_equal(hooks_format(hooks, n, text, sizeof text), strlen("Profile+CSwitch+ReadyThread"));
    assert_string_equal(text, "Profile+CSwitch+ReadyThread");
    assert_int_equal(hooks_parse("profile cswitch\n+ 0x0501+0X7fff", hooks, &n, NULL), W_SUCCESS);
    assert_int_equal(n, 4);
    hooks_format(hooks, n, text, sizeof text);
    assert_string_equal(text, "Profile+CSwitch+ThreadCreate+0x7fff");
    assert_null(hook_name(0x7fff));
}

/* KRN-13: CLASSIC_EVENT_ID gives the same hooks as the bytes of StackWalkingFilter: every hook of a kernel class, and
 * no other. */
static void hooks_by_class_and_type(void **state)
{
    static const struct {
        const char *text;
        unsigned    hook;
    } rows[] = {
        {"{3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c}:36", 0x0524},
        {"3D6FA8D1-FE05-11D0-9DDA-00C04FD7BA7C:0x32", 0x0532},
        {"{ce1dbfb4-137e-4da6-87b0-3f59aa102cbc}:46", 0x0f2e},
        {"{2cb15d1d-5fc1-11d2-abe1-00a0c911f518}:10", 0x030a}, /* ImageLoad: of the group of processes */
        {"{2cb15d1d-5fc1-11d2-abe1-00a0c911f518}:2", 0x1402},
        {"{3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7c}:13", 0x010d},
    };
    static const char *const wrong[] = {
        "{3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c}:256", "{3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c}:",
        "{3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c}:x",   "{00000000-fe05-11d0-9dda-00c04fd7ba7c}:1",
        "{3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c}",     "{3d6fa8d1}:1"};
    uint16_t hooks[HOOK_MAX];
    unsigned n;
    (void)state;
    for (size_t i = 0; i < ROWS(rows); i++) {
        assert_int_equal(hooks_parse(rows[i].text, hooks, &n, NULL), W_SUCCESS);
        assert_int_equal(n, 1);
        assert_int_equal(hooks[0], rows[i].hook);
    }
    for (size_t i = 0; i < ROWS(wrong); i++)
        assert_int_equal(hooks_parse(wrong[i], hooks, &n, NULL), W_INVALID_PARAMETER);
    assert_int_equal(hooks_parse("CSwitch+{3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c}:50 0x0f2e", hooks, &n, NULL),
                     W_SUCCESS);
    assert_true(n == 3 && hooks[0] == 0x0524 && hooks[1] == 0x0532 && hooks[2] == 0x0f2e);
}

static void hook_limits(void **state)
{
    static uint8_t bytes[1028];
    static char    text[257 * 7 + 1];
    uint16_t       hooks[HOOK_MAX];
    unsigned       n;
    struct reason  why;
    (void)state;
    assert_int_equal(hooks_from_bytes(bytes, 1024, hooks, &n, &why), W_SUCCESS);
    assert_int_equal(n, HOOK_MAX);
    assert_int_equal(hooks_from_bytes(bytes, 1025, hooks, &n, &why), W_INVALID_USER_BUFFER);
    static const uint8_t part[5] = {0x24, 0x05, 0, 0, 0x01}; /* rounded up to two words */
    assert_int_equal(hooks_from_bytes(part, sizeof part, hooks, &n, &why), W_SUCCESS);
    assert_int_equal(n, 2);
    assert_int_equal(hooks[1], 1);
    static const uint8_t high[4] = {0x24, 0x05, 0x01, 0};
    assert_int_equal(hooks_from_bytes(high, sizeof high, hooks, &n, &why), W_INVALID_PARAMETER);
    for (unsigned i = 0; i < HOOK_MAX + 1; i++)
        strcat(text, "0x0501 ");
    assert_int_equal(hooks_parse(text, hooks, &n, &why), W_INVALID_USER_BUFFER);
    text[HOOK_MAX * 7] = '\0';
    assert_int_equal(hooks_parse(text, hooks, &n, &why), W_SUCCESS);
    assert_int_equal(n, HOOK_MAX);
}

static void mistakes_are_named_with_a_suggestion(void **state)
{
    static const struct {
        const char *text, *part;
        bool        hooks;
    } rows[] = {
        {"PROC_THREAD+CSWTCH", "'CSWTCH', did you mean CSWITCH?", false},
        {"PROC_THRED", "did you mean PROC_THREAD?", false},
        {"DCP", "did you mean DPC?", false},
        {"latncy", "did you mean Latency?", false},
        {"XYZZY_NOTHING_LIKE_IT", "unknown kernel flag 'XYZZY_NOTHING_LIKE_IT'", false},
        {"LOADER+", "missing", false},
        {"LOADER++DPC", "missing", false},
        {"", "no kernel flag", false},
        {"MASK8:0x1", "unknown", false},
        {"MASK0:0x123456789", "unknown", false},
        {"Profle", "did you mean Profile?", true},
        {"CSwicth+Profile", "did you mean CSwitch?", true},
        {"PROC_THREAD", "unknown stack name 'PROC_THREAD'", true},
        {"0x12345", "unknown", true},
        {"0xZZ", "unknown", true},
        {"  ", "no stack name", true},
    };
    (void)state;
    for (size_t i = 0; i < ROWS(rows); i++) {
        uint32_t      mask[GROUP_MASK_WORDS];
        uint16_t      hooks[HOOK_MAX];
        unsigned      n;
        struct reason why = {0};
        wstatus       st =
            rows[i].hooks ? hooks_parse(rows[i].text, hooks, &n, &why) : group_mask_parse(rows[i].text, mask, &why);
        assert_int_equal(st, W_INVALID_PARAMETER);
        if (!strstr(why.text, rows[i].part))
            fail_msg("'%s' gave '%s'", rows[i].text, why.text);
    }
    assert_string_equal(flag_suggest("CSWTCH"), "CSWITCH");
    assert_string_equal(flag_suggest("HeapAlocc"), "HeapAlloc");
    assert_null(flag_suggest("unrelated-thing"));
    assert_null(flag_suggest(""));
}

static void the_tables_are_whole(void **state)
{
    size_t flags, hooks;
    (void)state;
    const struct kernel_flag *f = kernel_flags(&flags);
    const struct kernel_hook *h = kernel_hooks(&hooks);
    assert_int_equal(flags, 116);
    assert_int_equal(hooks, 149);
    for (size_t i = 1; i < flags; i++)
        assert_true(f[i - 1].word < f[i].word || (f[i - 1].word == f[i].word && f[i - 1].bits < f[i].bits));
    for (size_t i = 1; i < hooks; i++)
        for (size_t k = 0; k < i; k++)
            assert_true(strcmp(h[i].name, h[k].name) != 0 && h[i].hook != h[k].hook);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_exports_decode_and_encode),
        cmocka_unit_test(file_name_keywords_are_the_flags),
        cmocka_unit_test(alias_bits_move_to_their_place),
        cmocka_unit_test(unknown_bits_are_kept),
        cmocka_unit_test(every_keyword_and_group_round_trips),
        cmocka_unit_test(groups_expand),
        cmocka_unit_test(every_flag_is_one_bit_in_place),
        cmocka_unit_test(hooks_round_trip),
        cmocka_unit_test(hooks_by_class_and_type),
        cmocka_unit_test(hook_limits),
        cmocka_unit_test(mistakes_are_named_with_a_suggestion),
        cmocka_unit_test(the_tables_are_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
