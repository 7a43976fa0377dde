#include "tools/files/inf_source.h"

#include "autologger/schema/text.h"
#include "registry-sim/base/opening.h"
#include "registry-sim/text/encoding.h"
#include "registry-sim/win32/guid.h"
#include "tools/files/inf_document.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    INF_MAX         = 16 * 1024 * 1024,
    INF_LOOKED_AT   = 256 * 1024,
    INF_FIELDS      = 300,
    INF_WALKED      = 100000,
    INF_NAME        = 256,
    INF_TYPE_MASK   = (int)0xFFFF0001,
    INF_DELETE      = 0x4,
    INF_APPEND      = 0x8,
    INF_KEY_ONLY    = 0x10,
    INF_TYPE_SZ     = 0x0,
    INF_TYPE_MULTI  = 0x00010000,
    INF_TYPE_EXPAND = 0x00020000,
    INF_TYPE_BINARY = 0x1,
    INF_TYPE_DWORD  = 0x00010001,
    INF_TYPE_QWORD  = 0x000B0001
};
#define INF_AUTOLOGGER "HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Control\\WMI\\Autologger"

struct inf {
    struct inf_document doc;
    const char         *file;
    struct diag_sink   *sink;
    struct inf_text    *out;
    struct text         reg;
    size_t              reg_lines, lines_room;
    unsigned            others;
    uint32_t            first_other;
    uint32_t            walked; /* lines of sections that sessions and providers name */
    bool                failed, too_large, any;
};

/* ---- the .reg text ---- */

__attribute__((format(printf, 3, 4))) static void inf_emit(struct inf *f, uint32_t line, const char *format, ...)
{
    char    made[4 * INF_FIELD];
    va_list args;
    va_start(args, format);
    vsnprintf(made, sizeof made, format, args);
    va_end(args);
    text_printf(&f->reg, "%s\n", made);
    if (f->reg_lines == f->lines_room) {
        const size_t room = f->lines_room ? f->lines_room * 2 : 64;
        uint32_t    *more = realloc(f->out->lines, room * sizeof *more);
        if (!more) {
            f->failed = true;
            return;
        }
        f->out->lines = more;
        f->lines_room = room;
    }
    f->out->lines[f->reg_lines++] = line;
}

/* A text in the quotes of .reg. */
static const char *inf_quoted(const char *text, char out[2 * INF_FIELD + 3])
{
    size_t n = 0;
    out[n++] = '"';
    for (; *text && n < 2 * INF_FIELD; text++) {
        if (*text == '"' || *text == '\\')
            out[n++] = '\\';
        out[n++] = *text;
    }
    out[n++] = '"';
    out[n]   = 0;
    return out;
}

static void inf_wrong(struct inf *f, uint32_t line, const char *advice, const char *what, const char *about)
{
    diag_report(f->sink, DIAG_ERROR, f->file, line, advice, "%s: \"%.100s\"", what, about);
}

/* ---- AddReg ---- */

/* The keys that autologger reads; the path in .reg, NULL: another key. */
static const char *inf_key(const char *root, const char *path, char out[INF_FIELD + 64])
{
    static const char *const ours[] = {"SYSTEM\\CurrentControlSet\\Control\\WMI\\",
                                       "SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\WINEVT\\"};
    if (strcasecmp(root, "HKLM") != 0 && strcasecmp(root, "HKEY_LOCAL_MACHINE") != 0)
        return NULL;
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (strncasecmp(path, ours[i], strlen(ours[i])) == 0 && !strpbrk(path, "]\n")) {
            snprintf(out, INF_FIELD + 64, "HKEY_LOCAL_MACHINE\\%s", path);
            return out;
        }
    return NULL;
}

/* The value's text in .reg; false: a field is no number. `n`: the fields from value[0] on. */
static bool inf_value(uint32_t type, char (*value)[INF_FIELD], unsigned n, char *out, size_t size)
{
    char     quoted[2 * INF_FIELD + 3];
    uint64_t number;
    size_t   at = 0;

    switch (type) {
    case INF_TYPE_SZ: snprintf(out, size, "%s", inf_quoted(n ? value[0] : "", quoted)); return true;
    case INF_TYPE_DWORD:
        if (n == 4 && inf_number(value[3], &number)) { /* four bytes */
            uint64_t byte, all = 0;
            for (unsigned i = 0; i < 4; i++) {
                if (!inf_number(value[i], &byte) || byte > 0xFF)
                    return false;
                all |= byte << (8 * i);
            }
            number = all;
        } else if (n != 1 || !inf_number(value[0], &number) || number > UINT32_MAX) {
            return false;
        }
        snprintf(out, size, "dword:%08x", (unsigned)number);
        return true;
    case INF_TYPE_QWORD:
        if (n == 1 && inf_number(value[0], &number)) {
            at = (size_t)snprintf(out, size, "hex(b):");
            for (unsigned i = 0; i < 8; i++)
                at +=
                    (size_t)snprintf(out + at, size - at, "%s%02x", i ? "," : "", (unsigned)(number >> (8 * i) & 0xFF));
            return true;
        }
        break;
    default: break;
    }
    at = (size_t)snprintf(out, size, type == INF_TYPE_QWORD ? "hex(b):" : "hex:");
    for (unsigned i = 0; i < n && at + 4 < size; i++) {
        char *end;
        number = strtoull(value[i], &end, 16); /* bytes are hexadecimal, with 0x or without */
        if (!*value[i] || *end || number > 0xFF)
            return false;
        at += (size_t)snprintf(out + at, size - at, "%s%02x", i ? "," : "", (unsigned)number);
    }
    return true;
}

