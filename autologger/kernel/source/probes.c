/* probes.c - definitions in tracefs. See probes.h. */
#include "autologger/kernel/source/probes.h"
#include "autologger/kernel/source/sources.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GROUP "autologger"
static const struct probe {
    const char *event, *definition; /* parts separated by blanks; on the command line by commas */
} probes[] = {
#define PROBE(event, kind, function, arguments) {#event, kind ":" GROUP "/" #event " " function " " arguments},
#include "autologger/kernel/source/probes.def"
#undef PROBE
};
enum { PROBES = sizeof probes / sizeof *probes };

static int probes_file_open(int tracefs) { return openat(tracefs, "kprobe_events", O_WRONLY | O_APPEND | O_CLOEXEC); }

int probes_define(int tracefs)
{
    int fd = probes_file_open(tracefs), error = 0;
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

/* ---- removal ---- */

enum { TRIES = 50, PAUSE_US = 100000 /* a keeper drops its copies of perf events a moment after this process does */ };
static struct {
    pthread_mutex_t lock;
    unsigned        holders; /* kernel loggers of this process that may open the events */
    bool            removing;
} use = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* True: all are removed. */
static bool remove_all(void)
{
    const int root = tracefs_open(), fd = root < 0 ? -1 : probes_file_open(root);
    bool      left = false;
    for (size_t i = 0; fd >= 0 && i < PROBES; i++) {
        char text[64];
        int  n = snprintf(text, sizeof text, "-:" GROUP "/%s\n", probes[i].event);
        left |= write(fd, text, (size_t)n) < 0 && errno == EBUSY; /* a process has the event open */
    }
    if (fd >= 0)
        close(fd);
    if (root >= 0)
        close(root);
    return !left;
}

/* Removal makes the kernel wait for all processors. It has a thread of its own, so that the end of a session does not
 * wait for that. */
static void *remover(void *arg)
{
    bool done = false;
    (void)arg;
    for (unsigned i = 0; i < TRIES && !done; i++) {
        if (i)
            usleep(PAUSE_US);
        pthread_mutex_lock(&use.lock);
        done         = use.holders || remove_all();
        use.removing = !done && i + 1 < TRIES;
        pthread_mutex_unlock(&use.lock);
    }
    return NULL;
}

void probes_wait(void)
{
    enum { WAITS = 60, WAIT_US = 50000 };
    bool removing = true;
    for (unsigned i = 0; i < WAITS && removing; i++) {
        pthread_mutex_lock(&use.lock);
        removing = use.removing;
        pthread_mutex_unlock(&use.lock);
        if (removing)
            usleep(WAIT_US);
    }
}

void probes_hold(void)
{
    pthread_mutex_lock(&use.lock);
    use.holders++;
    pthread_mutex_unlock(&use.lock);
}

void probes_let_go(bool ended)
{
    pthread_t thread;
    pthread_mutex_lock(&use.lock);
    use.holders--;
    if (ended && !use.holders && !use.removing && pthread_create(&thread, NULL, remover, NULL) == 0) {
        pthread_setname_np(thread, "probes-end");
        pthread_detach(thread);
        use.removing = true;
    }
    pthread_mutex_unlock(&use.lock);
}

size_t probes_argument(char *out, size_t size)
{
    size_t n = (size_t)snprintf(out, size, "kprobe_event=");
    for (size_t i = 0; i < PROBES; i++) {
        const size_t from = n;
        n += (size_t)snprintf(n < size ? out + n : NULL, n < size ? size - n : 0, "%s%s", i ? ";" : "",
                              probes[i].definition);
        for (size_t k = from; k < n && k + 1 < size; k++)
            out[k] = out[k] == ' ' ? ',' : out[k];
    }
    return n;
}

/* One at a time in this process: each instance has a buffer as large as the kernel's command line says. */
static struct {
    pthread_mutex_t lock;
    int             fd; /* -1: none */
} probes_place = {PTHREAD_MUTEX_INITIALIZER, -1};

static const char *instance_name(char out[64])
{
    snprintf(out, 64, "instances/autologger-probes-%d", (int)getpid());
    return out;
}

int probes_instance(int tracefs)
{
    char name[64];
    pthread_mutex_lock(&probes_place.lock);
    if (probes_place.fd < 0 && (mkdirat(tracefs, instance_name(name), 0700) == 0 || errno == EEXIST))
        probes_place.fd = openat(tracefs, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    const int fd = probes_place.fd < 0 ? -errno : probes_place.fd;
    pthread_mutex_unlock(&probes_place.lock);
    return fd;
}

void probes_instance_end(int tracefs)
{
    char name[64];
    pthread_mutex_lock(&probes_place.lock);
    if (probes_place.fd >= 0) {
        close(probes_place.fd);
        unlinkat(tracefs, instance_name(name), AT_REMOVEDIR);
    }
    probes_place.fd = -1;
    pthread_mutex_unlock(&probes_place.lock);
}
