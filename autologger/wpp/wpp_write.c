#include "autologger/schema/tmf.h"
#include "autologger/wpp/wpp_private.h"
#include "registry-sim/win32/sha1.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    char        letter;
    const char *type;
} wpp_kinds[] = {
#define K(letter, type) {letter, type},
#include "autologger/wpp/wpp_kinds.def"
#undef K
};

static const char *wpp_kind_type(char letter)
{
    for (size_t i = 0; i < sizeof wpp_kinds / sizeof *wpp_kinds; i++)
        if (wpp_kinds[i].letter == letter)
            return wpp_kinds[i].type;
    return "const void *";
}

/* ---- the TMF text ---- */

/* The call's argument of a condition, or the value in the declaration; "": neither. */
static void wpp_condition(const struct wpp_call *c, const char *name, char *out, size_t size)
{
    const struct wpp_function *f     = c->function;
    unsigned                   place = 0;

    *out = 0;
    for (unsigned i = 0; i < f->fixed_count; i++) {
        if (strcmp(f->fixed[i].name, name) == 0) {
            const struct wpp_argument *a = &c->argument[place];
            if (f->fixed[i].value)
                snprintf(out, size, "%s", f->fixed[i].value);
            else
                snprintf(out, size, "%.*s", a->size < size ? (int)a->size : (int)size - 1, a->text);
        }
        place += !f->fixed[i].value;
    }
    for (char *p = out; *p; p++) /* a word, or the next one of the line would be lost */
        if (isspace((unsigned char)*p))
            *p = '_';
}

/* One line; what a source has on several is joined. */
static void wpp_add_expression(struct text *out, const char *p)
{
    for (bool blank = false; *p; p++) {
        if (isspace((unsigned char)*p) || (unsigned char)*p < ' ') {
            blank = true;
            continue;
        }
        if (blank)
            text_add(out, " ", 1);
        blank = false;
        text_add(out, p, 1);
    }
}

void wpp_format_write(const struct wpp_source *s, struct text *out)
{
    static const char *const words[][2] = {{"LEVEL", "LEVEL"}, {"FLAGS", "FLAGS"}, {"FLAG", "FLAGS"}};

    for (unsigned i = 0; i < s->calls.count; i++) {
        const struct wpp_call *c = &s->calls.at[i];
        char                   word[WPP_NAME];
        text_printf(out, "#typev %s%u %u \"%s\" //  ", s->tag, c->line, TMF_FIRST_VALUE + i, c->text);
        for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
            wpp_condition(c, words[k][0], word, sizeof word);
            if (*word)
                text_printf(out, " %s=%s", words[k][1], word);
        }
        if (*c->in_function)
            text_printf(out, " FUNC=%s", c->in_function);
        text_printf(out, "\n{\n");
        for (unsigned v = 0; v < c->value_count; v++) {
            wpp_add_expression(out, c->value[v].expression);
            text_printf(out, ", %s -- %u\n", c->value[v].item, TMF_FIRST_VALUE + v);
        }
        text_printf(out, "}\n");
    }
}

/* ---- the header ---- */

static void wpp_literal_write(const struct text *from, struct text *out)
{
    const char *p = text_get(from);
    text_add(out, "    \"", 5);
    for (size_t i = 0; i < from->length; i++) {
        if (p[i] == '\n')
            text_printf(out, "\\n\"%s", i + 1 < from->length ? "\n    \"" : "");
        else if (p[i] == '"' || p[i] == '\\')
            text_printf(out, "\\%c", p[i]);
        else if (p[i] == '?' && i && p[i - 1] == '?')
            text_add(out, "\\?", 2); /* no trigraph */
        else
            text_add(out, &p[i], 1);
    }
}

static void wpp_signature(const struct wpp_call *c, char *out)
{
    unsigned n = 0;
    for (; n < c->value_count; n++)
        out[n] = c->value[n].kind;
    out[n] = 0;
}