/* HKLM,KEY,NAME,FLAGS,VALUE... */
static void inf_addreg(struct inf *f, const struct inf_line *l, char (*field)[INF_FIELD], char *made, size_t size)
{
    const unsigned n = inf_fields(&f->doc, l->text, field, INF_FIELDS);
    char           key[INF_FIELD + 64], name[2 * INF_FIELD + 3];
    uint64_t       flags = 0;

    if (n > INF_FIELDS) {
        inf_wrong(f, l->number, "divide the value", "a line has too many fields", l->text);
        return;
    }
    if (n < 2 || !inf_key(field[0], field[1], key)) {
        f->first_other = f->others++ ? f->first_other : l->number;
        return;
    }
    if (n > 3 && *field[3] && (!inf_number(field[3], &flags) || flags > UINT32_MAX)) {
        inf_wrong(f, l->number, "write a number, such as 0x00010001", "the flags of a line are no number", field[3]);
        return;
    }
    const uint32_t type = (uint32_t)flags & (uint32_t)INF_TYPE_MASK;
    f->any              = true;
    inf_emit(f, l->number, "[%s]", key);
    if (flags & INF_KEY_ONLY || n < 3 || (n == 3 && !*field[2]))
        return;
    inf_quoted(field[2], name);
    if (flags & INF_DELETE)
        inf_emit(f, l->number, "%s=-", *field[2] ? name : "@");
    else if (flags & INF_APPEND || type == INF_TYPE_MULTI || type == INF_TYPE_EXPAND)
        diag_report(f->sink, DIAG_WARNING, f->file, l->number, "write the value as one text",
                    "a value of several texts, or with variables, has no counterpart: %.80s", field[2]);
    else if (!inf_value(type, field + 4, n > 4 ? n - 4 : 0, made, size))
        inf_wrong(f, l->number, "write the number that the flags announce", "a value does not fit its flags", l->text);
    else
        inf_emit(f, l->number, "%s=%s", *field[2] ? name : "@", made);
}

/* ---- AddAutoLogger ---- */

enum inf_type { INF_NUMBER, INF_WIDE, INF_TEXT };
static const struct inf_row {
    bool          provider;
    const char   *entry, *value;
    enum inf_type type;
} inf_rows[] = {
#define A(entry, value, type) {false, entry, value, INF_##type},
#define P(entry, value, type) {true, entry, value, INF_##type},
#include "tools/files/inf_values.def"
#undef A
#undef P
};

static void inf_row_emit(struct inf *f, const struct inf_line *l, const struct inf_row *row, const char *value,
                         char (*field)[INF_FIELD], char *made, size_t size)
{
    const uint32_t types[] = {[INF_NUMBER] = INF_TYPE_DWORD, [INF_WIDE] = INF_TYPE_QWORD, [INF_TEXT] = INF_TYPE_SZ};
    inf_fields(&f->doc, value, field, 1);
    if (inf_value(types[row->type], field, 1, made, size))
        inf_emit(f, l->number, "\"%s\"=%s", row->value, made);
    else
        inf_wrong(f, l->number, "write a number", "a value is no number", l->text);
}

/* The next line of a section. Sessions may name one section again and again: only so many lines are read. */
static const struct inf_line *inf_walk(struct inf *f, const char *section, size_t *at)
{
    f->too_large |= f->walked++ >= INF_WALKED;
    return f->failed || f->too_large ? NULL : inf_section_next(&f->doc, section, at);
}

/* All entries of a section; those that are no values are reported, but for `known`, which another loop reads. */
static bool inf_section_emit(struct inf *f, const char *section, bool provider, const char *known,
                             char (*field)[INF_FIELD], char *made, size_t size)
{
    bool                   found = false;
    size_t                 at    = 0;
    const struct inf_line *l;
    while ((l = inf_walk(f, section, &at))) {
        const char *value = NULL;
        found             = true;
        for (size_t r = 0; r < sizeof inf_rows / sizeof *inf_rows && !value; r++)
            if (inf_rows[r].provider == provider && (value = inf_entry(l, inf_rows[r].entry)))
                inf_row_emit(f, l, &inf_rows[r], value, field, made, size);
        if (!value && !(known && inf_entry(l, known)))
            diag_report(f->sink, DIAG_WARNING, f->file, l->number, "look for the entry's spelling",
                        "\"%.80s\" has no counterpart, and is left out", l->text);
    }
    return found;
}

