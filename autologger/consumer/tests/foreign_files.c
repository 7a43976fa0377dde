/* Real files of Windows through dump, summary and merge: nothing dropped, what is known decodes, order holds.
 * Proves: CON-15 (undecodable events shown as hex and counted), MRG-09 (merged file in time order), CON-12 (9 digits). */
#include "autologger/consumer/dump.h"
#include "autologger/consumer/merge.h"
#include "autologger/consumer/summary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yajl/yajl_tree.h>

#include <cmocka.h>

static char folder[4096];

struct dumped {
    char              *text;
    size_t             size;
    struct dump_counts counts;
};
static struct dumped dump(const char *path, const struct dump_options *options)
{
    struct dumped      d = {0};
    struct etl_reader *r;
    struct reason      why;
    FILE              *out = open_memstream(&d.text, &d.size);

    assert_int_equal(etl_reader_open(path, &r, &why), W_SUCCESS);
    assert_int_equal(dump_events(r, options, out, &d.counts, &why), W_SUCCESS);
    fclose(out);
    etl_reader_close(r);
    return d;
}
static const char *file(const char *name, char path[5000])
{
    snprintf(path, 5000, "%s/etl/%s", folder, name);
    return path;
}

static const struct row {
    const char *name;
    unsigned    events, unknown, mismatch;
} rows[] = {
    {"lxcore_kernel.etl", 4, 0, 0},
    {"krabsetw_powershell.etl", 114, 110, 0}, /* manifest events; two of them have no payload */
    {"perfview_SelfDescribingSingleEvent.etl", 23, 4, 0}, /* compressed XML of WinSat, SystemConfigEx/37 */
    {"ShutdownPerfDiagLogger.etl", 17078, 0, 0},
};

static void every_event_is_dumped(void **state)
{
    char path[5000];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int json = 0; json < 2; json++) {
            struct dumped d = dump(file(rows[i].name, path), &(struct dump_options){.format = json ? DUMP_JSON : DUMP_TEXT});
            size_t        lines = 0;
            for (char *line = d.text, *end; (end = strchr(line, '\n')); line = end + 1) {
                lines++;
                if (!json)
                    continue;
                char error[200] = "";
                *end            = 0;
                yajl_val v      = yajl_tree_parse(line, error, sizeof error);
                if (!v)
                    fail_msg("%s line %zu: %s\n%s", rows[i].name, lines, error, line);
                yajl_tree_free(v);
            }
            assert_int_equal(lines, rows[i].events);
            assert_int_equal(d.counts.written, rows[i].events);
            assert_int_equal(d.counts.unknown, rows[i].unknown);
            assert_int_equal(d.counts.mismatch, rows[i].mismatch);
            free(d.text);
        }
}

static void known_events_decode(void **state)
{
    char          path[5000];
    struct dumped d;
    (void)state;

    d = dump(file("perfview_SelfDescribingSingleEvent.etl", path),
             &(struct dump_options){.providers = {{.name = "MySource"}}});
    assert_int_equal(d.counts.written, 1);
    assert_non_null(strstr(d.text, " MySource/TestEvent a.b=Hello a.c=World!\n"));
    free(d.text);
    d = dump(file("ShutdownPerfDiagLogger.etl", path),
             &(struct dump_options){.providers = {{.name = "Process"}}, .limit = 1, .iso = true});
    assert_int_equal(d.counts.written, 1);
    assert_non_null(strstr(d.text, "0Z cpu 0 pid - tid - Process/DCStart UniqueProcessKey=0xfffff80242a399c0 ProcessId=0 "));
    assert_non_null(strstr(d.text, " UserSID=S-1-5-18 ImageFileName=Idle CommandLine=\"\" "));
    free(d.text);
}

