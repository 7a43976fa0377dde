/* ini_export.c - writes a tree of the store as INI text; see dialect.h.
 * What INI cannot express is refused by name. The last step finds what the rules below miss: it imports the text into a
 * store in memory, and compares both trees. */
#include "registry-sim/store/regpath.h"
#include "registry-sim/text/dialect.h"
#include "registry-sim/text/ini_place.h"
#include "registry-sim/text/ini_scan.h"
#include "registry-sim/text/literal.h"
#include "registry-sim/text/textbuf.h"
#include "registry-sim/win32/guid.h"
#include "registry-sim/win32/utf16.h"

#include <stdlib.h>
#include <string.h>

struct exporter {
    struct regstore             *store;
    const struct ini_vocabulary *words;
    struct textbuf               out;
    struct textbuf               path;  /* of the key being written */
    struct textbuf               names; /* friendly names used in the present session, NUL-terminated each */
    struct textbuf               text;  /* scratch: one value */
    struct ini_place             place; /* of the key being written */
    size_t                       section_size;
    wstatus                      failed; /* of a read of the store */
    const char                  *hidden; /* value that the section's name expresses, or NULL */
    /* values implied by the section, or by values in words: a missing one is written as deleted */
    const char    *implied[4];
    unsigned       implied_count;
    struct reason *why;
};

#define SAY_REG "; export it as .reg instead"

static wstatus ini_export_no_memory(struct exporter *e)
{
    return reason_set(e->why, W_NOT_ENOUGH_MEMORY, "no memory for the text");
}

static wstatus cannot(struct exporter *e, const char *what, const char *name)
{
    return reason_set(e->why, W_NOT_SUPPORTED, "INI can't say %s '%.60s' of %.200s" SAY_REG, what, name, e->path.data);
}

static bool has_controls(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7F)
            return true;
    return false;
}

static bool has_outer_blanks(const char *text)
{
    size_t n = strlen(text);
    return n && (strchr(" \t", text[0]) || strchr(" \t", text[n - 1]));
}

/* ---- values ---- */

static bool name_is_sayable(const char *name)
{
    return !*name || (strcmp(name, "@") != 0 && !strchr("[;#\"", *name) && !strpbrk(name, "=:") &&
                      !has_controls(name) && !has_outer_blanks(name));
}

/* Writes `text` so that it is read back unchanged; false when no quoting does that. */
static bool ini_export_put_text(struct textbuf *out, const char *text)
{
    size_t n = strlen(text);
    if (has_controls(text))
        return false;
    bool plain = n && !has_outer_blanks(text) && !strpbrk(text, ";#") && !strchr("\"'", *text) && text[n - 1] != '\\' &&
                 strcmp(text, "-") != 0 && !literal_looks_like(text, n);
    char quote = !strchr(text, '"') ? '"' : '\'';
    if (!plain && (strchr(text, '\\') || strchr(text, quote)))
        return false;
    if (!plain)
        textbuf_put(out, &quote, 1);
    textbuf_puts(out, text);
    if (!plain)
        textbuf_put(out, &quote, 1);
    return true;
}

/* The text of a REG_SZ, malloc, when it has its one NUL at the end; else NULL. */
static char *string_dup(const struct regvalue *v)
{
    if (v->type != REG_TYPE_SZ || v->size < 2 || v->size % 2 || v->data[v->size - 1] || v->data[v->size - 2])
        return NULL;
    size_t n    = utf16le_to_utf8(v->data, v->size - 2, NULL, 0);
    char  *text = malloc(n + 1);
    if (!text)
        return NULL;
    utf16le_to_utf8(v->data, v->size - 2, text, n + 1);
    if (strlen(text) == n)
        return text;
    free(text);
    return NULL;
}

/* Human words for `v`, malloc, if they are read back as the same bytes; else NULL and a literal is written. */
static char *words_dup(struct exporter *e, const struct regvalue *v)
{
    if (!e->words)
        return string_dup(v);
    char           *text = e->words->print ? e->words->print(e->words->ctx, e->path.data, v) : NULL;
    struct regvalue back = {0};
    bool same = text && e->words->parse(e->words->ctx, e->path.data, v->name, text, ".", &back, NULL) == W_SUCCESS &&
                back.type == v->type && back.size == v->size &&
                (!v->size || memcmp(back.data, v->data, v->size) == 0) &&
                (!back.name || name_compare(back.name, v->name) == 0);
    free((void *)back.data);
    if (same)
        return text;
    free(text);
    return NULL;
}

