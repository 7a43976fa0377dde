/* autologger mark: a text in the trace, from a shell or a script. */
#include "tools/base/store_access.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/verb.h"
#include "tools/live/typed_event.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct mark_args {
    struct cmdline common;
    char           text[8192];
    size_t         length;
};

/* Words are joined by spaces, as echo does. */
static error_t mark_parse(int key, char *arg, struct argp_state *state)
{
    struct mark_args *a = state->input;
    int               n;
    switch (key) {
    case ARGP_KEY_ARG:
        n = snprintf(a->text + a->length, sizeof a->text - a->length, "%s%s", a->length ? " " : "", arg);
        if (n < 0 || (size_t)n >= sizeof a->text - a->length)
            argp_error(state, "the text has more than %zu bytes", sizeof a->text - 1);
        a->length += (size_t)n;
        return 0;
    case ARGP_KEY_END:
        if (!a->length)
            argp_error(state, "TEXT is missing");
        return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

int cmd_mark(int argc, char **argv)
{
    static const struct argp_option options[] = {OPT_RUNTIME_DIR, {0}};
    static const struct argp        argp      = {
                    options,
                    mark_parse,
                    "TEXT...",
                    CMDLINE_DOC(
                        "Write a text into every session that enables the provider \"autologger-mark\". Says so when none does.",
                        "  autologger mark 'update begins'"),
                    NULL,
                    NULL,
                    NULL};
    static struct mark_args   a;
    static struct typed_event event;
    struct typed_event_target to  = {.provider = "autologger-mark", .level = 4};
    struct reason             why = {0};
    char                      parent[32];
    int                       code;
    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    to.runtime_dir = a.common.runtime_dir;
    snprintf(parent, sizeof parent, "parent=%d", (int)getppid());
    wstatus st;
    if ((st = typed_event_init(&event, "Mark", &why)) || (st = typed_event_add_text(&event, "text", a.text, &why)) ||
        (st = typed_event_add(&event, parent, &why)) || (st = typed_event_write(&event, &to, &why)))
        return failure_print_about(ABOUT_DAEMON, "autologger mark", st, &why);
    visible_printf(stdout, "marked: %s\n", a.text);
    return VERB_FINE;
}
