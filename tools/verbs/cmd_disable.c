/* autologger disable: disables a provider in a running session. */
#include "tools/base/verb.h"
#include "tools/live/enablement.h"

int cmd_disable(int argc, char **argv)
{
    static const struct argp_option options[] = {OPT_PUBLISHER, OPT_ENABLEMENT_WAIT, OPT_RUNTIME_DIR, OPT_JSON, {0}};
    static const struct argp        argp      = {
                    options,
                    enablement_option,
                    "SESSION PROVIDER",
                    CMDLINE_DOC(
                        "Disable a provider in a session that runs. When this returns no event of it is written there any more; what was written stays.",
                        "  autologger disable web Contoso-Web"),
                    NULL,
                    NULL,
                    NULL};
    struct enablement e = {.request.code = CTL_CODE_DISABLE};
    return enablement_run(&argp, argc, argv, &e);
}
