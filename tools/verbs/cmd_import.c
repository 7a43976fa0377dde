/* autologger import: a configuration file into the store, all or nothing. */
#include "autologger/plan/plan.h"
#include "registry-sim/base/visible_print.h"
#include "registry-sim/store/key_names.h"
#include "tools/base/json_out.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/files/hive_source.h"
#include "tools/files/inf_source.h"
#include "tools/files/wprp_source.h"
#include "tools/setup/declaration_remove.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MOST = 64 };
struct import_args {
    struct cmdline  common;
    const char     *file, *name[NAMES_MOST];
    unsigned        count; /* of names; without --remove the first one is the file */
    bool            lenient, dry_run, remove;
    char           *hive; /* the text of a hive; NULL: the file is text itself */
    char           *made; /* INI made of a .wprp; NULL: it is none */
    const char     *profile;
    size_t          hive_size, made_size;
    struct inf_text inf; /* of an INF file; text NULL: it is none */
};
struct import_count {
    unsigned keys, values, removed_keys, removed_values;
};

static error_t import_parse(int key, char *arg, struct argp_state *state)
{
    struct import_args *a = state->input;
    switch (key) {
    case 'l': a->lenient = true; return 0;
    case 'n': a->dry_run = true; return 0;
    case 'r': a->remove = true; return 0;
    case 'p': a->profile = arg; return 0;
    case ARGP_KEY_ARG:
        if (a->count == NAMES_MOST)
            argp_error(state, "at most %d names", NAMES_MOST);
        a->name[a->count++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (a->count > 1 && !a->remove)
            argp_error(state, "one FILE at a time");
        if (!a->count)
            argp_error(state, a->remove ? "the NAME of a declaration is missing" : "FILE is missing");
        a->file = a->name[0];
        return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

static wstatus count_value(void *ctx, const struct regvalue *value)
{
    (void)value;
    ((struct import_count *)ctx)->values++;
    return W_SUCCESS;
}

/* Counts all values, and the keys that have values or no keys below them. */
static void count_below(struct regstore *store, const char *key, unsigned depth, struct import_count *n)
{
    struct key_names names;
    unsigned         before = n->values;
    if (key_names_load(store, key, &names))
        return;
    regstore_enum_values(store, key, count_value, n);
    if (n->values > before || (!names.count && depth))
        n->keys++;
    for (unsigned i = 0; i < names.count; i++) {
        char *below = NULL;
        if (asprintf(&below, "%s\\%s", key, names.names[i]) < 0)
            break;
        count_below(store, below, depth + 1, n);
        free(below);
    }
    key_names_finish(&names);
}

/* Names the key of a mistake in a hive. The user never sees the .reg text and its lines. */
static void hive_diag(void *ctx, const struct diag *diag)
{
    const struct import_args *a = ctx;
    char                      key[600], what[1200];
    snprintf(what, sizeof what, "%s %s", hive_key_of_line(a->hive, diag->line, key, sizeof key), diag->what);
    diag_print(NULL, &(struct diag){diag->kind, diag->file, 0, what, diag->advice});
}

/* The same for an INF file, which has lines of its own. */
static void inf_diag(void *ctx, const struct diag *diag)
{
    const struct import_args *a   = ctx;
    struct diag               own = *diag;
    own.line                      = inf_line_of(&a->inf, diag->line);
    diag_print(NULL, &own);
}

/* Text of the registry that was made of another file; `tell` names places of that file. */
static wstatus import_made_reg(const struct import_args *a, const char *text, size_t size, diag_fn tell,
                               struct regstore *store, struct diag_sink *sink, struct reason *why)
{
    struct diag_sink own = {sink->fn ? tell : NULL, (void *)(uintptr_t)a, 0, 0};
    const wstatus    st  = reg_import(store, text, size, a->file, REG_IMPORT_LENIENT, &own, why);
    sink->errors += own.errors;
    sink->warnings += own.warnings;
    return st;
}

static wstatus import_into(const struct import_args *a, struct regstore *store, struct diag_sink *sink,
                           struct reason *why)
{
    if (a->hive)
        return import_made_reg(a, a->hive, a->hive_size, hive_diag, store, sink, why);
    if (a->inf.text)
        return import_made_reg(a, a->inf.text, a->inf.size, inf_diag, store, sink, why);
    if (a->made)
        return ini_import(store, a->made, a->made_size, a->file, plan_vocabulary(), sink, why);
    return dialect_import_file(store, a->file, a->lenient ? REG_IMPORT_LENIENT : 0, plan_vocabulary(), sink, why);
}

/* Imports into memory first: finds every mistake, and counts keys and values, before the store is changed. */
static wstatus rehearse_import(const struct import_args *a, struct import_count *n, struct diag_sink *sink,
                               struct reason *why)
{
    static const char *const roots[] = {"HKEY_LOCAL_MACHINE", "HKEY_CURRENT_USER", "HKEY_USERS", "HKEY_CLASSES_ROOT",
                                        "HKEY_CURRENT_CONFIG"};
    struct regstore         *memory  = NULL;
    wstatus                  st      = regstore_open_memory(&memory, why);
    if (!st)
        st = import_into(a, memory, sink, why);
    for (size_t i = 0; !st && i < sizeof roots / sizeof roots[0]; i++)
        count_below(memory, roots[i], 0, n);
    regstore_close(memory);
    return st;
}

static void import_report(const struct import_args *a, const struct import_count *n, unsigned mistakes, bool imported)
{
    struct json *j = a->common.json ? json_create(stdout, true) : NULL;
    if (j) {
        json_object(j, NULL);
        json_text(j, "file", a->file);
        json_text(j, "store", a->common.store);
        json_number(j, "keys", n->keys);
        json_number(j, "values", n->values);
        json_number(j, "removed_keys", n->removed_keys);
        json_number(j, "removed_values", n->removed_values);
        json_number(j, "mistakes", mistakes);
        json_flag(j, "imported", imported);
        json_object_end(j);
        json_destroy(j);
    } else if (imported) {
        visible_printf(stdout, "imported %u key%s, %u value%s from %s into %s", n->keys, plural(n->keys), n->values,
                       plural(n->values), a->file, a->common.store);
        if (n->removed_keys || n->removed_values)
            visible_printf(stdout, "; removed %u key%s, %u value%s", n->removed_keys, plural(n->removed_keys),
                           n->removed_values, plural(n->removed_values));
        putchar('\n');
    } else if (!mistakes) {
        visible_printf(stdout, "%s is fine: %u key%s, %u value%s; nothing was changed\n", a->file, n->keys,
                       plural(n->keys), n->values, plural(n->values));
    }
}

/* Imports the file into the store; *n gets the removed keys and values. */
static wstatus store_import(const struct import_args *a, struct regstore *store, struct import_count *n,
                            struct reason *why)
{
    struct diag_sink     quiet  = {0};
    struct store_moment *before = store_moment_take(store);
    wstatus st = before ? import_into(a, store, &quiet, why) : reason_set(why, W_OUTOFMEMORY, "not enough memory");
    if (!st)
        store_moment_gone(before, store, &n->removed_keys, &n->removed_values);
    store_moment_free(before);
    return st;
}

/* Removes declarations by their names: all of them, or nothing. */
static int remove_run(const struct import_args *a)
{
    struct import_count  n      = {0};
    struct regstore     *store  = NULL;
    struct store_moment *before = NULL;
    struct reason        why    = {0};
    wstatus              st     = store_access_open(&a->common, true, &store, &why);
    if (!st && !(before = store_moment_take(store)))
        st = reason_set(&why, W_OUTOFMEMORY, "not enough memory");
    st = st ? st : regstore_begin(store, &why);
    for (unsigned i = 0; i < a->count && !st; i++)
        st = declaration_remove(store, a->name[i], &why);
    if (!st)
        store_moment_gone(before, store, &n.removed_keys, &n.removed_values);
    if (!st && !a->dry_run)
        st = regstore_commit(store, &why);
    store_moment_free(before);
    regstore_close(store); /* rolls back what was not committed */
    if (st)
        return failure_print_about(ABOUT_STORE, "autologger import", st, &why);
    struct json *j = a->common.json ? json_create(stdout, true) : NULL;
    if (j) {
        json_object(j, NULL);
        json_text(j, "store", a->common.store);
        json_number(j, "removed_keys", n.removed_keys);
        json_number(j, "removed_values", n.removed_values);
        json_flag(j, "removed", !a->dry_run);
        json_object_end(j);
        json_destroy(j);
    } else {
        visible_printf(stdout, "%s %u key%s, %u value%s from %s%s\n", a->dry_run ? "would remove" : "removed",
                       n.removed_keys, plural(n.removed_keys), n.removed_values, plural(n.removed_values),
                       a->common.store, a->dry_run ? "; nothing was changed" : "");
    }
    return VERB_FINE;
}

int cmd_import(int argc, char **argv)
{
    static const struct argp_option options[] = {
        OPT_STORE,
        {"lenient", 'l', NULL, 0, "accept a .reg without its first line, and typographic quotes, with warnings", 0},
        {"dry-run", 'n', NULL, 0, "find all mistakes, change nothing", 0},
        {"remove", 'r', NULL, 0,
         "take declarations out of the store: NAME is a session (GlobalLogger, web), SESSION/PROVIDER, or the full path of a key",
         0},
        {"profile", 'p', "NAME", 0, "of a .wprp: this profile, by its Id or Name", 0},
        OPT_JSON,
        {0},
    };
    static const struct argp argp = {
        options,
        import_parse,
        "FILE\n--remove NAME...",
        CMDLINE_DOC(
            "Put a configuration (INI or .reg) into the store: all of it, or with any mistake nothing. FILE may also be the hive SYSTEM "
            "or SOFTWARE of a Windows system, a profile of Windows Performance Recorder (.wprp), or an INF file of a driver package. With --remove: take declarations out of it.",
            "  autologger import --store r.db xbootmgr.reg\n  autologger import --store r.db --remove web/Contoso-Web"),
        NULL,
        NULL,
        NULL};
    struct import_args  a     = {0};
    struct import_count n     = {0};
    struct regstore    *store = NULL;
    struct diag_sink    sink  = {.fn = diag_print};
    struct reason       why   = {0};
    int                 code;
    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    if (a.remove)
        return remove_run(&a);
    wstatus st = hive_is(a.file) ? hive_read(a.file, &a.hive, &a.hive_size, &why) : W_SUCCESS;
    if (!st && !a.hive && wprp_is(a.file))
        st = wprp_read(a.file, a.profile, &a.made, &a.made_size, &sink, &why);
    else if (!st && !a.hive && inf_is(a.file))
        st = inf_read(a.file, &a.inf, &sink, &why);
    st        = st ? st : rehearse_import(&a, &n, &sink, &why);
    bool read = !st; /* a later failure concerns the store */
    if (!st && !a.dry_run && !(st = store_access_open(&a.common, true, &store, &why)))
        st = store_import(&a, store, &n, &why);
    regstore_close(store);
    free(a.hive);
    free(a.made);
    inf_free(&a.inf);
    if (st && sink.errors) {
        visible_printf(stderr, "autologger import: %s: %u mistake%s, nothing was imported\n", a.file, sink.errors,
                       plural(sink.errors));
        import_report(&a, &n, sink.errors, false);
        return VERB_FAILED;
    }
    if (st)
        return failure_print_about(read ? ABOUT_STORE : ABOUT_CONFIGURATION, "autologger import", st, &why);
    import_report(&a, &n, 0, !a.dry_run);
    return VERB_FINE;
}
