/* D-63, D-62: every manifest of manifests/, each with one flaw of the kind that real ones have, read both ways: what is
 * told with its line, and what payloads become. manifests/expected.txt is the table; a file without a section, or a
 * section without a file, fails. A section:  [NAME.man]
 *             strict: ok|refused          forgiving: ok|refused
 *             error|warning LINE: TEXT    of the strict reading, in order
 *             flaw LINE: TEXT             of the forgiving one, in order
 *             event ID/VERSION HEX => NAME [task=..] [opcode=..] ...: FIELD=VALUE ... [+N]     +N: bytes that nothing
 *             describes
 * Proves: MAN-01, CON-15; manifests as bad input. */
#include "autologger/schema/tests/manifest_text.h"

#include "autologger/schema/manifest_model.h"
#include "autologger/schema/manifest_pack.h"
#include "autologger/schema/walk.h"

#include <dirent.h>

#define FOLDER AL_TEST_DIR "/manifests"
enum { LEAST = 60, SECTIONS_MAX = 400 };

static struct text out; /* a section's text, as computed */

static void note(void *ctx, const struct manifest_problem *p)
{
    (void)ctx;
    assert_true(p->flaw != p->error || !p->error);
    text_printf(&out, "%s %u: %s\n", p->flaw ? "flaw" : p->error ? "error" : "warning", p->line, p->what);
}

static struct manifest *reading(const char *text, size_t size, const char *name, bool forgiving)
{
    struct manifest_problems problems = {.tell = note, .forgiving = forgiving};
    struct manifest         *m;
    struct reason            why  = {0};
    size_t                   head = out.length;
    wstatus                  st   = manifest_read(text, size, name, &problems, &m, &why);

    assert_true(st == W_SUCCESS || st == W_INVALID_DATA);
    assert_int_equal(st == W_SUCCESS, problems.errors == 0 && m);
    assert_true(forgiving || !problems.flaws);
    char *told_then = strdup(text_get(&out) + head);
    text_cut(&out, head);
    text_printf(&out, "%s: %s\n%s", forgiving ? "forgiving" : "strict", st ? "refused" : "ok", told_then);
    free(told_then);
    return m;
}

static void see(void *self, const struct field *f)
{
    (void)self;
    text_printf(&out, " %s=%s", f->path, f->text);
}

static void names_note(const struct schema_event *e)
{
    const struct {
        const char *what, *text;
    } rows[] = {{"task", e->task_name},
                {"opcode", e->opcode ? e->opcode_name : NULL},
                {"level", e->level ? e->level_name : NULL},
                {"channel", e->channel_name}};

    text_printf(&out, "%s", e->name && *e->name ? e->name : "-");
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].text)
            text_printf(&out, " %s=%s", rows[i].what, rows[i].text);
    if (e->task || e->opcode || e->level || e->channel)
        text_printf(&out, " (%u/%u/%u/%u)", e->task, e->opcode, e->level, e->channel);
    for (const char *const *k = e->keyword_names; k && *k; k++)
        text_printf(&out, " keyword=%s", *k);
    if (e->message)
        text_printf(&out, " \"%s\"", e->message);
    text_printf(&out, ":");
}

static size_t bytes_of(const char *hex, uint8_t *bytes)
{
    size_t n = 0;
    for (unsigned v; sscanf(hex, "%2x", &v) == 1 && *hex != '='; hex += 2)
        bytes[n++] = (uint8_t)v;
    return n;
}

/* "event 1/0 2a000000 => ..." */
static void event_note(struct schema_set *set, const struct guid *provider, const char *line)
{
    unsigned          id, version;
    uint8_t           payload[256];
    uint32_t          used = 0;
    int               at   = 0;
    struct field_sink sink = {.emit = see};

    assert_int_equal(sscanf(line, "event %u/%u %n", &id, &version, &at), 2);
    const char *end  = strstr(line, "=>");
    size_t      size = bytes_of(line + at, payload);
    assert_non_null(end);
    text_printf(&out, "%.*s=> ", (int)(end - line), line);
    struct schema_key key = {.provider = *provider, .id = (uint16_t)id, .version = (uint8_t)version, .hook = 0xFFFF};
    const struct schema_event *e = schema_set_find(set, &key);
    if (e) {
        names_note(e);
        enum decode_result r = walk_fields(e, payload, size, true, &sink, &used);
        assert_true(used <= size && (r != DECODE_OK || (used == size && !e->cut)));
        if (used < size)
            text_printf(&out, " +%zu", size - used);
        else if (r != DECODE_OK && !e->cut)
            text_printf(&out, " (ends early)");
    } else {
        text_printf(&out, "not described");
    }
    text_printf(&out, "\n");
    field_sink_finish(&sink);
}

