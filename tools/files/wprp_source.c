#include "tools/files/wprp_source.h"

#include "autologger/kernel/tables/flags.h"
#include "autologger/schema/manifest_file.h"
#include "autologger/schema/xml_reader.h"
#include "registry-sim/text/encoding.h"
#include "registry-sim/text/textbuf.h"
#include "registry-sim/win32/guid.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define WPRP_ROOT "WindowsPerformanceRecorder"
enum { WPRP_NODES = 65536, WPRP_NAMES = 600, WPRP_HEAD = 4096, WPRP_VERBOSE = 5 };

/* An element; children in their order. */
struct wprp_node {
    char             *name;
    uint32_t          line;
    unsigned          attributes;
    char             *attribute[2 * XML_ATTRIBUTES]; /* name, value */
    struct wprp_node *parent, *first, *last, *next;
};
struct wprp_read {
    struct wprp_node  root, *at;
    unsigned          nodes, depth_lost; /* elements that were not kept */
    bool              failed, wrong;
    const char       *file;
    struct diag_sink *sink;
    struct textbuf    out;
};

/* ---- the document ---- */

static void wprp_begin(void *ctx, const struct xml_element *e)
{
    struct wprp_read *r = ctx;
    struct wprp_node *n = r->nodes < WPRP_NODES && !r->depth_lost ? calloc(1, sizeof *n) : NULL;
    if (!n) {
        r->depth_lost++;
        r->failed = true;
        return;
    }
    r->nodes++;
    *n = (struct wprp_node){.name = strdup(e->name), .line = e->line, .parent = r->at};
    for (unsigned i = 0; i < e->count; i++) {
        n->attribute[2 * i]     = strdup(e->attributes[i].name);
        n->attribute[2 * i + 1] = strdup(e->attributes[i].value);
        n->attributes           = i + 1;
        r->failed |= !n->attribute[2 * i] || !n->attribute[2 * i + 1];
    }
    r->failed |= !n->name;
    *(r->at->last ? &r->at->last->next : &r->at->first) = n;
    r->at->last                                         = n;
    r->at                                               = n;
}

static void wprp_end(void *ctx, const struct xml_element *e)
{
    struct wprp_read *r = ctx;
    (void)e;
    if (r->depth_lost)
        r->depth_lost--;
    else if (r->at->parent)
        r->at = r->at->parent;
}

static void wprp_text(void *ctx, const char *text, size_t length) { (void)ctx, (void)text, (void)length; }

static void wprp_wrong(void *ctx, uint32_t line, const char *what, const char *advice)
{
    struct wprp_read *r = ctx;
    r->wrong            = true;
    diag_report(r->sink, DIAG_ERROR, r->file, line, advice, "%s", what);
}

static void wprp_free(struct wprp_node *n)
{
    for (struct wprp_node *c = n->first, *next; c; c = next) {
        next = c->next;
        wprp_free(c);
        free(c);
    }
    for (unsigned i = 0; i < 2 * n->attributes; i++)
        free(n->attribute[i]);
    free(n->name);
}

static const char *wprp_value(const struct wprp_node *n, const char *name)
{
    for (unsigned i = 0; n && i < n->attributes; i++)
        if (strcmp(n->attribute[2 * i], name) == 0)
            return n->attribute[2 * i + 1];
    return NULL;
}

static const struct wprp_node *wprp_child(const struct wprp_node *n, const char *name)
{
    const struct wprp_node *c = n ? n->first : NULL;
    while (c && strcmp(c->name, name) != 0)
        c = c->next;
    return c;
}

/* The definition of that kind with that id, anywhere. */
static const struct wprp_node *wprp_find(const struct wprp_node *n, const char *name, const char *id)
{
    for (const struct wprp_node *c = n->first; c; c = c->next) {
        const char *own = wprp_value(c, "Id");
        if (own && id && strcmp(c->name, name) == 0 && strcasecmp(own, id) == 0)
            return c;
        const struct wprp_node *below = wprp_find(c, name, id);
        if (below)
            return below;
    }
    return NULL;
}

static void wprp_lacks(struct wprp_read *r, const struct wprp_node *n, const char *what)
{
    diag_report(r->sink, DIAG_WARNING, r->file, n->line, NULL, "%s has no counterpart and is left out", what);
}

