#include "autologger/session/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILTERS_AT = sizeof(struct shm_directory) + sizeof(struct shm_provider) * SHM_PROVIDERS };
static const uint64_t directory_size = FILTERS_AT + SHM_FILTER_BYTES;

static int directory_reopen_readonly(int fd)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static wstatus directory_map(int fd, struct directory **out, struct reason *why)
{
    struct directory *d = calloc(1, sizeof *d);
    if (!d)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the provider directory");
    d->fd          = fd;
    d->fd_readonly = directory_reopen_readonly(fd);
    d->shm         = mmap(NULL, directory_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (d->fd_readonly < 0 || d->shm == MAP_FAILED) {
        wstatus st =
            reason_set(why, wstatus_from_errno(errno), "cannot map the provider directory: %s", strerror(errno));
        if (d->shm == MAP_FAILED)
            d->shm = NULL;
        d->fd = -1; /* the caller keeps it */
        directory_destroy(d);
        return st;
    }
    *out = d;
    return W_SUCCESS;
}

wstatus directory_create(struct os *os, struct directory **out, struct reason *why)
{
    int fd = os->shm_create(os, "autologger-directory", directory_size, 0);
    if (fd < 0)
        return reason_set(why, wstatus_from_errno(-fd), "cannot create the provider directory: %s", strerror(-fd));
    /* no F_SEAL_FUTURE_WRITE: it would forbid a successor's mapping too */
    if (fchmod(fd, 0600) < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
        close(fd);
        return reason_set(why, W_INVALID_OPERATION, "cannot seal the provider directory: %s", strerror(errno));
    }
    wstatus st = directory_map(fd, out, why);
    if (st) {
        close(fd);
        return st;
    }
    struct shm_directory *shm = (*out)->shm;
    shm->header = (struct shm_header){SHM_MAGIC_DIRECTORY, SHM_MAJOR, SHM_MINOR, sizeof *shm, 0, directory_size};
    shm->provider_count  = SHM_PROVIDERS;
    shm->provider_offset = offsetof(struct shm_directory, provider);
    shm->filter_offset   = FILTERS_AT;
    shm->filter_bytes    = SHM_FILTER_BYTES;
    return W_SUCCESS;
}

wstatus directory_adopt(int fd, struct directory **out, struct reason *why)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || (uint64_t)st.st_size != directory_size)
        return reason_set(why, W_INVALID_DATA, "the provider directory handed over has the wrong size");
    wstatus status = directory_map(fd, out, why);
    if (status)
        return status;
    (*out)->counting           = true;
    const struct shm_header *h = &(*out)->shm->header;
    if (h->magic != SHM_MAGIC_DIRECTORY || h->major != SHM_MAJOR) {
        (*out)->fd = -1;
        directory_destroy(*out);
        *out = NULL;
        return reason_set(why, W_INVALID_DATA, "the provider directory handed over has version %u.%u, not %u", h->major,
                          h->minor, SHM_MAJOR);
    }
    for ((*out)->used = SHM_PROVIDERS; (*out)->used && !(*out)->shm->provider[(*out)->used - 1].generation;)
        (*out)->used--;
    return W_SUCCESS;
}

void directory_destroy(struct directory *d)
{
    if (!d)
        return;
    if (d->shm)
        munmap(d->shm, directory_size);
    if (d->fd >= 0)
        close(d->fd);
    if (d->fd_readonly >= 0)
        close(d->fd_readonly);
    for (unsigned i = 0; i < SHM_PROVIDERS; i++)
        free(d->name[i]);
    free(d);
}

static bool in_use(const struct shm_provider *p) { return p->generation & 1; }

int directory_find(const struct directory *d, const struct guid *guid)
{
    for (int i = 0; i < d->used; i++)
        if (in_use(&d->shm->provider[i]) && guid_equal(&d->shm->provider[i].guid, guid))
            return i;
    return -1;
}

int directory_get(struct directory *d, const struct guid *guid)
{
    int found = directory_find(d, guid);
    for (int i = 0; i < SHM_PROVIDERS && found < 0; i++) {
        struct shm_provider *p = &d->shm->provider[i];
        if (in_use(p))
            continue;
        p->guid = *guid;
        p->mask = 0;
        atomic_thread_fence(memory_order_release);
        p->generation++;
        found   = i;
        d->used = i < d->used ? d->used : i + 1;
    }
    return found;
}

