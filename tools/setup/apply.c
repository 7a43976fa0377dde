/* apply.c - see apply.h. */
#include "tools/setup/apply.h"
#include "autologger/plan/boot_settings.h"
#include "registry-sim/base/os.h"
#include "registry-sim/base/visible_print.h"
#include "registry-sim/text/dialect.h"
#include "registry-sim/win32/filetime.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/setup/check_view.h"
#include "tools/setup/put_back.h"
#include "tools/setup/setup.h"
#include "tools/setup/store_tree.h"
#include "tools/setup/tune.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* All that is known before anything is changed. */
struct proposal {
    const struct apply_options *o;
    struct regstore            *before; /* the store, read-only, or an empty one in memory */
    struct regstore            *file;   /* the configuration alone */
    struct regstore            *after;  /* in memory: what the store is to be */
    struct declared             old, new;
    struct tree_changes         changes;
    struct system_need          need;
    struct system_report        system;
    struct check_view           rows;
    struct boot_settings        settings;
    char                       *tuned; /* malloc; --tune's changes of the file's declarations, a line each */
};

static bool is_reg_file(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && !strcasecmp(dot, ".reg");
}

static void proposal_finish(struct proposal *p)
{
    check_view_finish(&p->rows);
    boot_settings_finish(&p->settings);
    tree_changes_finish(&p->changes);
    declared_finish(&p->old);
    declared_finish(&p->new);
    regstore_close(p->after);
    regstore_close(p->file);
    regstore_close(p->before);
    free(p->tuned);
}

/* Reads the configuration alone, and reports every mistake. */
static wstatus apply_file_read(struct proposal *p, unsigned *mistakes, struct reason *why)
{
    struct diag_sink sink = {.fn = diag_print};
    if (!p->o->file)
        return W_SUCCESS;
    wstatus st = regstore_open_memory(&p->file, why);
    st         = st ? st : dialect_import_file(p->file, p->o->file, 0, plan_vocabulary(), &sink, why);
    *mistakes  = sink.errors;
    if (!st && regstore_key_exists(p->file, STORE_TREE_OWN))
        st = reason_set(why, W_INVALID_PARAMETER,
                        "%s declares keys below %s, which are autologger's own. Do: take them out", p->o->file,
                        STORE_TREE_OWN);
    if (!st && p->o->tune)
        st = tune_by_store(p->o->store, p->file, &p->tuned, why);
    st = st ? st : declared_of(p->file, &p->new, why);
    if (st)
        return st;
    char *path     = realpath(p->o->file, NULL);
    p->new.file    = path ? path : strdup(p->o->file);
    p->new.profile = strcmp(p->o->word, p->o->file) ? strdup(p->o->word) : NULL;
    p->new.time    = filetime_from_unix_ns(os_linux()->realtime_ns(os_linux()));
    return p->new.file ? W_SUCCESS : reason_set(why, W_OUTOFMEMORY, "not enough memory");
}

/* Makes p->after: the store without the last apply's declarations, with the file's. */
static wstatus after_make(struct proposal *p, struct reason *why)
{
    struct diag_sink quiet = {0};
    wstatus          st    = access(p->o->store, F_OK) ? regstore_open_memory(&p->before, why)
                                                       : regstore_open(p->o->store, false, &p->before, why);
    st                     = st ? st : regstore_open_memory(&p->after, why);
    st                     = st ? st : store_tree_copy(p->before, p->after, why);
    st                     = st ? st : declared_load(p->before, &p->old, why);
    if (!st && !p->o->file) /* without a file the record of the last apply stays */
        return declared_load(p->before, &p->new, why);
    st = st ? st : declared_remove(p->after, &p->old, &p->new, why);
    st = st ? st : dialect_import_file(p->after, p->o->file, 0, plan_vocabulary(), &quiet, why);
    if (!st && p->o->tune)
        st = tune_by_store(p->o->store, p->after, NULL, why);
    return st ? st : store_tree_compare(p->before, p->after, &p->changes, why);
}

static wstatus judge(struct proposal *p, struct json *j, struct reason *why)
{
    struct system_ask ask = {&p->o->machine, p->after, NULL, p->o->log_dir, p->o->accept_tpm, !p->o->no_initramfs};
    wstatus           st  = system_check(&ask, &p->need, &p->system, why);
    boot_settings_read(p->after, &p->settings, NULL);
    check_view_begin(&p->rows, j);
    p->rows.failed_only = p->o->brief;
    p->rows.elsewhere   = p->o->machine.root[0] != 0;
    return st ? st : check_view_rows(&p->rows, p->after, p->o->log_dir, NULL, why);
}

/* ---- reporting ---- */

/* What is applied, in words. */
static const char *what(const struct proposal *p)
{
    return p->o->file ? p->new.file : "what the store declares, as it is";
}

