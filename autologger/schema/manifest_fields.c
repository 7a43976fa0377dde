/* Second step, templates: moves members of structs behind the template's own fields, and turns names of counts and
 * lengths into indexes. */
#include "autologger/schema/manifest_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS_MAX = 4096, COUNT_MAX = 65535 };

static bool is_number(const char *word, unsigned long *out)
{
    char *end;
    bool  hex = word[0] == '0' && (word[1] | 0x20) == 'x';

    *out = strtoul(word, &end, hex ? 16 : 10);
    return *word >= '0' && *word <= '9' && !*end;
}

static bool is_whole(const struct manifest_field *f)
{
    return !(f->flags & FIELD_STRUCT) &&
           ((f->in >= IN_INT8 && f->in <= IN_UINT64) || f->in == IN_HEXINT32 || f->in == IN_HEXINT64);
}

static bool is_size(const struct manifest_field *f)
{
    return is_whole(f) && !(f->flags & (FIELD_COUNT_OF | FIELD_FIXED_COUNT));
}

typedef bool same_name(const char *a, const char *b);
static bool  exactly(const char *a, const char *b) { return strcmp(a, b) == 0; }
static bool  but_for_blanks(const char *a, const char *b)
{
    for (;; a++, b++) {
        a += strspn(a, " \t");
        b += strspn(b, " \t");
        if (*a != *b || !*a)
            return *a == *b;
    }
}

/* The field of that name before `of` in the payload: of the same struct, else the template's own. */
static int before_by(const struct manifest_template *t, unsigned of, const char *name, same_name *same)
{
    const struct manifest_field *f   = &t->fields.at[of];
    int                          top = f->parent == MANIFEST_NONE ? (int)of : f->parent;

    for (int i = f->parent == MANIFEST_NONE ? MANIFEST_NONE : (int)t->fields.at[f->parent].first; i >= 0 && i < (int)of;
         i++)
        if (t->fields.at[i].name && same(t->fields.at[i].name, name))
            return i;
    for (int i = 0; i < top; i++)
        if (t->fields.at[i].name && same(t->fields.at[i].name, name))
            return i;
    return MANIFEST_NONE;
}
static int manifest_fields_before(const struct manifest_template *t, unsigned of, const char *name)
{
    return before_by(t, of, name, exactly);
}
static int before_nearly(const struct manifest_template *t, unsigned of, const char *name)
{
    return before_by(t, of, name, but_for_blanks);
}

/* Sets *out to `word` as a number, with the flag `fixed`, or as the index of a field, with the flag `of`. */
static void size_resolve(struct builder *b, struct manifest_template *t, unsigned i, const char *what, const char *word,
                         unsigned of, unsigned fixed, uint16_t *out)
{
    struct manifest_field *f = &t->fields.at[i];
    unsigned long          n;

    if (!word)
        return;
    if (is_number(word, &n)) {
        if (n < 1 || n > COUNT_MAX) {
            manifest_error(b, f->line, "choose one between 1 and 65535",
                           "%s=\"%.60s\" of the field %s is out of bounds", what, word, f->name);
            f->unlaid = true;
        }
        *out = (uint16_t)n;
        f->flags |= (uint16_t)fixed;
        return;
    }
    int at = manifest_fields_before(t, i, word);
    if (at < 0 && (at = before_nearly(t, i, word)) >= 0) {
        manifest_error(b, f->line, "write the name as the field has it",
                       "%s=\"%.60s\" of the field %s names the field \"%.80s\" without its blanks", what, word, f->name,
                       t->fields.at[at].name);
        if (!manifest_forgives(b))
            return;
    }
    f->unlaid |= at < 0 || !is_size(&t->fields.at[at]);
    if (at < 0)
        manifest_error(b, f->line, "name a field that stands before it, or write a number",
                       "%s=\"%.60s\" of the field %s is no number and no field before it", what, word, f->name);
    else if (!is_size(&t->fields.at[at]))
        manifest_error(b, f->line, "name a field with one whole number",
                       "%s=\"%.60s\" of the field %s names a field that is no whole number", what, word, f->name);
    else {
        *out = (uint16_t)at;
        f->flags |= (uint16_t)of;
    }
}

static bool manifest_fields_is_array(const struct manifest_field *f)
{
    return f->flags & (FIELD_COUNT_OF | FIELD_FIXED_COUNT);
}
static bool manifest_fields_has_length(uint16_t in)
{
    return in == IN_UNICODESTRING || in == IN_ANSISTRING || in == IN_BINARY;
}

static void field_resolve(struct builder *b, const struct manifest_provider *p, const struct provider_names *n,
                          struct manifest_template *t, unsigned i)
{
    struct manifest_field *f = &t->fields.at[i];

