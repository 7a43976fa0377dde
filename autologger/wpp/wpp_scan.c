/* Finds the calls of messages in a source, and the functions that they stand in. No C parser: a brace behind a name and
 * its parentheses opens a function, every other brace does not. */
#include "autologger/wpp/wpp_private.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

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
    char               before[2]; /* the last two tokens: their signs, 0 for others */
    bool               after_name;
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

static void wpp_argument_add(struct wpp_call *c, const char *from, const char *to)
{
    while (from < to && isspace((unsigned char)*from))
        from++;
    while (to > from && isspace((unsigned char)to[-1]))
        to--;
    if (c->argument_count < WPP_ARGUMENTS)
        c->argument[c->argument_count] = (struct wpp_argument){from, (size_t)(to - from)};
    c->argument_count++;
}

/* The arguments behind the "(" that was taken. False: the end of the file. */
static bool wpp_arguments(struct wpp_scanner *x, struct wpp_call *c)
{
    const char *from  = x->l.at;
    unsigned    depth = 1;
    for (;;) {
        struct wpp_token t = wpp_next(&x->l);
        if (t.kind == WPP_END)
            return false;
        if (t.kind != WPP_SIGN)
            continue;
        depth += strchr("([{", t.sign) != NULL;
        depth -= strchr(")]}", t.sign) != NULL;
        if (depth == 0) {
            if (c->argument_count || t.text > from + strspn(from, " \t\r\n"))
                wpp_argument_add(c, from, t.text);
            return true;
        }
        if (depth == 1 && t.sign == ',') {
            wpp_argument_add(c, from, t.text);
            from = t.text + 1;
        }
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

/* A message in a macro has the line of each use, which nobody knows here. */
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
    x->named = x->initializer = x->members = false;
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
            if (!x->body && !x->named && *x->part && !wpp_is_keyword(x->part)) {
                memcpy(x->name, x->part, sizeof x->name);
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
    case '=': x->initializer |= !x->body && !x->parens; break;
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

void wpp_scan(struct wpp_source *s, const char *text, size_t size)
{
    struct wpp_scanner x = {.s = s, .l = {text, text + size, 1, true}};

    for (;;) {
        struct wpp_token t = wpp_next(&x.l);
        if (t.kind == WPP_END || pool_failed(s->pool))
            return;
        if (t.kind == WPP_DEFINE)
            wpp_define(&x, &t);
        else if (t.kind == WPP_OTHER && *t.text == '#')
            s->includes_header |= wpp_is_header(&t);
        if (t.kind == WPP_NAMED) {
            const struct wpp_function *f    = wpp_function_find(s->config, t.text, t.size);
            struct wpp_lexer           peek = x.l;
            const struct wpp_token     next = wpp_next(&peek);
            wpp_part(&x, &t);
            x.named_line = t.line;
            if (f && next.kind == WPP_SIGN && next.sign == '(') {
                x.l = peek;
                wpp_call_found(&x, f, t.line);
            }
        }
        if (t.kind == WPP_SIGN)
            wpp_sign(&x, &t);
        x.after_name = t.kind == WPP_NAMED;
        x.before[0]  = x.before[1];
        x.before[1]  = t.kind == WPP_SIGN ? t.sign : 0;
    }
}
