/* inject - runs a command and lets one of its processes crash or hang at its N-th system call.
 *   inject kill|hang|total N COMMAND...
 * All children are followed; system calls are counted over all of them in the order in which they are entered. `total` lets all pass.
 * Prints how many there were when the command's first process ended, and at SIGUSR1. Runs until killed or until nothing is left to
 * trace; hung processes are then killed. Not for: real boots. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRACED_MAX = 256 };
static struct traced { pid_t pid; int inside; } traced[TRACED_MAX];

static volatile sig_atomic_t asked;
static void on_asked(int number) { asked = number; }

static struct traced *traced_of(pid_t pid)
{
    struct traced *free_one = NULL;
    for (int i = 0; i < TRACED_MAX; i++) {
        if (traced[i].pid == pid)
            return &traced[i];
        if (!traced[i].pid && !free_one)
            free_one = &traced[i];
    }
    if (free_one)
        *free_one = (struct traced){pid, 0};
    return free_one;
}

int main(int argc, char **argv)
{
    const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
    if (argc < 4) {
        fprintf(stderr, "usage: inject kill|hang|total N COMMAND...\n");
        return 100;
    }
    int  mode = argv[1][0];
    long at = strtol(argv[2], NULL, 10), seen = 0;
    pid_t first = fork();
    if (first == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        execv(argv[3], argv + 3);
        _exit(127);
    }
    int              status;
    struct sigaction ask = {.sa_handler = on_asked};
    sigaction(SIGUSR1, &ask, NULL);
    if (waitpid(first, &status, 0) != first || ptrace(PTRACE_SETOPTIONS, first, NULL, options) < 0)
        return 111;
    ptrace(PTRACE_SYSCALL, first, NULL, NULL);
    for (;;) {
        pid_t pid = waitpid(-1, &status, __WALL);
        if (asked) {
            printf("%ld\n", seen);
            fflush(stdout);
            asked = 0;
        }
        if (pid < 0 && errno == EINTR)
            continue;
        if (pid < 0)
            return errno == ECHILD ? 0 : 111;
        struct traced *t = traced_of(pid);
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            if (t)
                t->pid = 0;
            if (pid == first) {
                printf("%ld\n", seen);
                fflush(stdout);
            }
            continue;
        }
        int signal_number = WSTOPSIG(status), pass = 0;
        if (signal_number == (SIGTRAP | 0x80)) {
            if (t && (t->inside = !t->inside) && ++seen == at) {
                if (mode == 'k')
                    kill(pid, SIGKILL);
                if (mode == 'h')
                    continue; /* it stays where it is */
            }
        } else if (signal_number != SIGTRAP && signal_number != SIGSTOP) {
            pass = signal_number;
        }
        ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(long)pass);
    }
}
