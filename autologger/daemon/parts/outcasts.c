#include "autologger/daemon/parts/outcasts.h"
#include "autologger/daemon/self_start.h"

#include "autologger/control/message.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { IDLE_MS = 1000, LOOK_MS = 100, LINGER_US = 10000 };

int outcasts_start(void) { return self_start(OUTCASTS_WORD); }

/* ---- the process ---- */

static void no_more(int signal_number) { (void)signal_number; }

/* Closing a socket that lingers waits until a signal comes. Closing a file of a user's own file system may wait for
 * ever. */
static void empty(int connection)
{
    const struct itimerval again  = {{0, LINGER_US}, {0, LINGER_US}};
    const struct sigaction action = {.sa_handler = no_more};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &again, NULL);
    while (message_waits(connection) != MESSAGE_NONE)
        (void)!recv(connection, NULL, 0,
                    MSG_DONTWAIT); /* no room for descriptors: the call drops them, and no process has to flush them */
    _exit(0);
}

/* The next connection; -1: none now; *end: there will be none. */
static int outcasts_take(bool *end)
{
    union {
        struct cmsghdr align;
        char           space[CMSG_SPACE(sizeof(int))];
    } control;
    char          byte;
    struct iovec  io = {.iov_base = &byte, .iov_len = sizeof byte};
    struct msghdr m  = {
         .msg_iov = &io, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
    const ssize_t   n  = recvmsg(0, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    struct cmsghdr *c  = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
    int             fd = -1;
    *end               = n == 0;
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(c), sizeof fd);
    return fd;
}

static unsigned outcasts_let_go(int connection)
{
    const pid_t pid = fork();
    if (pid == 0) {
        close(0); /* or the daemon would believe that this process takes connections */
        empty(connection);
    }
    close(connection); /* the child has it, until it is empty */
    return pid > 0;
}

int outcasts_run(void)
{
    bool     end      = false;
    unsigned children = 0;
    self_alone();
    for (unsigned idle = 0; !end;) {
        const int     room = children < OUTCASTS_MOST;
        struct pollfd p    = {.fd = 0, .events = (short)(room ? POLLIN : 0)};
        const int     any  = poll(&p, 1, LOOK_MS);
        while (children && waitpid(-1, NULL, WNOHANG) > 0)
            children--;
        if (p.revents & POLLIN) {
            const int connection = outcasts_take(&end);
            children += connection >= 0 ? outcasts_let_go(connection) : 0;
            idle = 0;
        } else if (any > 0) {
            end = !room && p.revents & POLLHUP; /* the daemon has ended */
        } else if (!children && ++idle == IDLE_MS / LOOK_MS) {
            shutdown(0, SHUT_RD); /* takes what is on its way; for more the daemon starts another process */
        }
    }
    return 0;
}
