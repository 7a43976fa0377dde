/* system_protection.c - checks of this machine's protection from programs of its users, and from autologger: the
 * daemon's rights as the kernel reports them, the kernel's own means, settings. A missing protection is a note: a boot
 * is traced all the same. See system_check.h. */
#include "tools/setup/system_check.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83 /* since Linux 6.16 */
#endif
#ifndef __NR_landlock_create_ruleset
#define __NR_landlock_create_ruleset 444 /* the same everywhere; since Linux 5.13 */
#endif
enum { LANDLOCK_VERSION = 1, FILTERED = 2 };

/* ---- the daemon ---- */

#define CAPABILITY(name) #name,
static const char *const capability_names[] = {
#include "tools/setup/capabilities.def"
};
#undef CAPABILITY
enum { CAPABILITIES = sizeof capability_names / sizeof *capability_names };

struct system_protection_rights {
    unsigned long      pid, seccomp, no_new;
    unsigned long long effective;
};

/* The number after a line's name; `none` where there is no such line. */
static unsigned long long status_number(const char *status, const char *name, int base, unsigned long long none)
{
    const char *at = strstr(status, name);
    return at ? strtoull(at + strlen(name), NULL, base) : none;
}

/* Ranks a process by its rights: a missing system call filter counts most, then missing NoNewPrivileges. */
static unsigned looseness(const struct system_protection_rights *r)
{
    return (r->seccomp != FILTERED) * 200u + !r->no_new * 100u + (unsigned)__builtin_popcountll(r->effective);
}

/* Returns the number of the daemon's processes (keeper and service); *most: the one with the most rights. */
static unsigned daemon_find(const struct machine *m, struct system_protection_rights *most)
{
    char           path[MACHINE_PATH];
    unsigned       count = 0;
    DIR           *dir   = opendir(machine_path(m, "/proc", path));
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        snprintf(path, sizeof path, "/proc/%.20s/status", entry->d_name);
        char *status = machine_read(m, path, NULL);
        if (status && strncmp(status, "Name:\tautologgerd\n", 18) == 0) {
            struct system_protection_rights r = {strtoul(entry->d_name, NULL, 10),
                                                 (unsigned long)status_number(status, "\nSeccomp:", 10, 0),
                                                 (unsigned long)status_number(status, "\nNoNewPrivs:", 10, 0),
                                                 status_number(status, "\nCapEff:", 16, ~0ull)};
            if (!count++ || looseness(&r) > looseness(most))
                *most = r;
        }
        free(status);
    }
    if (dir)
        closedir(dir);
    return count;
}

static void capabilities_text(unsigned long long set, char *out, size_t size)
{
    size_t at = 0;
    out[0]    = 0;
    for (unsigned i = 0; i < CAPABILITIES && at < size; i++)
        if (set >> i & 1)
            at += (size_t)snprintf(out + at, size - at, "%s%s", at ? " " : "", capability_names[i]);
}

void check_confinement(const struct system_look *l)
{
    struct system_protection_rights most = {0};
    char                            text[220];
    unsigned                        count = daemon_find(l->ask->machine, &most);
    unsigned                        held  = (unsigned)__builtin_popcountll(most.effective);
    bool                            all   = held >= CAPABILITIES - 1; /* an older kernel has one capability fewer */
    if (!count)
        return; /* the row "daemon" says whether there is one */
    capabilities_text(most.effective, text, sizeof text);
    system_found(l->f, most.seccomp == FILTERED && most.no_new && !all ? SYSTEM_OK : SYSTEM_NOTE,
                 most.seccomp == FILTERED && most.no_new && !all
                     ? ""
                     : "start the daemon by its unit: systemctl restart autologgerd",
                 "process %lu: %s, %s, %s%s", most.pid,
                 most.seccomp == FILTERED ? "system calls are filtered" : "no filter of system calls",
                 most.no_new ? "NoNewPrivileges" : "may gain privileges",
                 all    ? "all capabilities"
                 : held ? "capabilities "
                        : "no capability",
                 all ? "" : text);
}

/* ---- the kernel's means ---- */

