/* Every allocation of our own code fails in turn, in import and export of both dialects: no crash, no leak, nothing by
 * half, and the status says memory. (SQLite and iniparser allocate inside their libraries.) */
#include "registry-sim/text/tests/trees.h"
#include "registry-sim/text/tests/words.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* The linker sends the calls of our libraries here (-Wl,--wrap). */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *p, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t n);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *p, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t n);

static long countdown; /* 0: off; else the allocation that fails */
static bool failed;

static bool fails(void)
{
    if (countdown && --countdown == 0) {
        failed = true;
        return true;
    }
    return false;
}
void *__wrap_malloc(size_t size) { return fails() ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) { return fails() ? NULL : __real_calloc(count, size); }
void *__wrap_realloc(void *p, size_t size) { return fails() ? NULL : __real_realloc(p, size); }
char *__wrap_strdup(const char *text) { return fails() ? NULL : __real_strdup(text); }
char *__wrap_strndup(const char *text, size_t n) { return fails() ? NULL : __real_strndup(text, n); }

static const char reg[] = "REGEDIT4\n[HKLM\\a\\b]\n@=\"x\"\n\"y\"=hex(2):61,\\\n 00\n\"y\"=-\n[-HKLM\\a\\c]\n";
static const char ini[] = "[GlobalLogger]\nBufferSize = 4\n[Autologger/web]\n@ = 'x'\n[Autologger/web/p]\nUnit = u\n"
                          "MatchAnyKeyword = hex(b):1,0,0,0,0,0,0,0\n[Autologger/web/q]\n"
                          "Guid={0063715b-eeda-4007-9429-ad526f62696e}\n[Autologger/web/q/Filters]\nEnabled = 1\n";

typedef wstatus (*action)(struct regstore *store);

static wstatus import_reg(struct regstore *s) { return reg_import(s, reg, sizeof reg - 1, "f", 0, NULL, NULL); }
static wstatus import_ini(struct regstore *s) { return ini_import(s, ini, sizeof ini - 1, "f", &words, NULL, NULL); }
static wstatus export_reg(struct regstore *s)
{
    void   *text;
    size_t  size;
    wstatus st = reg_export(s, "HKLM", true, &text, &size, NULL);
    free(text);
    return st;
}
static wstatus export_ini(struct regstore *s)
{
    char   *text;
    size_t  size;
    wstatus st = ini_export(s, "HKLM", &words, &text, &size, NULL);
    free(text);
    return st;
}

static struct regstore *fresh(bool filled)
{
    struct regstore *s;
    assert_int_equal(regstore_open_memory(&s, NULL), 0);
    if (filled)
        assert_int_equal(import_ini(s), 0);
    return s;
}

/* Fails allocation 1, 2, 3 ... until the action runs without a failure. An import starts with an empty store each time;
 * an export, which changes nothing, has one filled store for all. */
static void torture(action act, bool changes)
{
    struct regstore *s      = fresh(!changes);
    char            *before = tree_dup(s);
    long             n      = 0;
    do {
        failed      = false;
        countdown   = ++n;
        wstatus st  = act(s);
        countdown   = 0;
        char *after = tree_dup(s);
        /* an export may succeed all the same: without memory for a word it writes a literal */
        bool fine = failed ? st == W_NOT_ENOUGH_MEMORY || (st == W_SUCCESS && !changes) : st == W_SUCCESS;
        if (!fine)
            print_message("allocation %ld gave %u\n", n, st);
        assert_true(fine);
        if (!changes || st != W_SUCCESS)
            assert_string_equal(after, before);
        free(after);
        if (changes) {
            regstore_close(s);
            s = fresh(false);
        }
    } while (failed);
    assert_true(n > 20); /* the wrapped allocators are called */
    free(before);
    regstore_close(s);
}

static void imports(void **state)
{
    (void)state;
    torture(import_reg, true);
    torture(import_ini, true);
}
static void exports(void **state)
{
    (void)state;
    torture(export_reg, false);
    torture(export_ini, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(imports), cmocka_unit_test(exports)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
