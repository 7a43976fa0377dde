/* snapshot.c - the converter's state as bytes. See snapshot.h. */
#include "autologger/kernel/convert/snapshot.h"
#include "registry-sim/base/cursor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SNAPSHOT_MAGIC UINT64_C(0x50414e534b4c41) /* "ALKSNAP" */
enum { SNAPSHOT_VERSION = 8 };

struct sink { /* grows as needed */
    uint8_t *data;
    size_t   used, capacity;
    bool     bad;
};
struct convert_snapshot_head {
    uint64_t        magic, version, pos, read_pos, horizon, frontier, next_key, next_irp;
    uint64_t        loaded, converted, lost, events, stacks, stacks_missing, copied, late;
    uint64_t        softirq_routine[RAW_SOFTIRQS];
    uint32_t        disk_dev[CONVERT_DISKS];
    uint32_t        disk_count, cpus, processes, requests, profile_interval, damaged;
    struct clockmap map;
};

void snapshot_put(struct sink *s, const void *p, size_t n)
{
    if (s->bad)
        return;
    if (s->used + n > s->capacity) {
        size_t   want = (s->used + n) * 2 + 4096;
        uint8_t *q    = realloc(s->data, want);
        if (!q) {
            s->bad = true;
            return;
        }
        s->data     = q;
        s->capacity = want;
    }
    if (n)
        memcpy(s->data + s->used, p, n);
    s->used += n;
}
static void snapshot_put_u32(struct sink *s, uint32_t v) { snapshot_put(s, &v, sizeof v); }
static void snapshot_put_text(struct sink *s, const char *text) { snapshot_put(s, text, strlen(text) + 1); }

struct process_part {
    uint64_t key, rundown_time;
    uint32_t pid, ppid, session, uid, flags, images, threads, images_shown;
    int32_t  exit_status;
    uint32_t pad;
};
struct image_part {
    uint64_t base, size, default_base;
    uint32_t stamp, checksum;
    uint8_t  build_id_size, build_id[20], pad[3];
};
struct thread_part {
    uint64_t affinity;
    uint32_t tid;
    int32_t  prio;
    uint32_t dead, chain;
    char     name[16];
};

static void put_process(struct sink *s, const struct kernel_process *p)
{
    struct process_part part = {.key          = p->key,
                                .rundown_time = p->rundown_time,
                                .pid          = p->pid,
                                .ppid         = p->ppid,
                                .session      = p->session,
                                .uid          = p->uid,
                                .flags        = p->flags,
                                .threads      = p->thread_count,
                                .images_shown = p->images_shown,
                                .exit_status  = p->exit_status};
    for (const struct image *i = p->images; i; i = i->next)
        part.images++;
    snapshot_put(s, &part, sizeof part);
    snapshot_put_text(s, p->name);
    snapshot_put_text(s, p->command);
    for (const struct image *i = p->images; i; i = i->next) {
        struct image_part ip = {i->base, i->size, i->default_base, i->stamp, i->checksum, i->build_id_size, {0}, {0}};
        memcpy(ip.build_id, i->build_id, sizeof ip.build_id);
        snapshot_put(s, &ip, sizeof ip);
        snapshot_put_text(s, i->name->text);
    }
    for (const struct thread *t = p->threads; t; t = t->next) {
        struct thread_part tp = {
            .affinity = t->affinity, .tid = t->tid, .prio = t->prio, .dead = t->dead, .chain = t->chain_count};
        memcpy(tp.name, t->name, sizeof tp.name);
        snapshot_put(s, &tp, sizeof tp);
        snapshot_put(s, t->chain, t->chain_count * sizeof *t->chain);
    }
}

bool convert_settled(const struct convert *c)
{
    for (unsigned i = 0; i <= c->cpus; i++)
        if (c->stream[i].head < c->stream[i].count && c->stream[i].entry[c->stream[i].head].time <= c->horizon)
            return false;
    return !c->damaged;
}

