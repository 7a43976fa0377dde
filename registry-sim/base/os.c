/* os.c - functions that work with any edge. See os.h. */
#include "registry-sim/base/os.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int os_pwrite_all(struct os *os, int fd, const void *data, size_t size, uint64_t offset)
{
    const uint8_t *p = data;
    while (size) {
        ssize_t n = os->pwrite(os, fd, p, size, offset);
        if (n == -EINTR)
            continue;
        if (n <= 0)
            return n ? (int)n : -EIO;
        p += n;
        size -= (size_t)n;
        offset += (uint64_t)n;
    }
    return 0;
}

int os_mkdir_parents(struct os *os, const char *path, unsigned mode)
{
    char *copy = strdup(path);
    int   r    = copy ? 0 : -ENOMEM;

    for (char *p = copy ? strchr(copy + 1, '/') : NULL; p && r == 0; p = strchr(p + 1, '/')) {
        struct os_stat st;
        *p = 0;
        r  = os->mkdir(os, copy, mode);
        if (r == -EEXIST || (r == -EROFS && os->stat(os, copy, &st) == 0))
            r = 0;
        *p = '/';
    }
    free(copy);
    return r;
}
