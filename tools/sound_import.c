/* sound_import.c - see sound_import.h. Works on the text: a refused section is turned into comment lines, so that line
 * numbers stay, and the import is tried again until nothing is refused. */
#include "tools/sound_import.h"
#include "registry-sim/text/dialect.h"
#include "registry-sim/win32/utf16.h"
#include "tools/store_access.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FILE_MAX = 16 << 20, ROUNDS = 256 };

struct trial {
    char                *text; /* UTF-8, malloc */
    size_t               size;
    bool                 is_reg;
    const char          *file;
    struct refusal_list *refusals;
    unsigned             new_refusals;
    bool                 homeless; /* a mistake outside of every section */
    struct reason        homeless_why;
};

static wstatus file_read(const char *path, char **text, size_t *size, struct reason *why)
{
    wstatus st   = W_SUCCESS;
    char   *data = NULL;
    FILE   *from = fopen(path, "rb");
    if (!from)
        return reason_set(why, wstatus_from_errno(errno), "%s: %s", path, strerror(errno));
    if (!(data = malloc(FILE_MAX + 1))) {
        st = reason_set(why, W_OUTOFMEMORY, "not enough memory");
        goto out;
    }
    *size = fread(data, 1, FILE_MAX + 1, from);
    if (ferror(from))
        st = reason_set(why, wstatus_from_errno(errno), "%s: %s", path, strerror(errno));
    else if (*size > FILE_MAX)
        st = reason_set(why, W_INVALID_DATA, "%s is larger than %d MB", path, FILE_MAX >> 20);
    else
        data[*size] = 0, *text = data, data = NULL;
out:
    free(data);
    fclose(from);
    return st;
}

/* UTF-16 with a BOM becomes UTF-8 without; a UTF-8 BOM goes. */
static wstatus normalise(char **text, size_t *size, struct reason *why)
{
    char *data = *text;
    if (*size >= 2 && !memcmp(data, "\xFF\xFE", 2)) {
        size_t need = utf16le_to_utf8(data + 2, *size - 2, NULL, 0);
        char  *utf8 = malloc(need + 1);
        if (!utf8)
            return reason_set(why, W_OUTOFMEMORY, "not enough memory");
        utf16le_to_utf8(data + 2, *size - 2, utf8, need + 1);
        free(data);
        *text = utf8;
        *size = need;
    } else if (*size >= 3 && !memcmp(data, "\xEF\xBB\xBF", 3)) {
        memmove(data, data + 3, *size - 3 + 1);
        *size -= 3;
    }
    return W_SUCCESS;
}

static bool starts_as_reg(const char *text)
{
    text += strspn(text, " \t\r\n");
    return !strncasecmp(text, "Windows Registry Editor", 23) || !strncmp(text, "REGEDIT4", 8) ||
           !strncmp(text, "[HKEY_", 6);
}

/* The line that starts at or before `line` and opens a section, 0 = none; *start gets its text. */
static uint32_t section_of(const struct trial *t, uint32_t line, const char **start)
{
    uint32_t    number = 1, found = 0;
    const char *p = t->text;
    while (p && number <= line) {
        const char *first = p + strspn(p, " \t");
        if (*first == '[')
            found = number, *start = first;
        p = strchr(p, '\n');
        p = p ? p + 1 : NULL;
        number++;
    }
    return found;
}

/* "[.../WMI/Autologger/web/x]" -> "Autologger/web/x" with '/' between parts. */
static void section_path(const char *start, char *out, size_t size)
{
    size_t length = strcspn(start + 1, "]\r\n");
    snprintf(out, size, "%.*s", (int)(length < size ? length : size - 1), start + 1);
    for (char *p = out; *p; p++)
        if (*p == '\\')
            *p = '/';
    char *wmi = strcasestr(out, "/WMI/");
    if (wmi)
        memmove(out, wmi + 5, strlen(wmi + 5) + 1);
}

static void section_names(const char *path, struct refusal *r)
{
    bool        autologger = !strncasecmp(path, "Autologger/", 11);
    const char *rest       = autologger ? path + 11 : path;
    size_t      length     = strcspn(rest, "/");
    snprintf(r->session, sizeof r->session, "%.*s", (int)length, rest);
    if (rest[length])
        snprintf(r->provider, sizeof r->provider, "%s", rest + length + 1);
}

/* The provider's GUID: the section's name, its Guid line, or the hash of its name. */
static struct guid provider_guid(const char *section, const char *name)
{
    struct guid guid;
    if (guid_parse(name, &guid))
        return guid;
    for (const char *p = strchr(section, '\n'); p; p = strchr(p, '\n')) {
        p++;
        p += strspn(p, " \t");
        if (*p == '[')
            break;
        char text[64];
        if (sscanf(p, "%*1[Gg]%*1[uU]%*1[iI]%*1[dD] = %63[{}0-9A-Fa-f-]", text) == 1 && guid_parse(text, &guid))
            return guid;
    }
    return guid_from_name(name);
}

static struct refusal *refusal_for(struct trial *t, const char *path)
{
    struct refusal_list *l = t->refusals;
    for (unsigned i = 0; i < l->count; i++)
        if (!strcasecmp(l->items[i].key, path))
            return &l->items[i];
    if (l->count == l->capacity) {
        unsigned        more  = l->capacity ? l->capacity * 2 : 8;
        struct refusal *items = realloc(l->items, more * sizeof *items);
        if (!items)
            return NULL;
        l->items    = items;
        l->capacity = more;
    }
    struct refusal *r = &l->items[l->count++];
    memset(r, 0, sizeof *r);
    snprintf(r->key, sizeof r->key, "%s", path);
    return r;
}

