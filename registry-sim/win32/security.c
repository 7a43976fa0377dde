#include "registry-sim/win32/security.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEAD                  = 20,
    LIST_HEAD             = 8,
    ENTRY_HEAD            = 8,
    DACL_PRESENT          = 4,
    SACL_PRESENT          = 0x10,
    SELF_RELATIVE         = 0x8000,
    ALLOW                 = 0,
    DENY                  = 1,
    INHERIT_ONLY          = 8,
    LIST_REVISION         = 2,
    LIST_REVISION_OBJECTS = 4,
    UNIX                  = 22,
    UNIX_USER             = 1,
    UNIX_GROUP            = 2
};
#define GENERIC_ALL UINT32_C(0x10000000)

/* ---- little-endian numbers; the caller has checked the bounds ---- */

static uint32_t get16(const uint8_t *p) { return (uint32_t)(p[0] | p[1] << 8); }
static uint32_t get32(const uint8_t *p) { return get16(p) | get16(p + 2) << 16; }
static void     put16(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}
static void put32(uint8_t *p, uint32_t v)
{
    put16(p, v);
    put16(p + 2, v >> 16);
}

/* ---- SIDs ---- */

bool sid_read(const void *bytes, size_t size, struct sid *out)
{
    const uint8_t *p = bytes;
    if (size < SID_HEAD || p[0] != 1 || p[1] > SID_PARTS || size < SID_HEAD + 4u * p[1])
        return false;
    memset(out, 0, sizeof *out);
    out->size = SID_HEAD + 4u * p[1];
    memcpy(out->bytes, p, out->size);
    return true;
}

/* A number up to `most`, decimal or 0x; NULL: no such number. */
static const char *number_read(const char *p, uint64_t most, uint64_t *out)
{
    char *end;
    if (*p < '0' || *p > '9')
        return NULL;
    *out = strtoull(p, &end, *p == '0' && (p[1] == 'x' || p[1] == 'X') ? 16 : 10);
    return *out <= most && (*end == 0 || *end == '-') ? end : NULL;
}

bool sid_parse(const char *text, struct sid *out)
{
    uint64_t n;
    memset(out, 0, sizeof *out);
    if ((text[0] != 'S' && text[0] != 's') || text[1] != '-' || text[2] != '1' || text[3] != '-' ||
        !(text = number_read(text + 4, (UINT64_C(1) << 48) - 1, &n)))
        return false;
    out->bytes[0] = 1;
    for (unsigned i = 0; i < 6; i++)
        out->bytes[2 + i] = (uint8_t)(n >> (40 - 8 * i));
    unsigned parts = 0;
    for (; *text == '-' && parts < SID_PARTS; parts++) {
        if (!(text = number_read(text + 1, UINT32_MAX, &n)))
            return false;
        put32(out->bytes + SID_HEAD + 4 * (size_t)parts, (uint32_t)n);
    }
    out->bytes[1] = (uint8_t)parts;
    out->size     = SID_HEAD + 4 * parts;
    return *text == 0 && parts > 0;
}

const char *sid_format(const struct sid *s, char out[SID_TEXT])
{
    uint64_t authority = 0;
    for (unsigned i = 0; i < 6; i++)
        authority = authority << 8 | s->bytes[2 + i];
    int n = snprintf(out, SID_TEXT, "S-1-%llu", (unsigned long long)authority);
    for (unsigned i = 0; i < s->bytes[1] && i < SID_PARTS && n > 0 && n < SID_TEXT; i++)
        n += snprintf(out + n, (size_t)(SID_TEXT - n), "-%u", get32(s->bytes + SID_HEAD + 4 * (size_t)i));
    return out;
}

