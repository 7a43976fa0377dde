/* The text of a message: printf's conversions and %!NAME! become %N of TMF, and say how each value is stored. */
#include "autologger/schema/tmf.h"
#include "autologger/wpp/wpp_private.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WPP_SPEC = 24 };

struct wpp_reading {
    struct wpp_source *s;
    struct wpp_call   *c;
    struct text        out;
    unsigned           next;              /* the argument that the next conversion takes */
    unsigned           end;               /* of the arguments */
    const char        *names, *names_end; /* of USESUFFIX: the arguments by name; NULL: by place */
    bool               failed;
};

/* A conversion as written: "-08.3", "ll", 'x'. */
struct wpp_spec {
    char head[WPP_SPEC];
    char length; /* 0, 'h', 'H' (hh), 'l', 'L' (64 bits), 'w', 'z' (a pointer's) */
    char letter;
};

static bool wpp_text_wrong(struct wpp_reading *r, const char *advice, const char *format, const char *about)
{
    char what[300];
    snprintf(what, sizeof what, "%s: %s", r->c->function->name, format);
    if (!r->failed)
        wpp_wrong(&r->s->place, true, advice, "%s \"%.100s\"", what, about);
    r->failed = true;
    return false;
}

/* ---- conversions ---- */

static const char *wpp_length_read(const char *p, char *length)
{
    for (*length = 0; *p && strchr("hlIwzjtLq", *p); p++) {
        if (*p == 'I' && (strncmp(p, "I64", 3) == 0 || strncmp(p, "I32", 3) == 0)) {
            *length = p[1] == '6' ? 'L' : 0;
            p += 2;
        } else if (*p == 'l' || *p == 'h') {
            *length = *length == *p ? (*p == 'l' ? 'L' : 'H') : *p;
        } else {
            *length = *p == 'w' ? 'w' : *p == 'L' || *p == 'j' || *p == 'q' ? 'L' : 'z';
        }
    }
    return p;
}

/* Behind a '%'. NULL: it is no conversion. */
static const char *wpp_spec_read(const char *p, struct wpp_spec *s)
{
    size_t n = 0;
    for (; *p && strchr("-+ #0123456789.", *p); p++) {
        if (n + 1 == sizeof s->head)
            return NULL;
        s->head[n++] = *p;
    }
    s->head[n] = 0;
    p          = wpp_length_read(p, &s->length);
    s->letter  = *p;
    return *p ? p + 1 : NULL;
}

/* The TMF type of a conversion, and how it is stored; NULL: unknown. `extended`: see wpp_value. */
static const char *wpp_item_of(const struct wpp_spec *s, char *kind, bool *extended)
{
    const bool wide = s->length == 'L' || s->length == 'z' || s->length == 'l';
    *extended       = false;
    switch (s->letter) {
    case 'd':
    case 'i':
        *kind = wide ? 'q' : s->length == 'h' ? 'h' : s->length == 'H' ? 'c' : 'd';
        return wide ? "ItemLongLong" : s->length == 'h' ? "ItemShort" : s->length == 'H' ? "ItemChar" : "ItemLong";
    case 'u':
    case 'o':
    case 'x':
    case 'X':
        *extended = s->length == 'l';
        *kind     = wide ? 'Q' : s->length == 'h' ? 'H' : s->length == 'H' ? 'C' : 'u';
        return wide ? "ItemULongLong" : s->length == 'h' ? "ItemUShort" : s->length == 'H' ? "ItemUChar" : "ItemULong";
    case 'c': *kind = s->length == 'w' || s->length == 'l' ? 'H' : 'c'; return *kind == 'H' ? "ItemWChar" : "ItemChar";
    case 'C': *kind = s->length == 'h' ? 'c' : 'H'; return *kind == 'H' ? "ItemWChar" : "ItemChar";
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
    case 'a':
    case 'A': *kind = 'g'; return "ItemDouble";
    case 's': *kind = s->length == 'w' || s->length == 'l' ? 'S' : 's'; break;
    case 'S': *kind = s->length == 'h' ? 's' : 'S'; break;
    case 'Z': *kind = s->length == 'w' || s->length == 'l' ? 'Z' : 'z'; break;
    case 'p': *kind = 'p'; return "ItemPtr";
    default: return NULL;
    }
    return *kind == 'S' ? "ItemWString" : *kind == 's' ? "ItemString" : *kind == 'Z' ? "ItemPWString" : "ItemPString";
}

/* ---- values ---- */

/* The argument of the next conversion, and its name in the macro; NULL: no argument. */
static const struct wpp_argument *wpp_argument_next(struct wpp_reading *r, char own[WPP_NAME])
{
    const struct wpp_function *f = r->c->function;

    if (!r->names) {
        snprintf(own, WPP_NAME, "a%u", r->next - (unsigned)f->message);
        return r->next < r->end ? &r->c->argument[r->next++] : NULL;
    }
    while (r->names < r->names_end && (isspace((unsigned char)*r->names) || *r->names == ','))
        r->names++;
    size_t n = 0;
    while (r->names + n < r->names_end && (isalnum((unsigned char)r->names[n]) || r->names[n] == '_'))
        n++;
    snprintf(own, WPP_NAME, "%.*s", n < WPP_NAME ? (int)n : 0, r->names);
    r->names += n;
    for (unsigned i = 0, place = 0; i < f->fixed_count && n; i++) {
        if (strcmp(f->fixed[i].name, own) == 0 && !f->fixed[i].value)
            return &r->c->argument[place];
        place += !f->fixed[i].value;
    }
    return NULL;
}

