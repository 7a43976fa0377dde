#include "autologger/wpp/wpp_private.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WPP_POOL_MAX = 256 * 1024 * 1024 };

void wpp_wrong(const struct wpp_place *at, bool error, const char *advice, const char *format, ...)
{
    char                    what[400];
    struct manifest_problem problem = {
        .error = error, .file = at->file, .line = at->line, .what = what, .advice = advice};
    va_list args;

    *(error ? &at->problems->errors : &at->problems->warnings) += 1;
    if (!at->problems->tell || at->problems->errors + at->problems->warnings > MANIFEST_TOLD_MAX)
        return;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    at->problems->tell(at->problems->ctx, &problem);
}

/* ---- types ---- */

char wpp_item_kind(const char *item)
{
    static const struct {
        const char *item;
        char        kind;
    } kinds[]      = {{"ItemChar", 'c'},      {"ItemUChar", 'C'},     {"ItemShort", 'h'},     {"ItemUShort", 'H'},
                      {"ItemWChar", 'H'},     {"ItemLong", 'd'},      {"ItemULong", 'u'},     {"ItemULongX", 'u'},
                      {"ItemInt", 'd'},       {"ItemLongLong", 'q'},  {"ItemULongLong", 'Q'}, {"ItemLongLongX", 'Q'},
                      {"ItemDouble", 'g'},    {"ItemPtr", 'p'},       {"ItemString", 's'},    {"ItemRString", 's'},
                      {"ItemMLString", 's'},  {"ItemWString", 'S'},   {"ItemRWString", 'S'},  {"ItemPString", 'z'},
                      {"ItemPWString", 'Z'},  {"ItemGuid", 'G'},      {"ItemIid", 'G'},       {"ItemClsid", 'G'},
                      {"ItemLibid", 'G'},     {"ItemSid", 'i'},       {"ItemHEXDump", 'x'},   {"ItemNTSTATUS", 'u'},
                      {"ItemWINERROR", 'u'},  {"ItemHRESULT", 'd'},   {"ItemIPAddr", 'u'},    {"ItemPort", 'H'},
                      {"ItemTimestamp", 'q'}, {"ItemTimeDelta", 'q'}, {"ItemWaitTime", 'q'},  {"ItemListByte", 'C'},
                      {"ItemListShort", 'H'}, {"ItemListLong", 'u'},  {"ItemSetByte", 'C'},   {"ItemSetShort", 'H'},
                      {"ItemSetLong", 'u'},   {"ItemEnum", 'd'},      {"ItemLongLongO", 'Q'}};
    const size_t n = strcspn(item, "( ),;\t");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i].item) == n && strncmp(kinds[i].item, item, n) == 0)
            return kinds[i].kind;
    return 0;
}

const struct wpp_type *wpp_type_find(const struct wpp_config *c, const char *name, size_t size)
{
    for (unsigned i = c->types.count; i-- > 0;) /* a later one replaces an earlier one */
        if (strlen(c->types.at[i].name) == size && strncmp(c->types.at[i].name, name, size) == 0)
            return &c->types.at[i];
    return NULL;
}

const struct wpp_function *wpp_function_find(const struct wpp_config *c, const char *name, size_t size)
{
    for (unsigned i = c->functions.count; i-- > 0;)
        if (strlen(c->functions.at[i].name) == size && strncmp(c->functions.at[i].name, name, size) == 0)
            return &c->functions.at[i];
    return NULL;
}

/* ---- statements ---- */

static const char *wpp_skip(const char *p) { return p + strspn(p, " \t\r\n"); }

static size_t wpp_word(const char *p)
{
    size_t n = 0;
    while (isalnum((unsigned char)p[n]) || p[n] == '_')
        n++;
    return n;
}

/* The text between brackets: `open` is the bracket; NULL: it has no end. Quotes hide brackets. */
static const char *wpp_closing(const char *open)
{
    const char close = *open == '(' ? ')' : '}';
    int        depth = 0;
    for (const char *p = open; *p; p++) {
        if (*p == '"') {
            for (p++; *p && *p != '"'; p++)
                p += *p == '\\' && p[1];
            if (!*p)
                return NULL;
        }
        depth += (*p == *open) - (*p == close);
        if (depth == 0)
            return p;
    }
    return NULL;
}

