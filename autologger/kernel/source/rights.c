/* rights.c - see rights.h. */
#include "autologger/kernel/source/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CAPABILITY_SYS_ADMIN = 21, CAPABILITY_PERFMON = 38, CAPABILITY_BPF = 39, TEXT = 4096 };
#define LIMIT "\nMax locked memory"
#define LOCKED "the kernel is locked down (confidentiality), which forbids it even to root"
#define UNLOCK "boot without lockdown=confidentiality; lockdown=integrity lets it be traced"

static bool rights_text_read(const char *root, const char *path, char *out, size_t size)
{
    char full[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    int     fd = open(full, O_RDONLY | O_CLOEXEC);
    ssize_t n  = fd < 0 ? -1 : read(fd, out, size - 1);
    if (fd >= 0)
        close(fd);
    out[n > 0 ? n : 0] = 0;
    return n > 0;
}

static uint64_t others; /* effective capabilities of the process that opens events for this one (reach.h) */
void            rights_far(uint64_t capabilities) { others = capabilities; }

void rights_read(const char *root, struct source_rights *out)
{
    char        text[TEXT];
    const char *line;
    *out = (struct source_rights){.paranoid = "?", .locked_kb = UINT64_MAX};
    if (rights_text_read(root, "/proc/self/status", text, sizeof text) && (line = strstr(text, "\nCapEff:")))
        for (line += 8 + strspn(line + 8, " \t"); strchr("0123456789abcdef", *line) && *line; line++)
            out->capabilities = out->capabilities << 4 | (uint64_t)(*line <= '9' ? *line - '0' : *line - 'a' + 10);
    out->capabilities |= others;
    /* the first namespace maps every user to itself */
    if (rights_text_read(root, "/proc/self/uid_map", text, sizeof text)) {
        const char *p    = text + strspn(text, " \t");
        bool        zero = *p == '0' && p[1 + strspn(p + 1, " \t")] == '0';
        out->namespaced  = !zero || !strstr(text, "4294967295");
    }
    if (rights_text_read(root, "/proc/sys/kernel/perf_event_paranoid", text, sizeof text)) {
        text[strcspn(text, "\n")] = 0;
        snprintf(out->paranoid, sizeof out->paranoid, "%.15s", text);
    }
    if (rights_text_read(root, "/proc/self/limits", text, sizeof text) && (line = strstr(text, LIMIT))) {
        char    *end;
        uint64_t bytes = strtoull(line += sizeof LIMIT - 1, &end, 10);
        out->locked_kb = end == line ? UINT64_MAX : bytes / 1024; /* not a number: "unlimited" */
    }
    if (rights_text_read(root, "/proc/sys/kernel/osrelease", text, sizeof text)) {
        char         *end;
        unsigned long major = strtoul(text, &end, 10);
        out->counts_bpf     = major && (major < 5 || (major == 5 && *end == '.' && strtoul(end + 1, NULL, 10) < 11));
    }
    if (rights_text_read(root, "/sys/kernel/security/lockdown", text, sizeof text))
        out->locked = strstr(text, "[confidentiality]") != NULL;
    else if (rights_text_read(root, "/proc/cmdline", text, sizeof text)) /* securityfs is not mounted yet */
        out->locked = strstr(text, "lockdown=confidentiality") != NULL;
}

static bool rights_has(const struct source_rights *r, unsigned capability) { return r->capabilities >> capability & 1; }

wstatus rights_refused(const struct source_rights *r, int error, struct reason *why)
{
    bool may = rights_has(r, CAPABILITY_PERFMON) || rights_has(r, CAPABILITY_SYS_ADMIN);
    if (error == ENOSYS)
        return reason_set(why, W_NOT_SUPPORTED, "this kernel has no perf events (CONFIG_PERF_EVENTS)");
    if (error != EACCES && error != EPERM)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "kernel events cannot be opened: %s", strerror(error));
    if (r->locked && may)
        return reason_set(why, W_PRIVILEGE_NOT_HELD, LOCKED ". Do: " UNLOCK);
    if (!may)
        return reason_set(
            why, W_PRIVILEGE_NOT_HELD,
            "kernel events may not be opened: CAP_PERFMON is missing (perf_event_paranoid is %s). Do: run as root or with "
            "CAP_PERFMON; or set kernel.perf_event_paranoid to -1, which lets every user trace the kernel",
            r->paranoid);
    if (r->namespaced)
        return reason_set(
            why, W_PRIVILEGE_NOT_HELD,
            "kernel events may not be opened: CAP_PERFMON is held in a user namespace alone (perf_event_paranoid is %s). Do: run "
            "outside of the container",
            r->paranoid);
    return reason_set(
        why, W_PRIVILEGE_NOT_HELD,
        "kernel events may not be opened although CAP_PERFMON is held (perf_event_paranoid is %s): a seccomp filter or a security "
        "module forbids it. Do: allow perf_event_open there, or run outside of the container",
        r->paranoid);
}

