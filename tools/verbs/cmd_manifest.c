/* autologger manifest: checks, installs, shows instrumentation manifests. */
#include "autologger/schema/mc.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/json_out.h"
#include "tools/base/store_access.h"
#include "tools/base/text_table.h"
#include "tools/base/verb.h"
#include "tools/files/manifest_source.h"
#include "tools/files/publisher_store.h"
#include "tools/view/manifest_view.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPT_RESOURCE = 0x300, OPT_MESSAGE, OPT_PARAMETER, OPT_CULTURE, FILES_MAX = 64 };
struct manifest_args {
    struct cmdline         common; /* first */
    const char            *action, *culture, *items[FILES_MAX];
    unsigned               count;
    struct publisher_files files;
};

static error_t manifest_parse(int key, char *arg, struct argp_state *state)
{
    struct manifest_args *a = state->input;
    switch (key) {
    case OPT_RESOURCE: a->files.resource = arg; return 0;
    case OPT_MESSAGE: a->files.message = arg; return 0;
    case OPT_PARAMETER: a->files.parameter = arg; return 0;
    case OPT_CULTURE: a->culture = arg; return 0;
    case ARGP_KEY_ARG:
        if (!a->action) {
            a->action = arg;
            return 0;
        }
        if (a->count == FILES_MAX)
            argp_error(state, "at most %d at a time", FILES_MAX);
        a->items[a->count++] = arg;
        return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

/* ---- install ---- */

/* Refuses a name that is installed with another GUID: it would be ambiguous in configurations. Classes of MOF and source
 * files of WPP have no place there, and each version of a source file has a GUID of its own. */
static wstatus name_free(struct regstore *store, const struct manifest *m, const struct manifest_provider *p,
                         struct reason *why)
{
    struct guid other;
    char        text[GUID_TEXT_SIZE];

    if ((m->kind != MANIFEST_EVENTS && p->events.count) || publisher_find(store, p->name, &other, NULL, NULL) ||
        guid_equal(&other, &p->guid))
        return W_SUCCESS;
    return reason_set(why, W_ALREADY_EXISTS,
                      "a provider %s is installed with the GUID %s. Do: autologger manifest uninstall %s", p->name,
                      guid_format(&other, text), p->name);
}

static void files_warn(const struct manifest_args *a, const struct manifest_provider *p)
{
    const char *files[] = {a->files.resource ? a->files.resource : p->resource_file,
                           a->files.message ? a->files.message : p->message_file};
    for (int i = 0; i < 2; i++)
        if (files[i] && *files[i] == '/' && access(files[i], F_OK) < 0 &&
            !(i && files[0] && strcmp(files[0], files[1]) == 0))
            visible_printf(
                stderr,
                "autologger manifest: %s: the %s file %s is not there. Do: install it, or name another one with --%s-file; events decode without it\n",
                p->name, i ? "message" : "resource", files[i], i ? "message" : "resource");
}

static wstatus install_one(const struct manifest_args *a, struct regstore *store, const char *folder,
                           const struct manifest *m, unsigned i, struct reason *why)
{
    const struct manifest_provider *p = &m->providers.at[i];
    char                            path[PUBLISHERS_PATH];
    wstatus                         st = name_free(store, m, p, why);

    files_warn(a, p);
    if (!st)
        st = publisher_put(store, m, p, &a->files, publishers_path(folder, &p->guid, path), why);
    return st ? st : publishers_save(folder, m, i, why);
}

static void manifest_installed_print(const struct manifest_source *s, struct json *j)
{
    if (j)
        json_array(j, "installed");
    for (unsigned k = 0; k < s->count; k++)
        for (unsigned i = 0; i < s->list[k]->providers.count; i++) {
            const struct manifest_provider *p = &s->list[k]->providers.at[i];
            char                            guid[GUID_TEXT_SIZE];
            guid_format(&p->guid, guid);
            if (!j) {
                visible_printf(stdout, "installed %s %s: %u event%s\n", p->name, guid, p->events.count,
                               plural(p->events.count));
                continue;
            }
            json_object(j, NULL);
            json_text(j, "name", p->name);
            json_text(j, "guid", guid);
            json_number(j, "events", p->events.count);
            json_object_end(j);
        }
    if (j)
        json_array_end(j);
}

/* All files, or nothing: the store's commit is the last step. A file in the folder without its key is overwritten next
 * time. */
static int install(const struct manifest_args *a, struct json *j)
{
    struct manifest_source s     = {.forgiving = true};
    struct regstore       *store = NULL;
    struct reason          why   = {0};
    char                   folder[PUBLISHERS_PATH];
    wstatus                st   = W_SUCCESS;
    int                    code = VERB_FINE;

    for (unsigned i = 0; i < a->count && !code; i++)
        if ((st = manifest_source_read(&s, a->items[i], &why)))
            code = manifest_source_failed(&s, "autologger manifest", st, &why);
    if (!code && !(st = store_access_open(&a->common, true, &store, &why)))
        st = regstore_begin(store, &why);
    publishers_beside(a->common.store, folder);
    for (unsigned k = 0; !code && !st && k < s.count; k++)
        for (unsigned i = 0; i < s.list[k]->providers.count && !st; i++)
            st = install_one(a, store, folder, s.list[k], i, &why);
    if (!code && !st)
        st = regstore_commit(store, &why);
    if (!code && st)
        code = failure_print_about(ABOUT_RESULT, "autologger manifest", st, &why);
    if (!code)
        manifest_installed_print(&s, j);
    regstore_close(store);
    manifest_source_finish(&s);
    return code;
}

/* ---- uninstall ---- */

/* Removes one provider. uninstall_word finds it: by name or GUID, or in an existing manifest file. */
static wstatus uninstall_one(struct regstore *store, const char *folder, const struct guid *guid, const char *name,
                             struct json *j, struct reason *why)
{
    char    text[GUID_TEXT_SIZE];
    wstatus st = publisher_remove(store, guid, why);

    if (!st)
        st = publishers_remove(folder, guid, why);
    if (st)
        return st;
    if (j)
        json_text(j, NULL, guid_format(guid, text));
    else
        visible_printf(stdout, "uninstalled %s %s\n", name, guid_format(guid, text));
    return W_SUCCESS;
}

static wstatus uninstall_word(struct regstore *store, const char *folder, const char *word, struct json *j,
                              struct reason *why)
{
    struct manifest_source s = {.forgiving = true, .quiet = true, .silent = true};
    struct guid            guid;
    char                  *name = NULL;
    wstatus                st   = publisher_find(store, word, &guid, &name, why);

    if (!st) {
        st = uninstall_one(store, folder, &guid, name, j, why);
        free(name);
        return st;
    }
    if (access(word, F_OK) < 0)
        return st;
    st = manifest_source_read(&s, word, why);
    for (unsigned k = 0; k < s.count && !st; k++)
        for (unsigned i = 0; i < s.list[k]->providers.count && !st; i++)
            st =
                uninstall_one(store, folder, &s.list[k]->providers.at[i].guid, s.list[k]->providers.at[i].name, j, why);
    manifest_source_finish(&s);
    return st;
}

static int uninstall(const struct manifest_args *a, struct json *j)
{
    struct regstore *store = NULL;
    struct reason    why   = {0};
    char             folder[PUBLISHERS_PATH];
    wstatus          st = store_access_open(&a->common, true, &store, &why);

    publishers_beside(a->common.store, folder);
    if (j)
        json_array(j, "uninstalled");
    for (unsigned i = 0; i < a->count && !st; i++)
        st = uninstall_word(store, folder, a->items[i], j, &why);
    if (j)
        json_array_end(j);
    regstore_close(store);
    return st ? failure_print_about(ABOUT_RESULT, "autologger manifest", st, &why) : VERB_FINE;
}

/* ---- list, show, check ---- */

struct manifest_listing {
    struct json      *j;
    struct text_table t;
    const char       *folder;
    unsigned          count, broken;
};

static wstatus list_one(void *ctx, const struct guid *guid, const char *name)
{
    struct manifest_listing *l = ctx;
    struct manifest         *m;
    struct reason            why = {0};
    char                     text[GUID_TEXT_SIZE], events[24] = "?";
    wstatus                  st = publishers_load(l->folder, guid, &m, &why);

    l->count++;
    guid_format(guid, text);
    if (!st && m->providers.count)
        snprintf(events, sizeof events, "%u", m->providers.at[0].events.count);
    if (l->j) {
        json_object(l->j, NULL);
        json_text(l->j, "name", name);
        json_text(l->j, "guid", text);
        if (!st && m->providers.count)
            json_number(l->j, "events", m->providers.at[0].events.count);
        json_text(l->j, "failure", st ? why.text : NULL);
        json_object_end(l->j);
    } else {
        text_table_row(&l->t, name, text, events);
    }
    if (st) {
        l->broken++;
        visible_printf(stderr, "autologger manifest: %s: %s. Do: install its manifest again\n", name, why.text);
    }
    manifest_free(m);
    return W_SUCCESS;
}

static int manifest_list(const struct manifest_args *a, struct json *j)
{
    static const char *const titles[] = {"PROVIDER", "GUID", "EVENTS", NULL};
    char                     folder[PUBLISHERS_PATH];
    struct manifest_listing  l     = {.j = j, .folder = publishers_beside(a->common.store, folder)};
    struct regstore         *store = NULL;
    struct reason            why   = {0};
    wstatus                  st    = store_access_open(&a->common, false, &store, &why);

    text_table_init(&l.t, titles);
    if (j)
        json_array(j, "publishers");
    if (!st)
        st = publisher_each(store, list_one, &l);
    else if ((st == W_FILE_NOT_FOUND || st == W_PATH_NOT_FOUND) && !a->common.store_given)
        st = W_SUCCESS; /* there is no store yet: nothing is installed */
    if (j)
        json_array_end(j);
    else if (!st && l.count)
        text_table_print(&l.t, stdout);
    else if (!st)
        printf("no manifest is installed. Do: autologger manifest install FILE.man\n");
    text_table_finish(&l.t);
    regstore_close(store);
    if (st)
        return failure_print_about(ABOUT_STORE, "autologger manifest", st, &why);
    return l.broken ? VERB_FAILED : VERB_FINE;
}

static void show_manifest(const struct manifest *m, const struct manifest_args *a, struct json *j)
{
    int culture = manifest_culture_find(m, publishers_culture(a->culture));
    if (j)
        manifest_view_json(m, culture, j);
    else
        manifest_view_print(m, culture, stdout);
}

/* Shows an existing file, else an installed provider. */
static int show_word(const struct manifest_args *a, const char *word, struct json *j)
{
    struct manifest_source s     = {.forgiving = true};
    struct manifest       *m     = NULL;
    struct regstore       *store = NULL;
    struct reason          why   = {0};
    struct guid            guid;
    char                   folder[PUBLISHERS_PATH];
    wstatus                st;

    if (access(word, F_OK) == 0) {
        st = manifest_source_read(&s, word, &why);
        for (unsigned i = 0; i < s.count && !st; i++)
            show_manifest(s.list[i], a, j);
        int code = st ? manifest_source_failed(&s, "autologger manifest", st, &why) : VERB_FINE;
        manifest_source_finish(&s);
        return code;
    }
    st = store_access_open(&a->common, false, &store, &why);
    if (!st)
        st = publisher_find(store, word, &guid, NULL, &why);
    if (!st)
        st = publishers_load(publishers_beside(a->common.store, folder), &guid, &m, &why);
    if (!st)
        show_manifest(m, a, j);
    manifest_free(m);
    regstore_close(store);
    return st ? failure_print_about(ABOUT_RESULT, "autologger manifest", st, &why) : VERB_FINE;
}

static int manifest_show(const struct manifest_args *a, struct json *j)
{
    int code = VERB_FINE;
    if (j)
        json_array(j, "providers");
    for (unsigned i = 0; i < a->count; i++) {
        int one = show_word(a, a->items[i], j);
        code    = one ? one : code;
    }
    if (j)
        json_array_end(j);
    return code;
}

/* Checks it as mc does. */
static wstatus manifest_compile(struct manifest_source *s, const struct manifest *m, struct reason *why)
{
    struct manifest_problems problems;
    manifest_source_problems(s, &problems);
    wstatus st = mc_check(m, &problems, why);
    s->errors += problems.errors;
    s->warnings += problems.warnings;
    return st;
}

static int check(const struct manifest_args *a, struct json *j)
{
    struct manifest_source s    = {0};
    struct reason          why  = {0};
    int                    code = VERB_FINE;

    for (unsigned i = 0; i < a->count; i++) {
        unsigned before = s.count;
        wstatus  st     = manifest_source_read(&s, a->items[i], &why);
        for (unsigned k = before; k < s.count && !st; k++)
            st = manifest_compile(&s, s.list[k], &why);
        if (st)
            code = manifest_source_failed(&s, "autologger manifest", st, &why);
    }
    if (j) {
        json_number(j, "errors", s.errors);
        json_number(j, "warnings", s.warnings);
    } else if (!code) {
        visible_printf(stdout, "no mistakes, %u warning%s\n", s.warnings, plural(s.warnings));
    }
    manifest_source_finish(&s);
    return code;
}

static int cmd_manifest_template(const struct manifest_args *a, struct json *j)
{
    (void)j;
    manifest_template_print(a->items[0], stdout);
    return VERB_FINE;
}

static const struct {
    const char *name;
    int (*run)(const struct manifest_args *a, struct json *j);
    unsigned    least, most;
    const char *needs;
} actions[] = {
    {"install", install, 1, FILES_MAX, "FILE"}, {"uninstall", uninstall, 1, FILES_MAX, "PROVIDER or FILE"},
    {"list", manifest_list, 0, 0, ""},          {"show", manifest_show, 1, FILES_MAX, "FILE or PROVIDER"},
    {"check", check, 1, FILES_MAX, "FILE"},     {"template", cmd_manifest_template, 1, 1, "the name of a provider"},
};
enum { ACTIONS = sizeof actions / sizeof actions[0] };

int cmd_manifest(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"resource-file", OPT_RESOURCE, "FILE", 0,
         "install: the program with the metadata, instead of what the manifest names", 0},
        {"message-file", OPT_MESSAGE, "FILE", 0, "install: the same for messages", 0},
        {"parameter-file", OPT_PARAMETER, "FILE", 0, "install: the same for parameters of messages", 0},
        {"culture", OPT_CULTURE, "CULTURE", 0, "show: texts of this culture (de-DE); default: that of LANG", 0},
        OPT_STORE,
        OPT_JSON,
        {0}};
    static const struct argp argp = {
        options,
        manifest_parse,
        "install FILE...\nuninstall PROVIDER...\nlist\nshow FILE|PROVIDER...\ncheck FILE...\ntemplate NAME",
        CMDLINE_DOC(
            "Instrumentation manifests, which say what a provider's events mean. FILE is a manifest (.man), its binary form, or a program that "
            "holds it. Installed ones give names and messages to events wherever a trace is read on this machine, and the names of providers "
            "and keywords to configurations.",
            "  autologger manifest template Contoso-Web > web.man\n  autologger manifest install web.man\n  autologger manifest show Contoso-Web"),
        NULL,
        NULL,
        NULL};
    struct manifest_args a = {0};
    int                  code;
    unsigned             i = 0;
    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    while (a.action && i < ACTIONS && strcmp(actions[i].name, a.action) != 0)
        i++;
    if (!a.action || i == ACTIONS || a.count < actions[i].least || a.count > actions[i].most) {
        if (!a.action || i == ACTIONS)
            visible_printf(
                stderr,
                "autologger manifest: %s%s%s. Do: autologger manifest install | uninstall | list | show | check | template\n",
                a.action ? "\"" : "what to do is not said", a.action ? a.action : "",
                a.action ? "\" is not known" : "");
        else
            visible_printf(stderr, "autologger manifest: %s takes %s. Do: autologger manifest --help\n", a.action,
                           *actions[i].needs ? actions[i].needs : "nothing");
        return VERB_USAGE;
    }
    struct json *j = a.common.json ? json_create(stdout, true) : NULL;
    if (j)
        json_object(j, NULL);
    code = actions[i].run(&a, j);
    if (j) {
        json_object_end(j);
        json_destroy(j);
    }
    return code;
}
