/* event_write.c - EventWrite and its family, EventEnabled. Compiled without frame pointers: the disabled path of each
 * is a leaf of at most 8 instructions (a test counts them). See process.h P2: no lock, allocation or system call
 * here. */
#include "autologger/provider/event_items.h"
#include "autologger/provider/event_told.h"
#include "autologger/provider/process.h"
#include "autologger/ring/fastpath.h"
#include "autologger/wire/etl.h"

#include <string.h>

_Static_assert(sizeof(EVENT_DATA_DESCRIPTOR) == sizeof(struct ring_piece) &&
                   offsetof(EVENT_DATA_DESCRIPTOR, Size) == offsetof(struct ring_piece, size),
               "data descriptors are handed on as they are");
_Static_assert(sizeof(EVENT_DESCRIPTOR) == 16 && sizeof(GUID) == 16, "copied into the header as they are");

enum { LINE = 64 };

#if defined(__SANITIZE_THREAD__)
#define AL_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define AL_THREAD_SANITIZER
#endif
#endif
#define EVENT_CODE section(".text.al_event") /* together, on few pages */
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

static inline bool is_quiet(REGHANDLE handle)
{
    /* P1 makes a handle a byte offset; + 5 so that handle 0 does not equal the 0 of an unused or wiped word */
    const uint64_t *word = (const void *)((const char *)al_quiet + ((uint32_t)handle & (sizeof al_quiet - 8)));
#ifdef AL_THREAD_SANITIZER
    return __atomic_load_n(word, __ATOMIC_RELAXED) == handle + 5;
#else
    return LIKELY(*word == handle + 5); /* plain: an atomic load costs an instruction more for the same value here */
#endif
}

/* Makes sure that this thread's ids are those of this process: not so in a new thread, nor in a forked child, which
 * starts anew here. */
static inline void check_thread(void)
{
    if (UNLIKELY(al_thread.stamp != __atomic_load_n(&al_near.near.stamp, __ATOMIC_RELAXED))) {
        process_fork_check();
        process_refresh_thread();
    }
}
static inline const struct registration *event_write_place_of(REGHANDLE handle)
{
    const struct registration *r = &al_table[registration_index(handle)];
    __asm__("" : "+r"(r)); /* one address, not computed again from the index for every field */
    return r;
}
static inline bool is_live(const struct registration *r, REGHANDLE handle)
{
    return handle != 0 && __atomic_load_n(&r->handle, __ATOMIC_ACQUIRE) == handle;
}
static inline const struct registration *live(REGHANDLE handle)
{
    const struct registration *r = event_write_place_of(handle);
    check_thread();
    return is_live(r, handle) ? r : NULL;
}
static inline const struct shm_provider *event_write_slot_of(const struct registration *r)
{
    const struct shm_provider *slot = __atomic_load_n(&r->slot, __ATOMIC_ACQUIRE);
    return slot && __atomic_load_n(&slot->generation, __ATOMIC_RELAXED) == r->slot_generation ? slot : NULL;
}

static inline void fill_event(struct section *e, const struct registration *r, PCEVENT_DESCRIPTOR d, LPCGUID activity,
                              uint32_t flags)
{
    e->first = (uint64_t)(sizeof(void *) == 8 ? ETL_EVENT64 : ETL_EVENT32) << 16 | (uint64_t)ETL_MARKER << 24 |
               (uint64_t)flags << 32;
    memcpy(&e->ids, &al_thread.tid, sizeof e->ids); /* thread, process */
    e->provider   = &r->guid;
    e->descriptor = d;
    e->activity   = activity ? (const void *)activity : (const void *)&al_thread.activity;
}

/* For data descriptors that go out as they are. */
static inline void fill_simple(struct section *e, const struct registration *r, PCEVENT_DESCRIPTOR d, ULONG n,
                               const EVENT_DATA_DESCRIPTOR *data)
{
    e->piece = (const struct ring_piece *)(const void *)data;
    e->end   = (const void *)((uintptr_t)data + n * sizeof *data);
    fill_event(e, r, d, NULL, 0);
}

/* Adds the pieces up; false: over 64 KB with the header. */
static inline bool sum_pieces(struct section *e)
{
    uint64_t total = 0;
    for (const struct ring_piece *p = e->piece; p != e->end; p++)
        total += p->size;
    e->total = (uint32_t)total;
    e->first |= (uint16_t)(sizeof(struct etl_event_header) + total);
    return LIKELY(total <= ETL_MAX_EVENT - sizeof(struct etl_event_header));
}

