#include "autologger/daemon/handed.h"

#include "autologger/daemon/notify.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FIRST_FD = 3 };

struct handed {
    int      keeper_fd; /* -1: the socket that NOTIFY_SOCKET names */
    unsigned count;
    struct {
        char *name;
        int   fd;
    } item[];
};

static char *name_clean(const char *name)
{
    char *copy = strdup(name);
    for (char *p = copy; p && *p; p++)
        if (*p == ':' || *p == '\n')
            *p = '.';
    return copy;
}

static struct handed *handed_new(unsigned capacity)
{
    struct handed *h = calloc(1, sizeof *h + capacity * sizeof h->item[0]);
    if (h)
        h->keeper_fd = -1;
    return h;
}

struct handed *handed_create(void)
{
    const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS"), *names = getenv("LISTEN_FDNAMES");
    unsigned    count = pid && fds && names && strtol(pid, NULL, 10) == getpid() ? (unsigned)strtoul(fds, NULL, 10) : 0;
    struct handed *h  = count < 65536 ? handed_new(count) : NULL;
    char          *list = names ? strdup(names) : NULL, *save = NULL;

    for (unsigned i = 0; h && i < count; i++) {
        char *name = strtok_r(i ? NULL : list, ":", &save);
        int   fd   = FIRST_FD + (int)i;
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        h->item[h->count].name = strdup(name ? name : "");
        h->item[h->count++].fd = fd;
    }
    free(list);
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    return h;
}

struct handed *handed_create_from(struct kept *k, int keeper_fd)
{
    struct handed *h = handed_new(k->count);
    if (!h)
        return NULL;
    h->keeper_fd = keeper_fd;
    for (unsigned i = 0; i < k->count; i++) {
        if (k->item[i].ring)
            munmap(k->item[i].ring, k->item[i].ring_bytes);
        h->item[h->count].name = name_clean(k->item[i].name);
        h->item[h->count++].fd = k->item[i].fd;
    }
    k->count = 0;
    return h;
}

void handed_destroy(struct handed *h)
{
    for (unsigned i = 0; h && i < h->count; i++) {
        if (h->item[i].fd >= 0)
            close(h->item[i].fd);
        free(h->item[i].name);
    }
    free(h);
}

bool handed_empty(const struct handed *h)
{
    for (unsigned i = 0; i < h->count; i++)
        if (h->item[i].fd >= 0)
            return false;
    return true;
}

void handed_drop(struct handed *h)
{
    for (unsigned i = 0; i < h->count; i++)
        if (h->item[i].fd >= 0) {
            if (h->item[i].name)
                handed_keep(h, h->item[i].name, -1, 0);
            close(h->item[i].fd);
            h->item[i].fd = -1;
        }
}

int handed_take(void *handed, const char *name)
{
    struct handed *h     = handed;
    char          *clean = name_clean(name);
    int            fd    = -1;

    for (unsigned i = 0; clean && i < h->count && fd < 0; i++)
        if (h->item[i].fd >= 0 && h->item[i].name && strcmp(h->item[i].name, clean) == 0) {
            fd            = h->item[i].fd;
            h->item[i].fd = -1;
        }
    free(clean);
    return fd;
}

static void handed_tell(const struct handed *h, const char *text, int fd)
{
    if (h->keeper_fd >= 0)
        notify_socket(h->keeper_fd, text, fd);
    else
        notify_path(getenv("NOTIFY_SOCKET"), text, fd);
}

void handed_keep(void *handed, const char *name, int fd, size_t ring_bytes)
{
    char  text[512];
    char *clean = name_clean(name);

    if (clean && fd >= 0)
        snprintf(text, sizeof text, "FDSTORE=1\nFDNAME=%s\nX_RING_BYTES=%zu", clean, ring_bytes);
    else if (clean)
        snprintf(text, sizeof text, "FDSTOREREMOVE=1\nFDNAME=%s", clean);
    if (clean)
        handed_tell(handed, text, fd);
    free(clean);
}

void handed_notify(struct handed *h, const char *state) { handed_tell(h, state, -1); }
