/* event_told.c - sending late events to sessions that may be full. See event_told.h. */
#include "autologger/provider/event_told.h"

#include <unistd.h>

enum { ROUND_MS = 2 };

void event_told_send(REGHANDLE handle, PCEVENT_DESCRIPTOR d, ULONG n, const EVENT_DATA_DESCRIPTOR *data,
                     const struct event_told *told, int patience_ms, bool *impatient)
{
    struct event_told now      = *told;
    uint32_t          sessions = event_told_sessions(handle, d->Level, d->Keyword);

    for (int waited = 0; sessions;) {
        ULONG status = event_told_write(handle, d, n, data, &now, &sessions);
        if (status == ERROR_SUCCESS) {
            *impatient = false;
        } else if (status == ERROR_NOT_ENOUGH_MEMORY && !now.count_loss && !*impatient && waited < patience_ms) {
            usleep(ROUND_MS * 1000);
            waited += ROUND_MS;
        } else if (status == ERROR_NOT_ENOUGH_MEMORY && !now.count_loss) {
            *impatient = now.count_loss = true; /* once more; without room it is lost */
        } else {
            sessions &= sessions - 1; /* lost, and counted */
            now.count_loss = false;
        }
    }
}