/* A function for each list of types, once in a program's source. */
static void wpp_function_write(const struct wpp_call *c, struct text *out)
{
    char name[WPP_ARGUMENTS + 1];
    wpp_signature(c, name);
    text_printf(out,
                "#ifndef WPP_SF_%s_IS_THERE\n#define WPP_SF_%s_IS_THERE\n__attribute__((unused)) static inline void "
                "WPP_SF_%s(TRACEHANDLE Logger, USHORT Number, const GUID *Message",
                name, name, name);
    for (unsigned i = 0; i < c->value_count; i++) {
        const char *type = wpp_kind_type(c->value[i].kind);
        text_printf(out, ", %s%sa%u", type, type[strlen(type) - 1] == '*' ? "" : " ", i + 1);
    }
    text_printf(out, ")\n{\n    TraceMessage(Logger, AUTOLOGGER_WPP_FLAGS, Message, Number");
    for (unsigned i = 0; i < c->value_count; i++)
        text_printf(out, ", AUTOLOGGER_WPP_PUT_%c(a%u)", c->value[i].kind, i + 1);
    text_printf(out, ", (void *)0);\n}\n#endif\n");
}

/* "LEVEL_FLAGS": the macros WPP_LEVEL_FLAGS_ENABLED, ..._LOGGER, ..._PRE and ..._POST. */
static void wpp_conditions_name(const struct wpp_function *f, char out[WPP_NAME * 2])
{
    size_t n = 0;
    *out     = 0;
    for (unsigned i = 0; i < f->fixed_count; i++)
        n += (size_t)snprintf(out + n, n < WPP_NAME * 2 ? WPP_NAME * 2 - n : 0, "%s%s", i ? "_" : "", f->fixed[i].name);
}

static void wpp_conditions_values(const struct wpp_function *f, struct text *out)
{
    for (unsigned i = 0; i < f->fixed_count; i++)
        text_printf(out, "%s%s", i ? ", " : "", f->fixed[i].value ? f->fixed[i].value : f->fixed[i].name);
}

/* The conditions of a function; those that no header defines are an error of the compiler's, with words. */
static void wpp_conditions_write(const struct wpp_function *f, struct text *out)
{
    char name[WPP_NAME * 2];
    wpp_conditions_name(f, name);
    text_printf(
        out,
        "#if !defined(WPP_%s_ENABLED) || !defined(WPP_%s_LOGGER)\n#error \"WPP_%s_ENABLED(...) or "
        "WPP_%s_LOGGER(...) is not defined, and %s (%s:%u) needs both. Do: define them before the .tmh, by means "
        "of WPP_LEVEL_ENABLED and WPP_LEVEL_LOGGER\"\n#endif\n",
        name, name, name, name, f->name, f->file, f->line);
    text_printf(out,
                "#ifndef WPP_%s_PRE\n#define WPP_%s_PRE(...)\n#endif\n#ifndef WPP_%s_POST\n#define WPP_%s_POST(...)\n"
                "#endif\n",
                name, name, name, name);
    text_printf(out, "#undef %s\n", f->name);
}

/* The macro of a message: an expression, unless the user's PRE and POST are not. */
static void wpp_macro_write(const struct wpp_source *s, unsigned index, struct text *out)
{
    const struct wpp_call     *c = &s->calls.at[index];
    const struct wpp_function *f = c->function;
    char                       name[WPP_NAME * 2], signature[WPP_ARGUMENTS + 1];
    struct text                conditions = {0};
    unsigned                   n          = 0;

    wpp_conditions_name(f, name);
    wpp_conditions_values(f, &conditions);
    wpp_signature(c, signature);
    text_printf(out, "#define WPP_CALL_%s_%u(", s->tag, c->line);
    for (unsigned i = 0; i < f->fixed_count; i++)
        if (!f->fixed[i].value)
            text_printf(out, "%s%s", n++ ? ", " : "", f->fixed[i].name);
    if (f->message >= 0)
        text_printf(out, "%sMSG", n++ ? ", " : "");
    if (f->variable && f->message < 0)
        text_printf(out, "%s...", n++ ? ", " : "");
    for (unsigned i = 0; f->variable && f->message >= 0 && i < c->argument_count - (unsigned)f->message - 1; i++)
        text_printf(out, "%sa%u", n++ ? ", " : "", i + 1);
    const char *all = text_get(&conditions);
    text_printf(out,
                ") \\\n    WPP_%s_PRE(%s)((void)(WPP_%s_ENABLED(%s) ? (WPP_SF_%s(WPP_%s_LOGGER(%s) %u, &WPP_GUID_%s",
                name, all, name, all, signature, name, all, TMF_FIRST_VALUE + index, s->tag);
    for (unsigned i = 0; i < c->value_count; i++)
        text_printf(out, c->value[i].extended ? ", AUTOLOGGER_WPP_UNSIGNED(%s)" : ", (%s)", c->value[i].parameter);
    text_printf(out, "), 1) : 0)) WPP_%s_POST(%s)\n", name, all);
    text_finish(&conditions);
}

