/* sysconfig_services.c - the system services, if systemd is the init: those with a unit file, and the running ones.
 * Read from unit files and control groups, without asking systemd: a stop at shutdown must not wait for it. See
 * sysconfig.h. */
#include "autologger/kernel/source/procfs.h"
#include "autologger/kernel/sysconfig/sysconfig_parts.h"
#include "autologger/wire/hooks.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STATE_STOPPED = 1, STATE_RUNNING = 4, NAME_BYTES = 256, DEPTH = 6 };

static const char *const sysconfig_services_unit_folders[] = {"etc/systemd/system", "run/systemd/system",
                                                              "usr/lib/systemd/system", "lib/systemd/system",
                                                              "run/systemd/generator"};
static const char *const group_roots[] = {"sys/fs/cgroup/system.slice", "sys/fs/cgroup/unified/system.slice",
                                          "sys/fs/cgroup/systemd/system.slice"};

struct service_seen {
    char     name[NAME_BYTES];
    uint32_t pid, processes; /* the oldest process started by systemd itself; number in the control group */
    uint64_t since;
};
struct services {
    int                  proc;
    struct service_seen *list;
    unsigned             count, capacity;
};

static struct service_seen *service_add(struct sysconfig *s, struct services *all, const char *name)
{
    if (all->count == SYSCONFIG_MOST || strlen(name) >= NAME_BYTES) {
        s->left_out++;
        return NULL;
    }
    if (all->count == all->capacity) {
        unsigned n = all->capacity ? all->capacity * 2 : 128;
        void    *p = realloc(all->list, n * sizeof *all->list);
        if (!p) {
            s->left_out++;
            return NULL;
        }
        all->list     = p;
        all->capacity = n;
    }
    struct service_seen *seen = &all->list[all->count++];
    *seen                     = (struct service_seen){0};
    snprintf(seen->name, sizeof seen->name, "%s", name);
    return seen;
}

static bool is_service(const char *name)
{
    size_t n = strlen(name), suffix = strlen(".service");
    return n > suffix && strcmp(name + n - suffix, ".service") == 0;
}

/* ---- control groups ---- */

static void sysconfig_services_processes_read(const struct sysconfig *s, const struct services *all, const char *folder,
                                              struct service_seen *seen)
{
    char path[600], line[32];
    snprintf(path, sizeof path, "%.560s/cgroup.procs", folder);
    int   fd = openat(s->root, path, O_RDONLY | O_CLOEXEC);
    FILE *f  = fd < 0 ? NULL : fdopen(fd, "r");
    while (f && fgets(line, sizeof line, f)) {
        struct proc_stat st;
        uint32_t         pid = (uint32_t)strtoul(line, NULL, 10);
        seen->processes++;
        if (!proc_stat(all->proc, pid, 0, &st) || st.ppid != 1 || (seen->pid && st.start_ticks >= seen->since))
            continue;
        seen->pid   = pid;
        seen->since = st.start_ticks;
    }
    if (f)
        fclose(f);
    else if (fd >= 0)
        close(fd);
}

/* Slices contain services; services may contain groups of their own. */
static void group_walk(struct sysconfig *s, struct services *all, const char *folder, struct service_seen *within,
                       unsigned depth)
{
    int  fd  = openat(s->root, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        char path[600];
        if (e->d_name[0] == '.' || (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN) || depth == DEPTH)
            continue;
        if (snprintf(path, sizeof path, "%s/%s", folder, e->d_name) >= 560)
            continue;
        struct service_seen copy = {0}, *seen = within ? within : is_service(e->d_name) ? &copy : NULL;
        if (seen)
            sysconfig_services_processes_read(s, all, path, seen);
        group_walk(s, all, path, seen, depth + 1);
        struct service_seen *kept = seen == &copy && copy.processes ? service_add(s, all, e->d_name) : NULL;
        if (kept) {
            kept->pid       = copy.pid;
            kept->processes = copy.processes;
        }
    }
    if (dir)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
}

/* ---- unit files ---- */

struct unit_walk {
    struct services *all;
    const char      *folder;
};

static void unit_found(struct sysconfig *s, const char *name, void *ctx)
{
    const struct unit_walk *u = ctx;
    char                    path[600], to[512];
    if (!is_service(name) || strstr(name, "@.")) /* a template is not a service */
        return;
    snprintf(path, sizeof path, "%s/%.400s", u->folder, name);
    if (fact_link(s, path, to, sizeof to)) /* masked, or another name of a unit that is listed itself */
        return;
    service_add(s, u->all, name);
}

