/* autologger set: data collector sets: sessions, counters and configuration, collected together. */
#include "autologger/control/client.h"
#include "autologger/plan/plan.h"
#include "registry-sim/base/visible_print.h"
#include "registry-sim/text/winpath.h"
#include "tools/base/json_out.h"
#include "tools/base/store_access.h"
#include "tools/base/text_table.h"
#include "tools/base/verb.h"
#include "tools/live/daemon_memory.h"
#include "tools/sets/set_run.h"
#include "tools/sets/set_running.h"
#include "tools/sets/set_schedule.h"
#include "tools/sets/set_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SET_VERB "autologger set"
enum { STOP_SECONDS = 120, SET_WAIT = 0x800, SET_OF_RUNNING };
struct set_args {
    struct cmdline common;
    const char    *action, *name;
    bool           wait, running;
};

static bool set_is(const struct set_args *a, const char *action) { return strcmp(a->action, action) == 0; }

static error_t set_parse(int key, char *arg, struct argp_state *state)
{
    static const char *const actions[] = {"list", "save", "start", "stop", "export", "remove"};
    struct set_args         *a         = state->input;
    bool                     known     = false;
    switch (key) {
    case SET_WAIT: a->wait = true; return 0;
    case SET_OF_RUNNING: a->running = true; return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 1)
            argp_error(state, "one at a time: \"%s\"", arg);
        *(state->arg_num ? &a->name : &a->action) = arg;
        return 0;
    case ARGP_KEY_END:
        for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
            known = known || set_is(a, actions[i]);
        if (!known)
            argp_error(state, "\"%s\": what can be done is list, save, start, stop, export and remove", a->action);
        if (a->running && !set_is(a, "save"))
            argp_error(state, "--running is an option of save");
        if (!a->name && !set_is(a, "list"))
            argp_error(state, "%s needs %s", a->action,
                       set_is(a, "save") && !a->running ? "a FILE" : "the NAME of a set");
        return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

static int set_failed(wstatus st, const struct reason *why)
{
    return failure_print_about(ABOUT_STORE, SET_VERB, st, why);
}

/* ---- list ---- */

static void set_row(struct text_table *t, struct json *j, const struct collector_set *s, const struct set_state *state)
{
    char sessions[256] = "";
    for (unsigned i = 0; i < s->sessions.count; i++)
        snprintf(sessions + strlen(sessions), sizeof sessions - strlen(sessions), "%s%s", i ? ", " : "",
                 s->sessions.names[i]);
    if (!j) {
        text_table_row(t, s->name, state->running ? "yes" : "no", sessions, collector_set_text(s, VALUE_SET_COUNTERS),
                       collector_set_text(s, VALUE_SET_SCHEDULE), state->result);
        return;
    }
    json_object(j, NULL);
    json_text(j, "name", s->name);
    json_flag(j, "running", state->running);
    json_array(j, "sessions");
    for (unsigned i = 0; i < s->sessions.count; i++)
        json_text(j, NULL, s->sessions.names[i]);
    json_array_end(j);
    json_text(j, "counters", collector_set_text(s, VALUE_SET_COUNTERS));
    json_text(j, "configuration", collector_set_text(s, VALUE_SET_CONFIGURATION));
    json_text(j, "schedule", collector_set_text(s, VALUE_SET_SCHEDULE));
    json_text(j, "result", state->result);
    json_object_end(j);
}

static int set_list(const struct set_args *a, struct regstore *store)
{
    static const char *const titles[] = {"SET", "RUNS", "SESSIONS", "COUNTERS", "SCHEDULE", "LAST RESULT", NULL};
    struct key_names         all      = {0};
    struct reason            why      = {0};
    struct text_table        t;
    int                      code = VERB_FINE;
    wstatus                  st   = store ? collector_sets(store, &all, &why) : W_SUCCESS;
    struct json             *j    = a->common.json ? json_create(stdout, true) : NULL;
    if (st)
        return set_failed(st, &why);
    text_table_init(&t, titles);
    if (j)
        json_array(j, NULL);
    for (unsigned i = 0; i < all.count; i++) {
        struct collector_set s;
        struct set_state     state;
        if ((st = collector_set_read(store, all.names[i], &s, &why)))
            code = set_failed(st, &why);
        else {
            set_state_read(a->common.runtime_dir, s.name, &state);
            set_row(&t, j, &s, &state);
        }
        collector_set_finish(&s);
    }
    if (j) {
        json_array_end(j);
        json_destroy(j);
    } else if (all.count)
        text_table_print(&t, stdout);
    else
        puts("no set is saved. Do: autologger set save FILE");
    text_table_finish(&t);
    key_names_finish(&all);
    return code;
}

/* ---- save, export, remove ---- */

/* The sets of a file, checked in memory. */
static wstatus set_file_read(const char *path, struct regstore *memory, struct key_names *sets, struct reason *why)
{
    struct diag_sink sink = {.fn = diag_print};
    wstatus          st   = dialect_import_file(memory, path, 0, plan_vocabulary(), &sink, why);
    if (st && sink.errors)
        return reason_set(why, st, "%s: %u mistake%s, nothing was saved", path, sink.errors, plural(sink.errors));
    st = st ? st : collector_sets(memory, sets, why);
    if (!st && !sets->count)
        st = reason_set(why, W_NOT_FOUND, "%s has no set. Do: write a section [CollectorSet/NAME]", path);
    if (!st && (regstore_key_exists(memory, WINPATH_WMI "\\Autologger") ||
                regstore_key_exists(memory, WINPATH_WMI "\\GlobalLogger")))
        st = reason_set(why, W_INVALID_PARAMETER,
                        "%s also declares sessions of a boot. Do: give them a file of their own, for autologger apply",
                        path);
    for (unsigned i = 0; !st && i < sets->count; i++) {
        struct collector_set s;
        st = collector_set_read(memory, sets->names[i], &s, why);
        st = st ? st : set_schedule_check(collector_set_text(&s, VALUE_SET_SCHEDULE), why);
        collector_set_finish(&s);
    }
    return st;
}

/* Replaces the set of that name. */
static wstatus set_put(struct regstore *memory, struct regstore *store, const char *name, struct reason *why)
{
    char    key[256];
    wstatus st = W_SUCCESS;
    snprintf(key, sizeof key, "%s\\%s", SETS_KEY, name);
    if (regstore_key_exists(store, key))
        st = regstore_delete_key(store, key, why);
    return st ? st : collector_set_copy(memory, key, store, key, why);
}

/* The timer starts a set of the machine's own store. */
static wstatus set_scheduled(const struct set_args *a, const char *name, const char *calendar, struct reason *why)
{
    if (strcmp(a->common.store, CMDLINE_DEFAULT_STORE) == 0)
        return set_schedule_put(name, calendar, why);
    if (*calendar)
        visible_printf(stderr, SET_VERB ": %s: Schedule is that of the machine's own store, %s; no timer was made\n",
                       name, CMDLINE_DEFAULT_STORE);
    return W_SUCCESS;
}

static void set_left_out(void *ctx, const char *what)
{
    (void)ctx;
    visible_printf(stderr, SET_VERB ": left out: %s\n", what);
}

/* The sessions that run now, as the set NAME. */
static wstatus set_running_read(const struct set_args *a, struct regstore *memory, struct key_names *sets,
                                struct reason *why)
{
    struct collector_set s;
    if (!collector_set_name_fits(a->name))
        return reason_set(why, W_INVALID_NAME, "\"%s\": a set's name has letters, digits, '-', '_' and '.', at most %d",
                          a->name, SET_NAME - 1);
    wstatus st = set_running_take(a->common.runtime_dir, a->name, memory, set_left_out, why);
    st         = st ? st : collector_sets(memory, sets, why);
    if (st)
        return st;
    st = collector_set_read(memory, a->name, &s, why);
    collector_set_finish(&s);
    return st;
}

static int set_save(const struct set_args *a, struct regstore *store)
{
    struct regstore *memory = NULL;
    struct key_names sets   = {0};
    struct reason    why    = {0};
    wstatus          st     = regstore_open_memory(&memory, &why);
    if (!st)
        st = a->running ? set_running_read(a, memory, &sets, &why) : set_file_read(a->name, memory, &sets, &why);
    st = st ? st : regstore_begin(store, &why);
    for (unsigned i = 0; !st && i < sets.count; i++)
        st = set_put(memory, store, sets.names[i], &why);
    st = st ? st : regstore_commit(store, &why);
    for (unsigned i = 0; !st && i < sets.count; i++) {
        struct collector_set s;
        st = collector_set_read(store, sets.names[i], &s, &why);
        st = st ? st : set_scheduled(a, s.name, collector_set_text(&s, VALUE_SET_SCHEDULE), &why);
        collector_set_finish(&s);
        if (!st)
            visible_printf(stdout, "saved %s\n", sets.names[i]);
    }
    key_names_finish(&sets);
    regstore_close(memory);
    return st ? set_failed(st, &why) : VERB_FINE;
}

static int set_export(const struct set_args *a, struct regstore *store)
{
    struct collector_set s;
    struct reason        why  = {0};
    char                *text = NULL;
    size_t               size = 0;
    wstatus              st   = collector_set_read(store, a->name, &s, &why);
    st                        = st ? st : ini_export(store, s.key, plan_vocabulary(), &text, &size, &why);
    if (!st)
        fwrite(text, 1, size, stdout); /* visible: a file, as `export` writes it */
    free(text);
    collector_set_finish(&s);
    return st ? set_failed(st, &why) : VERB_FINE;
}

static int set_remove(const struct set_args *a, struct regstore *store)
{
    struct collector_set s = {0}; /* its values may be wrong: it can be removed nevertheless */
    struct set_state     state;
    struct reason        why = {0};
    wstatus              st  = W_SUCCESS;
    if (collector_set_spelling(store, a->name, s.name))
        snprintf(s.key, sizeof s.key, "%s\\%s", SETS_KEY, s.name);
    else
        st = collector_set_read(store, a->name, &s, &why); /* tells what is near */
    if (!st && set_state_read(a->common.runtime_dir, s.name, &state) && state.running)
        st = reason_set(&why, W_BUSY, "set \"%s\" runs. Do: autologger set stop %s", s.name, s.name);
    st = st ? st : set_scheduled(a, s.name, "", &why);
    st = st ? st : regstore_delete_key(store, s.key, &why);
    if (!st)
        visible_printf(stdout, "removed %s; its results stay\n", s.name);
    collector_set_finish(&s);
    return st ? set_failed(st, &why) : VERB_FINE;
}

/* ---- start, stop ---- */

static int set_ended(const struct set_args *a, const struct set_run *r, wstatus st, const struct reason *why)
{
    if (st)
        return failure_print_about(ABOUT_DAEMON, SET_VERB, st, why);
    if (a->common.json) {
        struct json *j = json_create(stdout, true);
        json_object(j, NULL);
        json_text(j, "name", r->set->name);
        json_text(j, "result", r->result);
        json_text(j, "trace", r->trace);
        json_number(j, "lost_counters", r->lost_counters);
        json_object_end(j);
        json_destroy(j);
    } else
        visible_printf(stdout, "result: %s\n", r->result);
    return r->lost_counters ? VERB_FAILED : VERB_FINE;
}

/* The rest of a run. */
static wstatus set_run_rest(struct set_run *r, struct reason *why)
{
    const wstatus st = set_run_wait(r, why);
    if (st)
        r->failed = *why;
    return set_run_end(r, why);
}

/* In the child: its words go to a file of the result. */
static int set_run_child(struct set_run *r, int told)
{
    char          path[1400];
    struct reason why = {0};
    setsid();
    snprintf(path, sizeof path, "%s/log.txt", r->result);
    const int in  = open("/dev/null", O_RDWR | O_CLOEXEC),
              out = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    dup2(in, STDIN_FILENO);
    dup2(out >= 0 ? out : in, STDOUT_FILENO);
    dup2(out >= 0 ? out : in, STDERR_FILENO);
    wstatus st = set_state_write(r->lock, r->result, &why);
    close(told); /* the command may return: "set stop" finds this process */
    if (st)
        r->failed = why;
    st = set_run_rest(r, &why);
    if (st)
        failure_print(SET_VERB, st, &why);
    fflush(NULL);
    return st ? VERB_FAILED : VERB_FINE;
}

/* The rest of a run in the background: the command returns. */
static int set_run_behind(struct set_run *r)
{
    int  pipes[2], code = VERB_REFUSED;
    char none;
    if (pipe2(pipes, O_CLOEXEC) == 0) {
        fflush(NULL);
        const pid_t pid = fork();
        if (pid == 0) {
            close(pipes[0]);
            _exit(set_run_child(r, pipes[1]));
        }
        close(pipes[1]);
        code = pid > 0 ? VERB_FINE : VERB_REFUSED;
        while (pid > 0 && read(pipes[0], &none, 1) < 0 && errno == EINTR)
            ;
        close(pipes[0]);
    }
    if (code != VERB_FINE) {
        struct reason why = {0};
        visible_printf(stderr, SET_VERB ": no process for the run: %s\n", strerror(errno));
        set_run_end(r, &why);
    }
    return code;
}

static int set_start(const struct set_args *a, struct regstore *store)
{
    struct collector_set s;
    struct reason        why = {0};
    struct set_run       r   = {.set = &s, .store = store, .runtime_dir = a->common.runtime_dir, .lock = -1};
    char                 log_dir[512];
    int                  code;
    wstatus              st = collector_set_read(store, a->name, &s, &why);
    r.log_dir               = daemon_memory_log_folder(a->common.runtime_dir, log_dir, sizeof log_dir);
    struct set_state before;
    if (!st && set_state_read(a->common.runtime_dir, s.name, &before) && !before.running)
        snprintf(r.left_over, sizeof r.left_over, "%s", before.result);
    st = st ? st : set_state_take(a->common.runtime_dir, s.name, &r.lock, &why);
    st = st ? st : set_run_begin(&r, &why);
    if (st)
        code = failure_print_about(ABOUT_DAEMON, SET_VERB, st, &why);
    else if (a->wait) {
        st   = set_run_rest(&r, &why);
        code = set_ended(a, &r, st, &why);
    } else {
        code = set_run_behind(&r);
        if (code != VERB_FINE)
            ; /* told */
        else if (a->common.json) {
            struct json *j = json_create(stdout, true);
            json_object(j, NULL);
            json_text(j, "name", s.name);
            json_text(j, "result", r.result);
            json_object_end(j);
            json_destroy(j);
        } else
            visible_printf(stdout, "set %s runs; its result will be in %s\n", s.name, r.result);
    }
    set_state_release(r.lock);
    collector_set_finish(&s);
    return code;
}

/* Says what report.txt names as failed; true: it names something. */
static bool set_report_failed(const char *path)
{
    static const char mark[] = "NOT COMPLETE: ";
    FILE             *from   = fopen(path, "re");
    char              line[1200];
    bool              failed = false;
    for (unsigned i = 0; from && !failed && i < 4 && fgets(line, sizeof line, from); i++)
        if ((failed = strncmp(line, mark, strlen(mark)) == 0)) {
            line[strcspn(line, "\n")] = 0;
            visible_printf(stderr, SET_VERB ": the result is not complete: %s\n", line + strlen(mark));
        }
    if (from)
        fclose(from);
    return failed;
}

static int set_stop(struct set_args *a)
{
    struct set_state state;
    set_state_spelling(a->common.runtime_dir, &a->name);
    if (!collector_set_name_fits(a->name) || !set_state_read(a->common.runtime_dir, a->name, &state) ||
        !state.running) {
        visible_printf(stderr, SET_VERB ": set \"%s\" does not run. Do: autologger set list\n", a->name);
        return VERB_FAILED;
    }
    for (unsigned tries = 0; !set_state_signal(a->common.runtime_dir, a->name, state.pid); tries++) {
        set_state_read(a->common.runtime_dir, a->name, &state); /* another process goes on with the run */
        if (!state.running || tries < 20) {
            if (!state.running)
                break;
            nanosleep(&(struct timespec){0, 50000000}, NULL);
            continue;
        }
        visible_printf(stderr, SET_VERB ": set \"%s\", process %d: %s\n", a->name, (int)state.pid, strerror(errno));
        return VERB_REFUSED;
    }
    for (unsigned tenths = 0; state.running && tenths < STOP_SECONDS * 10; tenths++) {
        nanosleep(&(struct timespec){0, 100000000}, NULL);
        set_state_read(a->common.runtime_dir, a->name, &state);
    }
    if (state.running) {
        visible_printf(stderr, SET_VERB ": set \"%s\" is still writing its result. Do: look at %s/log.txt\n", a->name,
                       state.result);
        return VERB_FAILED;
    }
    char path[1200];
    snprintf(path, sizeof path, "%s/report.txt", state.result);
    if (access(path, F_OK)) {
        visible_printf(stderr, SET_VERB ": the result in %s is not complete. Do: look at its log.txt\n", state.result);
        return VERB_FAILED;
    }
    if (a->common.json) {
        struct json *j = json_create(stdout, true);
        json_object(j, NULL);
        json_text(j, "name", a->name);
        json_text(j, "result", state.result);
        json_object_end(j);
        json_destroy(j);
    } else
        visible_printf(stdout, "result: %s\n", state.result);
    return set_report_failed(path) ? VERB_FAILED : VERB_FINE;
}

int cmd_set(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"wait", SET_WAIT, NULL, 0, "start: return when the set has ended, by its time or size, or by Ctrl-C", 0},
        {"running", SET_OF_RUNNING, NULL, 0, "save: the sessions that run now become the set NAME", 0},
        OPT_STORE,
        OPT_RUNTIME_DIR,
        OPT_JSON,
        {0}};
    static const struct argp argp = {
        options,
        set_parse,
        "list\nsave FILE\nsave --running NAME\nstart NAME\nstop NAME\nexport NAME\nremove NAME",
        CMDLINE_DOC(
            "Data collector sets: sessions, counters and the configuration of the machine, saved once and collected as often as "
            "wanted. Each run has a folder with its traces (merged into one if there are several), configuration.json and report.txt.",
            "  autologger set save web.ini\n  autologger set start web\n  autologger set stop web\n"
            "web.ini:\n  [CollectorSet/web]\n  Counters = Processor, Disk\n  Configuration = Units, Packages\n  Duration = 10 min\n"
            "  [CollectorSet/web/requests]\n  [CollectorSet/web/requests/Contoso-Web]"),
        NULL,
        NULL,
        NULL};
    struct set_args  a     = {.action = "list"};
    struct regstore *store = NULL;
    struct reason    why   = {0};
    int              code;
    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    if (set_is(&a, "stop"))
        return set_stop(&a);
    a.common.store  = cmdline_store();
    const bool list = set_is(&a, "list");
    wstatus    st   = store_access_open(&a.common, set_is(&a, "save") || set_is(&a, "remove"), &store, &why);
    if (st == W_FILE_NOT_FOUND && list && !a.common.store_given)
        st = W_SUCCESS; /* nothing was saved yet */
    if (st)
        return set_failed(st, &why);
    code = list                   ? set_list(&a, store)
           : set_is(&a, "save")   ? set_save(&a, store)
           : set_is(&a, "start")  ? set_start(&a, store)
           : set_is(&a, "export") ? set_export(&a, store)
                                  : set_remove(&a, store);
    regstore_close(store);
    return code;
}
