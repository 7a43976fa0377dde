/* autologger providers: the events that can be requested: kernel keywords and groups, stack-walk events,
 * tracepoints. */
#include "autologger/control/client.h"
#include "autologger/kernel/source/sources.h"
#include "autologger/kernel/source/tracepoints.h"
#include "autologger/kernel/tables/flags.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/cmdline.h"
#include "tools/base/json_out.h"
#include "tools/base/store_access.h"
#include "tools/base/text_table.h"
#include "tools/base/verb.h"
#include "tools/live/provider_names.h"
#include "tools/view/quota_view.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPT_FIELDS = 0x200, OPT_REGISTERED, OPT_INSTALLED, FORMAT_MAX = 16384 };
struct providers_args {
    struct cmdline common; /* first */
    bool           kernel, flags, groups, stacks, tracepoints, fields, registered, installed;
    const char    *pattern;
};

static error_t providers_parse(int key, char *arg, struct argp_state *state)
{
    struct providers_args *a = state->input;
    switch (key) {
    case 'k':
        a->flags |= !arg || strcmp(arg, "flags") == 0;
        a->groups |= !arg || strcmp(arg, "groups") == 0;
        if (arg && strcmp(arg, "flags") != 0 && strcmp(arg, "groups") != 0)
            argp_error(state, "--kernel takes flags or groups, not \"%s\"", arg);
        a->kernel = true;
        return 0;
    case 'w': a->stacks = true; return 0;
    case 't': a->tracepoints = true; return 0;
    case OPT_FIELDS: a->fields = true; return 0;
    case OPT_REGISTERED: a->registered = true; return 0;
    case OPT_INSTALLED: a->installed = true; return 0;
    case ARGP_KEY_ARG:
        if (a->pattern)
            argp_error(state, "one pattern at a time: \"%s\"", arg);
        a->pattern = arg;
        return 0;
    case ARGP_KEY_END:
        if ((a->pattern || a->fields) && !a->tracepoints)
            argp_error(
                state,
                "a pattern and --fields are for --tracepoints. Do: autologger providers --tracepoints 'sched:*' --fields");
        return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

/* ---- kernel keywords ---- */

/* The support of a keyword: that of the flag with its name, else the least among its bits. *of: that flag. */
static enum kernel_offer keyword_offer(const struct kernel_keyword *k, const struct kernel_flag **of)
{
    size_t                    count;
    const struct kernel_flag *flags = kernel_flags(&count);
    enum kernel_offer         worst = KERNEL_OFFER_NOW;
    *of                             = NULL;
    for (size_t i = 0; i < count; i++) {
        const bool part = flags[i].word == k->word && (flags[i].bits & k->bits);
        if (part && flags[i].keyword && strcmp(flags[i].keyword, k->name) == 0) {
            *of = &flags[i];
            return flags[i].offer;
        }
        if (part && (!*of || flags[i].offer > worst)) {
            worst = flags[i].offer;
            *of   = &flags[i];
        }
    }
    return worst;
}

static const char *const offer_words[] =
    {[KERNEL_OFFER_NOW] = "yes", [KERNEL_OFFER_PARTLY] = "in part", [KERNEL_OFFER_NONE] = "not on Linux"};

static void kernel_flags_text(void)
{
    static const char *const     titles[] = {"KEYWORD", "SUPPORTED", "EVENTS; FROM WHAT, OR WHY NOT", NULL};
    size_t                       count;
    const struct kernel_keyword *k = kernel_keywords(&count);
    struct text_table            t;
    text_table_init(&t, titles);
    for (size_t i = 0; i < count; i++) {
        const struct kernel_flag *f;
        char                      text[512];
        enum kernel_offer         offer = keyword_offer(&k[i], &f);
        snprintf(text, sizeof text, "%s; %s", f ? f->what : "", f ? f->source : "");
        text_table_row(&t, k[i].name, offer_words[offer], text);
    }
    text_table_print(&t, stdout);
    text_table_finish(&t);
}

static void kernel_groups_text(void)
{
    static const char *const   titles[] = {"GROUP", "KEYWORDS", NULL};
    size_t                     count;
    const struct kernel_group *g = kernel_groups(&count);
    struct text_table          t;
    text_table_init(&t, titles);
    for (size_t i = 0; i < count; i++) {
        char text[512];
        group_mask_format(g[i].mask, text, sizeof text);
        text_table_row(&t, g[i].name, text);
    }
    text_table_print(&t, stdout);
    text_table_finish(&t);
}

static void kernel_flags_json(struct json *j)
{
    size_t                       count;
    const struct kernel_keyword *k = kernel_keywords(&count);
    json_array(j, "keywords");
    for (size_t i = 0; i < count; i++) {
        const struct kernel_flag *f;
        char                      mask[32];
        enum kernel_offer         offer = keyword_offer(&k[i], &f);
        snprintf(mask, sizeof mask, "MASK%u:0x%08x", k[i].word, k[i].bits);
        json_object(j, NULL);
        json_text(j, "name", k[i].name);
        json_text(j, "supported", offer_words[offer]);
        json_text(j, "mask", mask);
        json_text(j, "events", f ? f->what : NULL);
        json_text(j, "source", f ? f->source : NULL);
        json_object_end(j);
    }
    json_array_end(j);
}

static void kernel_groups_json(struct json *j)
{
    size_t                     count;
    const struct kernel_group *g = kernel_groups(&count);
    json_array(j, "groups");
    for (size_t i = 0; i < count; i++) {
        char text[512];
        group_mask_format(g[i].mask, text, sizeof text);
        json_object(j, NULL);
        json_text(j, "name", g[i].name);
        json_text(j, "keywords", text);
        json_object_end(j);
    }
    json_array_end(j);
}

/* Keywords, groups, or both. */
static void providers_kernel_print(bool flags, bool groups, struct json *j)
{
    if (flags)
        j ? kernel_flags_json(j) : kernel_flags_text();
    if (flags && groups && !j)
        fputc('\n', stdout);
    if (groups)
        j ? kernel_groups_json(j) : kernel_groups_text();
}

/* ---- stack-walk events ---- */

static void stacks_print(struct json *j)
{
    static const char *const  titles[] = {"EVENT", "HOOK", "STACK", "NEEDS", NULL};
    size_t                    count;
    const struct kernel_hook *h = kernel_hooks(&count);
    struct text_table         t;
    if (j)
        json_array(j, "stacks");
    text_table_init(&t, titles);
    for (size_t i = 0; i < count; i++) {
        char hook[8];
        snprintf(hook, sizeof hook, "0x%04x", h[i].hook);
        if (!j) {
            text_table_row(&t, h[i].name, hook, hook_has_stack(h[i].hook) ? "yes" : "no", h[i].enabled_by);
            continue;
        }
        json_object(j, NULL);
        json_text(j, "name", h[i].name);
        json_text(j, "hook", hook);
        json_flag(j, "stack", hook_has_stack(h[i].hook));
        json_text(j, "needs", h[i].enabled_by);
        json_object_end(j);
    }
    if (j)
        json_array_end(j);
    else
        text_table_print(&t, stdout);
    text_table_finish(&t);
}

/* ---- tracepoints ---- */

struct providers_listing {
    struct json *j;
    bool         fields;
    int          tracefs;
};

static void fields_print(struct providers_listing *l, const char *folder)
{
    static const char *const kinds[] = {"signed", "unsigned", "pointer", "text", "text",
                                        "text",   "bytes",    "bytes",   "bytes"};
    char                     path[224], *format = malloc(FORMAT_MAX);
    const char              *next = NULL;
    struct tracepoint_field  f;
    snprintf(path, sizeof path, "%s/format", folder);
    if (l->j)
        json_array(l->j, "fields");
    if (format && tracefs_read(l->tracefs, path, format, FORMAT_MAX) > 0)
        while (tracepoint_field_next(format, &next, &f)) {
            if (l->j) {
                json_object(l->j, NULL);
                json_text(l->j, "name", f.name);
                json_text(l->j, "kind", kinds[f.kind]);
                json_number(l->j, "size", f.size);
                json_object_end(l->j);
            } else if (f.kind <= TP_POINTER) {
                visible_printf(stdout, "    %-28s %s, %u bits\n", f.name, kinds[f.kind], f.size * 8u);
            } else {
                visible_printf(stdout, "    %-28s %s\n", f.name, kinds[f.kind]);
            }
        }
    if (l->j)
        json_array_end(l->j);
    free(format);
}

static void tracepoint_print(void *ctx, const char *name, const char *folder)
{
    struct providers_listing *l = ctx;
    if (l->j) {
        json_object(l->j, NULL);
        json_text(l->j, "name", name);
    } else {
        visible_printf(stdout, "%s\n", name);
    }
    if (l->fields)
        fields_print(l, folder);
    if (l->j)
        json_object_end(l->j);
}

static int tracepoints_print(const struct providers_args *a, struct json *j)
{
    struct providers_listing l = {.j = j, .fields = a->fields, .tracefs = tracefs_open()};
    if (l.tracefs < 0) {
        visible_printf(
            stderr,
            "autologger providers: tracefs cannot be opened: %s. Do: run as root, or mount tracefs at /sys/kernel/tracing\n",
            strerror(-l.tracefs));
        return VERB_REFUSED;
    }
    if (j)
        json_array(j, "tracepoints");
    int n = tracepoints_match(l.tracefs, a->pattern ? a->pattern : "*:*", tracepoint_print, &l);
    if (j)
        json_array_end(j);
    close(l.tracefs);
    if (n < 0) {
        visible_printf(stderr, "autologger providers: the tracepoints cannot be read: %s. Do: run as root\n",
                       strerror(-n));
        return VERB_REFUSED;
    }
    if (n == 0)
        visible_printf(
            stderr,
            "autologger providers: this kernel has no tracepoint '%s'. Do: autologger providers --tracepoints\n",
            a->pattern ? a->pattern : "*:*");
    return n ? VERB_FINE : VERB_FAILED;
}

/* ---- of programs ---- */

/* "web (level 4, keywords 0x40), ...": the sessions with level, keywords and filters. */
static void sessions_text(const struct ctl_provider_answer *p, char *out, size_t size)
{
    size_t used = 0;
    *out        = 0;
    for (uint32_t i = 0; i < p->enable_count && used < size; i++) {
        int n = snprintf(out + used, size - used, "%s%s (level %u, keywords 0x%llx%s%s)", i ? ", " : "",
                         p->enable[i].session, p->enable[i].level, (unsigned long long)p->enable[i].any,
                         *p->enable[i].filters ? "; " : "", p->enable[i].filters);
        used += n > 0 ? (size_t)n : 0;
    }
}

static void programs_text(const struct ctl_provider_answer *p, char *out, size_t size)
{
    size_t used = 0;
    *out        = 0;
    for (uint32_t i = 0; i < p->program_count && used < size; i++) {
        const unsigned times = p->program[i].registrations;
        int n = times > 1 ? snprintf(out + used, size - used, "%s%u (%u times)", i ? " " : "", p->program[i].pid, times)
                          : snprintf(out + used, size - used, "%s%u", i ? " " : "", p->program[i].pid);
        used += n > 0 ? (size_t)n : 0;
    }
}

/* Providers built in or of installed manifests: they can be requested by name, even if no program has registered
 * them. */
static void providers_installed_print(struct json *j)
{
    static const char *const titles[] = {"PROVIDER", "NAME", "FROM", NULL}, *const from[] = {"built in",
                                                                                             "installed manifest"};
    struct names_of_providers names;
    struct text_table         t;
    char                      guid[GUID_TEXT_SIZE];
    provider_names_load(&names, NULL);
    text_table_init(&t, titles);
    if (j)
        json_array(j, "installed");
    for (unsigned i = 0; i < names.count; i++) {
        guid_format(&names.at[i].guid, guid);
        if (!j) {
            text_table_row(&t, guid, names.at[i].name, from[names.at[i].how]);
            continue;
        }
        json_object(j, NULL);
        json_text(j, "guid", guid);
        json_text(j, "name", names.at[i].name);
        json_text(j, "from", from[names.at[i].how]);
        json_object_end(j);
    }
    if (j)
        json_array_end(j);
    else
        text_table_print(&t, stdout);
    text_table_finish(&t);
    provider_names_finish(&names);
}

/* All registrations of all programs, as the daemon has them. */
struct registrations {
    struct ctl_registration_row *row;
    unsigned                     count;
};

static void one_registration_json(struct json *j, const struct ctl_registration_row *r,
                                  const struct ctl_provider_answer *p)
{
    char guid[GUID_TEXT_SIZE];
    json_object(j, NULL);
    json_number(j, "pid", r->pid);
    json_number(j, "index", r->index);
    json_flag(j, "classic", (r->flags & CTL_REGISTRATION_CLASSIC) != 0);
    json_flag(j, "callback", (r->flags & CTL_REGISTRATION_CALLBACK) != 0);
    json_flag(j, "traits", (r->flags & CTL_REGISTRATION_TRAITS) != 0);
    json_text(j, "group", guid_is_zero(&r->group) ? "" : guid_format(&r->group, guid));
    json_array(j, "sessions"); /* the enablement mask, by names */
    for (uint32_t i = 0; i < p->enable_count; i++)
        if (r->sessions >> (p->enable[i].logger_id & 63) & 1)
            json_text(j, NULL, p->enable[i].session);
    json_array_end(j);
    json_object_end(j);
}

/* Returns their number. */
static unsigned registrations_json(struct json *j, const struct registrations *all, const struct guid *provider,
                                   const struct ctl_provider_answer *p)
{
    unsigned n = 0;
    json_array(j, "registrations");
    for (unsigned i = 0; i < all->count; i++)
        if (guid_equal(&all->row[i].provider, provider)) {
            one_registration_json(j, &all->row[i], p);
            n++;
        }
    json_array_end(j);
    return n;
}

static void registered_json(struct json *j, const char *guid, const struct ctl_provider_row *row, const char *name,
                            const struct ctl_provider_answer *p, const struct registrations *all)
{
    json_object(j, NULL);
    json_text(j, "guid", guid);
    json_text(j, "name", name);
    json_number(j, "registration_count", row->registrations); /* also of programs beyond those that are listed */
    json_array(j, "programs");
    for (uint32_t i = 0; i < p->program_count; i++)
        json_number(j, NULL, p->program[i].pid);
    json_array_end(j);
    const unsigned registrations = registrations_json(j, all, &row->guid, p);
    json_number(j, "references", registrations + p->enable_count);
    json_array(j, "sessions");
    for (uint32_t i = 0; i < p->enable_count; i++) {
        json_object(j, NULL);
        json_text(j, "name", p->enable[i].session);
        json_number(j, "level", p->enable[i].level);
        json_number(j, "match_any", p->enable[i].any);
        json_number(j, "match_all", p->enable[i].all);
        json_number(j, "property", p->enable[i].property);
        json_text(j, "filters", p->enable[i].filters);
        json_object_end(j);
    }
    json_array_end(j);
    json_object_end(j);
}

static int by_provider(const void *a, const void *b)
{
    const struct ctl_registration_row *x = a, *y = b;
    const int                          n = memcmp(&x->provider, &y->provider, sizeof x->provider);
    return n ? n : x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* Answers from the registrations for a provider that no session enables and that is no group: this saves thousands of
 * requests to a busy daemon. `all` is sorted. */
static const struct ctl_provider_answer *from_registrations(const struct ctl_provider_row *row,
                                                            const struct registrations    *all)
{
    static _Alignas(8)
        uint8_t bytes[sizeof(struct ctl_provider_answer) + CTL_PROVIDER_PROGRAMS * sizeof(struct ctl_provider_program)];
    struct ctl_provider_answer *made  = (void *)bytes;
    unsigned                    first = 0, behind = all->count, n = 0;
    while (first < behind) {
        const unsigned middle = first + (behind - first) / 2;
        if (memcmp(&all->row[middle].provider, &row->guid, sizeof row->guid) < 0)
            first = middle + 1;
        else
            behind = middle;
    }
    memset(bytes, 0, sizeof bytes);
    snprintf(made->name, sizeof made->name, "%.*s", (int)sizeof row->name - 1, row->name);
    for (unsigned i = first; i < all->count && guid_equal(&all->row[i].provider, &row->guid); i++) {
        if (!n || made->program[n - 1].pid != all->row[i].pid) {
            if (n == CTL_PROVIDER_PROGRAMS)
                break;
            made->program[n++] = (struct ctl_provider_program){.pid = all->row[i].pid};
        }
        made->program[n - 1].registrations++;
        made->program[n - 1].classic |= all->row[i].flags & CTL_REGISTRATION_CLASSIC;
    }
    made->program_count = n;
    return made;
}

static wstatus registered_take(struct control_client *client, const struct ctl_provider_row *row,
                               const struct registrations *all, const struct ctl_provider_answer **out,
                               struct reason *why)
{
    if (row->enabled_count || row->group || !all->count)
        return control_provider(client, &row->guid, out, why);
    *out = from_registrations(row, all);
    return (*out)->program_count ? W_SUCCESS : W_WMI_GUID_NOT_FOUND;
}

static int registered_print(const struct providers_args *a, struct json *j)
{
    static const char *const  titles[] = {"PROVIDER", "NAME", "PROGRAMS", "SESSIONS", NULL};
    struct control_client    *client   = NULL;
    struct ctl_provider_row  *rows     = NULL;
    unsigned                  count    = 0;
    struct reason             why      = {0};
    struct registrations      all      = {NULL, 0};
    struct ctl_state_answer   state    = {0};
    struct names_of_providers names;
    struct text_table         t;
    wstatus                   st = control_open(a->common.runtime_dir, &client, &why);
    st                           = st ? st : control_providers(client, &rows, &count, &why);
    st                           = st ? st : control_state(client, &state, &why);
    if (!st && (st = control_registrations(client, &all.row, &all.count, &why)) && !j)
        st = W_SUCCESS; /* an older daemon or an early program cannot tell */
    if (all.count)
        qsort(all.row, all.count, sizeof *all.row, by_provider);
    provider_names_load(&names, NULL);
    text_table_init(&t, titles);
    if (j)
        json_array(j, "registered");
    for (unsigned i = 0; !st && i < count; i++) {
        const struct ctl_provider_answer *p;
        char                              guid[GUID_TEXT_SIZE], programs[512], sessions[1024];
        if (registered_take(client, &rows[i], &all, &p, &why))
            continue; /* it is gone meanwhile */
        guid_format(&rows[i].guid, guid);
        programs_text(p, programs, sizeof programs);
        sessions_text(p, sessions, sizeof sessions);
        const char *known = provider_names_find(&names, &rows[i].guid), *name = *p->name ? p->name : known ? known : "";
        if (j)
            registered_json(j, guid, &rows[i], name, p, &all);
        else
            text_table_row(&t, guid, name, programs, sessions);
    }
    if (j) {
        json_array_end(j);
        quota_json(&state, j);
    } else if (!st) {
        text_table_print(&t, stdout);
        quota_print(&state, stdout);
    }
    text_table_finish(&t);
    provider_names_finish(&names);
    free(rows);
    free(all.row);
    control_close(client);
    return st ? failure_print_about(ABOUT_DAEMON, "autologger providers", st, &why) : VERB_FINE;
}

int cmd_providers(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"kernel", 'k', "flags|groups", OPTION_ARG_OPTIONAL,
         "kernel keywords and groups, for EnableKernelFlags (the default); or one of the two", 0},
        {"stacks", 'w', NULL, 0, "events that can have a call stack, for StackWalkingFilter", 0},
        {"tracepoints", 't', NULL, 0, "the kernel's tracepoints, for Tracepoint; all, or those of PATTERN", 0},
        {"fields", OPT_FIELDS, NULL, 0, "with their fields, for TracepointFilter", 0},
        {"registered", OPT_REGISTERED, NULL, 0,
         "providers of programs: registered now, or enabled by a session that runs", 0},
        {"installed", OPT_INSTALLED, NULL, 0, "providers that are built in, or whose manifest is installed", 0},
        OPT_STORE,
        OPT_RUNTIME_DIR,
        OPT_JSON,
        {0}};
    static const struct argp argp = {
        options,
        providers_parse,
        "[PATTERN]",
        CMDLINE_DOC(
            "What events there are to ask for: each keyword with what it gives here, or why it can't.",
            "  autologger providers --kernel\n  autologger providers --tracepoints 'block:block_rq_*' --fields\n  autologger providers --registered"),
        NULL,
        NULL,
        NULL};
    struct providers_args a = {0};
    int                   code;
    if (!cmdline_parse(&argp, argc, argv, &a.common, &code))
        return code;
    struct json *j = a.common.json ? json_create(stdout, true) : NULL;
    if (a.common.json && !j)
        return VERB_REFUSED;
    bool kernel = a.kernel || (!a.stacks && !a.tracepoints && !a.registered && !a.installed);
    code        = VERB_FINE;
    if (j)
        json_object(j, NULL);
    if (kernel)
        providers_kernel_print(a.flags || !a.kernel, a.groups || !a.kernel, j);
    if (a.stacks)
        stacks_print(j);
    if (a.tracepoints)
        code = tracepoints_print(&a, j);
    if (a.installed && !code)
        providers_installed_print(j);
    if (a.registered && !code)
        code = registered_print(&a, j);
    if (j) {
        json_object_end(j);
        json_destroy(j);
    }
    return code;
}