/* A value of the file that becomes a word of INI: nothing in it may end the line. */
static bool wprp_plain(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || strchr("[];#\"=", *text))
            return false;
    return true;
}

/* ---- one collector ---- */

static void wprp_buffers(struct wprp_read *r, const struct wprp_node *collector)
{
    const struct wprp_node *size = wprp_child(collector, "BufferSize"), *count = wprp_child(collector, "Buffers");
    const char             *kb = wprp_value(size, "Value"), *number = wprp_value(count, "Value"),
               *share     = wprp_value(count, "PercentageOfTotalMemory");
    const unsigned long n = kb ? strtoul(kb, NULL, 10) : 0, m = number ? strtoul(number, NULL, 10) : 0;
    if (n >= 4 && n <= 16384)
        textbuf_printf(&r->out, "BufferSize = %lu KB\n", n);
    else if (size)
        wprp_lacks(r, size, "this BufferSize");
    if (share && strcasecmp(share, "true") == 0)
        wprp_lacks(r, count, "Buffers as a share of the memory");
    else if (m && m <= 1000000)
        textbuf_printf(&r->out, "MaximumBuffers = %lu\n", m);
}

struct wprp_word {
    const char *name, *ours;
};

static const char *wprp_flag(const char *keyword)
{
    static const struct wprp_word words[] = {
#define W(name, ours) {name, ours},
#include "tools/files/wprp_keywords.def"
#undef W
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(words[i].name, keyword) == 0)
            return words[i].ours;
    return NULL;
}

static const char *wprp_stack(const char *name)
{
    static const struct wprp_word words[] = {
#define W(name, ours) {name, ours},
#include "tools/files/wprp_stacks.def"
#undef W
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(words[i].name, name) == 0)
            return words[i].ours;
    for (unsigned hook = 1; hook < 0x10000; hook++)
        if (hook_name((uint16_t)hook) && strcasecmp(hook_name((uint16_t)hook), name) == 0)
            return hook_name((uint16_t)hook);
    return NULL;
}

/* "A+B" of the children's values by `translate`; what it does not know is reported. */
static void wprp_list(struct wprp_read *r, const char *name, const struct wprp_node *parent, bool stacks)
{
    bool any = false;
    for (const struct wprp_node *c = parent ? parent->first : NULL; c; c = c->next) {
        const char *value = wprp_value(c, "Value"),
                   *ours  = value ? stacks ? wprp_stack(value) : wprp_flag(value) : NULL;
        char what[128];
        if (!ours) {
            snprintf(what, sizeof what, "%s \"%.60s\"", stacks ? "the stack" : "the keyword", value ? value : "");
            wprp_lacks(r, c, what);
            continue;
        }
        textbuf_printf(&r->out, any ? "+" : "%s = ", name);
        textbuf_puts(&r->out, ours);
        any = true;
    }
    textbuf_puts(&r->out, any ? "\n" : "");
}

static void wprp_system(struct wprp_read *r, const struct wprp_node *use, bool memory)
{
    const struct wprp_node *collector = wprp_find(&r->root, "SystemCollector", wprp_value(use, "Value"));
    const struct wprp_node *provider =
        wprp_find(&r->root, "SystemProvider", wprp_value(wprp_child(use, "SystemProviderId"), "Value"));
    if (!collector || !provider) {
        diag_report(r->sink, DIAG_ERROR, r->file, use->line, "define both in this file",
                    "a SystemCollector or SystemProvider of this name is not defined");
        return;
    }
    if (wprp_value(provider, "Base"))
        wprp_lacks(r, provider, "a SystemProvider's Base");
    textbuf_puts(&r->out, "[GlobalLogger]\nStart = 1\n");
    wprp_buffers(r, collector);
    if (memory)
        textbuf_puts(&r->out, "LogFileMode = BUFFERING\n");
    wprp_list(r, "EnableKernelFlags", wprp_child(provider, "Keywords"), false);
    wprp_list(r, "StackWalkingFilter", wprp_child(provider, "Stacks"), true);
}

