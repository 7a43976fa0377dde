/* What a redactor replaces in texts and events, and what it leaves: by shape, by field, by words that it has learned;
 * in UTF-8 and UTF-16; the same text has the same token; records keep their size; undescribed bytes are zeroed.
 * Proves: issue 5 "relog and redact". */
#include "autologger/consumer/redact.h"
#include "autologger/consumer/tests/names_maker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void texts(void **state)
{
    (void)state;
    static const struct {
        const char *text, *gone[3], *stays[4];
    } rows[]           = {{"from 10.1.2.3 to 127.0.0.1:80", {"10.1.2.3"}, {"from ", " to 127.0.0.1:80"}},
                          {"[2001:db8::7]:443 and ::1 and fe80::1.", {"2001:db8::7", "fe80::1"}, {"]:443", "::1 and"}},
                          {"at 12:34:56 version 1.2.3", {NULL}, {"at 12:34:56 version 1.2.3"}},
                          {"card 52:54:00:12:34:56 up", {"52:54:00:12:34:56"}, {"card ", " up"}},
                          {"HOME=/root/x y PATH='a b' done", {"/root/x", "a b"}, {"HOME=", " y PATH='", "' done"}},
                          {"password: abc, a: b, C:\\x, http://web.example/p", {"abc,", "web.example"}, {" a: b", "C:\\x", "/p"}},
                          {"mail bob@mail.example now", {"bob", "mail.example"}, {"mail ", "@", " now"}},
                          {"Zoltan and zoltan-pc and zoltanic", {"Zoltan and", " zoltan-"}, {"zoltanic", " and "}},
                          {"", {NULL}, {""}},
                          {"=", {NULL}, {"="}}};
    struct redactor *r = redactor_create(REDACT_USUAL);
    assert_non_null(r);
    assert_true(redactor_word(r, "Zoltan"));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char   narrow[128], again[128], wide[256], back[128];
        size_t n = strlen(rows[i].text);
        snprintf(narrow, sizeof narrow, "%s", rows[i].text);
        snprintf(again, sizeof again, "%s", rows[i].text);
        size_t units = utf8_to_utf16le(rows[i].text, n, (uint8_t *)wide, sizeof wide);
        redactor_text(r, narrow, n, 1);
        redactor_text(r, again, n, 1);
        redactor_text(r, wide, units, 2);
        assert_int_equal(strlen(narrow), n);
        assert_string_equal(narrow, again);
        for (size_t k = 0; k < n; k++)
            back[k] = wide[2 * k];
        back[n] = 0;
        assert_string_equal(back, narrow);
        for (unsigned k = 0; k < 3 && rows[i].gone[k]; k++)
            if (strstr(narrow, rows[i].gone[k]))
                fail_msg("%s is in %s", rows[i].gone[k], narrow);
        for (unsigned k = 0; k < 4 && rows[i].stays[k]; k++)
            if (!strstr(narrow, rows[i].stays[k]))
                fail_msg("%s is not in %s", rows[i].stays[k], narrow);
    }
    redactor_destroy(r);
}

static void paths_on_request(void **state)
{
    (void)state;
    char             text[] = "open /srv/project/file.db now", same[] = "open /srv/project/file.db now";
    struct redactor *usual = redactor_create(REDACT_USUAL), *all = redactor_create(REDACT_ALL);
    redactor_text(usual, same, sizeof same - 1, 1);
    assert_string_equal(same, "open /srv/project/file.db now");
    redactor_text(all, text, sizeof text - 1, 1);
    assert_null(strstr(text, "project"));
    assert_null(strstr(text, "file.db"));
    assert_true(text[5] == '/' && text[9] == '/' && strstr(text, " now"));
    assert_int_equal(redactor_counts(all)->paths, 3);
    redactor_destroy(usual);
    redactor_destroy(all);
}

