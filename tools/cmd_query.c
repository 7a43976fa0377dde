/* autologger query: one running session in full. */
#include "tools/session_request.h"
#include "tools/session_view.h"
#include "tools/verb.h"

static void report(const struct ctl_session_info *s, const struct cmdline *c)
{
    session_view_show(s, c->json);
}

int cmd_query(int argc, char **argv)
{
    static const struct session_request request = {
        "autologger query",
        CMDLINE_DOC("One running session in full: state, Status, buffers, events written and lost.",
                    "  autologger query \"NT Kernel Logger\""),
        control_query, report, NULL, NULL};
    return session_request_run(&request, argc, argv);
}