/* Notes an event that a session keeps out, so that the session can say why it is empty. Out of the way of events that
 * are written. AGAIN: an enablement that has just got a filter; the event goes by write_filtered. */
enum { AGAIN = 0x7FFFFFFF };
static __attribute__((noinline, cold)) ULONG event_write_refuse(const struct registration *r,
                                                                const struct shm_enable *enable, uint8_t level,
                                                                uint64_t keyword)
{
    const struct ring_view *view = __atomic_load_n(&al_views[enable->session % SHM_SESSIONS], __ATOMIC_ACQUIRE);
    if (enable->enabled == SHM_ENABLED_FILTERED && enable_passes(enable, level, keyword))
        return AGAIN;
    if (view)
        ring_refuse(view, enable, r->slot_number, level, keyword);
    return ERROR_SUCCESS;
}

/* Nothing was written, and nothing lost. AGAIN: the enablement has just changed; else the session is closed. */
static __attribute__((noinline, cold)) ULONG not_written(const struct ring_view *view, const struct shm_enable *enable,
                                                         uint64_t ticket)
{
    const bool open = __atomic_load_n(&view->control->open, __ATOMIC_ACQUIRE) == 1 &&
                      __atomic_load_n(&enable->enabled, __ATOMIC_ACQUIRE);
    return open && __atomic_load_n((const uint64_t *)(const void *)enable, __ATOMIC_ACQUIRE) != ticket ? AGAIN
                                                                                                       : ERROR_SUCCESS;
}

/* Writes one record for session `index` of the provider, if it wants the event. */
static inline __attribute__((always_inline)) ULONG write_session(struct section *e, const struct registration *r,
                                                                 const struct shm_provider *slot, unsigned index,
                                                                 PCEVENT_DESCRIPTOR d, uint32_t total)
{
    const struct shm_enable *enable = &slot->enable[index];
    uint64_t                 ticket = __atomic_load_n((const uint64_t *)(const void *)enable, __ATOMIC_ACQUIRE);
    const struct ring_view  *view   = __atomic_load_n(&al_views[enable->session % SHM_SESSIONS], __ATOMIC_ACQUIRE);
    bool                     written;
    if (UNLIKELY(!view))
        return ERROR_SUCCESS;
    if (!enable_passes_plainly(enable, d->Level, d->Keyword))
        return event_write_refuse(r, enable, d->Level, d->Keyword);
    const ULONG status = ring_write_event(view, enable, ticket, &al_near.near.rseq, e, total, &written);
    return UNLIKELY(!written && status == ERROR_SUCCESS) ? AGAIN : status; /* closed, or just changed */
}

/* Writes one record for every session of `mask`; one that fails does not stop the others. The first failure is the
 * result. *again gets the sessions whose enablement has just changed. */
static __attribute__((noinline)) ULONG write_sessions(struct section *e, const struct registration *r,
                                                      const struct shm_provider *slot, uint32_t mask,
                                                      PCEVENT_DESCRIPTOR d, uint32_t *again)
{
    ULONG result = ERROR_SUCCESS;
    *again       = 0;
    for (; mask; mask &= mask - 1) {
        ULONG status = write_session(e, r, slot, (unsigned)__builtin_ctz(mask), d, e->total);
        if (UNLIKELY(status == AGAIN))
            *again |= mask & -mask;
        else if (UNLIKELY(status != ERROR_SUCCESS) && result == ERROR_SUCCESS)
            result = status;
    }
    return result;
}

static inline uint32_t sessions_that_want(const struct registration *r, const struct shm_provider *slot, uint8_t level,
                                          uint64_t keyword)
{
    const uint32_t word = slot_word(slot);
    uint32_t       mask = word & 0xFF, want = 0;
    for (; mask; mask &= mask - 1) {
        const unsigned           entry  = (unsigned)__builtin_ctz(mask);
        const struct shm_enable *enable = &slot->enable[entry];
        if (!session_attached(enable) || (UNLIKELY(word >> 8 & 1u << entry) && !registration_in_scope(r, slot, entry)))
            continue;
        if (enable_passes(enable, level, keyword))
            want |= mask & -mask;
        else
            event_write_refuse(r, enable, level, keyword);
    }
    return want;
}

