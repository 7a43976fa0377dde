/* registration.c - EventRegister, EventUnregister, EventSetInformation, and their registrations. See process.h. */
#include "autologger/include/TraceLoggingProvider.h"
#include "autologger/provider/classic.h"
#include "autologger/provider/process.h"
#include "registry-sim/win32/visible.h"

#include <stdlib.h>
#include <string.h>

static uint32_t last_generation; /* lock held; kept by fork */
static unsigned next_index = 1, provider_registration_count;

/* The registration of a valid handle, or NULL. */
static struct registration *registration_find(REGHANDLE handle)
{
    struct registration *r = &al_table[registration_index(handle)];
    return handle != 0 && __atomic_load_n(&r->handle, __ATOMIC_ACQUIRE) == handle ? r : NULL;
}

bool registration_filter(const struct shm_provider *slot, unsigned entry, struct filter_view *out)
{
    size_t      room = 0;
    const void *at   = attach_filter(__atomic_load_n(&slot->filter[entry], __ATOMIC_ACQUIRE), &room);
    return filter_view(at, room, out);
}

bool registration_in_scope(const struct registration *r, const struct shm_provider *slot, unsigned entry)
{
    enum { MEANT = 1, NOT_MEANT = 2, TRIES = 8 };
    uint64_t          *cache = &al_table[r - al_table].scope[entry];
    const uint32_t    *now   = &slot->enable[entry].generation;
    struct filter_view f;
    for (int i = 0; i < TRIES; i++) {
        const uint64_t generation = __atomic_load_n(now, __ATOMIC_ACQUIRE),
                       known      = __atomic_load_n(cache, __ATOMIC_RELAXED);
        if (known && known >> 8 == generation)
            return (known & 0xFF) == MEANT;
        const bool meant = registration_filter(slot, entry, &f) && filter_in_scope(&f, &al_identity);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        /* F1: else another filter may have been read */
        if (__atomic_load_n(now, __ATOMIC_ACQUIRE) == generation) {
            __atomic_store_n(cache, generation << 8 | (meant ? MEANT : NOT_MEANT), __ATOMIC_RELAXED);
            return meant;
        }
    }
    return false;
}

void registration_set_plain(struct registration *r)
{
    __atomic_store_n(&r->plain, !r->use_types && !r->traits && !r->filtered, __ATOMIC_RELEASE);
}

uint32_t registration_enabled(const struct registration *r, const struct shm_provider *slot, bool *filtered)
{
    const uint32_t word = slot ? slot_word(slot) : 0;
    uint32_t       here = word & 0xFF;
    *filtered           = false;
    for (unsigned i = 0; i < SHM_PROVIDER_SESSIONS; i++)
        if (here & 1u << i && !session_attached(&slot->enable[i])) {
            here &= ~(1u << i);
        } else if (word >> 8 & here & 1u << i) {
            if (registration_in_scope(r, slot, i))
                *filtered = true;
            else
                here &= ~(1u << i);
        }
    return here;
}

struct provider_terms registration_terms(const struct shm_provider *slot, uint32_t entries)
{
    struct provider_terms t = {.all = UINT64_MAX};
    for (unsigned i = 0; slot && i < SHM_PROVIDER_SESSIONS; i++) {
        const struct shm_enable *e = &slot->enable[i];
        if (!e->enabled || !(entries & 1u << i))
            continue;
        const uint8_t level = e->level ? e->level : UINT8_MAX;
        t.level             = level > t.level ? level : t.level;
        t.any |= e->any ? e->any : UINT64_MAX;
        t.all &= e->any ? e->all : 0;
    }
    t.all = t.level ? t.all : 0;
    return t;
}

/* The inline check of a TraceLogging provider passes every event that at least one session might want. */
static void recompute_inline(struct _tlgProvider_t *tlg, const struct shm_provider *slot, uint32_t here)
{
    const struct provider_terms t = registration_terms(slot, here);
    __atomic_store_n(&tlg->KeywordAny, t.any, __ATOMIC_RELAXED);
    __atomic_store_n(&tlg->KeywordAll, t.all, __ATOMIC_RELAXED);
    __atomic_store_n(&tlg->LevelPlus1, t.level ? t.level + 1u : 0, __ATOMIC_RELEASE);
}

