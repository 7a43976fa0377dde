/* session_request.h - the command lines of query, stop and flush: a request to the running daemon about one session, by
 * name.
 * Threads: one. */
#ifndef TOOLS_SESSION_REQUEST_H
#define TOOLS_SESSION_REQUEST_H
#include "autologger/control/client.h"
#include "tools/base/cmdline.h"

struct session_request {
    const char *verb; /* "autologger stop" */
    const char *doc;  /* CMDLINE_DOC(...) */
    wstatus (*ask)(struct control_client *c, const char *name, struct ctl_session_info *out, struct reason *why);
    void (*report)(const struct ctl_session_info *s, const struct cmdline *c);
    /* one more option, NULL: none; when it is given, `ask_option` is called instead of `ask` */
    const struct argp_option *option;
    wstatus (*ask_option)(struct control_client *c, const char *name, struct ctl_session_info *out, struct reason *why);
};
/* Parses, connects, asks, reports. Returns the exit code. */
int session_request_run(const struct session_request *request, int argc, char **argv);
#endif
