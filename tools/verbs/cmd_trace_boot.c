/* autologger trace-boot: trace the next boot, or the next boots, without a file of the user's own. */
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/setup/apply.h"
#include "tools/setup/profile.h"
#include "tools/setup/runs.h"
#include "tools/setup/setup.h"
#include "tools/setup/under_way.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RUNS_UNIT "autologger-runs.service"
enum { WAIT_STEP_S = 2 };

struct trace_args {
    struct cmdline       common;
    struct apply_options options;
    const char          *root;
    unsigned             runs, wait_s;
    bool                 reboot, go_on, results;
};

static unsigned trace_boot_number_parse(const char *arg, const char *what, unsigned most, struct argp_state *state)
{
    char         *end;
    unsigned long n = strtoul(arg, &end, 10);
    if (*end || end == arg || !n || n > most)
        argp_error(state, "%s takes 1 to %u, not \"%s\"", what, most, arg);
    return (unsigned)n;
}

static error_t trace_boot_parse(int key, char *arg, struct argp_state *state)
{
    struct trace_args *a = state->input;
    switch (key) {
    case 'b': a->reboot = true; return 0;
    case 'r': a->runs = trace_boot_number_parse(arg, "--runs", RUNS_MAX, state); return 0;
    case 'c': a->go_on = true; return 0;
    case 'w': a->wait_s = trace_boot_number_parse(arg, "--wait", 86400, state); return 0;
    case 'u': a->results = true; return 0;
    case 'n': a->options.dry_run = true; return 0;
    case 'v': a->options.brief = false; return 0;
    case 'f': a->options.force = true; return 0;
    case 'T': a->options.accept_tpm = true; return 0;
    case 'I': a->options.no_initramfs = true; return 0;
    case 'R': a->root = arg; return 0;
    case ARGP_KEY_ARG:
        if (a->options.word)
            argp_error(state, "one FILE or PROFILE at a time");
        a->options.word = arg;
        return 0;
    case ARGP_KEY_END:
        if (a->root && a->reboot)
            argp_error(state, "--reboot is for this machine, not for --root");
        if ((a->go_on || a->results) && (a->options.word || a->runs || a->reboot))
            argp_error(state, "--continue and --results take what was asked for at the first run");
        return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

/* ---- the history ---- */

static wstatus history_open(const char *path, bool write, struct regstore **store, struct history *h,
                            struct reason *why)
{
    wstatus st = regstore_open(path, write, store, why);
    return st ? st : history_load(*store, h, why);
}

static wstatus runs_begin(const struct trace_args *a, struct reason *why)
{
    struct regstore *store = NULL;
    struct history   h     = {0};
    struct runs      r     = {.wanted       = a->runs,
                              .reboot       = a->reboot,
                              .force        = a->options.force,
                              .accept_tpm   = a->options.accept_tpm,
                              .no_initramfs = a->options.no_initramfs};
    char *full = strchr(a->options.word, '/') || strchr(a->options.word, '.') ? realpath(a->options.word, NULL) : NULL;
    snprintf(r.word, sizeof r.word, "%s", full ? full : a->options.word);
    free(full);
    wstatus st = history_open(a->options.store, true, &store, &h, why);
    for (unsigned i = 0; i < h.count; i++)
        r.from = h.boots[i].list.number > r.from ? h.boots[i].list.number : r.from;
    st = st ? st : runs_save(store, &r, why);
    history_finish(&h);
    regstore_close(store);
    return st;
}

/* Enables or disables the unit that continues after each boot. */
static void trace_boot_unit_set(const struct machine *m, bool on, bool json)
{
    const char *const argv[] = {"systemctl", on ? "enable" : "disable", "--quiet", RUNS_UNIT, NULL};
    bool there = machine_has(m, "/usr/lib/systemd/system/" RUNS_UNIT) && machine_has_command(m, "systemctl");
    bool fine  = there && !machine_run(m, argv, NULL, 0, true, NULL);
    if (on && !json)
        puts(fine ? "After each of these boots the next one is prepared (" RUNS_UNIT ")."
                  : "After each of these boots run: autologger trace-boot --continue");
}

/* ---- carrying out ---- */

static int reboot_now(const struct machine *m)
{
    const char *const systemd[] = {"systemctl", "reboot", NULL}, *const plain[] = {"reboot", NULL};
    struct reason why = {0};
    fflush(stdout);
    sync();
    wstatus st = machine_run(m, machine_has_command(m, "systemctl") ? systemd : plain, NULL, 0, false, &why);
    return st ? failure_print("autologger trace-boot", st, &why) : VERB_FINE;
}

static void say_next(const struct trace_args *a)
{
    puts(
        "It is recorded from the initramfs on, and stops by itself. One that does not finish is not traced again; autologger=off on the\n"
        "kernel command line switches all of it off.");
    puts(a->reboot ? "Rebooting. Then: autologger status --wait"
                   : "Nothing reboots by itself: reboot when it suits. Then: autologger status --wait");
}

static int trace_boot_prepare(struct trace_args *a)
{
    struct apply_result result;
    struct reason       why = {0};
    char                file[PROFILE_PATH];
    wstatus             st = profile_resolve(a->options.word, a->root, file, &why);
    if (st)
        return failure_print_about(ABOUT_CONFIGURATION, "autologger trace-boot", st, &why);
    a->options.file = file;
    int code        = apply_run(&a->options, &result);
    if (code || !result.applied)
        return code;
    if (!result.once && !a->options.json)
        puts("This configuration does not say Once = yes: it goes on after that boot.");
    if (a->runs && (st = runs_begin(a, &why)))
        return failure_print_about(ABOUT_STORE, "autologger trace-boot", st, &why);
    if (a->runs > 1)
        trace_boot_unit_set(&a->options.machine, true, a->options.json);
    if (!a->options.json)
        say_next(a);
    return a->reboot ? reboot_now(&a->options.machine) : VERB_FINE;
}

static bool trace_boot_is_over(const struct machine *m, struct regstore *store, uint32_t number)
{
    struct result_list list = {0};
    bool               over = !result_load_number(store, number, &list, NULL) && under_way_over(m, &list);
    result_list_finish(&list);
    return over;
}

/* True: the present boot is one of these, and over. */
static bool this_boot_over(const struct trace_args *a, const struct runs *r, struct regstore *store,
                           const struct history *h)
{
    const struct machine *m = &a->options.machine;
    char                  now[64];
    bool                  over = false;
    under_way_boot_id(m, now);
    for (unsigned i = 0; *now && i < h->count; i++)
        over |= runs_has(r, &h->boots[i]) && !strcmp(now, h->boots[i].list.boot_id) &&
                trace_boot_is_over(m, store, h->boots[i].list.number);
    return over;
}

/* Waits until the present boot is over. W_TIMEOUT: it was not over in time; to go on would mean to reboot for ever. */
static wstatus wait_for_boot(const struct trace_args *a, const struct runs *r, struct regstore *store,
                             struct history *h, struct reason *why)
{
    wstatus st = W_SUCCESS;
    for (unsigned waited = 0; !st && !this_boot_over(a, r, store, h); waited += WAIT_STEP_S) {
        if (waited >= a->wait_s)
            return reason_set(
                why, W_TIMEOUT,
                "this boot was not traced to its end within %u s: no other run is prepared, %u of %u are done. "
                "Do: autologger status says why; autologger trace-boot --continue goes on",
                a->wait_s, runs_done(r, h), r->wanted);
        sleep(WAIT_STEP_S);
        history_finish(h);
        *h = (struct history){0};
        st = history_load(store, h, why);
    }
    return st;
}

static void results_show(const struct runs *r, const struct history *h, bool as_json)
{
    struct json *j = as_json ? json_create(stdout, true) : NULL;
    if (!j) {
        runs_print(r, h, stdout);
        return;
    }
    json_object(j, NULL);
    runs_json(r, h, j);
    json_object_end(j);
    json_destroy(j);
}

static int trace_boot_later(struct trace_args *a)
{
    struct regstore *store = NULL;
    struct history   h     = {0};
    struct runs      r     = {0};
    struct reason    why   = {0};
    wstatus          st    = history_open(a->options.store, false, &store, &h, &why);
    st                     = st ? st : runs_load(store, &r, &why);
    if (!st && a->go_on && a->wait_s)
        st = wait_for_boot(a, &r, store, &h, &why);
    unsigned done = runs_done(&r, &h);
    bool     more = a->go_on && runs_left(&r, &h);
    if (!st && !more)
        results_show(&r, &h, a->common.json);
    history_finish(&h);
    regstore_close(store);
    if (st == W_TIMEOUT) {
        trace_boot_unit_set(&a->options.machine, false, a->common.json);
        failure_print("autologger trace-boot", st, &why);
        return VERB_FAILED; /* nothing was refused */
    }
    if (st)
        return failure_print_about(ABOUT_STORE, "autologger trace-boot", st, &why);
    if (!more) {
        if (a->go_on)
            trace_boot_unit_set(&a->options.machine, false, a->common.json);
        return VERB_FINE;
    }
    a->options.word         = r.word;
    a->options.force        = r.force;
    a->options.accept_tpm   = r.accept_tpm;
    a->options.no_initramfs = r.no_initramfs;
    a->reboot               = r.reboot;
    if (!a->options.json)
        printf("run %u of %u\n\n", done + 1, r.wanted);
    return trace_boot_prepare(a);
}

int cmd_trace_boot(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"reboot", 'b', NULL, 0, "reboot at once; without it nothing reboots", 0},
        {"runs", 'r', "N", 0, "trace N boots, and compare their times; with --reboot it reboots N times by itself", 0},
        {"results", 'u', NULL, 0, "the runs so far: median and spread", 0},
        {"continue", 'c', NULL, 0, "after a boot of several: prepare the next one, or show the results", 0},
        {"wait", 'w', "SECONDS", 0, "with --continue: wait so long for this boot's results", 0},
        {"dry-run", 'n', NULL, 0, "say what would change, and change nothing", 0},
        {"verbose", 'v', NULL, 0,
         "every change of the store, every check, every session and provider as apply shows them", 0},
        {"force", 'f', NULL, 0, "go on although a check or a session failed; never where a check found a danger", 0},
        {"accept-tpm", 'T', NULL, 0, "go on although the root is unlocked by a TPM: have the recovery key at hand", 0},
        {"no-initramfs", 'I', NULL, 0, "leave the initramfs as it is", 0},
        {"root", 'R', "DIR", 0, "of the machine whose root is DIR (an image)", 0},
        OPT_STORE,
        OPT_JSON,
        {0},
    };
    static const struct argp argp = {
        options,
        trace_boot_parse,
        "[FILE|PROFILE]",
        CMDLINE_DOC(
            "Trace the next boot. Without a FILE or PROFILE: profile boot. The same as apply, and says what will happen.",
            "  autologger trace-boot\n  autologger trace-boot --runs 5 --reboot"),
        NULL,
        NULL,
        NULL};
    struct trace_args a = {
        .options = {.verb = "autologger trace-boot", .log_dir = "/var/log/autologger", .brief = true}};
    struct reason why = {0};
    char          store[MACHINE_PATH];
    int           code;
    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    wstatus st = store_access_machine(&a.common, a.root, &a.options.machine, store, &why);
    if (st)
        return failure_print("autologger trace-boot", st, &why);
    if (!a.options.word)
        a.options.word = "boot";
    a.options.json  = a.common.json;
    a.options.store = a.common.store;
    return a.go_on || a.results ? trace_boot_later(&a) : trace_boot_prepare(&a);
}
