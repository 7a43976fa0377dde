#include "autologger/schema/set.h"

#include "autologger/schema/arena.h"
#include "autologger/schema/chunks.h"
#include "autologger/schema/classic.h"
#include "autologger/schema/event_info.h"
#include "autologger/schema/mof.h"
#include "autologger/schema/tracelogging.h"

#include <stdlib.h>
#include <string.h>

enum {
    LATELY         = 256,
    SELF_MAX       = 1024,
    SELF_BYTES_MAX = 16 * 1024 * 1024,
    ASKED_MAX      = 65536,
    DEAD_MAX       = 256,
    LEARNT_MAX     = 64 * 1024 * 1024
};

/* A description from an event, found by the bytes of its two items. */
struct self {
    uint64_t                hash;
    struct schema_provider *provider; /* NULL: the bytes describe nothing */
    uint32_t                traits_size, metadata_size;
    bool                    in_payload; /* its fields begin behind these bytes */
    struct guid             guid;
    uint8_t                *bytes; /* traits, then metadata */
};
struct added {
    struct schema_provider *provider;
    enum schema_source      source;
};
struct schema_set {
    struct added               *added;
    size_t                      added_count;
    struct schema_event const **table; /* of manifests and embedded metadata, by key; a power of two */
    size_t                      table_size, table_used;
    struct self                *self; /* an open table of 2 * SELF_MAX */
    size_t                      self_count, self_bytes, learnt_bytes;
    const struct self          *lately[LATELY]; /* recently found ones, by a cheap hash */
    struct by_items {
        uint64_t                   items; /* etl_event.items; 0: nothing */
        struct guid                provider;
        const struct schema_event *event;
    } by_items[LATELY];         /* the same, by the number of the items */
    struct guid         *asked; /* an open table of 2 * ASKED_MAX, made at the first question */
    size_t               asked_count;
    schema_set_asker    *ask;
    void                *ask_ctx;
    schema_set_searcher *search;
    void                *search_ctx;
};

struct schema_set *schema_set_new(void) { return calloc(1, sizeof(struct schema_set)); }

static void self_clear(struct schema_set *s)
{
    for (size_t i = 0; s->self && i < 2 * SELF_MAX; i++) {
        schema_provider_free(s->self[i].provider);
        free(s->self[i].bytes);
        s->self[i] = (struct self){0};
    }
    s->self_count = s->self_bytes = 0;
    memset(s->lately, 0, sizeof s->lately);
    memset(s->by_items, 0, sizeof s->by_items);
}

void schema_set_free(struct schema_set *s)
{
    if (!s)
        return;
    self_clear(s);
    for (size_t i = 0; i < s->added_count; i++)
        schema_provider_free(s->added[i].provider);
    free(s->added);
    free((void *)s->table);
    free(s->self);
    free(s->asked);
    free(s);
}

/* ---- hashes ---- */

static uint64_t set_mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 32;
}

static uint64_t set_hash_bytes(uint64_t h, const uint8_t *p, size_t size)
{
    uint64_t v;
    for (; size >= 8; p += 8, size -= 8) {
        memcpy(&v, p, 8);
        h = set_mix(h, v);
    }
    v = size;
    for (size_t i = 0; i < size; i++)
        v = v << 8 | p[i];
    return set_mix(h, v);
}

static uint64_t hash_key(const struct guid *guid, bool classic, unsigned number, unsigned version)
{
    return set_mix(set_hash_bytes(0, (const uint8_t *)guid, sizeof *guid),
                   (uint64_t)classic << 32 | (uint64_t)number << 8 | version);
}

/* ---- manifests and metadata of the file ---- */

static bool of_class(const struct schema_event *e) { return !guid_is_zero(&e->class_guid); }

static uint64_t hash_event(const struct schema_event *e)
{
    bool classic = of_class(e);
    return hash_key(classic ? &e->class_guid : &e->provider->guid, classic, classic ? e->opcode : e->id, e->version);
}

static bool same_key(const struct schema_event *e, const struct guid *guid, bool classic, unsigned number,
                     unsigned version)
{
    return of_class(e) == classic && (classic ? e->opcode : e->id) == number && e->version == version &&
           guid_equal(classic ? &e->class_guid : &e->provider->guid, guid);
}

