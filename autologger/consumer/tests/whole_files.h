/* whole_files.h - traces through dump and merge: nothing dropped, what is known decodes. */
#ifndef AUTOLOGGER_CONSUMER_TESTS_WHOLE_FILES_H
#define AUTOLOGGER_CONSUMER_TESTS_WHOLE_FILES_H
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

static char whole_folder[4096]; /* of the files */

struct row {
    const char *name;
    unsigned    events, unknown, mismatch;
};
struct dumped {
    char              *text;
    size_t             size;
    struct dump_counts counts;
};
static inline struct dumped dump(const char *path, const struct dump_options *options)
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
static inline const char *file(const char *name, char path[5000])
{
    snprintf(path, 5000, "%s/%s", whole_folder, name);
    return path;
}

/* Each event has its line, and each line of JSON is JSON. */
static inline void all_is_dumped(const struct row *rows, size_t count)
{
    char path[5000];
    for (size_t i = 0; i < count; i++)
        for (int json = 0; json < 2; json++) {
            struct dumped d =
                dump(file(rows[i].name, path), &(struct dump_options){.format = json ? DUMP_JSON : DUMP_TEXT});
            size_t lines = 0;
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

/* Removes the lines of image identities that a merge adds: none of these files had any. */
static inline void added_remove(char *text)
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

/* Each file, also a compressed one, merged alone keeps its events. */
static inline void merged_alone(const struct row *rows, size_t count)
{
    char folder_out[] = "/tmp/al-merge-XXXXXX", out[64], path[5000];
    assert_non_null(mkdtemp(folder_out));
    snprintf(out, sizeof out, "%s/m.etl", folder_out);
    for (size_t i = 0; i < count; i++) {
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
#endif