/* The value that the vocabulary would add to this key for the section (value NULL) or for a value. */
static const char *implied(const struct exporter *e, const char *value)
{
    uint32_t    number;
    const char *name =
        e->words && e->words->implies ? e->words->implies(e->words->ctx, e->path.data, value, NULL, &number) : NULL;
    return name && strncmp(name, INI_ABOVE, strlen(INI_ABOVE)) == 0 ? NULL : name;
}
static void remember_implied(struct exporter *e, const char *value)
{
    const char *name = implied(e, value);
    if (name && e->implied_count < sizeof e->implied / sizeof *e->implied)
        e->implied[e->implied_count++] = name;
}

static wstatus ini_export_write_value(void *ctx, const struct regvalue *v)
{
    struct exporter *e     = ctx;
    size_t           start = e->out.size;
    const char      *name  = *v->name ? v->name : "@";

    if (e->hidden && strcmp(v->name, e->hidden) == 0)
        return W_SUCCESS;
    if (!name_is_sayable(v->name) || strlen(name) + e->section_size > INI_MAX_NAMES)
        return cannot(e, "the value name", v->name);
    bool  must = e->place.kind == INI_PROVIDER && name_compare(v->name, "Guid") == 0; /* a word would name the key */
    char *text = must ? NULL : words_dup(e, v);
    textbuf_puts(&e->out, name);
    textbuf_puts(&e->out, " = ");
    if (!text || !ini_export_put_text(&e->out, text))
        literal_print(&e->out, v, 0, "\n");
    else
        remember_implied(e, v->name);
    free(text);
    if (e->out.size - start > INI_MAX_LINE)
        return cannot(e, "in 1,022 bytes the value", v->name);
    textbuf_puts(&e->out, "\n");
    return e->out.bad ? ini_export_no_memory(e) : W_SUCCESS;
}

/* The value of the key being written; true when it is there. */
static bool ini_export_look(struct exporter *e, const char *name, struct regvalue *out)
{
    wstatus st = regstore_get(e->store, e->path.data, name, out);
    if (st != W_SUCCESS && st != W_FILE_NOT_FOUND)
        e->failed = reason_set(e->why, st, "%s of %.300s can't be read: %s", name, e->path.data, wstatus_text(st));
    return st == W_SUCCESS;
}

/* Writes as deleted a value that the dialect would add and the key does not have. */
static void write_absent(struct exporter *e, const char *name)
{
    struct regvalue v;
    if (!ini_export_look(e, name, &v)) {
        textbuf_puts(&e->out, name);
        textbuf_puts(&e->out, " = -\n");
    }
}

/* ---- sections ---- */

static bool part_is_sayable(const char *name)
{
    return !strpbrk(name, "]/\\") && !has_controls(name) && !has_outer_blanks(name);
}

static bool friendly_is_free(const struct exporter *e, const char *name)
{
    for (size_t at = 0; at < e->names.size; at += strlen(e->names.data + at) + 1)
        if (name_compare(e->names.data + at, name) == 0)
            return false;
    return true;
}

/* The ProviderFriendlyName of the provider at `path` if the section can be named by it, malloc; else NULL. */
static char *friendly_dup(struct exporter *e)
{
    struct regvalue v;
    struct guid     guid;
    bool            ok = !ini_export_look(e, "Guid", &v) && ini_export_look(e, "ProviderFriendlyName", &v) &&
              strcmp(v.name, "ProviderFriendlyName") == 0;
    char *name = ok ? string_dup(&v) : NULL;
    if (name && *name && part_is_sayable(name) && strlen(name) <= REGPATH_MAX_NAME && !guid_parse_braced(name, &guid) &&
        friendly_is_free(e, name))
        return name;
    free(name);
    return NULL;
}

static void ini_export_put_path(struct exporter *e, const char *path)
{
    for (; *path; path++)
        textbuf_put(&e->out, *path == '\\' ? "/" : path, 1);
}

