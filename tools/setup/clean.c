/* clean.c - see apply.h: removing what apply made. */
#include "autologger/boot/history.h"
#include "autologger/daemon/early/guard.h"
#include "registry-sim/base/visible_print.h"
#include "registry-sim/store/change_number.h"
#include "registry-sim/store/key_names.h"
#include "registry-sim/text/winpath.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/setup/apply.h"
#include "tools/setup/declaration_remove.h"
#include "tools/setup/setup.h"
#include "tools/setup/store_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct cleaning {
    const struct clean_options *o;
    struct setup                setup; /* collects the lines of the report */
    struct system_need          need;
    bool                        removed;      /* anything at all */
    bool                        starting;     /* a session that apply did not declare still starts */
    char                        staying[512]; /* the sessions that are still declared */
};

static void clean_said(struct cleaning *c, const char *what)
{
    setup_say(&c->setup, "%s", what);
    c->removed = true;
}

/* ---- the store ---- */

static void starting_add(struct cleaning *c, struct regstore *store, const char *key)
{
    uint32_t start = 0;
    c->starting |= !regstore_get_dword(store, key, "Start", &start, NULL) && start;
}

static void starting_find(struct cleaning *c, struct regstore *store)
{
    struct key_names names = {0};
    starting_add(c, store, WINPATH_WMI "\\GlobalLogger");
    if (!key_names_load(store, WINPATH_WMI "\\Autologger", &names))
        for (unsigned i = 0; i < names.count; i++) {
            char key[1024];
            snprintf(key, sizeof key, WINPATH_WMI "\\Autologger\\%s", names.names[i]);
            starting_add(c, store, key);
        }
    key_names_finish(&names);
}

/* Removes the declarations of import, if asked for. */
static wstatus imported_clean(struct cleaning *c, struct regstore *store, struct reason *why)
{
    char names[512];
    if (!c->o->declared || !declaration_names(store, names, sizeof names))
        return W_SUCCESS;
    wstatus st = declaration_remove_all(store, why);
    st         = st ? st : change_number_bump(store, NULL, why);
    if (!st) {
        setup_say(&c->setup, "declarations of import: %s", names);
        c->removed = true;
    }
    return st;
}

static wstatus store_clean(struct cleaning *c, struct regstore *store, struct reason *why)
{
    struct declared d;
    wstatus         st = declared_load(store, &d, why);
    if (st)
        return st;
    unsigned sessions = 0;
    for (unsigned i = 0; i < d.count; i++)
        sessions += d.keys[i].own;
    st = declared_remove(store, &d, NULL, why);
    st = st ? st : declared_forget(store, why);
    if (!st && d.count)
        st = change_number_bump(store, NULL, why);
    if (!st && d.count) {
        setup_say(&c->setup, "declarations: %u session%s and provider%s of %s", sessions, plural(sessions),
                  plural(sessions), d.file ? d.file : "an earlier apply");
        c->removed = true;
    }
    declared_finish(&d);
    st = st ? st : imported_clean(c, store, why);
    if (!st) {
        starting_find(c, store);
        declaration_names(store, c->staying, sizeof c->staying);
    }
    return st;
}

/* ---- files of traces ---- */

static void trace_remove(struct cleaning *c, const char *path, const char *kind)
{
    bool was = false;
    if (path[0] && !machine_remove(&c->o->machine, path, &was, NULL) && was) {
        setup_say(&c->setup, "%s: %s", kind, path);
        c->removed = true;
    }
}

/* Premerge files that outlived their merge are always removed, the rest with --all. A path at which the boot made no
 * file is not autologger's. */
static void traces_clean_boot(struct cleaning *c, const struct result_list *list)
{
    for (unsigned i = 0; i < list->count; i++) {
        const struct result_row *row  = &list->rows[i];
        bool                     left = row->merged_path[0] && strcmp(row->merged_path, row->log_path);
        if (!row->file_created)
            continue;
        if (left && machine_has(&c->o->machine, row->merged_path))
            trace_remove(c, row->log_path, "premerge file");
        if (c->o->all) {
            trace_remove(c, row->log_path, "log file");
            trace_remove(c, row->merged_path, "log file");
        }
    }
}

