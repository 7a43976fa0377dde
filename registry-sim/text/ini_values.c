/* ini_values.c - see ini_values.h. iniparser 4.1 reads files only, so the text goes through a memfd. */
#include "registry-sim/text/ini_values.h"

#include <errno.h>
#include <iniparser/iniparser.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct ini_values; /* is iniparser's dictionary */

static char ini_values_last_error[256]; /* iniparser hands no context to its callback */

static int keep_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(ini_values_last_error, sizeof ini_values_last_error, format, args);
    va_end(args);
    ini_values_last_error[strcspn(ini_values_last_error, "\n")] = 0;
    return n;
}

wstatus ini_values_open(const char *text, size_t size, struct ini_values **out, struct reason *why)
{
    char    path[40];
    wstatus st = W_SUCCESS;
    int     fd = memfd_create("ini", MFD_CLOEXEC);

    *out = NULL;
    for (size_t done = 0; fd >= 0 && done < size;) {
        ssize_t n = write(fd, text + done, size - done);
        if (n <= 0) {
            st = reason_set(why, wstatus_from_errno(n ? errno : EIO), "the text can't be handed to iniparser: %s",
                            strerror(errno));
            goto out;
        }
        done += (size_t)n;
    }
    if (fd < 0)
        return reason_set(why, wstatus_from_errno(errno), "no memory file for iniparser: %s", strerror(errno));
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    *ini_values_last_error = 0;
    iniparser_set_error_callback(keep_error);
    *out = (struct ini_values *)iniparser_load(path);
    iniparser_set_error_callback(NULL);
    if (!*out)
        st = reason_set(why, W_INVALID_DATA, "iniparser refuses the file: %s",
                        *ini_values_last_error ? ini_values_last_error : "it gives no reason");
out:
    close(fd);
    return st;
}

const char *ini_values_get(const struct ini_values *values, const char *section, const char *name)
{
    char key[1024]; /* names together are at most INI_MAX_NAMES bytes */
    int  n = snprintf(key, sizeof key, "%s:%s", section, name);
    return n > 0 && (size_t)n < sizeof key ? iniparser_getstring((const dictionary *)values, key, NULL) : NULL;
}

void ini_values_close(struct ini_values *values)
{
    if (values)
        iniparser_freedict((dictionary *)values);
}
