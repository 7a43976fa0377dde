/* libxml2 is loaded when XML is read: a machine without it gets a reason and advice, and a machine with it reads.
 * Proves: D-89. */
#include "autologger/schema/xml_library.h"
#include "autologger/schema/xml_reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void a_missing_library_is_named(void **state)
{
    struct reason why = {0};
    (void)state;
    assert_int_equal(xml_library_load("libxml-that-is-not-there.so.2", &why), W_NOT_SUPPORTED);
    assert_non_null(strstr(why.text, "libxml-that-is-not-there.so.2"));
    assert_non_null(strstr(why.text, "Do: apt-get install libxml2"));
}

static void another_library_is_none(void **state)
{
    struct reason why = {0};
    (void)state;
    assert_int_equal(xml_library_load("libc.so.6", &why), W_NOT_SUPPORTED);
    assert_non_null(strstr(why.text, "(xmlInitParser)"));
}

static void begin(void *ctx, const struct xml_element *e)
{
    char *names = ctx;
    strcat(strcat(names, e->name), " ");
    for (unsigned i = 0; i < e->count; i++)
        strcat(strcat(names, e->attributes[i].value), " ");
}
static void end(void *ctx, const struct xml_element *e) { (void)ctx, (void)e; }
static void text(void *ctx, const char *at, size_t length) { (void)ctx, (void)at, (void)length; }
static void wrong(void *ctx, uint32_t line, const char *what, const char *advice)
{
    (void)ctx, (void)line, (void)advice;
    fail_msg("%s", what);
}

static void nothing_is_linked_and_all_is_read(void **state)
{
    static const char       document[] = "<a x='1 &lt; 2'><b y='&amp;'/></a>";
    char                    names[100] = "", line[512];
    const struct xml_walker walker     = {begin, end, text, wrong, names};
    struct reason           why        = {0};
    bool                    mapped     = false;
    FILE                   *maps       = fopen("/proc/self/maps", "re");
    (void)state;
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps))
        mapped |= strstr(line, "libxml2") != NULL;
    fclose(maps);
    assert_false(mapped);
    assert_int_equal(xml_walk(document, sizeof document - 1, &walker, &why), 0);
    assert_string_equal(names, "a 1 < 2 b & ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_missing_library_is_named),
                                       cmocka_unit_test(another_library_is_none),
                                       cmocka_unit_test(nothing_is_linked_and_all_is_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
