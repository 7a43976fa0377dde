#include "tools/files/inf_document.h"

#include "autologger/schema/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { INF_LINES_MAX = 1000000 };

/* ---- lines ---- */

/* Copies a line without its comment; quotes hide ";". Returns whether "\" continues it. */
static bool inf_line_add(struct text *out, const char *p, const char *end)
{
    bool   quoted = false;
    size_t from   = out->length;
    for (; p < end; p++) {
        quoted ^= *p == '"';
        if (*p == ';' && !quoted)
            break;
        text_add(out, *p == '\t' || *p == '\r' || !*p ? " " : p, 1);
    }
    while (out->length > from && text_get(out)[out->length - 1] == ' ')
        text_cut(out, out->length - 1);
    if (!quoted && out->length > from && text_get(out)[out->length - 1] == '\\') {
        text_cut(out, out->length - 1);
        return true;
    }
    return false;
}

static const char *inf_section(struct inf_document *d, const char *text)
{
    const char *end  = strchr(text, ']');
    char       *name = strndup(text + 1, end ? (size_t)(end - text - 1) : strlen(text + 1));
    char      **more = name ? realloc(d->sections, (d->section_count + 1) * sizeof *more) : NULL;
    if (!more) {
        free(name);
        d->failed = true;
        return "";
    }
    d->sections                     = more;
    d->sections[d->section_count++] = name;
    return name;
}

static void inf_keep(struct inf_document *d, const char *section, const char *text, uint32_t number)
{
    if (d->count == d->room) {
        const size_t     room = d->room ? d->room * 2 : 256;
        struct inf_line *more = room <= INF_LINES_MAX * 2 ? realloc(d->line, room * sizeof *more) : NULL;
        if (!more) {
            d->failed = true;
            return;
        }
        d->line = more;
        d->room = room;
    }
    char *copy = strdup(text);
    d->failed |= !copy;
    if (copy)
        d->line[d->count++] = (struct inf_line){section, copy, number};
}

/* ---- names ---- */

static int inf_name_order(const char *a, size_t a_size, const char *b, size_t b_size)
{
    const int c = strncasecmp(a, b, a_size < b_size ? a_size : b_size);
    return c ? c : (a_size > b_size) - (a_size < b_size);
}

static int inf_name_compare(const void *a, const void *b)
{
    const struct inf_name *x = a, *y = b;
    const int              c = inf_name_order(x->text, x->size, y->text, y->size);
    return c ? c : (x->line > y->line) - (x->line < y->line);
}

static void inf_names_add(struct inf_document *d, struct inf_names *n, const char *text, size_t size, size_t line)
{
    if (n->count == n->room) {
        const size_t     room = n->room ? n->room * 2 : 64;
        struct inf_name *more = realloc(n->name, room * sizeof *more);
        if (!more) {
            d->failed = true;
            return;
        }
        n->name = more;
        n->room = room;
    }
    n->name[n->count++] = (struct inf_name){text, (uint32_t)size, (uint32_t)line};
}

