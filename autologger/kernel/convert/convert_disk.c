/* convert_disk.c - block requests: initiation at insert or issue, completion paired by device and sector. See
 * convert.h. A full device refuses a request, and another thread (mostly a kernel worker) issues it again: it stays the
 * request of the first thread, from the first time on. */
#include "autologger/kernel/convert/convert.h"
#include "autologger/kernel/source/sources.h"
#include "autologger/wire/etl.h"
#include "registry-sim/base/cursor.h"

#include <stdlib.h>
#include <string.h>

enum { IRP_METADATA = 0x2, DISK_OPEN_MAX = 65536 };
enum disk_kind { DISK_READ = 0, DISK_WRITE = 1, DISK_FLUSH = 2, DISK_OTHER };

/* "FF", "R", "WS", "WFS", "RA", "WM", "DS" ... : the operation; the other letters give IRP flags. */
static enum disk_kind rwbs_kind(const struct sample *s, uint32_t *irp_flags)
{
    const struct raw_field *f    = &s->source->field[F_RQ_RWBS];
    enum disk_kind          kind = DISK_OTHER;
    *irp_flags                   = 0x1;
    if (f->offset == RAW_NO_FIELD || (uint32_t)f->offset + f->size > s->raw_size)
        return kind;
    const char *p = (const char *)s->raw + f->offset;
    for (uint16_t i = 0; i < f->size && p[i]; i++)
        switch (p[i]) {
        case 'R':
            *irp_flags |= 0x100;
            kind = DISK_READ;
            break;
        case 'W':
            *irp_flags |= 0x200;
            kind = DISK_WRITE;
            break;
        case 'F': kind = kind == DISK_OTHER ? DISK_FLUSH : kind; break; /* before the operation: flush; after it: FUA */
        case 'D': return DISK_OTHER;                                    /* discard, erase */
        case 'S': *irp_flags |= 0x4; break;
        case 'M': *irp_flags |= IRP_METADATA; break;
        default: break;
        }
    int64_t ioprio = sample_field(s, F_RQ_IOPRIO) >> 13;
    *irp_flags |= (ioprio == 1 ? 4u : ioprio == 3 ? 1u : 3u) << 17;
    return kind;
}

static uint64_t disk_key(uint32_t dev, uint64_t sector, bool flush)
{
    return sector * 2 + flush + ((uint64_t)dev << 44);
}

uint32_t disk_number(struct convert *c, uint32_t dev)
{
    unsigned i = 0;
    while (i < c->disk_count && c->disk_dev[i] != dev)
        i++;
    if (i == c->disk_count && i < sizeof c->disk_dev / sizeof *c->disk_dev)
        c->disk_dev[c->disk_count++] = dev;
    return i;
}

static struct disk_request *request_new(struct convert *c)
{
    struct disk_request *r = c->free_requests;
    if (r)
        c->free_requests = r->next_free;
    else if (c->request.count < DISK_OPEN_MAX)
        r = malloc(sizeof *r);
    return r;
}

static void request_free(struct convert *c, struct disk_request *r)
{
    r->next_free     = c->free_requests;
    c->free_requests = r;
}

uint64_t disk_irp(struct convert *c) { return UINT64_C(0xffff800000000000) + (c->next_irp++ << 8); }

/* Is this a later step of an open request? If not, the completion of that request was lost, and the new one takes its
 * place. */
static bool goes_on(struct disk_request *r, bool issue, uint32_t sectors)
{
    if (!r->requeued && (!issue || r->issued))
        return false;
    if (!issue)
        return true; /* back in a queue */
    r->requeued = false;
    r->issued   = true;
    if (!r->done) /* it may have grown since it was inserted */
        r->sectors = sectors;
    return true;
}

