/* read_back.h - for tests: proves that the classes a test makes are read back, field by field. Each event that a test's
 * fixture gets is decoded as `dump` does it; of each class the one with the most fields filled is kept, and at the end
 *   - it has a row in autologger/kernel/tables/written.def;
 *   - a row that names this test is compared, field by field, with the line of tests/data/read-back/TEST.txt, which was
 *   checked against the input; a field that is empty in all events must be in the row's `never`, and a field in `never`
 *   must be empty in all.
 * The result is written to AL_BINARY_DIR/read-back/TEST.txt, for a look when a class is new.
 * Threads: one. Ownership: the process'. Not for: values of any but that one event. */
#ifndef TOOLS_DEV_READ_BACK_H
#define TOOLS_DEV_READ_BACK_H
#include "autologger/consumer/decoded.h"
#include "autologger/etl/record.h"
#include "autologger/kernel/tables/written.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#ifndef READ_BACK_LIVE
/* fields that have a value only on live machines; the definition names the test that reads them */
#define READ_BACK_LIVE ""
#endif
enum { READ_BACK_CLASSES = 256, READ_BACK_LINE = 4096 };
struct read_back {
    char key[200]; /* "TcpIp/SendIPV4 060A v2", "Autologger-Kernel-Power/CpuIdle" */
    char line[READ_BACK_LINE];
    char bad[1200]; /* the error of its layout, or "" */
    /* of all events of the class: field names, and the names of fields that ever had a value */
    char                        fields[1024], filled_names[1024];
    const struct written_class *row;
    unsigned                    filled; /* fields of the event that is kept */
};
static struct read_back read_back[READ_BACK_CLASSES];
static unsigned         read_back_count;

static inline bool read_back_empty(const struct field *f)
{
    static const char *const nothing[] = {"",
                                          "0",
                                          "0x0",
                                          "false",
                                          "0.0.0.0",
                                          "::",
                                          "{00000000-0000-0000-0000-000000000000}",
                                          "0x",
                                          "1601-01-01T00:00:00.000000000Z"};
    for (unsigned i = 0; i < sizeof nothing / sizeof *nothing; i++)
        if (strcmp(f->text, nothing[i]) == 0)
            return true;
    return f->length > 2 && f->text[0] == '0' && f->text[1] == 'x' && strspn(f->text + 2, "0") == f->length - 2;
}

static inline void read_back_add(char *list, size_t size, const char *name)
{
    size_t n = strlen(list);
    if (!written_has_word(list, name))
        snprintf(list + n, size - n, "%s%s", n ? " " : "", name);
}

static inline void read_back_field(void *self, const struct field *f)
{
    struct read_back *r      = self;
    size_t            n      = strlen(r->line);
    const char       *built  = strstr(f->text, AL_BINARY_DIR); /* where the test was built does not matter */
    int               before = (int)(built ? built - f->text : 0);
    snprintf(r->line + n, sizeof r->line - n, " %s=%.*s%s%s;", f->path, before, f->text, built ? "@BUILD@" : "",
             built ? built + sizeof AL_BINARY_DIR - 1 : f->text);
    read_back_add(r->fields, sizeof r->fields, f->path);
    if (!read_back_empty(f)) {
        read_back_add(r->filled_names, sizeof r->filled_names, f->path);
        r->filled++;
    }
}

/* The fields of an event that describes itself, as written.def has them. */
static inline void read_back_schema(const struct etl_event *e, char out[1024])
{
    static const struct {
        uint8_t     in;
        const char *word;
    } types[] = {{2, "utf8"},    {5, "int16"},   {6, "uint16"}, {7, "int32"},  {8, "uint32"}, {9, "int64"},
                 {10, "uint64"}, {14, "binary"}, {20, "hex32"}, {21, "hex64"}, {24, "struct"}};
    const uint8_t *p;
    uint32_t       size, at = 2;
    *out = 0;
    if (!etl_ext_find(e, ETL_EXT_SCHEMA_TL, &p, &size))
        return;
    while (p[at++] & 0x80) /* tags */
        ;
    at += (uint32_t)strlen((const char *)p + at) + 1;
    while (at < size) {
        const char *name = (const char *)p + at, *word = "?";
        at += (uint32_t)strlen(name) + 1;
        uint8_t in = p[at++];
        if (in & 0x80)
            at += p[at] & 0x80 ? 2 : 1;
        for (unsigned i = 0; i < sizeof types / sizeof *types; i++)
            word = types[i].in == (in & 0x1F) ? types[i].word : word;
        snprintf(out + strlen(out), 1024 - strlen(out), "%s%s:%s%s", *out ? " " : "", name, word,
                 in & 0x40 ? "[]" : "");
    }
}

