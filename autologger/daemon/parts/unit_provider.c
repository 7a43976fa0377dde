/* unit_provider.c - systemd's units in the sessions that want them: every enablement of the Service Control Manager's
 * GUID, and every declaration with Unit=. See companion.h. */
#include "autologger/daemon/parts/companion.h"

#include <stdio.h>
#include <string.h>

static const struct guid control_manager = UNITS_GUID;

static bool unit_provider_wants(const struct state_enable *e)
{
    return *e->units || memcmp(&e->guid, &control_manager, sizeof e->guid) == 0;
}

static void unit_provider_row(const struct session *s, const struct state_enable *e, char out[COMPANION_ROW])
{
    char guid[40];
    guid_format(&e->guid, guid);
    snprintf(out, COMPANION_ROW, "%s,%u,%s", guid, s->state->index, e->units);
}

const struct companion_kind unit_provider = {
    .program      = "autologger-units",
    .what         = "units",
    .item         = UNITS_ITEM,
    .row_option   = "--provider",
    .keeps        = "units",
    .reaches      = true,
    .needs_reason = "units are not known: systemd does not run here; what there is of services is their processes",
    .needs_advice = "run it where systemd is process 1; until then kernel events (PROC_THREAD) show the processes",
    .ended_advice = "see whether systemctl answers",
    .wants        = unit_provider_wants,
    .row          = unit_provider_row};
