/* bench_steps.c - see bench_steps.h. */
#include "tools/bench/bench_steps.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#if defined(__x86_64__)
enum { STEPS_MOST = 100000 };

struct bench_steps_walk {
    struct bench_steps *inside; /* NULL: none of the calls */
    uint64_t            back;   /* where it returns to */
};

/* endbr64: marks the target of an indirect jump, and does nothing. */
static bool is_mark(pid_t pid, uint64_t ip)
{
    return (uint32_t)ptrace(PTRACE_PEEKTEXT, pid, (void *)(uintptr_t)ip, NULL) == 0xFA1E0FF3u;
}

/* The program is about to execute the instruction at `ip`. */
static void arrived(pid_t pid, struct bench_steps_walk *w, struct bench_steps *calls, unsigned count, uint64_t ip,
                    uint64_t sp)
{
    if (w->inside && ip == w->back)
        w->inside = NULL;
    for (unsigned i = 0; i < count && !w->inside; i++)
        if (ip == calls[i].entry && calls[i].count == 0) {
            w->inside = &calls[i];
            w->back   = (uint64_t)ptrace(PTRACE_PEEKDATA, pid, (void *)(uintptr_t)sp, NULL);
        }
    if (w->inside && !is_mark(pid, ip))
        w->inside->count++;
}

static bool all_called(const struct bench_steps_walk *w, const struct bench_steps *calls, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (calls[i].count == 0)
            return false;
    return w->inside == NULL;
}

wstatus bench_steps_count(pid_t pid, struct bench_steps *calls, unsigned count, struct reason *why)
{
    struct bench_steps_walk w = {0};
    struct user_regs_struct r;
    int                     status = 0;

    if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
        return reason_set(why, W_GEN_FAILURE, "the program whose instructions are to be counted does not stop");
    for (unsigned steps = 0; steps < STEPS_MOST && !all_called(&w, calls, count); steps++) {
        if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
            ptrace(PTRACE_GETREGS, pid, NULL, &r))
            return reason_set(why, W_ACCESS_DENIED, "a program of the bench cannot be gone through step by step: %s",
                              strerror(errno));
        arrived(pid, &w, calls, count, r.rip, r.rsp);
    }
    ptrace(PTRACE_DETACH, pid, NULL, NULL);
    return all_called(&w, calls, count)
               ? W_SUCCESS
               : reason_set(why, W_GEN_FAILURE, "a call whose instructions are to be counted was not made");
}
#else
wstatus bench_steps_count(pid_t pid, struct bench_steps *calls, unsigned count, struct reason *why)
{
    (void)pid, (void)calls, (void)count;
    return reason_set(why, W_NOT_SUPPORTED, "instructions are counted on x86-64 alone");
}
#endif