static void note_next(struct registration *r, const struct ring_view *view)
{
    if (!view)
        return;
    __atomic_store_n(&r->next_view, view, __ATOMIC_RELAXED);
    __atomic_store_n(&r->next_control, view->control, __ATOMIC_RELAXED);
    __atomic_store_n(&r->next_stream, view->stream, __ATOMIC_RELAXED);
}

void registration_recompute(unsigned index)
{
    struct registration       *r    = &al_table[index];
    const struct shm_provider *slot = r->slot;
    if (slot && slot->generation != r->slot_generation)
        slot = NULL;
    bool     filtered;
    uint32_t here   = registration_enabled(r, slot, &filtered);
    bool     wanted = r->handle && here != 0;
    if (wanted)
        note_next(r, al_views[slot->enable[__builtin_ctz(here)].session % SHM_SESSIONS]);
    __atomic_store_n(&r->filtered, filtered, __ATOMIC_RELEASE);
    registration_set_plain(r);
    __atomic_store_n(&al_quiet[index], wanted || !r->handle ? 0 : r->handle + 5, __ATOMIC_RELEASE);
    if (r->handle && r->tlg)
        recompute_inline(r->tlg, wanted ? slot : NULL, here);
}

static bool find_free(unsigned *index)
{
    if (provider_registration_count >= REGISTRATIONS)
        return false;
    while (al_table[next_index].handle != 0)
        next_index = next_index % (INDEXES - 1) + 1;
    *index = next_index;
    if (*index >= al_used)
        al_used = *index + 1;
    provider_registration_count++;
    return true;
}

/* Ends its events and callbacks; the daemon is told. */
static void registration_forget(struct registration *r, unsigned index)
{
    __atomic_store_n(&r->handle, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&al_quiet[index], 0, __ATOMIC_RELEASE);
    if (r->tlg)
        recompute_inline(r->tlg, NULL, 0);
    r->tlg = NULL;
    if (r->announced)
        process_wake_agent();
    pthread_cond_broadcast(&LIFE.changed);
}

static void place_free(unsigned index)
{
    next_index = index; /* reuse the most recently freed one: few indexes, few cache lines */
    provider_registration_count--;
}

ULONG registration_add(LPCGUID provider, PENABLECALLBACK callback, PVOID context, struct _tlgProvider_t *tlg,
                       struct classic *classic, PREGHANDLE handle)
{
    unsigned index;
    ULONG    status = ERROR_SUCCESS;

    process_fork_check();
    process_lock();
    if (!process_start()) {
        status = ERROR_NOT_ENOUGH_MEMORY;
        goto out;
    }
    if (!find_free(&index)) {
        status = ERROR_NO_SYSTEM_RESOURCES;
        goto out;
    }
    struct registration *r = &al_table[index];
    if (++last_generation == 0)
        last_generation = 1;
    memcpy(&r->guid, provider, sizeof r->guid);
    r->callback    = callback;
    r->context     = context;
    r->tlg         = tlg;
    r->use_types   = tlg != NULL;
    r->filtered    = false;
    r->traits      = tlg ? (const uint8_t *)tlg->ProviderMetadataPtr : NULL; /* NULL: the provider has none */
    r->traits_size = r->traits ? *tlg->ProviderMetadataPtr : 0;
    r->enabled_for = 0;
    r->doubted     = 0;
    r->denied      = 0;
    __atomic_store_n(&r->classic, classic, __ATOMIC_RELEASE);
    registration_set_plain(r);
    __atomic_store_n(&r->slot, NULL, __ATOMIC_RELEASE);
    *handle = (uint64_t)last_generation << 32 | index << 3;
    __atomic_store_n(&al_quiet[index], *handle + 5, __ATOMIC_RELEASE);
    __atomic_store_n(&r->handle, *handle, __ATOMIC_RELEASE);
    if (LIFE.state != AGENT_NO_DAEMON) {
        process_wake_agent();
        process_wait_registered(index);
        if (r->handle == *handle && r->denied && r->answered) {
            registration_forget(r, index);
            __atomic_store_n(&r->classic, NULL, __ATOMIC_RELEASE); /* the caller's again */
            place_free(index);
            *handle = 0;
            status  = r->denied;
        }
    }
out:
    process_unlock();
    return status;
}