static bool inf_name_fine(const char *name) { return *name && strlen(name) < INF_NAME && !strpbrk(name, "\\/]\n\""); }

/* The providers of a session's section. */
static void inf_providers(struct inf *f, const char *session, const char *section, char (*field)[INF_FIELD], char *made,
                          size_t size)
{
    size_t                 at = 0;
    const struct inf_line *l;
    while ((l = inf_walk(f, section, &at))) {
        const char *value = inf_entry(l, "AddAutoLoggerProvider");
        struct guid guid;
        char        own[INF_FIELD];
        if (!value)
            continue;
        const unsigned n = inf_fields(&f->doc, value, field, 2);
        if (n < 2 || !guid_parse_braced(field[0], &guid)) {
            inf_wrong(f, l->number, "write AddAutoLoggerProvider={GUID},SECTION", "a provider is not readable",
                      l->text);
            continue;
        }
        snprintf(own, sizeof own, "%s", field[1]);
        inf_emit(f, l->number, "[%s\\%s\\%s]", INF_AUTOLOGGER, session, field[0]);
        if (!inf_section_emit(f, own, true, NULL, field, made, size))
            inf_wrong(f, l->number, "write the section, or its name as it stands there", "there is no such section",
                      own);
    }
}

/* AddAutoLogger=NAME,{GUID},SECTION and UpdateAutoLogger=NAME,SECTION */
static void inf_session(struct inf *f, const struct inf_line *l, const char *value, bool update,
                        char (*field)[INF_FIELD], char *made, size_t size)
{
    const unsigned want = update ? 2 : 3, n = inf_fields(&f->doc, value, field, 3);
    char           name[INF_NAME], section[INF_FIELD];
    struct guid    guid;

    if (n != want || !inf_name_fine(field[0]) || (!update && !guid_parse_braced(field[1], &guid))) {
        inf_wrong(f, l->number,
                  update ? "write UpdateAutoLogger=NAME,SECTION" : "write AddAutoLogger=NAME,{GUID},SECTION",
                  "a session is not readable", l->text);
        return;
    }
    snprintf(name, sizeof name, "%s", field[0]);
    snprintf(section, sizeof section, "%s", field[want - 1]);
    f->any = true;
    inf_emit(f, l->number, "[%s\\%s]", INF_AUTOLOGGER, name);
    if (!update)
        inf_emit(f, l->number, "\"Guid\"=\"%s\"", field[1]);
    size_t at = 0;
    if (!update)
        inf_section_emit(f, section, false, "AddAutoLoggerProvider", field, made, size);
    if (!inf_section_next(&f->doc, section, &at))
        inf_wrong(f, l->number, "write the section, or its name as it stands there", "there is no such section",
                  section);
    inf_providers(f, name, section, field, made, size);
}

/* ---- the file ---- */

static bool inf_is_addreg(const char *text)
{
    static const char *const roots[] = {"HKLM", "HKEY_LOCAL_MACHINE", "HKCR", "HKCU", "HKU", "HKR"};
    const size_t             n       = strcspn(text, " ,\r\n");
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
        if (strncasecmp(text, roots[i], n) == 0 && !roots[i][n] && text[n + strspn(text + n, " ")] == ',')
            return true;
    return false;
}

static void inf_convert(struct inf *f)
{
    char(*field)[INF_FIELD] = malloc((INF_FIELDS + 1) * sizeof *field);
    const size_t size       = 8 * INF_FIELD;
    char        *made       = malloc(size);

    f->failed |= !field || !made;
    if (!f->failed)
        inf_emit(f, 0, "Windows Registry Editor Version 5.00");
    for (size_t i = 0; i < f->doc.count && !f->failed && !f->too_large; i++) {
        const struct inf_line *l     = &f->doc.line[i];
        const char            *value = NULL;
        if (inf_is_addreg(l->text) && !inf_is_deleted(&f->doc, l->section))
            inf_addreg(f, l, field, made, size);
        else if ((value = inf_entry(l, "AddAutoLogger")) || (value = inf_entry(l, "UpdateAutoLogger")))
            inf_session(f, l, value, tolower((unsigned char)*l->text) == 'u', field, made, size);
        else if (inf_entry(l, "AddEventProvider"))
            diag_report(f->sink, DIAG_WARNING, f->file, l->number, "autologger manifest install FILE.man",
                        "AddEventProvider has no counterpart here: a manifest names a provider's events");
    }
    free(field);
    free(made);
}