/* An event over 64 KB is lost to each session that wants it. Filters are not asked: its payload is not read. */
static __attribute__((noinline, cold)) ULONG too_long(const struct shm_provider *slot, uint32_t mask)
{
    ULONG result = ERROR_SUCCESS;
    for (; mask; mask &= mask - 1) {
        const struct shm_enable *enable = &slot->enable[__builtin_ctz(mask)];
        const uint64_t           ticket = __atomic_load_n((const uint64_t *)(const void *)enable, __ATOMIC_ACQUIRE);
        const struct ring_view  *view =
            __atomic_load_n(&al_views[(ticket >> 16 & 0xFF) % SHM_SESSIONS], __ATOMIC_ACQUIRE);
        if (view && ticket & 0xFF)
            ring_lost(view, enable, ticket, ERROR_ARITHMETIC_OVERFLOW);
        result = ERROR_ARITHMETIC_OVERFLOW;
    }
    return result;
}

/* ---- sessions with filters ---- */

/* The arguments of a call. */
struct event_write_call {
    PCEVENT_DESCRIPTOR           d;
    LPCGUID                      activity, related;
    ULONG                        n;
    const EVENT_DATA_DESCRIPTOR *data;
    uint32_t                     flags; /* ETL_EVENT_* */
    uint32_t                     how;   /* EVENT_WRITE_FLAG_* */
    uint32_t                     skip;  /* bits, by enablement: leave these out */
};

/* Fills in what filters look at. */
static void event_of(const struct registration *r, const struct event_write_call *c, struct filter_event *out)
{
    const bool typed = __atomic_load_n(&r->use_types, __ATOMIC_ACQUIRE);
    *out             = (struct filter_event){.d = c->d, .data = c->data, .count = c->n, .typed = typed};
    for (ULONG i = 0; typed && i < c->n; i++)
        if (c->data[i].Type == EVENT_DATA_DESCRIPTOR_TYPE_EVENT_METADATA) {
            out->metadata      = (const uint8_t *)(uintptr_t)c->data[i].Ptr;
            out->metadata_size = c->data[i].Size;
            out->name          = filter_event_name(out->metadata, out->metadata_size);
        }
}

/* Writes with the extras that the session asks for. An event that is too long because of these alone is lost to this
 * session. */
static ULONG write_with(const struct registration *r, const struct event_write_call *c, const struct ring_view *view,
                        const struct shm_enable *enable, uint64_t ticket, const struct event_ask *ask, bool *written)
{
    struct section     e;
    struct event_items b;
    *written = false;
    fill_event(&e, r, c->d, c->activity, c->flags);
    ULONG status = event_items_build(&b, &e, r, c->related, c->n, c->data, ask);
    if (status != ERROR_SUCCESS)
        return status;
    return sum_pieces(&e) ? ring_write_event(view, enable, ticket, &al_near.near.rseq, &e, e.total, written)
                          : ring_lost(view, enable, ticket, ERROR_ARITHMETIC_OVERFLOW);
}

enum decision { DECIDED_NO, DECIDED_FILTERED, DECIDED_YES };
/* Decides by the present enablement; the caller compares the ticket afterwards. */
static enum decision decide(const struct registration *r, const struct shm_provider *slot, unsigned entry,
                            uint8_t enabled, const struct event_write_call *c, const struct filter_event *event,
                            struct event_ask *ask)
{
    struct filter_view f;
    if (enabled != SHM_ENABLED_FILTERED)
        return DECIDED_YES;
    if (!registration_in_scope(r, slot, entry))
        return DECIDED_NO;
    if (!registration_filter(slot, entry, &f) ||
        (f.property & PROPERTY_EXCLUDE_INPRIVATE && c->how & EVENT_WRITE_FLAG_INPRIVATE) || !filter_passes(&f, event))
        return DECIDED_FILTERED;
    ask->property = f.property;
    ask->stack    = filter_wants_stack(&f, event);
    return DECIDED_YES;
}