static bool same_event(const struct schema_event *a, const struct schema_event *b)
{
    bool classic = of_class(b);
    return same_key(a, classic ? &b->class_guid : &b->provider->guid, classic, classic ? b->opcode : b->id, b->version);
}

/* Needs room in the table. A better source wins, and of one source the later; within a provider the first. */
static void set_enter(struct schema_set *s, const struct schema_event *e)
{
    size_t i = hash_event(e) & (s->table_size - 1);

    for (; s->table[i]; i = (i + 1) & (s->table_size - 1))
        if (same_event(s->table[i], e)) {
            if (e->source <= s->table[i]->source && e->provider != s->table[i]->provider)
                s->table[i] = e;
            return;
        }
    s->table[i] = e;
    s->table_used++;
}

static bool rebuild(struct schema_set *s)
{
    size_t events = 0, size = 64;

    for (size_t i = 0; i < s->added_count; i++)
        events += s->added[i].provider->event_count;
    while (size < events * 2)
        size *= 2;
    const struct schema_event **table = calloc(size, sizeof *table);
    if (!table)
        return false;
    free((void *)s->table);
    s->table      = table;
    s->table_size = size;
    s->table_used = 0;
    for (size_t i = 0; i < s->added_count; i++)
        for (unsigned j = 0; j < s->added[i].provider->event_count; j++)
            set_enter(s, s->added[i].provider->events[j]);
    return true;
}

wstatus schema_set_add(struct schema_set *s, enum schema_source source, struct schema_provider *p)
{
    struct added *grown = realloc(s->added, (s->added_count + 1) * sizeof *grown);

    if (grown)
        s->added = grown;
    for (unsigned i = 0; i < p->event_count; i++)
        p->events[i]->source = source;
    if (!grown) {
        schema_provider_free(p);
        return W_NOT_ENOUGH_MEMORY;
    }
    s->added[s->added_count++] = (struct added){p, source};
    if (s->table && (s->table_used + p->event_count) * 2 <= s->table_size) {
        for (unsigned i = 0; i < p->event_count; i++)
            set_enter(s, p->events[i]);
        return W_SUCCESS;
    }
    if (rebuild(s))
        return W_SUCCESS;
    s->added_count--;
    schema_provider_free(p);
    return W_NOT_ENOUGH_MEMORY;
}

unsigned schema_set_remove(struct schema_set *s, enum schema_source source, const char *origin)
{
    struct schema_provider *gone[DEAD_MAX];
    unsigned                n = 0, all = 0;

    do {
        size_t kept = 0;
        for (size_t i = n = 0; i < s->added_count; i++)
            if (n < DEAD_MAX && s->added[i].source == source && strcmp(s->added[i].provider->origin, origin) == 0)
                gone[n++] = s->added[i].provider;
            else
                s->added[kept++] = s->added[i];
        s->added_count = kept;
        all += n;
        if (n && !rebuild(s)) { /* no memory: removed events must not be found */
            memset((void *)s->table, 0, s->table_size * sizeof *s->table);
            s->table_used = 0;
        }
        for (unsigned i = 0; i < n; i++)
            schema_provider_free(gone[i]);
    } while (n == DEAD_MAX);
    return all;
}

void schema_set_ask(struct schema_set *s, schema_set_asker *ask, void *ctx)
{
    s->ask     = ask;
    s->ask_ctx = ctx;
}

void schema_set_search(struct schema_set *s, schema_set_searcher *search, void *ctx)
{
    s->search     = search;
    s->search_ctx = ctx;
}

const struct schema_provider *schema_set_provider(const struct schema_set *s, size_t i, enum schema_source *source)
{
    if (i >= s->added_count)
        return NULL;
    *source = s->added[i].source;
    return s->added[i].provider;
}

static const struct schema_event *lookup_version(const struct schema_set *s, const struct guid *guid,
                                                 const struct schema_key *k, uint8_t version)
{
    const unsigned number = k->classic ? k->opcode : k->id;
    for (size_t i = hash_key(guid, k->classic, number, version) & (s->table_size - 1); s->table[i];
         i        = (i + 1) & (s->table_size - 1))
        if (same_key(s->table[i], guid, k->classic, number, version))
            return s->table[i];
    return NULL;
}