static void brief_print(const struct proposal *p)
{
    unsigned failed = p->system.failed + p->rows.failed;
    visible_printf(stdout, "%s %s\n", p->o->dry_run ? "would apply" : "applying", what(p));
    if (p->system.failed)
        system_report_print(&p->system, SYSTEM_FAILED, stdout);
    if (p->rows.failed)
        check_view_print(&p->rows, stdout);
    visible_printf(
        stdout, "%u value%s of the store change%s; %u check%s, %u session%s and provider%s: %s%u failed, %u note%s%s\n",
        p->changes.count, plural(p->changes.count), p->changes.count == 1 ? "s" : "", p->system.count,
        plural(p->system.count), p->rows.rows, plural(p->rows.rows), plural(p->rows.rows), failed ? "" : "fine, ",
        failed, p->system.notes + p->rows.conditions, plural(p->system.notes + p->rows.conditions),
        p->o->dry_run ? "" : " (all of them: --verbose)");
    fflush(stdout);
}

static void proposal_print(const struct proposal *p)
{
    const struct apply_options *o = p->o;
    visible_printf(stdout, "%s %s\n\n", o->dry_run ? "would apply" : "applying", what(p));
    if (p->tuned)
        printf("Tuned by what the last boot needed%s\n%s\n", *p->tuned ? ":" : ": nothing to change",
               p->tuned); /* visible: lines of tune.c's own */
    if (tree_changes_seen(&p->changes))
        tree_changes_print(&p->changes, stdout);
    else if (o->file)
        puts("the store declares this already: no value changes");
    else
        puts("no value changes");
    puts("");
    system_report_print(&p->system, SYSTEM_OK, stdout);
    puts("\nExpected after the reboot:\n");
    check_view_print(&p->rows, stdout);
    puts("");
    fflush(stdout);
}

/* Says how many boots are traced and when the sessions end. */
static void meaning_print(const struct proposal *p)
{
    const struct boot_settings *s = &p->settings;
    if (s->once)
        puts("The next boot is traced, and no other (Once = yes).");
    else if (p->new.file && is_reg_file(p->new.file))
        puts(
            "Every boot is traced from now on: a .reg keeps Windows' way. For one boot declare [Boot] Once = yes; 'autologger clean' ends it.");
    else
        puts("Every boot is traced from now on (no [Boot] Once = yes); 'autologger clean' ends it.");
    if (!s->stops)
        puts("The sessions run until they are stopped: autologger stop --merge.");
    if (p->need.kernel_phase)
        puts(
            "The kernel records from its first moment, in a boot entry of its own; a power cycle gives the normal boot.");
}

static bool declares_session(const struct proposal *p)
{
    struct declared        all = {0};
    const struct declared *d   = &p->new;
    bool                   any = false;
    if (!p->o->file) {
        declared_of(p->after, &all, NULL);
        d = &all;
    }
    for (unsigned i = 0; i < d->count; i++)
        any |= d->keys[i].own;
    declared_finish(&all);
    return any;
}

/* Why apply is refused; "" = it is not. */
static void refusal_of(const struct proposal *p, char *out, size_t size)
{
    unsigned failed = p->rows.failed + p->system.failed - p->system.dangers;
    *out            = 0;
    if (p->system.dangers)
        snprintf(out, size, "%u check%s found a danger. Do: what the check says; --force does not go on here",
                 p->system.dangers, plural(p->system.dangers));
    else if (!declares_session(p))
        snprintf(out, size, "%s declares no session. Do: %s", p->o->file ? p->o->file : "the store",
                 p->o->file ? "see the profiles: autologger profiles"
                            : "autologger apply FILE or PROFILE; see: autologger profiles");
    else if (failed && !p->o->force)
        snprintf(out, size, "%u check%s or row%s failed. Do: correct them, or go on with --force", failed,
                 plural(failed), plural(failed));
}

/* ---- carrying out ---- */

/* Makes the changes in the store's open transaction. W_BUSY: another writer changed the store meanwhile. */
static wstatus store_change(const struct proposal *p, struct regstore *store, struct reason *why)
{
    struct tree_changes now = {0};
    wstatus             st  = store_tree_compare(store, p->after, &now, why);
    if (!st && now.count != p->changes.count)
        st = reason_set(why, W_BUSY, "the store %s was changed by somebody else meanwhile. Do: try again", p->o->store);
    st = st ? st : store_tree_follow(store, p->after, &p->changes, why);
    if (!st && p->o->file)
        st = declared_save(store, &p->new, why);
    tree_changes_finish(&now);
    return st;
}

static wstatus apply_steps(const struct proposal *p, struct regstore *store, struct setup *s, struct reason *why)
{
    const struct initramfs *i     = &p->need.initramfs;
    struct put_in_place     in    = put_in_place_load(store);
    bool                    image = i->hook && !p->o->no_initramfs;
    wstatus                 st    = store_change(p, store, why);
    st                            = st ? st : setup_snapshot(s, store, p->o->store, p->o->log_dir, why);
    st                            = st ? st : setup_entry(s, why);
    st                            = st ? st : setup_unit(s, why);
    if (st)
        return st;
    setup_logs(s, p->o->log_dir);
    in.unit |= s->unit_enabled;
    in.image |= image;
    st = put_in_place_save(store, &in, why);
    if (st)
        return st;
    if (image)
        st = setup_initramfs(s, why);
    else
        setup_say(s, i->hook ? "initramfs: left as it is (--no-initramfs); the next boot follows the old image"
                             : "initramfs: autologger has no part in it");
    return st ? st : regstore_commit(store, why);
}