/* Decides and writes for one session; starts over when its enablement changes meanwhile. */
static ULONG write_filtered_session(const struct registration *r, const struct shm_provider *slot, unsigned entry,
                                    const struct event_write_call *c, const struct filter_event *event,
                                    struct event_extras *extras)
{
    enum { TRIES = 16 };
    const struct shm_enable *enable = &slot->enable[entry];
    for (int i = 0; i < TRIES; i++) {
        struct event_ask        ask = {.extras = extras};
        bool                    written;
        const uint64_t          ticket = __atomic_load_n((const uint64_t *)(const void *)enable, __ATOMIC_ACQUIRE);
        const struct ring_view *view =
            __atomic_load_n(&al_views[(ticket >> 16 & 0xFF) % SHM_SESSIONS], __ATOMIC_ACQUIRE);
        if (!view || !(ticket & 0xFF))
            return ERROR_SUCCESS;
        if (!enable_passes(enable, c->d->Level, c->d->Keyword)) {
            ring_refuse(view, enable, r->slot_number, c->d->Level, c->d->Keyword);
            return ERROR_SUCCESS;
        }
        const enum decision decision = decide(r, slot, entry, (uint8_t)ticket, c, event, &ask);
        __atomic_thread_fence(__ATOMIC_ACQUIRE); /* the filter was read before the ticket is compared */
        if (__atomic_load_n((const uint64_t *)(const void *)enable, __ATOMIC_ACQUIRE) != ticket)
            continue; /* F1 */
        if (decision == DECIDED_FILTERED && !ring_filtered(view, enable, ticket, r->slot_number) &&
            not_written(view, enable, ticket) == AGAIN)
            continue;
        if (decision != DECIDED_YES)
            return ERROR_SUCCESS;
        const ULONG status = write_with(r, c, view, enable, ticket, &ask, &written);
        if (written || status != ERROR_SUCCESS || not_written(view, enable, ticket) != AGAIN)
            return status;
    }
    return ERROR_SUCCESS;
}

/* Writes for the sessions of `mask`, each by its own enablement. */
static __attribute__((noinline, cold)) ULONG write_filtered(const struct registration *r,
                                                            const struct shm_provider *slot, uint32_t mask,
                                                            const struct event_write_call *c, const void *frame,
                                                            const void *caller)
{
    struct filter_event event;
    struct event_extras extras;
    ULONG               result = ERROR_SUCCESS;
    extras.frame               = frame;
    extras.caller              = caller;
    extras.has_key = extras.has_stack = extras.has_times = false;
    event_of(r, c, &event);
    for (; mask; mask &= mask - 1) {
        const ULONG status = write_filtered_session(r, slot, (unsigned)__builtin_ctz(mask), c, &event, &extras);
        if (status != ERROR_SUCCESS && result == ERROR_SUCCESS)
            result = status;
    }
    return result;
}

/* As write_general, where a session may have a filter. `frame` and `caller`: of the library's caller. */
static __attribute__((noinline, cold)) ULONG write_call(const struct registration *r, const struct event_write_call *c,
                                                        const void *frame, const void *caller)
{
    const struct shm_provider *slot = event_write_slot_of(r);
    struct section             e;
    struct event_items         b;

    if (!c->d || c->n > MAX_EVENT_DATA_DESCRIPTORS || (c->n != 0 && !c->data))
        return ERROR_INVALID_PARAMETER;
    const uint32_t mask = slot ? sessions_that_want(r, slot, c->d->Level, c->d->Keyword) & ~c->skip : 0;
    if (mask == 0)
        return ERROR_SUCCESS;
    fill_event(&e, r, c->d, c->activity, c->flags); /* an error of the event itself holds for all sessions */
    const ULONG status = event_items_build(&b, &e, r, c->related, c->n, c->data, NULL);
    if (status == ERROR_ARITHMETIC_OVERFLOW || (status == ERROR_SUCCESS && !sum_pieces(&e)))
        return too_long(slot, mask);
    return status ? status : write_filtered(r, slot, mask, c, frame, caller);
}

/* EventWrite and EventWriteTransfer jump here, so that the caller of these functions is the line that writes the event:
 * the first frame of its stack. */
static __attribute__((noinline)) ULONG write_from(REGHANDLE handle, PCEVENT_DESCRIPTOR d, ULONG n,
                                                  PEVENT_DATA_DESCRIPTOR data)
{
    const struct registration    *r = live(handle);
    const struct event_write_call c = {.d = d, .n = n, .data = data};
    return r ? write_call(r, &c, __builtin_frame_address(0), __builtin_return_address(0)) : ERROR_INVALID_HANDLE;
}
static __attribute__((noinline)) ULONG transfer_from(REGHANDLE handle, PCEVENT_DESCRIPTOR d, LPCGUID activity,
                                                     LPCGUID related, ULONG n, PEVENT_DATA_DESCRIPTOR data)
{
    const struct registration    *r = live(handle);
    const struct event_write_call c = {.d = d, .activity = activity, .related = related, .n = n, .data = data};
    return r ? write_call(r, &c, __builtin_frame_address(0), __builtin_return_address(0)) : ERROR_INVALID_HANDLE;
}