static const struct schema_event *lookup(const struct schema_set *s, const struct guid *guid,
                                         const struct schema_key *k)
{
    if (!s->table_used)
        return NULL;
    const struct schema_event *e = lookup_version(s, guid, k, k->version);
    return e || !k->classic ? e : lookup_version(s, guid, k, MOF_ANY_VERSION);
}

/* True the first time for each GUID. */
static bool first_question(struct schema_set *s, const struct guid *guid)
{
    if (!s->asked && !(s->asked = calloc(2 * ASKED_MAX, sizeof *s->asked)))
        return false;
    size_t i = hash_key(guid, false, 0, 0) & (2 * ASKED_MAX - 1);
    for (; !guid_is_zero(&s->asked[i]); i = (i + 1) & (2 * ASKED_MAX - 1))
        if (guid_equal(&s->asked[i], guid))
            return false;
    if (s->asked_count == ASKED_MAX || guid_is_zero(guid))
        return false; /* a file of made-up GUIDs: its events have no descriptions anyway */
    s->asked[i] = *guid;
    s->asked_count++;
    return true;
}

static bool has_manifest(const struct schema_set *s, const struct guid *guid)
{
    for (size_t i = 0; i < s->added_count; i++)
        if (s->added[i].source == SCHEMA_MANIFEST && guid_equal(&s->added[i].provider->guid, guid))
            return true;
    return false;
}

static const struct schema_event *find_added(struct schema_set *s, const struct guid *guid, const struct schema_key *k)
{
    const struct schema_event *e = lookup(s, guid, k);

    if ((!e || e->source != SCHEMA_MANIFEST) && s->ask && first_question(s, guid) && !has_manifest(s, guid)) {
        s->ask(s->ask_ctx, s, guid);
        e = lookup(s, guid, k);
    }
    if (!e && s->search) {
        schema_set_searcher *search = s->search;
        s->search                   = NULL;
        search(s->search_ctx, s);
        e = lookup(s, guid, k);
    }
    return e;
}

/* ---- metadata of the file ---- */

/* The provider with the file's descriptions for `guid`. */
static struct schema_provider *learnt_provider(struct schema_set *s, const struct guid *guid)
{
    static const char origin[] = "metadata of the file";

    for (size_t i = 0; i < s->added_count; i++)
        if (s->added[i].source == SCHEMA_EMBEDDED && guid_equal(&s->added[i].provider->guid, guid) &&
            strcmp(s->added[i].provider->origin, origin) == 0)
            return s->added[i].provider;
    struct schema_provider *p = schema_provider_new(guid, "");
    if (!p)
        return NULL;
    p->origin = origin;
    return schema_set_add(s, SCHEMA_EMBEDDED, p) ? NULL : p;
}

/* Enters the last event of a provider in the set into the table. */
static void enter_last(struct schema_set *s, struct schema_provider *p)
{
    if ((s->table_used + 1) * 2 <= s->table_size)
        set_enter(s, p->events[p->event_count - 1]);
    else if (!rebuild(s))
        p->event_count--; /* no memory: it stays without a description */
}

/* Does the set have this description from the file? A merge of merged files has each several times. */
static bool set_known(const struct schema_set *s, const void *payload, size_t size)
{
    struct schema_key k = {0};
    struct guid       class_guid;
    const uint8_t    *p = payload;

    if (size < 48)
        return false;
    memcpy(&k.provider, p, sizeof k.provider);
    memcpy(&class_guid, p + 16, sizeof class_guid);
    memcpy(&k.id, p + 32, sizeof k.id);
    k.version                    = p[34];
    k.opcode                     = p[37];
    k.classic                    = !guid_is_zero(&class_guid);
    const struct schema_event *e = lookup(s, k.classic ? &class_guid : &k.provider, &k);
    return e && e->source == SCHEMA_EMBEDDED;
}

