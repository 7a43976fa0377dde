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

static const uint64_t directory_size = sizeof(struct shm_directory) + sizeof(struct shm_provider) * SHM_PROVIDERS;

static int reopen_readonly(int fd)
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
    d->fd_readonly = reopen_readonly(fd);
    d->shm         = mmap(NULL, directory_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (d->fd_readonly < 0 || d->shm == MAP_FAILED) {
        wstatus st = reason_set(why, wstatus_from_errno(errno), "cannot map the provider directory: %s", strerror(errno));
        if (d->shm == MAP_FAILED)
            d->shm = NULL;
        d->fd = -1; /* stays the caller's */
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

wstatus directory_enable(struct directory *d, unsigned slot, unsigned session, const struct enable_terms *terms,
                         unsigned *entry, struct reason *why)
{
    struct shm_provider *p = &d->shm->provider[slot];
    for (unsigned i = 0; i < SHM_PROVIDER_SESSIONS; i++) {
        struct shm_enable *e = &p->enable[i];
        if (p->mask & 1u << i)
            continue;
        e->level   = terms->level;
        e->session = (uint8_t)session;
        e->flags   = terms->flags;
        e->any     = terms->any;
        e->all     = terms->all;
        e->generation++;
        __atomic_store_n(&e->enabled, 1, __ATOMIC_RELEASE);
        __atomic_store_n(&p->mask, (uint8_t)(p->mask | 1u << i), __ATOMIC_RELEASE);
        *entry = i;
        return W_SUCCESS;
    }
    return reason_set(why, W_NO_SYSTEM_RESOURCES, "the provider is already enabled in %d sessions", SHM_PROVIDER_SESSIONS);
}

void directory_change(struct directory *d, unsigned slot, unsigned entry, const struct enable_terms *terms)
{
    struct shm_enable *e      = &d->shm->provider[slot].enable[entry];
    struct shm_enable  ticket = *e;
    uint64_t           bytes;

    __atomic_store_n(&e->any, terms->any, __ATOMIC_RELEASE);
    __atomic_store_n(&e->all, terms->all, __ATOMIC_RELEASE);
    ticket.level = terms->level;
    ticket.flags = terms->flags;
    ticket.generation++;
    memcpy(&bytes, &ticket, sizeof bytes);
    __atomic_store_n((uint64_t *)(void *)e, bytes, __ATOMIC_SEQ_CST); /* D2: never enabled = 0 in between, no event is missed */
}

void directory_disable(struct directory *d, unsigned slot, unsigned entry)
{
    struct shm_provider *p = &d->shm->provider[slot];
    __atomic_store_n(&p->enable[entry].enabled, 0, __ATOMIC_SEQ_CST);
    p->enable[entry].generation++;
    __atomic_store_n(&p->mask, (uint8_t)(p->mask & ~(1u << entry)), __ATOMIC_SEQ_CST);
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
