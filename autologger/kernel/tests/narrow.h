/* narrow.h - of tests: may a program use the system calls of 32 bits here? Kernels are built and started without
 * them. */
#ifndef AUTOLOGGER_KERNEL_TESTS_NARROW_H
#define AUTOLOGGER_KERNEL_TESTS_NARROW_H
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static inline bool narrow_calls_here(void)
{
#if defined __x86_64__
    int         status = 0;
    const pid_t pid    = fork();
    if (pid == 0) {
        long number = 20; /* getpid */
        signal(SIGSEGV, SIG_DFL);
        __asm__ volatile("int $0x80" : "+a"(number) : : "memory");
        _exit(number == getpid() ? 0 : 1);
    }
    if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
#endif
    printf("skipped: this kernel has no system calls of 32 bits\n");
    return false;
}
#endif
