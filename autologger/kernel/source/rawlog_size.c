/* rawlog_size.c - grows and shrinks the ring of raw records while it is in use. See rawlog.h, R4 and R5. A separate
 * file, which the early program does not have. */
#include "autologger/kernel/source/rawlog.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

struct rawlog_size_plan {
    const struct raw_layout *old;
    struct raw_layout        next;
    uint32_t                 most;
    uint64_t                 first, end; /* range of position pieces that hold records */
    uint64_t                 split;      /* the position piece that needs memory of its own; 0: none */
    bool                     used[RAW_PIECES], placed[RAW_PIECES]; /* pieces of the file; pieces of the ring */
};

/* Pieces with records keep their place. The oldest and the newest records may share a piece, with the newest at its
 * beginning: then there is one more position piece than the ring has pieces. */
static void pieces_keep(struct rawlog_size_plan *p)
{
    for (uint64_t k = p->first; k < p->end; k++) {
        const uint16_t piece = p->old->piece[k % p->old->count];
        if (p->used[piece]) {
            p->split = k;
            continue;
        }
        p->used[piece]                   = true;
        p->next.piece[k % p->next.count] = piece;
        p->placed[k % p->next.count]     = true;
    }
}

/* Fills the rest: memory that exists already comes first; in rising order, so that few mappings are needed. */
static void pieces_fill(struct rawlog_size_plan *p)
{
    bool     had[RAW_PIECES] = {false};
    uint32_t at              = 0;
    for (uint32_t i = 0; i < p->old->count; i++)
        had[p->old->piece[i]] = true;
    for (int fresh = 0; fresh < 2; fresh++)
        for (uint32_t i = 0; i < p->most; i++) {
            while (at < p->next.count && p->placed[at])
                at++;
            if (at == p->next.count)
                return;
            if (p->used[i] || had[i] == fresh)
                continue;
            p->used[i] = p->placed[at] = true;
            p->next.piece[at]          = (uint16_t)i;
        }
}

/* R4: one store. */
static void layout_publish(const struct rawlog *log, const struct raw_layout *next)
{
    const uint32_t other        = !log->header->layout;
    log->header->layouts[other] = *next;
    __atomic_store_n(&log->header->layout, other, __ATOMIC_RELEASE);
}

static wstatus plan_run(struct rawlog *log, struct rawlog_size_plan *p, struct reason *why)
{
    const uint64_t piece = log->header->piece_bytes;
    pieces_keep(p);
    pieces_fill(p);
    struct rawlog_view *v = rawlog_view_new(log, &p->next, why);
    if (!v)
        return W_NOT_ENOUGH_MEMORY;
    if (p->split)
        memcpy(v->data + p->split % p->next.count * piece, rawlog_at(log, p->split * piece),
               log->work->write_pos - p->split * piece);
    layout_publish(log, &p->next);
    v->older  = log->view;
    log->data = v->data;
    log->size = v->size;
    __atomic_store_n(&log->view, v, __ATOMIC_RELEASE);
    return W_SUCCESS;
}

wstatus rawlog_resize(struct rawlog *log, uint64_t bytes, struct reason *why)
{
    const uint64_t piece = log->header->piece_bytes, most = log->header->data_most / piece,
                   write        = log->work->write_pos;
    const uint64_t begin        = __atomic_load_n(&log->header->free_pos, __ATOMIC_ACQUIRE),
                   asked        = bytes / piece + (bytes % piece != 0);
    struct rawlog_size_plan *p  = calloc(1, sizeof *p);
    wstatus                  st = W_SUCCESS;
    if (!p)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for another size of the kernel's raw records");
    p->old        = rawlog_layout(log);
    p->most       = (uint32_t)most;
    p->first      = begin / piece;
    p->end        = write / piece + (write % piece != 0);
    p->next.count = (uint32_t)(asked < 1 ? 1 : asked < most ? asked : most);
    if (p->next.count < p->old->count && (p->end - p->first) * 2 > p->next.count)
        st = reason_set(why, W_BUSY, "%llu KB of kernel records are not in the file yet",
                        (unsigned long long)((write - begin) / 1024));
    else if (p->next.count != p->old->count)
        st = plan_run(log, p, why);
    free(p);
    return st;
}

void rawlog_trim(const struct rawlog *log)
{
    const struct raw_layout *layout           = rawlog_layout(log);
    const uint64_t           piece            = log->header->piece_bytes;
    const uint32_t           most             = (uint32_t)(log->header->data_most / piece);
    bool                     used[RAW_PIECES] = {false};
    for (uint32_t i = 0; i < layout->count; i++)
        used[layout->piece[i]] = true;
    for (uint32_t i = 0, n; i < most; i += n) {
        for (n = 1; i + n < most && used[i + n] == used[i]; n++)
            ;
        if (!used[i]) /* on failure the memory stays until the session ends */
            (void)fallocate(log->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                            (off_t)(log->header->header_bytes + i * piece), (off_t)(n * piece));
    }
}
