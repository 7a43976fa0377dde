/* autologger enable: enables a provider in a running session. */
#include "tools/base/verb.h"
#include "tools/live/enablement.h"

int cmd_enable(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"level", 'l', "LEVEL", 0,
         "events up to this level: Critical, Error, Warning, Informational, Verbose or a number (default: all)", 0},
        {"keywords", 'k', "BITS", 0,
         "events with at least one of these keyword bits, and those without any: a number, or names of the provider's manifest joined by '+' (default: all)",
         0},
        {"all", ENABLEMENT_ALL, "BITS", 0, "and of those, only events with all of these bits", 0},
        {"property", ENABLEMENT_PROPERTY, "PROPERTY", 0,
         "EnableProperty: names joined by '+': SID, TS_ID, STACK_TRACE, PROCESS_START_KEY, EVENT_KEY, CPU_TIME, IGNORE_KEYWORD_0, EXCLUDE_INPRIVATE",
         0},
        {"filter", ENABLEMENT_FILTER, "VALUE=TEXT", 0,
         "a value of Filters as in a configuration: EventIds=not 17, ExeFilter=nginx, Payload=Request: status >= 500, EventNameFilter/Names=Start with EventNameFilter/FilterIn=yes; as often as wanted",
         0},
        {"pid", ENABLEMENT_PID, "IDS", 0, "only these processes: ids joined by ',', at most 8", 0},
        {"capture-state", ENABLEMENT_CAPTURE, NULL, 0,
         "ask the provider, which is enabled already, to tell its state (rundown)", 0},
        OPT_PUBLISHER,
        OPT_ENABLEMENT_WAIT,
        OPT_RUNTIME_DIR,
        OPT_JSON,
        {0}};
    static const struct argp argp = {
        options,
        enablement_option,
        "SESSION PROVIDER",
        CMDLINE_DOC(
            "Enable a provider in a session that runs; of one that is enabled already change level and keywords. PROVIDER is a name (its "
            "GUID is that of its manifest, else the hash of the name) or a {GUID}. Programs that have it registered know at once, others when they register it.",
            "  autologger enable web Contoso-Web --level Informational --keywords 0x40\n"
            "  autologger enable web Contoso-Web --manifest web.man --keywords Network+Slow\n"
            "  autologger enable web Contoso-Web --filter 'EventIds=not 17, 100-120'\n"
            "  autologger enable web Contoso-Web --filter 'Payload=Request: status >= 500 and url not contains /health'"),
        NULL,
        NULL,
        NULL};
    struct enablement e = {.request.code = CTL_CODE_ENABLE};
    return enablement_run(&argp, argc, argv, &e);
}
