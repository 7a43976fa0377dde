/* reg_import.c - reads .reg text into a store; see dialect.h.
 * The text is UTF-8 here, whatever the file was. Strings may hold line breaks, so the reader walks the text, not a list
 * of lines; after a mistake it goes on with the next line, so that one run finds them all. */
#include "registry-sim/text/dialect.h"
#include "registry-sim/text/encoding.h"
#include "registry-sim/text/foreign.h"
#include "registry-sim/text/ini_place.h"
#include "registry-sim/text/literal.h"
#include "registry-sim/text/textbuf.h"
#include "registry-sim/win32/utf16.h"

#include <stdlib.h>
#include <string.h>

struct reader {
    struct regstore  *store;
    const char       *p, *end; /* what is left */
    uint32_t          line;    /* of p */
    const char       *file;
    bool              lenient, ansi, warned, warned_hive;
    char             *key;     /* current key, malloc; NULL: none yet */
    bool              key_bad; /* its line was refused: the values below are read, but not stored */
    struct textbuf    name, data;
    struct diag_sink *sink;
    wstatus           fatal; /* not a mistake of the file: out of memory, disk full */
    struct reason    *why;
};

#define HEADER_ADVICE "make \"Windows Registry Editor Version 5.00\" the first line"
#define QUOTE_ADVICE "use \" in its place, or autologger import --lenient"

static void reg_import_mistake(struct reader *r, uint32_t line, const char *advice, const char *what)
{
    diag_report(r->sink, DIAG_ERROR, r->file, line, advice, "%s", what);
}

/* A change of the store failed: bad names are the file's mistake, the rest ends the import. */
static void store_result(struct reader *r, uint32_t line, wstatus st, const struct reason *why)
{
    if (st == W_INVALID_PARAMETER)
        reg_import_mistake(r, line, "use a full path such as [HKEY_LOCAL_MACHINE\\SYSTEM\\...], and shorter names",
                           why->text);
    else if (st != W_SUCCESS)
        r->fatal = reason_set(r->why, st, "%s", why->text);
}

/* ---- walking ---- */

static const char *reg_import_line_end(const struct reader *r, const char *p)
{
    const char *nl = memchr(p, '\n', (size_t)(r->end - p));
    return nl ? nl : r->end;
}

static void go_to(struct reader *r, const char *to)
{
    for (; r->p < to; r->p++)
        if (*r->p == '\n')
            r->line++;
}

static void next_line(struct reader *r)
{
    const char *end = reg_import_line_end(r, r->p);
    go_to(r, end < r->end ? end + 1 : end);
}

static bool reg_import_is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && reg_import_is_blank(*p))
        p++;
    return p;
}

/* Nothing but blanks and a comment up to the end of the line? */
static bool rest_is_blank(const struct reader *r, const char *p)
{
    const char *end = reg_import_line_end(r, p);
    p               = skip_blanks(p, end);
    return p == end || *p == ';';
}

/* ---- strings ---- */

/* The length of the typographic quote at p: U+201C, U+201D or U+2033; 0 = none. */
static size_t typographic(const char *p, size_t left)
{
    bool is = left >= 3 && p[0] == '\xE2' && p[1] == '\x80' && (p[2] == '\x9C' || p[2] == '\x9D' || p[2] == '\xB3');
    return is ? 3 : 0;
}

static size_t opening_quote(struct reader *r)
{
    if (r->p == r->end)
        return 0;
    if (*r->p == '"')
        return 1;
    size_t n = typographic(r->p, (size_t)(r->end - r->p));
    if (n && r->lenient && !r->warned) {
        r->warned = true;
        diag_report(r->sink, DIAG_WARNING, r->file, r->line, "replace them by \" in the file",
                    "typographic quotes are taken as \"");
    }
    return r->lenient ? n : 0;
}

enum { STRING_OPEN = -1, STRING_ESCAPE = -2, STRING_NUL = -3 };

/* Reads the string that opens at r->p into `out`. Returns its length in the text, quotes included, or STRING_*. */
static ptrdiff_t scan_string(struct reader *r, struct textbuf *out)
{
    size_t      open = opening_quote(r);
    const char *p    = r->p + open;

    textbuf_clear(out);
    textbuf_put(out, "", 0);
    while (p < r->end) {
        size_t close = *p == '"' ? 1 : open > 1 ? typographic(p, (size_t)(r->end - p)) : 0;
        if (close)
            return p + close - r->p;
        if (*p == 0)
            return STRING_NUL;
        if (*p == '\\') {
            if (p + 1 == r->end || (p[1] != '\\' && p[1] != '"'))
                return STRING_ESCAPE;
            p++;
        }
        textbuf_put(out, p++, 1);
    }
    return STRING_OPEN;
}