/* ---- lines ---- */

struct wpp_line {
    uint32_t line;
    unsigned call;
    bool     own; /* the line of its name; else one that another compiler may count */
};

static int wpp_line_order(const void *a, const void *b)
{
    const struct wpp_line *x = a, *y = b;
    return x->line != y->line ? (x->line > y->line) - (x->line < y->line) : (int)y->own - (int)x->own;
}

/* A compiler counts a message inside a macro's arguments at the first or the last line of these. */
static void wpp_lines_write(struct wpp_source *s, struct text *out)
{
    struct wpp_line *all = malloc((s->calls.count * 3ul + 1) * sizeof *all);
    size_t           n   = 0;

    if (!all) {
        out->failed = true;
        return;
    }
    for (unsigned i = 0; i < s->calls.count; i++) {
        const struct wpp_call *c = &s->calls.at[i];
        all[n++]                 = (struct wpp_line){c->line, i, true};
        all[n++]                 = (struct wpp_line){c->outer_first, i, false};
        all[n++]                 = (struct wpp_line){c->outer_last, i, false};
    }
    qsort(all, n, sizeof *all, wpp_line_order);
    for (size_t i = 0; i < n; i++) {
        const struct wpp_line *l = &all[i], *before = i ? &all[i - 1] : NULL;
        if (before && before->line == l->line) {
            s->place.line = l->line;
            if (l->own)
                wpp_wrong(&s->place, true, "put the second one on a line of its own", "two messages are on one line");
            continue;
        }
        if (!l->own)
            text_printf(out, "#define WPP_CALL_%s_%u WPP_CALL_%s_%u\n", s->tag, l->line, s->tag,
                        s->calls.at[l->call].line);
    }
    free(all);
}

void wpp_header_write(struct wpp_source *s, const struct guid *guid, const struct text *format, struct text *out)
{
    text_printf(out,
                "/* Made by autologger wpp of %s. Do not edit: make it again. */\n#include <autologger_wpp.h>\n"
                "#pragma GCC diagnostic push\n#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n"
                "__attribute__((unused)) static const GUID WPP_GUID_%s = {0x%08x, 0x%04x, 0x%04x, {",
                s->file, s->tag, guid->data1, guid->data2, guid->data3);
    for (unsigned i = 0; i < sizeof guid->data4; i++)
        text_printf(out, "%s0x%02x", i ? ", " : "", guid->data4[i]);
    text_printf(out, "}};\nAUTOLOGGER_WPP_SECTION static const char WPP_TMF_%s[] =\n", s->tag);
    wpp_literal_write(format, out);
    text_printf(out, ";\n#pragma GCC diagnostic pop\n");
    for (unsigned i = 0; i < s->calls.count; i++)
        wpp_function_write(&s->calls.at[i], out);
    for (unsigned f = 0; f < s->config->functions.count; f++) {
        const struct wpp_function *function = &s->config->functions.at[f];
        bool                       used     = false;
        for (unsigned i = 0; i < s->calls.count; i++)
            used |= s->calls.at[i].function == function;
        if (used)
            wpp_conditions_write(function, out);
        if (used)
            text_printf(out, "#define %s WPP_CALL_AT(%s, __LINE__)\n", function->name, s->tag);
    }
    for (unsigned i = 0; i < s->calls.count; i++)
        wpp_macro_write(s, i, out);
    wpp_lines_write(s, out);
}