wstatus inf_convert_text(const char *document, size_t size, const char *file, struct inf_text *out,
                         struct diag_sink *sink, struct reason *why)
{
    struct inf     f      = {.file = file, .sink = sink, .out = out};
    const unsigned before = sink->errors;
    wstatus        st     = W_SUCCESS;

    *out = (struct inf_text){0};
    inf_document_read(&f.doc, document, document + size);
    inf_convert(&f);
    if (f.failed || f.doc.failed || f.reg.failed)
        st = reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for %s", file);
    else if (f.too_large)
        st = reason_set(
            why, W_INVALID_DATA,
            "%s: its sessions and providers name sections of more than %d lines together. Do: divide the file", file,
            (int)INF_WALKED);
    else if (sink->errors > before)
        st = reason_set(why, W_INVALID_DATA, "%s has mistakes", file);
    else if (!f.any)
        st = reason_set(
            why, W_INVALID_DATA,
            "%s declares no session: it has no AddAutoLogger, and no AddReg line below Control\\WMI. Do: look for another INF file of the package",
            file);
    if (!st && f.others)
        diag_report(sink, DIAG_WARNING, file, f.first_other, "import what you miss as .reg",
                    "%u line%s of AddReg %s not about tracing, and left out; this is the first", f.others,
                    f.others == 1 ? "" : "s", f.others == 1 ? "is" : "are");
    if (!st && !(out->text = strdup(text_get(&f.reg))))
        st = reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for %s", file);
    out->size  = f.reg.length;
    out->count = f.reg_lines;
    inf_document_finish(&f.doc);
    text_finish(&f.reg);
    if (st)
        inf_free(out);
    return st;
}

void inf_free(struct inf_text *t)
{
    free(t->text);
    free(t->lines);
    *t = (struct inf_text){0};
}

uint32_t inf_line_of(const struct inf_text *t, uint32_t line)
{
    return line && line <= t->count ? t->lines[line - 1] : 0;
}

/* At most `most` bytes of a file. W_INVALID_DATA: it is none, or larger. */
static wstatus inf_file(const char *path, size_t most, bool whole, char **out, size_t *size, struct reason *why)
{
    struct stat st;
    const int   fd     = opening_file(path, 0);
    wstatus     status = W_SUCCESS;

    *out = NULL;
    if (fd < 0)
        return reason_set(why, wstatus_from_errno(errno), "%s cannot be opened: %s", path, strerror(errno));
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (whole && (uint64_t)st.st_size > most))
        status = reason_set(why, W_INVALID_DATA, "%s is no file of at most %zu MB", path, most >> 20);
    else if (!(*out = malloc(most + 1)))
        status = reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for %s", path);
    for (*size = 0; !status && *size < most;) {
        const ssize_t n = read(fd, *out + *size, most - *size);
        if (n < 0 && errno != EINTR)
            status = reason_set(why, wstatus_from_errno(errno), "%s cannot be read: %s", path, strerror(errno));
        if (n == 0)
            break;
        *size += n > 0 ? (size_t)n : 0;
    }
    close(fd);
    return status;
}

bool inf_is(const char *path)
{
    char         *data, *text = NULL;
    size_t        size, length;
    enum encoding was;
    struct reason why;
    bool          found = false, other = false;

    if (inf_file(path, INF_LOOKED_AT, false, &data, &size, &why) == W_SUCCESS &&
        encoding_to_utf8(data, size, &text, &length, &was, &why) == W_SUCCESS)
        for (const char *p = text; p && *p && !found && !other; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
            p += strspn(p, " \t\r");
            const size_t n = strcspn(p, "\r\n");
            if (strncasecmp(p, "Signature", 9) == 0)
                found = memmem(p, n, "$Windows NT$", 12) || memmem(p, n, "$WINDOWS NT$", 12) ||
                        memmem(p, n, "$CHICAGO$", 9) || memmem(p, n, "$Chicago$", 9);
            found |= inf_is_addreg(p);
            other = strncasecmp(p, "Windows Registry Editor", 23) == 0 || strncmp(p, "REGEDIT4", 8) == 0;
        }
    free(text);
    free(data);
    return found;
}

wstatus inf_read(const char *path, struct inf_text *out, struct diag_sink *sink, struct reason *why)
{
    char         *data, *text = NULL;
    size_t        size, length;
    enum encoding was;
    wstatus       st = inf_file(path, INF_MAX, true, &data, &size, why);

    *out = (struct inf_text){0};
    if (!st)
        st = encoding_to_utf8(data, size, &text, &length, &was, why);
    if (!st)
        st = inf_convert_text(text, length, path, out, sink, why);
    free(text);
    free(data);
    return st;
}
