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
}

/* ---- fields ---- */

/* The value of a name in [Strings], without its quotes; NULL: no such name. */
static const char *inf_string(const struct inf_document *d, const char *name, size_t size)
{
    for (size_t i = 0; i < d->count; i++) {
        const struct inf_line *l = &d->line[i];
        if (strncasecmp(l->section, "Strings", 7) != 0 || (l->section[7] && l->section[7] != '.'))
            continue;
        const size_t n = strcspn(l->text, "= ");
        if (n == size && strncasecmp(l->text, name, n) == 0) {
            const char *equal = strchr(l->text + n, '=');
            return equal ? equal + 1 + strspn(equal + 1, " ") : NULL;
        }
    }
    return NULL;
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
    free(d->line);
    free(d->sections);
}