/* Another key gives another token: two traces do not show that they have a user in common. */
static void tokens_are_of_one_redactor(void **state)
{
    (void)state;
    char             a[] = "203.0.113.7", b[] = "203.0.113.7";
    struct redactor *one = redactor_create(REDACT_USUAL), *two = redactor_create(REDACT_USUAL);
    redactor_text(one, a, sizeof a - 1, 1);
    redactor_text(two, b, sizeof b - 1, 1);
    assert_string_not_equal(a, b);
    redactor_destroy(one);
    redactor_destroy(two);
}

static void events(void **state)
{
    (void)state;
    struct etl_file_info info         = build_info(8192);
    struct image         m            = image_start(&info);
    uint8_t              process[128] = {0};
    const char           command[]    = "x\0 \0-\0-\0k\0=\0s\0e\0c\0r\0e\0t\0s\0\0";
    image_buffer(&m, 0, 1);
    memcpy(process + 40, "prog", 5);
    memcpy(process + 45, command, sizeof command);
    image_kernel(&m, 2000000, 0x0301, 4, 10, process, 45 + sizeof command + 4);
    image_tracelogging(&m, 2000001, "\x0B\0MySource", 11,
                       "\x13\0\0Event\0Text\0\x02"
                       "N\0\x08",
                       0x13, "a secrets b\0\7\0\0\0", 16);
    image_event(&m, 2000002, 0x12345678); /* an event that nothing describes */
    uint8_t send[40] = {5, 0, 0, 0, 9, 0, 0, 0, 10, 9, 8, 7, 127, 0, 0, 1, 0, 80, 0, 81};
    image_kernel(&m, 2000003, 0x060A, 2, 0, send, 40);

    struct etl_reader *reader;
    struct etl_event   e;
    struct decoded     names;
    struct schema_set *set  = schema_set_new();
    struct redactor   *r    = redactor_create(REDACT_USUAL);
    unsigned           seen = 0;
    for (int pass = 0; pass < 2; pass++) {
        assert_int_equal(etl_reader_open_memory(m.data, m.size, &reader, NULL), 0);
        while (etl_next(reader, &e)) {
            uint8_t record[1024];
            decoded_names(set, &e, &names);
            if (pass == 0) {
                redactor_learn(r, &e, &names);
                continue;
            }
            memcpy(record, e.record, e.record_size);
            assert_true(redactor_record(r, record, e.record_size));
            const uint8_t *payload = record + (e.payload - e.record);
            assert_memory_equal(record, e.record, (size_t)(e.payload - e.record)); /* headers stay */
            if (names.hook == 0x0301) {
                assert_memory_equal(payload, e.payload, 45 + 4); /* all up to "x " */
                assert_memory_not_equal(payload + 49, e.payload + 49, sizeof command - 8);
                seen++;
            } else if (e.raw_time == 2000001) { /* a word that was learned from a command line */
                assert_null(memmem(payload, e.payload_size, "secrets", 7));
                assert_memory_equal(payload, "a ", 2);
                assert_memory_equal(payload + 9, " b\0\7\0\0\0", 7);
                seen++;
            } else if (e.raw_time == 2000002) {
                assert_memory_equal(payload, "\0\0\0\0", 4);
                seen++;
            } else if (names.hook == 0x060A) {
                assert_memory_equal(payload, e.payload, 8);
                assert_memory_not_equal(payload + 8, e.payload + 8, 4);
                assert_true(payload[8] >= 240);
                assert_memory_equal(payload + 12, e.payload + 12, 8); /* loopback and ports */
                seen++;
            }
        }
        etl_reader_close(reader);
    }
    assert_int_equal(seen, 4);
    assert_false(redactor_failed(r));
    redactor_destroy(r);
    schema_set_free(set);
    image_free(&m);
}

static void words_of_the_option(void **state)
{
    (void)state;
    unsigned what;
    assert_true(redact_parse("arguments,paths", &what) && what == (REDACT_ARGUMENTS | REDACT_PATHS));
    assert_true(redact_parse("all", &what) && what == REDACT_ALL);
    assert_false(redact_parse("everything", &what));
    assert_false(redact_parse("", &what));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(texts), cmocka_unit_test(paths_on_request),
                                       cmocka_unit_test(tokens_are_of_one_redactor), cmocka_unit_test(events),
                                       cmocka_unit_test(words_of_the_option)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