void check_security_modules(const struct system_look *l)
{
    char *text    = machine_read(l->ask->machine, "/sys/kernel/security/lsm", NULL);
    long  version = l->ask->machine->root[0] ? -1 : syscall(__NR_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION);
    if (text)
        text[strcspn(text, "\n")] = 0;
    if (version > 0)
        system_found(l->f, SYSTEM_OK, "", "%.200s; Landlock version %ld", text ? text : "their list cannot be read",
                     version);
    else if (text && strstr(text, "landlock"))
        system_found(l->f, SYSTEM_OK, "", "%.200s", text);
    else if (text || !l->ask->machine->root[0])
        system_found(l->f, SYSTEM_NOTE, "add landlock to lsm= on the kernel's command line, where the kernel has it",
                     "%.200s; no Landlock: a program cannot give up the right to files",
                     text ? text : "their list cannot be read");
    free(text);
}

void check_passed_descriptors(const struct system_look *l)
{
    int off = 0, s = l->ask->machine->root[0] ? -1 : socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s < 0)
        return;
    if (setsockopt(s, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof off) == 0)
        system_found(l->f, SYSTEM_OK, "", "a socket can refuse descriptors (SO_PASSRIGHTS)");
    else
        system_found(l->f, SYSTEM_OK, "", "a socket cannot refuse descriptors: SO_PASSRIGHTS needs Linux 6.16");
    close(s);
}

/* ---- settings ---- */

/* -1: there is no such file. */
static long system_protection_setting(const struct machine *m, const char *name)
{
    char path[MACHINE_PATH];
    snprintf(path, sizeof path, "/proc/sys/%.200s", name);
    char *text   = machine_read(m, path, NULL);
    long  number = text && (isdigit((unsigned char)text[0]) || text[0] == '-') ? strtol(text, NULL, 10) : -1;
    if (text && number < 0)
        number = 0; /* perf_event_paranoid of -1 protects as little */
    free(text);
    return number;
}

void check_user_namespaces(const struct system_look *l)
{
    const struct machine *m    = l->ask->machine;
    long                  most = system_protection_setting(m, "user/max_user_namespaces"),
         clone                 = system_protection_setting(m, "kernel/unprivileged_userns_clone");
    long armor                 = system_protection_setting(m, "kernel/apparmor_restrict_unprivileged_userns");
    if (most < 0)
        return; /* not in this kernel, or no /proc */
    if (most == 0 || clone == 0)
        system_found(l->f, SYSTEM_OK, "", "unprivileged programs make none");
    else if (armor > 0)
        system_found(l->f, SYSTEM_OK, "", "unprivileged programs make none without a profile of AppArmor's");
    else
        system_found(
            l->f, SYSTEM_OK, "",
            "any program may make them, at most %ld a user: it then is root inside, and mounts what it likes there",
            most);
}

static const struct {
    const char *name;
    long        least;
    const char *otherwise;
} settings[] = {
#define SETTING(name, least, otherwise) {name, least, otherwise},
#include "tools/setup/system_settings.def"
#undef SETTING
};

void check_settings(const struct system_look *l)
{
    char   weak[sizeof l->f->found] = "", text[sizeof l->f->found] = "", advice[sizeof l->f->advice] = "";
    size_t w = 0, t = 0, a = 0;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        long        value = system_protection_setting(l->ask->machine, settings[i].name);
        const char *slash = strrchr(settings[i].name, '/');
        if (value < 0)
            continue;
        if (t < sizeof text)
            t += (size_t)snprintf(text + t, sizeof text - t, "%s%s %ld", t ? ", " : "", slash + 1, value);
        if (value >= settings[i].least)
            continue;
        if (w < sizeof weak)
            w += (size_t)snprintf(weak + w, sizeof weak - w, "%s%s is %ld: %s", w ? "; " : "", slash + 1, value,
                                  settings[i].otherwise);
        if (a < sizeof advice)
            a += (size_t)snprintf(advice + a, sizeof advice - a, "%s%s=%ld", a ? " " : "sysctl -w ", settings[i].name,
                                  settings[i].least);
    }
    if (w)
        system_found(l->f, SYSTEM_NOTE, advice, "%s", weak);
    else if (t)
        system_found(l->f, SYSTEM_OK, "", "%s", text);
}