/* As scan_string, and moves past the string; false after a mistake was reported. `must` is what has to follow: '=', or
 * 0 for the end of the line. A string over several lines that anything else follows was never closed. */
static bool read_string(struct reader *r, struct textbuf *out, char must)
{
    ptrdiff_t n = scan_string(r, out);
    if (n >= 0) {
        const char *after = r->p + n, *eol = reg_import_line_end(r, after);
        bool        lines = memchr(r->p, '\n', (size_t)n) != NULL;
        bool        fits  = must ? (after = skip_blanks(after, eol)) < eol && *after == must : rest_is_blank(r, after);
        if (fits) {
            go_to(r, after);
            return true;
        }
        if (!lines) {
            if (must)
                reg_import_mistake(r, r->line, "write \"name\"=data", "the name is not followed by '='");
            else
                reg_import_mistake(r, r->line, "write \\\" for a quote inside a string, and ; before a comment",
                                   "there is text after the string");
            return false;
        }
        n = STRING_OPEN;
    }
    if (n == STRING_ESCAPE)
        reg_import_mistake(r, r->line, "write \\\\ for a backslash and \\\" for a quote",
                           "a single backslash in a string");
    else if (n == STRING_NUL)
        reg_import_mistake(r, r->line, "write the value as hex(1):", "a NUL character in a string");
    else
        reg_import_mistake(r, r->line, "put a \" at its end", "the string is not closed");
    return false;
}

/* ---- keys ---- */

/* A .reg file may hold any key: warns only of one below WMI that looks like a misspelt key of this project. */
static void warn_slip(struct reader *r, uint32_t line)
{
    static const char wmi[] = "\\Control\\WMI\\";
    struct ini_place  place;
    const char       *below = strcasestr(r->key, wmi);
    char              near[256];

    if (below && ini_place_resolve(r->key, &place, NULL) == W_SUCCESS && !place.known &&
        ini_place_suggest(below + strlen(wmi), near, sizeof near)) {
        for (char *p = near; *p; p++)
            *p = *p == '/' ? '\\' : *p;
        diag_report(r->sink, DIAG_WARNING, r->file, line, "correct the name of the key",
                    "nothing reads the key %.100s, did you mean %s?", below + strlen(wmi), near);
    }
    if (below)
        ini_place_finish(&place);
}

/* Warns, once a file, of keys that nothing reads here: the hive of another system, loaded under a name of its own, or
 * another control set. */
static void warn_hive(struct reader *r, uint32_t line)
{
    static const char control[] = "\\Control\\WMI\\";
    struct ini_place  place;
    const char       *below = strcasestr(r->key, control), *set = below, *hive, *relative;

    if (!below || r->warned_hive)
        return;
    while (set > r->key && set[-1] != '\\')
        set--;
    if (set == r->key || (strncasecmp(set, "ControlSet", 10) != 0 && strncasecmp(set, "CurrentControlSet", 17) != 0))
        return;
    for (hive = set - 1; hive > r->key && hive[-1] != '\\'; hive--)
        ;
    if (hive == r->key || ini_place_resolve(r->key, &place, NULL) != W_SUCCESS)
        return;
    if (!ini_place_below_wmi(place.key, &relative)) {
        r->warned_hive = true;
        diag_report(
            r->sink, DIAG_WARNING, r->file, line,
            "replace that part by SYSTEM\\CurrentControlSet in the file, if its sessions are meant for this system",
            "nothing reads keys of %.*s: it is another system's hive, or a control set that is not in use",
            (int)(below - hive), hive);
    }
    ini_place_finish(&place);
}

static void open_key(struct reader *r, uint32_t line, bool erase)
{
    struct reason why = {0};
    wstatus       st  = erase ? regstore_delete_key(r->store, r->key, &why)
                              : regstore_create_key(r->store, r->key, r->file, line, &why);
    if (erase && st == W_FILE_NOT_FOUND)
        st = W_SUCCESS;
    if (erase && st == W_ACCESS_DENIED)
        reg_import_mistake(r, line, "name the keys to delete", why.text);
    else
        store_result(r, line, st, &why);
    r->key_bad = st != W_SUCCESS || erase;
    if (!r->key_bad) {
        warn_slip(r, line);
        warn_hive(r, line);
    }
}

/* [key] or [-key]; the name goes up to the last ']' that only a comment follows. */
static void read_key(struct reader *r, const char *p)
{
    const char *eol = reg_import_line_end(r, p), *close = eol;
    bool        erase = eol - p > 1 && p[1] == '-';

    free(r->key);
    r->key     = NULL;
    r->key_bad = true;
    while (close > p && !(*close == ']' && close < eol && rest_is_blank(r, close + 1)))
        close--;
    if (close == p)
        reg_import_mistake(r, r->line, "write the key's whole path in [ ] on one line", "the key is not closed by ']'");
    else if (memchr(p, 0, (size_t)(close - p)))
        reg_import_mistake(r, r->line, "remove it", "a NUL character in a key");
    else if (!(r->key = strndup(p + 1 + erase, (size_t)(close - p - 1 - erase))))
        r->fatal = reason_set(r->why, W_NOT_ENOUGH_MEMORY, "no memory for a key");
    else
        open_key(r, r->line, erase);
}

