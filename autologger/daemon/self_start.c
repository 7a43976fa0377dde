#include "autologger/daemon/self_start.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FDS_MOST = 65536 };

/* In the new process, which shares the daemon's memory until exec: nothing but system calls. */
static void self_start_become(int socket_fd, char *word)
{
    static char program[] = "/proc/self/exe", name[] = "autologgerd";
    char       *argv[] = {name, word, NULL};
    sigset_t    none;
    sigemptyset(&none);
    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_DFL);
    if (dup2(socket_fd, 0) != 0)
        _exit(127);
    if (syscall(SYS_close_range, 3u, ~0u, 0u) < 0) /* a keeper's descriptors lack close-on-exec until taken */
        for (int fd = 3; fd < FDS_MOST; fd++)
            close(fd);
    if (sigprocmask(SIG_SETMASK, &none, NULL) == 0)
        execv(program, argv);
    _exit(127);
}

int self_start(const char *word)
{
    char copy[32];
    int  pair[2], status = -1;
    if (strlen(word) >= sizeof copy || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    strcpy(copy, word);
    const pid_t pid = vfork();
    if (pid == 0)
        self_start_become(pair[1], copy);
    const int error = errno;
    close(pair[1]);
    if (pid > 0) /* it forks at once: so nobody has to wait for a process that may never end */
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
    if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return pair[0];
    close(pair[0]);
    errno = pid < 0 ? error : ENOEXEC;
    return -1;
}

void self_patient(void)
{
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
}

void self_alone(void)
{
    const pid_t pid = fork();
    if (pid)
        _exit(pid < 0);
    setsid(); /* a terminal's signals are not meant for it */
}
