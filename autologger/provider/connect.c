/* connect.c - see connect.h. */
#include "autologger/provider/connect.h"

#include "autologger/wire/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { LISTEN_TRIES = 10, LISTEN_WAIT_MS = 10, BACKUP_MS = 5000, FIRST_PAUSE_MS = 100 };

/* A path too long for a socket address is reached through its folder's descriptor. */
static bool connect_address_of(const char *dir, const char *name, struct sockaddr_un *a, int *folder)
{
    *folder = -1;
    memset(a, 0, sizeof *a);
    a->sun_family = AF_UNIX;
    if (strlen(dir) + strlen(name) + 2 <= sizeof a->sun_path) {
        char path[PATH_SIZE + 16];
        int  n = snprintf(path, sizeof path, "%s/%s", dir, name);
        memcpy(a->sun_path, path, (size_t)n + 1);
        return true;
    }
    if ((*folder = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
        return false;
    snprintf(a->sun_path, sizeof a->sun_path, "/proc/self/fd/%d/%s", *folder, name);
    return true;
}

/* 0, or the errno of the attempt. */
static int try_socket(const char *dir, const char *name, struct known_fd *out)
{
    struct sockaddr_un a;
    int                folder, error = 0, fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return errno;
    if (!connect_address_of(dir, name, &a, &folder) || connect(fd, (struct sockaddr *)&a, sizeof a) < 0)
        error = errno;
    if (folder >= 0)
        close(folder);
    if (error == 0 && !known_fd_init(out, fd))
        error = EBADF;
    if (error)
        close(fd);
    return error;
}

/* An older daemon has one socket, and may have been started after a newer one, whose socket file is left over. */
static int try_connect(const char *dir, struct known_fd *out)
{
    static const char *const names[] = CTL_SOCKET_NAMES;
    const int                error   = try_socket(dir, names[CTL_SOCKET_PROVIDER], out);
    if (error != ENOENT && error != ECONNREFUSED)
        return error;
    const int old = try_socket(dir, names[CTL_SOCKET_CONTROL], out);
    return old == ENOENT ? error : old;
}

static void connect_pause_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    process_unlock();
    nanosleep(&t, NULL);
    process_lock();
}

bool connect_daemon(struct known_fd *socket)
{
    for (unsigned i = 0; process_runtime_dir(i); i++)
        for (int tries = 0; tries < LISTEN_TRIES; tries++) {
            int error = try_connect(process_runtime_dir(i), socket);
            if (error == 0)
                return true;
            /* ECONNREFUSED: bound but not listening yet, or left over. EAGAIN: its queue is full. Only a new file
             * deserves a retry */
            if (error != EAGAIN && (error != ECONNREFUSED || (LIFE.epoch == 0 && LIFE.state == AGENT_STARTING)))
                break;
            connect_pause_ms(LISTEN_WAIT_MS);
        }
    return false;
}

/* Watches `dir`, or the nearest folder above it that exists. */
static void connect_watch(int fd, const char *dir)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s", dir);
    while (inotify_add_watch(fd, path,
                             IN_CREATE | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR) < 0) {
        char *slash = strrchr(path, '/');
        if (!slash || !path[0] || !path[1])
            return;
        if (slash == path)
            slash++;
        *slash = 0;
    }
}

void agent_take_wake(void)
{
    uint64_t n;
    if (known_fd_ok(&LIFE.wake)) {
        ssize_t got = read(LIFE.wake.fd, &n, sizeof n);
        (void)got;
    } else {
        process_make_wake();
    }
}

bool connect_or_wait(struct known_fd *socket)
{
    struct known_fd notify = {0};
    bool            connected;

    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (fd >= 0 && known_fd_init(&notify, fd))
        for (unsigned i = 0; process_runtime_dir(i); i++)
            connect_watch(fd, process_runtime_dir(i));
    connected = connect_daemon(socket); /* the daemon may have come before the watch was set */
    if (!connected) {
        struct pollfd p[2] = {{.fd = LIFE.wake.fd, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
        LIFE.state         = AGENT_NO_DAEMON;
        pthread_cond_broadcast(&LIFE.changed);
        process_unlock();
        poll(p, fd >= 0 ? 2 : 1, BACKUP_MS);
        process_lock();
        agent_take_wake();
    }
    known_fd_close(&notify);
    return connected;
}

void connect_pause(unsigned refusals)
{
    const long ms = FIRST_PAUSE_MS << (refusals < 7 ? refusals - 1 : 6);
    LIFE.state    = AGENT_NO_DAEMON;
    pthread_cond_broadcast(&LIFE.changed);
    connect_pause_ms(ms < BACKUP_MS ? ms : BACKUP_MS);
}
