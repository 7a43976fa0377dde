/* D-40. Proves: KRN-02 (names and values of the public header): EVENT_TRACE_FLAG_* and the GUIDs of evntrace.h against
 * the project's own tables, in both directions. */
#define INITGUID
#include "autologger/include/autologger_kernel_guids.h"
#include "autologger/include/evntrace.h"
#include "autologger/kernel/tables/flags.h"
#include "autologger/wire/etl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define ROWS(table) (sizeof(table) / sizeof *(table))
#define FLAG(name) \
    { \
#name, EVENT_TRACE_FLAG_##name \
    }

static const struct {
    const char *symbol;
    uint32_t    value;
} flags[] = {
    FLAG(PROCESS),
    FLAG(THREAD),
    FLAG(IMAGE_LOAD),
    FLAG(PROCESS_COUNTERS),
    FLAG(CSWITCH),
    FLAG(DPC),
    FLAG(INTERRUPT),
    FLAG(SYSTEMCALL),
    FLAG(DISK_IO),
    FLAG(DISK_FILE_IO),
    FLAG(DISK_IO_INIT),
    FLAG(DISPATCHER),
    FLAG(MEMORY_PAGE_FAULTS),
    FLAG(MEMORY_HARD_FAULTS),
    FLAG(VIRTUAL_ALLOC),
    FLAG(VAMAP),
    FLAG(NETWORK_TCPIP),
    FLAG(REGISTRY),
    FLAG(DBGPRINT),
    FLAG(JOB),
    FLAG(ALPC),
    FLAG(SPLIT_IO),
    FLAG(DEBUG_EVENTS),
    FLAG(DRIVER),
    FLAG(PROFILE),
    FLAG(FILE_IO),
    FLAG(FILE_IO_INIT),
    FLAG(NO_SYSCONFIG),
};

/* Each name is the row of the table with this symbol in the first word; and each row of the first word has a name. */
static void test_flags(void **state)
{
    size_t                    count, first = 0;
    const struct kernel_flag *table = kernel_flags(&count);
    (void)state;
    for (size_t i = 0; i < count; i++) {
        unsigned found = 0;
        if (table[i].word != 0)
            continue;
        first++;
        for (size_t k = 0; k < ROWS(flags); k++)
            if (strcmp(flags[k].symbol, table[i].symbol) == 0) {
                assert_int_equal(flags[k].value, table[i].bits);
                found++;
            }
        if (found != 1)
            fail_msg("%s is in the public header %u times", table[i].symbol, found);
    }
    assert_int_equal(first, ROWS(flags));
}

/* A flag of the API means the same as its keyword in a configuration, wherever the mask has the event. */
static void test_meaning(void **state)
{
    static const struct {
        uint32_t    flag;
        const char *keyword;
    } same[] = {
        {EVENT_TRACE_FLAG_CSWITCH, "CSWITCH"},
        {EVENT_TRACE_FLAG_DPC, "DPC"},
        {EVENT_TRACE_FLAG_INTERRUPT, "INTERRUPT"},
        {EVENT_TRACE_FLAG_SYSTEMCALL, "SYSCALL"},
        {EVENT_TRACE_FLAG_DISPATCHER, "DISPATCHER"},
        {EVENT_TRACE_FLAG_VIRTUAL_ALLOC, "VIRT_ALLOC"},
        {EVENT_TRACE_FLAG_DRIVER, "DRIVERS"},
        {EVENT_TRACE_FLAG_PROFILE, "PROFILE"},
        {EVENT_TRACE_FLAG_PROCESS | EVENT_TRACE_FLAG_THREAD, "PROC_THREAD"},
        {EVENT_TRACE_FLAG_DISK_IO | EVENT_TRACE_FLAG_DISK_FILE_IO, "DISK_IO"},
        {EVENT_TRACE_FLAG_MEMORY_PAGE_FAULTS, "ALL_FAULTS"},
    };
    struct reason why;
    (void)state;
    for (size_t i = 0; i < ROWS(same); i++) {
        uint32_t by_flag[GROUP_MASK_WORDS], by_word[GROUP_MASK_WORDS];
        uint8_t  bytes[4];
        memcpy(bytes, &same[i].flag, sizeof bytes);
        assert_int_equal(group_mask_from_bytes(bytes, sizeof bytes, by_flag, &why), W_SUCCESS);
        assert_int_equal(group_mask_parse(same[i].keyword, by_word, &why), W_SUCCESS);
        assert_memory_equal(by_flag, by_word, sizeof by_flag);
    }
}

#define G(l, w1, w2, b1, b2, b3, b4, b5, b6, b7, b8) {l, w1, w2, {b1, b2, b3, b4, b5, b6, b7, b8}},
static const GUID groups[] = {
#include "autologger/etl/groups.def"
};
#undef G
static void test_guids(void **state)
{
    const struct {
        unsigned    group;
        const GUID *guid;
    } rows[] = {
        {0x00, &EventTraceGuid},
        {0x01, &DiskIoGuid},
        {0x02, &PageFaultGuid},
        {0x03, &ProcessGuid},
        {0x04, &FileIoGuid},
        {0x05, &ThreadGuid},
        {0x06, &TcpIpGuid},
        {0x08, &UdpIpGuid},
        {0x09, &RegistryGuid},
        {0x0A, &DbgPrintGuid},
        {0x0B, &EventTraceConfigGuid},
        {0x0E, &PoolGuid},
        {0x0F, &PerfInfoGuid},
        {0x11, &ObjectGuid},
        {0x12, &PowerGuid},
        {0x14, &ImageLoadGuid},
        {0x18, &StackWalkGuid},
        {0x1A, &ALPCGuid},
        {0x1B, &SplitIoGuid},
    };
    const GUID system = AUTOLOGGER_SYSTEM_TRACE_CONTROL_GUID;
    (void)state;
    for (size_t i = 0; i < ROWS(rows); i++)
        assert_memory_equal(rows[i].guid, &groups[rows[i].group], sizeof(GUID));
    assert_memory_equal(&SystemTraceControlGuid, &system, sizeof system);
}

static void test_modes(void **state)
{
    (void)state;
    assert_int_equal(EVENT_TRACE_USE_GLOBAL_SEQUENCE, ETL_MODE_GLOBAL_SEQUENCE);
    assert_int_equal(EVENT_TRACE_USE_LOCAL_SEQUENCE, ETL_MODE_LOCAL_SEQUENCE);
    assert_int_equal(EVENT_TRACE_RELOG_MODE, ETL_MODE_RELOG);
    assert_int_equal(EVENT_TRACE_COMPRESSED_MODE, ETL_MODE_COMPRESSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_flags), cmocka_unit_test(test_meaning),
                                       cmocka_unit_test(test_guids), cmocka_unit_test(test_modes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
