/* filter.c - see filter.h. */
#include "autologger/provider/filter.h"
#include "autologger/provider/payload.h"

#include <string.h>

bool filter_view(const void *at, size_t room, struct filter_view *out)
{
    struct filter_block head;
    if (!at || room < sizeof head)
        return false;
    memcpy(&head, at, sizeof head);
    if (head.size < sizeof head || head.size > room)
        return false;
    *out = (struct filter_view){(const uint8_t *)at + sizeof head, head.size - (uint32_t)sizeof head, head.property};
    return true;
}

/* The part of a type, or (0) of any type that providers themselves know; *size stays within the view whatever the
 * memory holds. */
static const uint8_t *filter_find(const struct filter_view *f, uint32_t type, uint32_t *found, uint32_t *size)
{
    struct filter_part part;
    *size = 0;
    for (uint32_t at = 0; f->size - at >= sizeof part;) {
        memcpy(&part, f->parts + at, sizeof part);
        at += (uint32_t)sizeof part;
        if (part.size > f->size - at)
            return NULL;
        if (part.type == type || (!type && part.type <= FILTER_SCHEMATIZED)) {
            *found = part.type;
            *size  = part.size;
            return f->parts + at;
        }
        const uint32_t step = (part.size + 7u) & ~7u;
        if (step > f->size - at)
            return NULL;
        at += step;
    }
    return NULL;
}

const uint8_t *filter_view_part(const struct filter_view *f, uint32_t type, uint32_t *size)
{
    uint32_t found;
    return filter_find(f, type, &found, size);
}
const uint8_t *filter_view_own(const struct filter_view *f, uint32_t *type, uint32_t *size)
{
    return filter_find(f, 0, type, size);
}

/* ---- scope ---- */

typedef bool matches_fn(const char *item, size_t length, const struct filter_identity *who);

static bool filter_is(const char *item, size_t length, const char *text)
{
    return strlen(text) == length && memcmp(item, text, length) == 0;
}

/* A name, or a path. */
static bool program_is(const char *item, size_t length, const struct filter_identity *who)
{
    const char *name = strrchr(who->program, '/');
    return filter_is(item, length, who->program) || (name && filter_is(item, length, name + 1));
}

/* By its whole id, or the beginning of it that tools show. */
static bool container_is(const char *item, size_t length, const struct filter_identity *who)
{
    enum { SHOWN = 12 };
    return *who->container && length >= SHOWN && length <= strlen(who->container) &&
           memcmp(item, who->container, length) == 0;
}

/* A control group by its path (and all below it), one of its names, or its container. */
static bool package_is(const char *item, size_t length, const struct filter_identity *who)
{
    if (container_is(item, length, who))
        return true;
    if (length && *item == '/')
        return strncmp(who->cgroup, item, length) == 0 &&
               (who->cgroup[length] == '/' || !who->cgroup[length] || item[length - 1] == '/');
    for (const char *p = who->cgroup; *p;) {
        p += *p == '/';
        const size_t n = strcspn(p, "/");
        if (n == length && memcmp(p, item, n) == 0)
            return true;
        p += n;
    }
    return false;
}

/* The innermost systemd unit, by its name with the suffix or, of a service, without. */
static bool application_is(const char *item, size_t length, const struct filter_identity *who)
{
    static const char service[] = ".service", scope[] = ".scope";
    const char       *unit = NULL;
    size_t            size = 0, bare = 0;
    for (const char *p = who->cgroup; *p;) {
        p += *p == '/';
        const size_t n = strcspn(p, "/");
        if (n >= sizeof service && memcmp(p + n - (sizeof service - 1), service, sizeof service - 1) == 0)
            unit = p, size = n, bare = n - (sizeof service - 1);
        else if (n >= sizeof scope && memcmp(p + n - (sizeof scope - 1), scope, sizeof scope - 1) == 0)
            unit = p, size = bare = n;
        p += n;
    }
    return unit && (length == size || length == bare) && memcmp(unit, item, length) == 0;
}

/* True when one of the names that ';' joins matches, or there is no such filter. */
static bool list_matches(const struct filter_view *f, uint32_t type, matches_fn *matches,
                         const struct filter_identity *who)
{
    uint32_t    size;
    const char *text = (const char *)filter_view_part(f, type, &size);
    if (!text)
        return true;
    for (uint32_t at = 0; at < size && text[at];) {
        uint32_t n = 0, from = at;
        while (at + n < size && text[at + n] && text[at + n] != ';')
            n++;
        at += n + 1;
        while (n && text[from] == ' ')
            from++, n--;
        while (n && text[from + n - 1] == ' ')
            n--;
        if (n && matches(text + from, n, who))
            return true;
    }
    return false;
}

