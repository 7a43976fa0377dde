#include "autologger/schema/mc_private.h"

#include "autologger/schema/manifest_pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { BITS_MAX = 65535 };

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

/* ---- the header ---- */

/* Writes `s` into a comment: line ends, and the '*' of a comment's end, become blanks. */
static void comment_text(struct text *out, const char *s)
{
    for (; s && *s; s++)
        text_printf(out, "%c", *s == '\n' || *s == '\r' || (*s == '*' && s[1] == '/') ? ' ' : *s);
}

static void constant(struct text *out, struct mc_names *names, const char *provider, const char *kind,
                     const struct manifest_item *i, bool wide)
{
    char name[MC_NAME], part[MC_NAME];

    if (i->symbol)
        snprintf(name, sizeof name, "%s", i->symbol);
    else
        snprintf(name, sizeof name, "%s_%s_%s", provider, kind, mc_name(i->name ? i->name : "", part));
    if (!mc_names_constant(names, name, i->value, i->line))
        return;
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

static void constants(struct text *out, struct mc_names *names, const char *symbol, const struct manifest_provider *p)
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
        if (!k.symbol && o->task >= 0) { /* opcodes of different tasks may share a name */
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
            if (!mc_names_object(names, name, p->tasks.at[i].item.line))
                continue;
            text_printf(out, "static const GUID %s __attribute__((unused)) = ", name);
            guid_text(out, &p->tasks.at[i].guid);
            text_printf(out, ";\n");
        }
    }
    for (unsigned i = 0; i < p->keywords.count; i++)
        constant(out, names, symbol, "KEYWORD", &p->keywords.at[i], true);
    for (unsigned i = 0; i < p->maps.count; i++)
        for (unsigned k = 0; k < p->maps.at[i].entries.count; k++) { /* the map's symbol, then the entry's */
            struct manifest_item entry = p->maps.at[i].entries.at[k];
            snprintf(name, sizeof name, "%.120s%.120s", p->maps.at[i].item.symbol ? p->maps.at[i].item.symbol : "",
                     entry.symbol ? entry.symbol : "");
            if (!entry.symbol)
                continue;
            entry.symbol = name;
            constant(out, names, symbol, "MAP", &entry, false);
        }
}

/* Events of one level and keywords share a bit in the context. */
struct mc_header_bits {
    struct bit {
        uint64_t keyword;
        uint8_t  level;
    } * at;
    unsigned count;
};

static struct mc_header_bits bits_of(const struct manifest_provider *p)
{
    struct mc_header_bits b = {calloc(p->events.count + 1, sizeof *b.at), 0};

    for (unsigned i = 0; i < p->events.count && b.at; i++) {
        const struct manifest_event *e = &p->events.at[i];
        unsigned                     k = 0;
        while (k < b.count && (b.at[k].keyword != e->keyword || b.at[k].level != e->level))
            k++;
        if (k == b.count && b.count < BITS_MAX)
            b.at[b.count++] = (struct bit){e->keyword, e->level};
    }
    return b;
}

static void bits_code(struct text *out, const struct manifest_provider *p, const char *symbol)
{
    struct mc_header_bits b = bits_of(p);

    text_printf(out, "static const ULONGLONG %sKeywords[%u] __attribute__((unused)) = {", symbol, b.count + !b.count);
    for (unsigned i = 0; i < b.count; i++)
        text_printf(out, "%sUINT64_C(0x%llx)", i ? ", " : "", (unsigned long long)b.at[i].keyword);
    text_printf(out, "%s};\nstatic const UCHAR %sLevels[%u] __attribute__((unused)) = {", b.count ? "" : "0", symbol,
                b.count + !b.count);
    for (unsigned i = 0; i < b.count; i++)
        text_printf(out, "%s%u", i ? ", " : "", b.at[i].level);
    text_printf(
        out,
        "%s};\nAUTOLOGGER_EXTERN ULONG %sEnableBits[%u] __attribute__((weak, visibility(\"hidden\")));\nULONG %sEnableBits[%u] = {0};\n"
        "AUTOLOGGER_EXTERN MCGEN_TRACE_CONTEXT %s_Context __attribute__((weak, visibility(\"hidden\")));\n"
        "MCGEN_TRACE_CONTEXT %s_Context = {0, 0, 0, 0, 0, 0, 0, 0, %u, %sEnableBits, %sKeywords, %sLevels, &%s_Provider};\n",
        b.count ? "" : "0", symbol, b.count / 32 + 1, symbol, b.count / 32 + 1, symbol, symbol, b.count, symbol, symbol,
        symbol, symbol);
    free(b.at);
}