/* Everything but the plain EventWrite: items, flags, other ids. */
static __attribute__((noinline)) ULONG write_general(const struct registration *r, PCEVENT_DESCRIPTOR d,
                                                     LPCGUID activity, LPCGUID related, ULONG n,
                                                     const EVENT_DATA_DESCRIPTOR *data, uint32_t flags)
{
    const struct shm_provider *slot = event_write_slot_of(r);
    struct section             e;
    struct event_items         b;
    uint32_t                   again;

    if (UNLIKELY(!d || n > MAX_EVENT_DATA_DESCRIPTORS || (n != 0 && !data)))
        return ERROR_INVALID_PARAMETER;
    uint32_t mask = slot ? sessions_that_want(r, slot, d->Level, d->Keyword) : 0;
    if (mask == 0)
        return ERROR_SUCCESS;
    fill_event(&e, r, d, activity, flags);
    ULONG status = event_items_build(&b, &e, r, related, n, data, NULL);
    if (status == ERROR_ARITHMETIC_OVERFLOW || (status == ERROR_SUCCESS && !sum_pieces(&e)))
        return too_long(slot, mask);
    if (status != ERROR_SUCCESS)
        return status;
    status = write_sessions(&e, r, slot, mask, d, &again);
    if (UNLIKELY(again)) {
        const struct event_write_call c    = {d, activity, related, n, data, flags, 0, 0};
        const ULONG                   more = write_filtered(r, slot, again, &c, NULL, NULL);
        status                             = status ? status : more;
    }
    return status;
}

uint32_t event_told_sessions(REGHANDLE handle, uint8_t level, uint64_t keyword)
{
    const struct registration *r    = live(handle);
    const struct shm_provider *slot = r ? event_write_slot_of(r) : NULL;
    return slot ? sessions_that_want(r, slot, level, keyword) : 0;
}

uint32_t event_told_let_in(REGHANDLE handle, PCEVENT_DESCRIPTOR d, ULONG n, const EVENT_DATA_DESCRIPTOR *data)
{
    const struct registration    *r    = live(handle);
    const struct shm_provider    *slot = r ? event_write_slot_of(r) : NULL;
    const struct event_write_call c    = {.d = d, .n = n, .data = data};
    struct filter_event           event;
    struct event_ask              ask;
    uint32_t                      mask = slot ? sessions_that_want(r, slot, d->Level, d->Keyword) : 0, in = 0;
    if (mask)
        event_of(r, &c, &event);
    for (; mask; mask &= mask - 1) {
        const unsigned entry = (unsigned)__builtin_ctz(mask);
        if (decide(r, slot, entry, __atomic_load_n(&slot->enable[entry].enabled, __ATOMIC_ACQUIRE), &c, &event, &ask) ==
            DECIDED_YES)
            in |= mask & -mask;
    }
    return in;
}

ULONG event_told_write(REGHANDLE handle, PCEVENT_DESCRIPTOR d, ULONG n, const EVENT_DATA_DESCRIPTOR *data,
                       const struct event_told *told, uint32_t *sessions)
{
    const struct registration    *r    = live(handle);
    const struct shm_provider    *slot = r ? event_write_slot_of(r) : NULL;
    const struct event_write_call c    = {.d = d, .n = n, .data = data};
    struct section                e;
    struct event_items            b;
    struct filter_event           event;
    struct event_extras           extras;
    ULONG                         status = ERROR_SUCCESS;

    if (!slot)
        *sessions = 0;
    if (!*sessions)
        return ERROR_SUCCESS;
    extras.frame   = NULL; /* no call stack: the caller reports on behalf of another process */
    extras.has_key = extras.has_stack = extras.has_times = false;
    event_of(r, &c, &event);
    for (uint32_t mask = *sessions; mask && status == ERROR_SUCCESS; mask &= mask - 1) {
        const struct shm_enable *enable  = &slot->enable[__builtin_ctz(mask)];
        uint64_t                 ticket  = __atomic_load_n((const uint64_t *)(const void *)enable, __ATOMIC_ACQUIRE);
        const struct ring_view  *view    = __atomic_load_n(&al_views[enable->session % SHM_SESSIONS], __ATOMIC_ACQUIRE);
        bool                     written = true;
        struct ring_told         at      = {.count_loss = told->count_loss};
        struct event_ask         ask     = {.extras = &extras};
        const enum decision      decision =
            decide(r, slot, (unsigned)__builtin_ctz(mask), (uint8_t)ticket, &c, &event, &ask);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (view && decision == DECIDED_FILTERED)
            ring_filtered(view, enable, ticket, r->slot_number);
        fill_event(&e, r, d, NULL, 0);
        if (decision != DECIDED_YES)
            view = NULL;
        else if ((status = event_items_build(&b, &e, r, NULL, n, data, &ask)) == ERROR_SUCCESS && !sum_pieces(&e))
            status = ERROR_ARITHMETIC_OVERFLOW;
        if (view && !status && (!told->wants || told->wants(told->ctx, enable->session))) {
            at.time = told->time(told->ctx, view->clock_kind);
            status  = ring_write_told(view, enable, ticket, &e, &at, &written);
        }
        if (status == ERROR_SUCCESS)
            *sessions &= ~(mask & -mask);
    }
    return status;
}