static bool pid_matches(const struct filter_view *f, const struct filter_identity *who)
{
    uint32_t       size, pid;
    const uint8_t *list = filter_view_part(f, FILTER_PID, &size);
    for (uint32_t at = 0; list && at + sizeof pid <= size; at += (uint32_t)sizeof pid) {
        memcpy(&pid, list + at, sizeof pid);
        if (pid == who->pid)
            return true;
    }
    return !list;
}

bool filter_in_scope(const struct filter_view *f, const struct filter_identity *who)
{
    return pid_matches(f, who) && list_matches(f, FILTER_EXECUTABLE, program_is, who) &&
           list_matches(f, FILTER_PACKAGE, package_is, who) &&
           list_matches(f, FILTER_PACKAGE_APP, application_is, who) &&
           list_matches(f, FILTER_CONTAINER, container_is, who);
}

/* ---- events ---- */

static bool terms_match(uint64_t any, uint64_t all, uint8_t level, PCEVENT_DESCRIPTOR d)
{
    return (!level || d->Level <= level) && (!d->Keyword || !any || ((any & d->Keyword) && (all & d->Keyword) == all));
}

/* Ids apply to events that have one: TraceLogging's are known by name. */
static bool ids_let_in(const struct filter_view *f, uint32_t type, const struct filter_event *e)
{
    uint32_t       size;
    const uint8_t *p     = filter_view_part(f, type, &size);
    bool           found = false;
    if (!p || e->name || size < offsetof(struct filter_ids, id))
        return true;
    for (uint32_t at = offsetof(struct filter_ids, id); at + sizeof e->d->Id <= size && !found;
         at += (uint32_t)sizeof e->d->Id)
        found = memcmp(p + at, &e->d->Id, sizeof e->d->Id) == 0;
    return found == (p[offsetof(struct filter_ids, filter_in)] != 0);
}

static bool name_listed(const uint8_t *names, uint32_t size, const char *name)
{
    const size_t wanted = strlen(name) + 1;
    for (uint32_t at = 0; at < size;) {
        const uint32_t n = (uint32_t)strnlen((const char *)names + at, size - at) + 1;
        if (n == wanted && at + n <= size && memcmp(names + at, name, n) == 0)
            return true;
        at += n;
    }
    return false;
}

static bool names_let_in(const struct filter_view *f, uint32_t type, const struct filter_event *e)
{
    struct filter_names head;
    uint32_t            size, at = offsetof(struct filter_names, names);
    const uint8_t      *p = filter_view_part(f, type, &size);
    if (!p || !e->name || size < at)
        return true;
    memcpy(&head, p, at);
    const bool found = terms_match(head.any, head.all, head.level, e->d) && name_listed(p + at, size - at, e->name);
    return found == (head.filter_in != 0);
}

bool filter_passes(const struct filter_view *f, const struct filter_event *e)
{
    uint32_t size;
    if (!ids_let_in(f, FILTER_EVENT_ID, e) || !names_let_in(f, FILTER_EVENT_NAME, e))
        return false;
    const uint8_t *payload = filter_view_part(f, FILTER_PAYLOAD, &size);
    return !payload || payload_passes(payload, size, e);
}

bool filter_wants_stack(const struct filter_view *f, const struct filter_event *e)
{
    struct filter_level_keyword terms;
    uint32_t                    size;
    const uint8_t              *p = filter_view_part(f, FILTER_STACK_LEVEL_KEYWORD, &size);
    if (!(f->property & PROPERTY_STACK_TRACE) || !ids_let_in(f, FILTER_STACK_ID, e) ||
        !names_let_in(f, FILTER_STACK_NAME, e))
        return false;
    if (!p || size < sizeof terms)
        return true;
    memcpy(&terms, p, sizeof terms);
    return terms_match(terms.any, terms.all, terms.level, e->d) == (terms.filter_in != 0);
}

/* u16 size, tag bytes of which all but the last have the high bit, name, NUL. */
const char *filter_event_name(const void *metadata, size_t size)
{
    const uint8_t *p  = metadata;
    size_t         at = sizeof(uint16_t);
    while (at < size && p[at] & 0x80)
        at++;
    at++;
    return at < size && memchr(p + at, 0, size - at) ? (const char *)p + at : NULL;
}
