/* old_sockets - a library to preload: setsockopt knows no SO_PASSRIGHTS, as before Linux 6.16. So a newer kernel shows
 * what a daemon does on an older one. */
#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((visibility("default"))) int setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
    enum { PASSRIGHTS = 83 };
    if (level == SOL_SOCKET && name == PASSRIGHTS) {
        errno = ENOPROTOOPT;
        return -1;
    }
    return (int)syscall(SYS_setsockopt, fd, level, name, value, size);
}
