#include "autologger/control/outcast.h"

#include "autologger/control/message.h"
#include "autologger/wire/state.h"

#include <errno.h>
#include <unistd.h>

/* At WAITING_MOST no connection is accepted; the existing ones still have room. */
enum { WAITING_MOST = 512, WAITING_ROOM = WAITING_MOST + STATE_CONNECTIONS + 64 };

static outcast_start *outcast_helper_start;
static int            helper_fd = -1;
static int            outcast_waiting[WAITING_ROOM];
static unsigned       control_outcast_count;

void outcast_helper(outcast_start *start) { outcast_helper_start = start; }

/* This close is not the last: the message on its way holds a reference. */
static bool hand_on(int fd)
{
    if (helper_fd < 0 || !message_send(helper_fd, "", 1, &fd, 1))
        return false;
    close(fd);
    return true;
}

/* Replaces a helper that has ended, or takes no more because it is about to end. */
static bool helper_renew(void)
{
    if (helper_fd >= 0)
        close(helper_fd);
    helper_fd = outcast_helper_start ? outcast_helper_start() : -1;
    return helper_fd >= 0;
}

void outcast_step(void)
{
    bool renewed = false;
    while (control_outcast_count) {
        if (hand_on(outcast_waiting[control_outcast_count - 1]))
            control_outcast_count--;
        else if (renewed || (helper_fd >= 0 && errno == EAGAIN) || !helper_renew())
            return;
        else
            renewed = true;
    }
}

void outcast_add(int fd)
{
    if (control_outcast_count < WAITING_ROOM)
        outcast_waiting[control_outcast_count++] = fd;
    outcast_step();
}

int      outcast_fd(void) { return control_outcast_count ? helper_fd : -1; }
bool     outcast_room(void) { return control_outcast_count < WAITING_MOST; }
unsigned outcast_count(void) { return control_outcast_count; }