/* Does the provider of this name and these values get its key without a Guid line? */
static bool guid_is_implied(struct exporter *e, const char *friendly, const char *key)
{
    struct regvalue v;
    char            text[GUID_TEXT_SIZE];
    struct guid     guid = guid_from_name(friendly);
    return strcmp(guid_format(&guid, text), key) == 0 && !ini_export_look(e, "Unit", &v) &&
           !ini_export_look(e, "Tracepoint", &v);
}

static wstatus write_header(struct exporter *e)
{
    const char *relative, *path = e->path.data, *last = strrchr(path, '\\');
    bool        below    = ini_place_below_wmi(path, &relative) && *relative && name_compare(relative, "Boot") != 0;
    char       *friendly = e->place.kind == INI_PROVIDER ? friendly_dup(e) : NULL;

    if (e->out.size)
        textbuf_puts(&e->out, "\n");
    textbuf_puts(&e->out, "[");
    size_t start = e->out.size;
    if (below && strcmp(relative, "Autologger") == 0)
        textbuf_puts(&e->out, "Boot");
    else if (below)
        ini_export_put_path(e, relative);
    else {
        textbuf_puts(&e->out, "HKLM");
        ini_export_put_path(e, path + strlen("HKEY_LOCAL_MACHINE"));
    }
    if (friendly && !e->out.bad) {
        e->out.size -= strlen(last + 1);
        textbuf_puts(&e->out, friendly);
        textbuf_put(&e->names, friendly, strlen(friendly) + 1);
    }
    e->section_size = e->out.size - start;
    textbuf_puts(&e->out, "]\n");
    if (friendly && !guid_is_implied(e, friendly, last + 1)) {
        textbuf_puts(&e->out, "Guid = ");
        textbuf_puts(&e->out, last + 1);
        textbuf_puts(&e->out, "\n");
    }
    e->hidden = friendly ? "ProviderFriendlyName" : NULL;
    free(friendly);
    return e->section_size + 2 > INI_MAX_LINE ? cannot(e, "the long name", last + 1) : W_SUCCESS;
}

static wstatus ini_export_found(void *ctx, const struct regkey_info *info)
{
    (void)info;
    *(bool *)ctx = true;
    return W_CANCELLED;
}
static wstatus found_value(void *ctx, const struct regvalue *value)
{
    (void)value;
    *(bool *)ctx = true;
    return W_CANCELLED;
}

/* A key that only leads to others needs no section: theirs create it, and may say more of it than is true. */
static wstatus write_section(struct exporter *e)
{
    bool    values = false, keys = false;
    wstatus st = regstore_enum_values(e->store, e->path.data, found_value, &values);
    if (st == W_SUCCESS)
        st = regstore_enum_keys(e->store, e->path.data, ini_export_found, &keys);
    if (st != W_SUCCESS && st != W_CANCELLED)
        return reason_set(e->why, st, "%.300s can't be read: %s", e->path.data, wstatus_text(st));
    if (!values && keys && !implied(e, NULL))
        return W_SUCCESS;
    st               = write_header(e);
    e->implied_count = 0;
    remember_implied(e, NULL);
    if (st == W_SUCCESS)
        st = regstore_enum_values(e->store, e->path.data, ini_export_write_value, e);
    if (e->place.kind == INI_SESSION || e->place.kind == INI_GLOBAL_LOGGER)
        write_absent(e, "Start");
    if (e->place.kind == INI_SESSION)
        write_absent(e, "Guid");
    if (e->place.kind == INI_PROVIDER)
        write_absent(e, "Enabled");
    for (unsigned i = 0; i < e->implied_count; i++)
        write_absent(e, e->implied[i]);
    return st == W_SUCCESS ? e->failed : st;
}

static wstatus write_tree(struct exporter *e);

static wstatus ini_export_write_child(void *ctx, const struct regkey_info *info)
{
    struct exporter *e    = ctx;
    size_t           size = e->path.size;
    if (!part_is_sayable(info->name))
        return cannot(e, "the key name", info->name);
    textbuf_puts(&e->path, "\\");
    textbuf_puts(&e->path, info->name);
    wstatus st = e->path.bad ? ini_export_no_memory(e) : write_tree(e);
    if (!e->path.bad) {
        e->path.size       = size;
        e->path.data[size] = 0;
    }
    return st;
}

