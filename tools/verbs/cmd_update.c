/* autologger update: changes a running session: kernel flags, stacks, FlushTimer, MaximumBuffers, its file, real
 * time. */
#include "autologger/control/client.h"
#include "autologger/kernel/tables/flags.h"
#include "autologger/plan/plan.h"
#include "registry-sim/base/visible_print.h"
#include "registry-sim/text/dialect.h"
#include "registry-sim/text/winpath.h"
#include "tools/base/cmdline.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/view/session_view.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_FLAGS       = 'f',
    KEY_STACKS      = 'k',
    KEY_FLUSH_TIMER = 't',
    KEY_BUFFERS     = 'b',
    KEY_FILE        = 'o',
    KEY_REAL_TIME   = 'r'
};
struct update_args {
    struct cmdline common;
    const char    *name, *flags, *stacks, *timer, *buffers, *file;
    uint32_t       real_time; /* CTL_UPDATE_REALTIME_* or _CONVERT */
};

static bool real_time_word(const char *word, uint32_t *what)
{
    static const struct {
        const char *word;
        uint32_t    what;
    } words[] = {{"on", CTL_UPDATE_REALTIME_ON}, {"off", CTL_UPDATE_REALTIME_OFF}, {"only", CTL_UPDATE_CONVERT}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].word, word) == 0)
            *what = words[i].what;
    return *what != 0;
}