static void wprp_provider(struct wprp_read *r, const char *session, const struct wprp_node *p)
{
    const char *name = wprp_value(p, "Name"), *level = wprp_value(p, "Level"), *stack = wprp_value(p, "Stack");
    struct guid guid;
    char        braced[GUID_TEXT_SIZE];
    uint64_t    keywords = 0;
    if (!name || !*name || !wprp_plain(name) || strlen(name) > WPRP_NAMES || strpbrk(name, "/\\")) {
        diag_report(r->sink, DIAG_ERROR, r->file, p->line, "give it a Name", "an EventProvider has no usable Name");
        return;
    }
    if (guid_parse(name, &guid))
        name = guid_format(&guid, braced);
    textbuf_puts(&r->out, "[Autologger/");
    textbuf_puts(&r->out, session);
    textbuf_puts(&r->out, "/");
    textbuf_puts(&r->out, name);
    textbuf_puts(&r->out, "]\n");
    const unsigned long n = level ? strtoul(level, NULL, 0) : WPRP_VERBOSE;
    textbuf_printf(&r->out, "EnableLevel = %lu\n", n <= 255 ? n : WPRP_VERBOSE);
    const struct wprp_node *list = wprp_child(p, "Keywords");
    for (const struct wprp_node *k = list ? list->first : NULL; k; k = k->next)
        keywords |= wprp_value(k, "Value") ? strtoull(wprp_value(k, "Value"), NULL, 0) : 0;
    if (keywords)
        textbuf_printf(&r->out, "MatchAnyKeyword = 0x%" PRIx64 "\n", keywords);
    if (stack && strcasecmp(stack, "true") == 0)
        textbuf_puts(&r->out, "EnableProperty = STACK_TRACE\n");
    for (const struct wprp_node *c = p->first; c; c = c->next)
        if (strcmp(c->name, "Keywords") != 0)
            wprp_lacks(r, c, c->name);
}

static void wprp_events(struct wprp_read *r, const struct wprp_node *use, bool memory)
{
    const char             *id        = wprp_value(use, "Value");
    const struct wprp_node *collector = wprp_find(&r->root, "EventCollector", id),
                           *list      = wprp_child(use, "EventProviders");
    char   session[128];
    size_t n = 0;
    if (!collector) {
        diag_report(r->sink, DIAG_ERROR, r->file, use->line, "define it in this file",
                    "the EventCollector \"%s\" is not defined", id ? id : "");
        return;
    }
    for (const char *p = id; *p && n < sizeof session - 1; p++) /* a session's name has no separator */
        session[n++] = strchr("/\\[];#\"=", *p) || (unsigned char)*p < 0x20 ? '-' : *p;
    session[n] = 0;
    textbuf_puts(&r->out, "[Autologger/");
    textbuf_puts(&r->out, session);
    textbuf_puts(&r->out, "]\nStart = 1\n");
    wprp_buffers(r, collector);
    if (memory)
        textbuf_puts(&r->out, "LogFileMode = BUFFERING\n");
    for (const struct wprp_node *c = list ? list->first : NULL; c; c = c->next) {
        const struct wprp_node *p =
            strcmp(c->name, "EventProvider") == 0 ? c : wprp_find(&r->root, "EventProvider", wprp_value(c, "Value"));
        if (p)
            wprp_provider(r, session, p);
        else
            diag_report(r->sink, DIAG_ERROR, r->file, c->line, "define it in this file",
                        "an EventProvider that is used is not defined");
    }
}

/* ---- the profile ---- */

static bool wprp_is_memory(const struct wprp_node *profile)
{
    const char *mode = wprp_value(profile, "LoggingMode");
    return mode && strcasecmp(mode, "Memory") == 0;
}