static const char *wpp_trimmed(struct wpp_config *c, const char *from, const char *to)
{
    while (from < to && isspace((unsigned char)*from))
        from++;
    while (to > from && isspace((unsigned char)to[-1]))
        to--;
    return pool_text(c->pool, from, (size_t)(to - from));
}

/* {LEVEL=X, FLAGS=Y} */
static bool wpp_conditions(struct wpp_config *c, const char *from, const char *to, struct wpp_function *f)
{
    while ((from = wpp_skip(from)) < to) {
        const size_t n     = wpp_word(from);
        const char  *equal = wpp_skip(from + n), *comma = memchr(from, ',', (size_t)(to - from));
        comma = comma ? comma : to;
        if (!n || *equal != '=' || equal > comma || f->fixed_count == WPP_FIXED_MAX)
            return false;
        f->fixed[f->fixed_count].name    = pool_text(c->pool, from, n);
        f->fixed[f->fixed_count++].value = wpp_trimmed(c, equal + 1, comma);
        from                             = comma + 1;
    }
    return true;
}

/* (LEVEL, FLAGS, MSG, ...) */
static bool wpp_parameters(struct wpp_config *c, const char *from, const char *to, struct wpp_function *f)
{
    int place = 0;
    for (; (from = wpp_skip(from)) < to; place++) {
        const size_t n = wpp_word(from);
        if (strncmp(from, "...", 3) == 0) {
            f->variable = true;
            from += 3;
        } else if (n == 3 && strncmp(from, "MSG", 3) == 0) {
            f->message = place;
            from += n;
        } else if (n && f->fixed_count < WPP_FIXED_MAX && f->message < 0) {
            f->fixed[f->fixed_count++].name = pool_text(c->pool, from, n);
            from += n;
        } else {
            return false;
        }
        from = wpp_skip(from);
        if (from < to && *from++ != ',')
            return false;
    }
    return true;
}

/* NAME{...}(...) */
static void wpp_function_read(struct wpp_config *c, const struct wpp_place *at, const char *p)
{
    const size_t        n    = wpp_word(p = wpp_skip(p));
    struct wpp_function f    = {.message = -1, .file = at->file, .line = at->line};
    const char         *open = wpp_skip(p + n), *close = *open == '{' ? wpp_closing(open) : NULL;
    bool                fine = n > 0;

    if (*open == '{') {
        fine = fine && close && wpp_conditions(c, open + 1, close, &f);
        open = close ? wpp_skip(close + 1) : "";
    }
    close = *open == '(' ? wpp_closing(open) : NULL;
    if (fine && close && *wpp_skip(open + 1) == '(') {
        wpp_wrong(at, true, "write FUNC NAME(MSG, ...); and take the second parentheses out of the calls",
                  "the form with two parentheses is not known: %.100s", p);
        return;
    }
    if (!fine || !close || !wpp_parameters(c, open + 1, close, &f)) {
        wpp_wrong(at, true, "write FUNC NAME{COND=VALUE}(COND, MSG, ...);",
                  "a function for messages is not readable: %.100s", p);
        return;
    }
    f.name                    = pool_text(c->pool, p, n);
    struct wpp_function *kept = pool_push(c->pool, &c->functions);
    if (kept)
        *kept = f;
}

/* (NAME, "text", values): of USEPREFIX and USESUFFIX */
static void wpp_affix_read(struct wpp_config *c, const struct wpp_place *at, const char *p, bool suffix)
{
    const char                *open = wpp_skip(p), *close = *open == '(' ? wpp_closing(open) : NULL;
    const char                *name = close ? wpp_skip(open + 1) : "", *text = wpp_skip(name + wpp_word(name));
    const struct wpp_function *f = wpp_function_find(c, name, wpp_word(name));

    if (!close || *text != ',' || *(text = wpp_skip(text + 1)) != '"' || !f) {
        wpp_wrong(at, true, "write USEPREFIX(NAME, \"text\"); behind FUNC NAME", "%s is not readable: %.100s",
                  suffix ? "USESUFFIX" : "USEPREFIX", p);
        return;
    }
    const char *end = text + 1;
    while (end < close && *end != '"')
        end += *end == '\\' && end + 1 < close ? 2 : 1;
    struct text          content = {0};
    const char          *rest    = text;
    struct wpp_function *own     = &c->functions.at[f - c->functions.at];
    if (end >= close || !wpp_literal(text, end + 1, &content, &rest)) {
        wpp_wrong(at, true, "end the text with a quote", "a text has no end: %.100s", p);
    } else {
        *(suffix ? &own->suffix : &own->prefix) = pool_text(c->pool, text_get(&content), content.length);
        if (suffix)
            own->suffix_values = wpp_trimmed(c, end + 1 < close ? end + 2 : close, close);
    }
    text_finish(&content);
}