wstatus rights_bpf(const struct source_rights *r, int error, const char *what, struct reason *why)
{
    bool refused = error == EPERM || error == EACCES;
    bool may =
        rights_has(r, CAPABILITY_SYS_ADMIN) || (rights_has(r, CAPABILITY_BPF) && rights_has(r, CAPABILITY_PERFMON));
    if (r->locked && may) /* kernels report it by several errors: the program may not read their memory */
        return reason_set(why, W_PRIVILEGE_NOT_HELD, "%s: " LOCKED " (%s). Do: " UNLOCK, what, strerror(error));
    if (refused && !may)
        return reason_set(why, W_PRIVILEGE_NOT_HELD,
                          "%s: CAP_BPF and CAP_PERFMON are missing. Do: run with both, or as root", what);
    if (refused && r->namespaced)
        return reason_set(why, W_PRIVILEGE_NOT_HELD,
                          "%s: CAP_BPF is held in a user namespace alone. Do: run outside of the container", what);
    if (error == EPERM && r->counts_bpf && r->locked_kb != UINT64_MAX)
        return reason_set(
            why, W_NOT_ENOUGH_MEMORY,
            "%s: this kernel counts it as locked memory, of which %llu KB are allowed. Do: raise RLIMIT_MEMLOCK "
            "(LimitMEMLOCK=infinity)",
            what, (unsigned long long)r->locked_kb);
    if (refused)
        return reason_set(why, W_PRIVILEGE_NOT_HELD,
                          "%s although CAP_BPF is held. Do: allow bpf in the seccomp filter or security module", what);
    /* so old that it lacks arguments of bpf() that the program needs */
    if (error == E2BIG && r->counts_bpf)
        return reason_set(why, W_NOT_SUPPORTED, "%s: this kernel is too old for it (%s). Do: use Linux 5.17 or newer",
                          what, strerror(error));
    return reason_set(why, error == ENOMEM ? W_NOT_ENOUGH_MEMORY : W_NOT_SUPPORTED, "%s: %s", what, strerror(error));
}

const char *rights_advice(struct reason *why, const char *otherwise)
{
    char *advice = strstr(why->text, ". Do: ");
    if (!advice)
        return otherwise;
    *advice = 0;
    return advice + 6;
}

bool rights_tracefs(const struct source_rights *r, int error, char *reason, size_t size, const char **advice)
{
    if (error != EPERM && error != EACCES && !(r->locked && error == ENOENT))
        return false; /* a kernel that is locked down from its start has an empty tracefs */
    if (r->locked) {
        snprintf(reason, size, LOCKED);
        *advice = UNLOCK;
    } else if (!rights_has(r, CAPABILITY_SYS_ADMIN)) {
        snprintf(reason, size, "tracefs may not be read: CAP_SYS_ADMIN is missing");
        *advice = "run as root, or let this user read /sys/kernel/tracing (mount option gid=)";
    } else {
        snprintf(reason, size, "tracefs may not be read%s",
                 r->namespaced ? " in a user namespace" : ": a security module forbids it");
        *advice = "run outside of the container, or allow it there";
    }
    return true;
}
