#include "autologger/daemon/parts/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#if defined __x86_64__
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#elif defined __riscv && __riscv_xlen == 64
#define OWN_ARCHITECTURE AUDIT_ARCH_RISCV64
#else
#define OWN_ARCHITECTURE 0
#endif
#ifndef __NR_fchmodat2
#define __NR_fchmodat2 452 /* the same everywhere; since Linux 6.6 */
#endif
#define NAMESPACES \
    (CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWCGROUP)
#define NUMBER(n) (1u << (n))
enum { X32_BIT = 0x40000000, RULE_MOST = 12 };

struct confine_rule {
    uint32_t call, value;
    uint8_t  makes, argument, test;
    uint16_t error;
};
enum confine_test { ALWAYS, ANY, ALL, OUTSIDE, EQUAL };
#define CONFINE(call, makes, argument, test, value, error) \
    {__NR_##call, (uint32_t)(value), makes, argument, test, error},
static const struct confine_rule confine_rules[] = {
#include "autologger/daemon/parts/confine.def"
};
#undef CONFINE
enum { RULES = sizeof confine_rules / sizeof *confine_rules };

/* Loads the lower half: all tested arguments are numbers of 32 bits. */
static struct sock_filter confine_argument_load(unsigned n)
{
    size_t at =
        offsetof(struct seccomp_data, args) + n * sizeof(uint64_t) + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0);
    return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)at);
}

#define STATEMENT(code, k) (struct sock_filter) BPF_STMT((uint16_t)(code), (uint32_t)(k))
/* Jumps to the rule's end, which is not known yet. */
#define NEXT 255
#define JUMP(code, k, yes, no) \
    (struct sock_filter) BPF_JUMP((uint16_t)(BPF_JMP | (code) | BPF_K), (uint32_t)(k), yes, no)

/* Writes the instructions of a rule; returns their number. */
static unsigned confine_rule_write(const struct confine_rule *r, struct sock_filter *out)
{
    unsigned n = 0;
    out[n++]   = STATEMENT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    out[n++]   = JUMP(BPF_JEQ, r->call, 0, NEXT);
    if (r->makes) {
        out[n++] = confine_argument_load(r->makes);
        out[n++] = JUMP(BPF_JSET, O_CREAT, 0, NEXT);
    }
    if (r->test != ALWAYS)
        out[n++] = confine_argument_load(r->argument);
    if (r->test == ANY) {
        out[n++] = JUMP(BPF_JSET, r->value, 0, NEXT);
    } else if (r->test == ALL) {
        out[n++] = STATEMENT(BPF_ALU | BPF_AND | BPF_K, r->value);
        out[n++] = JUMP(BPF_JEQ, r->value, 0, NEXT);
    } else if (r->test == OUTSIDE) {
        out[n++] = JUMP(BPF_JGE, 32, 4, 0);
        out[n++] = STATEMENT(BPF_MISC | BPF_TAX, 0);
        out[n++] = STATEMENT(BPF_LD | BPF_IMM, r->value);
        out[n++] = STATEMENT(BPF_ALU | BPF_RSH | BPF_X, 0);
        out[n++] = JUMP(BPF_JSET, 1, NEXT, 0);
    } else if (r->test == EQUAL) {
        out[n++] = JUMP(BPF_JEQ, r->value, 0, NEXT);
    }
    out[n++] = STATEMENT(BPF_RET | BPF_K, r->error ? SECCOMP_RET_ERRNO | r->error : SECCOMP_RET_ALLOW);
    for (unsigned i = 0; i < n; i++) {
        if (out[i].jt == NEXT)
            out[i].jt = (uint8_t)(n - i - 1);
        if (out[i].jf == NEXT)
            out[i].jf = (uint8_t)(n - i - 1);
    }
    return n;
}

wstatus confine(struct reason *why)
{
    struct sock_filter code[7 + RULES * RULE_MOST];
    unsigned           n = 0;
    code[n++]            = STATEMENT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    code[n++]            = JUMP(BPF_JEQ, OWN_ARCHITECTURE, 1, 0);
    code[n++]            = STATEMENT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
#if defined __x86_64__
    code[n++] = STATEMENT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    code[n++] = JUMP(BPF_JGE, X32_BIT, 0, 1);
    code[n++] = STATEMENT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
#endif
    for (unsigned i = 0; i < RULES; i++)
        n += confine_rule_write(&confine_rules[i], code + n);
    code[n++]                 = STATEMENT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {(unsigned short)n, code};
    if (!OWN_ARCHITECTURE)
        return reason_set(why, W_NOT_SUPPORTED, "the numbers of this architecture's system calls are not known");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        return reason_set(why, wstatus_from_errno(errno), "the kernel takes no filter of system calls: %s",
                          strerror(errno));
    return W_SUCCESS;
}