static void convert_request(struct convert *c, const struct sample *s, bool issue)
{
    uint32_t irp_flags, dev = (uint32_t)sample_field(s, F_RQ_DEV), sectors = (uint32_t)sample_field(s, F_RQ_NR_SECTOR);
    uint64_t sector = (uint64_t)sample_field(s, F_RQ_SECTOR), time = convert_time(c, s->time);
    enum disk_kind kind = rwbs_kind(s, &irp_flags);
    if (kind == DISK_OTHER)
        return;
    uint64_t             key = disk_key(dev, sector, kind == DISK_FLUSH);
    struct disk_request *r   = idmap_get(&c->request, key);
    if (r && goes_on(r, issue, sectors))
        return;
    bool fresh = !r;
    if (fresh && !(r = request_new(c)))
        return;
    if (fresh && !idmap_put(&c->request, key, r)) {
        request_free(c, r);
        return;
    }
    uint64_t irp = split_take(c, s->tid, dev, sector);
    *r           = (struct disk_request){.time         = time,
                                         .irp          = irp ? irp : disk_irp(c),
                                         .start_sector = sector,
                                         .dev          = dev,
                                         .tid          = s->tid,
                                         .sectors      = sectors,
                                         .flags        = irp_flags,
                                         .issued       = issue,
                                         .flush        = kind == DISK_FLUSH};
    /* The block layer does not know the file. But data (not the file system's own metadata) that a thread reads or
     * writes within its own call on a file belong to that file. */
    r->file = irp_flags & IRP_METADATA ? 0 : file_in_call(c, s->tid);
    if (!c->disk_init)
        return;
    uint16_t hook = kind == DISK_FLUSH  ? HOOK_DISK_FLUSH_INIT
                    : kind == DISK_READ ? HOOK_DISK_READ_INIT
                                        : HOOK_DISK_WRITE_INIT;
    uint32_t pid  = shown_pid(c, s->pid, s->tid);
    uint8_t *p    = emit_reserve(c, &(struct event){s->cpu, hook, ETL_SYSTEM64, 3, pid, s->tid}, &time, 12);
    if (p) {
        memcpy(p, &r->irp, 8);
        memcpy(p + 8, &s->tid, 4);
    }
    r->time = time;
    if (stack_wanted(c, hook))
        emit_stack(c, &(struct actor){s->cpu, pid, s->tid}, time, s->chain, s->chain_count);
}

void convert_inserted(struct convert *c, const struct sample *s) { convert_request(c, s, false); }
void convert_issued(struct convert *c, const struct sample *s) { convert_request(c, s, true); }

void convert_requeued(struct convert *c, const struct sample *s)
{
    uint32_t             irp_flags, dev = (uint32_t)sample_field(s, F_RQ_DEV);
    enum disk_kind       kind = rwbs_kind(s, &irp_flags);
    struct disk_request *r =
        idmap_get(&c->request, disk_key(dev, (uint64_t)sample_field(s, F_RQ_SECTOR), kind == DISK_FLUSH));
    if (r && kind != DISK_OTHER)
        r->requeued = true;
}

static void completion_event(struct convert *c, unsigned cpu, const struct disk_request *r, enum disk_kind kind,
                             uint64_t time)
{
    uint8_t       bytes[52];
    struct writer w = wr_make(bytes, sizeof bytes);
    if (time <= c->queue[cpu].last)
        time = c->queue[cpu].last + 1; /* the response time ends at the written time */
    uint64_t response = time > r->time ? time - r->time : 0;
    wr_u32(&w, disk_number(c, r->dev));
    wr_u32(&w, r->flags);
    if (kind != DISK_FLUSH) {
        wr_u32(&w, r->sectors * 512);
        wr_u32(&w, 0);
        wr_u64(&w, r->start_sector * 512);
        wr_u64(&w, r->file);
        wr_u64(&w, r->irp);
        wr_u64(&w, response);
    } else {
        wr_u64(&w, response);
        wr_u64(&w, r->irp);
    }
    wr_u32(&w, r->tid);
    uint16_t hook = kind == DISK_FLUSH ? HOOK_DISK_FLUSH : kind == DISK_READ ? HOOK_DISK_READ : HOOK_DISK_WRITE;
    emit(c, &(struct event){cpu, hook, ETL_PERFINFO64, 3, 0, 0}, &time, bytes, w.pos);
}

void convert_complete(struct convert *c, const struct sample *s)
{
    uint32_t irp_flags, dev = (uint32_t)sample_field(s, F_RQ_DEV), sectors = (uint32_t)sample_field(s, F_RQ_NR_SECTOR);
    uint64_t sector = (uint64_t)sample_field(s, F_RQ_SECTOR), time = convert_time(c, s->time);
    enum disk_kind kind = rwbs_kind(s, &irp_flags);
    if (kind == DISK_OTHER)
        return;
    struct disk_request *r = idmap_remove(&c->request, disk_key(dev, sector, kind == DISK_FLUSH));
    if (!r)
        return; /* it was issued before the trace began */
    r->done += sectors;
    if (kind != DISK_FLUSH &&
        r->done < r->sectors) { /* a partial completion: the next one continues where this one ended */
        struct disk_request *other = idmap_remove(&c->request, disk_key(dev, sector + sectors, false));
        if (other)
            request_free(c, other);
        if (!idmap_put(&c->request, disk_key(dev, sector + sectors, false), r))
            request_free(c, r);
        return;
    }
    if (kind != DISK_FLUSH && r->done > r->sectors)
        r->sectors = r->done;
    if (c->disk)
        completion_event(c, s->cpu, r, kind, time);
    request_free(c, r);
}