bool schema_set_learn(struct schema_set *s, const struct schema_key *k, const void *payload, size_t size)
{
    bool          map = k->hook == (CLASSIC_EVENT_METADATA | EVENT_METADATA_MAP);
    struct guid   guid;
    struct reason why;

    if (!map && k->hook != (CLASSIC_EVENT_METADATA | EVENT_METADATA_EVENT))
        return false;
    if (!event_metadata_provider(payload, size, &guid) || s->learnt_bytes > LEARNT_MAX ||
        (!map && set_known(s, payload, size)))
        return true;
    struct schema_provider *p = learnt_provider(s, &guid);
    if (!p)
        return true;
    size_t   before = schema_arena_bytes(p->arena);
    unsigned events = p->event_count;
    if (map)
        map_info_read(p, (const uint8_t *)payload + sizeof guid, size - sizeof guid, &why);
    else if (!event_info_read(p, payload, size, &why) && p->event_count > events)
        enter_last(s, p);
    s->learnt_bytes += schema_arena_bytes(p->arena) - before;
    return true;
}

/* ---- events that describe themselves ---- */

static bool self_is(const struct self *x, uint64_t hash, const struct schema_key *k)
{
    return x->hash == hash && x->metadata_size == k->metadata_size && x->traits_size == k->traits_size &&
           x->in_payload == k->in_payload && guid_equal(&x->guid, &k->provider) &&
           (!k->traits_size || memcmp(x->bytes, k->traits, k->traits_size) == 0) &&
           memcmp(x->bytes + k->traits_size, k->metadata, k->metadata_size) == 0;
}

/* Fills the free place x. */
static bool self_make(struct schema_set *s, struct self *x, uint64_t hash, const struct schema_key *k)
{
    size_t   size  = (size_t)k->traits_size + k->metadata_size;
    uint8_t *bytes = malloc(size);

    if (!bytes)
        return false;
    if (k->traits_size)
        memcpy(bytes, k->traits, k->traits_size);
    memcpy(bytes + k->traits_size, k->metadata, k->metadata_size);
    struct schema_provider *p =
        tracelogging_schema(&k->provider, k->traits, k->traits_size, k->metadata, k->metadata_size);
    if (p && k->in_payload)
        p->events[0]->prefix = (uint32_t)size;
    *x = (struct self){hash, p, k->traits_size, k->metadata_size, k->in_payload, k->provider, bytes};
    s->self_count++;
    s->self_bytes += size + (p ? schema_arena_bytes(p->arena) : 0);
    return true;
}

static const struct self *look_self(struct schema_set *s, const struct schema_key *k)
{
    uint64_t hash = set_hash_bytes(k->metadata_size, k->metadata, k->metadata_size);

    if (k->traits_size)
        hash = set_hash_bytes(hash, k->traits, k->traits_size);
    if (!s->self && !(s->self = calloc(2 * SELF_MAX, sizeof *s->self)))
        return NULL;
    if (s->self_count == SELF_MAX || s->self_bytes > SELF_BYTES_MAX)
        self_clear(s);
    struct self *x = &s->self[hash & (2 * SELF_MAX - 1)];
    for (; x->bytes && !self_is(x, hash, k); x = x == &s->self[2 * SELF_MAX - 1] ? s->self : x + 1)
        ;
    if (!x->bytes && !self_make(s, x, hash, k))
        return NULL;
    return x;
}

/* A hash of some bytes of the metadata, and of the provider. */
static unsigned place_lately(const struct guid *provider, const uint8_t *metadata, uint32_t size)
{
    uint64_t first = 0, last = 0;
    if (size >= 4 + sizeof first) {
        memcpy(&first, metadata + 3, sizeof first); /* behind the size and a byte of tags: the name */
        memcpy(&last, metadata + size - sizeof last, sizeof last);
    }
    return (unsigned)(((first ^ provider->data1) * 31 + (last ^ (uint64_t)size << 20)) * UINT64_C(0x9E3779B97F4A7C15) >>
                      56) &
           (LATELY - 1);
}

static bool same_bytes(const struct self *x, const struct schema_key *k)
{
    return x->metadata_size == k->metadata_size && x->traits_size == k->traits_size && x->in_payload == k->in_payload &&
           memcmp(x->bytes + k->traits_size, k->metadata, k->metadata_size) == 0 &&
           (!k->traits_size || memcmp(x->bytes, k->traits, k->traits_size) == 0) &&
           memcmp(&x->guid, &k->provider, sizeof k->provider) == 0;
}

