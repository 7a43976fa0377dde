#include "autologger/daemon/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* The daemon has signals blocked and ignored; a command has not. */
static int spawn(pid_t *pid, char *const *argv, int text_fd)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t          attributes;
    sigset_t                   none, all;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, text_fd, 1);
    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int error = posix_spawnp(pid, argv[0], &files, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

bool child_start(struct child *c, char *const *argv)
{
    int pipe_fd[2];

    *c = (struct child){0, -1, -1};
    if (pipe2(pipe_fd, O_CLOEXEC | O_NONBLOCK) < 0)
        return false;
    c->text_fd = pipe_fd[0];
    int error  = spawn(&c->pid, argv, pipe_fd[1]);
    close(pipe_fd[1]);
    if (error)
        c->pid = 0;
    else if ((c->end_fd = (int)syscall(SYS_pidfd_open, c->pid, 0)) < 0)
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
