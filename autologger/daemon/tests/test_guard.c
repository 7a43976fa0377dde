/* The guard: whole histories of boots, each step through the file; a damaged file counts as a try; the file is replaced
 * as a whole. A history is a string: "b1" boot with id 1 begins (and traces if it may), "d1" boot-done in it, "h1" it
 * resumes after a hibernation, "c" another configuration is applied, "x" the file is damaged, "-" it is removed.
 * Expected: one letter for each begin (b, h): S starts, u off because of an unfinished boot, o off because Once is
 * done, t off because it was traced already. */
#include "autologger/daemon/early/guard.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static int root_fd;

static int folder_make(void **state)
{
    static char path[] = "/tmp/autologger-guard-XXXXXX";
    *state             = mkdtemp(path);
    root_fd            = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return root_fd < 0;
}

static int folder_remove(void **state)
{
    char command[100];
    close(root_fd);
    snprintf(command, sizeof command, "rm -r %s", (char *)*state);
    return system(command) != 0;
}

static void file_put(const char *text, size_t size)
{
    int fd = openat(root_fd, GUARD_PATH, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, size), size);
    close(fd);
}

static size_t file_get(char *text, size_t size)
{
    int fd = openat(root_fd, GUARD_PATH, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    ssize_t n = read(fd, text, size);
    close(fd);
    return n > 0 ? (size_t)n : 0;
}

static void damage(void)
{
    char   text[2048];
    size_t n = file_get(text, sizeof text);
    text[n / 2] ^= 1;
    file_put(text, n);
}

/* A boot as the programs do it: verdict, then the try is counted and the file written. Returns the verdict's letter. */
static char begins(char id, uint64_t change, bool once, unsigned limit)
{
    struct guard  g;
    struct reason why     = {0};
    const char    name[2] = {id, 0};

    guard_read(root_fd, GUARD_PATH, &g);
    if (!guard_verdict(&g, change, once, limit, name, &why)) {
        assert_true(strncmp(why.text, "off: ", 5) == 0 || strncmp(why.text, "traced once in boot ", 20) == 0);
        return strstr(why.text, "once") ? 'o' : strstr(why.text, "already") ? 't' : 'u';
    }
    if (guard_count_try(&g, change, 0, name))
        assert_int_equal(guard_write(root_fd, GUARD_PATH, &g, &why), W_SUCCESS);
    return 'S';
}

static void done(char id, bool once)
{
    struct guard g;
    const char   name[2] = {id, 0};
    guard_read(root_fd, GUARD_PATH, &g);
    bool changed = guard_clear(&g, name);
    changed |= once && guard_consume(&g, name);
    if (changed)
        assert_int_equal(guard_write(root_fd, GUARD_PATH, &g, NULL), W_SUCCESS);
}

static const struct history {
    bool        once;
    const char *steps, *expected;
} histories[] = {
    {false, "b1 d1 b2 d2 b3 d3", "SSS"},   /* every boot reaches its end */
    {false, "b1 b2 b3", "SSu"},            /* two unfinished boots in a row */
    {false, "b1 b2 d2 b3 b4 b5", "SSSSu"}, /* a finished boot resets the count */
    {false, "b1 b2 b3 b4", "SSuu"},        /* stays off */
    {false, "b1 b2 b3 c b4 d4", "SSuS"},   /* until another configuration is applied */
    {false, "b1 d1 b2 b3 b4", "SSSu"},     /* earlier successes do not count */
    {true, "b1 d1 b2 b3", "Soo"},          /* once */
    {true, "b1 b2 b3", "Suu"},             /* once, and it did not come up */
    {true, "b1 d1 c b2 d2 b3", "SSo"},     /* applied again */
    {true, "b1 b2 c b3 b4", "SuSu"},
    {false, "b1 h1 h1 d1 b2", "SSSS"}, /* a resume is no try */
    {true, "b1 h1 d1 b2", "SSo"},
    {false, "b1 b1 b1 b2 b3", "SSSSu"}, /* two begins with one id are one boot */
    {false, "b1 d1 b1", "St"},          /* done, and begun again in the same boot */
    {true, "b1 d1 b1", "So"},
    {false, "b1 d1 x b2 b3", "SSu"}, /* damaged: one try; b2 is the second */
    {false, "b1 d1 x b2 d2 b3", "SSS"},
    {true, "b1 d1 x b2 b3", "Suu"},    /* damaged: it counts as the only try */
    {true, "b1 x c b2", "Su"},         /* and the file does not tell for which configuration */
    {true, "b1 x - b2 d2 b3", "SSo"},  /* so applying removes it */
    {false, "b1 b2 d1 b3 b4", "SSSu"}, /* a late boot-done, of the boot before the last */
    {false, "d1 b1 b2 b3", "SSu"},     /* a boot-done of a boot that was never counted */
    /* the list is bounded */
    {false, "b1 d1 b2 d2 b3 d3 b4 d4 b5 d5 b6 d6 b7 d7 b8 d8 b9 d9 ba db bb bc", "SSSSSSSSSSSu"},
};

static void histories_end_as_they_should(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof histories / sizeof *histories; i++) {
        const struct history *h      = &histories[i];
        const char           *expect = h->expected;
        uint64_t              change = 40;

        unlinkat(root_fd, GUARD_PATH, 0);
        for (const char *s = h->steps; *s; s += strcspn(s, " "), s += *s == ' ') {
            char got = 0;
            if (*s == 'b' || *s == 'h')
                got = begins(s[1], change, h->once, guard_limit(h->once));
            else if (*s == 'd')
                done(s[1], h->once);
            else if (*s == 'c')
                change++;
            else if (*s == 'x')
                damage();
            else
                unlinkat(root_fd, GUARD_PATH, 0);
            if (got && got != *expect)
                fail_msg("history %zu \"%s\" at \"%s\": %c, expected %c", i, h->steps, s, got, *expect);
            expect += got != 0;
        }
        if (*expect)
            fail_msg("history %zu has more expected than begins", i);
    }
}

