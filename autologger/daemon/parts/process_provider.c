/* process_provider.c - Microsoft-Windows-Kernel-Process in the sessions that enable it. See companion.h. */
#include "autologger/daemon/parts/companion.h"

#include <stdio.h>
#include <string.h>

static const struct guid kernel_process = PROCESSES_GUID;

static bool process_provider_wants(const struct state_enable *e)
{
    return memcmp(&e->guid, &kernel_process, sizeof e->guid) == 0;
}

/* One program serves all sessions: another session does not start it anew. */
static void process_provider_row(const struct session *s, const struct state_enable *e, char out[COMPANION_ROW])
{
    (void)s, (void)e;
    snprintf(out, COMPANION_ROW, "all");
}

const struct companion_kind process_provider = {
    .program      = "autologger-processes",
    .what         = "processes",
    .item         = "Kernel-Process",
    .ended_advice = "run the daemon with CAP_PERFMON, or use kernel events (PROC_THREAD, LOADER)",
    .reaches      = true,
    .wants        = process_provider_wants,
    .row          = process_provider_row};