static void release_if_unused(struct directory *d, unsigned slot)
{
    struct shm_provider *p = &d->shm->provider[slot];
    if (!d->counting && in_use(p) && p->mask == 0 && d->registrations[slot] == 0) {
        p->generation++;
        free(d->name[slot]);
        d->name[slot] = NULL;
    }
}

/* ---- filters ---- */

uint8_t directory_flags(uint32_t property)
{
    return (uint8_t)((property & PROPERTY_IGNORE_KEYWORD_0 ? SHM_ENABLE_IGNORE_KEYWORD_0 : 0) |
                     (property & PROPERTY_ENABLE_KEYWORD_0 ? SHM_ENABLE_KEYWORD_0 : 0) |
                     (property & PROPERTY_ENABLE_SILOS ? SHM_ENABLE_SILOS : 0));
}

static struct filter_block *filter_at(const struct directory *d, uint32_t offset)
{
    return (void *)((uint8_t *)d->shm + FILTERS_AT + offset);
}

const struct filter_block *directory_filter(const struct directory *d, unsigned slot, unsigned entry)
{
    const uint32_t at = d->shm->provider[slot].filter[entry];
    return at && at < SHM_FILTER_BYTES ? filter_at(d, at) : NULL;
}

/* The first place that overlaps no filter in use; filters are few. */
static uint32_t filter_place(const struct directory *d, uint32_t size)
{
    uint32_t at = SHM_FILTER_ALIGN; /* 0 means no filter */
    for (int i = 0; i < d->used; i++)
        for (unsigned k = 0; k < SHM_PROVIDER_SESSIONS; k++) {
            const struct filter_block *b    = directory_filter(d, (unsigned)i, k);
            const uint32_t             from = d->shm->provider[i].filter[k];
            if (!b || at + size <= from || from + b->size <= at)
                continue;
            at = (from + b->size + SHM_FILTER_ALIGN - 1) & ~(uint32_t)(SHM_FILTER_ALIGN - 1);
            i  = -1; /* from the front again */
            break;
        }
    return at <= SHM_FILTER_BYTES - size ? at : 0;
}

/* The place may have been another enablement's until a moment ago. A program that still reads the old filter must see a
 * changed ticket by the time it sees a word of this block. Readers copy, fence and compare (event_write.c,
 * registration.c). */
static void filter_copy(struct directory *d, uint32_t offset, const struct filter_block *block)
{
    uint64_t      *to   = (uint64_t *)(void *)filter_at(d, offset);
    const uint8_t *from = (const uint8_t *)block;
    __atomic_thread_fence(__ATOMIC_RELEASE);
    for (uint32_t at = 0; at < block->size; at += (uint32_t)sizeof *to) {
        const uint32_t left = block->size - at;
        uint64_t       word = 0;
        memcpy(&word, from + at, left < sizeof word ? left : sizeof word);
        __atomic_store_n(to++, word, __ATOMIC_RELAXED);
    }
}

/* *offset: 0 when no filter is needed. */
static wstatus filter_put(struct directory *d, const struct enable_terms *terms, uint32_t *offset, struct reason *why)
{
    *offset = 0;
    if (!filter_needed(terms->filter))
        return W_SUCCESS;
    if (!(*offset = filter_place(d, terms->filter->size)))
        return reason_set(why, W_NO_SYSTEM_RESOURCES, "the filters of all sessions need more than %d KB",
                          SHM_FILTER_BYTES / 1024);
    filter_copy(d, *offset, terms->filter);
    return W_SUCCESS;
}

/* Sets the filter bit of an entry before its ticket says "filtered", and clears it after the ticket no longer does. */
static void filter_bit(struct shm_provider *p, unsigned entry, bool on)
{
    const uint8_t bit = (uint8_t)(1u << entry);
    __atomic_store_n(&p->filtered, (uint8_t)(on ? p->filtered | bit : p->filtered & ~bit), __ATOMIC_SEQ_CST);
}

