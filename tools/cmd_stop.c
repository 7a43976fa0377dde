/* autologger stop: ends a session; its file is complete when the command returns. */
#include "tools/session_request.h"
#include "tools/session_view.h"
#include "tools/store_access.h"
#include "tools/verb.h"

#include <inttypes.h>

static void report(const struct ctl_session_info *s, const struct cmdline *c)
{
    if (c->json) {
        session_view_show(s, true);
        return;
    }
    printf("stopped \"%s\": %" PRIu64 " event%s written, %" PRIu64 " lost\n", s->name, s->events_written, plural(s->events_written), session_lost(s));
    if (s->log_path[0])
        printf("file: %s\n", s->log_path);
}

int cmd_stop(int argc, char **argv)
{
    static const struct session_request request = {
        "autologger stop",
        CMDLINE_DOC("Stop a running session. Its file is complete when the command returns.", "  autologger stop web"),
        control_stop, report};
    return session_request_run(&request, argc, argv);
}