/* The provider, its handle and its registration macros. All files of a program or library share one storage: the linker
 * keeps one copy. */
static void provider_storage(struct text *out, struct mc_names *names, const struct manifest_provider *p,
                             const char *symbol)
{
    static const char *const objects[] = {"", "_Context", "_Provider", "EnableBits", "Keywords", "Levels"};
    char                     name[MC_NAME];

    for (unsigned i = 0; i < sizeof objects / sizeof *objects; i++) {
        snprintf(name, sizeof name, "%.230s%s", symbol, objects[i]);
        mc_names_object(names, name, p->line);
    }
    mc_name(p->name, name);
    text_printf(out, "\n/* ---- provider ");
    comment_text(out, p->name);
    text_printf(out, " ---- */\nstatic const GUID %s __attribute__((unused)) = ", symbol);
    guid_text(out, &p->guid);
    text_printf(
        out,
        ";\nAUTOLOGGER_EXTERN struct _tlgProvider_t %s_Provider __attribute__((weak, visibility(\"hidden\")));\n"
        "struct _tlgProvider_t %s_Provider = {0, 0, 0, 0, 0, NULL, ",
        symbol, symbol);
    guid_text(out, &p->guid);
    text_printf(out, "};\n");
    bits_code(out, p, symbol);
    text_printf(
        out,
        "/* 0, also when it was registered before; Ex: with a callback of one's own, once for each session that enables it */\n"
        "#define EventRegister%s() McGenEventRegister(&%s, MCGEN_CONTROL_CALLBACK, &%s_Context, &%s_Context.RegistrationHandle)\n"
        "#define EventRegister%sEx(callback, context) _McRegister(&%s_Context, callback, context)\n"
        "#define EventUnregister%s() McGenEventUnregister(&%s_Context.RegistrationHandle)\n",
        name, symbol, symbol, symbol, name, symbol, name, symbol);
}

/* The code of an event: first what its macro needs, then the macro. Templates of one shape share a function. */
static void event_code(struct text *out, struct mc_names *names, const struct manifest *m,
                       const struct manifest_provider *p, const struct manifest_event *e, const char *provider,
                       const struct mc_options *how)
{
    const char                     *write = how->prefix ? how->prefix : "EventWrite";
    const struct manifest_template *t     = e->template_index >= 0 ? &p->templates.at[e->template_index] : NULL;
    const char                     *text  = manifest_text_get(m, &e->item.message, 0);
    char                            name[MC_NAME];
    struct text                     function = {0}, arguments = {0};

    mc_event_symbol(p, e, name);
    if (how->strip && *how->strip && strncasecmp(name, how->strip, strlen(how->strip)) == 0 && name[strlen(how->strip)])
        memmove(name, name + strlen(how->strip), strlen(name) + 1 - strlen(how->strip));
    if (!mc_names_object(names, name, e->item.line))
        return;
    text_printf(out, "\n");
    if (text) {
        text_printf(out, "/* ");
        comment_text(out, text);
        text_printf(out, " */\n");
    }
    text_printf(
        out,
        "static const EVENT_DESCRIPTOR %s __attribute__((unused)) = {0x%x, 0x%x, 0x%x, 0x%x, 0x%x, 0x%x, UINT64_C(0x%llx)};\n#define %s_value 0x%x\n",
        name, (unsigned)e->item.value, e->version, e->channel, e->level, e->opcode, e->task,
        (unsigned long long)e->keyword, name, (unsigned)e->item.value);
    text_printf(out, "#define EventEnabled%s() TraceLoggingProviderEnabled(&%s_Provider, 0x%x, UINT64_C(0x%llx))\n",
                name, provider, e->level, (unsigned long long)e->keyword);
    if (mc_descriptors(t) > MC_DESCRIPTORS_MAX) {
        text_printf(out,
                    "/* no %s%s(): an event has at most %d data descriptors; put them together and use EventWrite */\n",
                    write, name, MC_DESCRIPTORS_MAX);
        return;
    }
    mc_template_function(t, how->callout, out);
    mc_template_name(t, how->callout, &function);
    mc_arguments(t, name, &arguments);
    text_printf(out,
                "#define %s%s(%s) (__builtin_expect(EventEnabled%s(), 0) ? %s%s_AssumeEnabled(%s) : ERROR_SUCCESS)\n"
                "#define %s%s_AssumeEnabled(%s) %s(&%s_Provider, &%s",
                write, name, text_get(&arguments), name, write, name, text_get(&arguments), write, name,
                text_get(&arguments), text_get(&function), provider, name);
    /* each argument in parentheses, so that it may hold any expression */
    for (unsigned i = 0; i < arguments.length; i++)
        if (i == 0 || arguments.data[i - 1] == ' ') {
            size_t n = strcspn(arguments.data + i, ",");
            text_printf(out, ", (%.*s)", (int)n, arguments.data + i);
        }
    text_printf(out, ")\n");
    text_finish(&function);
    text_finish(&arguments);
}

