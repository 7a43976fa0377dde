/* The function that writes the events of a template: a parameter a field, with one or two data descriptors. */
#include "autologger/schema/mc_private.h"

#include "autologger/schema/schema.h"

#include <stdio.h>
#include <string.h>

enum mc_template_how { VALUE, POINTER, STRING, SID, BYTES, COUNTED };
static const struct type_row {
    uint16_t             in;
    const char          *type, *letter;
    enum mc_template_how how;
} mc_template_types[] = {
#define T(in, type, letter, how) {IN_##in, #type, letter, how},
#include "autologger/schema/mc_types.def"
#undef T
};
enum { TYPES = sizeof mc_template_types / sizeof mc_template_types[0] };

static const struct type_row *type_find(uint16_t in)
{
    for (unsigned i = 0; i < TYPES; i++)
        if (mc_template_types[i].in == in)
            return &mc_template_types[i];
    return &mc_template_types[0];
}

static bool mc_template_is_array(const struct manifest_field *f)
{
    return f->flags & (FIELD_COUNT_OF | FIELD_FIXED_COUNT);
}
static bool mc_template_has_length(const struct manifest_field *f)
{
    return f->flags & (FIELD_LENGTH_OF | FIELD_FIXED_LENGTH);
}
/* Only the program knows the number of bytes: a struct, or an array of NUL-terminated strings, SIDs or counted
 * values. */
static bool needs_size(const struct manifest_field *f)
{
    enum mc_template_how how = type_find(f->in)->how;
    return f->flags & FIELD_STRUCT ||
           (mc_template_is_array(f) && !mc_template_has_length(f) && (how == STRING || how == SID || how == COUNTED));
}

/* An array of strings is passed as in Windows' headers: the number of characters of all, with their NULs, then the
 * first. */
static bool is_text(const struct manifest_field *f)
{
    return !(f->flags & FIELD_STRUCT) && type_find(f->in)->how == STRING;
}

/* An expression for a count or length: a number, or the parameter that has it. */
static void amount(const struct manifest_field *f, bool length, char out[40])
{
    unsigned n = length ? f->length : f->count;
    if (f->flags & (length ? FIELD_LENGTH_OF : FIELD_COUNT_OF))
        snprintf(out, 40, "(ULONG)_Arg%u", n);
    else
        snprintf(out, 40, "%uu", n);
}

unsigned mc_descriptors(const struct manifest_template *t)
{
    unsigned n = 0;
    for (unsigned i = 0; t && i < t->top_count; i++)
        n += !(t->fields.at[i].flags & FIELD_STRUCT) && !needs_size(&t->fields.at[i]) &&
                     type_find(t->fields.at[i].in)->how == COUNTED
                 ? 2
                 : 1;
    return n;
}

/* McTemplateU0, a letter a field, and additions for arrays, lengths and structs: equal names mean equal functions. */
void mc_template_name(const struct manifest_template *t, bool callout, struct text *out)
{
    text_printf(out, callout ? "McTemplateCoU0" : "McTemplateU0");
    for (unsigned i = 0; t && i < t->top_count; i++) {
        const struct manifest_field *f = &t->fields.at[i];
        text_printf(out, "%s%s", needs_size(f) ? "n" : "",
                    needs_size(f) && !is_text(f) ? "" : type_find(f->in)->letter);
        if (needs_size(f))
            continue;
        if (mc_template_has_length(f))
            text_printf(out, "%s%u_", f->flags & FIELD_LENGTH_OF ? "L" : "F", f->length);
        if (mc_template_is_array(f))
            text_printf(out, "%s%u_", f->flags & FIELD_COUNT_OF ? "R" : "V", f->count);
    }
}

static void parameters(const struct manifest_template *t, struct text *out)
{
    for (unsigned i = 0; t && i < t->top_count; i++) {
        const struct manifest_field *f   = &t->fields.at[i];
        const struct type_row       *row = type_find(f->in);
        if (needs_size(f))
            text_printf(out, ", ULONG _Len%u, const %s *_Arg%u", i, is_text(f) ? row->type : "VOID", i);
        else if (row->how == COUNTED)
            text_printf(out, ", USHORT _Size%u, const %s *_Arg%u", i, row->type, i);
        else if (row->how == VALUE && !mc_template_is_array(f))
            text_printf(out, ", %s _Arg%u", row->type, i);
        else
            text_printf(out, ", %s%s *%s_Arg%u", strchr(row->type, '*') ? "" : "const ",
                        f->in == IN_INT8 ? "CHAR" : row->type, strchr(row->type, '*') ? "const " : "",
                        i); /* Windows' arrays of win:Int8 are of CHAR */
    }
}