void event_told_lost(REGHANDLE handle, uint32_t sessions, uint64_t count)
{
    const struct registration *r    = live(handle);
    const struct shm_provider *slot = r ? event_write_slot_of(r) : NULL;

    for (; slot && sessions; sessions &= sessions - 1) {
        const struct shm_enable *enable = &slot->enable[__builtin_ctz(sessions)];
        uint64_t                 ticket = __atomic_load_n((const uint64_t *)(const void *)enable, __ATOMIC_ACQUIRE);
        const struct ring_view  *view   = __atomic_load_n(&al_views[enable->session % SHM_SESSIONS], __ATOMIC_ACQUIRE);
        for (uint64_t i = 0; view && i < count; i++)
            ring_lost(view, enable, ticket, W_NOT_ENOUGH_MEMORY);
    }
}

/* For several sessions; or one that has just got a filter which the agent has not taken up yet. */
static __attribute__((noinline)) ULONG write_several(struct section *e, const struct registration *r,
                                                     const struct shm_provider *slot, uint32_t word,
                                                     PCEVENT_DESCRIPTOR d, ULONG n, const EVENT_DATA_DESCRIPTOR *data)
{
    uint32_t again;
    ULONG    status = write_sessions(e, r, slot, word & 0xFF & ~(word >> 8), d, &again);
    again |= word >> 8 & word;
    if (UNLIKELY(again)) {
        const struct event_write_call c    = {.d = d, .n = n, .data = data};
        const ULONG                   more = write_filtered(r, slot, again, &c, NULL, NULL);
        status                             = status ? status : more;
    }
    return status;
}

/* Starts over with an event that write_wanted could not write to the one session. Uses only what is in `e`, so that the
 * way of nearly all events keeps nothing for this. */
static __attribute__((noinline, cold)) ULONG write_again(const struct section *e)
{
    const struct registration    *r = (const void *)((const char *)e->provider - offsetof(struct registration, guid));
    const struct shm_provider    *slot = event_write_slot_of(r);
    const struct event_write_call c    = {.d    = e->descriptor,
                                          .data = (const void *)e->piece,
                                          .n    = (ULONG)(((uintptr_t)e->end - (uintptr_t)e->piece) / sizeof *c.data)};
    const uint32_t                mask = slot ? sessions_that_want(r, slot, c.d->Level, c.d->Keyword) : 0;
    return mask ? write_filtered(r, slot, mask, &c, NULL, NULL) : ERROR_SUCCESS;
}

static inline __attribute__((always_inline)) void fetch(uintptr_t address)
{
    __builtin_prefetch((const void *)address);
}

/* A rare event finds nothing in the caches, and each thing it reads is found through another: registration, slot, view,
 * stream. All of them are prefetched at once here. Values that may be stale serve as addresses only, so a wrong one
 * costs time and nothing else. */
static inline __attribute__((always_inline)) void fetch_ahead(const struct registration *r)
{
    const uintptr_t slot    = (uintptr_t)__atomic_load_n(&r->slot, __ATOMIC_RELAXED);
    const uintptr_t view    = (uintptr_t)__atomic_load_n(&r->next_view, __ATOMIC_RELAXED);
    const uintptr_t control = (uintptr_t)__atomic_load_n(&r->next_control, __ATOMIC_RELAXED);
    const uintptr_t stream  = (uintptr_t)__atomic_load_n(&r->next_stream, __ATOMIC_RELAXED);
    const char     *rseq =
        (const char *)__builtin_thread_pointer() + __atomic_load_n(&al_near.near.rseq.offset, __ATOMIC_RELAXED);
    const uintptr_t cpu = __atomic_load_n((const uint32_t *)(const void *)(rseq + 4), __ATOMIC_RELAXED);
    fetch(slot);
    fetch(slot + LINE);
    fetch(view);
    fetch(view + LINE);
    fetch(control); /* whether it is open */
    fetch(stream + cpu * sizeof(struct shm_stream));
}

