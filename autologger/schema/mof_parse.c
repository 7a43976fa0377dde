/* A recursive descent over tokens; nothing nests but lists of values. */
#include "autologger/schema/mof_parse.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum mof_token { MOF_END, MOF_WORD, MOF_STRING, MOF_NUMBER, MOF_SIGN, MOF_BAD };
struct mof_lexed {
    enum mof_token kind;
    const char    *text; /* word or string: a pool text; else "" */
    uint64_t       number;
    char           sign;
    uint32_t       line;
};
enum { MOF_STRING_MAX = 65536 };

void mof_wrong(struct mof_file *f, bool error, uint32_t line, const char *advice, const char *format, ...)
{
    char                    what[400];
    const bool              flaw    = !error && f->problems->forgiving;
    struct manifest_problem problem = {
        .error = error, .flaw = flaw, .file = f->origin, .line = line, .what = what, .advice = advice};
    va_list args;

    *(error ? &f->problems->errors : flaw ? &f->problems->flaws : &f->problems->warnings) += 1;
    if (!f->problems->tell || f->problems->errors + f->problems->flaws + f->problems->warnings > MANIFEST_TOLD_MAX)
        return;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    f->problems->tell(f->problems->ctx, &problem);
}

const struct mof_qualifier *mof_qualifier_find(const mof_qualifiers *list, const char *name)
{
    for (unsigned i = 0; i < list->count; i++)
        if (strcasecmp(list->at[i].name, name) == 0)
            return &list->at[i];
    return NULL;
}

const char *mof_qualifier_text(const mof_qualifiers *list, const char *name)
{
    const struct mof_qualifier *q = mof_qualifier_find(list, name);
    return q && q->values.count ? q->values.at[0].text : NULL;
}

/* ---- tokens ---- */

static void mof_advance(struct mof_file *f, size_t n)
{
    for (; n && f->at < f->end; n--, f->at++)
        f->line += *f->at == '\n';
}

/* Blanks, comments, and pragmas, which end with their line. */
static void mof_skip(struct mof_file *f)
{
    for (;;) {
        while (f->at < f->end && (isspace((unsigned char)*f->at) || !*f->at))
            mof_advance(f, 1);
        const bool comment = f->at + 1 < f->end && f->at[0] == '/' && f->at[1] == '/';
        if (comment || (f->at < f->end && *f->at == '#')) {
            while (f->at < f->end && *f->at != '\n')
                f->at++;
        } else if (f->at + 1 < f->end && f->at[0] == '/' && f->at[1] == '*') {
            mof_advance(f, 2);
            while (f->at + 1 < f->end && (f->at[0] != '*' || f->at[1] != '/'))
                mof_advance(f, 1);
            mof_advance(f, 2);
        } else {
            return;
        }
    }
}

/* "a" "b" is one string. */
static bool mof_string(struct mof_file *f, struct mof_lexed *t)
{
    char  *made = malloc(MOF_STRING_MAX);
    size_t n    = 0;
    bool   fine = made != NULL;

    while (fine && f->at < f->end && *f->at == '"') {
        for (f->at++; f->at < f->end && *f->at != '"' && *f->at != '\n' && n < MOF_STRING_MAX - 1; f->at++) {
            static const char from[] = "ntr\"\\'", to[] = "\n\t\r\"\\'";
            const char       *known = *f->at == '\\' && f->at + 1 < f->end ? strchr(from, f->at[1]) : NULL;
            f->at += known && *known ? 1 : 0;
            made[n++] = known && *known ? to[known - from] : *f->at;
        }
        fine = f->at < f->end && *f->at == '"';
        f->at += fine;
        mof_skip(f);
    }
    t->text = fine ? pool_text(f->pool, made, n) : NULL;
    free(made);
    return t->text != NULL;
}