/* The place of the first name that does not come before this one. */
static size_t inf_names_find(const struct inf_names *n, const char *text, size_t size)
{
    size_t low = 0;
    for (size_t high = n->count; low < high;) {
        const size_t middle = low + (high - low) / 2;
        if (inf_name_order(n->name[middle].text, n->name[middle].size, text, size) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool inf_names_has(const struct inf_names *n, size_t at, const char *text, size_t size)
{
    return at < n->count && inf_name_order(n->name[at].text, n->name[at].size, text, size) == 0;
}

static void inf_names_sort(struct inf_names *n)
{
    if (n->count)
        qsort(n->name, n->count, sizeof *n->name, inf_name_compare);
}

/* Files have hundreds of thousands of lines, so each name is found without a look at all lines. */
static void inf_document_index(struct inf_document *d)
{
    for (size_t i = 0; i < d->count && !d->failed; i++) {
        const struct inf_line *l = &d->line[i];
        inf_names_add(d, &d->by_section, l->section, strlen(l->section), i);
        if (strncasecmp(l->section, "Strings", 7) == 0 && (!l->section[7] || l->section[7] == '.'))
            inf_names_add(d, &d->strings, l->text, strcspn(l->text, "= "), i);
        for (const char *p = inf_entry(l, "DelReg"); p && *p; p += strspn(p, " ,")) {
            const size_t n = strcspn(p, " ,");
            inf_names_add(d, &d->deleted, p, n, i);
            p += n;
        }
    }
    inf_names_sort(&d->by_section);
    inf_names_sort(&d->strings);
    inf_names_sort(&d->deleted);
}

const struct inf_line *inf_section_next(const struct inf_document *d, const char *section, size_t *at)
{
    const size_t n = strlen(section), here = *at ? *at : inf_names_find(&d->by_section, section, n);
    *at = here + 1;
    return inf_names_has(&d->by_section, here, section, n) ? &d->line[d->by_section.name[here].line] : NULL;
}

bool inf_is_deleted(const struct inf_document *d, const char *section)
{
    const size_t n = strlen(section);
    return inf_names_has(&d->deleted, inf_names_find(&d->deleted, section, n), section, n);
}

void inf_document_read(struct inf_document *d, const char *p, const char *end)
{
    const char *section = "";
    struct text joined  = {0};
    uint32_t    number = 1, first = 1;

    for (; p < end && !d->failed; number++) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        stop             = stop ? stop : end;
        if (!joined.length)
            first = number;
        const bool more = inf_line_add(&joined, p, stop);
        p               = stop + 1;
        if (more && p < end)
            continue;
        const char *text = text_get(&joined) + strspn(text_get(&joined), " ");
        if (*text == '[')
            section = inf_section(d, text);
        else if (*text)
            inf_keep(d, section, text, first);
        text_cut(&joined, 0);
    }
    d->failed |= joined.failed;
    text_finish(&joined);
    inf_document_index(d);
}

/* ---- fields ---- */

/* The value of a name in [Strings], without its quotes; NULL: no such name. */
static const char *inf_string(const struct inf_document *d, const char *name, size_t size)
{
    const size_t at = inf_names_find(&d->strings, name, size);
    if (!inf_names_has(&d->strings, at, name, size))
        return NULL;
    const char *equal = strchr(d->line[d->strings.name[at].line].text + size, '=');
    return equal ? equal + 1 + strspn(equal + 1, " ") : NULL;
}

/* Adds [p, end) to `out` with %names% replaced, and without quotes ("" is one quote). */
static size_t inf_expand(const struct inf_document *d, const char *p, const char *end, char *out, size_t at,
                         unsigned depth)
{
    for (bool quoted = false; p < end && at < INF_FIELD - 1; p++) {
        if (*p == '"') {
            if (quoted && p + 1 < end && p[1] == '"')
                out[at++] = *p++;
            else
                quoted = !quoted;
            continue;
        }
        const char *stop = *p == '%' ? memchr(p + 1, '%', (size_t)(end - p - 1)) : NULL;
        if (!stop) {
            out[at++] = *p;
            continue;
        }
        const char *value = stop == p + 1 || depth ? NULL : inf_string(d, p + 1, (size_t)(stop - p - 1));
        if (stop == p + 1)
            out[at++] = '%';
        else if (value)
            at = inf_expand(d, value, value + strlen(value), out, at, depth + 1);
        for (const char *q = p; !value && stop != p + 1 && q <= stop && at < INF_FIELD - 1; q++)
            out[at++] = *q; /* a name of Windows' environment, or one that is missing */
        p = stop;
    }
    return at;
}

/* The fields between commas. Returns their number; at most `most` are stored. */
unsigned inf_fields(const struct inf_document *d, const char *p, char (*out)[INF_FIELD], unsigned most)
{
    unsigned n = 0;
    for (;;) {
        bool        quoted = false;
        const char *end;
        p += strspn(p, " ");
        for (end = p; *end && (quoted || *end != ','); end++)
            quoted ^= *end == '"';
        const char *last = end;
        while (last > p && last[-1] == ' ')
            last--;
        if (n < most)
            out[n][inf_expand(d, p, last, out[n], 0, 0)] = 0;
        n++;
        if (!*end)
            return n;
        p = end + 1;
    }
}

bool inf_number(const char *text, uint64_t *out)
{
    char *end;
    errno = 0;
    *out  = strtoull(text, &end, 0);
    return *text && *text != '-' && !*end && errno == 0;
}

/* "ENTRY = VALUE": the value's text; NULL: the line has another entry. */
const char *inf_entry(const struct inf_line *l, const char *entry)
{
    const size_t n  = strlen(entry);
    const char  *at = l->text + n + strspn(l->text + (strlen(l->text) < n ? 0 : n), " ");
    return strncasecmp(l->text, entry, n) == 0 && *at == '=' ? at + 1 + strspn(at + 1, " ") : NULL;
}

void inf_document_finish(struct inf_document *d)
{
    for (size_t i = 0; i < d->count; i++)
        free(d->line[i].text);
    for (size_t i = 0; i < d->section_count; i++)
        free(d->sections[i]);
    free(d->by_section.name);
    free(d->strings.name);
    free(d->deleted.name);
    free(d->line);
    free(d->sections);
}