/* ---- values ---- */

/* Joins the data at r->p with its continuation lines into r->data, comments cut off, and moves past it. */
static bool join_data(struct reader *r)
{
    textbuf_clear(&r->data);
    textbuf_put(&r->data, "", 0);
    for (;;) {
        const char *eol = reg_import_line_end(r, r->p), *cut = memchr(r->p, ';', (size_t)(eol - r->p)),
                   *end = cut ? cut : eol;
        while (end > r->p && reg_import_is_blank(end[-1]))
            end--;
        bool more = end > r->p && end[-1] == '\\';
        textbuf_put(&r->data, r->p, (size_t)(end - r->p) - more);
        if (!more) {
            go_to(r, eol);
            return true;
        }
        uint32_t line = r->line;
        next_line(r);
        const char *p = skip_blanks(r->p, r->end);
        if (p == r->end || *p == '\n' || *p == '[' || *p == '"' || *p == '@') {
            reg_import_mistake(r, line, "remove the '\\', or add the rest of the data below",
                               "the line ends in '\\', but no data follows");
            return false;
        }
    }
}

/* The bytes of a string as Windows keeps them: UTF-16LE with its NUL. */
static bool string_data(struct reader *r, struct literal *out)
{
    size_t length = r->data.size + 1;
    *out = (struct literal){.type = REG_TYPE_SZ, .size = (uint32_t)utf8_to_utf16le(r->data.data, length, NULL, 0)};
    if ((out->data = malloc(out->size)))
        utf8_to_utf16le(r->data.data, length, out->data, out->size);
    else
        r->fatal = reason_set(r->why, W_NOT_ENOUGH_MEMORY, "no memory for a string");
    return out->data != NULL;
}

/* REGEDIT4 stores string types with 8 bits a character. */
static bool widen(struct reader *r, struct literal *lit)
{
    if (!r->ansi || (lit->type != REG_TYPE_SZ && lit->type != REG_TYPE_EXPAND_SZ && lit->type != REG_TYPE_MULTI_SZ))
        return true;
    uint8_t *wide = malloc(lit->size * 2u + 1);
    if (!wide) {
        r->fatal = reason_set(r->why, W_NOT_ENOUGH_MEMORY, "no memory for a value");
        return false;
    }
    encoding_ansi_to_utf16le(lit->data, lit->size, wide);
    free(lit->data);
    lit->data = wide;
    lit->size *= 2;
    return true;
}

/* The data of a value at r->p. False after a mistake. */
static bool read_data(struct reader *r, struct literal *out)
{
    uint32_t line = r->line;
    if (opening_quote(r))
        return read_string(r, &r->data, 0) && !r->data.bad && string_data(r, out);
    if (!join_data(r) || r->data.bad)
        return false;
    wstatus st = literal_parse(r->data.data, r->data.size, out);
    if (st == W_NOT_ENOUGH_MEMORY)
        r->fatal = reason_set(r->why, st, "no memory for a value");
    else if (st != W_SUCCESS && typographic(r->data.data, r->data.size))
        reg_import_mistake(r, line, r->lenient ? "use \" in its place" : QUOTE_ADVICE, "a typographic quote");
    else if (st != W_SUCCESS)
        reg_import_mistake(r, line, out->advice, out->what);
    return st == W_SUCCESS && widen(r, out);
}

static void set_value(struct reader *r, uint32_t line, const struct literal *lit)
{
    struct reason   why   = {0};
    struct regvalue value = {.name        = r->name.data,
                             .type        = lit->type,
                             .data        = lit->data,
                             .size        = lit->size,
                             .source_file = r->file,
                             .source_line = line};
    store_result(r, line, regstore_set(r->store, r->key, &value, &why), &why);
}

static void delete_value(struct reader *r, uint32_t line)
{
    struct reason why = {0};
    wstatus       st  = regstore_delete_value(r->store, r->key, r->name.data, &why);
    store_result(r, line, st == W_FILE_NOT_FOUND ? W_SUCCESS : st, &why);
}

