#include "autologger/control/rights.h"

#include "autologger/wire/control.h"
#include "registry-sim/win32/sha256.h"

#include <grp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* DefaultTraceSecurityGuid, SystemTraceControlGuid */
static const struct guid default_object      = {0x0811c1af,
                                                0x7a07,
                                                0x4a06,
                                                {0x82, 0xed, 0x86, 0x94, 0x55, 0xcd, 0xf7, 0x13}};
static const struct guid rights_system_trace = CTL_SYSTEM_TRACE;

enum { GROUPS_MOST = 65536 };
#define SID_SYSTEM "S-1-5-18"
#define SID_EVERYONE "S-1-1-0"
#define SID_AUTHENTICATED "S-1-5-11"
#define SID_LOG_USERS "S-1-5-32-559"

/* The rights where nothing is declared. Kernel events are root's. */
static const struct {
    const char *who;
    uint32_t    rights;
    bool        system_too;
} builtin[] = {
    {SID_SYSTEM, ACCESS_ALL, true},
    {SID_LOG_USERS,
     ACCESS_QUERY | ACCESS_CREATE_REALTIME | ACCESS_CREATE_ONDISK | ACCESS_GUID_ENABLE | ACCESS_LOG_EVENT |
         ACCESS_REALTIME | ACCESS_REGISTER_GUIDS,
     false},
    {SID_EVERYONE, ACCESS_QUERY | ACCESS_REGISTER_GUIDS, true},
};

struct object {
    struct guid guid;
    uint8_t    *bytes;
    size_t      size;
};
struct rights {
    struct control_rights asked; /* must be first: see granted */
    uint32_t              group;
    struct object        *object;
    unsigned              count;
    pthread_mutex_t       lock;        /* held for changes of descriptors: loggers compute digests of them */
    uint8_t              *standard[2]; /* the table as descriptors; [1]: for SystemTraceControlGuid */
    size_t                standard_size[2];
};

static const struct object *rights_object_find(const struct rights *r, const struct guid *object)
{
    for (unsigned i = 0; i < r->count; i++)
        if (guid_equal(&r->object[i].guid, object))
            return &r->object[i];
    return NULL;
}

/* The descriptor in force. */
static const uint8_t *descriptor_of(const struct rights *r, const struct guid *object, size_t *size, bool *own)
{
    const bool           system = guid_equal(object, &rights_system_trace);
    const struct object *o      = rights_object_find(r, object);
    *own                        = o != NULL;
    if (!o && !system) /* the default for everybody does not cover kernel events */
        o = rights_object_find(r, &default_object);
    *size = o ? o->size : r->standard_size[system];
    return o ? o->bytes : r->standard[system];
}

/* ---- the caller ---- */

struct caller {
    uint32_t  uid, log_users;
    uint32_t *gid;
    unsigned  gids;
};

static bool has_group(const struct caller *c, uint32_t gid)
{
    for (unsigned i = 0; i < c->gids; i++)
        if (c->gid[i] == gid)
            return true;
    return false;
}

static bool caller_is(void *ctx, const struct sid *s)
{
    const struct caller *c = ctx;
    char                 text[SID_TEXT];
    uint32_t             id;
    if (sid_is_user(s, &id))
        return id == c->uid;
    if (sid_is_group(s, &id))
        return has_group(c, id);
    sid_format(s, text);
    return strcmp(text, SID_EVERYONE) == 0 || strcmp(text, SID_AUTHENTICATED) == 0 ||
           (strcmp(text, SID_LOG_USERS) == 0 && c->log_users != RIGHTS_NO_GROUP && has_group(c, c->log_users));
}

/* R1. The group of SO_PEERCRED, then the others; without memory for these the caller has fewer groups. */
static void groups_get(int fd, struct caller *c)
{
    struct ucred who;
    socklen_t    size = sizeof who, groups = 0;
    if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0)
        return;
#ifdef SO_PEERGROUPS
    uint32_t none;
    getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, &none, &groups); /* returns the size: fails, unless there is no group */