static const struct schema_event *find_self(struct schema_set *s, const struct schema_key *k)
{
    const struct self **lately = &s->lately[place_lately(&k->provider, k->metadata, k->metadata_size)], *x = *lately;

    if (!x || !same_bytes(x, k)) {
        if (!(x = look_self(s, k)))
            return NULL;
        s->lately[place_lately(&k->provider, k->metadata, k->metadata_size)] = x;
    }
    return x->provider ? x->provider->events[0] : NULL;
}

/* ---- */

void schema_key_of(const struct etl_event *e, struct schema_key *out)
{
    *out = (struct schema_key){.provider = e->provider,
                               .id       = e->id,
                               .hook     = CLASSIC_NONE,
                               .version  = e->version,
                               .opcode   = e->opcode,
                               .classic  = e->kind != ETL_KIND_EVENT && e->kind != ETL_KIND_MESSAGE,
                               .message  = e->kind == ETL_KIND_MESSAGE || e->kind == ETL_KIND_OTHER};
    if (out->classic)
        out->hook = classic_hook(e);
    if (e->kind != ETL_KIND_EVENT)
        return;
    out->string_only   = e->flags & ETL_EVENT_STRING_ONLY;
    out->metadata      = e->metadata;
    out->metadata_size = e->metadata_size;
    out->traits        = e->traits;
    out->traits_size   = e->traits_size;
    if (!e->metadata_size && !out->string_only)
        schema_key_payload(out, e->channel, e->payload, e->payload_size);
}

void schema_key_payload(struct schema_key *key, uint8_t channel, const void *payload, size_t size)
{
    struct tracelogging_prefix prefix;

    if (channel != TRACELOGGING_CHANNEL || !tracelogging_in_payload(payload, size, &prefix))
        return;
    key->in_payload    = true;
    key->traits        = payload;
    key->traits_size   = prefix.traits;
    key->metadata      = (const uint8_t *)payload + prefix.traits;
    key->metadata_size = prefix.metadata;
}

static bool decode_guid(const struct schema_key *k, struct guid *out)
{
    struct tracelogging_names names;
    if (!k->traits_size)
        return false;
    tracelogging_names_of(k->traits, k->traits_size, NULL, 0, &names);
    *out = names.decode;
    return names.has_decode;
}

const struct schema_event *schema_set_describe(struct schema_set *s, const struct etl_event *e)
{
    struct by_items  *b = &s->by_items[e->items & (LATELY - 1)];
    struct schema_key k;

    if (e->items && b->items == e->items && memcmp(&b->provider, &e->provider, sizeof b->provider) == 0)
        return b->event;
    schema_key_of(e, &k);
    const struct schema_event *found = k.metadata_size ? find_self(s, &k) : NULL;
    if (!found)
        return schema_set_find(s, &k);
    if (e->items && !k.in_payload)
        *b = (struct by_items){e->items, e->provider, found};
    return found;
}

const struct schema_event *schema_set_find(struct schema_set *s, const struct schema_key *k)
{
    const struct schema_event *e = NULL;
    struct guid                decode;

    if (k->metadata_size && (e = find_self(s, k)))
        return e;
    if (k->message)
        return guid_is_zero(&k->provider) ? NULL : find_added(s, &k->provider, k);
    if (k->hook != CLASSIC_NONE && (e = classic_schema(k->hook, k->version)) && !s->table_used)
        return e; /* the usual case: no other source can describe it */
    if (k->hook == CLASSIC_NONE || s->table_used || !e) {
        const struct schema_event *better =
            k->hook == CLASSIC_NONE ? find_added(s, &k->provider, k) : lookup(s, &k->provider, k);
        if (!better && decode_guid(k, &decode))
            better = find_added(s, &decode, k);
        if (better)
            return better;
    }
    return e                                      ? e
           : k->string_only                       ? classic_string_schema()
           : k->id == CHUNKS_EVENT && !k->classic ? classic_chunk_schema()
                                                  : NULL;
}