static wstatus apply_carry_out(const struct proposal *p, struct setup *s, struct reason *why)
{
    struct regstore *store = NULL;
    int              rc    = os_mkdir_parents(os_linux(), p->o->store, 0755);
    wstatus st = rc < 0 ? reason_set(why, wstatus_from_errno(-rc), "the folder of %s cannot be made: %s", p->o->store,
                                     strerror(-rc))
                        : W_SUCCESS;
    bool    fresh = access(p->o->store, F_OK) != 0;
    char    snapshot[MACHINE_PATH];
    os_mkdir_parents(os_linux(), machine_path(&p->o->machine, "/" SETUP_SNAPSHOT, snapshot), 0755);
    st = st ? st : setup_lock(s, why);
    st = st ? st : regstore_open(p->o->store, true, &store, why);
    st = st ? st : regstore_begin(store, why);
    if (!st && (st = apply_steps(p, store, s, why)) != W_SUCCESS) {
        regstore_rollback(store);
        setup_undo(s);
    }
    regstore_close(store);
    if (st && fresh)
        unlink(p->o->store); /* an empty store that this apply created */
    return st;
}

/* ---- the whole ---- */

static void done_json(struct json *j, const struct proposal *p, const struct setup *s, const char *refused,
                      bool applied)
{
    tree_changes_json(&p->changes, j);
    system_report_json(&p->system, j);
    json_number(j, "failed", p->rows.failed + p->system.failed);
    json_text(j, "file", p->new.file);
    json_text(j, "profile", p->new.profile);
    json_text(j, "tuned", p->tuned);
    json_flag(j, "dry_run", p->o->dry_run);
    json_flag(j, "applied", applied);
    json_text(j, "refused", refused);
    json_flag(j, "once", p->settings.once);
    json_flag(j, "kernel_phase", p->need.kernel_phase);
    json_array(j, "done");
    for (unsigned i = 0; i < s->line_count; i++)
        json_text(j, NULL, s->lines[i]);
    json_array_end(j);
}

/* Briefly: "done: snapshot, daemon, initramfs", by the first words of the lines. */
static void done_print(const struct setup *s, bool brief)
{
    for (unsigned i = 0; i < s->line_count; i++)
        if (brief)
            visible_printf(stdout, "%s%.*s", i ? ", " : "done: ", (int)strcspn(s->lines[i], ":"), s->lines[i]);
        else
            visible_printf(stdout, "%s\n", s->lines[i]);
    if (brief && s->line_count)
        putchar('\n');
}

static int conclude(struct proposal *p, struct json *j, struct apply_result *out)
{
    const struct apply_options *o   = p->o;
    struct reason               why = {0};
    char                        refused[256];
    struct setup                s;
    wstatus                     st = W_SUCCESS;
    if (!j)
        (o->brief ? brief_print : proposal_print)(p);
    refusal_of(p, refused, sizeof refused);
    setup_begin(&s, &o->machine, &p->need);
    if (!o->dry_run && !refused[0])
        st = apply_carry_out(p, &s, &why);
    out->applied = !o->dry_run && !refused[0] && !st;
    out->once    = p->settings.once;
    if (j)
        done_json(j, p, &s, refused[0] ? refused : why.text, out->applied);
    if (!j && out->applied)
        done_print(&s, o->brief);
    if (!j && !st && !refused[0])
        meaning_print(p);
    if (!j && o->dry_run)
        puts("Nothing was changed (--dry-run).");
    fflush(stdout);
    if (refused[0])
        visible_printf(stderr, "%s: refused, nothing was changed: %s\n", o->verb, refused);
    else if (st)
        visible_printf(stderr, "%s: it could not be done, and everything was put back:\n", o->verb);
    setup_finish(&s);
    return refused[0] ? VERB_FAILED : st ? failure_print(o->verb, st, &why) : VERB_FINE;
}

int apply_run(const struct apply_options *o, struct apply_result *out)
{
    struct proposal p        = {.o = o};
    struct reason   why      = {0};
    unsigned        mistakes = 0;
    int             code;
    *out       = (struct apply_result){0};
    wstatus st = apply_file_read(&p, &mistakes, &why);
    if (mistakes) {
        visible_printf(stderr, "%s: %s: %u mistake%s, nothing was changed\n", o->verb, o->file, mistakes,
                       plural(mistakes));
        proposal_finish(&p);
        return VERB_FAILED;
    }
    bool         read = !st; /* a later failure concerns the store */
    struct json *j    = NULL;
    st                = st ? st : after_make(&p, &why);
    if (!st && o->json && (j = json_create(stdout, true)))
        json_object(j, NULL);
    st = st ? st : judge(&p, j, &why);
    if (st)
        code = failure_print_about(read ? ABOUT_STORE : ABOUT_CONFIGURATION, o->verb, st, &why);
    else
        code = conclude(&p, j, out);
    if (j) {
        json_object_end(j);
        json_destroy(j);
    }
    proposal_finish(&p);
    return code;
}