static void mc_template_descriptor(const struct manifest_field *f, unsigned i, unsigned *n, struct text *out)
{
    const struct type_row *row = type_find(f->in);
    char                   count[40], length[40];

    amount(f, false, count);
    amount(f, true, length);
    if (!needs_size(f) && row->how == COUNTED)
        text_printf(out, "    EventDataDescCreate(&_Data[%u], &_Size%u, sizeof _Size%u);\n", (*n)++, i, i);
    text_printf(out, "    EventDataDescCreate(&_Data[%u], ", (*n)++);
    if (needs_size(f) && is_text(f))
        text_printf(out, "_Arg%u, _Len%u * (ULONG)sizeof *_Arg%u);\n", i, i, i);
    else if (needs_size(f))
        text_printf(out, "_Arg%u, _Len%u);\n", i, i);
    else if (row->how == COUNTED)
        text_printf(out, "_Arg%u, _Size%u);\n", i, i);
    else if (mc_template_has_length(f))
        text_printf(out, "_Arg%u, (ULONG)(%s%s%s * sizeof(%s)));\n", i, mc_template_is_array(f) ? count : "",
                    mc_template_is_array(f) ? " * " : "", length, row->type);
    else if (mc_template_is_array(f))
        text_printf(out, "_Arg%u, (ULONG)(%s * sizeof(%s)));\n", i, count, row->type);
    else if (row->how == STRING && f->in == IN_UNICODESTRING)
        text_printf(out, "_McText16(_Arg%u), _McSize16(_Arg%u));\n", i, i);
    else if (row->how == STRING)
        text_printf(out, "_McText(_Arg%u), _McSize(_Arg%u));\n", i, i);
    else if (row->how == SID)
        text_printf(out, "_Arg%u, 8u + 4u * ((const BYTE *)_Arg%u)[1]);\n", i, i);
    else if (row->how == POINTER)
        text_printf(out, "_Arg%u, sizeof *_Arg%u);\n", i, i);
    else
        text_printf(out, "&_Arg%u, sizeof _Arg%u);\n", i, i);
}

void mc_template_function(const struct manifest_template *t, bool callout, struct text *out)
{
    unsigned    n = mc_descriptors(t), at = 0;
    struct text name = {0};

    mc_template_name(t, callout, &name);
    text_printf(
        out,
        "#ifndef %s_def\n#define %s_def\n"
        "static __attribute__((unused, noinline, cold)) ULONG %s(struct _tlgProvider_t *_Provider, const EVENT_DESCRIPTOR *_Event",
        text_get(&name), text_get(&name), text_get(&name));
    text_finish(&name);
    parameters(t, out);
    text_printf(out, ")\n{\n");
    if (n)
        text_printf(out, "    EVENT_DATA_DESCRIPTOR _Data[%u];\n", n);
    for (unsigned i = 0; t && i < t->top_count; i++)
        mc_template_descriptor(&t->fields.at[i], i, &at, out);
    if (callout)
        text_printf(out, "#ifdef MCGEN_CALLOUT\n    MCGEN_CALLOUT(_Provider->RegHandle, _Event, %u, %s);\n#endif\n", n,
                    n ? "_Data" : "NULL");
    text_printf(out, "    return EventWrite(_Provider->RegHandle, _Event, %u, %s);\n}\n#endif\n", n,
                n ? "_Data" : "NULL");
}

/* The field's name, if C accepts it as a macro's parameter and it means nothing else in the macro; else _Arg<index>. */
static void argument_name(const struct manifest_template *t, unsigned i, const char *event, char out[MC_NAME])
{
    char other[MC_NAME];
    bool fine = true;

    mc_name(t->fields.at[i].name, out);
    if ((out[0] >= '0' && out[0] <= '9') || out[0] == '_' || !out[0] || strncmp(out, "Event", 5) == 0 ||
        strncmp(out, "ERROR_", 6) == 0 || strncmp(out, "Mc", 2) == 0 || strstr(out, "_Context") ||
        strcmp(out, event) == 0 || strcmp(out, "defined") == 0)
        fine = false;
    for (unsigned k = 0; k < t->top_count && fine; k++)
        fine = k == i || strcmp(mc_name(t->fields.at[k].name, other), out) != 0;
    if (!fine)
        snprintf(out, MC_NAME, "_Arg%u", i);
}

void mc_arguments(const struct manifest_template *t, const char *event, struct text *out)
{
    for (unsigned i = 0; t && i < t->top_count; i++) {
        const struct manifest_field *f = &t->fields.at[i];
        char                         name[MC_NAME];
        argument_name(t, i, event, name);
        text_printf(out, "%s", i ? ", " : "");
        if (needs_size(f))
            text_printf(out, "%s_Len_, %s", name, name);
        else if (type_find(f->in)->how == COUNTED)
            text_printf(out, "%s_size, %s", name, name);
        else
            text_printf(out, "%s", name);
    }
}
