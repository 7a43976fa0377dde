/* Proves: TLG-09 TLG-12 TLG-14 TLG-15 API-14 API-16: events of inline methods, templates and lambdas that several files
 * include; values whose type makes the field; activities of TraceLoggingActivity.h: ids, relations, the thread's id,
 * stops that were forgotten. C++14, this compiler's; all metadata lies in the section autologger_tlg. */
#include "autologger/include/evntprov.h"
#include "autologger/provider/tests/cpp_events.h"
#include "autologger/provider/tests/fakedaemon.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const struct guid cpp_id = {0x33333333, 2, 3, {4, 5, 6, 7, 8, 9, 10, 11}};
static struct fakedaemon daemon_;
static const GUID        nobody;

static int setup(void **state)
{
    (void)state;
    fakedaemon_start(&daemon_);
    fakedaemon_session(&daemon_, 0, 65536, 32);
    fakedaemon_enable(&daemon_, 0, &cpp_id, 5, 0, 0, 0);
    cpp_register();
    assert_true(fakedaemon_wait(&daemon_, &daemon_.acks, 1));
    return 0;
}
static int teardown(void **state)
{
    (void)state;
    cpp_unregister();
    fakedaemon_stop(&daemon_);
    return 0;
}

struct seen {
    const char *name;
    GUID        activity, related; /* zero: none */
    uint8_t     level, opcode;
    uint64_t    keyword;
    uint8_t     schema[1024];
    size_t      schema_size;
    uint8_t     payload[1024];
    size_t      payload_size;
};
/* The next event must have this name. */
static struct seen next(const char *name)
{
    const struct stream_record *r = fakedaemon_next(&daemon_, 0);
    struct seen                 s = {.name = name};
    struct etl_event_header     h;
    uint16_t                    item[4] = {0, 0, 1, 0};
    size_t                      at      = 80;

    assert_non_null(r);
    memcpy(&h, r->data, sizeof h);
    memcpy(&s.activity, &h.activity, sizeof s.activity);
    s.level = h.level, s.opcode = h.opcode, s.keyword = h.keyword;
    for (; item[2]; at += item[0]) {
        memcpy(item, r->data + at, sizeof item);
        if (item[1] == 1)
            memcpy(&s.related, r->data + at + 8, sizeof s.related);
        if (item[1] == 11)
            memcpy(s.schema, r->data + at + 8, s.schema_size = item[3]);
    }
    s.payload_size = r->size - at;
    assert_true(s.payload_size <= sizeof s.payload);
    memcpy(s.payload, r->data + at, s.payload_size);
    assert_true(s.schema_size > 3);
    assert_string_equal((const char *)s.schema + 3, name);
    return s;
}
static bool same(const GUID *a, const GUID *b) { return memcmp(a, b, sizeof *a) == 0; }

static void test_inline(void **state)
{
    struct seen s;
    (void)state;
    cpp_inline();
    s = next("Step");
    assert_int_equal(s.schema_size, 3 + 5 + 8 + 6);
    assert_memory_equal(s.schema + 8, "number\0\7what\0\2", 14);
    assert_memory_equal(s.payload, "\1\0\0\0first", 10);
    s = next("Value");
    assert_memory_equal(s.schema + 9, "value\0\5", 7);
    assert_int_equal(s.payload_size, 2);
    next("Lambda");
    cpp_inline_more();
    s = next("Step");
    assert_memory_equal(s.payload, "\2\0\0\0more", 9);
    s = next("Value");
    assert_int_equal(s.schema[9 + 6], 12);
    assert_int_equal(s.payload_size, 8);
    s = next("Value");
    assert_int_equal(s.schema[9 + 6], 4);
    assert_int_equal(s.payload_size, 1);
    next("Outside");
    assert_null(fakedaemon_next(&daemon_, 0));
}

static void test_values(void **state)
{
    /* names in order, each followed by its in-type, or by in-type and out-type */
    static const char schema[] =
        "bool\0\x84\3char\0\x84\2char16\0\x86\2i8\0\3u8\0\4i16\0\5u16\0\6i32\0\7u32\0\x8long\0\x9ulong\0\xAi64\0\x9u64\0\xA"
        "float\0\xB"
        "double\0\xCpointer\0\x15"
        "cpointer\0\x15guid\0\xF"
        "filetime\0\x11systemtime\0\x12"
        "array\0\2chars\0\2"
        "literal\0\2wliteral\0\1warray\0\x81\x80\1wchars\0\1text\0\2";
    static const char head[] = "\1c"
                               "d\0"
                               "\xFF\1"
                               "\xFE\xFF\2\0"
                               "\xFD\xFF\xFF\xFF\3\0\0\0"
                               "\xFC\xFF\xFF\xFF\xFF\xFF\xFF\xFF\4\0\0\0\0\0\0\0";
    static const char tail[] = "chars\0hars\0literal\0w\0i\0d\0e\0\0\0w\0i\0d\0e\0\0\0d\0e\0\0\0chars";
    struct seen       s;
    (void)state;
    cpp_values();
    s = next("Values");
    assert_int_equal(s.schema_size, 3 + 7 + sizeof schema - 1);
    assert_memory_equal(s.schema + 10, schema, sizeof schema - 1);
    assert_int_equal(s.payload_size, sizeof head - 1 + 16 + 4 + 8 + 16 + 16 + 8 + 16 + sizeof tail);
    assert_memory_equal(s.payload, head, sizeof head - 1);
    assert_memory_equal(s.payload + s.payload_size - sizeof tail, tail, sizeof tail);
}

