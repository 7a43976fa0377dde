#include "autologger/analysis/resources.h"

#include "registry-sim/base/cursor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FILE_LAST = HOOK_FILE_SET_LINK_PATH,
    TCP       = 6,
    UDP       = 8,
    SEND      = 0x0A,
    RECEIVE   = 0x0B,
    SIXTH     = 0x10,
    NAME_ROOM = 4096
};
const char *const resource_words[RESOURCE_TABLES] = {"processes", "files", "disks", "network"};
static const char volume[] = "\\Device\\HarddiskVolume1\\"; /* the kernel logger's prefix of every path */

struct resources_run {
    struct trace     *t;
    struct resources *r;
    struct traced     machine;
    struct fields     fields;
    struct idmap      rows[RESOURCE_TABLES]; /* hash of the name and process -> index + 1 */
    size_t            capacity[RESOURCE_TABLES];
    struct idmap      calls; /* IrpPtr + 1 -> struct resources_call */
    bool              failed;
};
struct resources_call { /* that has not ended */
    size_t   row;
    uint64_t since;
    uint32_t bytes;
    uint16_t hook;
};

static uint64_t resources_hash(const char *name, uint32_t pid)
{
    uint64_t h = UINT64_C(1469598103934665603) ^ pid * UINT64_C(0x9E3779B97F4A7C15); /* FNV-1a */
    for (; *name; name++)
        h = (h ^ (uint8_t)*name) * UINT64_C(1099511628211);
    return h ? h : 1;
}

static struct resource_row *resources_row_at(struct resources_run *r, enum resource_table table, const char *name,
                                             uint32_t pid)
{
    uint64_t  h  = resources_hash(name, pid);
    uintptr_t at = (uintptr_t)idmap_get(&r->rows[table], h);

    if (at)
        return &r->r->table[table].row[at - 1];
    if (r->r->table[table].rows == r->capacity[table]) {
        size_t capacity = r->capacity[table] ? r->capacity[table] * 2 : 64;
        void  *more     = realloc(r->r->table[table].row, capacity * sizeof(struct resource_row));
        if (!more) {
            r->failed = true;
            return NULL;
        }
        r->r->table[table].row = more;
        r->capacity[table]     = capacity;
    }
    char  *copied = strdup(name);
    size_t next   = r->r->table[table].rows;
    if (!copied || !idmap_put(&r->rows[table], h, (void *)(uintptr_t)(next + 1))) {
        free(copied);
        r->failed = true;
        return NULL;
    }
    r->r->table[table].row[next] = (struct resource_row){.name = copied, .pid = pid};
    r->r->table[table].rows++;
    return &r->r->table[table].row[next];
}

static void resources_add(struct use *u, uint64_t bytes, uint64_t time)
{
    u->count++;
    u->bytes += bytes;
    u->time += time;
}

/* "\Device\HarddiskVolume1\usr\bin\x" -> "/usr/bin/x"; other paths as they are. */
static const char *plain_path(const char *path, char out[NAME_ROOM])
{
    size_t n = 0;

    if (strncmp(path, volume, sizeof volume - 1) != 0)
        return path;
    path += sizeof volume - 2;
    for (; *path && n < NAME_ROOM - 1; path++)
        out[n++] = *path == '\\' ? '/' : *path;
    out[n] = 0;
    return out;
}

static struct resource_row *process_row(struct resources_run *r, uint32_t tid)
{
    const struct traced_thread *t   = tid == TRACED_NOBODY ? NULL : traced_thread(&r->machine, tid);
    uint32_t                    pid = t ? t->pid : TRACED_NOBODY;
    return resources_row_at(r, RESOURCE_PROCESSES,
                            pid == TRACED_NOBODY ? "(not told)" : traced_process_name(&r->machine, pid), pid);
}

/* --- files --- */

