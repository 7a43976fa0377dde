/* ini_scan.c - see ini_scan.h. */
#include "registry-sim/text/ini_scan.h"
#include "registry-sim/text/encoding.h"
#include "registry-sim/win32/utf16.h"

#include <stdlib.h>
#include <string.h>

struct scanner {
    struct ini_scan  *scan;
    struct textbuf    joined;      /* one logical line, as iniparser joins it */
    unsigned          section;     /* index + 1; 0: before the first */
    bool              section_bad; /* its header was refused: values below are not reported too */
    uint32_t          line;        /* first line of the logical line */
    const char       *file;
    struct diag_sink *sink;
    bool              no_memory, full;
};

static bool ini_scan_is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* Reports and returns false, so that a refusal is one line. */
static bool ini_scan_refuse(struct scanner *s, const char *advice, const char *what)
{
    diag_report(s->sink, DIAG_ERROR, s->file, s->line, advice, "%s", what);
    return false;
}

static char *trimmed_dup(const char *p, const char *end)
{
    while (p < end && ini_scan_is_blank(*p))
        p++;
    while (end > p && ini_scan_is_blank(end[-1]))
        end--;
    return strndup(p, (size_t)(end - p));
}

/* Room for one more in arrays that grow in powers of two. */
static bool ini_scan_grow(void **items, unsigned count, size_t size)
{
    if (count & (count - 1))
        return true;
    void *p = realloc(*items, (count ? count * 2u : 1u) * size);
    if (p)
        *items = p;
    return p != NULL;
}

static bool lost(struct scanner *s)
{
    s->no_memory = true;
    return false;
}

/* ---- sections ---- */

static bool add_section(struct scanner *s, char *name)
{
    struct ini_scan *scan = s->scan;
    char            *fold = name ? name_fold_dup(name) : NULL;
    bool             ok   = fold != NULL;

    s->section = 0;
    for (unsigned i = 0; ok && i < scan->section_count && !s->section; i++)
        if (strcmp(fold, scan->sections[i].fold) == 0)
            s->section = i + 1;
    if (!ok || s->section) {
        free(name);
        free(fold);
        return ok || lost(s);
    }
    ok = ini_scan_grow((void **)&scan->sections, scan->section_count, sizeof *scan->sections) || lost(s);
    if (ok && scan->section_count == INI_MAX_SECTIONS) {
        s->full = true;
        ok      = ini_scan_refuse(s, "split the file, or use .reg", "the file has more than 4,096 sections");
    }
    if (!ok) {
        free(name);
        free(fold);
        return false;
    }
    scan->sections[scan->section_count] = (struct ini_section){.name = name, .fold = fold, .line = s->line};
    s->section                          = ++scan->section_count;
    return true;
}

static bool read_section(struct scanner *s, const char *p, const char *end)
{
    const char *close = memchr(p, ']', (size_t)(end - p));

    s->section     = 0;
    s->section_bad = true;
    if (!close)
        return ini_scan_refuse(s, "write [section] on a line of its own", "the section is not closed by ']'");
    if (close + 1 != end)
        return ini_scan_refuse(s, "put comments on a line of their own; a name with ']' can only be said in .reg",
                               "there is text after the section's ']'");
    char *name = trimmed_dup(p + 1, close);
    if (name && !*name) {
        free(name);
        return ini_scan_refuse(s, "write a registry path such as [Autologger/name]", "the section has no name");
    }
    s->section_bad = !add_section(s, name);
    return !s->section_bad;
}

/* ---- values ---- */

