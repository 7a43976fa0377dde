/* activity.c - EventActivityIdControl: the activity id of a thread. See process.h. */
#include "autologger/provider/process.h"

#include <string.h>

/* Unique on this machine for this boot: 128 random bits of the process, plus a count. No system call. */
static void create(struct guid *out)
{
    uint64_t n = __atomic_add_fetch(&LIFE.counter, 1, __ATOMIC_RELAXED), w[2];
    w[0]       = LIFE.random[0] + n; /* the count makes it unique, the rest makes it this process's */
    w[1]       = LIFE.random[1];
    memcpy(out, w, sizeof *out);
    out->data3    = (uint16_t)((out->data3 & 0x0FFF) | 0x4000); /* version and variant of a random GUID */
    out->data4[0] = (uint8_t)((out->data4[0] & 0x3F) | 0x80);
}

ULONG EventActivityIdControl(ULONG ControlCode, LPGUID ActivityId)
{
    struct guid given, created, before = al_thread.activity;

    if (!ActivityId || ControlCode < EVENT_ACTIVITY_CTRL_GET_ID || ControlCode > EVENT_ACTIVITY_CTRL_CREATE_SET_ID)
        return ERROR_INVALID_PARAMETER;
    if (ControlCode == EVENT_ACTIVITY_CTRL_CREATE_ID || ControlCode == EVENT_ACTIVITY_CTRL_CREATE_SET_ID) {
        process_random();
        create(&created);
    }
    memcpy(&given, ActivityId, sizeof given);
    switch (ControlCode) {
    case EVENT_ACTIVITY_CTRL_GET_ID: memcpy(ActivityId, &before, sizeof before); break;
    case EVENT_ACTIVITY_CTRL_SET_ID: al_thread.activity = given; break;
    case EVENT_ACTIVITY_CTRL_CREATE_ID: memcpy(ActivityId, &created, sizeof created); break;
    case EVENT_ACTIVITY_CTRL_GET_SET_ID:
        al_thread.activity = given;
        memcpy(ActivityId, &before, sizeof before);
        break;
    default: al_thread.activity = created; memcpy(ActivityId, &before, sizeof before);
    }
    return ERROR_SUCCESS;
}
