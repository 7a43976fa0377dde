#include "tools/files/made_file.h"

#include "autologger/schema/manifest_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MADE_PATH = 4096 };

static bool made_file_same(const char *path, const struct text *content)
{
    struct file_bytes old;
    const bool same = file_bytes_read(path, &old, NULL) == W_SUCCESS && !old.elf && old.size == content->length &&
                      (!old.size || memcmp(old.data, content->data, old.size) == 0);
    file_bytes_free(&old);
    return same;
}

wstatus made_file_put(const char *path, const struct text *content, struct reason *why)
{
    char  temporary[MADE_PATH + 32];
    FILE *f;

    if (made_file_same(path, content))
        return W_SUCCESS;
    snprintf(temporary, sizeof temporary, "%s.new-%d", path, (int)getpid());
    if (!(f = fopen(temporary, "we")))
        return reason_set(why, wstatus_from_errno(errno), "%s cannot be written: %s", temporary, strerror(errno));
    bool fine = fwrite(text_get(content), 1, content->length, f) == content->length;
    fine      = fclose(f) == 0 && fine;
    if (!fine || rename(temporary, path) < 0) {
        int error = errno;
        unlink(temporary);
        return reason_set(why, wstatus_from_errno(error), "%s cannot be written: %s", path, strerror(error));
    }
    return W_SUCCESS;
}
