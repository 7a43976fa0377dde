/* autologger flush: writes what a session holds in memory. */
#include "tools/session_request.h"
#include "tools/session_view.h"
#include "tools/store_access.h"
#include "tools/verb.h"

#include <inttypes.h>

static wstatus flush_and_query(struct control_client *c, const char *name, struct ctl_session_info *out, struct reason *why)
{
    wstatus st = control_flush(c, name, why);
    return st ? st : control_query(c, name, out, why);
}

static void report(const struct ctl_session_info *s, const struct cmdline *c)
{
    if (c->json)
        session_view_show(s, true);
    else
        printf("flushed \"%s\": %" PRIu64 " event%s written, %" PRIu64 " lost\n", s->name, s->events_written, plural(s->events_written),
               session_lost(s));
}

int cmd_flush(int argc, char **argv)
{
    static const struct session_request request = {
        "autologger flush",
        CMDLINE_DOC("Write what a session holds in memory to its file.", "  autologger flush web"), flush_and_query, report};
    return session_request_run(&request, argc, argv);
}
