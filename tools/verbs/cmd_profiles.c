/* autologger profiles: the ready-made configurations that apply, check and rehearse take by name. */
#include "tools/base/json_out.h"
#include "tools/base/store_access.h"
#include "tools/base/text_table.h"
#include "tools/base/verb.h"
#include "tools/setup/profile.h"

struct profiles_args {
    struct cmdline common;
    const char    *root;
};

static error_t profiles_parse(int key, char *arg, struct argp_state *state)
{
    struct profiles_args *a = state->input;
    if (key == 'R') {
        a->root = arg;
        return 0;
    }
    if (key == ARGP_KEY_ARG)
        argp_error(state, "\"%s\": profiles takes no arguments. Do: autologger check %s", arg, arg);
    return cmdline_option(&a->common, key, arg);
}

static void profiles_text_print(const struct profile_list *l)
{
    static const char *const titles[] = {"PROFILE", "WHOSE", "WHAT", NULL};
    struct text_table        t;
    text_table_init(&t, titles);
    for (unsigned i = 0; i < l->count; i++) {
        const struct profile *p = &l->items[i];
        text_table_row(&t, p->name, p->hidden ? "hidden" : p->shipped ? "shipped" : "own", p->summary);
        text_table_line(&t, "    %s", p->path);
    }
    text_table_print(&t, stdout);
    text_table_finish(&t);
}

static int profiles_json_print(const struct profile_list *l)
{
    struct json *j = json_create(stdout, true);
    if (!j)
        return VERB_REFUSED;
    json_object(j, NULL);
    json_array(j, "profiles");
    for (unsigned i = 0; i < l->count; i++) {
        const struct profile *p = &l->items[i];
        json_object(j, NULL);
        json_text(j, "name", p->name);
        json_text(j, "file", p->path);
        json_text(j, "what", p->summary);
        json_flag(j, "shipped", p->shipped);
        json_flag(j, "hidden", p->hidden);
        json_object_end(j);
    }
    json_array_end(j);
    json_object_end(j);
    json_destroy(j);
    return VERB_FINE;
}

int cmd_profiles(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"root", 'R', "DIR", 0, "also those of the machine whose root is DIR (an image)", 0}, OPT_JSON, {0}};
    static const struct argp argp = {
        options,
        profiles_parse,
        "",
        CMDLINE_DOC(
            "The profiles: ready-made configurations that other verbs take by name. Folders, in this order: "
            "$AUTOLOGGER_PROFILES, those of the machine that --root names, ~/.config/autologger/profiles, /etc/autologger/profiles, "
            "/usr/share/autologger/profiles, config/profiles of the source.",
            "  autologger profiles\n  autologger check boot"),
        NULL,
        NULL,
        NULL};
    struct profiles_args c   = {0};
    struct profile_list  l   = {0};
    struct reason        why = {0};
    int                  code;
    if (!cmdline_parse(&argp, argc, argv, &c, &code))
        return code;
    wstatus st = profile_list_load(c.root, &l, &why);
    if (st) {
        code = failure_print("autologger profiles", st, &why);
    } else if (c.common.json) {
        code = profiles_json_print(&l);
    } else if (!l.count) {
        fputs(
            "autologger profiles: no profiles are installed. Do: install them, or name their folder in AUTOLOGGER_PROFILES\n",
            stderr);
        code = VERB_FAILED;
    } else {
        profiles_text_print(&l);
    }
    profile_list_finish(&l);
    return code;
}
