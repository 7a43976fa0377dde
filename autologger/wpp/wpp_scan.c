/* Finds the calls of messages in a source, and the functions that they stand in. No C parser: a brace behind a name and
 * its parentheses opens a function, every other brace does not. */
#include "autologger/wpp/wpp_private.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { WPP_IFS = 64 };
/* Both branches of a condition may open the same brace. */
struct wpp_depth {
    unsigned braces, parens, body, member;
};
struct wpp_scanner {
    struct wpp_source *s;
    struct wpp_lexer   l;
    const char        *text_end;
    unsigned           braces, parens, body; /* body: braces around the function's, + 1; 0: outside */
    char               name[WPP_NAME];       /* of what is declared; "" until its parentheses */
    bool               named, initializer;   /* named: its parentheses were seen; initializer: a "=" was */
    bool               members;              /* behind the ":" of a constructor */
    unsigned           member;               /* braces with that of "b{2}" there; 0: none is open */
    char               part[WPP_NAME];       /* the last name, with its "A::" */
    char               in[WPP_NAME];
    unsigned           outer_call; /* the first call inside the outermost parentheses */
    uint32_t           outer_line; /* the line of the name before them */
    uint32_t           named_line;
    char               before[2];            /* the last two tokens: their signs, 0 for others */
    bool               after_name, template; /* template: of its declaration, with defaults of its parameters */
    unsigned           square;               /* open "[" */
    struct wpp_depth   depth[WPP_IFS];       /* at each open #if */
    unsigned           ifs;
};

/* Words that parentheses follow, and that are no function's name. */
static bool wpp_is_keyword(const char *name)
{
    static const char *const words[] = {
        "__attribute__", "__declspec",    "alignas",        "_Alignas", "noexcept", "throw", "decltype", "typeof",
        "__typeof__",    "static_assert", "_Static_assert", "requires", "__asm__",  "asm",   "defined",  "extern"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], name) == 0)
            return true;
    return false;
}

/* ---- arguments ---- */

/* The tokens between, without comments; a blank where something stood between two. */
static void wpp_argument_add(struct wpp_scanner *x, struct wpp_call *c, const char *from, const char *to)
{
    struct wpp_lexer l    = {.at = from, .end = to, .line = 1};
    struct text      made = {0};
    const char      *last = from;
    for (struct wpp_token t = wpp_next(&l); t.kind != WPP_END; t = wpp_next(&l)) {
        if (made.length && t.text > last)
            text_add(&made, " ", 1);
        text_add(&made, t.text, t.size);
        last = t.text + t.size;
    }
    if (c->argument_count < WPP_ARGUMENTS)
        c->argument[c->argument_count] =
            (struct wpp_argument){pool_text(x->s->pool, text_get(&made), made.length), made.length};
    c->argument_count++;
    text_finish(&made);
}

/* The arguments behind the "(" that was taken. False: the end of the file. */
static bool wpp_arguments(struct wpp_scanner *x, struct wpp_call *c)
{
    const char *from  = x->l.at;
    unsigned    depth = 1;
    bool        any   = false;
    for (;;) {
        struct wpp_token t = wpp_next(&x->l);
        if (t.kind == WPP_END)
            return false;
        if (t.kind != WPP_SIGN) {
            any = true;
            continue;
        }
        depth += strchr("([{", t.sign) != NULL;
        depth -= strchr(")]}", t.sign) != NULL;
        if (depth == 0) {
            if (any || c->argument_count)
                wpp_argument_add(x, c, from, t.text);
            return true;
        }
        if (depth == 1 && t.sign == ',') {
            wpp_argument_add(x, c, from, t.text);
            from = t.text + 1;
        }
        any = true;
    }
}

