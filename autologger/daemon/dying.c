#include "autologger/daemon/dying.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT = 4096, EXIT_CODE = 52 /* field of /proc/PID/stat */ };

static bool dying_text_of(pid_t pid, const char *name, char text[TEXT])
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    const int     fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n  = fd >= 0 ? read(fd, text, TEXT - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = 0;
    return n > 0;
}

static const char *after(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at ? at + strlen(name) : "";
}

static bool kill_waits(const char *status, const char *name)
{
    return strtoull(after(status, name), NULL, 16) >> (SIGKILL - 1) & 1;
}

/* Counts from the end of the name, which may hold anything. */
static int exit_code(const char *stat)
{
    const char *p = strrchr(stat, ')');
    for (int field = 2; p && field < EXIT_CODE; field++)
        p = strchr(p + 1, ' ');
    return p ? (int)strtol(p + 1, NULL, 10) : SIGKILL;
}

bool process_is_dying(pid_t pid, int *status)
{
    char text[TEXT];
    if (!dying_text_of(pid, "status", text))
        return false;
    *status = SIGKILL;
    if (strncmp(after(text, "\nState:\t"), "Z", 1) != 0)
        return kill_waits(text, "\nSigPnd:\t") || kill_waits(text, "\nShdPnd:\t");
    if (dying_text_of(pid, "stat", text))
        *status = exit_code(text);
    return true;
}