    size_resolve(b, t, i, "count", f->count_word, FIELD_COUNT_OF, FIELD_FIXED_COUNT, &f->count);
    if (f->flags & FIELD_STRUCT) {
        if (!f->members) {
            manifest_error(b, f->line, "put <data> into it", "the struct %s has no fields", f->name);
            f->unlaid = true;
        }
        return;
    }
    if (f->length_word && !manifest_fields_has_length(f->in))
        manifest_error(b, f->line, "remove the length; an array has a count",
                       "length=\"%.60s\" of the field %s: a %s has a size of its own", f->length_word, f->name,
                       schema_in_word(f->in));
    else
        size_resolve(b, t, i, "length", f->length_word, FIELD_LENGTH_OF, FIELD_FIXED_LENGTH, &f->length);
    if (f->in == IN_BINARY && !f->length_word) {
        if (f->out == OUT_IPV6) {
            f->length = 16;
            f->flags |= FIELD_FIXED_LENGTH;
        } else {
            manifest_error(b, f->line, "add length=\"...\": a number, or the name of a field before it",
                           "the field %s of win:Binary has no length", f->name);
            if (i + 1 == t->top_count && !manifest_fields_is_array(f))
                f->flags |= FIELD_TO_END; /* it takes the rest */
            else
                f->unlaid = true;
        }
    }
    if (!f->map_name)
        return;
    const struct name_row *row = name_index_find(&n->maps, f->map_name);
    if (row)
        f->map = row->index;
    else {
        struct name_guess guess = name_guess(b, &n->maps, -1, f->map_name);
        manifest_error(b, f->line, *guess.text ? NULL : "declare it in <maps>",
                       "map=\"%.80s\" of the field %s is not declared%s", f->map_name, f->name, guess.text);
    }
    if (row && f->in != IN_UINT8 && f->in != IN_UINT16 && f->in != IN_UINT32 && f->in != IN_HEXINT32)
        manifest_error(b, f->line, "make it a win:UInt32, or remove the map",
                       "the field %s has the map %s, and is a %s", f->name, p->maps.at[row->index].item.name,
                       schema_in_word(f->in));
}

/* Top-level fields first, then the members of each struct in one run. */
static bool fields_order(struct builder *b, struct manifest_template *t)
{
    unsigned               count = t->fields.count, n = 0;
    struct manifest_field *out = pool_alloc(b->m->pool, (count + 1) * sizeof *out);
    int                   *to  = malloc((count + 1) * sizeof *to);

    for (unsigned i = 0; i < count && out && to; i++)
        if (t->fields.at[i].parent == MANIFEST_NONE) {
            to[i]    = (int)n;
            out[n++] = t->fields.at[i];
        }
    t->top_count = n;
    /* members follow their struct in the document, so runs stay in one piece */
    for (unsigned i = 0; i < count && out && to; i++) {
        struct manifest_field *f = &t->fields.at[i];
        if (f->parent == MANIFEST_NONE)
            continue;
        int up = to[f->parent];
        if (!out[up].members)
            out[up].first = (uint16_t)n;
        out[up].members++;
        to[i]           = (int)n;
        out[n]          = *f;
        out[n++].parent = up;
    }
    free(to);
    if (out)
        t->fields.at = out;
    return out && n == count;
}

/* The first of the template's own fields without a layout, itself or in a member; top_count: all have one. */
static unsigned first_unlaid(const struct manifest_template *t)
{
    for (unsigned i = 0; i < t->top_count; i++) {
        const struct manifest_field *f = &t->fields.at[i];
        if (f->unlaid)
            return i;
        for (unsigned k = f->first; f->flags & FIELD_STRUCT && k < f->first + f->members; k++)
            if (t->fields.at[k].unlaid)
                return i;
    }
    return t->top_count;
}

/* Keeps the fields before first_unlaid(). Members stand in the order of their structs, so the members of kept fields
 * come first. */
static void fields_cut(struct manifest_template *t)
{
    unsigned keep = first_unlaid(t), gone = t->top_count - keep, members = 0;

    if (!gone)
        return;
    for (unsigned i = 0; i < keep; i++) {
        struct manifest_field *f = &t->fields.at[i];
        if (!(f->flags & FIELD_STRUCT))
            continue;
        f->first = (uint16_t)(f->first - gone);
        members += f->members;
    }
    memmove(&t->fields.at[keep], &t->fields.at[t->top_count], members * sizeof *t->fields.at);
    /* a member refers to a kept field, or to a member behind the top */
    for (unsigned i = keep; i < keep + members; i++) {
        struct manifest_field *f = &t->fields.at[i];
        if (f->flags & FIELD_LENGTH_OF && f->length >= t->top_count)
            f->length = (uint16_t)(f->length - gone);
        if (f->flags & FIELD_COUNT_OF && f->count >= t->top_count)
            f->count = (uint16_t)(f->count - gone);
    }
    t->top_count    = keep;
    t->fields.count = keep + members;
    t->cut          = true;
    t->user_data    = NULL; /* it may insert a removed field */
}

static void manifest_fields_names_check(struct builder *b, const struct manifest_template *t)
{
    struct name_index n = name_index_make(b, t->fields.at, t->fields.count, sizeof *t->fields.at);

    for (unsigned i = 1; i < n.count; i++) {
        const struct manifest_field *f = &t->fields.at[n.rows[i].index];
        if (strcmp(n.rows[i].name, n.rows[i - 1].name) == 0 && f->parent == t->fields.at[n.rows[i - 1].index].parent)
            manifest_error(b, f->line, "choose another name", "the field %s of template %s is there twice", f->name,
                           t->tid);
    }
}

void manifest_resolve_template(struct builder *b, struct manifest_provider *p, const struct provider_names *names,
                               struct manifest_template *t)
{
    if (t->fields.count > FIELDS_MAX) {
        manifest_error(b, t->line, "spread them over several events", "template %s has %u fields, more than %d",
                       t->tid ? t->tid : "?", t->fields.count, FIELDS_MAX);
        t->cut          = true;
        t->fields.count = 0;
        return;
    }
    if (!t->tid)
        t->tid = ""; /* already reported */
    for (unsigned i = 0; i < t->fields.count; i++)
        if (!t->fields.at[i].name) { /* already reported */
            char name[24];
            int  n               = snprintf(name, sizeof name, "field%u", i + 1);
            t->fields.at[i].name = pool_text(b->m->pool, name, (size_t)n);
        }
    if (pool_failed(b->m->pool))
        return;
    if (!fields_order(b, t))
        return;
    manifest_fields_names_check(b, t);
    for (unsigned i = 0; i < t->fields.count; i++)
        field_resolve(b, p, names, t, i);
    if (manifest_forgives(b))
        fields_cut(t);
}