static void mof_number(struct mof_file *f, struct mof_lexed *t)
{
    char   word[40];
    size_t n = 0;
    while (f->at < f->end && n < sizeof word - 1 && (isalnum((unsigned char)*f->at) || (n == 0 && *f->at == '-')))
        word[n++] = *f->at++;
    word[n]           = 0;
    char       *end   = word;
    const char *digit = word + (*word == '-');
    if (n > 1 && (word[n - 1] == 'b' || word[n - 1] == 'B') && strncasecmp(digit, "0x", 2) != 0)
        word[n - 1] = 0, t->number = strtoull(word, &end, 2);
    else
        t->number = strtoull(word, &end, strncasecmp(digit, "0x", 2) == 0 ? 16 : 10);
    t->text = pool_text(f->pool, word, strlen(word));
    t->kind = *end || !t->text ? MOF_BAD : MOF_NUMBER;
}

static struct mof_lexed mof_next(struct mof_file *f)
{
    struct mof_lexed t = {.kind = MOF_END, .text = ""};
    mof_skip(f);
    t.line = f->line;
    if (f->at == f->end || pool_failed(f->pool))
        return t;
    const char c = *f->at;
    if (isalpha((unsigned char)c) || c == '_') {
        const char *from = f->at;
        while (f->at < f->end && (isalnum((unsigned char)*f->at) || *f->at == '_'))
            f->at++;
        t.text = pool_text(f->pool, from, (size_t)(f->at - from));
        t.kind = t.text ? MOF_WORD : MOF_BAD;
    } else if (c == '"') {
        t.kind = mof_string(f, &t) ? MOF_STRING : MOF_BAD;
    } else if (isdigit((unsigned char)c) || (c == '-' && f->at + 1 < f->end && isdigit((unsigned char)f->at[1]))) {
        mof_number(f, &t);
    } else {
        t.kind = MOF_SIGN;
        t.sign = c;
        mof_advance(f, 1);
    }
    return t;
}

/* Looks at the next sign without taking it. */
static bool mof_sees(struct mof_file *f, char sign)
{
    mof_skip(f);
    return f->at < f->end && *f->at == sign;
}

static bool mof_takes(struct mof_file *f, char sign)
{
    if (!mof_sees(f, sign))
        return false;
    mof_advance(f, 1);
    return true;
}

static bool mof_expected(struct mof_file *f, const char *what)
{
    char near[24];
    snprintf(near, sizeof near, "%.*s", f->end - f->at < 20 ? (int)(f->end - f->at) : 20, f->at);
    near[strcspn(near, "\r\n")] = 0;
    mof_wrong(f, true, f->line, "write the class as Windows' mofcomp reads it", "%s is missing before \"%s\"", what,
              near);
    return false;
}

/* ---- the grammar ---- */

static bool mof_values(struct mof_file *f, struct mof_qualifier *q, char closing)
{
    while (!mof_takes(f, closing)) {
        if (mof_takes(f, ',') || mof_takes(f, '{') || (closing == ')' && mof_takes(f, '}')))
            continue; /* Name({1, 2}) is as good as Name{1, 2} */
        struct mof_lexed t = mof_next(f);
        if (t.kind != MOF_WORD && t.kind != MOF_STRING && t.kind != MOF_NUMBER)
            return mof_expected(f, "the end of a qualifier's values");
        struct mof_value *v = q->values.count < MOF_VALUES_MAX ? pool_push(f->pool, &q->values) : NULL;
        if (!v)
            return mof_expected(f, "an end of the many values of a qualifier");
        *v = (struct mof_value){t.text, t.number, t.kind == MOF_NUMBER};
        if (t.kind == MOF_STRING) { /* "0x00000001", "1" */
            char *end;
            v->number    = strtoull(t.text, &end, 0);
            v->is_number = *t.text && !*end;
        }
    }
    return true;
}

/* [A, B("x"), C{1, 2} : ToInstance ToSubclass] */
static bool mof_qualifiers_read(struct mof_file *f, mof_qualifiers *list)
{
    *list = (mof_qualifiers){0};
    if (!mof_takes(f, '['))
        return true;
    while (!mof_takes(f, ']')) {
        struct mof_lexed t = mof_next(f);
        if (t.kind == MOF_SIGN && t.sign == ',')
            continue;
        if (t.kind == MOF_SIGN && t.sign == ':') { /* flavours */
            while (!mof_sees(f, ',') && !mof_sees(f, ']') && mof_next(f).kind == MOF_WORD)
                ;
            continue;
        }
        struct mof_qualifier *q =
            t.kind == MOF_WORD && list->count < MOF_QUALIFIERS_MAX ? pool_push(f->pool, list) : NULL;
        if (!q)
            return mof_expected(f, "the end \"]\" of qualifiers");
        q->name = t.text;
        if ((mof_takes(f, '(') && !mof_values(f, q, ')')) || (mof_takes(f, '{') && !mof_values(f, q, '}')))
            return false;
    }
    return true;
}