static void test_activity(void **state)
{
    struct seen outer, inner, s;
    (void)state;
    cpp_activity();
    outer = next("Outer");
    assert_false(same(&outer.activity, &nobody));
    assert_true(same(&outer.related, &nobody));
    assert_int_equal(outer.opcode, 1);
    assert_int_equal(outer.level, 4);
    assert_int_equal(outer.keyword, 0x10);
    inner = next("Inner");
    assert_true(same(&inner.related, &outer.activity));
    assert_false(same(&inner.activity, &outer.activity));
    assert_int_equal(inner.level, 5);
    s = next("Tagged");
    assert_true(same(&s.activity, &inner.activity) && same(&s.related, &nobody));
    assert_int_equal(s.level, 3);
    assert_int_equal(s.keyword, 0x20);
    assert_int_equal(s.opcode, 10);
    s = next("Moved");
    assert_true(same(&s.activity, &outer.activity));
    s = next("Inner");
    assert_true(same(&s.activity, &inner.activity));
    assert_int_equal(s.opcode, 2);
    s = next("Outer");
    assert_true(same(&s.activity, &outer.activity));
    assert_int_equal(s.opcode, 2);
    assert_null(fakedaemon_next(&daemon_, 0)); /* neither a second stop, nor a stop of the moved-from activity */
}

static void test_thread_activity(void **state)
{
    struct seen outer, inner, other, s;
    GUID        now;
    (void)state;
    cpp_thread_activity();
    outer = next("Outer");
    s     = next("InOuter");
    assert_true(same(&s.activity, &outer.activity));
    inner = next("Inner");
    assert_true(same(&inner.related, &outer.activity));
    s = next("InInner");
    assert_true(same(&s.activity, &inner.activity));
    next("Inner");
    other = next("Other");
    assert_true(same(&other.related, &outer.activity)); /* the thread's activity */
    s = next("InOther");
    assert_true(same(&s.activity, &other.activity));
    s = next("ActivityStoppedAutomatically");
    assert_true(same(&s.activity, &other.activity));
    s = next("InOuter");
    assert_true(same(&s.activity, &outer.activity));
    next("Outer");
    s = next("After");
    assert_true(same(&s.activity, &nobody));
    EventActivityIdControl(EVENT_ACTIVITY_CTRL_GET_ID, &now);
    assert_true(same(&now, &nobody));
}

static void test_forgotten(void **state)
{
    struct seen begun, s;
    (void)state;
    cpp_forgotten();
    begun = next("Begun");
    s     = next("ActivityStoppedAutomatically");
    assert_true(same(&s.activity, &begun.activity));
    assert_int_equal(s.opcode, 2);
    fakedaemon_disable(&daemon_, 0, &cpp_id);
    cpp_forgotten();
    cpp_activity();
    cpp_thread_activity(); /* no session: no event, and no id is left set */
    assert_null(fakedaemon_next(&daemon_, 0));
    EventActivityIdControl(EVENT_ACTIVITY_CTRL_GET_ID, (LPGUID)&s.activity);
    assert_true(same(&s.activity, &nobody));
}

/* Every name that the two files write is in the section; GCC does not put statics of templates into sections. */
static void test_section(void **state)
{
    static const char *const name[] = {
        "Cpp",    "Step",
        "Lambda", "Outside",
        "Values", "Tagged",
#ifdef __clang__
        "Value",  "ActivityStoppedAutomatically",
#endif
    };
    extern const char __start_autologger_tlg[], __stop_autologger_tlg[];
    (void)state;
    for (unsigned i = 0; i < sizeof name / sizeof *name; i++)
        if (!memmem(__start_autologger_tlg, (size_t)(__stop_autologger_tlg - __start_autologger_tlg), name[i],
                    strlen(name[i]) + 1))
            fail_msg("%s is not in the section", name[i]);
}

int main(void)
{
    fakedaemon_init(&daemon_);
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {T(test_inline),          T(test_values),    T(test_activity),
                                       T(test_thread_activity), T(test_forgotten), T(test_section)};
    int                     failed  = cmocka_run_group_tests(tests, NULL, NULL);
    fakedaemon_finish(&daemon_);
    return failed;
}
