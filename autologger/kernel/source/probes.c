/* probes.c - definitions in tracefs. See probes.h. */
#include "autologger/kernel/source/probes.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define GROUP "autologger"
static const struct probe {
    const char *event, *definition;
} probes[] = {
#define PROBE(event, kind, function, arguments) {#event, kind ":" GROUP "/" #event " " function " " arguments "\n"},
#include "autologger/kernel/source/probes.def"
#undef PROBE
};
enum { PROBES = sizeof probes / sizeof *probes };

static int file_open(int tracefs) { return openat(tracefs, "kprobe_events", O_WRONLY | O_APPEND | O_CLOEXEC); }

int probes_define(int tracefs)
{
    int fd = file_open(tracefs), error = 0;
    if (fd < 0)
        return -errno;
    unsigned defined = 0;
    for (size_t i = 0; i < PROBES; i++) {
        char path[64];
        snprintf(path, sizeof path, "events/" GROUP "/%s", probes[i].event);
        if (faccessat(tracefs, path, F_OK, 0) == 0 || write(fd, probes[i].definition, strlen(probes[i].definition)) > 0)
            defined++;
        else
            error = -errno;
    }
    close(fd);
    return defined ? 0 : error;
}

void probes_remove(int tracefs)
{
    int fd = file_open(tracefs);
    if (fd < 0)
        return;
    for (size_t i = 0; i < PROBES; i++) {
        char text[64];
        int  n = snprintf(text, sizeof text, "-:" GROUP "/%s\n", probes[i].event);
        (void)!write(fd, text, (size_t)n); /* EBUSY: another session has it */
    }
    close(fd);
}
