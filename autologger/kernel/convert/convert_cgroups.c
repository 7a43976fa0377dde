/* convert_cgroups.c - the cgroup of each process, and its systemd unit: written at an exec, at a move, and at the
 * latest at the end of the process. Windows has no such events, so they are ours (provider Autologger-Kernel-Cgroups)
 * and describe themselves.
 * Invariant: U1 a process whose start is in the file has a ProcessCgroup event after it: every process has a unit, or
 * "".
 * See convert.h; only if klog_config.units is set. */
#include "autologger/kernel/convert/describe.h"
#include "autologger/kernel/convert/snapshot.h"
#include "autologger/kernel/convert/unit_name.h"

#include <stdlib.h>
#include <string.h>

#define PROVIDER "Autologger-Kernel-Cgroups"
enum { ROOT_CGROUP = 1, PATH_MAX_BYTES = 4096, UNIT_MAX = 256, PAYLOAD_MAX = PATH_MAX_BYTES + UNIT_MAX + 64 };

/* A cgroup whose path the rundown found, but not its number, because no cgroup file system was visible (an early
 * program after the switch of roots). The rest of the key is the pid of the process that it was found by. */
#define UNNUMBERED (UINT64_C(1) << 63)

struct convert_cgroups_place { /* of a process */
    uint64_t cgroup;           /* 0: not known */
    bool     told;
};
struct part_cgroups {
    struct idmap path;    /* id -> text, malloc */
    struct idmap process; /* pid -> struct place, malloc */
};

static struct part_cgroups *convert_cgroups_part(struct convert *c)
{
    if (!c->cgroups)
        c->cgroups = calloc(1, sizeof *c->cgroups);
    return c->cgroups;
}

static void convert_cgroups_values_free(struct idmap *map)
{
    for (size_t i = 0; i < map->capacity; i++)
        free(map->slot[i].value);
    idmap_finish(map);
}

void part_cgroups_finish(struct convert *c)
{
    if (c->cgroups) {
        convert_cgroups_values_free(&c->cgroups->path);
        convert_cgroups_values_free(&c->cgroups->process);
    }
    free(c->cgroups);
    c->cgroups = NULL;
}

static bool convert_cgroups_path_set(struct convert *c, uint64_t id, const char *path)
{
    struct part_cgroups *p    = convert_cgroups_part(c);
    const char          *now  = p ? idmap_get(&p->path, id) : NULL;
    char                *copy = NULL;
    if (!p || (now && strcmp(now, path) == 0))
        return p != NULL;
    if (!(copy = strdup(path)))
        return false;
    free(idmap_remove(&p->path, id));
    if (idmap_put(&p->path, id, copy))
        return true;
    free(copy);
    return false;
}

static struct convert_cgroups_place *place_get(struct convert *c, uint32_t pid, bool make)
{
    struct part_cgroups          *p  = convert_cgroups_part(c);
    struct convert_cgroups_place *at = p ? idmap_get(&p->process, pid) : NULL;
    if (at || !make || !p || !(at = calloc(1, sizeof *at)))
        return at;
    if (idmap_put(&p->process, pid, at))
        return at;
    free(at);
    return NULL;
}

void part_cgroups_put(const struct convert *c, struct sink *s)
{
    const struct part_cgroups *p     = c->cgroups;
    uint64_t                   count = p ? p->path.count : 0;
    snapshot_put(s, &count, sizeof count);
    for (size_t i = 0; p && i < p->path.capacity; i++)
        if (p->path.slot[i].value) {
            snapshot_put(s, &p->path.slot[i].key, sizeof p->path.slot[i].key);
            snapshot_put(s, p->path.slot[i].value, strlen(p->path.slot[i].value) + 1);
        }
    count = p ? p->process.count : 0;
    snapshot_put(s, &count, sizeof count);
    for (size_t i = 0; p && i < p->process.capacity; i++)
        if (p->process.slot[i].value) {
            const struct convert_cgroups_place *at     = p->process.slot[i].value;
            const uint64_t                      row[3] = {p->process.slot[i].key, at->cgroup, at->told};
            snapshot_put(s, row, sizeof row);
        }
}

bool part_cgroups_get(struct convert *c, struct cursor *cur)
{
    bool good = true;
    for (uint64_t n = cur_u64(cur); n > 0 && good; n--) {
        uint64_t    id   = cur_u64(cur);
        const char *path = cur_zstring(cur);
        good             = path && convert_cgroups_path_set(c, id, path);
    }
    for (uint64_t n = cur_u64(cur); n > 0 && good; n--) {
        uint64_t                      pid = cur_u64(cur), cgroup = cur_u64(cur), told = cur_u64(cur);
        struct convert_cgroups_place *at = cur_ok(cur) ? place_get(c, (uint32_t)pid, true) : NULL;
        good                             = at != NULL;
        if (at)
            *at = (struct convert_cgroups_place){cgroup, told != 0};
    }
    return good;
}

/* ---- events ---- */

