/* autologger check: the expected rows of a boot with this configuration, without starting anything. */
#include "tools/setup/check_view.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/files/publisher_words.h"
#include "tools/setup/profile.h"
#include "tools/setup/system_check.h"

#include <unistd.h>

struct check_args {
    struct cmdline          common;
    const char             *file, *log_dir;
    char                    path[PROFILE_PATH]; /* of file */
    bool                    system, accept_tpm;
    const char             *root;
    struct machine          machine;
    char                    store_path[MACHINE_PATH]; /* the default store, below the root */
    struct publisher_option manifests;
};

static error_t check_parse(int key, char *arg, struct argp_state *state)
{
    struct check_args *a = state->input;
    switch (key) {
    case 'l': a->log_dir = arg; return 0;
    case 'S': a->system = true; return 0;
    case 'R': a->root = arg; return 0;
    case 'T': a->accept_tpm = true; return 0;
    case KEY_PUBLISHER: publisher_option_add(&a->manifests, arg, state); return 0;
    case ARGP_KEY_ARG:
        if (a->file)
            argp_error(state, "one FILE at a time");
        a->file = arg;
        return 0;
    case ARGP_KEY_END:
        if (a->file && a->common.store_given)
            argp_error(state, "FILE and --store exclude each other");
        if (!a->file && !a->common.store_given && !a->system)
            argp_error(state, "name a FILE, a PROFILE or --store FILE");
        return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

/* Opens the store, or a store in memory with the valid declarations of FILE. */
static wstatus check_source_open(const struct check_args *a, struct regstore **store, struct refusal_list *refusals,
                                 struct reason *why)
{
    /* --system checks a machine that has no store yet, too */
    bool none = a->system && !a->file && !a->common.store_given && access(a->common.store, F_OK) != 0;
    if (!a->file && !none)
        return store_access_open(&a->common, false, store, why);
    wstatus st = regstore_open_memory(store, why);
    return st || none ? st : sound_import(*store, a->file, refusals, why);
}

/* The machine's checks come first: what they miss explains the rows. */
static wstatus show_system(const struct check_args *a, struct regstore *store, const struct check_view *r,
                           unsigned *failed, struct reason *why)
{
    struct system_need   need;
    struct system_report found;
    struct system_ask    ask = {&a->machine, store,         a->file ? NULL : a->common.store,
                                a->log_dir,  a->accept_tpm, a->file != NULL};
    wstatus              st  = system_check(&ask, &need, &found, why);
    if (st)
        return st;
    *failed = found.failed;
    if (r->json) {
        system_report_json(&found, r->json);
    } else {
        system_report_print(&found, SYSTEM_OK, stdout);
        visible_printf(stdout, "\n%u check%s, %u failed, %u note%s\n\nExpected after the reboot:\n\n", found.count,
                       plural(found.count), found.failed, found.notes, plural(found.notes));
    }
    return W_SUCCESS;
}

static int check_show(const struct check_args *a, struct regstore *store, const struct refusal_list *refusals)
{
    struct check_view r;
    struct reason     why    = {0};
    unsigned          failed = 0; /* of the machine's checks */
    check_view_begin(&r, a->common.json ? json_create(stdout, true) : NULL);
    r.elsewhere = a->root != NULL;
    if (r.json)
        json_object(r.json, NULL);
    wstatus st = a->system ? show_system(a, store, &r, &failed, &why) : W_SUCCESS;
    st         = st ? st : check_view_rows(&r, store, a->log_dir, refusals, &why);
    if (r.json) {
        refusal_list_mistakes_json(refusals, r.json);
        json_number(r.json, "failed", r.failed + failed);
        json_object_end(r.json);
        json_destroy(r.json);
    } else if (!st) {
        check_view_print(&r, stdout);
    }
    check_view_finish(&r);
    if (st)
        return failure_print("autologger check", st, &why);
    if (!r.rows && !a->system) {
        visible_printf(stderr, "autologger check: %s declares no session. Do: see config/examples/first-boot.ini\n",
                       a->file ? a->file : a->common.store);
        return VERB_FAILED;
    }
    return r.failed + failed ? VERB_FAILED : VERB_FINE;
}

/* Reports that nothing of FILE, or of the store, could be read. */
static int unread(const struct check_args *a, wstatus status, const struct refusal_list *refusals,
                  const struct reason *why)
{
    struct json *j = a->common.json ? json_create(stdout, true) : NULL;
    if (j) {
        json_object(j, NULL);
        json_array(j, "rows");
        json_array_end(j);
        refusal_list_mistakes_json(refusals, j);
        json_number(j, "failed", 0);
        json_object_end(j);
        json_destroy(j);
    }
    if (!refusals->mistake_count)
        return failure_print_about(a->file ? ABOUT_CONFIGURATION : ABOUT_STORE, "autologger check", status, why);
    visible_printf(stderr, "autologger check: %s\n", why->text);
    return exit_of(status);
}

int cmd_check(int argc, char **argv)
{
    static const struct argp_option options[] = {
        OPT_STORE,
        {"log-dir", 'l', "DIR", 0, "where log files would go (default /var/log/autologger)", 0},
        {"system", 'S', NULL, 0,
         "also look at this machine: rights, memory, space, boot loader, initramfs; without FILE: at the default store",
         0},
        {"root", 'R', "DIR", 0, "with --system: look at the machine whose root is DIR", 0},
        {"accept-tpm", 'T', NULL, 0, "with --system: a root that is unlocked by a TPM is no failure", 0},
        OPT_PUBLISHER,
        OPT_JSON,
        {0},
    };
    static const struct argp argp = {
        options,
        check_parse,
        "FILE\nPROFILE\n--store FILE\n--system",
        CMDLINE_DOC(
            "What a boot would do with a configuration: every session and provider with its Status, what it would be "
            "given, where its file would be, and every mistake with file, line and what to do.",
            "  autologger check config/examples/first-boot.ini\n  autologger check --system boot"),
        NULL,
        NULL,
        NULL};
    struct check_args   a        = {.log_dir = "/var/log/autologger"};
    struct regstore    *store    = NULL;
    struct refusal_list refusals = {0};
    struct reason       why      = {0};
    int                 code;
    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    if (!publisher_option_open(&a.manifests, "autologger check", &code))
        return code;
    wstatus st = a.file ? profile_resolve(a.file, a.root, a.path, &why) : W_SUCCESS;
    if (st)
        return failure_print_about(ABOUT_CONFIGURATION, "autologger check", st, &why);
    if (a.file)
        a.file = a.path;
    if ((st = store_access_machine(&a.common, a.root, &a.machine, a.store_path, &why)))
        return failure_print("autologger check", st, &why);
    st = check_source_open(&a, &store, &refusals, &why);
    if (!a.common.json)
        refusal_list_mistakes_print(&refusals);
    code = st ? unread(&a, st, &refusals, &why) : check_show(&a, store, &refusals);
    refusal_list_finish(&refusals);
    regstore_close(store);
    return code;
}