/* Manifests are installed in their binary form: it must give the same. */
static struct manifest *packed_and_back(struct manifest *m)
{
    struct text      packed = {0};
    struct reason    why    = {0};
    struct manifest *back   = NULL;
    size_t           used;

    assert_true(manifest_pack_all(m, &packed));
    if (manifest_unpack(packed.data, packed.length, "packed", &used, &back, &why))
        fail_msg("%s", why.text);
    text_finish(&packed);
    return back;
}

static void decode(struct manifest *m, const char *section)
{
    static const struct guid provider = {0x6a1f6d53, 0x4f2e, 0x4b0e, {0x9d, 0x53, 0x0c, 0x7f, 0x3f, 0x1a, 0x2b, 0x01}};
    struct schema_set       *set      = schema_set_new();
    struct reason            why      = {0};
    char                     line[1024];

    if (m)
        assert_int_equal(manifest_schemas(m, 0, SCHEMA_MANIFEST, set, &why), W_SUCCESS);
    for (const char *at = section; at && *at; at = strchr(at, '\n'), at += at != NULL) {
        snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
        if (m && strncmp(line, "event ", 6) == 0)
            event_note(set, &provider, line);
    }
    schema_set_free(set);
}

/* `section`: what follows its title. */
static bool section_holds(const char *name, const char *section)
{
    char   path[512];
    size_t size;

    snprintf(path, sizeof path, FOLDER "/%s", name);
    char *text = file_text(path, &size);
    text_cut(&out, 0);
    manifest_free(reading(text, size, name, false));
    struct manifest *m    = reading(text, size, name, true);
    struct manifest *back = m ? packed_and_back(m) : NULL;
    size_t           at   = out.length;
    decode(back, section);
    char *of_packed = strdup(text_get(&out) + at);
    text_cut(&out, at);
    decode(m, section);
    assert_string_equal(of_packed, text_get(&out) + at);
    free(of_packed);
    manifest_free(back);
    manifest_free(m);
    free(text);
    if (strcmp(text_get(&out), section) == 0)
        return true;
    printf("---- %s: expected\n%s---- but is\n[%s]\n%s----\n", name, section, name, text_get(&out));
    return false;
}

static unsigned files_in_folder(void)
{
    DIR           *folder = opendir(FOLDER);
    struct dirent *d;
    unsigned       n = 0;

    assert_non_null(folder);
    while ((d = readdir(folder)))
        n += strlen(d->d_name) > 4 && strcmp(d->d_name + strlen(d->d_name) - 4, ".man") == 0;
    closedir(folder);
    return n;
}

static void the_whole_corpus(void **state)
{
    size_t   size;
    char    *table    = file_text(FOLDER "/expected.txt", &size), *next;
    unsigned sections = 0, wrong = 0;
    (void)state;
    table[size] = 0;
    for (char *at = *table == '[' ? table : strstr(table, "\n[") + 1; at; at = next) {
        char *title_end = strstr(at, "]\n"), *behind = strstr(at, "\n[");
        assert_non_null(title_end);
        next       = behind ? behind + 1 : NULL;
        *title_end = 0;
        if (behind)
            *next = 0; /* restored below: it is the bracket of the next title */
        wrong += !section_holds(at + 1, title_end + 2);
        if (behind)
            *next = '[';
        sections++;
    }
    free(table);
    text_finish(&out);
    assert_int_equal(wrong, 0);
    assert_int_equal(sections, files_in_folder());
    assert_true(sections >= LEAST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_whole_corpus)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