/* diag_fn: a mistake becomes (part of) a refusal of its section. */
static void refuse(void *ctx, const struct diag *d)
{
    struct trial *t     = ctx;
    const char   *start = NULL;
    char          path[512];
    if (d->kind != DIAG_ERROR)
        return;
    if (!d->line || !section_of(t, d->line, &start)) {
        t->homeless = true;
        reason_set(&t->homeless_why, W_INVALID_DATA, "%s:%u: %s%s%s%s", d->file, d->line, d->what, sentence_end(d->what),
                   d->advice ? " Do: " : "", d->advice ? d->advice : "");
        return;
    }
    section_path(start, path, sizeof path);
    struct refusal *r = refusal_for(t, path);
    if (!r)
        return;
    t->new_refusals++;
    if (!r->line) {
        section_names(path, r);
        r->line = d->line;
        r->guid = provider_guid(start, r->provider);
        snprintf(r->file, sizeof r->file, "%s", d->file);
    }
    size_t used = strlen(r->reason);
    snprintf(r->reason + used, sizeof r->reason - used, "%sline %u: %s%s%s%s", used ? "; " : "", d->line, d->what,
             sentence_end(d->what), d->advice ? " Do: " : "", d->advice ? d->advice : "");
}

/* Is this section part of a refused declaration: itself, or a provider of a refused session? */
static bool is_refused(const struct trial *t, const char *path)
{
    for (unsigned i = 0; i < t->refusals->count; i++) {
        const struct refusal *r      = &t->refusals->items[i];
        size_t                length = strlen(r->key);
        if (!strcasecmp(r->key, path) || (!r->provider[0] && !strncasecmp(r->key, path, length) && path[length] == '/'))
            return true;
    }
    return false;
}

/* Blanks the lines of refused sections, keeping line ends. */
static void blank_refused(struct trial *t)
{
    bool refused = false;
    for (char *p = t->text; p && *p;) {
        char *end   = strchr(p, '\n');
        char *first = p + strspn(p, " \t");
        if (*first == '[') {
            char path[512];
            section_path(first, path, sizeof path);
            refused = is_refused(t, path);
        }
        for (char *q = p; refused && *q && q != end; q++)
            if (*q != '\r')
                *q = q == p ? ';' : ' ';
        p = end ? end + 1 : NULL;
    }
}

static wstatus import_once(struct trial *t, struct regstore *store, struct diag_sink *sink, struct reason *why)
{
    return t->is_reg ? reg_import(store, t->text, t->size, t->file, REG_IMPORT_LENIENT, sink, why)
                     : ini_import(store, t->text, t->size, t->file, plan_vocabulary(), sink, why);
}

/* Rounds until the text imports: each mistake takes its declaration out. */
static wstatus settle(struct trial *t, struct regstore *store, struct reason *why)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct diag_sink sink = {.fn = refuse, .ctx = t};
        t->new_refusals       = 0;
        wstatus st            = import_once(t, store, &sink, why);
        if (!st || (!sink.errors && st))
            return st;
        if (t->homeless)
            return reason_set(why, W_INVALID_DATA, "%s", t->homeless_why.text);
        if (!t->new_refusals)
            return st;
        blank_refused(t);
    }
    return reason_set(why, W_INVALID_DATA, "%s: too many mistakes", t->file);
}

wstatus sound_import(struct regstore *store, const char *path, struct refusal_list *out, struct reason *why)
{
    struct trial t  = {.file = path, .refusals = out};
    wstatus      st = file_read(path, &t.text, &t.size, why);
    if (!st)
        st = normalise(&t.text, &t.size, why);
    if (!st && memchr(t.text, 0, t.size))
        st = reason_set(why, W_INVALID_DATA, "%s is not text: it holds a NUL byte", path);
    if (!st) {
        t.is_reg = starts_as_reg(t.text);
        st       = settle(&t, store, why);
    }
    free(t.text);
    return st;
}

wstatus refusal_list_add_to(const struct refusal_list *refusals, struct result_list *rows, struct reason *why)
{
    for (unsigned i = 0; i < refusals->count; i++) {
        const struct refusal *r   = &refusals->items[i];
        struct result_row    *row = result_add(rows);
        if (!row)
            return reason_set(why, W_OUTOFMEMORY, "not enough memory");
        snprintf(row->session, sizeof row->session, "%s", r->session);
        snprintf(row->name, sizeof row->name, "%s", r->provider);
        if (r->provider[0])
            guid_format(&r->guid, row->provider);
        snprintf(row->key, sizeof row->key, "%s", r->key);
        snprintf(row->reason, sizeof row->reason, "%s", r->reason);
        snprintf(row->source_file, sizeof row->source_file, "%s", r->file);
        row->source_line = r->line;
        row->start       = true;
        row->status      = W_INVALID_PARAMETER;
    }
    return W_SUCCESS;
}

void refusal_list_finish(struct refusal_list *list)
{
    free(list->items);
    *list = (struct refusal_list){0};
}