/* The call has the conditions, the text and as many values as its function wants. */
static bool wpp_call_fits(struct wpp_source *s, const struct wpp_call *c)
{
    const struct wpp_function *f    = c->function;
    unsigned                   want = f->message >= 0;

    for (unsigned i = 0; i < f->fixed_count; i++)
        want += !f->fixed[i].value;
    s->place.line = c->line;
    if (c->argument_count > WPP_ARGUMENTS)
        wpp_wrong(&s->place, true, "write several messages", "%s has %u arguments, and at most %d are possible",
                  f->name, c->argument_count, WPP_ARGUMENTS);
    else if (c->argument_count < want || (!f->variable && c->argument_count > want))
        wpp_wrong(&s->place, true, "give what FUNC declares", "%s has %u argument%s, its declaration has %u%s", f->name,
                  c->argument_count, c->argument_count == 1 ? "" : "s", want, f->variable ? " or more" : "");
    else
        return true;
    return false;
}

static void wpp_call_found(struct wpp_scanner *x, const struct wpp_function *f, uint32_t line)
{
    struct wpp_call c = {.function = f, .line = line};

    if (!wpp_arguments(x, &c)) {
        x->s->place.line = line;
        wpp_wrong(&x->s->place, true, "end it with \")\"", "%s has no end", f->name);
        return;
    }
    if (!x->body && f->message >= 0 && (unsigned)f->message < c.argument_count &&
        !memchr(c.argument[f->message].text, '"', c.argument[f->message].size))
        return; /* a declaration of the function itself */
    c.in_function = pool_text(x->s->pool, x->in, strlen(x->in));
    c.outer_first = c.outer_last = line;
    if (!wpp_call_fits(x->s, &c) || !wpp_text_read(x->s, &c))
        return;
    struct wpp_call *kept = x->s->calls.count < WPP_MESSAGES_MAX ? pool_push(x->s->pool, &x->s->calls) : NULL;
    if (kept)
        *kept = c;
    else
        wpp_wrong(&x->s->place, true, "divide the source", "the file has more than %d messages", WPP_MESSAGES_MAX);
}

/* ---- the source ---- */

/* A message in a macro has the line of each use. This step does not know these lines. */
static void wpp_define(struct wpp_scanner *x, const struct wpp_token *t)
{
    struct wpp_lexer l = {.at = t->text + 1, .end = t->text + t->size, .line = t->line};
    struct wpp_token named, before = {0};

    for (before = wpp_next(&l); before.kind != WPP_END; before = named) {
        named = wpp_next(&l);
        if (before.kind != WPP_NAMED || named.kind != WPP_SIGN || named.sign != '(')
            continue;
        const struct wpp_function *f = wpp_function_find(x->s->config, before.text, before.size);
        if (!f)
            continue;
        x->s->place.line = t->line;
        wpp_wrong(&x->s->place, true, "declare the macro itself as a function: FUNC NAME(...) in a WPP configuration",
                  "%s stands in a macro", f->name);
        return;
    }
}

static void wpp_part(struct wpp_scanner *x, const struct wpp_token *t)
{
    size_t n = x->before[0] == ':' && x->before[1] == ':' ? strlen(x->part) : 0;
    if (n && n + 3 < sizeof x->part)
        n += (size_t)snprintf(x->part + n, 3, "::");
    if (x->before[1] == '~' && n + 1 < sizeof x->part)
        x->part[n++] = '~';
    for (size_t i = 0; i < t->size && n + 1 < sizeof x->part; i++)
        x->part[n++] = t->text[i];
    x->part[n] = 0;
}

static void wpp_declaration_ends(struct wpp_scanner *x)
{
    x->named = x->initializer = x->members = x->template = false;
    *x->name = *x->part = 0;
}

static void wpp_brace(struct wpp_scanner *x, bool opens)
{
    if (opens && x->members && x->after_name && !x->body) {
        x->member = ++x->braces;
        return;
    }
    if (!opens && x->member && x->member == x->braces) {
        x->member = 0;
        x->braces--;
        return;
    }
    if (opens) {
        x->braces++;
        if (!x->body && x->named && !x->initializer) {
            x->body = x->braces;
            memcpy(x->in, x->name, sizeof x->in);
        }
    } else if (x->braces) {
        if (x->body == x->braces) {
            x->body = 0;
            *x->in  = 0;
        }
        x->braces--;
    }
    if (!x->body || x->body == x->braces)
        wpp_declaration_ends(x);
}

