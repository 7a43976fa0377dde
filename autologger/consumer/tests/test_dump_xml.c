/* XML and CSV: the event of the published picture of tracerpt's output, field by field; what must be escaped; what is
 * not decoded.
 * Proves: CON-08, CON-11, CON-12, CON-13, CON-14, CON-15. That all formats agree, and the XML is valid:
 * tools/tests/test_dump_formats.py. */
#include "autologger/consumer/dump.h"
#include "autologger/etl/tests/build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { FIRST = 1000000, TICK = 150000 /* 15 ms */ };

/* The start of a Notepad: version 2 of the class Process. */
static void notepad(struct image *m)
{
    static const uint8_t body[] =
        "\x80\xFA\x43\x01\x80\xFA\xFF\xFF"         /* UniqueProcessKey */
        "\xEC\x10\0\0\x44\x0D\0\0\1\0\0\0\0\0\0\0" /* ProcessId, ParentId, SessionId, ExitStatus */
        "\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"         /* a pointer and attributes */
        "\1\2\0\0\0\0\0\5\x20\0\0\0\x22\2\0\0"     /* the SID of guests */
        "notepad.exe\0n\0o\0t\0e\0p\0a\0d\0\0";
    struct etl_system_header s = {.version     = 2,
                                  .header_type = ETL_SYSTEM64,
                                  .flags       = ETL_MARKER,
                                  .size        = (uint16_t)(sizeof s + sizeof body),
                                  .type        = 1,
                                  .group       = 3,
                                  .thread_id   = 3260,
                                  .process_id  = 3396,
                                  .time        = FIRST,
                                  .kernel_time = 26,
                                  .user_time   = 13};
    image_add(m, &s, sizeof s, body, sizeof body);
}

static char *run(enum dump_format format, void (*events)(struct image *m), struct dump_counts *counts)
{
    struct etl_file_info info = build_info(4096);
    struct etl_reader   *r;
    struct reason        why;
    char                *text;
    size_t               size;
    FILE                *out = open_memstream(&text, &size);

    info.start_time   = 128109183878873095; /* 2006-12-18T12:26:27.8873095 */
    struct image m    = image_start(&info);
    uint32_t     tick = TICK;
    memcpy(m.data + sizeof(struct etl_buffer_header) + sizeof(struct etl_system_header) +
               offsetof(struct etl_logfile_header, timer_resolution),
           &tick, sizeof tick);
    image_buffer(&m, 0, 1);
    events(&m);
    assert_int_equal(etl_reader_open_memory(m.data, m.size, &r, &why), W_SUCCESS);
    assert_int_equal(dump_events(r, &(struct dump_options){.format = format}, out, counts, &why), W_SUCCESS);
    fclose(out);
    etl_reader_close(r);
    image_free(&m);
    return text;
}

/* From the second event on: the first is the file's header. */
static const char *behind_header(const char *text) { return strstr(strstr(text, "<Event xmlns") + 1, "<Event xmlns"); }

static void the_picture(void **state)
{
    struct dump_counts counts;
    char              *text = run(DUMP_XML, notepad, &counts);
    (void)state;
    assert_memory_equal(text, "<Events>\n", 9);
    assert_string_equal(
        behind_header(text),
        "<Event xmlns=\"http://schemas.microsoft.com/win/2004/08/events/event\">\n"
        "\t<System>\n"
        "\t\t<Provider Guid=\"{9e814aad-3204-11d2-9a82-006008a86939}\" />\n"
        "\t\t<EventID>0</EventID>\n"
        "\t\t<Version>2</Version>\n"
        "\t\t<Level>0</Level>\n"
        "\t\t<Task>0</Task>\n"
        "\t\t<Opcode>1</Opcode>\n"
        "\t\t<Keywords>0x0</Keywords>\n"
        "\t\t<TimeCreated SystemTime=\"2006-12-18T12:26:27.887309500Z\" />\n"
        "\t\t<Correlation ActivityID=\"{00000000-0000-0000-0000-000000000000}\" />\n"
        "\t\t<Execution ProcessID=\"3396\" ThreadID=\"3260\" ProcessorID=\"0\" KernelTime=\"390\" UserTime=\"195\" />\n"
        "\t\t<Channel />\n"
        "\t\t<Computer />\n"
        "\t</System>\n"
        "\t<EventData>\n"
        "\t\t<Data Name=\"UniqueProcessKey\">0xFFFFFA800143FA80</Data>\n"
        "\t\t<Data Name=\"ProcessId\">0x10EC</Data>\n"
        "\t\t<Data Name=\"ParentId\">0xD44</Data>\n"
        "\t\t<Data Name=\"SessionId\">1</Data>\n"
        "\t\t<Data Name=\"ExitStatus\">0</Data>\n"
        "\t\t<Data Name=\"UserSID\">S-1-5-32-546</Data>\n"
        "\t\t<Data Name=\"ImageFileName\">notepad.exe</Data>\n"
        "\t\t<Data Name=\"CommandLine\">notepad</Data>\n"
        "\t</EventData>\n"
        "\t<RenderingInfo Culture=\"en-US\">\n"
        "\t\t<Opcode>Start</Opcode>\n"
        "\t\t<Provider>MSNT_SystemTrace</Provider>\n"
        "\t\t<EventName xmlns=\"http://schemas.microsoft.com/win/2004/08/events/trace\">Process</EventName>\n"
        "\t</RenderingInfo>\n"
        "\t<ExtendedTracingInfo xmlns=\"http://schemas.microsoft.com/win/2004/08/events/trace\">\n"
        "\t\t<EventGuid>{3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c}</EventGuid>\n"
        "\t</ExtendedTracingInfo>\n"
        "</Event>\n"
        "</Events>\n");
    free(text);
}

