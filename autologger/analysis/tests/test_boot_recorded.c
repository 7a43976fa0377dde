/* Boots that were recorded in QEMU, each with a planted cause (boot-tests/slow): the path hangs together, and the
 * verdict names the cause. What was recorded are the facts of boots/NAME.facts; the cause is that of
 * boot-tests/slow/NAME/cause. Proves ANA-10. */
#include "autologger/analysis/boot_verdict.h"
#include "autologger/analysis/tests/boot_facts.h"

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { RECORDED = 34 };

static void cause_of(const char *name, char rule[64], char names[256])
{
    char  path[512], line[256];
    FILE *f;
    snprintf(path, sizeof path, AL_SOURCE_DIR "/boot-tests/slow/%s/cause", name);
    assert_non_null(f = fopen(path, "r"));
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        if (strncmp(line, "rule = ", 7) == 0)
            snprintf(rule, 64, "%s", line + 7);
        if (strncmp(line, "names = ", 8) == 0)
            snprintf(names, 256, "%s", line + 8);
    }
    fclose(f);
}

/* Each of the names, with " & " between them. */
static bool has_all(const char *sentence, char *names)
{
    for (char *next; names; names = next) {
        if ((next = strstr(names, " & "))) {
            *next = 0;
            next += 3;
        }
        if (!strstr(sentence, names))
            return false;
    }
    return true;
}

/* In time order, within the boot; what has no depth does not overlap. */
static void check_path(const struct boot *b, const struct boot_path *p)
{
    int64_t until = 0;
    assert_true(p->steps > 3);
    for (unsigned i = 0; i < p->steps; i++) {
        const struct boot_step *s = &p->step[i];
        assert_true(s->start < s->end && s->end <= b->finish);
        assert_non_null(s->what);
        assert_true(s->why && *s->why);
        if (s->depth)
            continue;
        assert_true(s->start >= until);
        until = s->end;
    }
}

/* The page of all causes has the sentence. */
static bool is_documented(const char *sentence)
{
    static char text[1 << 17];
    FILE       *f = fopen(AL_SOURCE_DIR "/docs/CAUSES.md", "r");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    return strstr(text, sentence) != NULL;
}

static void every_cause_is_named(void **state)
{
    glob_t   found;
    unsigned named = 0;
    (void)state;
    assert_int_equal(glob(AL_TEST_DIR "/boots/*.facts", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char                name[64], rule[64] = "", names[256] = "";
        struct boot        *b = facts_read(found.gl_pathv[i]);
        struct boot_path   *p;
        struct boot_verdict v;
        snprintf(name, sizeof name, "%s", strrchr(found.gl_pathv[i], '/') + 1);
        name[strcspn(name, ".")] = 0;
        assert_non_null(b);
        cause_of(name, rule, names);
        assert_int_equal(boot_path_create(b, &p, NULL), W_SUCCESS);
        check_path(b, p);
        boot_verdict_make(b, p, &v);
        assert_true(v.findings > 0);
        const bool right = strcmp(v.finding[0].rule, rule) == 0 && has_all(v.sentence, names);
        print_message("%-18s %s %s\n", name, right ? "named:" : "MISSED:", v.sentence);
        named += right;
        if (!is_documented(v.sentence))
            fail_msg("docs/CAUSES.md does not have: %s", v.sentence);
        for (unsigned k = 0; k < 3; k++)
            assert_true(*v.finding[0].number[k].what && *v.finding[0].number[k].value);
        assert_true(*v.finding[0].next);
        boot_path_destroy(p);
        boot_destroy(b);
    }
    print_message("%u of %zu\n", named, found.gl_pathc);
    assert_int_equal(found.gl_pathc, RECORDED);
    assert_int_equal(named, RECORDED);
    globfree(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_cause_is_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