wstatus convert_snapshot_write(const struct convert *c, uint64_t pos, int fd, struct reason *why)
{
    struct sink                   s = {0};
    struct convert_snapshot_head *h = calloc(1, sizeof *h);
    if (!h)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the kernel logger's snapshot");
    *h = (struct convert_snapshot_head){.magic            = SNAPSHOT_MAGIC,
                                        .version          = SNAPSHOT_VERSION,
                                        .pos              = pos,
                                        .read_pos         = c->read_pos,
                                        .horizon          = c->horizon,
                                        .frontier         = c->frontier,
                                        .next_key         = c->next_key,
                                        .next_irp         = c->next_irp,
                                        .loaded           = c->loaded,
                                        .converted        = c->converted,
                                        .lost             = c->lost,
                                        .events           = c->events,
                                        .stacks           = c->stacks,
                                        .stacks_missing   = c->stacks_missing,
                                        .copied           = c->copied,
                                        .late             = c->late,
                                        .disk_count       = c->disk_count,
                                        .cpus             = c->cpus,
                                        .processes        = (uint32_t)c->process.count,
                                        .requests         = (uint32_t)c->request.count,
                                        .profile_interval = c->profile_interval,
                                        .map              = c->map};
    memcpy(h->softirq_routine, c->softirq_routine, sizeof h->softirq_routine);
    memcpy(h->disk_dev, c->disk_dev, sizeof h->disk_dev);
    snapshot_put(&s, h, sizeof *h);
    free(h);
    for (unsigned i = 0; i < c->cpus; i++)
        snapshot_put(&s, &c->queue[i].last, sizeof c->queue[i].last);
    snapshot_put(&s, c->cpu, c->cpus * sizeof *c->cpu);
    put_process(&s, c->idle);
    put_process(&s, c->system);
    for (size_t i = 0; i < c->process.capacity; i++)
        if (c->process.slot[i].value)
            put_process(&s, c->process.slot[i].value);
    for (size_t i = 0; i < c->request.capacity; i++)
        if (c->request.slot[i].value) {
            snapshot_put(&s, &c->request.slot[i].key, 8);
            snapshot_put(&s, c->request.slot[i].value, sizeof(struct disk_request));
        }
#define PART(noun) part_##noun##_put(c, &s);
#include "autologger/kernel/convert/parts.def"
#undef PART
    snapshot_put_u32(&s, UINT32_C(0x444e45)); /* proves that the end is present */
    wstatus status = W_SUCCESS;
    if (s.bad || ftruncate(fd, 0) < 0 || ftruncate(fd, (off_t)s.used) < 0)
        status = reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the kernel logger's snapshot");
    for (size_t at = 0; !status && at < s.used;) {
        ssize_t n = pwrite(fd, s.data + at, s.used - at, (off_t)at);
        if (n <= 0)
            status = reason_set(why, W_NOT_ENOUGH_MEMORY, "the kernel logger's snapshot cannot be written: %s",
                                strerror(errno));
        else
            at += (size_t)n;
    }
    free(s.data);
    return status;
}

static bool get_threads(struct convert *c, struct cursor *cur, struct kernel_process *p, uint32_t count)
{
    for (uint32_t i = 0; i < count && cur_ok(cur); i++) {
        struct thread_part tp;
        cur_copy(cur, &tp, sizeof tp);
        tp.name[sizeof tp.name - 1] = 0;
        const void    *chain = cur_take(cur, tp.chain > STACK_FRAMES * 2 ? SIZE_MAX : tp.chain * sizeof(uint64_t));
        struct thread *t     = chain || !tp.chain ? thread_add(c, p, tp.tid, tp.name) : NULL;
        if (!cur_ok(cur) || !t)
            return false;
        t->affinity = tp.affinity;
        t->prio     = tp.prio;
        t->dead     = tp.dead;
        t->chain    = tp.chain ? malloc(tp.chain * sizeof *t->chain) : NULL;
        if (tp.chain && !t->chain)
            return false;
        if (tp.chain)
            memcpy(t->chain, chain, tp.chain * sizeof *t->chain);
        t->chain_count = t->chain_capacity = (uint16_t)tp.chain;
    }
    return cur_ok(cur);
}

/* image_add and thread_add insert at the front, which reverses the lists: reverse them again. */
static void reverse(struct kernel_process *p)
{
    struct image *turned = NULL;
    for (struct image *i = p->images, *next; i; i = next) {
        next    = i->next;
        i->next = turned;
        turned  = i;
    }
    p->images           = turned;
    struct thread *back = NULL;
    for (struct thread *t = p->threads, *next; t; t = next) {
        next    = t->next;
        t->next = back;
        t->prev = NULL;
        if (back)
            back->prev = t;
        back = t;
    }
    p->threads = back;
}