static void wpp_sign(struct wpp_scanner *x, const struct wpp_token *t)
{
    switch (t->sign) {
    case '(':
        if (!x->parens++) {
            x->outer_call = x->s->calls.count;
            x->outer_line = x->named_line;
            if (!x->body && !x->members && !x->square && *x->part && !wpp_is_keyword(x->part)) {
                memcpy(x->name, x->part, sizeof x->name); /* the last one: annotations stand before it */
                x->named = true;
            }
        }
        break;
    case ')':
        x->parens -= x->parens > 0;
        for (unsigned i = x->outer_call; !x->parens && i < x->s->calls.count; i++) {
            x->s->calls.at[i].outer_first = x->outer_line;
            x->s->calls.at[i].outer_last  = t->line;
        }
        break;
    case '{': wpp_brace(x, true); break;
    case '}': wpp_brace(x, false); break;
    case ';':
        if (!x->body && !x->parens)
            wpp_declaration_ends(x);
        break;
    case ':': x->members |= x->named && !x->body && !x->parens; break;
    case '[': x->square++; break;
    case ']': x->square -= x->square > 0; break;
    case '=': x->initializer |= !x->body && !x->parens && !x->template && strcmp(x->part, "operator") != 0; break;
    default: break;
    }
}

/* #include "NAME.tmh" */
static bool wpp_is_header(const struct wpp_token *t)
{
    for (size_t i = 0; i + 4 < t->size; i++)
        if (memcmp(t->text + i, ".tmh", 4) == 0)
            return true;
    return false;
}

static void wpp_condition_depth(struct wpp_scanner *x, enum wpp_token_kind kind)
{
    if (kind == WPP_IF) {
        if (x->ifs < WPP_IFS)
            x->depth[x->ifs] = (struct wpp_depth){x->braces, x->parens, x->body, x->member};
        x->ifs++;
    } else if (kind == WPP_ELSE && x->ifs && x->ifs <= WPP_IFS) {
        const struct wpp_depth *d = &x->depth[x->ifs - 1];
        x->braces                 = d->braces;
        x->parens                 = d->parens;
        x->member                 = d->member;
        if (x->body != d->body)
            *x->in = 0;
        x->body = d->body;
    } else if (kind == WPP_ENDIF) {
        x->ifs -= x->ifs > 0;
    }
}

static void wpp_named(struct wpp_scanner *x, const struct wpp_token *t)
{
    const struct wpp_function *f    = wpp_function_find(x->s->config, t->text, t->size);
    struct wpp_lexer           peek = x->l;
    const struct wpp_token     next = wpp_next(&peek);
    wpp_part(x, t);
    x->template |= !x->body && strcmp(x->part, "template") == 0;
    x->named_line = t->line;
    if (!f || next.kind != WPP_SIGN || next.sign != '(')
        return;
    x->l = peek;
    wpp_call_found(x, f, t->line);
}

void wpp_scan(struct wpp_source *s, const char *text, size_t size)
{
    static const char  mark[] = "\xEF\xBB\xBF"; /* of UTF-8 */
    struct wpp_scanner x      = {.s = s, .l = {text, text + size, 1, true}};

    if (size >= 3 && memcmp(text, mark, 3) == 0)
        x.l.at += 3;
    for (;;) {
        struct wpp_token t = wpp_next(&x.l);
        if (t.kind == WPP_END || pool_failed(s->pool))
            return;
        if (t.kind == WPP_DEFINE)
            wpp_define(&x, &t);
        else if (t.kind == WPP_OTHER && *t.text == '#')
            s->includes_header |= wpp_is_header(&t);
        else if (t.kind == WPP_NAMED)
            wpp_named(&x, &t);
        else if (t.kind == WPP_SIGN)
            wpp_sign(&x, &t);
        else
            wpp_condition_depth(&x, t.kind);
        x.after_name = t.kind == WPP_NAMED;
        x.before[0]  = x.before[1];
        x.before[1]  = t.kind == WPP_SIGN ? t.sign : 0;
    }
}