ULONG EventRegister(LPCGUID ProviderId, PENABLECALLBACK EnableCallback, PVOID CallbackContext, PREGHANDLE RegHandle)
{
    if (!ProviderId || !RegHandle)
        return ERROR_INVALID_PARAMETER;
    *RegHandle = 0;
    return registration_add(ProviderId, EnableCallback, CallbackContext, NULL, NULL, RegHandle);
}

ULONG EventUnregister(REGHANDLE RegHandle)
{
    ULONG status = ERROR_INVALID_HANDLE;

    process_fork_check();
    process_lock();
    struct registration *r = registration_find(RegHandle);
    if (r) {
        const unsigned index = registration_index(RegHandle);
        registration_forget(r, index);
        while (LIFE.calling == index + 1 && !process_on_agent())
            pthread_cond_wait(&LIFE.changed, &LIFE.lock);
        if (r->classic) {
            struct classic *c = r->classic;
            __atomic_store_n(&r->classic, NULL, __ATOMIC_RELEASE);
            classic_release(c);
        }
        place_free(index);
        status = ERROR_SUCCESS;
    }
    process_unlock();
    return status;
}

/* Provider metadata as in a TraceLogging provider: u16 size of all, name, NUL, traits. The daemon rejects names with
 * hidden characters. */
static bool traits_valid(const uint8_t *data, ULONG size)
{
    uint16_t told;
    if (!data || size < 3)
        return false;
    memcpy(&told, data, sizeof told);
    return told == size && memchr(data + 2, 0, size - 2) != NULL && visible_is((const char *)data + 2);
}

static ULONG set_traits(struct registration *r, const uint8_t *data, ULONG size)
{
    if (!traits_valid(data, size))
        return ERROR_INVALID_PARAMETER;
    if (size > r->traits_room) { /* the old copy stays: a writer may be reading it */
        uint8_t *copy = malloc(size);
        if (!copy)
            return ERROR_NOT_ENOUGH_MEMORY;
        r->traits_copy = copy;
        r->traits_room = size;
    }
    memcpy(r->traits_copy, data, size);
    r->traits_size = size;
    __atomic_store_n(&r->traits, r->traits_copy, __ATOMIC_RELEASE);
    __atomic_store_n(&r->traits_new, true, __ATOMIC_RELAXED);
    process_wake_agent();
    return ERROR_SUCCESS;
}

ULONG EventSetInformation(REGHANDLE RegHandle, EVENT_INFO_CLASS InformationClass, PVOID EventInformation,
                          ULONG InformationLength)
{
    ULONG status = ERROR_INVALID_HANDLE;

    process_fork_check();
    process_lock();
    struct registration *r = registration_find(RegHandle);
    if (!r)
        goto out;
    switch (InformationClass) {
    case EventProviderSetTraits:
        status = set_traits(r, EventInformation, InformationLength);
        if (status == ERROR_SUCCESS) {
            __atomic_store_n(&r->use_types, true, __ATOMIC_RELEASE);
            registration_set_plain(r);
        }
        break;
    case EventProviderUseDescriptorType:
        status = ERROR_INVALID_PARAMETER;
        if (!EventInformation || InformationLength != sizeof(BOOLEAN))
            break;
        __atomic_store_n(&r->use_types, *(const BOOLEAN *)EventInformation != 0, __ATOMIC_RELEASE);
        registration_set_plain(r);
        status = ERROR_SUCCESS;
        break;
    default: status = ERROR_NOT_SUPPORTED;
    }
out:
    process_unlock();
    return status;
}

ULONG _tlgRegister(struct _tlgProvider_t *provider, PENABLECALLBACK callback, PVOID context)
{
    if (!provider || provider->RegHandle != 0)
        return ERROR_INVALID_PARAMETER;
    return registration_add(&provider->ProviderId, callback, context, provider, NULL, &provider->RegHandle);
}
void _tlgUnregister(struct _tlgProvider_t *provider)
{
    REGHANDLE handle = provider ? provider->RegHandle : 0;
    if (handle) {
        provider->RegHandle = 0;
        EventUnregister(handle);
    }
}

unsigned registration_sessions(REGHANDLE handle)
{
    return (unsigned)__builtin_popcount(al_table[registration_index(handle)].enabled_for);
}