static wstatus write_tree(struct exporter *e)
{
    ini_place_finish(&e->place);
    wstatus st = ini_place_resolve(e->path.data, &e->place, e->why);
    if (st != W_SUCCESS)
        return st;
    if (e->place.provider && !e->place.braced)
        return cannot(e, "the provider key, which is no {GUID},", e->place.provider);
    if (e->place.kind == INI_SESSION)
        textbuf_clear(&e->names);
    st = write_section(e);
    return st == W_SUCCESS ? regstore_enum_keys(e->store, e->path.data, ini_export_write_child, e) : st;
}

/* ---- the proof ---- */

/* Copies the first line of `a` that differs from `b` to `out`. */
static void first_difference(const char *a, const char *b, char out[80])
{
    size_t at = 0, line = 0;
    while (a[at] && a[at] == b[at])
        if (a[at++] == '\n')
            line = at;
    size_t n = strcspn(a + line, "\n");
    n        = n < 79 ? n : 79;
    memcpy(out, a + line, n);
    out[n] = 0;
}

static wstatus prove(struct exporter *e)
{
    struct regstore *again  = NULL;
    void            *before = NULL, *after = NULL;
    size_t           size_before, size_after;
    char             line[80];
    struct diag_sink sink = {0};
    wstatus          st   = regstore_open_memory(&again, e->why);

    if (st == W_SUCCESS)
        st = regstore_create_key(again, e->path.data, NULL, 0, e->why); /* the key itself may have no section */
    if (st == W_SUCCESS)
        st = reg_export(e->store, e->path.data, false, &before, &size_before, e->why);
    if (st == W_SUCCESS)
        st = ini_import(again, e->out.data ? e->out.data : "", e->out.size, "export", e->words, &sink, e->why);
    if (st == W_SUCCESS)
        st = reg_export(again, e->path.data, false, &after, &size_after, e->why);
    if (st == W_INVALID_DATA && before) {
        st = cannot(e, "something", "below");
    } else if (st == W_SUCCESS && (size_before != size_after || memcmp(before, after, size_after) != 0)) {
        first_difference(before, after, line);
        st = cannot(e, "the line", line);
    }
    free(before);
    free(after);
    regstore_close(again);
    return st;
}

/* e->path gets the canonical path of `key`, each name as it was created. */
static wstatus ini_export_spell_path(struct exporter *e, const char *key)
{
    struct regpath path;
    wstatus        st   = regpath_split(key, &path, e->why);
    const char    *name = path.names;

    for (unsigned i = 0; st == W_SUCCESS && i < path.count; i++, name = regpath_next(name)) {
        struct regkey_info info;
        size_t             size = e->path.size;
        textbuf_puts(&e->path, i ? "\\" : "");
        textbuf_puts(&e->path, name);
        if (e->path.bad)
            st = ini_export_no_memory(e);
        else if ((st = regstore_key_info(e->store, e->path.data, &info)) != W_SUCCESS)
            reason_set(e->why, st, "%s: %s", key, st == W_FILE_NOT_FOUND ? "the key does not exist" : wstatus_text(st));
        else if (!part_is_sayable(info.name))
            st = cannot(e, "the key name", info.name);
        else {
            e->path.size = size;
            textbuf_puts(&e->path, i ? "\\" : "");
            textbuf_puts(&e->path, info.name);
        }
    }
    if (st == W_SUCCESS && strcmp(path.names, "HKEY_LOCAL_MACHINE") != 0)
        st = cannot(e, "the root key", path.names);
    regpath_finish(&path);
    return st;
}

wstatus ini_export(struct regstore *store, const char *key, const struct ini_vocabulary *words, char **out,
                   size_t *size, struct reason *why)
{
    struct exporter e  = {.store = store, .words = words, .why = why};
    wstatus         st = ini_export_spell_path(&e, key);

    *out = NULL;
    if (st == W_SUCCESS)
        st = write_tree(&e);
    if (st == W_SUCCESS && e.out.bad)
        st = ini_export_no_memory(&e);
    if (st == W_SUCCESS)
        st = prove(&e);
    if (st == W_SUCCESS) {
        textbuf_put(&e.out, "", 0); /* an empty tree is an empty text */
        *out       = e.out.data;
        *size      = e.out.size;
        e.out.data = NULL;
        if (!*out)
            st = ini_export_no_memory(&e);
    }
    textbuf_finish(&e.out);
    textbuf_finish(&e.path);
    textbuf_finish(&e.names);
    ini_place_finish(&e.place);
    return st;
}