static error_t update_parse(int key, char *arg, struct argp_state *state)
{
    struct update_args *a = state->input;
    switch (key) {
    case KEY_FLAGS: a->flags = arg; return 0;
    case KEY_STACKS: a->stacks = arg; return 0;
    case KEY_FLUSH_TIMER: a->timer = arg; return 0;
    case KEY_BUFFERS: a->buffers = arg; return 0;
    case KEY_FILE: a->file = arg; return 0;
    case KEY_REAL_TIME:
        if (!real_time_word(arg, &a->real_time))
            argp_error(state, "--real-time is on, off or only, not '%s'", arg);
        return 0;
    case ARGP_KEY_ARG:
        if (a->name)
            argp_error(state, "one session at a time");
        a->name = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->name)
            argp_error(state, "the session's NAME is missing. Do: autologger sessions");
        if (!a->flags && !a->stacks && !a->timer && !a->buffers && !a->file && !a->real_time)
            argp_error(
                state,
                "nothing to change is given: --flags, --stacks, --flush-timer, --maximum-buffers, --output, --real-time");
        return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

/* Parses the value of that name as a profile has it: names, numbers, @file. "none" leaves *out unchanged. */
static wstatus words_parse(const char *name, const char *text, struct regvalue *out, struct reason *why)
{
    const struct ini_vocabulary *words = plan_vocabulary();
    if (strcmp(text, "none") == 0)
        return W_SUCCESS;
    return words->parse(words->ctx, WINPATH_WMI "\\GlobalLogger", name, text, NULL, out, why);
}

/* A value that is a number. */
static wstatus update_number_parse(const char *name, const char *text, uint32_t *out, struct reason *why)
{
    struct regvalue v  = {0};
    wstatus         st = words_parse(name, text, &v, why);
    if (!st && v.size == sizeof *out)
        memcpy(out, v.data, sizeof *out);
    free((void *)v.data);
    return st;
}

static wstatus request_fill(const struct update_args *a, struct ctl_update_request *r, struct reason *why)
{
    struct regvalue v  = {0};
    wstatus         st = W_SUCCESS;
    unsigned        n  = 0;
    if (a->flags) {
        r->what |= CTL_UPDATE_FLAGS;
        if (!(st = words_parse("EnableKernelFlags", a->flags, &v, why)))
            st = group_mask_from_bytes(v.data, v.size, r->group_mask, why);
        free((void *)v.data);
    }
    v = (struct regvalue){0};
    if (!st && a->stacks) {
        r->what |= CTL_UPDATE_STACKS;
        if (!(st = words_parse("StackWalkingFilter", a->stacks, &v, why)))
            st = hooks_from_bytes(v.data, v.size, r->hooks, &n, why);
        free((void *)v.data);
        r->hook_count = n;
    }
    if (!st && a->timer) {
        r->what |= CTL_UPDATE_FLUSH_TIMER;
        st = update_number_parse("FlushTimer", a->timer, &r->flush_timer, why);
    }
    if (!st && a->buffers) {
        r->what |= CTL_UPDATE_MAXIMUM_BUFFERS;
        st = update_number_parse("MaximumBuffers", a->buffers, &r->maximum_buffers, why);
    }
    if (!st && a->file && strlen(a->file) >= sizeof r->file)
        st = reason_set(why, W_FILENAME_EXCED_RANGE, "the file's name has %zu bytes, more than %zu", strlen(a->file),
                        sizeof r->file - 1);
    if (!st && a->file) {
        r->what |= CTL_UPDATE_FILE;
        memcpy(r->file, a->file, strlen(a->file) + 1);
    }
    r->what |= a->real_time;
    return st;
}

static void update_report(const struct ctl_update_answer *answer, bool as_json)
{
    char flags[2048], stacks[HOOK_MAX * 32];
    group_mask_format(answer->session.group_mask, flags, sizeof flags);
    hooks_format(answer->session.hooks, answer->session.hook_count < HOOK_MAX ? answer->session.hook_count : HOOK_MAX,
                 stacks, sizeof stacks);
    struct json *j = as_json ? json_create(stdout, true) : NULL;
    if (j) {
        json_object(j, NULL);
        session_view_json(&answer->session, NULL, NULL, "session", j);
        json_text(j, "conditions", answer->text);
        json_object_end(j);
        json_destroy(j);
    } else if (!as_json) {
        const struct ctl_session_info *s = &answer->session;
        visible_printf(stdout, "updated \"%s\"\n", s->name);
        if (s->kernel)
            visible_printf(stdout, "flags:  %s\nstacks: %s\n", *flags ? flags : "(none)", *stacks ? stacks : "(none)");
        visible_printf(stdout, "buffers: %u to %u\nfile:   %s\n", s->minimum_buffers, s->maximum_buffers,
                       *s->log_path ? s->log_path : "(none)");
        visible_printf(stdout, "real time: %s\n", s->log_file_mode & 0x100 ? "on" : "off");
        if (*answer->text)
            printf("%s\n", answer->text); /* visible: lines of conditions, which condition_add escaped */
    }
}

int cmd_update(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"flags", KEY_FLAGS, "FLAGS", 0,
         "the kernel events that are wanted from now on: keywords and groups joined by '+', or none", 0},
        {"stacks", KEY_STACKS, "STACKS", 0,
         "the events that get call stacks from now on: names, hook ids, classes with types, joined by '+'; @FILE; or none",
         0},
        {"flush-timer", KEY_FLUSH_TIMER, "TIME", 0,
         "how often buffers that are not full are written: 5 s; a plain number of ms where the session counts in them; 0: never",
         0},
        {"maximum-buffers", KEY_BUFFERS, "N", 0,
         "MaximumBuffers from now on: more, up to what address space was set aside for at the start, or fewer, down to MinimumBuffers; of a session of kernel events the memory in which they wait for the file",
         0},
        {"output", KEY_FILE, "FILE", 0, "go on in this file; the one before is completed", 0},
        {"real-time", KEY_REAL_TIME, "WHAT", 0,
         "on or off: whether consumers get the events; only: they do, and the file ends", 0},
        OPT_RUNTIME_DIR,
        OPT_JSON,
        {0}};
    static const struct argp argp = {
        options,
        update_parse,
        "NAME",
        CMDLINE_DOC(
            "Change the kernel flags, the stacks, FlushTimer, MaximumBuffers or the file of a session while it runs, or whether consumers get "
            "its events. What is given replaces what was; what is not given stays. What is kept misses no event.",
            "  autologger update \"NT Kernel Logger\" --flags PROC_THREAD+LOADER+CSWITCH --stacks CSwitch\n"
            "  autologger update \"NT Kernel Logger\" --stacks none\n"
            "  autologger update web --flush-timer \"5 s\" --maximum-buffers 200\n"
            "  autologger update web --output web-evening.etl\n"
            "  autologger update web --real-time on"),
        NULL,
        NULL,
        NULL};
    struct update_args        a       = {0};
    struct ctl_update_request request = {0};
    struct control_client    *client  = NULL;
    struct reason             why     = {0};
    int                       code;
    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    wstatus st = request_fill(&a, &request, &why);
    if (st)
        return failure_print("autologger update", st, &why);
    st = control_open(a.common.runtime_dir, &client, &why);
    if (st)
        return failure_print_about(ABOUT_DAEMON, "autologger update", st, &why);
    struct ctl_update_answer *answer = calloc(1, sizeof *answer);
    st                               = answer ? control_update(client, &request, a.name, answer, &why)
                                              : reason_set(&why, W_OUTOFMEMORY, "not enough memory");
    control_close(client);
    code = VERB_FINE;
    if (st)
        code = failure_print("autologger update", st, &why);
    else
        update_report(answer, a.common.json);
    free(answer);
    return code;
}