/* The text of a value as a person means it; false when iniparser would read something else. */
static bool ini_scan_read_text(struct scanner *s, const char *p, const char *end, struct ini_value *out)
{
    while (p < end && ini_scan_is_blank(*p))
        p++;
    if (p < end && (*p == '"' || *p == '\'')) {
        const char *close = memchr(p + 1, *p, (size_t)(end - p - 1)), *after = close ? close + 1 : end;
        if (!close)
            return ini_scan_refuse(s, "put the same quote at its end", "the quoted value is not closed");
        while (after < end && ini_scan_is_blank(*after))
            after++;
        if (after < end && *after != ';' && *after != '#')
            return ini_scan_refuse(s, "a quoted value ends at its second quote; use the other kind of quote around it",
                                   "there is text after the quoted value");
        if (memchr(p, '\\', (size_t)(close - p)))
            return ini_scan_refuse(s, "use / for \\, or leave the quotes away", "a backslash in a quoted value");
        out->quoted = true;
        out->text   = strndup(p + 1, (size_t)(close - p - 1));
        return out->text || lost(s);
    }
    const char *cut = p;
    while (cut < end && *cut != ';' && *cut != '#')
        cut++;
    if (cut < end && cut > p && !ini_scan_is_blank(cut[-1]))
        return ini_scan_refuse(s, "put quotes around the value, or a blank before the comment",
                               "the value would end at ';' or '#'");
    if (cut < end && memchr(p, '"', (size_t)(cut - p)))
        return ini_scan_refuse(s, "put the whole value in '...'", "a ';' or '#' behind a quote inside the value");
    out->text = trimmed_dup(p, cut);
    return out->text || lost(s);
}

static bool check_name(struct scanner *s, const struct ini_value *value)
{
    const struct ini_section *section = &s->scan->sections[value->section];
    if (!*value->name)
        return ini_scan_refuse(s, "write name = value; the default value is @ = value", "there is no name before '='");
    if (*value->name == '"')
        return ini_scan_refuse(s, "write the name without quotes", "the name is in quotes");
    if (strchr(value->name, ':'))
        return ini_scan_refuse(s, "use .reg for such a name", "a ':' in the name of a value");
    if (strlen(value->name) + strlen(section->name) > INI_MAX_NAMES)
        return ini_scan_refuse(s, "use .reg for such long names",
                               "section and name together have more than 1,000 bytes");
    for (unsigned i = section->last_value; i; i = s->scan->values[i - 1].previous)
        if (strcmp(s->scan->values[i - 1].fold, value->fold) == 0) {
            diag_report(s->sink, DIAG_ERROR, s->file, s->line, "remove one of the two lines",
                        "%.100s was given already, in line %u", value->name, s->scan->values[i - 1].line);
            return false;
        }
    if (s->scan->value_count == INI_MAX_VALUES) {
        s->full = true;
        return ini_scan_refuse(s, "split the file, or use .reg", "the file has more than 8,192 values");
    }
    return true;
}

static bool ini_scan_read_value(struct scanner *s, const char *p, const char *end)
{
    struct ini_scan *scan   = s->scan;
    const char      *equals = memchr(p, '=', (size_t)(end - p));

    if (!equals)
        return ini_scan_refuse(s, "write name = value, [section], or ; before a comment", "the line has no '='");
    if (!s->section)
        return s->section_bad
                   ? false
                   : ini_scan_refuse(s, "put a line with its [section] above", "a value before the first section");
    struct ini_value value = {.section = s->section - 1, .line = s->line, .name = trimmed_dup(p, equals)};
    value.previous         = scan->sections[value.section].last_value;
    value.fold             = value.name ? name_fold_dup(value.name) : NULL;
    bool ok                = value.fold ? check_name(s, &value) : lost(s);
    ok                     = ok && ini_scan_read_text(s, equals + 1, end, &value);
    ok                     = ok && (ini_scan_grow((void **)&scan->values, scan->value_count, sizeof value) || lost(s));
    if (!ok) {
        free(value.name);
        free(value.fold);
        free(value.text);
        return false;
    }
    scan->values[scan->value_count++]        = value;
    scan->sections[value.section].last_value = scan->value_count;
    return true;
}

/* ---- lines ---- */

static bool check_bytes(struct scanner *s, const char *p, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        bool last = p[i] == '\r' && i + 1 == length;
        if (((unsigned char)p[i] < 0x20 && p[i] != '\t' && !last) || p[i] == 0x7F)
            return ini_scan_refuse(s, "remove it", "there is a control character in the line");
    }
    return encoding_is_utf8(p, length) || ini_scan_refuse(s, "save the file as UTF-8", "the line is not UTF-8");
}

