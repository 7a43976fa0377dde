/* autologger ui: a window in the browser, until Ctrl-C. */
#include "registry-sim/base/visible_print.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/ui/ui_run.h"
#include "tools/ui/ui_server.h"
#include "tools/ui/ui_stream.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

struct ui_args {
    struct cmdline common;
    uint16_t       port;
};

static error_t ui_parse(int key, char *arg, struct argp_state *state)
{
    struct ui_args *a = state->input;
    char           *end;
    switch (key) {
    case 'p': {
        const unsigned long n = strtoul(arg, &end, 10);
        if (end == arg || *end || n > 65535 || *arg == '-')
            argp_error(state, "--port takes a number up to 65535, not \"%s\"", arg);
        a->port = (uint16_t)n;
        return 0;
    }
    case ARGP_KEY_ARG: argp_error(state, "\"%s\": ui takes no argument", arg); return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

int cmd_ui(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"port", 'p', "N", 0, "listen on this port of 127.0.0.1 (default: one that is free)", 0},
        OPT_RUNTIME_DIR,
        OPT_STORE,
        {0}};
    static const struct argp argp = {
        options,
        ui_parse,
        NULL,
        CMDLINE_DOC(
            "A window in the browser: boots with their verdicts, sessions, data collector sets, live events, "
            "channels. It listens on 127.0.0.1 alone, for the one who has the printed address, which works once. "
            "What it does it does with your rights. Ends by Ctrl-C.",
            "  autologger ui"),
        NULL,
        NULL,
        NULL};
    struct ui_args    a = {{0}, 0};
    struct ui_server *server;
    struct reason     why;
    sigset_t          ending;
    int               code, number;
    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    /* the verbs that the window runs ask the same daemon, and the same store */
    if (a.common.runtime_dir)
        setenv("AUTOLOGGER_RUNTIME_DIR", a.common.runtime_dir, 1);
    if (a.common.store_given)
        ui_run_store(a.common.store);
    signal(SIGCHLD, SIG_DFL); /* inherited as ignored it would hide exit codes */
    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &ending, NULL); /* the server's threads, too */
    const wstatus st = ui_server_start(a.port, &server, &why);
    if (st)
        return failure_print("ui", st, &why);
    visible_printf(stdout, "%s\n", ui_server_address(server));
    fflush(stdout);
    while (sigwait(&ending, &number))
        ;
    ui_streams_end();
    _exit(VERB_FINE); /* streams of pages that are open do not hold it up */
}