static bool wpp_value_add(struct wpp_reading *r, const char *item, char kind, bool extended, const char *spec)
{
    struct wpp_call           *c = r->c;
    char                       own[WPP_NAME];
    const struct wpp_argument *a = wpp_argument_next(r, own);

    if (!a)
        return wpp_text_wrong(r, "give a value for each conversion",
                              "the text has more conversions than there are values:", spec);
    if (c->value_count == WPP_ARGUMENTS)
        return wpp_text_wrong(r, "write several messages", "the message has too many values:", spec);
    c->value[c->value_count++] = (struct wpp_value){kind, extended, item, pool_text(r->s->pool, a->text, a->size),
                                                    pool_text(r->s->pool, own, strlen(own))};
    text_printf(&r->out, "%%%u!%s!", TMF_FIRST_VALUE + c->value_count - 1, spec);
    return true;
}

/* %!NAME!, also %-8!NAME!: `p` is behind the first '!'. Returns what is behind it; NULL: a mistake. */
static const char *wpp_named_value(struct wpp_reading *r, const char *p, const char *head)
{
    static const char *const known[] = {"FUNC",     "FILE",    "LINE", "LEVEL", "FLAGS",
                                        "COMPNAME", "SUBCOMP", "MOD",  "SPACE", "STDPREFIX"};
    const char              *end     = strchr(p, '!');
    char                     name[WPP_NAME], spec[WPP_SPEC + 8];

    if (!end || end == p || end - p >= WPP_NAME) {
        wpp_text_wrong(r, "write %!NAME!", "a name has no end:", p);
        return NULL;
    }
    snprintf(name, sizeof name, "%.*s", (int)(end - p), p);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i], name) == 0) {
            text_printf(&r->out, "%%!%s!", name);
            return end + 1;
        }
    const struct wpp_type *t = wpp_type_find(r->s->config, name, strlen(name));
    if (!t) {
        wpp_text_wrong(r, "define it: CUSTOM_TYPE(NAME, ItemListLong(A, B)); in a WPP configuration",
                       "this type is not known:", name);
        return NULL;
    }
    snprintf(spec, sizeof spec, "%s%s", head, t->format);
    return wpp_value_add(r, t->item, t->kind, false, spec) ? end + 1 : NULL;
}

/* Behind a '%'. Returns what is behind the conversion; NULL: a mistake. */
static const char *wpp_conversion(struct wpp_reading *r, const char *p)
{
    struct wpp_spec s;
    char            kind, spec[WPP_SPEC + 8];
    bool            extended;

    if (*p == '%') {
        text_add(&r->out, "%%", 2);
        return p + 1;
    }
    const char *behind = wpp_spec_read(p, &s), *item;
    if (behind && s.letter == '!')
        return wpp_named_value(r, behind, s.head);
    if (behind && s.letter == '*') {
        wpp_text_wrong(r, "write the width into the text", "a width cannot come from a value:", p);
        return NULL;
    }
    if (!behind || !(item = wpp_item_of(&s, &kind, &extended))) {
        wpp_text_wrong(r, "use printf's conversions, or %!NAME!", "this conversion is not known:", p);
        return NULL;
    }
    const bool text = strchr("sSZ", s.letter) != NULL;
    snprintf(spec, sizeof spec, "%s%s%c", s.head, strchr("qQ", kind) ? "I64" : "",
             text              ? 's'
             : s.letter == 'C' ? 'c'
                               : s.letter);
    return wpp_value_add(r, item, kind, extended, spec) ? behind : NULL;
}

static void wpp_part_read(struct wpp_reading *r, const char *p)
{
    while (p && *p) {
        if (*p == '%') {
            p = wpp_conversion(r, p + 1);
            continue;
        }
        if (*p == '\n' || *p == '\t')
            text_add(&r->out, *p == '\n' ? "%n" : "%t", 2);
        else
            text_add(&r->out, (unsigned char)*p < ' ' ? " " : p, 1);
        p++;
    }
}

bool wpp_text_read(struct wpp_source *s, struct wpp_call *c)
{
    const struct wpp_function *f       = c->function;
    struct wpp_reading         r       = {.s = s, .c = c, .end = c->argument_count};
    struct text                message = {0};
    const char                *rest;

    s->place.line = c->line;
    if (f->message >= 0) {
        const struct wpp_argument *a = &c->argument[f->message];
        r.next                       = (unsigned)f->message + 1;
        if (!wpp_literal(a->text, a->text + a->size, &message, &rest)) {
            char word[60];
            snprintf(word, sizeof word, "%.*s", a->size < 50 ? (int)a->size : 50, a->text);
            wpp_text_wrong(&r, "write the text in quotes into the call, with values for what changes",
                           "the text is no string literal:", word);
        }
    }
    text_add(&r.out, "%0", 2);
    wpp_part_read(&r, f->prefix);
    wpp_part_read(&r, text_get(&message));
    if (!r.failed && f->message >= 0 && r.next < r.end)
        wpp_text_wrong(&r, "give a conversion for each value",
                       "there are more values than conversions:", text_get(&message));
    if (f->suffix) {
        r.names     = f->suffix_values ? f->suffix_values : "";
        r.names_end = r.names + strlen(r.names);
        wpp_part_read(&r, f->suffix);
    }
    if (r.out.length > WPP_TEXT_MAX)
        wpp_text_wrong(&r, "make it shorter", "the text is too long:", "");
    c->text = pool_text(s->pool, text_get(&r.out), r.out.length);
    text_finish(&message);
    text_finish(&r.out);
    return !r.failed;
}
