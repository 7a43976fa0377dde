/* put_back.c - see put_back.h. */
#include "tools/setup/put_back.h"

#include "autologger/daemon/early/guard.h"
#include "registry-sim/base/visible_print.h"
#include "registry-sim/store/snapshot.h"
#include "tools/base/json_out.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/setup/runs.h"
#include "tools/setup/sealed_root.h"
#include "tools/setup/setup.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define RUNS_UNIT "autologger-runs.service"
#define DPKG_LOCK "/var/lib/dpkg/lock-frontend"
enum { DPKG_WAIT_S = 600, DPKG_STEP_S = 5 };

/* ---- the record in the store ---- */

struct put_in_place put_in_place_load(struct regstore *store)
{
    uint32_t unit = 0, image = 0;
    regstore_get_dword(store, DECLARED_KEY, "UnitEnabled", &unit, NULL);
    regstore_get_dword(store, DECLARED_KEY, "InitramfsBuilt", &image, NULL);
    return (struct put_in_place){unit != 0, image != 0};
}

wstatus put_in_place_save(struct regstore *store, const struct put_in_place *in, struct reason *why)
{
    wstatus st = regstore_set_dword(store, DECLARED_KEY, "UnitEnabled", in->unit, why);
    return st ? st : regstore_set_dword(store, DECLARED_KEY, "InitramfsBuilt", in->image, why);
}

/* ---- the file put-back: "doing", "done", or "left: why" ---- */

enum put_back_state put_back_look(const struct machine *m, char *left, size_t size)
{
    char               *text  = machine_read(m, "/" SETUP_PUT_BACK, NULL);
    enum put_back_state state = PUT_BACK_NOT_YET;
    snprintf(left, size, "%s", "");
    if (text && !strncmp(text, "done", 4))
        state = PUT_BACK_DONE;
    else if (text && !strncmp(text, "left: ", 6)) {
        state = PUT_BACK_LEFT;
        snprintf(left, size, "%.*s", (int)strcspn(text + 6, "\n"), text + 6);
    }
    free(text);
    return state;
}

static wstatus state_write(const struct machine *m, const char *word, const char *reason, struct reason *why)
{
    char text[sizeof(struct reason) + 16];
    int  n = snprintf(text, sizeof text, "%s%s%s\n", word, *reason ? ": " : "", reason);
    return machine_write(m, "/" SETUP_PUT_BACK, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1, 0644, why);
}

/* ---- is it time? ---- */

struct putting {
    const struct clean_options *o;
    struct setup                setup;
    struct system_need          need;
    struct put_in_place         in;
    uint64_t                    boot; /* the boot that used it up; 0: none */
    int                         dpkg_fd;
};

/* True: "trace-boot --runs" has boots left, and its unit prepares the next one. */
static bool another_run(const struct machine *m, struct regstore *store)
{
    const char *const argv[] = {"systemctl", "is-enabled", RUNS_UNIT, NULL};
    char              answer[64];
    struct history    h    = {0};
    struct runs       r    = {0};
    bool              left = !runs_load(store, &r, NULL) && !history_load(store, &h, NULL) && runs_left(&r, &h);
    history_finish(&h);
    return left && !machine_run(m, argv, answer, sizeof answer, true, NULL) && !strncmp(answer, "enabled", 7);
}

/* NULL: it is time; else why there is nothing to do (now). */
static const char *setup_put_back_look(struct putting *p)
{
    const struct machine *m      = &p->o->machine;
    struct regstore      *sealed = NULL, *store = NULL;
    struct snapshot_head  head;
    struct guard          g;
    char                  path[MACHINE_PATH], left[8];
    if (regstore_open_snapshot(machine_path(m, "/" SETUP_SNAPSHOT, path), &sealed, &head, NULL))
        return "nothing is applied";
    regstore_close(sealed);
    guard_read(AT_FDCWD, machine_path(m, "/" GUARD_PATH, path), &g);
    if (!guard_used_up(&g, head.change_number))
        return "what was applied is not used up";
    if (put_back_look(m, left, sizeof left) != PUT_BACK_NOT_YET)
        return "it was put back before";
    if (regstore_open(p->o->store, false, &store, NULL))
        return "there is no store";
    bool runs = another_run(m, store);
    p->in     = put_in_place_load(store);
    p->boot   = g.consumed;
    regstore_close(store);
    return runs ? "another boot is to be traced (trace-boot --runs)" : NULL;
}

/* ---- the steps ---- */

/* Takes the lock by which apt and dpkg exclude each other. False: dpkg holds it for longer than DPKG_WAIT_S. */
static bool dpkg_lock(struct putting *p)
{
    char         path[MACHINE_PATH];
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    p->dpkg_fd         = open(machine_path(&p->o->machine, DPKG_LOCK, path), O_RDWR | O_CLOEXEC);
    for (unsigned waited = 0; p->dpkg_fd >= 0 && fcntl(p->dpkg_fd, F_SETLK, &whole) < 0; waited += DPKG_STEP_S) {
        if (waited >= DPKG_WAIT_S)
            return false;
        sleep(DPKG_STEP_S);
    }
    return true;
}