#endif
    if (groups > GROUPS_MOST * sizeof *c->gid || !(c->gid = malloc(sizeof *c->gid + groups)))
        return;
    c->gid[c->gids++] = who.gid;
#ifdef SO_PEERGROUPS
    if (groups && getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, c->gid + 1, &groups) == 0)
        c->gids += (unsigned)(groups / sizeof *c->gid);
#endif
}

static bool granted(const struct control_rights *asked, int fd, uint32_t uid, const struct guid *object,
                    uint32_t wanted)
{
    const struct rights *r = (const void *)asked;
    struct caller        c = {.uid = uid, .log_users = r->group};
    size_t               size;
    bool                 own;
    const uint8_t       *bytes = descriptor_of(r, object, &size, &own);
    groups_get(fd, &c);
    const bool yes = security_granted(bytes, size, wanted, caller_is, &c);
    free(c.gid);
    return yes;
}

static void rights_owner(int fd, uint32_t uid, struct state_owner *out)
{
    struct caller c = {.uid = uid};
    groups_get(fd, &c);
    *out = (struct state_owner){.set = 1, .uid = uid, .gid = c.gids ? c.gid[0] : UINT32_MAX - 1};
    for (unsigned i = 1; i < c.gids && out->group_count < STATE_GROUPS; i++)
        out->group[out->group_count++] = c.gid[i];
    free(c.gid);
}

/* ---- the descriptors ---- */

static wstatus standard_make(struct rights *r, bool system)
{
    struct security_entry entry[sizeof builtin / sizeof *builtin];
    unsigned              n = 0;
    for (size_t i = 0; i < sizeof builtin / sizeof *builtin; i++) {
        if (system && !builtin[i].system_too)
            continue;
        entry[n] = (struct security_entry){.rights = builtin[i].rights};
        sid_parse(builtin[i].who, &entry[n++].who);
    }
    return security_build(entry, n, &r->standard[system], &r->standard_size[system]);
}

wstatus rights_create(uint32_t group, struct rights **out, struct reason *why)
{
    struct rights *r = calloc(1, sizeof *r);
    if (!r || standard_make(r, false) || standard_make(r, true)) {
        rights_destroy(r);
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for who may do what");
    }
    pthread_mutex_init(&r->lock, NULL);
    r->asked.granted = granted;
    r->asked.owner   = rights_owner;
    r->group         = group;
    *out             = r;
    return W_SUCCESS;
}

void rights_destroy(struct rights *r)
{
    if (!r)
        return;
    for (unsigned i = 0; i < r->count; i++)
        free(r->object[i].bytes);
    free(r->object);
    free(r->standard[0]);
    free(r->standard[1]);
    free(r);
}

const struct control_rights *rights_asked(const struct rights *r) { return &r->asked; }

wstatus rights_put(struct rights *r, const struct guid *object, const void *descriptor, size_t size, struct reason *why)
{
    struct object *o = (struct object *)(uintptr_t)rights_object_find(r, object), *more;
    char           text[GUID_TEXT_SIZE];
    uint8_t       *bytes;
    if (!security_valid(descriptor, size))
        return reason_set(why, W_INVALID_PARAMETER, "the security descriptor of %s is not a sound one",
                          guid_format(object, text));
    if (!o && r->count >= RIGHTS_MOST)
        return reason_set(why, W_NO_SYSTEM_RESOURCES, "there are %d security descriptors already", RIGHTS_MOST);
    pthread_mutex_lock(&r->lock);
    if (!(bytes = malloc(size)) || (!o && !(more = realloc(r->object, (r->count + 1) * sizeof *more)))) {
        pthread_mutex_unlock(&r->lock);
        free(bytes);
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for a security descriptor");
    }
    memcpy(bytes, descriptor, size);
    if (!o) {
        r->object = more;
        o         = &r->object[r->count++];
        o->guid   = *object;
        o->bytes  = NULL;
    }
    free(o->bytes);
    o->bytes = bytes;
    o->size  = size;
    pthread_mutex_unlock(&r->lock);
    return W_SUCCESS;
}