bool sid_equal(const struct sid *a, const struct sid *b)
{
    return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

static struct sid of_unix(uint32_t kind, uint32_t id)
{
    struct sid s = {.bytes = {1, 2, 0, 0, 0, 0, 0, UNIX}, .size = SID_HEAD + 8};
    put32(s.bytes + SID_HEAD, kind);
    put32(s.bytes + SID_HEAD + 4, id);
    return s;
}

static bool is_unix(const struct sid *s, uint32_t kind, uint32_t *id)
{
    *id                   = s->size == SID_HEAD + 8 ? get32(s->bytes + SID_HEAD + 4) : 0;
    const struct sid like = of_unix(kind, *id);
    return sid_equal(s, &like);
}

struct sid sid_of_user(uint32_t uid) { return of_unix(UNIX_USER, uid); }
struct sid sid_of_group(uint32_t gid) { return of_unix(UNIX_GROUP, gid); }
bool       sid_is_user(const struct sid *s, uint32_t *uid) { return is_unix(s, UNIX_USER, uid); }
bool       sid_is_group(const struct sid *s, uint32_t *gid) { return is_unix(s, UNIX_GROUP, gid); }

/* ---- descriptors ---- */

static bool sid_at(const uint8_t *p, size_t size, uint32_t offset)
{
    struct sid s;
    return !offset || (offset >= HEAD && offset < size && sid_read(p + offset, size - offset, &s));
}

/* The list at `offset`, with its whole size inside the descriptor. */
static bool security_list_at(const uint8_t *p, size_t size, uint32_t offset)
{
    if (!offset)
        return true;
    if (offset < HEAD || offset > size || size - offset < LIST_HEAD)
        return false;
    const uint8_t *list  = p + offset;
    size_t         whole = get16(list + 2), at = LIST_HEAD;
    if ((list[0] != LIST_REVISION && list[0] != LIST_REVISION_OBJECTS) || whole < LIST_HEAD || whole > size - offset)
        return false;
    for (unsigned i = get16(list + 4); i; i--) {
        if (whole - at < 4)
            return false;
        size_t entry = get16(list + at + 2);
        if (entry < 4 || entry > whole - at)
            return false;
        at += entry;
    }
    return true;
}

bool security_valid(const void *bytes, size_t size)
{
    const uint8_t *p = bytes;
    if (size < HEAD || size > SECURITY_MOST || p[0] != 1 || !(get16(p + 2) & SELF_RELATIVE))
        return false;
    const uint32_t control = get16(p + 2);
    return sid_at(p, size, get32(p + 4)) && sid_at(p, size, get32(p + 8)) &&
           (!(control & SACL_PRESENT) || security_list_at(p, size, get32(p + 12))) &&
           (!(control & DACL_PRESENT) || security_list_at(p, size, get32(p + 16)));
}

/* NULL: no list, which grants everything to everybody. */
static const uint8_t *list_of(const uint8_t *p)
{
    const uint32_t at = get32(p + 16);
    return get16(p + 2) & DACL_PRESENT && at ? p + at : NULL;
}

struct security_walk {
    const uint8_t *list; /* of a valid descriptor; NULL: no list */
    size_t         at;
    unsigned       left;
};

static struct security_walk security_walk_begin(const uint8_t *p)
{
    const uint8_t *list = list_of(p);
    return (struct security_walk){list, LIST_HEAD, list ? get16(list + 4) : 0};
}

/* Skips entries of unknown kinds. */
static bool walk_next(struct security_walk *w, struct security_entry *out)
{
    for (; w->left; w->left--) {
        const uint8_t *e    = w->list + w->at;
        const size_t   size = get16(e + 2);
        w->at += size;
        if (size < ENTRY_HEAD || e[0] > DENY || e[1] & INHERIT_ONLY ||
            !sid_read(e + ENTRY_HEAD, size - ENTRY_HEAD, &out->who))
            continue;
        out->rights = get32(e + 4);
        out->deny   = e[0] == DENY;
        w->left--;
        return true;
    }
    return false;
}

bool security_entry_get(const void *bytes, size_t size, unsigned i, struct security_entry *out)
{
    if (!security_valid(bytes, size))
        return false;
    struct security_walk w     = security_walk_begin(bytes);
    bool                 found = walk_next(&w, out);
    for (; found && i; i--)
        found = walk_next(&w, out);
    return found;
}

bool security_granted(const void *bytes, size_t size, uint32_t wanted, bool (*is)(void *ctx, const struct sid *s),
                      void *ctx)
{
    struct security_entry e;
    if (!security_valid(bytes, size))
        return false;
    struct security_walk w = security_walk_begin(bytes);
    if (!w.list)
        return true;
    while (wanted && walk_next(&w, &e)) {
        const uint32_t rights = (e.rights & GENERIC_ALL ? UINT32_MAX : e.rights) & wanted;
        if (!rights || !is(ctx, &e.who))
            continue;
        if (e.deny)
            return false;
        wanted &= ~rights;
    }
    return !wanted;
}

static uint8_t *entry_put(uint8_t *p, const struct security_entry *e)
{
    p[0] = e->deny ? DENY : ALLOW;
    put16(p + 2, ENTRY_HEAD + e->who.size);
    put32(p + 4, e->rights);
    memcpy(p + ENTRY_HEAD, e->who.bytes, e->who.size);
    return p + ENTRY_HEAD + e->who.size;
}

wstatus security_build(const struct security_entry *entries, unsigned count, uint8_t **out, size_t *size)
{
    static const uint8_t system[SID_HEAD + 4] = {1, 1, 0, 0, 0, 0, 0, 5, 18};
    size_t               list                 = LIST_HEAD;
    for (unsigned i = 0; i < count && list <= SECURITY_MOST; i++)
        list += ENTRY_HEAD + entries[i].who.size;
    if (HEAD + sizeof system + list > SECURITY_MOST)
        return W_INVALID_PARAMETER;
    uint8_t *p = calloc(1, HEAD + sizeof system + list);
    if (!p)
        return W_NOT_ENOUGH_MEMORY;
    p[0] = 1;
    put16(p + 2, SELF_RELATIVE | DACL_PRESENT);
    put32(p + 4, HEAD);
    put32(p + 8, HEAD);
    put32(p + 16, HEAD + sizeof system);
    memcpy(p + HEAD, system, sizeof system);
    uint8_t *head = p + HEAD + sizeof system, *at = head + LIST_HEAD;
    head[0] = LIST_REVISION;
    put16(head + 2, (uint32_t)list);
    put16(head + 4, count);
    for (unsigned deny = 2; deny-- > 0;) /* denying entries first: Windows' canonical order */
        for (unsigned i = 0; i < count; i++)
            if (entries[i].deny == (deny != 0))
                at = entry_put(at, &entries[i]);
    *out  = p;
    *size = HEAD + sizeof system + list;
    return W_SUCCESS;
}