/* W_CANCELLED: the machine goes down; a later boot tries again. */
static wstatus image_back(struct putting *p, struct reason *why)
{
    const struct machine *m = &p->o->machine;
    char                  sealed[256];
    if (!p->in.image || initramfs_content(m, &p->need.initramfs) == CONTENT_ABSENT)
        return W_SUCCESS;
    if (sealed_root_find(m, sealed, sizeof sealed))
        return reason_set(why, W_NOT_SUPPORTED,
                          "%s, and another initramfs may lock it. Do: autologger clean, with the recovery key at hand",
                          sealed);
    wstatus st = initramfs_take_out(m, &p->need.initramfs, why);
    if (st && sigismember(&p->setup.signals, SIGTERM) == 0) {
        sigset_t pending; /* the machine goes down: the tool was killed, it did not fail */
        sigpending(&pending);
        if (sigismember(&pending, SIGTERM))
            return reason_set(why, W_CANCELLED, "the machine was shut down meanwhile");
    }
    if (!st)
        setup_say(&p->setup, "initramfs: built anew by %s for the kernel %s, without the early program",
                  initramfs_tool_name(p->need.initramfs.tool), m->kernel);
    return st;
}

static wstatus put_back_steps(struct putting *p, struct reason *why)
{
    const struct machine *m     = &p->o->machine;
    bool                  entry = false;
    struct reason         left  = {0};
    wstatus               st    = state_write(m, "doing", "", why); /* from here on no image gets the early program */
    st                          = st ? st : boot_entry_remove(m, &p->need.entry, &entry, why);
    if (st)
        return st;
    if (entry)
        setup_say(&p->setup, "boot entry: 'autologger' was taken away");
    wstatus image = image_back(p, &left);
    if (image == W_CANCELLED) {
        *why = left;
        return image;
    }
    if (p->in.unit && machine_has_command(m, "systemctl") && setup_unit_enabled(m)) {
        if (setup_unit_disable(m))
            setup_say(&p->setup, "daemon: " SETUP_UNIT " is not started at boot any more");
        else if (!image)
            image = reason_set(&left, W_GEN_FAILURE,
                               SETUP_UNIT " could not be disabled. Do: systemctl disable " SETUP_UNIT);
    }
    if (image)
        setup_say(&p->setup, "left in place: %s", left.text);
    return state_write(m, image ? "left" : "done", image ? left.text : "", why);
}

/* ---- the whole ---- */

static void put_back_report(const struct putting *p, const char *nothing)
{
    struct json *j = p->o->json ? json_create(stdout, true) : NULL;
    if (!j && nothing)
        visible_printf(stdout, "nothing to put back: %s\n", nothing);
    else if (!j)
        printf("traced once in boot %" PRIu64 "; put back what was in place for it:\n", p->boot);
    for (unsigned i = 0; !j && i < p->setup.line_count; i++)
        visible_printf(stdout, "  %s\n", p->setup.lines[i]);
    if (!j)
        return;
    json_object(j, NULL);
    json_number(j, "boot", p->boot);
    json_text(j, "nothing", nothing ? nothing : "");
    json_array(j, "put_back");
    for (unsigned i = 0; i < p->setup.line_count; i++)
        json_text(j, NULL, p->setup.lines[i]);
    json_array_end(j);
    json_object_end(j);
    json_destroy(j);
}

int put_back_run(const struct clean_options *o)
{
    struct putting p   = {.o = o, .dpkg_fd = -1};
    struct reason  why = {0};
    const char    *nothing;
    setpriority(PRIO_PROCESS, 0, 19); /* also for the tools that it runs */
    boot_entry_find(&o->machine, &p.need.entry);
    initramfs_find(&o->machine, &p.need.initramfs);
    /* dpkg's lock first: dpkg's own scripts may wait for setup's lock */
    if (!(nothing = setup_put_back_look(&p)) && p.in.image && !dpkg_lock(&p))
        nothing = "dpkg is at work; the next boot tries again";
    setup_begin(&p.setup, &o->machine, &p.need);
    wstatus st = nothing ? W_SUCCESS : setup_lock(&p.setup, &why);
    if (!nothing && !st && !(nothing = setup_put_back_look(&p))) /* another apply may have run meanwhile */
        st = put_back_steps(&p, &why);
    if (!st)
        put_back_report(&p, nothing);
    setup_finish(&p.setup);
    if (p.dpkg_fd >= 0)
        close(p.dpkg_fd);
    return st ? failure_print("autologger clean --once", st, &why) : VERB_FINE;
}
