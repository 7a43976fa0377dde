#include "autologger/schema/mc_private.h"

#include "autologger/schema/manifest_pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *mc_name(const char *name, char out[MC_NAME])
{
    size_t n = 0;

    for (; name[n] && n < MC_NAME - 1; n++) {
        char c = name[n];
        out[n] = (char)(((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || (c >= '0' && c <= '9') ? c : '_');
    }
    out[n] = 0;
    return out;
}

const char *mc_provider_symbol(const struct manifest_provider *p, char out[MC_NAME])
{
    if (!p->symbol)
        return mc_name(p->name, out);
    snprintf(out, MC_NAME, "%s", p->symbol);
    return out;
}

const char *mc_event_symbol(const struct manifest_provider *p, const struct manifest_event *e, char out[MC_NAME])
{
    char provider[MC_NAME];

    if (e->item.symbol)
        snprintf(out, MC_NAME, "%s", e->item.symbol);
    else if (e->version)
        snprintf(out, MC_NAME, "%s_Event%u_v%u", mc_provider_symbol(p, provider), (unsigned)e->item.value, e->version);
    else
        snprintf(out, MC_NAME, "%s_Event%u", mc_provider_symbol(p, provider), (unsigned)e->item.value);
    return out;
}

/* ---- each name once ---- */

struct names {
    struct name {
        char    *text;
        uint32_t line;
    }       *at;
    unsigned count, room;
    bool     failed;
};

static void names_add(struct names *n, const char *text, uint32_t line)
{
    if (n->count == n->room) {
        unsigned     room = n->room ? n->room * 2 : 256;
        struct name *more = realloc(n->at, room * sizeof *more);
        if (!more) {
            n->failed = true;
            return;
        }
        n->at   = more;
        n->room = room;
    }
    n->at[n->count] = (struct name){strdup(text), line};
    n->failed |= !n->at[n->count].text;
    n->count += n->at[n->count].text != NULL;
}

static int name_order(const void *a, const void *b)
{
    const struct name *x = a, *y = b;
    int                n = strcmp(x->text, y->text);
    return n ? n : (x->line > y->line) - (x->line < y->line);
}

static wstatus names_finish(struct names *n, const char *file, wstatus st, struct reason *why)
{
    if (n->count)
        qsort(n->at, n->count, sizeof *n->at, name_order);
    for (unsigned i = 1; i < n->count && !st; i++)
        if (strcmp(n->at[i].text, n->at[i - 1].text) == 0)
            st = reason_set(why, W_INVALID_DATA, "%s:%u: the C name %s is taken by line %u. Do: give one of them another symbol", file, n->at[i].line,
                            n->at[i].text, n->at[i - 1].line);
    if (n->failed && !st)
        st = reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the header");
    for (unsigned i = 0; i < n->count; i++)
        free(n->at[i].text);
    free(n->at);
    return st;
}

/* ---- the header ---- */

/* What may not end a comment. */
static void comment_text(struct text *out, const char *s)
{
    for (; s && *s; s++)
        text_printf(out, "%c", *s == '\n' || *s == '\r' || (*s == '*' && s[1] == '/') ? ' ' : *s);
}

static void constant(struct text *out, struct names *names, const char *provider, const char *kind, const struct manifest_item *i, bool wide)
{
    char name[MC_NAME], part[MC_NAME];

    if (i->symbol)
        snprintf(name, sizeof name, "%s", i->symbol);
    else
        snprintf(name, sizeof name, "%s_%s_%s", provider, kind, mc_name(i->name ? i->name : "", part));
    names_add(names, name, i->line);
    if (wide)
        text_printf(out, "#define %s UINT64_C(0x%llx)\n", name, (unsigned long long)i->value);
    else
        text_printf(out, "#define %s 0x%llx\n", name, (unsigned long long)i->value);
}

static void guid_text(struct text *out, const struct guid *g)
{
    text_printf(out, "{0x%08x, 0x%04x, 0x%04x, {", g->data1, g->data2, g->data3);
    for (int i = 0; i < 8; i++)
        text_printf(out, "%s0x%02x", i ? ", " : "", g->data4[i]);
    text_printf(out, "}}");
}

static void constants(struct text *out, struct names *names, const char *symbol, const struct manifest_provider *p)
{
    char name[MC_NAME], part[MC_NAME];

    text_printf(out, "\n/* channels, and the bit each has in the keyword of its events */\n");
    for (unsigned i = 0; i < p->channels.count; i++) {
        const struct manifest_channel *c = &p->channels.at[i];
        struct manifest_item           k = c->item;
        constant(out, names, symbol, "CHANNEL", &c->item, false);
        if (c->item.symbol)
            snprintf(name, sizeof name, "%.240s_KEYWORD", c->item.symbol);
        else
            snprintf(name, sizeof name, "%.80s_CHANNEL_%.120s_KEYWORD", symbol, mc_name(c->item.name, part));
        k.symbol = name;
        k.value  = c->keyword;
        constant(out, names, symbol, "CHANNEL", &k, true);
    }
    text_printf(out, "\n/* levels, opcodes, tasks, keywords */\n");
    for (unsigned i = 0; i < p->levels.count; i++)
        constant(out, names, symbol, "LEVEL", &p->levels.at[i], false);
    for (unsigned i = 0; i < p->opcodes.count; i++) {
        const struct manifest_opcode *o = &p->opcodes.at[i];
        struct manifest_item          k = o->item;
        if (!k.symbol && o->task >= 0) { /* tasks may have opcodes of one name */
            snprintf(name, sizeof name, "%.80s_OPCODE_%.80s_", symbol, mc_name(p->tasks.at[o->task].item.name, part));
            const size_t used = strlen(name);
            snprintf(name + used, sizeof name - used, "%s", mc_name(k.name, part));
            k.symbol = name;
        }
        constant(out, names, symbol, "OPCODE", &k, false);
    }
    for (unsigned i = 0; i < p->tasks.count; i++) {
        constant(out, names, symbol, "TASK", &p->tasks.at[i].item, false);
        if (p->tasks.at[i].has_guid && p->tasks.at[i].item.symbol) {
            snprintf(name, sizeof name, "%sId", p->tasks.at[i].item.symbol);
            names_add(names, name, p->tasks.at[i].item.line);
            text_printf(out, "static const GUID %s __attribute__((unused)) = ", name);
            guid_text(out, &p->tasks.at[i].guid);
            text_printf(out, ";\n");
        }
    }
    for (unsigned i = 0; i < p->keywords.count; i++)
        constant(out, names, symbol, "KEYWORD", &p->keywords.at[i], true);
    for (unsigned i = 0; i < p->maps.count; i++)
        for (unsigned k = 0; k < p->maps.at[i].entries.count; k++)
            if (p->maps.at[i].entries.at[k].symbol)
                constant(out, names, symbol, "MAP", &p->maps.at[i].entries.at[k], false);
}

/* The provider, its handle, and what registers it. One storage for all files of a program or library: the linker keeps one of them. */
static void provider_storage(struct text *out, struct names *names, const struct manifest_provider *p, const char *symbol)
{
    char name[MC_NAME];

    mc_name(p->name, name);
    names_add(names, symbol, p->line);
    text_printf(out, "\n/* ---- provider ");
    comment_text(out, p->name);
    text_printf(out, " ---- */\nstatic const GUID %s __attribute__((unused)) = ", symbol);
    guid_text(out, &p->guid);
    text_printf(out,
                ";\nAUTOLOGGER_EXTERN struct _tlgProvider_t %s_Context __attribute__((weak, visibility(\"hidden\")));\n"
                "struct _tlgProvider_t %s_Context = {0, 0, 0, 0, 0, NULL, ",
                symbol, symbol);
    guid_text(out, &p->guid);
    text_printf(out,
                "};\n/* 0, also when it was registered before; Ex: with a callback, once for each session that enables it */\n"
                "#define EventRegister%s() (%s_Context.RegHandle ? ERROR_SUCCESS : _tlgRegister(&%s_Context, NULL, NULL))\n"
                "#define EventRegister%sEx(callback, context) (%s_Context.RegHandle ? ERROR_SUCCESS : _tlgRegister(&%s_Context, callback, context))\n"
                "#define EventUnregister%s() _tlgUnregister(&%s_Context)\n",
                name, symbol, symbol, name, symbol, symbol, name, symbol);
}

/* What the macro needs, before the macro: templates of one shape share a function. */
static void event_code(struct text *out, struct names *names, const struct manifest *m, const struct manifest_provider *p, const struct manifest_event *e,
                       const char *provider)
{
    const struct manifest_template *t    = e->template_index >= 0 ? &p->templates.at[e->template_index] : NULL;
    const char                     *text = manifest_text_get(m, &e->item.message, 0);
    char                            name[MC_NAME];
    struct text                     function = {0}, arguments = {0};

    mc_event_symbol(p, e, name);
    names_add(names, name, e->item.line);
    text_printf(out, "\n");
    if (text) {
        text_printf(out, "/* ");
        comment_text(out, text);
        text_printf(out, " */\n");
    }
    text_printf(out,
                "static const EVENT_DESCRIPTOR %s __attribute__((unused)) = {0x%x, 0x%x, 0x%x, 0x%x, 0x%x, 0x%x, UINT64_C(0x%llx)};\n#define %s_value 0x%x\n",
                name, (unsigned)e->item.value, e->version, e->channel, e->level, e->opcode, e->task, (unsigned long long)e->keyword, name,
                (unsigned)e->item.value);
    text_printf(out, "#define EventEnabled%s() TraceLoggingProviderEnabled(&%s_Context, 0x%x, UINT64_C(0x%llx))\n", name, provider, e->level,
                (unsigned long long)e->keyword);
    if (mc_descriptors(t) > MC_DESCRIPTORS_MAX) {
        text_printf(out, "/* no EventWrite%s(): an event has at most %d data descriptors; put them together and use EventWrite */\n", name, MC_DESCRIPTORS_MAX);
        return;
    }
    mc_template_function(t, out);
    mc_template_name(t, &function);
    mc_arguments(t, name, &arguments);
    text_printf(out,
                "#define EventWrite%s(%s) (__builtin_expect(EventEnabled%s(), 0) ? EventWrite%s_AssumeEnabled(%s) : ERROR_SUCCESS)\n"
                "#define EventWrite%s_AssumeEnabled(%s) %s(&%s_Context, &%s",
                name, text_get(&arguments), name, name, text_get(&arguments), name, text_get(&arguments), text_get(&function), provider, name);
    for (unsigned i = 0; i < arguments.length; i++) /* each argument in parentheses, so that it may hold any expression */
        if (i == 0 || arguments.data[i - 1] == ' ') {
            size_t n = strcspn(arguments.data + i, ",");
            text_printf(out, ", (%.*s)", (int)n, arguments.data + i);
        }
    text_printf(out, ")\n");
    text_finish(&function);
    text_finish(&arguments);
}

static void strings_code(struct text *out)
{
    text_printf(out, "#ifndef _MC_STRINGS_def\n#define _MC_STRINGS_def\n"
                     "/* strings with their NUL; of a NULL, what Windows' headers write */\n"
                     "static __attribute__((unused)) const WCHAR _McNull16[5] = {'N', 'U', 'L', 'L', 0};\n"
                     "FORCEINLINE const WCHAR *_McText16(const WCHAR *s) { return s ? s : _McNull16; }\n"
                     "FORCEINLINE const char *_McText(const char *s) { return s ? s : \"NULL\"; }\n"
                     "FORCEINLINE ULONG _McSize(const char *s) { return (ULONG)strlen(_McText(s)) + 1; }\n"
                     "FORCEINLINE ULONG _McSize16(const WCHAR *s)\n{\n    ULONG n = 0;\n    for (s = _McText16(s); s[n]; n++)\n        ;\n"
                     "    return (n + 1) * (ULONG)sizeof *s;\n}\n#endif\n");
}

wstatus mc_header(const struct manifest *m, const char *base, struct text *out, struct reason *why)
{
    char         guard[MC_NAME], symbol[MC_NAME];
    struct names names = {0};

    mc_name(base, guard);
    text_printf(out, "/* ");
    comment_text(out, base);
    text_printf(out,
                ".h - events of an instrumentation manifest; made by: autologger mc\n * Register once, then write; while nobody listens, a write is one compare and "
                "one branch, and its arguments are not evaluated.\n * Link with -lautologger, and link %s_metadata.c too: it has the names and messages of the events. */\n"
                "#ifndef _AUTOLOGGER_MC_%s_H\n#define _AUTOLOGGER_MC_%s_H\n#include <TraceLoggingProvider.h>\n\n",
                base, guard, guard);
    strings_code(out);
    for (unsigned i = 0; i < m->providers.count; i++) {
        const struct manifest_provider *p = &m->providers.at[i];
        mc_provider_symbol(p, symbol);
        provider_storage(out, &names, p, symbol);
        constants(out, &names, symbol, p);
        for (unsigned k = 0; k < p->events.count; k++)
            event_code(out, &names, m, p, &p->events.at[k], symbol);
    }
    text_printf(out, "#endif\n");
    wstatus st = names_finish(&names, m->origin, W_SUCCESS, why);
    return st ? st : out->failed ? reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the header") : W_SUCCESS;
}

wstatus mc_metadata(const struct manifest *m, const char *base, struct text *out, struct reason *why)
{
    struct text packed = {0};
    char        name[MC_NAME];
    bool        fine = manifest_pack_all(m, &packed);

    mc_name(base, name);
    text_printf(out,
                "/* the names and messages of the events of %s; made by: autologger mc. Link it into the program: tools read it from there. */\n"
                "#if defined(__has_attribute)\n#if __has_attribute(retain)\n#define _MC_KEPT used, retain\n#endif\n#endif\n#ifndef _MC_KEPT\n#define _MC_KEPT used\n"
                "#endif\nstatic const unsigned char autologger_manifest_%s[%zu] __attribute__((section(\"" MANIFEST_SECTION "\"), aligned(8), _MC_KEPT)) = {",
                base, name, packed.length);
    for (size_t i = 0; i < packed.length; i++)
        text_printf(out, "%s%u,", i % 24 ? "" : "\n    ", (unsigned char)packed.data[i]);
    text_printf(out, "\n};\n");
    text_finish(&packed);
    return fine && !out->failed ? W_SUCCESS : reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the metadata");
}
