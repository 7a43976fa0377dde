/* rights.c - see rights.h. */
#include "autologger/kernel/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CAPABILITY_SYS_ADMIN = 21, CAPABILITY_PERFMON = 38, TEXT = 4096 };
#define LOCKED "the kernel is locked down (confidentiality), which keeps its events from everybody"
#define UNLOCK "boot without lockdown=confidentiality; lockdown=integrity lets it be traced"

static bool text_read(const char *root, const char *path, char *out, size_t size)
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

void rights_read(const char *root, struct rights *out)
{
    char        text[TEXT];
    const char *line;
    *out = (struct rights){.paranoid = "?"};
    if (text_read(root, "/proc/self/status", text, sizeof text) && (line = strstr(text, "\nCapEff:")))
        for (line += 8 + strspn(line + 8, " \t"); strchr("0123456789abcdef", *line) && *line; line++)
            out->capabilities = out->capabilities << 4 | (uint64_t)(*line <= '9' ? *line - '0' : *line - 'a' + 10);
    if (text_read(root, "/proc/self/uid_map", text, sizeof text)) { /* the first namespace maps every user to itself */
        const char *p    = text + strspn(text, " \t");
        bool        zero = *p == '0' && p[1 + strspn(p + 1, " \t")] == '0';
        out->namespaced  = !zero || !strstr(text, "4294967295");
    }
    if (text_read(root, "/proc/sys/kernel/perf_event_paranoid", text, sizeof text)) {
        text[strcspn(text, "\n")] = 0;
        snprintf(out->paranoid, sizeof out->paranoid, "%.15s", text);
    }
    if (text_read(root, "/sys/kernel/security/lockdown", text, sizeof text))
        out->locked = strstr(text, "[confidentiality]") != NULL;
    else if (text_read(root, "/proc/cmdline", text, sizeof text)) /* securityfs is not mounted yet */
        out->locked = strstr(text, "lockdown=confidentiality") != NULL;
}

static bool has(const struct rights *r, unsigned capability) { return r->capabilities >> capability & 1; }

wstatus rights_refused(const struct rights *r, int error, struct reason *why)
{
    bool may = has(r, CAPABILITY_PERFMON) || has(r, CAPABILITY_SYS_ADMIN);
    if (error == ENOSYS)
        return reason_set(why, W_NOT_SUPPORTED, "this kernel has no perf events (CONFIG_PERF_EVENTS)");
    if (error != EACCES && error != EPERM)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "kernel events cannot be opened: %s", strerror(error));
    if (r->locked && may)
        return reason_set(why, W_PRIVILEGE_NOT_HELD, LOCKED ". Do: " UNLOCK);
    if (!may)
        return reason_set(why, W_PRIVILEGE_NOT_HELD,
                          "kernel events may not be opened: CAP_PERFMON is missing (perf_event_paranoid is %s). Do: run as root or with "
                          "CAP_PERFMON; or set kernel.perf_event_paranoid to -1, which lets every user trace the kernel", r->paranoid);
    if (r->namespaced)
        return reason_set(why, W_PRIVILEGE_NOT_HELD,
                          "kernel events may not be opened: CAP_PERFMON is held in a user namespace alone (perf_event_paranoid is %s). Do: run "
                          "outside of the container", r->paranoid);
    return reason_set(why, W_PRIVILEGE_NOT_HELD,
                      "kernel events may not be opened although CAP_PERFMON is held (perf_event_paranoid is %s): a seccomp filter or a security "
                      "module forbids it. Do: allow perf_event_open there, or run outside of the container", r->paranoid);
}

bool rights_tracefs(const struct rights *r, int error, char *reason, size_t size, const char **advice)
{
    if (error != EPERM && error != EACCES)
        return false;
    if (r->locked) {
        snprintf(reason, size, LOCKED);
        *advice = UNLOCK;
    } else if (!has(r, CAPABILITY_SYS_ADMIN)) {
        snprintf(reason, size, "tracefs may not be read: CAP_SYS_ADMIN is missing");
        *advice = "run as root, or let this user read /sys/kernel/tracing (mount option gid=)";
    } else {
        snprintf(reason, size, "tracefs may not be read%s", r->namespaced ? " in a user namespace" : ": a security module forbids it");
        *advice = "run outside of the container, or allow it there";
    }
    return true;
}
