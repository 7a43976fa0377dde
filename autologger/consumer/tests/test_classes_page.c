/* The table of classes that are written, and its page. Proves: issue 4, every class is documented with its Linux
 * source, and has a proof. */
#include "autologger/consumer/classes_page.h"
#include "autologger/kernel/tables/flags.h"
#include "autologger/kernel/tables/written.h"
#include "autologger/schema/classic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void the_page_is_current(void **state)
{
    char  *page = NULL, *kept;
    size_t size;
    FILE  *out = open_memstream(&page, &size), *file = fopen(AL_SOURCE_DIR "/docs/reference/classes.md", "re");
    (void)state;
    classes_page(out);
    fclose(out);
    assert_non_null(file);
    kept       = calloc(1, size + 2);
    size_t got = fread(kept, 1, size + 1, file);
    fclose(file);
    if (got != size || memcmp(kept, page, size) != 0)
        fail_msg("docs/reference/classes.md is out of date: autologger_classes_reference > docs/reference/classes.md");
    free(kept);
    free(page);
}

/* Finds the line of tests/data/read-back that the proving test compares its result with. */
static bool has_proof(const struct written_class *row)
{
    static const char *const folders[] = {"kernel", "consumer"};
    char                     path[512], line[8192], key[256], name[128];
    bool                     found = false;
    if (row->hook == WRITTEN_OWN)
        snprintf(key, sizeof key, "%s/%s:", row->provider, row->event);
    else if (classic_name(row->hook, name, sizeof name))
        snprintf(key, sizeof key, "%s %04X v%u:", name, row->hook, row->version);
    for (unsigned i = 0; i < 2 && !found; i++) {
        snprintf(path, sizeof path, AL_SOURCE_DIR "/autologger/%s/tests/data/read-back/%s.txt", folders[i], row->proof);
        FILE *f = fopen(path, "re");
        while (f && !found && fgets(line, sizeof line, f))
            found = strncmp(line, key, strlen(key)) == 0;
        if (f)
            fclose(f);
    }
    return found;
}

static void every_row_is_sound(void **state)
{
    size_t                      count, bad = 0;
    const struct written_class *row = written_classes(&count);
    (void)state;
    assert_true(count > 100);
    for (size_t i = 0; i < count; i++) {
        bool own = row[i].hook == WRITTEN_OWN;
        /* boot-tests/e2e/units.py reads the table itself */
        bool        live  = strstr(row[i].proof, ".py") != NULL;
        const char *what  = own ? row[i].event : classic_class(row[i].hook);
        bool        once  = own ? written_find_own(row[i].provider, row[i].event) == &row[i]
                                : written_find(row[i].hook, row[i].version) == &row[i];
        bool        shown = own ? *row[i].fields != 0 : classic_fields(row[i].hook, row[i].version) != NULL;
        if (!once || !shown || !*row[i].source || !*row[i].keywords || (!live && !has_proof(&row[i]))) {
            print_message("%04X v%u %s: %s\n", row[i].hook, row[i].version, what ? what : "?",
                          !once               ? "twice"
                          : !shown            ? "no layout"
                          : !*row[i].source   ? "no source"
                          : !*row[i].keywords ? "no keyword"
                                              : "no proof");
            bad++;
        }
    }
    assert_int_equal(bad, 0);
}

/* A keyword that is offered has a class, and a keyword that is not offered has none. */
static void keywords_and_classes_agree(void **state)
{
    size_t                    count, rows, bad = 0;
    const struct kernel_flag *flag = kernel_flags(&count);
    (void)state;
    const struct written_class *row = written_classes(&rows);
    for (size_t i = 0; i < count; i++) {
        const char *name   = flag[i].keyword ? flag[i].keyword : flag[i].symbol;
        bool        brings = false;
        for (size_t k = 0; k < rows; k++)
            brings |= written_has_word(row[k].keywords, name);
        if (!flag[i].keyword && flag[i].word == 0)
            continue; /* another name of one of word 1 or 2, or NO_SYSCONFIG */
        if (brings != (flag[i].offer == KERNEL_OFFER_NOW) && flag[i].offer != KERNEL_OFFER_PARTLY) {
            print_message("%s: %s\n", name,
                          brings ? "is not offered, and a class names it" : "is offered, and no class names it");
            bad++;
        }
    }
    assert_int_equal(bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_page_is_current), cmocka_unit_test(every_row_is_sound),
                                       cmocka_unit_test(keywords_and_classes_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
