#include "autologger/sandbox/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __x86_64__
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#elif defined __riscv && __riscv_xlen == 64
#define OWN_ARCHITECTURE AUDIT_ARCH_RISCV64
#else
#define OWN_ARCHITECTURE 0
#endif

enum { X32_BIT = 0x40000000, RULE_MOST = 8, HEAD = 6 };
enum calls_test { ALWAYS, NONE, SOME, EQUAL, ABSENT, OWN, NEVER };
#define P (1 << SANDBOX_PARSER)
#define H (1 << SANDBOX_HELPED)
#define R (1 << SANDBOX_READER | H)
#define W (1 << SANDBOX_WRITER)
#define A (P | R | W)
static const struct calls_rule {
    uint32_t call, value;
    uint8_t  kinds, argument, test;
} calls_rules[] = {
#define CALL(kinds, name, argument, test, value) {__NR_##name, (uint32_t)(value), kinds, argument, test},
#include "autologger/sandbox/calls.def"
#undef CALL
};
#undef P
#undef H
#undef R
#undef W
#undef A
enum { RULES = sizeof calls_rules / sizeof *calls_rules };

#define STATEMENT(code, k) (struct sock_filter) BPF_STMT((uint16_t)(code), (uint32_t)(k))
#define JUMP(code, k, yes, no) \
    (struct sock_filter) BPF_JUMP((uint16_t)(BPF_JMP | (code) | BPF_K), (uint32_t)(k), yes, no)
/* Jump to the rule's end, which is resolved later. */
#define NEXT 255

static struct sock_filter calls_argument_load(unsigned n, bool upper)
{
    const bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    return STATEMENT(BPF_LD | BPF_W | BPF_ABS,
                     offsetof(struct seccomp_data, args) + n * sizeof(uint64_t) + (big != upper ? 4 : 0));
}

/* Writes the instructions of a rule; returns their number. */
static unsigned calls_rule_write(const struct calls_rule *r, struct sock_filter *out)
{
    unsigned n = 0;
    out[n++]   = STATEMENT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    out[n++]   = JUMP(BPF_JEQ, r->call, 0, NEXT);
    if (r->test != ALWAYS && r->test != NEVER)
        out[n++] = calls_argument_load(r->argument, false);
    if (r->test == NONE)
        out[n++] = JUMP(BPF_JSET, r->value, NEXT, 0);
    else if (r->test == SOME)
        out[n++] = JUMP(BPF_JSET, r->value, 0, NEXT);
    else if (r->test == EQUAL || r->test == OWN)
        out[n++] = JUMP(BPF_JEQ, r->test == OWN ? (uint32_t)getpid() : r->value, 0, NEXT);
    if (r->test == ABSENT) {
        out[n++] = JUMP(BPF_JEQ, 0, 0, NEXT);
        out[n++] = calls_argument_load(r->argument, true);
        out[n++] = JUMP(BPF_JEQ, 0, 0, NEXT);
    }
    out[n++] = STATEMENT(BPF_RET | BPF_K, r->test == NEVER ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ALLOW);
    for (unsigned i = 0; i < n; i++) {
        if (out[i].jt == NEXT)
            out[i].jt = (uint8_t)(n - i - 1);
        if (out[i].jf == NEXT)
            out[i].jf = (uint8_t)(n - i - 1);
    }
    return n;
}

bool sandbox_calls_filter(enum sandbox_kind kind)
{
    struct sock_filter code[HEAD + RULES * RULE_MOST + 1];
    unsigned           n = 0;

    code[n++] = STATEMENT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    code[n++] = JUMP(BPF_JEQ, OWN_ARCHITECTURE, 1, 0);
    code[n++] = STATEMENT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
#if defined __x86_64__
    code[n++] = STATEMENT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    code[n++] = JUMP(BPF_JGE, X32_BIT, 0, 1);
    code[n++] = STATEMENT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
#endif
    for (unsigned i = 0; i < RULES; i++)
        if (calls_rules[i].kinds & 1 << kind)
            n += calls_rule_write(&calls_rules[i], code + n);
    code[n++]                 = STATEMENT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    struct sock_fprog program = {(unsigned short)n, code};
    return OWN_ARCHITECTURE && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

bool sandbox_calls_possible(void)
{
    uint32_t kill = SECCOMP_RET_KILL_PROCESS;
    return OWN_ARCHITECTURE && syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &kill) == 0;
}

/* ---- Landlock: by numbers, the same on all architectures; headers of older systems lack some ---- */

enum {
    LANDLOCK_VERSION = 1,
    FS_EXECUTE       = 1 << 0,
    FS_READ_FILE     = 1 << 2,
    FS_READ_DIR      = 1 << 3,
    NET_ALL          = 3,
    SCOPE_ALL        = 3
};
struct landlock_set { /* of ABI 6; an older kernel takes its beginning */
    uint64_t files, network, scope;
};

static int landlock_version(void) { return (int)syscall(__NR_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION); }

/* File rights of an ABI: 13 at first, then moving (2), truncating (3), device ioctls (5). */
static uint64_t file_rights(int version)
{
    return (UINT64_C(1) << (version >= 5 ? 16 : version >= 3 ? 15 : version == 2 ? 14 : 13)) - 1;
}

unsigned sandbox_landlock_possible(enum sandbox_kind kind)
{
    const int version = landlock_version();
    return (version >= 1 && kind != SANDBOX_WRITER ? SANDBOX_FILES : 0u) | (version >= 4 ? SANDBOX_NETWORK : 0u) |
           (version >= 6 ? SANDBOX_SCOPE : 0u);
}

/* The ruleset has no rules: all handled rights are denied. A reader's reading and a writer's files are not handled. */
unsigned sandbox_landlock(enum sandbox_kind kind)
{
    const int           version = landlock_version();
    struct landlock_set set     = {file_rights(version), version >= 4 ? NET_ALL : 0, version >= 6 ? SCOPE_ALL : 0};
    const size_t        size    = version >= 6   ? sizeof set
                                  : version >= 4 ? offsetof(struct landlock_set, scope)
                                                 : sizeof set.files;

    if (!sandbox_landlock_possible(kind))
        return 0;
    if (sandbox_reads(kind))
        set.files &= ~(uint64_t)(FS_EXECUTE | FS_READ_FILE | FS_READ_DIR | (1 << 15)); /* isatty() asks a device */
    if (kind == SANDBOX_WRITER)
        set.files = 0;
    const int  fd = (int)syscall(__NR_landlock_create_ruleset, &set, size, 0);
    const bool on = fd >= 0 && syscall(__NR_landlock_restrict_self, fd, 0) == 0;
    if (fd >= 0)
        close(fd);
    return on ? sandbox_landlock_possible(kind) : 0;
}
