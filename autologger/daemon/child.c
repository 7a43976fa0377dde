#include "autologger/daemon/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the new process, which shares the parent's memory until exec: nothing but system calls. The daemon has signals
 * blocked and ignored; a command must not. */
static void child_become(char *const *argv, int text_fd, int given_fd, pid_t parent)
{
    const int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    sigset_t  none;

    sigemptyset(&none);
    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_DFL);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
        _exit(127);
    if (null_fd < 0 || dup2(null_fd, 0) < 0 || dup2(text_fd, 1) < 0 || dup2(null_fd, 2) < 0 ||
        (given_fd == CHILD_GIVEN ? fcntl(given_fd, F_SETFD, 0) < 0 : given_fd >= 0 && dup2(given_fd, CHILD_GIVEN) < 0))
        return;
    sigprocmask(SIG_SETMASK, &none, NULL);
    execvp(argv[0], argv);
}

/* Not posix_spawn, which can't have a child die with its parent. vfork: no page table of a daemon with much memory is
 * copied, and exec's error comes back. */
static int spawn(pid_t *pid, char *const *argv, int text_fd, int given_fd)
{
    const pid_t  parent = getpid();
    volatile int error  = 0;

    *pid = vfork();
    if (*pid == 0) {
        child_become(argv, text_fd, given_fd, parent);
        error = errno ? errno : EINVAL;
        _exit(127);
    }
    return *pid < 0 ? errno : error;
}

bool child_start(struct child *c, char *const *argv, int given_fd)
{
    int pipe_fd[2];

    *c = (struct child){0, -1, -1};
    if (pipe2(pipe_fd, O_CLOEXEC | O_NONBLOCK) < 0)
        return false;
    c->text_fd = pipe_fd[0];
    int error  = spawn(&c->pid, argv, pipe_fd[1], given_fd);
    close(pipe_fd[1]);
    if (c->pid < 0)
        c->pid = 0;
    else if (!error && (c->end_fd = (int)syscall(SYS_pidfd_open, c->pid, 0)) < 0)
        error = errno;
    if (error) {
        child_finish(c);
        errno = error;
    }
    return !error;
}

bool child_ended(struct child *c, int *code, char text[CHILD_TEXT])
{
    struct pollfd p      = {.fd = c->end_fd, .events = POLLIN};
    int           status = 0;
    size_t        size   = 0;

    if (c->pid <= 0 || poll(&p, 1, 0) <= 0 || waitpid(c->pid, &status, WNOHANG) != c->pid)
        return false;
    c->pid = 0;
    for (ssize_t n; size < CHILD_TEXT - 1 && (n = read(c->text_fd, text + size, CHILD_TEXT - 1 - size)) > 0;)
        size += (size_t)n;
    text[size] = 0;
    *code      = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    child_finish(c);
    return true;
}

void child_finish(struct child *c)
{
    if (c->pid > 0) {
        kill(c->pid, SIGKILL);
        waitpid(c->pid, NULL, 0);
    }
    if (c->end_fd >= 0)
        close(c->end_fd);
    if (c->text_fd >= 0)
        close(c->text_fd);
    *c = (struct child){0, -1, -1};
}
