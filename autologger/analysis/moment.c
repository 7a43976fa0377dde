#include "autologger/analysis/moment.h"

#include "registry-sim/base/cursor.h"

#include <stdlib.h>

static void add_io(struct moment *m, const struct moment_io *io)
{
    if (m->ios == m->io_capacity) {
        unsigned capacity = m->io_capacity ? m->io_capacity * 2 : 32;
        void    *more     = realloc(m->io, capacity * sizeof *m->io);
        if (!more) {
            m->machine.failed = true;
            return;
        }
        m->io          = more;
        m->io_capacity = capacity;
    }
    m->io[m->ios++] = *io;
}

/* A transfer that ended later gives its begin. */
static void transfer_ended(struct moment *m, const struct trace_event *x, const struct etl_file_header *h)
{
    const struct etl_event *e  = &x->e;
    struct cursor           c  = cur_make(e->payload, e->payload_size);
    struct moment_io        io = {.disk  = cur_u32(&c),
                                  .ended = true,
                                  .tid   = TRACED_NOBODY,
                                  .kind  = x->names.hook == HOOK_DISK_READ    ? IO_READ
                                           : x->names.hook == HOOK_DISK_WRITE ? IO_WRITE
                                                                              : IO_FLUSH};
    uint64_t                irp, took;

    cur_u32(&c);
    if (io.kind == IO_FLUSH) {
        took = cur_u64(&c);
        irp  = e->is_64bit ? cur_u64(&c) : cur_u32(&c);
    } else {
        io.bytes = cur_u32(&c);
        cur_u32(&c);
        cur_u64(&c);
        cur_take(&c, e->is_64bit ? 8 : 4);
        irp  = e->is_64bit ? cur_u64(&c) : cur_u32(&c);
        took = cur_u64(&c);
    }
    if (!cur_ok(&c))
        return;
    uint32_t tid = cur_u32(&c);
    if (cur_ok(&c))
        io.tid = tid;
    int64_t begun = e->raw_time - (int64_t)took;
    io.since      = etl_filetime(h, begun);
    free(idmap_remove(&m->machine.ios, irp + 1));
    if (io.since <= m->at)
        add_io(m, &io);
}

/* Reads events after the moment: of processes that existed before it, and ends of transfers. */
static void see_later(struct moment *m, const struct trace_event *x, const struct etl_file_header *h,
                      struct idmap *started)
{
    static const char *const wanted[] = {"ProcessId", NULL};
    const uint16_t           hook     = x->names.hook;

    m->events_after++;
    if (hook == HOOK_DISK_READ || hook == HOOK_DISK_WRITE || hook == HOOK_DISK_FLUSH) {
        transfer_ended(m, x, h);
    } else if ((hook >= HOOK_PROCESS_START && hook <= HOOK_PROCESS_DC_END) &&
               fields_read(&m->machine.fields, &x->e, &x->names, wanted)) {
        uint64_t key = fields_number(&m->machine.fields, 0) + 1;
        if (hook == HOOK_PROCESS_START) {
            m->machine.failed |= !idmap_put(started, key, m);
        } else if ((hook == HOOK_PROCESS_DC_END || hook == HOOK_PROCESS_END) && !idmap_get(started, key) &&
                   !traced_process(&m->machine, (uint32_t)(key - 1))) {
            struct trace_event told = *x;
            told.names.hook         = HOOK_PROCESS_DC_END; /* it lived at the moment, even if it ended later */
            traced_see(&m->machine, &told.e, &told.names);
        }
    }
}

wstatus moment_create(struct trace *t, uint64_t at, struct moment *out, struct reason *why)
{
    const struct trace_event *x;
    struct idmap              started = {0};

    *out = (struct moment){.at = at};
    while (!out->machine.failed && trace_next(t, &x)) {
        if (x->e.filetime <= at) {
            traced_see(&out->machine, &x->e, &x->names);
            out->events_before++;
        } else {
            see_later(out, x, trace_header(t, x->file), &started);
        }
    }
    out->machine.now = at;
    for (size_t i = 0; i < out->machine.ios.capacity; i++) {
        const struct traced_io *io = out->machine.ios.slot[i].value;
        if (io)
            add_io(out, &(struct moment_io){.since = io->since, .tid = io->tid, .kind = io->kind});
    }
    idmap_finish(&started);
    if (!out->machine.failed)
        return W_SUCCESS;
    moment_finish(out);
    return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the state of the machine");
}

void moment_finish(struct moment *m)
{
    traced_finish(&m->machine);
    free(m->io);
    m->io  = NULL;
    m->ios = 0;
}