/* Of all boots in the history, but not of rehearsals: their files are in a user's folder. */
static void traces_clean(struct cleaning *c, struct regstore *store)
{
    struct history h;
    history_load(store, &h, NULL);
    for (unsigned i = 0; i < h.count; i++) {
        struct result_list list = {0};
        if (!h.boots[i].list.rehearsal && result_load_number(store, h.boots[i].list.number, &list, NULL) == W_SUCCESS)
            traces_clean_boot(c, &list);
        result_list_finish(&list);
    }
    history_finish(&h);
}

static wstatus history_clean(struct cleaning *c, struct regstore *store, struct reason *why)
{
    if (!c->o->all || !regstore_key_exists(store, STORE_TREE_OWN))
        return W_SUCCESS;
    clean_said(c, "history of boots");
    return regstore_delete_key(store, STORE_TREE_OWN, why);
}

/* ---- the machine ---- */

static wstatus file_clean(struct cleaning *c, const char *path, const char *what, struct reason *why)
{
    bool    was = false;
    wstatus st  = machine_remove(&c->o->machine, path, &was, why);
    if (was)
        clean_said(c, what);
    return st;
}

static void unit_clean(struct cleaning *c)
{
    if (c->starting || !machine_has_command(&c->o->machine, "systemctl") || !setup_unit_enabled(&c->o->machine))
        return;
    if (setup_unit_disable(&c->o->machine))
        clean_said(c, "daemon: " SETUP_UNIT " is not started at boot any more");
}

static wstatus machine_clean(struct cleaning *c, struct reason *why)
{
    const struct machine   *m     = &c->o->machine;
    const struct initramfs *i     = &c->need.initramfs;
    bool                    entry = false;
    wstatus                 st    = file_clean(c, "/" SETUP_SNAPSHOT, "sealed snapshot", why);
    st                            = st ? st : file_clean(c, "/" GUARD_PATH, "guard file", why);
    st                            = st ? st : machine_remove(m, "/" SETUP_PUT_BACK, NULL, why);
    st                            = st ? st : boot_entry_remove(m, &c->need.entry, &entry, why);
    if (entry)
        clean_said(c, "boot entry 'autologger'");
    unit_clean(c);
    if (!st && !c->o->no_initramfs && initramfs_content(m, i) == CONTENT_PRESENT) {
        st         = setup_initramfs(&c->setup, why);
        c->removed = true;
    }
    return st;
}

static void clean_report(const struct cleaning *c, bool failed)
{
    if (!c->o->json) {
        for (unsigned i = 0; i < c->setup.line_count; i++)
            visible_printf(stdout, "%s %s\n", strncmp(c->setup.lines[i], "initramfs:", 10) ? "removed" : "       ",
                           c->setup.lines[i]);
        if (!c->removed && !failed)
            puts("there was nothing to remove");
        if (*c->staying)
            visible_printf(
                stdout,
                "still declared, not by apply: %s. Do: autologger clean --declared takes them too, autologger import --remove NAME takes one\n",
                c->staying);
        return;
    }
    struct json *j = json_create(stdout, true);
    if (!j)
        return;
    json_object(j, NULL);
    json_array(j, "removed");
    for (unsigned i = 0; i < c->setup.line_count; i++)
        json_text(j, NULL, c->setup.lines[i]);
    json_array_end(j);
    json_flag(j, "still_declared", c->starting);
    json_text(j, "declared", c->staying);
    json_object_end(j);
    json_destroy(j);
}

int clean_run(const struct clean_options *o)
{
    struct cleaning  c     = {.o = o};
    struct regstore *store = NULL;
    struct reason    why   = {0};
    wstatus          st    = W_SUCCESS;
    boot_entry_find(&o->machine, &c.need.entry);
    initramfs_find(&o->machine, &c.need.initramfs);
    setup_begin(&c.setup, &o->machine, &c.need);
    st = setup_lock(&c.setup, &why);
    if (!st && !access(o->store, F_OK)) {
        st = regstore_open(o->store, true, &store, &why);
        st = st ? st : regstore_begin(store, &why);
        st = st ? st : store_clean(&c, store, &why);
        if (!st)
            traces_clean(&c, store);
        st = st ? st : history_clean(&c, store, &why);
        st = st ? st : regstore_commit(store, &why);
        regstore_close(store); /* rolls back what was not committed */
    }
    /* the declarations are gone; if a step below fails, a second clean continues */
    st = st ? st : machine_clean(&c, &why);
    clean_report(&c, st != W_SUCCESS);
    setup_finish(&c.setup);
    return st ? failure_print("autologger clean", st, &why) : VERB_FINE;
}