/* ---- a source ---- */

/* "dir/web-server.c" -> "web_server_c" */
static const char *wpp_tag(struct pool *pool, const char *file)
{
    const char *slash = strrchr(file, '/');
    char        tag[WPP_NAME];
    size_t      n = 0;

    for (const char *p = slash ? slash + 1 : file; *p && n < sizeof tag - 2; p++) {
        if (n == 0 && isdigit((unsigned char)*p))
            tag[n++] = '_';
        tag[n++] = isalnum((unsigned char)*p) ? *p : '_';
    }
    return pool_text(pool, tag, n);
}

static struct guid wpp_guid(const char *module, const char *file, const struct text *format)
{
    struct sha1 h;
    uint8_t     digest[20];
    struct guid guid;

    sha1_init(&h);
    sha1_update(&h, module, strlen(module) + 1);
    sha1_update(&h, file, strlen(file) + 1);
    sha1_update(&h, text_get(format), format->length);
    sha1_final(&h, digest);
    memcpy(&guid, digest, sizeof guid);
    guid.data3    = (uint16_t)((guid.data3 & 0x0FFF) | 0x5000); /* a GUID made of a hash */
    guid.data4[0] = (uint8_t)((guid.data4[0] & 0x3F) | 0x80);
    return guid;
}

static wstatus wpp_write(struct wpp_source *s, struct wpp_made *out, struct reason *why)
{
    struct text messages = {0};
    char        word[GUID_TEXT_SIZE];

    wpp_format_write(s, &messages);
    out->messages = s->calls.count;
    for (unsigned i = 0; i < s->calls.count; i++)
        out->values += s->calls.at[i].value_count;
    out->guid = wpp_guid(s->module, s->file, &messages);
    guid_format(&out->guid, word);
    text_printf(&out->format, "%.36s %s // SRC=", word + 1, s->module);
    for (const char *p = s->file; *p; p++) /* one word */
        text_add(&out->format, isspace((unsigned char)*p) ? "_" : p, 1);
    text_printf(&out->format, " MJ= MN=\n");
    text_add(&out->format, text_get(&messages), messages.length);
    out->format.failed |= messages.failed;
    text_finish(&messages);
    wpp_header_write(s, &out->guid, &out->format, &out->header);
    if (pool_failed(s->pool) || out->format.failed || out->header.failed)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the messages of %s", s->file);
    return W_SUCCESS;
}

wstatus wpp_make(const struct wpp_config *c, const char *module, const char *file, const char *text, size_t size,
                 struct manifest_problems *problems, struct wpp_made *out, struct reason *why)
{
    const char       *slash  = strrchr(file, '/');
    const unsigned    before = problems->errors;
    struct pool      *pool   = pool_new(MANIFEST_MEMORY_MAX);
    struct wpp_source s      = {.config = c,
                                .pool   = pool,
                                .module = module,
                                .file   = slash ? slash + 1 : file,
                                .place  = {.file = file, .problems = problems}};
    wstatus           st     = W_SUCCESS;

    *out = (struct wpp_made){0};
    if (!pool || !(s.tag = wpp_tag(pool, file))) {
        st = reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the messages of %s", file);
    } else {
        wpp_scan(&s, text, size);
        st           = wpp_write(&s, out, why);
        s.place.line = 1;
        if (!st && s.calls.count && !s.includes_header)
            wpp_wrong(&s.place, false, "include it behind the header that defines WPP_CONTROL_GUIDS",
                      "the source has messages and includes no .tmh");
    }
    if (!st && problems->errors > before)
        st = reason_set(why, W_INVALID_DATA, "%s has %u mistake%s", file, problems->errors - before,
                        problems->errors - before == 1 ? "" : "s");
    pool_free(pool);
    return st;
}

void wpp_made_finish(struct wpp_made *m)
{
    text_finish(&m->header);
    text_finish(&m->format);
}