static void summary_of_a_kernel_session(void **state)
{
    char               path[5000];
    struct etl_reader *r;
    struct summary    *s;
    struct reason      why;
    (void)state;
    assert_int_equal(etl_reader_open(file("ShutdownPerfDiagLogger.etl", path), &r, &why), W_SUCCESS);
    assert_int_equal(summary_create(r, &s, &why), W_SUCCESS);
    assert_int_equal(s->events, 17078);
    assert_int_equal(s->inversions, 0);
    assert_int_equal(s->damage_count, 0);
    assert_int_equal(s->undecoded, 0);
    assert_int_equal(summary_count(s, "EventTrace/Header"), 1);
    assert_true(summary_count(s, "Image/DCEnd") > 1000);
    uint64_t sum = 0;
    for (size_t i = 0; i < s->row_count; i++)
        sum += s->rows[i].count;
    assert_int_equal(sum, s->events);
    summary_destroy(s);
    etl_reader_close(r);
}

static void files_of_other_boots_do_not_merge(void **state)
{
    char                a[5000], b[5000], target[] = "/tmp/al-merge-XXXXXX";
    struct merge_counts counts;
    struct reason       why;
    (void)state;
    const char *files[] = {file("lxcore_kernel.etl", a), file("perfview_SelfDescribingSingleEvent.etl", b)};
    assert_non_null(mkdtemp(target));
    char out[64];
    snprintf(out, sizeof out, "%s/m.etl", target);
    assert_int_equal(merge_files(os_linux(), files, 2, out, &counts, &why), W_INVALID_PARAMETER);
    assert_true(strstr(why.text, "lxcore") && strstr(why.text, "SelfDescribing"));
    assert_int_equal(rmdir(target), 0); /* nothing left behind */
}

/* Lines of the image identities that a merge adds: none of these files came with one. */
static void added_remove(char *text)
{
    char *to = text, *stop = text + strlen(text);
    for (char *line = text, *next; line < stop; line = next) { /* each line by its length: the text has megabytes */
        char *end = memchr(line, '\n', (size_t)(stop - line));
        next      = end ? end + 1 : stop;
        if (memmem(line, (size_t)(next - line), " ImageID/", 9))
            continue;
        memmove(to, line, (size_t)(next - line));
        to += next - line;
    }
    *to = 0;
}

/* Each real file, also the compressed one, merged alone: the same events again. */
static void a_merge_of_one_is_the_same(void **state)
{
    char folder_out[] = "/tmp/al-merge-XXXXXX", out[64], path[5000];
    (void)state;
    assert_non_null(mkdtemp(folder_out));
    snprintf(out, sizeof out, "%s/m.etl", folder_out);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct merge_counts counts;
        struct reason       why;
        const char         *one = file(rows[i].name, path);
        assert_int_equal(merge_files(os_linux(), &one, 1, out, &counts, &why), W_SUCCESS);
        assert_int_equal(counts.in, rows[i].events);
        assert_int_equal(counts.out, rows[i].events + counts.added);
        struct dumped a = dump(one, &(struct dump_options){0}), b = dump(out, &(struct dump_options){0});
        char         *rest_a = strchr(a.text, '\n'), *rest_b = strchr(b.text, '\n'); /* the header event differs */
        added_remove(rest_b);
        assert_string_equal(rest_a, rest_b);
        free(a.text);
        free(b.text);
    }
    unlink(out);
    rmdir(folder_out);
}

int main(void)
{
    const char *data = getenv("AUTOLOGGER_DATA");
    snprintf(folder, sizeof folder, "%s", data ? data : AL_SOURCE_DIR "/../shared/data");
    if (access(folder, R_OK) != 0) {
        printf("skipped: no folder %s (set AUTOLOGGER_DATA)\n", folder);
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_event_is_dumped), cmocka_unit_test(known_events_decode),
        cmocka_unit_test(summary_of_a_kernel_session), cmocka_unit_test(files_of_other_boots_do_not_merge),
        cmocka_unit_test(a_merge_of_one_is_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