/* A name and a value with everything that has a meaning in XML or CSV; an array; a related activity, a stack; bytes
 * that nothing describes. */
static void awkward(struct image *m)
{
    static const char schema[] = "\x1E\0\0<e>\0a&\"b\0\x02"
                                 "list\0\x44"
                                 "ch,an\nnel\0\x02";
    image_tracelogging(m, FIRST + 10, "\x0B\0MySource", 11, schema, 0x1E, "\"<\x01>&\r\n\0\2\0\7\x08,,\xEF\xBF\xBE\0",
                       18);
    uint8_t  item[64], part[128];
    size_t   n      = build_item(item, ETL_EXT_RELATED_ACTIVITY, true, &build_provider, 16);
    uint64_t ext[2] = {0, 0x12ab};
    n += build_item(item + n, ETL_EXT_STACK64, false, ext, 16);
    memcpy(part, item, n);
    memcpy(part + n, "\xDE\xAD", 2);
    struct etl_event_header h = build_event(FIRST + 20, n + 2);
    h.flags                   = ETL_EVENT_EXTENDED;
    h.activity                = build_provider;
    h.channel                 = 16;
    image_add(m, &h, sizeof h, part, n + 2);
    image_tracelogging(m, FIRST + 30, "\x0B\0MySource", 11, "\x0A\0\0odd\0v\0\x08", 10, "\1\2", 2);
}

static void escapes(void **state)
{
    struct dump_counts       counts;
    char                    *text  = run(DUMP_XML, awkward, &counts);
    static const char *const has[] = {
        "<Provider Name=\"MySource\" Guid=",
        "<Channel>TraceLogging</Channel>",
        "<Data Name=\"a&amp;&quot;b\">&quot;&lt;\xEF\xBF\xBD&gt;&amp;&#13;&#10;</Data>\n\t\t<Data Name=\"list\">7</Data>\n\t\t<Data Name=\"list\">8</Data>\n",
        "<Data Name=\"ch,an&#10;nel\">,,\xEF\xBF\xBD</Data>\n",
        "<Task>&lt;e&gt;</Task>",
        "<Channel>16</Channel>",
        "<Correlation ActivityID=\"{12345678-9abc-def0-1122-334455667788}\" RelatedActivityID=\"{12345678-9abc-def0-1122-334455667788}\" />",
        "<BinaryEventData>DEAD</BinaryEventData>",
        "<Frame Address=\"0x12AB\" />",
        "<ErrorCode>15005</ErrorCode>\n\t\t<DataItemName />\n\t\t<EventPayload>0102</EventPayload>"};
    (void)state;
    for (size_t i = 0; i < sizeof has / sizeof *has; i++)
        if (!strstr(text, has[i]))
            fail_msg("no %s in %s", has[i], text);
    assert_int_equal(counts.unknown, 1);
    assert_int_equal(counts.mismatch, 1);
    free(text);
}

static void rows(void **state)
{
    struct dump_counts counts;
    char              *text = run(DUMP_CSV, awkward, &counts);
    const char        *row  = strstr(text, "\r\nMySource");
    (void)state;
    assert_non_null(row);
    assert_string_equal(
        row + 2,
        "MySource,<e>,0,0,11,4,0,0,0x0000000000000000,0x0000162E,0x000004D2,0,,,{00000000-0000-0000-0000-000000000000},,"
        "128109183878873105,0,0,\"a&\"\"b=\"\"\\\"\"<\\u0001>&\\u000d\\n\"\" list[0]=7 list[1]=8 ch,an\\nnel=,,\xEF\xBF\xBE\"\r\n"
        "{12345678-9abc-def0-1122-334455667788},7,7,0,16,4,0,0,0x0000000000000000,0x0000162E,0x000004D2,0,,,"
        "{12345678-9abc-def0-1122-334455667788},{12345678-9abc-def0-1122-334455667788},128109183878873115,0,0,stack=0x12ab payload=dead\r\n"
        "MySource,odd,0,0,11,4,0,0,0x0000000000000000,0x0000162E,0x000004D2,0,,,{00000000-0000-0000-0000-000000000000},,"
        "128109183878873125,0,0,payload=0102\r\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_picture), cmocka_unit_test(escapes),
                                       cmocka_unit_test(rows)};
    return cmocka_run_group_tests_name("dump_xml", tests, NULL, NULL);
}