wstatus directory_enable(struct directory *d, unsigned slot, unsigned session, const struct enable_terms *terms,
                         unsigned *entry, struct reason *why)
{
    struct shm_provider *p = &d->shm->provider[slot];
    uint32_t             offset;
    for (unsigned i = 0; i < SHM_PROVIDER_SESSIONS; i++) {
        struct shm_enable *e = &p->enable[i];
        if (p->mask & 1u << i)
            continue;
        wstatus st = filter_put(d, terms, &offset, why);
        if (st)
            return st;
        e->level   = terms->level;
        e->session = (uint8_t)session;
        e->flags   = terms->flags;
        e->any     = terms->any;
        e->all     = terms->all;
        e->generation++;
        __atomic_store_n(&p->filter[i], offset, __ATOMIC_RELEASE);
        filter_bit(p, i, offset != 0);
        __atomic_store_n(&e->enabled, offset ? SHM_ENABLED_FILTERED : SHM_ENABLED_PLAINLY, __ATOMIC_RELEASE);
        __atomic_store_n(&p->mask, (uint8_t)(p->mask | 1u << i), __ATOMIC_RELEASE);
        *entry = i;
        return W_SUCCESS;
    }
    return reason_set(why, W_NO_SYSTEM_RESOURCES, "the provider is already enabled in %d sessions",
                      SHM_PROVIDER_SESSIONS);
}

wstatus directory_change(struct directory *d, unsigned slot, unsigned entry, const struct enable_terms *terms,
                         struct reason *why)
{
    struct shm_provider *p      = &d->shm->provider[slot];
    struct shm_enable   *e      = &p->enable[entry];
    struct shm_enable    ticket = *e;
    uint64_t             bytes;
    uint32_t             offset;
    /* beside the old one, which programs use until the ticket changes */
    wstatus st = filter_put(d, terms, &offset, why);

    if (st)
        return st;
    if (offset) {
        __atomic_store_n(&p->filter[entry], offset, __ATOMIC_RELEASE);
        filter_bit(p, entry, true);
    }
    __atomic_store_n(&e->any, terms->any, __ATOMIC_RELEASE);
    __atomic_store_n(&e->all, terms->all, __ATOMIC_RELEASE);
    ticket.enabled = offset ? SHM_ENABLED_FILTERED : SHM_ENABLED_PLAINLY;
    ticket.level   = terms->level;
    ticket.flags   = terms->flags;
    ticket.generation++;
    memcpy(&bytes, &ticket, sizeof bytes);
    /* D2: never enabled = 0 in between, no event is missed */
    __atomic_store_n((uint64_t *)(void *)e, bytes, __ATOMIC_SEQ_CST);
    if (!offset) {
        filter_bit(p, entry, false);
        p->filter[entry] = 0;
    }
    return W_SUCCESS;
}

uint32_t directory_property(const struct directory *d, unsigned slot, unsigned entry)
{
    const uint8_t              flags = d->shm->provider[slot].enable[entry].flags;
    const struct filter_block *b     = directory_filter(d, slot, entry);
    return (b ? b->property : 0) | (flags & SHM_ENABLE_IGNORE_KEYWORD_0 ? PROPERTY_IGNORE_KEYWORD_0 : 0) |
           (flags & SHM_ENABLE_KEYWORD_0 ? PROPERTY_ENABLE_KEYWORD_0 : 0) |
           (flags & SHM_ENABLE_SILOS ? PROPERTY_ENABLE_SILOS : 0);
}

void directory_disable(struct directory *d, unsigned slot, unsigned entry)
{
    struct shm_provider *p = &d->shm->provider[slot];
    __atomic_store_n(&p->enable[entry].enabled, 0, __ATOMIC_SEQ_CST);
    p->enable[entry].generation++;
    __atomic_store_n(&p->mask, (uint8_t)(p->mask & ~(1u << entry)), __ATOMIC_SEQ_CST);
    filter_bit(p, entry, false);
    p->filter[entry] = 0; /* a program that still reads it sees a changed ticket */
    release_if_unused(d, slot);
}

void directory_counted(struct directory *d)
{
    d->counting = false;
    for (int i = 0; i < d->used; i++)
        release_if_unused(d, (unsigned)i);
}

void directory_register(struct directory *d, unsigned slot, int change)
{
    d->registrations[slot] = (uint16_t)(d->registrations[slot] + change);
    release_if_unused(d, slot);
}
