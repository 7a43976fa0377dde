/* inject - runs a command and lets one of its processes crash, hang or fill its memory at its N-th system call.
 *   inject kill|hang|fill|total N COMMAND...
 * All children are followed; system calls are counted over all of them in the order in which they are entered. `total`
 * lets all pass. `fill`: the process may have FILL_BYTES of address space from there on and maps all of it, page by
 * page; then it goes on. Prints how many there were when the command's first process ended, and at SIGUSR1. Runs until
 * killed or until nothing is left to trace; hung processes are then killed. Not for: real boots. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRACED_MAX = 256, FILL_BYTES = 192 << 20, SYSCALL_SIZE = 2 /* of the instruction */ };
static struct traced {
    pid_t pid;
    int   inside;
} traced[TRACED_MAX];

static volatile sig_atomic_t asked;
static void                  on_asked(int number) { asked = number; }

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

/* Makes a process that has entered a system call run another one, and stops it at the entry of the first again. */
static bool instead(pid_t pid, const struct user_regs_struct *entered, const struct user_regs_struct *other,
                    unsigned long long *result)
{
    struct user_regs_struct r = *entered;
    for (int half = 0; half < 2; half++) {
        const struct user_regs_struct *go = half ? &r : other;
        int                            status;
        if (ptrace(PTRACE_SETREGS, pid, NULL, go) < 0 || ptrace(PTRACE_SYSCALL, pid, NULL, NULL) < 0 ||
            waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status) || WSTOPSIG(status) != (SIGTRAP | 0x80))
            return false;
        if (half)
            return true;
        if (ptrace(PTRACE_GETREGS, pid, NULL, &r) < 0)
            return false;
        *result = r.rax;
        r       = *entered;
        r.rip -= SYSCALL_SIZE;
        r.rax = entered->orig_rax;
    }
    return false;
}

static void fill(pid_t pid)
{
    const struct rlimit     limit = {FILL_BYTES, FILL_BYTES};
    struct user_regs_struct entered, map;
    unsigned long long      result;
    if (ptrace(PTRACE_GETREGS, pid, NULL, &entered) < 0 || prlimit(pid, RLIMIT_AS, &limit, NULL) < 0)
        return;
    for (unsigned long long size = 16 << 20; size >= 4096; size /= 16)
        do {
            map          = entered;
            map.orig_rax = SYS_mmap;
            map.rdi      = 0;
            map.rsi      = size;
            map.rdx      = PROT_READ | PROT_WRITE;
            map.r10      = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
            map.r8       = (unsigned long long)-1;
            map.r9       = 0;
            if (!instead(pid, &entered, &map, &result))
                return;
        } while (result < (unsigned long long)-4095);
}

int main(int argc, char **argv)
{
    const long options =
        PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
    if (argc < 4) {
        fprintf(stderr, "usage: inject kill|hang|fill|total N COMMAND...\n");
        return 100;
    }
    int   mode = argv[1][0];
    long  at = strtol(argv[2], NULL, 10), seen = 0;
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
                if (mode == 'f')
                    fill(pid);
            }
        } else if (signal_number != SIGTRAP && signal_number != SIGSTOP) {
            pass = signal_number;
        }
        ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(long)pass);
    }
}
