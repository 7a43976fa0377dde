#include "autologger/daemon/parts/runtime_dir.h"

#include "autologger/wire/control.h"

#include <fcntl.h>
#include <unistd.h>

void runtime_dir_remove(const char *dir)
{
    static const char *const sockets[] = CTL_SOCKET_NAMES, *const files[] = {"lock", "keep"};
    const int folder = open(dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (folder < 0)
        return;
    for (unsigned i = 0; i < CTL_SOCKETS; i++)
        unlinkat(folder, sockets[i], 0);
    for (unsigned i = 0; i < sizeof files / sizeof *files; i++)
        unlinkat(folder, files[i], 0);
    close(folder);
    rmdir(dir);
}