static void on_call(struct resources_run *r, const struct trace_event *x)
{
    static const char *const wanted[] = {"IrpPtr", "FileObject", "IoSize", "OpenPath", NULL};
    char                     room[NAME_ROOM];
    const uint16_t           hook = x->names.hook;

    if (!fields_read(&r->fields, &x->e, &x->names, wanted))
        return;
    uint64_t    irp  = fields_number(&r->fields, 0);
    const char *path = hook == HOOK_FILE_CREATE ? fields_text(&r->fields, 3)
                                                : traced_file_path(&r->machine, fields_number(&r->fields, 1));
    uint32_t    size = (uint32_t)fields_number(&r->fields, 2);
    if (hook != HOOK_FILE_CREATE && hook != HOOK_FILE_READ && hook != HOOK_FILE_WRITE)
        return;
    r->r->has_files = true;
    struct resource_row *row =
        resources_row_at(r, RESOURCE_FILES, path && *path ? plain_path(path, room) : "(no name)", TRACED_NOBODY);
    struct resources_call *c = row ? calloc(1, sizeof *c) : NULL;
    if (!c) {
        r->failed = true;
        return;
    }
    if (hook == HOOK_FILE_CREATE)
        row->opens++;
    else
        resources_add(hook == HOOK_FILE_READ ? &row->read : &row->written, size, 0);
    *c = (struct resources_call){(size_t)(row - r->r->table[RESOURCE_FILES].row), x->e.filetime, size, hook};
    free(idmap_remove(&r->calls, irp + 1));
    if (!idmap_put(&r->calls, irp + 1, c)) {
        free(c);
        r->failed = true;
    }
}

static void on_call_end(struct resources_run *r, const struct trace_event *x)
{
    struct cursor c   = cur_make(x->e.payload, x->e.payload_size);
    uint64_t      irp = x->e.is_64bit ? cur_u64(&c) : cur_u32(&c), given = x->e.is_64bit ? cur_u64(&c) : cur_u32(&c);
    uint32_t      status        = cur_u32(&c);
    struct resources_call *call = cur_ok(&c) ? idmap_remove(&r->calls, irp + 1) : NULL;
    struct resource_row   *row  = call ? &r->r->table[RESOURCE_FILES].row[call->row] : NULL;

    if (!call)
        return;
    row->failed += status >> 31;
    if (call->hook != HOOK_FILE_CREATE) {
        struct use *u = call->hook == HOOK_FILE_READ ? &row->read : &row->written;
        u->bytes      = u->bytes - call->bytes + (status >> 31 ? 0 : given);
        u->time += x->e.filetime > call->since ? x->e.filetime - call->since : 0;
    }
    free(call);
}

/* --- disks, network --- */

static void resources_on_disk(struct resources_run *r, const struct trace_event *x)
{
    const struct etl_event *e    = &x->e;
    struct cursor           c    = cur_make(e->payload, e->payload_size);
    uint32_t                disk = cur_u32(&c);
    char                    name[32];

    cur_u32(&c);
    uint32_t bytes = cur_u32(&c);
    cur_take(&c, 12u + (e->is_64bit ? 16 : 8));
    uint64_t took = cur_u64(&c);
    if (!cur_ok(&c))
        return;
    uint32_t tid  = cur_u32(&c); /* not there in old versions */
    uint64_t time = (trace_ns(r->t, x->file, e->raw_time) -
                     trace_ns(r->t, x->file, e->raw_time - (int64_t)(took < INT64_MAX / 2 ? took : 0))) /
                    100;
    snprintf(name, sizeof name, "disk %" PRIu32, disk);
    r->r->has_disks              = true;
    struct resource_row *rows[2] = {resources_row_at(r, RESOURCE_DISKS, name, TRACED_NOBODY), NULL};
    rows[1]                      = process_row(r, cur_ok(&c) ? tid : TRACED_NOBODY);
    for (unsigned i = 0; i < 2; i++)
        if (rows[i])
            resources_add(x->names.hook == HOOK_DISK_READ ? &rows[i]->read : &rows[i]->written, bytes, time);
}

/* Send and Recv of TCP and UDP, of IPv4 and IPv6: by process and its two ends. */
static void on_network(struct resources_run *r, const struct trace_event *x)
{
    static const char *const wanted[] = {"PID", "size", "daddr", "saddr", "dport", "sport", NULL};
    char                     name[256];

    if (!fields_read(&r->fields, &x->e, &x->names, wanted))
        return;
    bool received = (x->names.hook & 0x0F) == RECEIVE, sixth = x->names.hook & SIXTH;
    /* the row is that of the process' own end in both directions, also for received data */
    snprintf(name, sizeof name, sixth ? "%s [%s]:%s - [%s]:%s" : "%s %s:%s - %s:%s",
             x->names.hook >> 8 == TCP ? "TCP" : "UDP", fields_text(&r->fields, 3), fields_text(&r->fields, 5),
             fields_text(&r->fields, 2), fields_text(&r->fields, 4));
    r->r->has_network        = true;
    struct resource_row *row = resources_row_at(r, RESOURCE_ENDS, name, (uint32_t)fields_number(&r->fields, 0));
    if (row)
        resources_add(received ? &row->read : &row->written, fields_number(&r->fields, 1), 0);
}