static int sysconfig_services_by_name(const void *a, const void *b)
{
    const struct service_seen *x = a, *y = b;
    int                        d = strcmp(x->name, y->name);
    return d ? d : (x->processes < y->processes) - (x->processes > y->processes); /* the running one first */
}

/* "getty@tty1.service" has the file "getty@.service", where %i and %I stand for "tty1". */
static void description_find(const struct sysconfig *s, const char *name, char *out, size_t size)
{
    char        file[NAME_BYTES], instance[NAME_BYTES] = "", path[600], text[512];
    const char *at = strchr(name, '@'), *dot = strrchr(name, '.');
    snprintf(file, sizeof file, "%s", name);
    if (at && dot > at) {
        snprintf(file, sizeof file, "%.*s.service", (int)(at - name) + 1, name);
        snprintf(instance, sizeof instance, "%.*s", (int)(dot - at) - 1, at + 1);
    }
    *out = *text = 0;
    for (size_t i = 0; i < sizeof sysconfig_services_unit_folders / sizeof *sysconfig_services_unit_folders && !*text;
         i++) {
        snprintf(path, sizeof path, "%s/%.250s", sysconfig_services_unit_folders[i], file);
        fact_setting(s, path, "Description", text, sizeof text);
    }
    size_t n = 0;
    for (const char *p = text; *p && n + 1 < size; p++) {
        if (p[0] == '%' && (p[1] == 'i' || p[1] == 'I')) {
            snprintf(out + n, size - n, "%s", instance);
            n += strlen(out + n);
            p++;
        } else {
            out[n++] = *p;
        }
        out[n] = 0;
    }
}

static void sysconfig_services_process_name(const struct sysconfig *s, const struct services *all, uint32_t pid,
                                            char *out, size_t size)
{
    char             path[64], exe[FACT_TEXT];
    struct proc_stat st;
    *out = 0;
    snprintf(path, sizeof path, "proc/%u/exe", pid);
    if (!pid)
        return;
    if (fact_link(s, path, exe, sizeof exe))
        snprintf(out, size, "%s", fact_base(exe));
    else if (proc_stat(all->proc, pid, 0, &st))
        snprintf(out, size, "%s", st.comm);
}

static void service_put(struct sysconfig *s, const struct services *all, const struct service_seen *seen, uint32_t tag)
{
    char name[NAME_BYTES], shown[512], process[256];
    snprintf(name, sizeof name, "%.*s", (int)(strlen(seen->name) - strlen(".service")), seen->name);
    description_find(s, seen->name, shown, sizeof shown);
    sysconfig_services_process_name(s, all, seen->pid, process, sizeof process);
    struct writer *w = config_begin(s);
    wr_u32(w, seen->pid);
    wr_u32(w, seen->processes ? STATE_RUNNING : STATE_STOPPED);
    wr_u32(w, tag);
    config_text(w, name);
    config_text(w, shown);
    config_text(w, process);
    config_text(w, ""); /* load order group and svchost group: Linux has neither */
    config_text(w, "");
    config_put(s, HOOK_CONFIG_SERVICES, 3);
}

void config_services(struct sysconfig *s)
{
    struct services all = {.proc = openat(s->root, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (all.proc >= 0 && fact_there(s, "run/systemd/system")) { /* systemd is the init: it makes this folder */
        for (size_t i = 0; i < sizeof group_roots / sizeof *group_roots && !all.count; i++)
            group_walk(s, &all, group_roots[i], NULL, 0);
        for (size_t i = 0; i < sizeof sysconfig_services_unit_folders / sizeof *sysconfig_services_unit_folders; i++)
            fact_each(s, sysconfig_services_unit_folders[i], unit_found,
                      &(struct unit_walk){&all, sysconfig_services_unit_folders[i]});
        if (all.count)
            qsort(all.list, all.count, sizeof *all.list, sysconfig_services_by_name);
        for (unsigned i = 0, tag = 0; i < all.count; i++)
            if (!i || strcmp(all.list[i].name, all.list[i - 1].name) != 0)
                service_put(s, &all, &all.list[i], ++tag);
    }
    free(all.list);
    if (all.proc >= 0)
        close(all.proc);
}