/* One record, as it will stand in the file */
static inline void read_back_see(const void *record, size_t size)
{
    struct etl_event  e;
    struct decoded    names;
    struct field_sink sink = {.emit = read_back_field};
    struct read_back  r    = {0};
    uint32_t          used;
    assert_true(etl_record_decode(record, (uint32_t)size, 0, &e));
    static struct schema_set *set; /* for all records of the test */
    if (!set)
        set = schema_set_new();
    decoded_names(set, &e, &names);
    sink.self = &r;
    if (names.hook != WRITTEN_OWN + 1) {
        snprintf(r.key, sizeof r.key, "%s/%s %04X v%u", names.provider, names.event, names.hook, e.version);
        r.row = written_find(names.hook, e.version);
    } else {
        const char *provider = names.provider ? names.provider : "?";
        snprintf(r.key, sizeof r.key, "%s/%s", provider, names.event);
        char schema[1024];
        r.row = written_find_own(provider, names.event);
        read_back_schema(&e, schema);
        if (r.row && strcmp(schema, r.row->fields) != 0)
            snprintf(r.bad, sizeof r.bad, "its fields are \"%s\"", schema);
    }
    enum decode_result result = decoded_fields(&e, &names, &sink, &used);
    if (result != DECODE_OK || used != e.payload_size)
        snprintf(r.bad, sizeof r.bad, "%s: %u of %u bytes are described",
                 result == DECODE_UNKNOWN ? "no layout" : "another layout", used, e.payload_size);
    field_sink_finish(&sink);
    unsigned i = 0;
    while (i < read_back_count && strcmp(read_back[i].key, r.key) != 0)
        i++;
    assert_true(i < READ_BACK_CLASSES);
    if (i == read_back_count) {
        read_back[read_back_count++] = r;
        return;
    }
    char all[sizeof r.filled_names];
    snprintf(all, sizeof all, "%s", read_back[i].filled_names);
    for (char *word = r.filled_names, *end; *word; word = end) {
        end = word + strcspn(word, " ");
        end += *end ? (*end = 0, 1) : 0;
        read_back_add(all, sizeof all, word);
    }
    if (r.filled > read_back[i].filled)
        read_back[i] = r;
    memcpy(read_back[i].filled_names, all, sizeof all);
}

/* A field that is empty in all events of the class but not in its row's `never`, or the reverse; NULL: none. */
static inline const char *read_back_wrong(const struct read_back *r, char name[64])
{
    for (const char *word = r->fields; *word; word += strspn(word, " ")) {
        size_t n = strcspn(word, " ");
        snprintf(name, 64, "%.*s", (int)n, word);
        if (written_has_word(r->filled_names, name) == written_has_word(r->row->never, name) &&
            !written_has_word(READ_BACK_LIVE, name))
            return written_has_word(r->row->never, name) ? "is said to be empty always, and is not" : "is never filled";
        word += n;
    }
    return NULL;
}

/* The line of the class in the test's file; false: it has none. */
static inline bool read_back_wanted(const char *test, const char *key, char line[READ_BACK_LINE])
{
    char path[512];
    snprintf(path, sizeof path, AL_TEST_DIR "/data/read-back/%s.txt", test);
    FILE  *f    = fopen(path, "re");
    size_t size = strlen(key);
    bool   have = false;
    while (f && !have && fgets(line, READ_BACK_LINE, f)) {
        line[strcspn(line, "\n")] = 0;
        have                      = strncmp(line, key, size) == 0 && line[size] == ':';
    }
    if (f)
        fclose(f);
    line[have ? strlen(line) : 0] = 0;
    memmove(line, have ? line + size + 1 : line, have ? strlen(line + size + 1) + 1 : 0);
    return have;
}

static inline void read_back_save(const char *test)
{
    char path[512];
    (void)mkdir(AL_BINARY_DIR "/read-back", 0755);
    snprintf(path, sizeof path, AL_BINARY_DIR "/read-back/%s.txt", test);
    FILE *f = fopen(path, "we");
    for (unsigned i = 0; f && i < read_back_count; i++)
        if (read_back[i].row && strcmp(read_back[i].row->proof, test) == 0)
            fprintf(f, "%s:%s\n", read_back[i].key, read_back[i].line);
    if (f)
        fclose(f);
}

/* The last test of a program: its classes. */
static inline void every_class_is_read_back(void **state)
{
    const char                 *test = strrchr(program_invocation_short_name, '.') + 1;
    unsigned                    bad = 0, proved = 0;
    size_t                      count;
    const struct written_class *row = written_classes(&count);
    char                        line[READ_BACK_LINE];
    (void)state;
    read_back_save(test);
    for (unsigned i = 0; i < read_back_count; i++) {
        const struct read_back *r     = &read_back[i];
        const char             *wrong = NULL;
        char                    name[64];
        if (!r->row) {
            print_message("%s: has no row in written.def\n", r->key);
            bad++;
        } else if (strcmp(r->row->proof, test) != 0) {
            continue;
        } else if (*r->bad || (wrong = read_back_wrong(r, name)) != NULL) {
            print_message("%s: %s%s %s\n  %s\n", r->key, r->bad, wrong ? name : "", wrong ? wrong : "", r->line);
            print_message("  fields: %s\n  filled: %s\n", r->fields, r->filled_names);
            bad++;
        } else if (!read_back_wanted(test, r->key, line) ||
                   strcmp(line, r->line) != 0) { /* the file was checked against the input */
            print_message("%s:\n  expected%s\n  found   %s\n", r->key, line, r->line);
            bad++;
        } else {
            proved++;
        }
    }
    for (size_t i = 0; i < count; i++) {
        bool found = strcmp(row[i].proof, test) != 0;
        for (unsigned k = 0; k < read_back_count && !found; k++)
            found = read_back[k].row == &row[i];
        if (!found) {
            print_message("row %04X %s of written.def names this test, which has no such event\n", row[i].hook,
                          row[i].event ? row[i].event : "");
            bad++;
        }
    }
    print_message("%u classes are read back\n", proved);
    assert_int_equal(bad, 0);
}
#endif