bool rights_drop(struct rights *r, const struct guid *object)
{
    struct object *o = (struct object *)(uintptr_t)rights_object_find(r, object);
    if (!o)
        return false;
    pthread_mutex_lock(&r->lock);
    free(o->bytes);
    *o = r->object[--r->count];
    pthread_mutex_unlock(&r->lock);
    return true;
}

void rights_digest(const struct rights *r, const struct guid *object, bool kernel, uint8_t out[32])
{
    pthread_mutex_t *lock = (pthread_mutex_t *)(uintptr_t)&r->lock;
    struct sha256    s;
    size_t           size;
    bool             own;
    sha256_init(&s);
    pthread_mutex_lock(lock);
    for (int i = 0; i <= kernel; i++) {
        const uint8_t *bytes = descriptor_of(r, i ? &rights_system_trace : object, &size, &own);
        sha256_update(&s, bytes, size);
    }
    pthread_mutex_unlock(lock);
    sha256_final(&s, out);
}

bool rights_at(const struct rights *r, unsigned i, struct guid *object)
{
    if (i >= r->count)
        return false;
    *object = r->object[i].guid;
    return true;
}

wstatus rights_get_dup(const struct rights *r, const struct guid *object, bool *own, uint8_t **out, size_t *size)
{
    const uint8_t *bytes = descriptor_of(r, object, size, own);
    if (!(*out = malloc(*size)))
        return W_NOT_ENOUGH_MEMORY;
    memcpy(*out, bytes, *size);
    return W_SUCCESS;
}

wstatus rights_changed_dup(const struct rights *r, const struct guid *object, const struct security_entry *entry,
                           bool replace, uint8_t **out, size_t *size, struct reason *why)
{
    enum { ENTRIES_MOST = 512 };
    struct security_entry *list = calloc(ENTRIES_MOST + 1, sizeof *list);
    unsigned               n    = 0;
    size_t                 old;
    bool                   own;
    const uint8_t         *bytes = descriptor_of(r, object, &old, &own);
    if (!list)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for a security descriptor");
    while (!replace && n < ENTRIES_MOST && security_entry_get(bytes, old, n, &list[n]))
        n++;
    struct security_entry more;
    if (n == ENTRIES_MOST && security_entry_get(bytes, old, n, &more)) {
        free(list);
        return reason_set(why, W_NO_SYSTEM_RESOURCES, "the security descriptor has more than %d entries", ENTRIES_MOST);
    }
    unsigned at = 0; /* one entry for each SID and kind: granting and denying a right exclude each other */
    for (unsigned i = 0; i < n; i++) {
        struct security_entry e = list[i];
        if (sid_equal(&e.who, &entry->who) && e.deny != entry->deny)
            e.rights &= ~entry->rights;
        else if (sid_equal(&e.who, &entry->who))
            continue; /* merged into the new one below */
        if (e.rights)
            list[at++] = e;
    }
    struct security_entry last = *entry;
    for (unsigned i = 0; !replace && i < n; i++) {
        struct security_entry e;
        if (security_entry_get(bytes, old, i, &e) && sid_equal(&e.who, &entry->who) && e.deny == entry->deny)
            last.rights |= e.rights;
    }
    list[at++]       = last;
    const wstatus st = security_build(list, at, out, size);
    free(list);
    return st ? reason_set(why, st, "the security descriptor is too large") : W_SUCCESS;
}

uint32_t rights_group_find(const char *path, const char *name)
{
    FILE    *f     = fopen(path, "re");
    uint32_t found = RIGHTS_NO_GROUP;
    for (struct group *g; f && found == RIGHTS_NO_GROUP && (g = fgetgrent(f));)
        if (strcmp(g->gr_name, name) == 0)
            found = g->gr_gid;
    if (f)
        fclose(f);
    return found;
}