/* Types, traits, a filter, several sessions, or one that is not the first; or invalid arguments. */
static __attribute__((noinline)) ULONG write_otherwise(REGHANDLE handle, const struct registration *r,
                                                       PCEVENT_DESCRIPTOR d, ULONG n, PEVENT_DATA_DESCRIPTOR data)
{
    if (!__atomic_load_n(&r->plain, __ATOMIC_RELAXED) || !d || n > MAX_EVENT_DATA_DESCRIPTORS || (n != 0 && !data)) {
        if (__atomic_load_n(&r->filtered, __ATOMIC_RELAXED))
            return write_from(handle, d, n, data);
        return write_general(r, d, NULL, NULL, n, data, 0);
    }
    const struct shm_provider *slot = event_write_slot_of(r);
    /* more than one bit: several sessions, or one with a filter */
    const uint32_t mask = slot ? slot_word(slot) : 0;
    if (mask == 0)
        return ERROR_SUCCESS;
    struct section e;
    fill_simple(&e, r, d, n, data);
    if (UNLIKELY(!sum_pieces(&e))) /* too long; fine if no session wants it */
        return too_long(slot, sessions_that_want(r, slot, d->Level, d->Keyword));
    if (mask & (mask - 1))
        return write_several(&e, r, slot, mask, d, n, data);
    const ULONG status = write_session(&e, r, slot, (unsigned)__builtin_ctz(mask), d, e.total);
    return UNLIKELY(status == AGAIN) ? write_again(&e) : status;
}

static __attribute__((noinline, aligned(LINE), EVENT_CODE)) ULONG write_wanted(REGHANDLE handle, PCEVENT_DESCRIPTOR d,
                                                                               ULONG n, PEVENT_DATA_DESCRIPTOR data)
{
    const struct registration *r = event_write_place_of(handle);
    fetch_ahead(r);
    check_thread();
    if (UNLIKELY(!is_live(r, handle)))
        return ERROR_INVALID_HANDLE;
    const struct shm_provider *slot = __atomic_load_n(&r->slot, __ATOMIC_ACQUIRE);
    if (UNLIKELY(!slot || !registration_is_simple(r, slot) || !d || n > MAX_EVENT_DATA_DESCRIPTORS ||
                 (n != 0 && !data)))
        return write_otherwise(handle, r, d, n, data);
    struct section e;
    fill_simple(&e, r, d, n, data);
    const bool     fits  = sum_pieces(&e);
    const uint32_t total = e.total; /* kept out of memory */
    if (UNLIKELY(!fits))
        return too_long(slot, sessions_that_want(r, slot, d->Level, d->Keyword));
    const ULONG status = write_session(&e, r, slot, 0, d, total);
    return UNLIKELY(status == AGAIN) ? write_again(&e) : status;
}
static __attribute__((noinline)) ULONG transfer_wanted(REGHANDLE handle, PCEVENT_DESCRIPTOR d, LPCGUID activity,
                                                       LPCGUID related, ULONG n, PEVENT_DATA_DESCRIPTOR data)
{
    const struct registration *r = event_write_place_of(handle);
    fetch_ahead(r);
    check_thread();
    if (UNLIKELY(!is_live(r, handle)))
        return ERROR_INVALID_HANDLE;
    if (UNLIKELY(__atomic_load_n(&r->filtered, __ATOMIC_RELAXED)))
        return transfer_from(handle, d, activity, related, n, data);
    return write_general(r, d, activity, related, n, data, 0);
}
static __attribute__((noinline)) ULONG string_wanted(REGHANDLE handle, UCHAR level, ULONGLONG keyword, PCWSTR string)
{
    const struct registration *r = live(handle);
    EVENT_DESCRIPTOR           d = {.Level = level, .Keyword = keyword};
    EVENT_DATA_DESCRIPTOR      data;
    size_t                     length = 0;
    if (!r)
        return ERROR_INVALID_HANDLE;
    if (!string)
        return ERROR_INVALID_PARAMETER;
    while (string[length] && length < ETL_MAX_EVENT)
        length++;
    EventDataDescCreate(&data, string, (ULONG)((length + 1) * sizeof *string));
    if (UNLIKELY(__atomic_load_n(&r->filtered, __ATOMIC_RELAXED))) {
        const struct event_write_call c = {.d = &d, .n = 1, .data = &data, .flags = ETL_EVENT_STRING_ONLY};
        return write_call(r, &c, __builtin_frame_address(0), __builtin_return_address(0));
    }
    return write_general(r, &d, NULL, NULL, 1, &data, ETL_EVENT_STRING_ONLY);
}

