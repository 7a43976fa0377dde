/* sound_import.c - see sound_import.h. Works on the text: a refused section is turned into comment lines, so that line
 * numbers stay, and the import is tried again until nothing is refused. */
#include "tools/setup/sound_import.h"
#include "registry-sim/text/dialect.h"
#include "registry-sim/win32/utf16.h"
#include "tools/base/store_access.h"

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
    unsigned             homeless; /* mistakes outside of every section */
    unsigned             round;
    bool                 no_memory;
};

static wstatus sound_import_file_read(const char *path, char **text, size_t *size, struct reason *why)
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

/* UTF-16 with a BOM becomes UTF-8 without; a UTF-8 BOM is removed. */
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

/* The last line at or before `line` that opens a section, 0 = none; *start gets its text. */
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
static struct guid sound_import_provider_guid(const char *section, const char *name)
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

/* Keeps a finding once, and warnings of the first round only: later rounds lack the removed sections and would warn
 * about that. */
static void sound_import_keep(struct trial *t, const struct diag *d)
{
    struct refusal_list *l = t->refusals;
    if (t->round && d->kind == DIAG_WARNING)
        return;
    for (unsigned i = 0; i < l->mistake_count; i++)
        if (l->mistakes[i].line == d->line && !strcmp(l->mistakes[i].what, d->what))
            return;
    struct mistake *grown = realloc(l->mistakes, (l->mistake_count + 1) * sizeof *grown);
    if (grown)
        l->mistakes = grown;
    struct mistake m = {d->kind, strdup(d->file), strdup(d->what), d->advice ? strdup(d->advice) : NULL, d->line};
    if (grown && m.file && m.what && !m.advice == !d->advice) {
        l->mistakes[l->mistake_count++] = m;
        return;
    }
    free(m.file);
    free(m.what);
    free(m.advice);
    t->no_memory = true;
}

/* "what. Do: advice" of the first mistake of a section. */
static void reason_of(struct refusal *r, const struct diag *d)
{
    if (d->advice)
        snprintf(r->reason, sizeof r->reason, "%.300s%s Do: %.180s", d->what, sentence_end(d->what), d->advice);
    else
        snprintf(r->reason, sizeof r->reason, "%.480s", d->what);
}

/* diag_fn: a mistake becomes a refusal of its section. */
static void sound_import_refuse(void *ctx, const struct diag *d)
{
    struct trial *t     = ctx;
    const char   *start = NULL;
    char          path[512];
    sound_import_keep(t, d);
    if (d->kind != DIAG_ERROR)
        return;
    if (!d->line || !section_of(t, d->line, &start)) {
        t->homeless++;
        return;
    }
    section_path(start, path, sizeof path);
    struct refusal *r = refusal_for(t, path);
    if (!r)
        return;
    t->new_refusals++;
    r->mistakes++;
    if (!r->line) {
        reason_of(r, d);
        section_names(path, r);
        r->line = d->line;
        r->guid = sound_import_provider_guid(start, r->provider);
        snprintf(r->file, sizeof r->file, "%s", d->file);
    }
}

/* Is this section part of a refused declaration: itself, or a provider of a refused session? */
static bool sound_import_is_refused(const struct trial *t, const char *path)
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
            refused = sound_import_is_refused(t, path);
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

/* Imports in rounds until it succeeds: each mistake removes its declaration. */
static wstatus sound_import_settle(struct trial *t, struct regstore *store, struct reason *why)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct diag_sink sink = {.fn = sound_import_refuse, .ctx = t};
        t->new_refusals       = 0;
        t->round              = round;
        wstatus st            = import_once(t, store, &sink, why);
        if (t->no_memory)
            return reason_set(why, W_OUTOFMEMORY, "not enough memory");
        if (!st || (!sink.errors && st))
            return st;
        if (t->homeless)
            return reason_set(why, W_INVALID_DATA, "%s: %u mistake%s outside of every section, nothing was read",
                              t->file, t->homeless, plural(t->homeless));
        if (!t->new_refusals)
            return st;
        blank_refused(t);
    }
    return reason_set(why, W_INVALID_DATA, "%s: too many mistakes", t->file);
}

static int by_line(const void *a, const void *b)
{
    const struct mistake *x = a, *y = b;
    return x->line != y->line ? (x->line < y->line ? -1 : 1) : strcmp(x->what, y->what);
}

/* "and N more" goes before the advice. */
static void count_say(struct refusal *r)
{
    char first[sizeof r->reason];
    if (r->mistakes < 2)
        return;
    snprintf(first, sizeof first, "%s", r->reason);
    char *advice = strstr(first, " Do: ");
    if (advice)
        advice[advice > first && advice[-1] == '.' ? -1 : 0] = 0;
    snprintf(r->reason, sizeof r->reason, "%.480s (and %u more)%s%s", first, r->mistakes - 1, advice ? " Do: " : "",
             advice ? advice + 5 : "");
}

wstatus sound_import(struct regstore *store, const char *path, struct refusal_list *out, struct reason *why)
{
    struct trial t  = {.file = path, .refusals = out};
    wstatus      st = sound_import_file_read(path, &t.text, &t.size, why);
    if (!st)
        st = normalise(&t.text, &t.size, why);
    if (!st && memchr(t.text, 0, t.size))
        st = reason_set(why, W_INVALID_DATA, "%s is not text: it holds a NUL byte", path);
    if (!st) {
        t.is_reg = starts_as_reg(t.text);
        st       = sound_import_settle(&t, store, why);
    }
    if (out->mistake_count)
        qsort(out->mistakes, out->mistake_count, sizeof *out->mistakes, by_line);
    for (unsigned i = 0; i < out->count; i++)
        count_say(&out->items[i]);
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

void refusal_list_mistakes_print(const struct refusal_list *list)
{
    for (unsigned i = 0; i < list->mistake_count; i++) {
        const struct mistake *m = &list->mistakes[i];
        diag_print(NULL, &(struct diag){m->kind, m->file, m->line, m->what, m->advice});
    }
}

void refusal_list_mistakes_json(const struct refusal_list *list, struct json *j)
{
    json_array(j, "mistakes");
    for (unsigned i = 0; i < list->mistake_count; i++) {
        const struct mistake *m = &list->mistakes[i];
        json_object(j, NULL);
        json_text(j, "kind", m->kind == DIAG_WARNING ? "warning" : "error");
        json_text(j, "file", m->file);
        json_number(j, "line", m->line);
        json_text(j, "what", m->what);
        json_text(j, "advice", m->advice ? m->advice : "");
        json_object_end(j);
    }
    json_array_end(j);
}

void refusal_list_finish(struct refusal_list *list)
{
    for (unsigned i = 0; i < list->mistake_count; i++) {
        free(list->mistakes[i].file);
        free(list->mistakes[i].what);
        free(list->mistakes[i].advice);
    }
    free(list->mistakes);
    free(list->items);
    *list = (struct refusal_list){0};
}
