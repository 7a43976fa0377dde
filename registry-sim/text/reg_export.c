/* reg_export.c - writes a tree of the store as .reg text, the way regedit does; see dialect.h. */
#include "registry-sim/store/regpath.h"
#include "registry-sim/text/dialect.h"
#include "registry-sim/text/literal.h"
#include "registry-sim/text/textbuf.h"
#include "registry-sim/win32/utf16.h"

#include <stdlib.h>
#include <string.h>

struct export
{
    struct regstore *store;
    struct textbuf   out, path; /* path: of the key being written */
    const char      *newline;
    struct reason   *why;
};

static void put_quoted(struct export *e, const char *text, size_t length)
{
    textbuf_puts(&e->out, "\"");
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\\' || text[i] == '"')
            textbuf_puts(&e->out, "\\");
        textbuf_put(&e->out, text + i, 1);
    }
    textbuf_puts(&e->out, "\"");
}

/* A REG_SZ that fits in quotes: whole units, and a single NUL, at its end. */
static bool reg_export_is_plain(const struct regvalue *value)
{
    if (value->type != REG_TYPE_SZ || value->size < 2 || value->size % 2)
        return false;
    for (uint32_t i = 0; i + 2 < value->size; i += 2)
        if (!value->data[i] && !value->data[i + 1])
            return false;
    return !value->data[value->size - 2] && !value->data[value->size - 1];
}

static wstatus reg_export_write_value(void *ctx, const struct regvalue *value)
{
    struct export *e     = ctx;
    size_t         start = e->out.size;

    if (*value->name)
        put_quoted(e, value->name, strlen(value->name));
    else
        textbuf_puts(&e->out, "@");
    textbuf_puts(&e->out, "=");
    if (reg_export_is_plain(value)) {
        size_t length = utf16le_to_utf8(value->data, value->size - 2, NULL, 0);
        char  *text   = malloc(length + 1);
        if (!text)
            return reason_set(e->why, W_NOT_ENOUGH_MEMORY, "no memory for a string");
        utf16le_to_utf8(value->data, value->size - 2, text, length + 1);
        put_quoted(e, text, length);
        free(text);
    } else {
        /* columns are characters of the file */
        size_t column = e->out.bad ? 0 : utf8_to_utf16le(e->out.data + start, e->out.size - start, NULL, 0) / 2;
        literal_print(&e->out, value, column ? column : 1, e->newline);
    }
    textbuf_puts(&e->out, e->newline);
    return W_SUCCESS;
}

static wstatus write_key(struct export *e);

static wstatus reg_export_write_child(void *ctx, const struct regkey_info *info)
{
    struct export *e    = ctx;
    size_t         size = e->path.size;

    textbuf_puts(&e->path, "\\");
    textbuf_puts(&e->path, info->name);
    wstatus st = write_key(e);
    if (!e->path.bad) {
        e->path.size       = size;
        e->path.data[size] = 0;
    }
    return st;
}

static wstatus write_key(struct export *e)
{
    if (e->path.bad)
        return reason_set(e->why, W_NOT_ENOUGH_MEMORY, "no memory for a path");
    if (strpbrk(e->path.data, "\r\n"))
        return reason_set(e->why, W_NOT_SUPPORTED, "a key name with a line break can't be written as .reg: %.80s",
                          e->path.data);
    textbuf_puts(&e->out, "[");
    textbuf_puts(&e->out, e->path.data);
    textbuf_puts(&e->out, "]");
    textbuf_puts(&e->out, e->newline);
    wstatus st = regstore_enum_values(e->store, e->path.data, reg_export_write_value, e);
    textbuf_puts(&e->out, e->newline);
    if (st == W_SUCCESS)
        st = regstore_enum_keys(e->store, e->path.data, reg_export_write_child, e);
    return st;
}

/* The path of `key` with each name as it was created; CurrentControlSet stays where the caller wrote it. */
static wstatus reg_export_spell_path(struct export *e, const char *key)
{
    struct regpath path;
    wstatus        st   = regpath_split(key, &path, e->why);
    const char    *name = path.names;

    for (unsigned i = 0; st == W_SUCCESS && i < path.count; i++, name = regpath_next(name)) {
        struct regkey_info info;
        size_t             size = e->path.size;
        if (i)
            textbuf_puts(&e->path, "\\");
        textbuf_puts(&e->path, name);
        if (e->path.bad) {
            st = reason_set(e->why, W_NOT_ENOUGH_MEMORY, "no memory for a path");
        } else if ((st = regstore_key_info(e->store, e->path.data, &info)) != W_SUCCESS) {
            reason_set(e->why, st, "%s: %s", key, st == W_FILE_NOT_FOUND ? "the key does not exist" : wstatus_text(st));
        } else if (i) {
            e->path.size = size;
            textbuf_puts(&e->path, "\\");
            textbuf_puts(&e->path, i == 2 && path.alias ? "CurrentControlSet" : info.name);
        }
    }
    regpath_finish(&path);
    return st;
}

wstatus reg_export(struct regstore *store, const char *key, bool utf16, void **out, size_t *size, struct reason *why)
{
    struct export e = {.store = store, .newline = utf16 ? "\r\n" : "\n", .why = why};
    wstatus st      = reg_export_spell_path(&e, key);

    *out = NULL;
    textbuf_puts(&e.out, "Windows Registry Editor Version 5.00");
    textbuf_puts(&e.out, e.newline);
    textbuf_puts(&e.out, e.newline);
    if (st == W_SUCCESS)
        st = write_key(&e);
    if (st == W_SUCCESS && e.out.bad)
        st = reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the text");
    if (st == W_SUCCESS && !utf16) {
        *out       = e.out.data;
        *size      = e.out.size;
        e.out.data = NULL;
    } else if (st == W_SUCCESS) {
        *size         = utf8_to_utf16le(e.out.data, e.out.size, NULL, 0) + 2;
        uint8_t *wide = malloc(*size);
        if (wide) {
            memcpy(wide, "\xFF\xFE", 2);
            utf8_to_utf16le(e.out.data, e.out.size, wide + 2, *size - 2);
        } else {
            st = reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the text");
        }
        *out = wide;
    }
    textbuf_finish(&e.out);
    textbuf_finish(&e.path);
    return st;
}