/* The profile that is asked for. NULL: none, or several; `why` lists them. */
static const struct wprp_node *wprp_profile(const struct wprp_read *r, const char *wanted, struct reason *why)
{
    const struct wprp_node *list = wprp_child(wprp_child(&r->root, WPRP_ROOT), "Profiles"), *found = NULL;
    char                    names[WPRP_NAMES] = "";
    unsigned                matches           = 0;
    for (int files = !wanted; files >= 0 && matches != 1; files--) {
        matches = 0;
        for (const struct wprp_node *p = list ? list->first : NULL; p; p = p->next) {
            const char *id = wprp_value(p, "Id"), *name = wprp_value(p, "Name");
            if (strcmp(p->name, "Profile") != 0)
                continue;
            if (wanted ? (id && strcasecmp(id, wanted) == 0) || (name && strcasecmp(name, wanted) == 0)
                       : !files || !wprp_is_memory(p)) {
                found = p;
                matches++;
            }
            if (files == !wanted) {
                const size_t used = strlen(names);
                snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", id ? id : name ? name : "?");
            }
        }
    }
    if (matches == 1)
        return found;
    reason_set(why, W_NOT_FOUND, "%s: %s%s%s. Do: --profile with one of: %s", r->file,
               matches ? "several profiles" : "no profile", wanted ? " " : "", wanted ? wanted : "", names);
    return NULL;
}

static wstatus wprp_convert(struct wprp_read *r, const char *wanted, struct reason *why)
{
    const struct wprp_node *profile = wprp_profile(r, wanted, why);
    if (!profile)
        return W_NOT_FOUND;
    const bool memory = wprp_is_memory(profile);
    if (wprp_value(profile, "Base"))
        wprp_lacks(r, profile, "a Profile's Base");
    for (const struct wprp_node *c = profile->first; c; c = c->next)
        if (strcmp(c->name, "Collectors") != 0)
            wprp_lacks(r, c, c->name);
    const struct wprp_node *list = wprp_child(profile, "Collectors");
    for (const struct wprp_node *c = list ? list->first : NULL; c; c = c->next) {
        if (strcmp(c->name, "SystemCollectorId") == 0)
            wprp_system(r, c, memory);
        else if (strcmp(c->name, "EventCollectorId") == 0)
            wprp_events(r, c, memory);
        else
            wprp_lacks(r, c, c->name);
    }
    if (!r->out.size && !r->sink->errors)
        return reason_set(why, W_INVALID_DATA, "%s: the profile has no collectors", r->file);
    return r->out.bad ? reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for %s", r->file) : W_SUCCESS;
}

bool wprp_is(const char *path)
{
    char         head[WPRP_HEAD + 1];
    FILE        *f = fopen(path, "rbe");
    const size_t n = f ? fread(head, 1, WPRP_HEAD, f) : 0;
    if (f)
        fclose(f);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) /* UTF-16 has a NUL beside each letter */
        if (head[i])
            head[kept++] = head[i];
    head[kept] = 0;
    return strstr(head, "<" WPRP_ROOT) != NULL;
}

wstatus wprp_convert_text(const char *document, size_t length, const char *file, const char *profile, char **text,
                          size_t *size, struct diag_sink *sink, struct reason *why)
{
    struct wprp_read  r      = {.at = NULL, .file = file, .sink = sink};
    struct xml_walker walker = {wprp_begin, wprp_end, wprp_text, wprp_wrong, &r};
    const unsigned    before = sink->errors;
    r.at                     = &r.root;
    wstatus st               = xml_walk(document, length, &walker, why);
    if (!st && r.failed)
        st = reason_set(why, W_NOT_ENOUGH_MEMORY, "%s has too many elements, or there is no memory", file);
    if (!st && r.wrong)
        st = reason_set(why, W_INVALID_DATA, "%s is no XML", file);
    st = st ? st : wprp_convert(&r, profile, why);
    if (!st && sink->errors > before)
        st = reason_set(why, W_INVALID_DATA, "%s: nothing was imported", file);
    wprp_free(&r.root);
    *text = st ? NULL : r.out.data;
    *size = st ? 0 : r.out.size;
    if (st)
        textbuf_finish(&r.out);
    return st;
}

wstatus wprp_read(const char *path, const char *profile, char **text, size_t *size, struct diag_sink *sink,
                  struct reason *why)
{
    struct file_bytes bytes   = {0};
    char             *decoded = NULL;
    size_t            length  = 0;
    enum encoding     was;
    *text      = NULL;
    *size      = 0;
    wstatus st = file_bytes_read(path, &bytes, why);
    st         = st ? st : encoding_to_utf8(bytes.data, bytes.size, &decoded, &length, &was, why);
    st         = st ? st : wprp_convert_text(decoded, length, path, profile, text, size, sink, why);
    file_bytes_free(&bytes);
    free(decoded);
    return st;
}