static void reasons_name_the_boots(void **state)
{
    struct guard  g = {0};
    struct reason why;
    (void)state;
    assert_true(guard_count_try(&g, 7, 6, "six"));
    assert_false(guard_verdict(&g, 7, true, 1, "seven", &why));
    assert_int_equal(why.status, W_CANCELLED);
    assert_int_equal(strncmp(why.text, "off: boot 6 did not finish. Do: ", 32), 0);
    assert_true(guard_count_try(&g, 7, 0, "seven"));
    assert_int_equal(g.boot[1].number, 7);
    assert_true(guard_number(&g, "seven", 9));
    assert_false(guard_number(&g, "seven", 9));
    assert_false(guard_verdict(&g, 7, false, 2, "ten", &why));
    assert_int_equal(strncmp(why.text, "off: boots 6 and 9 did not finish. Do: ", 39), 0);
    assert_true(guard_open(&g, "seven") && !guard_traced(&g, "seven") && !guard_open(&g, "ten") &&
                !guard_traced(&g, "ten"));
    assert_true(guard_clear(&g, "seven"));
    assert_false(guard_clear(&g, "seven"));
    assert_true(guard_traced(&g, "seven") && !guard_open(&g, "seven"));
    assert_true(guard_consume(&g, "seven"));
    assert_false(guard_verdict(&g, 7, true, 1, "ten", &why));
    assert_int_equal(why.status, W_SUCCESS);
    assert_string_equal(why.text, "traced once in boot 9; nothing is declared for the next boot");
    assert_true(guard_verdict(&g, 7, false, 2, "ten", &why)); /* a consumed configuration matters only with Once */
}

static void every_damaged_byte_is_found(void **state)
{
    struct guard g = {.change = 3}, back;
    char         text[2048], wrong[2048];
    (void)state;
    guard_count_try(&g, 3, 1, "11111111-2222-3333-4444-555555555555");
    guard_clear(&g, "11111111-2222-3333-4444-555555555555");
    guard_count_try(&g, 3, 0, "66666666-2222-3333-4444-555555555555");
    size_t size = guard_format(&g, text, sizeof text);
    guard_parse(text, size, &back);
    assert_false(back.damaged);
    assert_memory_equal(&g, &back, sizeof g);
    for (size_t i = 0; i < size; i++) {
        memcpy(wrong, text, size);
        wrong[i] ^= 0x10;
        guard_parse(wrong, size, &back);
        assert_true(back.damaged);
        assert_true(*back.note);
        guard_parse(text, i, &back); /* cut short */
        assert_true(back.damaged);
    }
    memset(wrong, 'x', sizeof wrong);
    guard_parse(wrong, sizeof wrong, &back);
    assert_true(back.damaged);
}

static void another_version_is_damaged(void **state)
{
    struct guard g;
    const char   text[] = "autologger-guard 2\nsum 00000000\n";
    (void)state;
    guard_parse(text, sizeof text - 1, &g);
    assert_true(g.damaged);
}

static void a_full_guard_fits(void **state)
{
    struct guard g = {0}, back;
    char         text[2048], id[64];
    (void)state;
    memset(id, 'i', sizeof id - 1);
    id[63] = 0;
    for (int i = 0; i < GUARD_BOOTS + 3; i++) {
        id[0] = (char)('a' + i);
        guard_count_try(&g, UINT64_MAX, UINT64_MAX - 20 + (uint64_t)i, id);
    }
    assert_int_equal(g.count, GUARD_BOOTS);
    size_t size = guard_format(&g, text, sizeof text);
    guard_parse(text, size, &back);
    assert_false(back.damaged);
    assert_memory_equal(&g, &back, sizeof g);
}

static void the_file_is_replaced_or_left(void **state)
{
    struct guard  g = {.change = 1}, back;
    struct reason why;
    char          before[2048], after[2048];
    (void)state;
    guard_count_try(&g, 1, 1, "one");
    assert_int_equal(guard_write(root_fd, "new/folders/guard", &g, &why), W_SUCCESS);
    guard_read(root_fd, "new/folders/guard", &back);
    assert_int_equal(back.count, 1);

    assert_int_equal(guard_write(root_fd, GUARD_PATH, &g, &why), W_SUCCESS);
    size_t n = file_get(before, sizeof before);
    assert_int_equal(mkdirat(root_fd, GUARD_PATH ".new", 0755), 0); /* nothing can be written beside it */
    guard_count_try(&g, 1, 2, "two");
    assert_int_not_equal(guard_write(root_fd, GUARD_PATH, &g, &why), W_SUCCESS);
    assert_non_null(strstr(why.text, "guard"));
    assert_int_equal(file_get(after, sizeof after), n);
    assert_memory_equal(before, after, n);
    unlinkat(root_fd, GUARD_PATH ".new", AT_REMOVEDIR);

    guard_read(root_fd, "var", &back); /* a folder in its place */
    assert_true(back.damaged);
    guard_read(root_fd, "nothing/there", &back);
    assert_false(back.damaged);
    assert_int_equal(back.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(histories_end_as_they_should),
        cmocka_unit_test(reasons_name_the_boots),
        cmocka_unit_test(every_damaged_byte_is_found),
        cmocka_unit_test(another_version_is_damaged),
        cmocka_unit_test(a_full_guard_fits),
        cmocka_unit_test(the_file_is_replaced_or_left),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