/* (name, ItemListLong(a, b)) */
static void wpp_custom_read(struct wpp_config *c, const struct wpp_place *at, const char *p)
{
    const char *open = wpp_skip(p), *close = *open == '(' ? wpp_closing(open) : NULL;
    const char *name = close ? wpp_skip(open + 1) : "", *item = wpp_skip(name + wpp_word(name));
    const char  kind = close && *item == ',' ? wpp_item_kind(item = wpp_skip(item + 1)) : 0;

    if (!wpp_word(name) || !kind) {
        wpp_wrong(at, true, "write CUSTOM_TYPE(NAME, ItemListLong(A, B));", "a type is not readable: %.100s", p);
        return;
    }
    struct wpp_type *t = pool_push(c->pool, &c->types);
    if (t)
        *t = (struct wpp_type){pool_text(c->pool, name, wpp_word(name)), wpp_trimmed(c, item, close), kind, "s"};
}

static void wpp_statement(struct wpp_config *c, const struct wpp_place *at, const char *text)
{
    const char *p = wpp_skip(text), *q;
    size_t      n = wpp_word(p);
    if (!*p)
        return;
    if (n == 4 && strncmp(p, "FUNC", n) == 0) {
        wpp_function_read(c, at, p + n);
    } else if (n == 9 && strncmp(p, "USEPREFIX", n) == 0) {
        wpp_affix_read(c, at, p + n, false);
    } else if (n == 9 && strncmp(p, "USESUFFIX", n) == 0) {
        wpp_affix_read(c, at, p + n, true);
    } else if (n == 11 && strncmp(p, "CUSTOM_TYPE", n) == 0) {
        wpp_custom_read(c, at, p + n);
    } else {
        q = p + strcspn(p, "(\n ");
        wpp_wrong(at, false, "define the messages with FUNC, USEPREFIX, USESUFFIX and CUSTOM_TYPE",
                  "%.*s of a WPP configuration is not known here, and left out", (int)(q - p < 60 ? q - p : 60), p);
    }
}

/* ---- blocks in comments ---- */

struct wpp_block {
    struct wpp_config *c;
    struct wpp_place   at;
    struct text        text;                /* of the statement, which may be long: a list of names */
    bool               quoted, open, lines; /* lines: in comments of the form "//" */
};

static void wpp_block_end(struct wpp_block *b)
{
    wpp_statement(b->c, &b->at, text_get(&b->text));
    text_cut(&b->text, 0);
    b->quoted = false;
}

/* A line without the signs of its comment; statements end with ';'. */
static void wpp_block_line(struct wpp_block *b, const char *p, const char *end, uint32_t line)
{
    while (p < end && strchr(" \t/*", *p))
        p++;
    for (const char *from = p; p < end; p++) {
        if (!b->text.length && !isspace((unsigned char)*p))
            b->at.line = line;
        if (*p == '"' && (p == from || p[-1] != '\\'))
            b->quoted = !b->quoted;
        if (*p == ';' && !b->quoted)
            wpp_block_end(b);
        else if (*p && (b->text.length || !isspace((unsigned char)*p)))
            text_add(&b->text, p, 1);
    }
    if (b->text.length)
        text_add(&b->text, " ", 1);
}

static bool wpp_line_has(const char *p, const char *end, const char *word)
{
    const size_t n = strlen(word);
    for (; (size_t)(end - p) >= n; p++)
        if (memcmp(p, word, n) == 0)
            return true;
    return false;
}