static void convert_cgroups_tell(struct convert *c, const struct actor *by, const struct kernel_process *p,
                                 struct convert_cgroups_place *at, const char *why, uint64_t *time)
{
    static const struct shape shape = {PROVIDER,
                                       "ProcessCgroup",
                                       {{"ProcessId", SHAPE_UINT32},
                                        {"UniqueProcessKey", SHAPE_HEX64},
                                        {"CgroupId", SHAPE_UINT64},
                                        {"Unit", SHAPE_TEXT},
                                        {"ControlGroup", SHAPE_TEXT},
                                        {"Why", SHAPE_TEXT}}};
    const char   *path = at->cgroup == ROOT_CGROUP ? "/" : c->cgroups ? idmap_get(&c->cgroups->path, at->cgroup) : NULL;
    char          unit[UNIT_MAX];
    uint8_t       bytes[PAYLOAD_MAX];
    struct writer w = wr_make(bytes, sizeof bytes);
    at->told        = true;
    unit_of_cgroup(path ? path : "", unit, sizeof unit);
    wr_u32(&w, p->pid);
    wr_u64(&w, p->key);
    wr_u64(&w, at->cgroup & UNNUMBERED ? 0 : at->cgroup);
    wr_text(&w, unit, sizeof unit);
    wr_text(&w, path ? path : "", PATH_MAX_BYTES);
    wr_text(&w, why, SIZE_MAX);
    describe_at(c, by, &shape, time, &w);
}

void convert_cgroup_made(struct convert *c, const struct sample *s)
{
    uint8_t       bytes[PATH_MAX_BYTES];
    struct writer w = wr_make(bytes, sizeof bytes);
    wr_sample_text(&w, s, F_CGROUP_PATH);
    if (wr_ok(&w) && sample_field(s, F_CGROUP_ROOT) == 0) /* 0: version 2's hierarchy */
        convert_cgroups_path_set(c, (uint64_t)sample_field(s, F_CGROUP_ID), (const char *)bytes);
}

void convert_cgroup_moved(struct convert *c, const struct sample *s)
{
    uint8_t                       bytes[PATH_MAX_BYTES];
    struct writer                 w   = wr_make(bytes, sizeof bytes);
    const uint32_t                pid = (uint32_t)sample_field(s, F_ATTACH_PID);
    const uint64_t                id  = (uint64_t)sample_field(s, F_ATTACH_ID);
    struct kernel_process        *p   = process_get(c, pid);
    struct convert_cgroups_place *at;
    wr_sample_text(&w, s, F_ATTACH_PATH);
    if (sample_field(s, F_ATTACH_ROOT) != 0 || !wr_ok(&w) || !p || p == c->system || !(at = place_get(c, pid, true)))
        return;
    convert_cgroups_path_set(c, id, (const char *)bytes);
    if (at->told && at->cgroup == id)
        return;
    uint64_t time = convert_time(c, s->time);
    at->cgroup    = id;
    convert_cgroups_tell(c, &(struct actor){s->cpu, shown_pid(c, s->pid, s->tid), s->tid}, p, at, "move", &time);
}

/* The exec has finished: the new program's process was written with its COMM record. */
void convert_executed(struct convert *c, const struct sample *s)
{
    struct kernel_process        *p  = c->config->units && c->processes ? process_get(c, s->pid) : NULL;
    struct convert_cgroups_place *at = p && p != c->system ? place_get(c, s->pid, true) : NULL;
    if (!at)
        return;
    uint64_t    time = convert_time(c, s->time);
    const char *path = at->cgroup & UNNUMBERED ? idmap_get(&c->cgroups->path, at->cgroup) : NULL;
    if (path && s->cgroup &&
        !idmap_get(&c->cgroups->path, s->cgroup)) /* the process did not move: this is the number */
        convert_cgroups_path_set(c, s->cgroup, path);
    if (s->cgroup) /* the kernel's value; without it the one from fork and moves stays */
        at->cgroup = s->cgroup;
    convert_cgroups_tell(c, &(struct actor){s->cpu, p->pid, s->tid}, p, at, "exec", &time);
}

void cgroup_inherit(struct convert *c, uint32_t child, uint32_t parent)
{
    const struct convert_cgroups_place *from = c->config->units ? place_get(c, parent, false) : NULL;
    struct convert_cgroups_place       *to   = from ? place_get(c, child, true) : NULL;
    if (to)
        *to = (struct convert_cgroups_place){from->cgroup, false};
}

/* The process executes another program, or ends: events so far are of the old program. */
void cgroup_end(struct convert *c, const struct actor *by, const struct kernel_process *p, bool gone, uint64_t *time)
{
    struct convert_cgroups_place *at = c->config->units && c->processes ? place_get(c, p->pid, true) : NULL;
    if (!at)
        return;
    if (!at->told)
        convert_cgroups_tell(c, by, p, at, "inherited", time);
    at->told = false;
    if (gone)
        free(idmap_remove(&c->cgroups->process, p->pid));
}

void own_cgroup(struct convert *c, const uint8_t *record, size_t size, uint64_t raw)
{
    struct raw_cgroup r;
    struct cursor     cur = cur_make(record, size);
    cur_copy(&cur, &r, sizeof r);
    const char                   *path = cur_zstring(&cur);
    struct kernel_process        *p    = process_get(c, r.own.pid);
    struct convert_cgroups_place *at   = path && p && p != c->system ? place_get(c, r.own.pid, true) : NULL;
    if (!at || at->told)
        return; /* it moved, or executed a program, meanwhile */
    uint64_t time = convert_time(c, raw);
    at->cgroup    = r.id ? r.id : UNNUMBERED | r.own.pid;
    convert_cgroups_path_set(c, at->cgroup, path);
    convert_cgroups_tell(c, &(struct actor){0, p->pid, r.own.tid}, p, at, "rundown", &time);
}
