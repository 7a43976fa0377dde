/* probes.c - definitions in tracefs. See probes.h. */
#include "autologger/kernel/source/probes.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GROUP "autologger"
static const struct probe {
    const char *event, *definition; /* blanks between its parts; on the command line commas */
} probes[] = {
#define PROBE(event, kind, function, arguments) {#event, kind ":" GROUP "/" #event " " function " " arguments},
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
        char path[64], text[256];
        int  n = snprintf(text, sizeof text, "%s\n", probes[i].definition);
        snprintf(path, sizeof path, "events/" GROUP "/%s", probes[i].event);
        if (faccessat(tracefs, path, F_OK, 0) == 0 || write(fd, text, (size_t)n) > 0 || errno == EEXIST)
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

size_t probes_argument(char *out, size_t size)
{
    size_t n = (size_t)snprintf(out, size, "kprobe_event=");
    for (size_t i = 0; i < PROBES; i++) {
        const size_t from = n;
        n += (size_t)snprintf(n < size ? out + n : NULL, n < size ? size - n : 0, "%s%s", i ? ";" : "", probes[i].definition);
        for (size_t k = from; k < n && k + 1 < size; k++)
            out[k] = out[k] == ' ' ? ',' : out[k];
    }
    return n;
}

/* Two sessions may look at a time. */
static const char *instance_name(char out[64])
{
    snprintf(out, 64, "instances/autologger-probes-%d", (int)gettid());
    return out;
}

int probes_instance(int tracefs)
{
    char name[64];
    if (mkdirat(tracefs, instance_name(name), 0700) < 0 && errno != EEXIST)
        return -errno;
    int fd = openat(tracefs, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

void probes_instance_end(int tracefs, int instance)
{
    char name[64];
    close(instance);
    unlinkat(tracefs, instance_name(name), AT_REMOVEDIR);
}
