/* autologger flush: writes what a session holds in memory. */
#include "tools/live/session_request.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/view/session_view.h"

#include <inttypes.h>
#include <stdlib.h>

static wstatus flush_and_query(struct control_client *c, const char *name, struct ctl_session_info *out,
                               struct reason *why)
{
    wstatus st = control_flush(c, name, why);
    return st ? st : control_query(c, name, out, why);
}

static wstatus next_file(struct control_client *c, const char *name, struct ctl_session_info *out, struct reason *why)
{
    struct ctl_update_answer *answer = calloc(1, sizeof *answer);
    wstatus                   st =
        answer ? control_file(c, name, NULL, answer, why) : reason_set(why, W_OUTOFMEMORY, "not enough memory");
    if (!st)
        *out = answer->session;
    free(answer);
    return st;
}

static void flush_report(const struct ctl_session_info *s, const struct cmdline *c)
{
    if (c->json)
        session_view_show(s, NULL, true);
    else
        visible_printf(stdout, "flushed \"%s\": %" PRIu64 " event%s written, %" PRIu64 " lost%s%s\n", s->name,
                       s->events_written, plural(s->events_written), ctl_events_lost(s), *s->log_path ? "; file: " : "",
                       s->log_path);
}

int cmd_flush(int argc, char **argv)
{
    static const struct argp_option option = {
        "next-file", 'n', NULL, 0, "a session of the mode NEWFILE goes on in its next file", 0};
    static const struct session_request request = {
        "autologger flush",
        CMDLINE_DOC("Write what a session holds in memory to its file.",
                    "  autologger flush web\n  autologger flush web --next-file"),
        flush_and_query,
        flush_report,
        &option,
        next_file};
    return session_request_run(&request, argc, argv);
}
