/* check_here.c - see check_here.h. */
#include "tools/setup/check_here.h"
#include "autologger/kernel/source/sources.h"
#include "autologger/kernel/source/tracepoints.h"
#include "registry-sim/base/nearest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LETTERS_OFF = 3, NAME_MOST = 256 };

void check_here_begin(struct check_here *h) { *h = (struct check_here){.tracefs = tracefs_open()}; }

void check_here_finish(struct check_here *h)
{
    if (h->tracefs >= 0)
        close(h->tracefs);
    h->tracefs = -1;
}

/* ---- tracepoints ---- */

struct near_name {
    struct nearest near;
    char           name[NAME_MOST]; /* a copy of the nearest so far: names are borrowed during a call only */
};

static void matched(void *ctx, const char *name, const char *folder) { (void)ctx, (void)name, (void)folder; }

static void try(void *ctx, const char *name, const char *folder)
{
    struct near_name *n = ctx;
    (void)folder;
    nearest_try(&n->near, name);
    if (n->near.found == name) {
        snprintf(n->name, sizeof n->name, "%s", name);
        n->near.found = n->name;
    }
}

/* Adds each part of the pattern that matches no tracepoint. No match at all: W_NOT_SUPPORTED, as at a boot. */
static wstatus tracepoints_check(struct check_here *h, const struct plan_provider *p, struct condition_list *found)
{
    const int all = h->tracefs < 0 ? -1 : tracepoints_match(h->tracefs, p->tracepoint, matched, NULL);
    char      copy[TRACEPOINT_TEXT], *rest = copy, *one;
    if (all < 0)
        return W_SUCCESS;
    snprintf(copy, sizeof copy, "%s", p->tracepoint);
    while ((one = strsep(&rest, " ,;\t"))) {
        struct near_name n                     = {.near = nearest_make(one, LETTERS_OFF)};
        char             meant[NAME_MOST + 24] = "";
        if (!*one || tracepoints_match(h->tracefs, one, matched, NULL) != 0)
            continue;
        tracepoints_match(h->tracefs, "*:*", try, &n);
        if (n.near.found)
            snprintf(meant, sizeof meant, "; did you mean '%.80s'?", n.name);
        if (!all)
            return reason_set(
                &h->why, W_NOT_SUPPORTED,
                "this kernel has no tracepoint '%.120s'%s Do: autologger providers --tracepoints shows those that it has",
                one, *meant ? meant : ".");
        condition_add(found, W_NOT_SUPPORTED, false, "Tracepoint", p->source_file, p->source_line,
                      "autologger providers --tracepoints shows those that it has",
                      "this kernel has no tracepoint '%.80s'%.*s", one, *meant ? (int)strlen(meant) - 1 : 0, meant);
    }
    return W_SUCCESS;
}

/* ---- programs ---- */

static bool program_there(const char *name)
{
    const char *path = getenv("PATH");
    char        dirs[2048], file[4096], *rest = dirs, *dir;
    if (strchr(name, '/'))
        return access(name, F_OK) == 0;
    snprintf(dirs, sizeof dirs, "%.1800s:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
             path ? path : "");
    while ((dir = strsep(&rest, ":"))) {
        snprintf(file, sizeof file, "%s/%s", dir, name);
        if (*dir && access(file, F_OK) == 0)
            return true;
    }
    return false;
}

static void programs_check(const struct plan_provider *p, struct condition_list *found)
{
    uint32_t    size  = 0;
    const char *names = filter_part(p->filter, FILTER_EXECUTABLE, &size);
    char       *copy = names ? strndup(names, size) : NULL, *rest = copy, *one;
    while (copy && (one = strsep(&rest, ";")))
        if (*one && !program_there(one))
            condition_add(found, W_FILE_NOT_FOUND, true, "ExeFilter", p->source_file, p->source_line,
                          "check its spelling, or write its path",
                          strchr(one, '/') ? "there is no file %.160s" : "no program named %.160s is in PATH", one);
    free(copy);
}

/* ---- units ---- */

static const char *const check_here_unit_folders[] = {"/etc/systemd/system",         "/run/systemd/system",
                                                      "/run/systemd/generator",      "/run/systemd/generator.early",
                                                      "/run/systemd/generator.late", "/usr/local/lib/systemd/system",
                                                      "/usr/lib/systemd/system",     "/lib/systemd/system"};

/* Kinds that have a file; mounts, devices and scopes come without one. */
static bool has_file_kind(const char *name)
{
    static const char *const kinds[] = {".service", ".socket", ".target", ".timer", ".path"};
    const char              *dot     = strrchr(name, '.');
    bool                     yes     = false;
    for (size_t i = 0; dot && i < sizeof kinds / sizeof *kinds; i++)
        yes |= strcmp(dot, kinds[i]) == 0;
    return yes;
}

static bool unit_there(const char *name)
{
    char        file[NAME_MOST + 64], of[NAME_MOST + 16];
    const char *at = strchr(name, '@'), *dot = strrchr(name, '.');
    bool        any = false;
    snprintf(of, sizeof of, "%s", name);
    if (at && dot > at) /* foo@bar.service is made of foo@.service */
        snprintf(of, sizeof of, "%.*s%s", (int)(at - name + 1), name, dot);
    for (size_t i = 0; i < sizeof check_here_unit_folders / sizeof *check_here_unit_folders; i++) {
        any |= access(check_here_unit_folders[i], F_OK) == 0;
        snprintf(file, sizeof file, "%s/%s", check_here_unit_folders[i], of);
        if (access(file, F_OK) == 0)
            return true;
        snprintf(file, sizeof file, "%s/%s", check_here_unit_folders[i], name);
        if (access(file, F_OK) == 0)
            return true;
    }
    snprintf(file, sizeof file, "/etc/init.d/%.*s", dot ? (int)(dot - name) : (int)strlen(name), name);
    return !any || access(file, F_OK) == 0;
}

static void units_check(const struct plan_provider *p, struct condition_list *found)
{
    char *copy = strdup(p->units), *rest = copy, *one;
    while (copy && (one = strsep(&rest, ","))) {
        char name[NAME_MOST];
        one += strspn(one, " \t");
        one[strcspn(one, " \t")] = 0;
        snprintf(name, sizeof name, "%.200s%s", one, strchr(one, '.') ? "" : ".service");
        if (*one && !strpbrk(one, "*?[") && has_file_kind(name) && !unit_there(name))
            condition_add(found, W_FILE_NOT_FOUND, true, "Unit", p->source_file, p->source_line,
                          "check its spelling: systemctl list-unit-files", "systemd has no file of a unit named %.160s",
                          name);
    }
    free(copy);
}

wstatus check_here_provider(struct check_here *h, const struct plan_provider *p, struct condition_list *found)
{
    if (!p->enabled || p->status)
        return W_SUCCESS;
    if (p->filter)
        programs_check(p, found);
    if (p->units)
        units_check(p, found);
    return p->tracepoint ? tracepoints_check(h, p, found) : W_SUCCESS;
}