static void reg_import_read_value(struct reader *r)
{
    uint32_t       line = r->line;
    struct literal lit  = {0};

    if (*r->p == '@') {
        const char *eol = reg_import_line_end(r, r->p), *p = skip_blanks(r->p + 1, eol);
        if (p == eol || *p != '=') {
            reg_import_mistake(r, line, "write @=data", "'@' is not followed by '='");
            return;
        }
        textbuf_clear(&r->name);
        textbuf_put(&r->name, "", 0);
        go_to(r, p);
    } else if (!read_string(r, &r->name, '=')) {
        return;
    }
    if (!r->key && !r->key_bad) {
        reg_import_mistake(r, line, "put a line with its [key] above", "a value before the first key");
        r->key_bad = true;
    }
    const char *eol = reg_import_line_end(r, r->p);
    go_to(r, skip_blanks(r->p + 1, eol));
    bool erase = r->p < eol && *r->p == '-' && rest_is_blank(r, r->p + 1);
    bool read  = erase || read_data(r, &lit);
    if (read && !r->key_bad && !r->name.bad) {
        if (erase)
            delete_value(r, line);
        else
            set_value(r, line, &lit);
    }
    free(lit.data);
}

/* ---- the file ---- */

static void reg_import_read_header(struct reader *r)
{
    static const char *const headers[] = {"Windows Registry Editor Version 5.00", "REGEDIT4"};
    while (r->p < r->end && rest_is_blank(r, r->p))
        next_line(r);
    const char *p = skip_blanks(r->p, r->end), *eol = reg_import_line_end(r, p);
    while (eol > p && reg_import_is_blank(eol[-1]))
        eol--;
    for (size_t i = 0; i < 2; i++)
        if ((size_t)(eol - p) == strlen(headers[i]) && memcmp(p, headers[i], strlen(headers[i])) == 0) {
            r->ansi = i == 1;
            next_line(r);
            return;
        }
    diag_report(r->sink, r->lenient ? DIAG_WARNING : DIAG_ERROR, r->file, r->line,
                r->lenient ? HEADER_ADVICE : HEADER_ADVICE ", or use autologger import --lenient",
                "the file does not start with the header line of a .reg file");
}

static void read_line(struct reader *r)
{
    const char *p = skip_blanks(r->p, r->end);

    r->p = p; /* blanks have no line break */
    if (p == r->end || *p == '\n' || *p == ';') {
        next_line(r);
        return;
    }
    if (*p == '[')
        read_key(r, p);
    else if (*p == '@' || opening_quote(r))
        reg_import_read_value(r);
    else if (typographic(p, (size_t)(r->end - p)))
        reg_import_mistake(r, r->line, r->lenient ? "use \" in its place" : QUOTE_ADVICE, "a typographic quote");
    else
        reg_import_mistake(r, r->line, "write [key], \"name\"=data, @=data, or ; before a comment",
                           "this is no key, no value and no comment");
    if (r->name.bad || r->data.bad)
        r->fatal = reason_set(r->why, W_NOT_ENOUGH_MEMORY, "no memory for the text");
    next_line(r);
}

wstatus reg_import(struct regstore *store, const void *data, size_t size, const char *file, unsigned flags,
                   struct diag_sink *sink, struct reason *why)
{
    struct diag_sink own    = {0};
    struct reader    r      = {.store   = store,
                               .line    = 1,
                               .file    = file,
                               .lenient = flags & REG_IMPORT_LENIENT,
                               .sink    = sink ? sink : &own,
                               .why     = why};
    unsigned         before = r.sink->errors;
    char            *text   = NULL;
    size_t           length = 0;
    enum encoding    was;
    wstatus          st = size > 256u << 20 ? reason_set(why, W_INVALID_PARAMETER, "%s has more than 256 MB", file)
                                            : encoding_to_utf8(size ? data : "", size, &text, &length, &was, why);
    if (st == W_NOT_SUPPORTED) {
        diag_report(r.sink, DIAG_ERROR, file, 0, "save it as UTF-8 or UTF-16LE", "the file is big-endian UTF-16");
        return reason_set(why, W_INVALID_DATA, "%s: nothing was imported", file);
    }
    if (st == W_SUCCESS)
        st = foreign_refuse(data, size, file, r.sink, why);
    if (st == W_SUCCESS)
        st = regstore_begin(store, why);
    if (st != W_SUCCESS)
        goto out;
    r.p   = text;
    r.end = text + length;
    reg_import_read_header(&r);
    while (r.p < r.end && r.fatal == W_SUCCESS)
        read_line(&r);
    st = r.fatal;
    if (st == W_SUCCESS && r.sink->errors != before)
        st = reason_set(why, W_INVALID_DATA, "%s: %u mistake%s, nothing was imported", file, r.sink->errors - before,
                        r.sink->errors - before == 1 ? "" : "s");
    if (st == W_SUCCESS)
        st = regstore_commit(store, why);
    if (st != W_SUCCESS)
        regstore_rollback(store);
out:
    free(r.key);
    textbuf_finish(&r.name);
    textbuf_finish(&r.data);
    free(text);
    return st;
}
