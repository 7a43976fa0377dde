/* convert_map.c - the file mappings of each process: MapFile and UnmapFile events, and the mapping at a page fault's
 * address. From perf's MMAP2 records of all mappings (the source "mappings"), munmap() and /proc/PID/maps at the start.
 * See convert.h. Memory outside the table belongs to no file.
 * Invariants: M1 the mappings of a process are sorted and do not overlap. M2 a table that fork has shared is copied
 * before it changes. M3 an UnmapFile event names a mapping that a MapFile event has named, or a part of one. A mapping
 * of the same file at the same place is the known one: mprotect() is reported like a mapping. */
#include "autologger/kernel/convert/convert.h"
#include "autologger/kernel/convert/snapshot.h"
#include "autologger/kernel/source/filekey.h"
#include "autologger/kernel/source/sources.h"
#include "autologger/wire/etl.h"
#include "registry-sim/base/cursor.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MAPPINGS_MAX = 65536 /* of one process: the kernel's own bound */, PROCESSES_MAX = 1 << 16 };

struct map_table {
    uint32_t       references, count, capacity, pad;
    struct mapping entry[];
};
struct map_process {
    struct map_table *table;
    bool              inherited; /* from fork: no event has named these mappings */
};
struct munmap_call {
    uint64_t address, length;
};
struct part_mappings {
    struct idmap process;
    struct idmap call; /* munmap() under way, by thread */
};

static struct part_mappings *map_part(struct convert *c)
{
    if (!c->mappings)
        c->mappings = calloc(1, sizeof *c->mappings);
    return c->mappings;
}

static void table_release(struct map_table *t)
{
    if (t && --t->references == 0)
        free(t);
}

static void process_free(struct map_process *p)
{
    if (p)
        table_release(p->table);
    free(p);
}

void part_mappings_finish(struct convert *c)
{
    if (!c->mappings)
        return;
    for (size_t i = 0; i < c->mappings->process.capacity; i++)
        process_free(c->mappings->process.slot[i].value);
    for (size_t i = 0; i < c->mappings->call.capacity; i++)
        free(c->mappings->call.slot[i].value);
    idmap_finish(&c->mappings->process);
    idmap_finish(&c->mappings->call);
    free(c->mappings);
    c->mappings = NULL;
}

static struct map_process *process_find(const struct convert *c, uint32_t pid)
{
    return c->mappings ? idmap_get(&c->mappings->process, pid) : NULL;
}

static const struct map_table *table_of(const struct convert *c, uint32_t pid)
{
    const struct map_process *p = process_find(c, pid);
    return p ? p->table : NULL;
}

static struct map_process *process_new(struct convert *c, uint32_t pid)
{
    struct part_mappings *m = map_part(c);
    struct map_process   *p = m && pid && m->process.count < PROCESSES_MAX ? calloc(1, sizeof *p) : NULL;
    if (p && !idmap_put(&m->process, pid, p)) {
        free(p);
        p = NULL;
    }
    return p;
}

/* The process' own table with room for `more`; NULL: no memory, or too many mappings. */
static struct map_table *table_own(struct convert *c, uint32_t pid, uint32_t more)
{
    struct map_process *p = process_find(c, pid);
    if (!p && !(p = process_new(c, pid)))
        return NULL;
    struct map_table *old  = p->table;
    uint32_t          have = old ? old->count : 0, want = have + more;
    if (old && old->references == 1 && !p->inherited && want <= old->capacity)
        return old;
    if (want > MAPPINGS_MAX)
        return NULL;
    uint32_t room         = want + want / 2 + 8;
    struct map_table *new = malloc(sizeof *new + room * sizeof *new->entry);
    if (!new)
        return NULL;
    *new = (struct map_table){.references = 1, .count = have, .capacity = room};
    for (uint32_t i = 0; i < have; i++) {
        new->entry[i] = old->entry[i];
        if (p->inherited)
            new->entry[i].flags &= ~(uint32_t)MAPPING_SHOWN;
    }
    table_release(old);
    p->table     = new;
    p->inherited = false;
    return new;
}