__attribute__((EVENT_CODE)) ULONG EventWrite(REGHANDLE RegHandle, PCEVENT_DESCRIPTOR EventDescriptor,
                                             ULONG UserDataCount, PEVENT_DATA_DESCRIPTOR UserData)
{
    if (is_quiet(RegHandle))
        return ERROR_SUCCESS;
    return write_wanted(RegHandle, EventDescriptor, UserDataCount, UserData);
}

ULONG EventWriteTransfer(REGHANDLE RegHandle, PCEVENT_DESCRIPTOR EventDescriptor, LPCGUID ActivityId,
                         LPCGUID RelatedActivityId, ULONG UserDataCount, PEVENT_DATA_DESCRIPTOR UserData)
{
    if (is_quiet(RegHandle))
        return ERROR_SUCCESS;
    return transfer_wanted(RegHandle, EventDescriptor, ActivityId, RelatedActivityId, UserDataCount, UserData);
}

/* A private event, which sessions may ask to keep out; or one that some sessions are not to have. */
static __attribute__((noinline)) ULONG ex_wanted(REGHANDLE handle, PCEVENT_DESCRIPTOR d, ULONG64 filter, ULONG flags,
                                                 LPCGUID activity, LPCGUID related, ULONG n,
                                                 PEVENT_DATA_DESCRIPTOR data)
{
    const struct registration    *r = live(handle);
    const struct event_write_call c = {.d        = d,
                                       .activity = activity,
                                       .related  = related,
                                       .n        = n,
                                       .data     = data,
                                       .how      = flags & EVENT_WRITE_FLAG_INPRIVATE,
                                       .skip     = (uint32_t)filter};
    return r ? write_call(r, &c, __builtin_frame_address(0), __builtin_return_address(0)) : ERROR_INVALID_HANDLE;
}

ULONG EventWriteEx(REGHANDLE RegHandle, PCEVENT_DESCRIPTOR EventDescriptor, ULONG64 Filter, ULONG Flags,
                   LPCGUID ActivityId, LPCGUID RelatedActivityId, ULONG UserDataCount, PEVENT_DATA_DESCRIPTOR UserData)
{
    if (Flags & ~(ULONG)(EVENT_WRITE_FLAG_NO_FAULTING | EVENT_WRITE_FLAG_INPRIVATE))
        return ERROR_INVALID_PARAMETER;
    if ((Filter || Flags & EVENT_WRITE_FLAG_INPRIVATE) && !is_quiet(RegHandle))
        return ex_wanted(RegHandle, EventDescriptor, Filter, Flags, ActivityId, RelatedActivityId, UserDataCount,
                         UserData);
    return EventWriteTransfer(RegHandle, EventDescriptor, ActivityId, RelatedActivityId, UserDataCount, UserData);
}

ULONG EventWriteString(REGHANDLE RegHandle, UCHAR Level, ULONGLONG Keyword, PCWSTR String)
{
    if (is_quiet(RegHandle))
        return ERROR_SUCCESS;
    return string_wanted(RegHandle, Level, Keyword, String);
}

static __attribute__((noinline)) BOOLEAN event_write_enabled(REGHANDLE handle, uint8_t level, uint64_t keyword)
{
    const struct registration *r    = live(handle);
    const struct shm_provider *slot = r ? event_write_slot_of(r) : NULL;
    return slot && sessions_that_want(r, slot, level, keyword);
}

static __attribute__((noinline)) BOOLEAN descriptor_enabled(REGHANDLE handle, PCEVENT_DESCRIPTOR d)
{
    return d ? event_write_enabled(handle, d->Level, d->Keyword) : FALSE;
}

BOOLEAN EventEnabled(REGHANDLE RegHandle, PCEVENT_DESCRIPTOR EventDescriptor)
{
    if (is_quiet(RegHandle))
        return FALSE;
    return descriptor_enabled(RegHandle, EventDescriptor);
}

BOOLEAN EventProviderEnabled(REGHANDLE RegHandle, UCHAR Level, ULONGLONG Keyword)
{
    if (is_quiet(RegHandle))
        return FALSE;
    return event_write_enabled(RegHandle, Level, Keyword);
}
