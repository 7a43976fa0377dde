/* Manifests for tests: reads one, and keeps its messages as one text. */
#include "autologger/schema/manifest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char told[16384];

static inline void tell(void *ctx, const struct manifest_problem *p)
{
    size_t n = strlen(told);
    (void)ctx;
    snprintf(told + n, sizeof told - n, "%u%s: %s|%s\n", p->line, p->error ? "" : " warning", p->what,
             p->advice ? p->advice : "");
}

static inline struct manifest *read_text(const char *text, size_t size, wstatus expected)
{
    struct manifest_problems problems = {.tell = tell};
    struct manifest         *m;
    struct reason            why = {0};

    told[0]    = 0;
    wstatus st = manifest_read(text, size, "test.man", &problems, &m, &why);
    if (st != expected)
        fail_msg("status %u, not %u: %s\n%s", st, expected, why.text, told);
    return m;
}

static inline char *file_text(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *text = malloc(1 << 20);
    *size      = fread(text, 1, 1 << 20, f);
    fclose(f);
    return text;
}

static inline struct manifest *read_file(const char *name)
{
    char   path[512];
    size_t size;
    snprintf(path, sizeof path, AL_TEST_DIR "/%s", name);
    char            *text = file_text(path, &size);
    struct manifest *m    = read_text(text, size, W_SUCCESS);
    free(text);
    return m;
}

/* A whole manifest around the content of a provider and its strings; the content begins in line 2. */
static inline struct manifest *read_parts(const char *provider, const char *strings, wstatus expected)
{
    char *text;
    int   n = asprintf(
          &text,
          "<instrumentationManifest xmlns='http://schemas.microsoft.com/win/2004/08/events'><instrumentation><events>"
            "<provider name='Test' guid='{1db28f2e-8f80-4027-8c5a-a11f7f10f62d}' symbol='TEST'>\n%s</provider></events></instrumentation>"
            "<localization><resources culture='en-US'><stringTable>%s</stringTable></resources></localization></instrumentationManifest>",
          provider, strings);
    assert_true(n > 0);
    struct manifest *m = read_text(text, (size_t)n, expected);
    free(text);
    return m;
}
