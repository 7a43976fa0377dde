#include "autologger/sandbox/sandbox.h"

#include "autologger/sandbox/calls.h"

#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __has_feature
#if __has_feature(address_sanitizer)
#define ADDRESS_SANITIZER
#endif
#elif defined __SANITIZE_ADDRESS__
#define ADDRESS_SANITIZER
#endif
enum { NOBODY = 65534, CAPABILITIES_MOST = 64 };
/* A reader may still need other users' files and kernel addresses. */
#define READER_CAPABILITIES (UINT64_C(1) << CAP_DAC_READ_SEARCH | UINT64_C(1) << CAP_SYSLOG)

static const struct {
    unsigned    bit;
    const char *text;
} layers[] = {
#define LAYER(name, bit, text) {SANDBOX_##name, text},
#include "autologger/sandbox/layers.def"
#undef LAYER
};

struct sandbox_ids sandbox_ids(const char *accounts)
{
    struct sandbox_ids ids = {NOBODY, NOBODY, false};
    char               line[1024];
    unsigned           user, group;
    FILE              *f = fopen(accounts, "re");

    while (f && !ids.own && fgets(line, sizeof line, f))
        if (sscanf(line, SANDBOX_ACCOUNT ":%*[^:]:%u:%u:", &user, &group) == 2 && user && group)
            ids = (struct sandbox_ids){user, group, true};
    if (f)
        fclose(f);
    return ids;
}

static void limit(int what, uint64_t most)
{
    struct rlimit now;
    if (!most || getrlimit(what, &now) < 0)
        return;
    most = most < now.rlim_max ? most : now.rlim_max;
    setrlimit(what, &(struct rlimit){most, most});
}

static void limits_set(const struct sandbox *s)
{
#if !defined ADDRESS_SANITIZER /* its shadow is 16 TB of address space */
    limit(RLIMIT_AS, s->memory);
#endif
    limit(RLIMIT_FSIZE, s->file_size);
    limit(RLIMIT_CPU, s->cpu_seconds);
    limit(RLIMIT_NOFILE, s->descriptors);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    signal(SIGXFSZ, SIG_IGN); /* a write then fails with EFBIG, which can be reported */
}

/* ---- capabilities ---- */

static uint64_t capabilities(void)
{
    struct __user_cap_header_struct head    = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct   data[2] = {{0}};
    return syscall(SYS_capget, &head, data) < 0 ? 0 : data[0].effective | (uint64_t)data[1].effective << 32;
}

static bool capabilities_keep(uint64_t kept)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    kept &= capabilities();
    const struct __user_cap_data_struct data[2] = {{(uint32_t)kept, (uint32_t)kept, 0},
                                                   {(uint32_t)(kept >> 32), (uint32_t)(kept >> 32), 0}};
    return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0 && syscall(SYS_capset, &head, data) == 0;
}

/* True: the bounding set is now empty. Dropping needs CAP_SETPCAP. */
static bool bounding_empty(void)
{
    bool empty = true;
    for (int i = 0; i < CAPABILITIES_MOST; i++)
        if (prctl(PR_CAPBSET_READ, i, 0, 0, 0) > 0 && prctl(PR_CAPBSET_DROP, i, 0, 0, 0) < 0)
            empty = false;
    return empty;
}

static bool sandbox_has(int capability) { return capabilities() >> capability & 1; }

static bool user_change(void)
{
    const struct sandbox_ids ids = sandbox_ids(SANDBOX_ACCOUNTS);

    return getuid() == 0 && setgroups(0, NULL) == 0 && setresgid(ids.group, ids.group, ids.group) == 0 &&
           setresuid(ids.user, ids.user, ids.user) == 0;
}

/* SANDBOX_NO_USER fails in a user namespace that does not map it. */
static bool owner_become(const struct sandbox_owner *o)
{
    return setgroups(o->further_count, o->further) == 0 && setresgid(o->group, o->group, o->group) == 0 &&
           (setresuid(SANDBOX_NO_USER, o->user, SANDBOX_NO_USER) == 0 || setresuid(o->user, o->user, o->user) == 0);
}

/* ---- entering ---- */

unsigned sandbox_all(enum sandbox_kind kind)
{
    unsigned all = 0;
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        all |= layers[i].bit;
    all &= ~(sandbox_reads(kind) ? (unsigned)(SANDBOX_USER | SANDBOX_PARENT) : 0u);
    return kind == SANDBOX_WRITER ? all & ~(unsigned)(SANDBOX_FILES | SANDBOX_PARENT) : all;
}

unsigned sandbox_possible(enum sandbox_kind kind)
{
    unsigned can = SANDBOX_LIMITS | SANDBOX_CAPABILITIES | SANDBOX_NO_NEW_PRIVILEGES | SANDBOX_PARENT |
                   sandbox_landlock_possible(kind);

    /* a process that is not root has a user already */
    can |= getuid() != 0 || (sandbox_has(CAP_SETUID) && sandbox_has(CAP_SETGID)) ? SANDBOX_USER : 0;
    can |= sandbox_has(CAP_SETPCAP) ? SANDBOX_BOUNDING : 0;
    can |= sandbox_calls_possible() ? SANDBOX_CALLS : 0;
    return can & sandbox_all(kind);
}

static void stay_with(pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || (parent && getppid() != parent))
        _exit(1);
}

unsigned sandbox_enter(const struct sandbox *s)
{
    const bool parser = s->kind == SANDBOX_PARSER, reader = sandbox_reads(s->kind);
    unsigned   in = SANDBOX_LIMITS;

    limits_set(s);
    in |= bounding_empty() ? SANDBOX_BOUNDING : 0;
    if (parser)
        in |= getuid() != 0 || user_change() ? SANDBOX_USER : 0;
    else if (!reader)
        in |= owner_become(s->owner) ? SANDBOX_USER : 0;
    in |= capabilities_keep(reader ? READER_CAPABILITIES : 0) ? SANDBOX_CAPABILITIES : 0;
    in |= prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? SANDBOX_NO_NEW_PRIVILEGES : 0;
    prctl(PR_SET_DUMPABLE, 0); /* other processes of these ids must not look into this one */
    if (!reader)
        setrlimit(RLIMIT_NPROC, &(struct rlimit){0, 0});
    if (parser) {
        stay_with(s->parent); /* after the change of ids, which would clear it */
        in |= SANDBOX_PARENT;
    }
    in |= sandbox_landlock(s->kind);
    in |= sandbox_calls_filter(s->kind) ? SANDBOX_CALLS : 0; /* last: the steps above need calls that it refuses */
    return in;
}

const char *sandbox_text(unsigned in, char *out, size_t size)
{
    size_t n = 0;
    *out     = 0;
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        if (in & layers[i].bit && n < size)
            n += (size_t)snprintf(out + n, size - n, "%s%s", n ? ", " : "", layers[i].text);
    return out;
}

bool sandbox_memory_unshare(void)
{
    enum { MOST = 4096 };
    static struct {
        uintptr_t from, to;
    } shared[MOST]; /* the list changes while it is read */
    unsigned  count = 0;
    char      line[512], mode[5];
    uintptr_t from, to;
    FILE     *f = fopen("/proc/self/maps", "re");

    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "%zx-%zx %4s", &from, &to, mode) == 3 && mode[3] == 's' && count < MOST) {
            shared[count].from = from;
            shared[count++].to = to;
        }
    for (unsigned i = 0; i < count; i++)
        munmap((void *)shared[i].from, shared[i].to - shared[i].from); // NOLINT(performance-no-int-to-ptr)
    if (f)
        fclose(f);
    return f && count < MOST;
}
