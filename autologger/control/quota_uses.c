/* quota_uses.c - counts what each user has of what all users share, from the daemon's state (Q3 of quota.h). */
#include "autologger/control/access.h"
#include "autologger/control/quota.h"
#include "autologger/control/server_parts.h"

#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OWN = 1, OTHER = 2, OWNER = 4 };

/* As access_may_control, which asks the kernel each time; this is called for tens of thousands of entries. */
static bool is_owner(uint32_t uid)
{
    static uint32_t own;
    static bool     known;
    own   = known ? own : geteuid();
    known = true;
    return uid == 0 || uid == own;
}

static unsigned who(uint32_t payer, uint32_t uid) { return is_owner(payer) ? OWNER : payer == uid ? OWN : OTHER; }

static void quota_uses_add(struct quota_use *u, uint32_t payer, uint32_t uid, uint64_t amount)
{
    const unsigned w = who(payer, uid);
    u->own += payer == uid ? amount : 0;
    u->others += w == OTHER ? amount : 0;
    u->all += amount;
}

static void use_connections(const struct control_server *v, uint32_t uid, struct quota_use *out)
{
    for (unsigned c = 0; c < STATE_CONNECTIONS; c++)
        if (v->state->connection[c].in_use)
            quota_uses_add(out, v->state->connection[c].uid, uid, 1);
}

static uint32_t registrant(const struct control_server *v, const struct state_registration *r)
{
    return v->state->connection[r->connection].uid;
}

static void use_registrations(const struct control_server *v, uint32_t uid, struct quota_use *out)
{
    for (unsigned c = 0; c < STATE_CONNECTIONS; c++)
        if (v->registered[c]) /* counted from the state at adoption */
            quota_uses_add(out, v->state->connection[c].uid, uid, v->registered[c]);
}

uint32_t quota_payer(const struct session *s) { return s->state->owner.set ? s->state->owner.uid : 0; }

static const struct session *enabler(const struct control_server *v, unsigned slot, unsigned entry)
{
    const struct shm_provider *p = &v->table->directory->shm->provider[slot];
    return p->mask & 1u << entry ? v->table->slot[p->enable[entry].session % SHM_SESSIONS] : NULL;
}

/* The users who pay for each place: those whose sessions enable it or, if no session does, those whose programs have it
 * registered. */
static void payers(const struct control_server *v, uint32_t uid, uint8_t out[SHM_PROVIDERS])
{
    const struct directory *d = v->table->directory;
    memset(out, 0, SHM_PROVIDERS);
    for (int slot = 0; slot < d->used; slot++)
        for (unsigned e = 0; d->shm->provider[slot].mask && e < SHM_PROVIDER_SESSIONS; e++)
            if (enabler(v, (unsigned)slot, e))
                out[slot] |= (uint8_t)who(quota_payer(enabler(v, (unsigned)slot, e)), uid);
    for (unsigned i = 0; i < STATE_REGISTRATIONS; i++) {
        const struct state_registration *r = &v->state->registration[i];
        if (!r->in_use)
            continue;
        const uint8_t w = (uint8_t)who(registrant(v, r), uid);
        if (!d->shm->provider[r->slot].mask)
            out[r->slot] |= w;
        if (state_group(r) >= 0 && !d->shm->provider[state_group(r)].mask)
            out[state_group(r)] |= w;
    }
}

static void payers_add(const struct control_server *v, const uint8_t of[SHM_PROVIDERS], struct quota_use *out)
{
    const struct directory *d = v->table->directory;
    for (int slot = 0; slot < d->used; slot++) {
        out->own += (of[slot] & OWN) != 0;
        out->others += (of[slot] & (OWN | OTHER)) == OTHER;
        out->all += d->shm->provider[slot].generation & 1;
    }
}

static void use_providers(const struct control_server *v, uint32_t uid, struct quota_use *out)
{
    uint8_t of[SHM_PROVIDERS];
    payers(v, uid, of);
    payers_add(v, of, out);
}