static bool wpp_line_begins(const char *p, const char *end, const char *word)
{
    while (p < end && isspace((unsigned char)*p))
        p++;
    return (size_t)(end - p) >= strlen(word) && memcmp(p, word, strlen(word)) == 0;
}

/* A line of a block. It ends with end_wpp, with its comment, or, which is a mistake, with a line of code. */
static void wpp_block_take(struct wpp_block *b, const char *p, const char *stop, uint32_t line)
{
    const bool  ends = wpp_line_has(p, stop, "end_wpp"), comment = !b->lines && wpp_line_has(p, stop, "*/");
    const char *from = p;
    while (from < stop && isspace((unsigned char)*from))
        from++;
    const bool code = b->lines && from < stop && !wpp_line_begins(p, stop, "//") && !wpp_line_begins(p, stop, "/*") &&
                      !wpp_line_begins(p, stop, "*");
    if (!ends && !comment && !code) {
        wpp_block_line(b, p, stop, line);
        return;
    }
    if (!ends && comment)
        wpp_block_line(b, p, stop - 2, line);
    if (b->text.length)
        wpp_block_end(b);
    b->open    = false;
    b->at.line = line;
    if (!ends)
        wpp_wrong(&b->at, false, "write // end_wpp behind the configuration", "a configuration has no end_wpp");
}

wstatus wpp_config_scan(struct wpp_config *c, const char *text, size_t size, const char *file,
                        struct manifest_problems *problems, struct reason *why)
{
    const unsigned   before = problems->errors;
    struct wpp_block b      = {.c = c, .at = {.file = pool_text(c->pool, file, strlen(file)), .problems = problems}};
    uint32_t         line   = 1;

    for (const char *p = text, *end = text + size; p < end; line++) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        stop             = stop ? stop : end;
        if (b.open) {
            wpp_block_take(&b, p, stop, line);
        } else if (wpp_line_has(p, stop, "begin_wpp config") && !wpp_line_has(p, stop, "\"begin_wpp")) {
            b.open    = true;
            b.lines   = wpp_line_begins(p, stop, "//");
            b.at.line = line;
        }
        p = stop + 1;
    }
    if (b.open && b.text.length)
        wpp_block_end(&b);
    const bool failed = b.text.failed;
    text_finish(&b.text);
    wpp_controls_scan(c, text, size);
    if (failed || pool_failed(c->pool))
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the configuration in %s", file);
    const unsigned errors = problems->errors - before;
    return errors ? reason_set(why, W_INVALID_DATA, "%s has %u mistake%s", file, errors, errors == 1 ? "" : "s")
                  : W_SUCCESS;
}

wstatus wpp_config_function(struct wpp_config *c, const char *declaration, struct manifest_problems *problems,
                            struct reason *why)
{
    const struct wpp_place at     = {"--func", 0, problems};
    const unsigned         before = problems->errors;
    wpp_function_read(c, &at, declaration);
    return problems->errors == before
               ? W_SUCCESS
               : reason_set(why, W_INVALID_PARAMETER, "--func %s is no declaration of a function", declaration);
}

struct wpp_config *wpp_config_new(void)
{
    static const struct wpp_type own[] = {
#define N(name, item, kind, format) {name, item, kind, format},
#include "autologger/wpp/wpp_names.def"
#undef N
    };
    struct manifest_problems ignored = {0};
    struct wpp_config       *c       = calloc(1, sizeof *c);

    if (!c || !(c->pool = pool_new(WPP_POOL_MAX))) {
        free(c);
        return NULL;
    }
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        struct wpp_type *t = pool_push(c->pool, &c->types);
        if (t)
            *t = own[i];
    }
    wpp_config_function(c, "DoTraceMessage(LEVEL, MSG, ...)", &ignored, NULL);
    wpp_config_function(c, "DoTraceLevelMessage(LEVEL, FLAGS, MSG, ...)", &ignored, NULL);
    return c;
}

void wpp_config_free(struct wpp_config *c)
{
    if (c) {
        pool_free(c->pool);
        text_finish(&c->controls);
    }
    free(c);
}