wstatus mc_header(const struct manifest *m, const struct mc_options *how, struct manifest_problems *problems,
                  struct text *out, struct reason *why)
{
    char            guard[MC_NAME], symbol[MC_NAME];
    struct mc_names names = {.file = m->origin, .problems = problems};

    problems->errors = problems->warnings = 0;
    if (m->kind != MANIFEST_EVENTS)
        return reason_set(
            why, W_INVALID_DATA,
            "%s is no instrumentation manifest, so no header is made of it. Do: install it, and write its "
            "events with %s",
            m->origin, m->kind == MANIFEST_MESSAGES ? "the headers of autologger wpp" : "TraceEvent");
    mc_name(how->base, guard);
    text_printf(out, "/* ");
    comment_text(out, how->base);
    text_printf(
        out,
        ".h - events of an instrumentation manifest; made by: autologger mc\n * Register once, then write; while nobody listens, a write is one compare and "
        "one branch, and its arguments are not evaluated.\n * Link with -lautologger, and link %s_metadata.c too: it has the names and messages of the events. */\n"
        "#ifndef _AUTOLOGGER_MC_%s_H\n#define _AUTOLOGGER_MC_%s_H\n#include <TraceLoggingProvider.h>\n\n",
        how->base, guard, guard);
    mc_common(out);
    for (unsigned i = 0; i < m->providers.count; i++) {
        const struct manifest_provider *p = &m->providers.at[i];
        mc_provider_symbol(p, symbol);
        provider_storage(out, &names, p, symbol);
        constants(out, &names, symbol, p);
        for (unsigned k = 0; k < p->events.count; k++)
            event_code(out, &names, m, p, &p->events.at[k], symbol, how);
    }
    text_printf(out, "#endif\n");
    bool failed = names.failed || out->failed;
    mc_names_finish(&names);
    if (failed)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the header");
    if (problems->errors)
        return reason_set(why, W_INVALID_DATA, "%s has %u mistake%s", m->origin, problems->errors,
                          problems->errors == 1 ? "" : "s");
    return W_SUCCESS;
}

wstatus mc_check(const struct manifest *m, struct manifest_problems *problems, struct reason *why)
{
    struct text ignored = {0};
    if (m->kind != MANIFEST_EVENTS) { /* it has no C names to clash */
        problems->errors = problems->warnings = 0;
        return W_SUCCESS;
    }
    wstatus st = mc_header(m, &(struct mc_options){.base = "check"}, problems, &ignored, why);
    text_finish(&ignored);
    return st;
}

wstatus mc_metadata(const struct manifest *m, const char *base, struct text *out, struct reason *why)
{
    struct text packed = {0};
    char        name[MC_NAME];
    bool        fine = manifest_pack_all(m, &packed);

    mc_name(base, name);
    text_printf(
        out,
        "/* the names and messages of the events of %s; made by: autologger mc. Link it into the program: tools read it from there. */\n"
        "#if defined(__has_attribute)\n#if __has_attribute(retain)\n#define _MC_KEPT used, retain\n#endif\n#endif\n#ifndef _MC_KEPT\n#define _MC_KEPT used\n"
        "#endif\nstatic const unsigned char autologger_manifest_%s[%zu] __attribute__((section(\"" MANIFEST_SECTION
        "\"), aligned(8), _MC_KEPT)) = {",
        base, name, packed.length);
    for (size_t i = 0; i < packed.length; i++)
        text_printf(out, "%s%u,", i % 24 ? "" : "\n    ", (unsigned char)packed.data[i]);
    text_printf(out, "\n};\n");
    text_finish(&packed);
    return fine && !out->failed ? W_SUCCESS : reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the metadata");
}