/* The first mapping that ends after the address. */
static uint32_t table_find(const struct map_table *t, uint64_t address)
{
    uint32_t low = 0, high = t->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (t->entry[middle].end > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

const struct mapping *mapping_find(const struct convert *c, uint32_t pid, uint64_t address)
{
    const struct map_table *t = table_of(c, pid);
    uint32_t                i = t ? table_find(t, address) : 0;
    return t && i < t->count && t->entry[i].start <= address ? &t->entry[i] : NULL;
}

static void map_event(struct convert *c, const struct actor *by, const struct mapping *m, uint16_t hook, uint64_t *time)
{
    uint8_t       bytes[48];
    struct writer w = wr_make(bytes, sizeof bytes);
    file_name_tell(c, by->cpu, m->key, time);
    wr_u64(&w, m->start);
    wr_u64(&w, m->key);
    wr_u64(&w, 0); /* MiscInfo: Windows' own */
    wr_u64(&w, m->end - m->start);
    wr_u64(&w, m->offset);
    wr_u32(&w, by->pid);
    emit(c, &(struct event){by->cpu, hook, ETL_PERFINFO64, 3, 0, 0}, time, bytes, w.pos);
}

static void insert_at(struct map_table *t, uint32_t at, const struct mapping *m)
{
    memmove(t->entry + at + 1, t->entry + at, (t->count - at) * sizeof *t->entry);
    t->entry[at] = *m;
    t->count++;
}

static struct mapping convert_map_part_of(const struct mapping *m, uint64_t from, uint64_t to)
{
    struct mapping p = *m;
    p.start          = from > m->start ? from : m->start;
    p.end            = to < m->end ? to : m->end;
    p.offset += p.start - m->start;
    return p;
}

/* Removes [start, end) from the table. Returns the number of UnmapFile events written. */
static unsigned convert_map_cut(struct convert *c, const struct actor *by, uint64_t start, uint64_t end, uint64_t *time)
{
    unsigned events = 0;
    if (end <= start || !mapping_between(c, by->pid, start, end))
        return 0;
    struct map_table *t = table_own(c, by->pid, 1); /* a hole splits a mapping in two */
    if (!t)
        return 0;
    uint32_t i = table_find(t, start);
    while (i < t->count && t->entry[i].start < end) {
        struct mapping whole = t->entry[i], gone = convert_map_part_of(&whole, start, end);
        if (c->vamap && (whole.flags & MAPPING_SHOWN)) {
            map_event(c, by, &gone, HOOK_FILE_UNMAP, time);
            events++;
        }
        struct mapping before = convert_map_part_of(&whole, 0, start),
                       after  = convert_map_part_of(&whole, end, UINT64_MAX);
        bool left             = whole.start<start, right = whole.end> end;
        if (left)
            t->entry[i++] = before;
        if (right && left)
            insert_at(t, i++, &after);
        else if (right)
            t->entry[i++] = after;
        else if (!left) {
            memmove(t->entry + i, t->entry + i + 1, (t->count - i - 1) * sizeof *t->entry);
            t->count--;
        }
    }
    return events;
}

bool mapping_between(const struct convert *c, uint32_t pid, uint64_t start, uint64_t end)
{
    const struct map_table *t = table_of(c, pid);
    uint32_t                i = t ? table_find(t, start) : 0;
    return t && i < t->count && t->entry[i].start < end;
}

/* Is it the same file, with the same offset at each address? */
static bool continues(const struct mapping *known, const struct mapping *m)
{
    return known->key == m->key && known->start - known->offset == m->start - m->offset;
}

static void map_piece(struct convert *c, const struct actor *by, const struct mapping *m, uint16_t hook, uint64_t *time)
{
    convert_map_cut(c, by, m->start, m->end, time);
    struct map_table *t = m->key ? table_own(c, by->pid, 1) : NULL;
    struct mapping new  = *m;
    if (!t)
        return;
    if (c->vamap && !(m->flags & MAPPING_EXEC)) { /* code belongs to an image, which has its own event */
        new.flags |= MAPPING_SHOWN;
        map_event(c, by, &new, hook, time);
    }
    insert_at(t, table_find(t, new.start), &new);
}

/* Adds the parts that are not known yet: after joining two areas, or changing the rights of a part, the kernel reports
 * the whole area. */
static void map_add(struct convert *c, const struct actor *by, const struct mapping *m, uint16_t hook, uint64_t *time)
{
    uint64_t from = m->start;
    while (from < m->end) {
        const struct map_table *t     = table_of(c, by->pid);
        uint32_t                i     = t ? table_find(t, from) : 0;
        uint64_t                until = m->end;
        while (t && i < t->count && !continues(&t->entry[i], m))
            i++;
        if (t && i < t->count && t->entry[i].start < m->end) {
            until               = t->entry[i].start > from ? t->entry[i].start : from;
            uint64_t       next = t->entry[i].end;
            struct mapping p    = convert_map_part_of(m, from, until);
            if (until > from)
                map_piece(c, by, &p, hook, time);
            from = next;
            continue;
        }
        struct mapping p = convert_map_part_of(m, from, until);
        map_piece(c, by, &p, hook, time);
        from = until;
    }
}

/* Shared memory that begins as zeros has a file too: one of the kernel's own. */
static bool is_zeros(const char *name)
{
    static const char *const own[] = {"/dev/zero", "/memfd:", "/SYSV"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strncmp(name, own[i], strlen(own[i])) == 0)
            return true;
    return false;
}

static void convert_map_named(struct convert *c, const struct actor *by, struct mapping *m, const char *name,
                              uint16_t hook, uint64_t raw)
{
    uint64_t time = convert_time(c, raw);
    if (m->end <= m->start)
        return;
    if (name[0] != '/' || name[1] == '/')
        m->key = 0; /* "//anon", "[heap]" */
    m->flags |= is_zeros(name) ? MAPPING_ZEROS : 0;
    if (m->key)
        file_name_keep(c, m->key, name);
    map_add(c, by, m, hook, &time);
}

void convert_mapping(struct convert *c, unsigned cpu, const uint8_t *record, size_t size, uint64_t raw)
{
    struct cursor cur = cur_make(record, size);
    cur_take(&cur, 8);
    uint32_t       pid = cur_u32(&cur), tid = cur_u32(&cur);
    struct mapping m = {.start = cur_u64(&cur)};
    m.end            = m.start + cur_u64(&cur);
    m.offset         = cur_u64(&cur);
    uint32_t major = cur_u32(&cur), minor = cur_u32(&cur);
    m.key = file_key(file_dev(major, minor), cur_u64(&cur));
    cur_u64(&cur); /* the inode's generation */
    uint32_t    prot = cur_u32(&cur), flags = cur_u32(&cur);
    const char *name = cur_zstring(&cur);
    m.flags          = (flags & MAP_SHARED ? MAPPING_SHARED : 0) | (prot & PROT_EXEC ? MAPPING_EXEC : 0);
    if (name && pid && pid != UINT32_MAX && m.end > m.start && m.start >> 63 == 0)
        convert_map_named(c, &(struct actor){cpu, pid, tid}, &m, name, HOOK_FILE_MAP, raw);
}

void own_mapping(struct convert *c, const uint8_t *record, size_t size, uint64_t raw)
{
    struct raw_mapping r;
    struct cursor      cur = cur_make(record, size);
    cur_copy(&cur, &r, sizeof r);
    const char    *name = cur_zstring(&cur);
    struct mapping m    = {r.start,
                           r.end,
                           r.offset,
                           file_key(r.dev, r.inode),
                           (r.flags & RAW_MAPPING_SHARED ? MAPPING_SHARED : 0) |
                               (r.flags & RAW_MAPPING_EXEC ? MAPPING_EXEC : 0),
                           0};
    if (name && r.own.pid && m.end > m.start)
        convert_map_named(c, &(struct actor){0, r.own.pid, r.own.tid}, &m, name, HOOK_FILE_MAP_DC_START, raw);
}

void mappings_fork(struct convert *c, uint32_t child, uint32_t parent)
{
    struct map_process *from = process_find(c, parent);
    if (!from || !from->table || process_find(c, child))
        return;
    struct map_process *to = process_new(c, child);
    if (!to)
        return;
    to->table     = from->table;
    to->inherited = true;
    to->table->references++;
}

static void mappings_show(struct convert *c, const struct actor *by, uint16_t hook, uint64_t *time)
{
    const struct map_process *p = c->vamap ? process_find(c, by->pid) : NULL;
    for (uint32_t i = 0; p && !p->inherited && p->table && i < p->table->count; i++)
        if (p->table->entry[i].flags & MAPPING_SHOWN)
            map_event(c, by, &p->table->entry[i], hook, time);
}
void mappings_end(struct convert *c, const struct actor *by, uint64_t *time)
{
    mappings_show(c, by, HOOK_FILE_UNMAP, time);
}
void mappings_stop(struct convert *c, uint32_t pid, uint64_t *time)
{
    mappings_show(c, &(struct actor){0, pid, pid}, HOOK_FILE_MAP_DC_END, time);
}

void mappings_drop(struct convert *c, uint32_t pid)
{
    if (c->mappings)
        process_free(idmap_remove(&c->mappings->process, pid));
}

/* ---- munmap() ---- */

void convert_munmap_enter(struct convert *c, const struct sample *s)
{
    struct part_mappings *m = map_part(c);
    if (!m)
        return;
    struct munmap_call *call = idmap_get(&m->call, s->tid);
    if (!call && (m->call.count >= PROCESSES_MAX || !(call = malloc(sizeof *call))))
        return;
    *call =
        (struct munmap_call){(uint64_t)sample_field(s, F_MUNMAP_ADDRESS), (uint64_t)sample_field(s, F_MUNMAP_LENGTH)};
    if (!idmap_put(&m->call, s->tid, call))
        free(call);
}

void convert_munmap_exit(struct convert *c, const struct sample *s)
{
    struct munmap_call *call = c->mappings ? idmap_remove(&c->mappings->call, s->tid) : NULL;
    uint32_t            pid  = shown_pid(c, s->pid, s->tid);
    uint64_t time = convert_time(c, s->time), end = call ? (call->address + call->length + 4095) & ~UINT64_C(4095) : 0;
    struct actor by = {s->cpu, pid, s->tid};
    bool gone = call && sample_field(s, F_MUNMAP_RESULT) == 0 && convert_map_cut(c, &by, call->address, end, &time) > 0;
    if (gone && stack_wanted(c, HOOK_FILE_UNMAP))
        emit_stack(c, &by, time, s->chain, s->chain_count);
    free(call);
}

/* ---- for a successor ---- */

void part_mappings_put(const struct convert *c, struct sink *s)
{
    const struct idmap *all   = c->mappings ? &c->mappings->process : NULL,
                       *calls = c->mappings ? &c->mappings->call : NULL;
    uint64_t counts[2]        = {all ? all->count : 0, calls ? calls->count : 0};
    snapshot_put(s, counts, sizeof counts);
    for (size_t i = 0; all && i < all->capacity; i++) {
        const struct map_process *p = all->slot[i].value;
        if (!p)
            continue;
        uint64_t head[3] = {all->slot[i].key, p->table ? p->table->count : 0, p->inherited};
        snapshot_put(s, head, sizeof head);
        if (p->table)
            snapshot_put(s, p->table->entry, p->table->count * sizeof *p->table->entry);
    }
    for (size_t i = 0; calls && i < calls->capacity; i++)
        if (calls->slot[i].value) {
            snapshot_put(s, &calls->slot[i].key, sizeof calls->slot[i].key);
            snapshot_put(s, calls->slot[i].value, sizeof(struct munmap_call));
        }
}

static bool get_table(struct convert *c, struct cursor *cur)
{
    uint64_t pid = cur_u64(cur), count = cur_u64(cur), inherited = cur_u64(cur);
    if (!cur_ok(cur) || count > MAPPINGS_MAX || !pid || pid > UINT32_MAX ||
        cur_left(cur) / sizeof(struct mapping) < count || process_find(c, (uint32_t)pid))
        return false;
    struct map_table *t = table_own(c, (uint32_t)pid, (uint32_t)count);
    if (!t)
        return false;
    for (t->count = 0; t->count < count; t->count++) {
        struct mapping *m = &t->entry[t->count];
        cur_copy(cur, m, sizeof *m);
        if (inherited)
            m->flags &= ~(uint32_t)MAPPING_SHOWN; /* this table is not shared now */
        if (m->end <= m->start || (t->count && m[-1].end > m->start))
            return false;
    }
    return true;
}

bool part_mappings_get(struct convert *c, struct cursor *cur)
{
    uint64_t processes = cur_u64(cur), calls = cur_u64(cur);
    bool     good = true;
    for (uint64_t i = 0; i < processes && good; i++)
        good = get_table(c, cur);
    for (uint64_t i = 0; i < calls && good; i++) {
        uint64_t            tid  = cur_u64(cur);
        struct munmap_call *call = malloc(sizeof *call);
        cur_copy(cur, call ? call : &(struct munmap_call){0}, sizeof *call);
        good = call && cur_ok(cur) && map_part(c) && !idmap_get(&c->mappings->call, tid) &&
               idmap_put(&c->mappings->call, tid, call);
        if (!good)
            free(call);
    }
    return good && cur_ok(cur);
}