static bool get_process(struct convert *c, struct cursor *cur, struct kernel_process *into)
{
    struct process_part part;
    cur_copy(cur, &part, sizeof part);
    const char *name = cur_zstring(cur), *command = cur_zstring(cur);
    if (!command || (!into && (part.pid == 0 || part.pid == 4)))
        return false;
    struct kernel_process *p = into ? into : process_add(c, part.pid);
    if (!p)
        return false;
    p->key          = part.key;
    p->rundown_time = part.rundown_time;
    p->ppid         = part.ppid;
    p->session      = part.session;
    p->uid          = part.uid;
    p->flags        = part.flags;
    p->exit_status  = part.exit_status;
    process_text(&p->name, name);
    process_text(&p->command, command);
    for (uint32_t i = 0; i < part.images && cur_ok(cur); i++) {
        struct image_part ip;
        cur_copy(cur, &ip, sizeof ip);
        const char  *path = cur_zstring(cur);
        struct image like = {.base         = ip.base,
                             .size         = ip.size,
                             .default_base = ip.default_base,
                             .stamp        = ip.stamp,
                             .checksum     = ip.checksum};
        identity_set(&like, ip.build_id, ip.build_id_size);
        if (path)
            image_add(p, &like, path, NULL);
    }
    p->images_shown = part.images_shown;
    bool good       = cur_ok(cur) && get_threads(c, cur, p, part.threads);
    reverse(p);
    return good;
}

static bool get_requests(struct convert *c, struct cursor *cur, uint32_t count)
{
    for (uint32_t i = 0; i < count && cur_ok(cur); i++) {
        uint64_t             key = cur_u64(cur);
        struct disk_request *r   = malloc(sizeof *r);
        if (!r)
            return false;
        cur_copy(cur, r, sizeof *r);
        free(idmap_remove(&c->request, key));
        if (!idmap_put(&c->request, key, r)) {
            free(r);
            return false;
        }
    }
    return cur_ok(cur);
}

static bool get_all(struct convert *c, struct cursor *cur, const struct convert_snapshot_head *h)
{
    for (unsigned i = 0; i < c->cpus; i++)
        c->queue[i].last = cur_u64(cur);
    cur_copy(cur, c->cpu, c->cpus * sizeof *c->cpu);
    bool good = get_process(c, cur, c->idle) && get_process(c, cur, c->system);
    for (uint32_t i = 0; i < h->processes && good; i++)
        good = get_process(c, cur, NULL);
    good = good && get_requests(c, cur, h->requests);
#define PART(noun) good = good && part_##noun##_get(c, cur) && cur_ok(cur);
#include "autologger/kernel/convert/parts.def"
#undef PART
    good              = good && cur_u32(cur) == UINT32_C(0x444e45) && cur_ok(cur);
    c->read_pos       = h->pos;
    c->replay_end     = h->read_pos;
    c->replay_horizon = c->horizon = h->horizon;
    c->frontier                    = h->frontier;
    c->next_key                    = h->next_key;
    c->next_irp                    = h->next_irp;
    c->loaded                      = h->loaded;
    c->converted                   = h->converted;
    c->lost                        = h->lost;
    c->events                      = h->events;
    c->stacks                      = h->stacks;
    c->stacks_missing              = h->stacks_missing;
    c->copied                      = h->copied;
    c->late                        = h->late;
    c->disk_count                  = h->disk_count;
    c->map                         = h->map;
    c->profile_interval            = h->profile_interval;
    memcpy(c->softirq_routine, h->softirq_routine, sizeof c->softirq_routine);
    memcpy(c->disk_dev, h->disk_dev, sizeof c->disk_dev);
    return good;
}

wstatus convert_snapshot_read(struct convert *c, int fd, struct reason *why)
{
    struct convert_snapshot_head *h = malloc(sizeof *h);
    struct stat                   st;
    void                         *map    = MAP_FAILED;
    wstatus                       status = W_INVALID_DATA;
    if (h && fstat(fd, &st) == 0 && st.st_size > 0)
        map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map != MAP_FAILED) {
        struct cursor cur = cur_make(map, (size_t)st.st_size);
        cur_copy(&cur, h, sizeof *h);
        uint64_t horizon, live = rawlog_live(c->log, &horizon);
        if (cur_ok(&cur) && h->magic == SNAPSHOT_MAGIC && h->version == SNAPSHOT_VERSION && h->cpus == c->cpus &&
            h->pos >= c->log->header->free_pos && h->pos <= h->read_pos && h->read_pos <= live &&
            h->disk_count <= CONVERT_DISKS && h->map.count < CLOCKMAP_PAIRS && get_all(c, &cur, h))
            status = W_SUCCESS;
        munmap(map, (size_t)st.st_size);
    }
    free(h);
    return status ? reason_set(why, status, "the kernel logger's snapshot is damaged, or of another version")
                  : W_SUCCESS;
}