/* What a default value, the arguments of a method or an instance holds is of no interest. */
static bool mof_skip_to(struct mof_file *f, char sign)
{
    for (int depth = 0;;) {
        struct mof_lexed t = mof_next(f);
        if (t.kind == MOF_END || t.kind == MOF_BAD)
            return mof_expected(f, "a \";\"");
        if (t.kind != MOF_SIGN)
            continue;
        if (depth == 0 && t.sign == sign)
            return true;
        depth += (t.sign == '{' || t.sign == '(') - (t.sign == '}' || t.sign == ')');
    }
}

static bool mof_member(struct mof_file *f, struct mof_class *c)
{
    struct mof_property p = {.line = f->line};
    if (!mof_qualifiers_read(f, &p.qualifiers))
        return false;
    struct mof_lexed type = mof_next(f), name = mof_next(f);
    if (type.kind == MOF_WORD && name.kind == MOF_WORD && strcasecmp(name.text, "ref") == 0)
        name = mof_next(f);
    if (type.kind != MOF_WORD || name.kind != MOF_WORD)
        return mof_expected(f, "type and name of a property");
    p.type = type.text;
    p.name = name.text;
    p.line = name.line;
    if (mof_sees(f, '('))
        return mof_skip_to(f, ';'); /* a method */
    if (mof_takes(f, '[')) {
        p.array = true;
        if (!mof_sees(f, ']')) {
            struct mof_lexed n = mof_next(f);
            p.fixed            = n.kind == MOF_NUMBER && n.number <= UINT16_MAX ? (uint32_t)n.number : 0;
        }
        if (!mof_takes(f, ']'))
            return mof_expected(f, "a \"]\"");
    }
    if (!mof_skip_to(f, ';'))
        return false;
    struct mof_property *kept = c->properties.count < MOF_PROPERTIES_MAX ? pool_push(f->pool, &c->properties) : NULL;
    if (!kept)
        return mof_expected(f, "an end of the many properties of a class");
    *kept = p;
    return true;
}

static bool mof_class_read(struct mof_file *f, const mof_qualifiers *qualifiers)
{
    struct mof_class c    = {.qualifiers = *qualifiers, .parent = "", .line = f->line};
    struct mof_lexed name = mof_next(f);
    if (name.kind != MOF_WORD)
        return mof_expected(f, "the name of a class");
    c.name = name.text;
    c.line = name.line;
    if (mof_takes(f, ':')) {
        struct mof_lexed parent = mof_next(f);
        if (parent.kind != MOF_WORD)
            return mof_expected(f, "the name of a parent class");
        c.parent = parent.text;
    }
    if (!mof_takes(f, '{'))
        return mof_takes(f, ';') || mof_expected(f, "a \"{\""); /* class X; declares it alone */
    while (!mof_takes(f, '}'))
        if (!mof_member(f, &c))
            return false;
    mof_takes(f, ';');
    struct mof_class *kept = f->classes.count < MOF_CLASSES_MAX ? pool_push(f->pool, &f->classes) : NULL;
    if (!kept)
        return mof_expected(f, "an end of the many classes");
    *kept = c;
    return true;
}

bool mof_parse(struct mof_file *f)
{
    for (;;) {
        mof_qualifiers qualifiers;
        if (!mof_qualifiers_read(f, &qualifiers))
            return false;
        struct mof_lexed t = mof_next(f);
        if (t.kind == MOF_END)
            return !qualifiers.count || mof_expected(f, "a class behind qualifiers");
        if (t.kind == MOF_WORD && strcasecmp(t.text, "class") == 0) {
            if (!mof_class_read(f, &qualifiers))
                return false;
        } else if (t.kind == MOF_WORD) { /* instance of, qualifier */
            if (!mof_skip_to(f, ';'))
                return false;
        } else {
            return mof_expected(f, "a class");
        }
    }
}
