/* unwind_pipe.c - see unwind_pipe.h. */
#include "autologger/consumer/unwind_pipe.h"

#include <errno.h>
#include <sys/socket.h>

bool unwind_receive(int fd, void *into, size_t size)
{
    for (uint8_t *at = into; size > 0;) {
        ssize_t n = recv(fd, at, size, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

bool unwind_send(int fd, const void *from, size_t size)
{
    for (const uint8_t *at = from; size > 0;) {
        ssize_t n = send(fd, at, size, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}