static void resources_see(struct resources_run *r, const struct trace_event *x)
{
    const uint16_t hook = x->names.hook;

    r->r->events++;
    traced_see(&r->machine, &x->e, &x->names);
    if (hook == HOOK_FILE_OPERATION_END)
        on_call_end(r, x);
    else if (hook >= HOOK_FILE_CREATE && hook <= FILE_LAST)
        on_call(r, x);
    else if (hook == HOOK_DISK_READ || hook == HOOK_DISK_WRITE)
        resources_on_disk(r, x);
    else if ((hook >> 8 == TCP || hook >> 8 == UDP) && ((hook & 0xEF) == SEND || (hook & 0xEF) == RECEIVE))
        on_network(r, x);
}

/* --- */

/* Adds the processes' processor time; disk transfers are in their rows already. */
static void add_processes(struct resources_run *r)
{
    traced_end(&r->machine);
    r->r->has_cpu     = r->machine.switches > 0;
    r->r->cpus        = r->machine.cpus;
    r->r->unknown_cpu = r->machine.unknown_cpu;
    r->r->cpu_time    = r->machine.unknown_cpu;
    for (unsigned i = 0; i < r->machine.process_count; i++) {
        const struct traced_process *p = r->machine.process[i];
        r->r->cpu_time += p->cpu;
        if (p->pid == 0) {
            r->r->idle += p->cpu;
            continue;
        }
        struct resource_row *row = p->cpu || p->seen ? resources_row_at(r, RESOURCE_PROCESSES, p->image, p->pid) : NULL;
        if (row) {
            row->cpu += p->cpu;
            row->switches += p->switches;
        }
    }
}

static int by_use(const void *a, const void *b)
{
    const struct resource_row *x = a, *y = b;
    if (x->cpu != y->cpu)
        return x->cpu > y->cpu ? -1 : 1;
    uint64_t m = x->read.bytes + x->written.bytes, n = y->read.bytes + y->written.bytes;
    if (m != n)
        return m > n ? -1 : 1;
    m = x->read.time + x->written.time;
    n = y->read.time + y->written.time;
    if (m != n)
        return m > n ? -1 : 1;
    int d = strcmp(x->name, y->name);
    return d ? d : x->pid < y->pid ? -1 : x->pid > y->pid;
}

static void resources_run_end(struct resources_run *r)
{
    add_processes(r);
    for (int i = 0; i < RESOURCE_TABLES; i++) {
        if (r->r->table[i].rows)
            qsort(r->r->table[i].row, r->r->table[i].rows, sizeof(struct resource_row), by_use);
        idmap_finish(&r->rows[i]);
    }
    for (size_t i = 0; i < r->calls.capacity; i++)
        free(r->calls.slot[i].value);
    idmap_finish(&r->calls);
    r->failed |= r->machine.failed || fields_failed(&r->fields);
    fields_finish(&r->fields);
    traced_finish(&r->machine);
}

wstatus resources_create(struct trace *t, struct resources **out, struct reason *why)
{
    const struct trace_event *x;
    struct resources_run      r = {.t = t, .r = calloc(1, sizeof *r.r)};

    if (!r.r)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for tables");
    r.r->start = trace_start(t);
    while (!r.failed && trace_next(t, &x))
        resources_see(&r, x);
    r.r->end = trace_end(t);
    resources_run_end(&r);
    *out = r.r;
    if (!r.failed)
        return W_SUCCESS;
    resources_destroy(r.r);
    return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for tables");
}

void resources_destroy(struct resources *r)
{
    for (int i = 0; r && i < RESOURCE_TABLES; i++) {
        for (size_t k = 0; k < r->table[i].rows; k++)
            free(r->table[i].row[k].name);
        free(r->table[i].row);
    }
    free(r);
}