static bool read_logical(struct scanner *s, bool continued)
{
    const char *p = s->joined.data, *end = p + s->joined.size;

    while (p < end && ini_scan_is_blank(*p))
        p++;
    while (end > p && ini_scan_is_blank(end[-1]))
        end--;
    if (p == end)
        return true;
    bool comment = *p == ';' || *p == '#';
    if (comment && continued)
        return ini_scan_refuse(s, "remove the '\\' at the end of the comment",
                               "the comment would swallow the next line");
    if (s->joined.size > INI_MAX_LINE) {
        diag_report(s->sink, DIAG_ERROR, s->file, s->line, "shorten it; long binary values go into a .reg file",
                    "the line has %zu bytes, more than %d", s->joined.size, INI_MAX_LINE);
        if (*p == '[')
            s->section = 0, s->section_bad = true;
        return false;
    }
    if (comment)
        return true;
    return *p == '[' ? read_section(s, p, end) : ini_scan_read_value(s, p, end);
}

/* The end of the physical line at p, its '\n' not included. */
static const char *ini_scan_line_end(const char *p, const char *end)
{
    const char *nl = memchr(p, '\n', (size_t)(end - p));
    return nl ? nl : end;
}

/* The continuing '\' at the end of the line, or NULL. */
static const char *continuation(const char *p, const char *eol)
{
    while (eol > p && ini_scan_is_blank(eol[-1]))
        eol--;
    return eol > p && eol[-1] == '\\' ? eol - 1 : NULL;
}

/* Reads one logical line at p; returns where the next begins. */
static const char *next_logical(struct scanner *s, const char *p, const char *end, uint32_t *line)
{
    const char *start = p;
    bool        ok = true, continued = false;
    uint32_t    lines = 0;

    s->line = *line;
    textbuf_clear(&s->joined);
    for (;;) {
        const char *eol = ini_scan_line_end(p, end), *cut = continuation(p, eol);
        lines++;
        ok = check_bytes(s, p, (size_t)(eol - p)) && ok;
        textbuf_put(&s->joined, p, (size_t)((cut ? cut : eol) - p));
        p = eol < end ? eol + 1 : end;
        if (!cut)
            break;
        continued = true;
        if (p == end || (*p != ' ' && *p != '\t')) { /* an intended continuation line is indented */
            ok = ok && ini_scan_refuse(s, "use / at the end of a folder, or indent the line that continues this one",
                                       "the line ends in '\\' and would swallow the next one");
            break;
        }
    }
    s->no_memory |= s->joined.bad;
    ok = ok && !s->no_memory && read_logical(s, continued);
    if (ok)
        textbuf_put(&s->scan->clean, start, (size_t)(p - start));
    else
        for (uint32_t i = 0; i < lines; i++)
            textbuf_puts(&s->scan->clean, "\n");
    *line += lines;
    return p;
}

wstatus ini_scan_run(const char *text, size_t length, const char *file, struct diag_sink *sink, struct ini_scan *out)
{
    struct scanner s    = {.scan = out, .file = file, .sink = sink};
    const char    *end  = text + length;
    uint32_t       line = 1;

    *out = (struct ini_scan){0};
    while (text < end && !s.no_memory && !s.full)
        text = next_logical(&s, text, end, &line);
    textbuf_puts(&out->clean, "\n"); /* iniparser skips a last line of one character */
    textbuf_finish(&s.joined);
    return s.no_memory || out->clean.bad ? W_NOT_ENOUGH_MEMORY : W_SUCCESS;
}

void ini_scan_finish(struct ini_scan *scan)
{
    for (unsigned i = 0; i < scan->section_count; i++) {
        free(scan->sections[i].name);
        free(scan->sections[i].fold);
    }
    for (unsigned i = 0; i < scan->value_count; i++) {
        free(scan->values[i].name);
        free(scan->values[i].fold);
        free(scan->values[i].text);
    }
    free(scan->sections);
    free(scan->values);
    textbuf_finish(&scan->clean);
    *scan = (struct ini_scan){0};
}
