/* program_find.c - see program_find.h. */
#include "tools/files/program_find.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

wstatus program_find(const char *name, char *out, size_t size, struct reason *why)
{
    static const char *const places[] = {"", "/../sbin", "/../lib/autologger"};
    char                     self[PATH_MAX];
    ssize_t                  n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0)
        return reason_set(why, wstatus_from_errno(errno), "/proc/self/exe: %s", strerror(errno));
    self[n]               = 0;
    *(strrchr(self, '/')) = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(out, size, "%s%s/%s", self, places[i], name);
        if (access(out, X_OK) == 0)
            return W_SUCCESS;
    }
    return reason_set(why, W_FILE_NOT_FOUND,
                      "%s is neither in %s nor installed. Do: build or install all of autologger", name, self);
}