bool quota_provider(struct control_server *v, uint32_t uid, const struct guid *provider)
{
    struct quota_use use = {0};
    uint8_t          of[SHM_PROVIDERS];
    if (access_may_control(uid))
        return true;
    const int slot = directory_find(v->table->directory, provider);
    payers(v, uid, of);
    if (slot >= 0 && (of[slot] & OWN || v->table->directory->shm->provider[slot].mask))
        return true;
    payers_add(v, of, &use);
    if (quota_fits(quota_rule(QUOTA_PROVIDERS), SHM_PROVIDERS, &use, false, 1, slot < 0))
        return true;
    quota_refuse(v, QUOTA_PROVIDERS, uid);
    return false;
}

static void use_filters(const struct control_server *v, uint32_t uid, struct quota_use *out)
{
    const struct directory *d = v->table->directory;
    for (int slot = 0; slot < d->used; slot++)
        for (unsigned e = 0; d->shm->provider[slot].mask && e < SHM_PROVIDER_SESSIONS; e++) {
            const struct filter_block *b =
                enabler(v, (unsigned)slot, e) ? directory_filter(d, (unsigned)slot, e) : NULL;
            if (b)
                quota_uses_add(out, quota_payer(enabler(v, (unsigned)slot, e)), uid, b->size);
        }
}

static void use_waits(const struct control_server *v, uint32_t uid, struct quota_use *out)
{
    for (unsigned c = 0; c < STATE_CONNECTIONS; c++)
        if (v->waiting[c])
            quota_uses_add(out, v->state->connection[c].uid, uid, v->waiting[c]);
}

bool quota_may_wait(struct control_server *v, unsigned c)
{
    enum { WAITS_OF_ONE = 16 };
    const uint32_t uid = v->state->connection[c].uid;
    if (v->waiting[c] < WAITS_OF_ONE)
        return quota_allows(v, QUOTA_WAITS, uid, 1);
    quota_refuse(v, QUOTA_WAITS, uid);
    return false;
}

uint32_t quota_unread(struct control_server *v, unsigned c)
{
    int bytes = 0;
    if (v->fd[c] < 0 || ioctl(v->fd[c], SIOCOUTQ, &bytes) < 0 || bytes < 0)
        bytes = 0;
    return v->unread[c] = (uint32_t)bytes;
}

static void use_answers(const struct control_server *v, uint32_t uid, struct quota_use *out)
{
    for (unsigned c = 0; c < STATE_CONNECTIONS; c++)
        if (v->unread[c] && v->fd[c] >= 0)
            quota_uses_add(out, v->state->connection[c].uid, uid, v->unread[c]);
}

/* Memory for events that programs have touched. */
static void use_mapped(const struct control_server *v, uint32_t uid, struct quota_use *out)
{
    enum { BLOCK = 512 };
    struct stat st;
    for (unsigned i = 0; i < SHM_SESSIONS; i++) {
        struct session *s = v->table->slot[i];
        if (!s)
            continue;
        pthread_mutex_lock(&s->lock);
        for (unsigned u = 0; u < s->uid_count; u++)
            if (!s->uid[u].gone && fstat(stream_set_data_fd(s->uid[u].streams), &st) == 0)
                quota_uses_add(out, s->uid[u].uid, uid, (uint64_t)st.st_blocks * BLOCK);
        pthread_mutex_unlock(&s->lock);
    }
}

void quota_uses(const struct control_server *v, unsigned what, uint32_t uid, struct quota_use *out)
{
    static void (*const use[QUOTAS])(const struct control_server *v, uint32_t uid, struct quota_use *out) = {
#define QUOTA_SHARE(id, uses, words, total, part, least, advice) [QUOTA_##id] = use_##uses,
#define QUOTA_RATE(id, words, second, burst, second_more, burst_more, advice)
#include "autologger/control/quota.def"
#undef QUOTA_SHARE
#undef QUOTA_RATE
    };
    *out = (struct quota_use){0};
    if (what < QUOTAS && use[what])
        use[what](v, uid, out);
}

uint64_t quota_total(const struct control_server *v, unsigned what)
{
    enum { MAPPED_TIMES = 4 /* times what sessions may have: a session's streams have address space for that much */ };
    const struct quota_rule *r = quota_rule(what);
    return what == QUOTA_CONNECTIONS ? v->places : what == QUOTA_MAPPED ? MAPPED_TIMES * v->table->ceiling : r->total;
}
