/* autologger update: other kernel flags, stacks or FlushTimer for a session that runs. */
#include "autologger/kernel/flags.h"
#include "autologger/plan/plan.h"
#include "autologger/control/client.h"
#include "registry-sim/text/dialect.h"
#include "registry-sim/text/winpath.h"
#include "tools/cmdline.h"
#include "tools/session_view.h"
#include "tools/store_access.h"
#include "tools/verb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_FLAGS = 'f', KEY_STACKS = 'k', KEY_FLUSH_TIMER = 't' };
struct update_args {
    struct cmdline common;
    const char    *name, *flags, *stacks, *timer;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct update_args *a = state->input;
    switch (key) {
    case KEY_FLAGS: a->flags = arg; return 0;
    case KEY_STACKS: a->stacks = arg; return 0;
    case KEY_FLUSH_TIMER: a->timer = arg; return 0;
    case ARGP_KEY_ARG:
        if (a->name)
            argp_error(state, "one session at a time");
        a->name = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->name)
            argp_error(state, "the session's NAME is missing. Do: autologger sessions");
        if (!a->flags && !a->stacks && !a->timer)
            argp_error(state, "nothing to change is given: --flags, --stacks, --flush-timer");
        return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

/* By the words of the value of that name, as they stand in a profile: names, numbers, @file. "none" is none. */
static wstatus words_parse(const char *name, const char *text, struct regvalue *out, struct reason *why)
{
    const struct ini_vocabulary *words = plan_vocabulary();
    if (strcmp(text, "none") == 0)
        return W_SUCCESS;
    return words->parse(words->ctx, WINPATH_WMI "\\GlobalLogger", name, text, NULL, out, why);
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
    v = (struct regvalue){0};
    if (!st && a->timer) {
        r->what |= CTL_UPDATE_FLUSH_TIMER;
        st = words_parse("FlushTimer", a->timer, &v, why);
        if (!st && v.size == sizeof r->flush_timer)
            memcpy(&r->flush_timer, v.data, sizeof r->flush_timer);
        free((void *)v.data);
    }
    return st;
}

static void report(const struct ctl_update_answer *answer, bool as_json)
{
    char flags[2048], stacks[HOOK_MAX * 32];
    group_mask_format(answer->session.group_mask, flags, sizeof flags);
    hooks_format(answer->session.hooks, answer->session.hook_count < HOOK_MAX ? answer->session.hook_count : HOOK_MAX, stacks, sizeof stacks);
    struct json *j = as_json ? json_create(stdout, true) : NULL;
    if (j) {
        json_object(j, NULL);
        session_view_json(&answer->session, "session", j);
        json_text(j, "conditions", answer->text);
        json_object_end(j);
        json_destroy(j);
    } else if (!as_json) {
        printf("updated \"%s\"\nflags:  %s\nstacks: %s\n", answer->session.name, *flags ? flags : "(none)", *stacks ? stacks : "(none)");
        if (*answer->text)
            printf("%s\n", answer->text);
    }
}

int cmd_update(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"flags", KEY_FLAGS, "FLAGS", 0, "the kernel events that are wanted from now on: keywords and groups joined by '+', or none", 0},
        {"stacks", KEY_STACKS, "STACKS", 0, "the events that get call stacks from now on: names, hook ids, classes with types, joined by '+'; @FILE; or none", 0},
        {"flush-timer", KEY_FLUSH_TIMER, "TIME", 0, "how often buffers that are not full are written: 5 s; a plain number of ms where the session counts in them; 0: never", 0},
        OPT_RUNTIME_DIR, OPT_JSON, {0}};
    static const struct argp argp = {
        options, parse, "NAME",
        CMDLINE_DOC("Change the kernel flags, the stacks or FlushTimer of a session while it runs. What is given replaces what was; what is not given "
                    "stays. What is kept misses no event. All of it happens, or nothing does.",
                    "  autologger update \"NT Kernel Logger\" --flags PROC_THREAD+LOADER+CSWITCH --stacks CSwitch\n"
                    "  autologger update \"NT Kernel Logger\" --stacks none\n"
                    "  autologger update web --flush-timer \"5 s\""),
        NULL, NULL, NULL};
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
    st = answer ? control_update(client, &request, a.name, answer, &why) : reason_set(&why, W_OUTOFMEMORY, "not enough memory");
    control_close(client);
    code = VERB_FINE;
    if (st)
        code = failure_print("autologger update", st, &why);
    else
        report(answer, a.common.json);
    free(answer);
    return code;
}
