/* quota.c - see quota.h: the rules, the buckets, and the reports. quota_uses.c counts what is in use. */
#include "autologger/control/quota.h"
#include "autologger/control/access.h"
#include "autologger/control/server_parts.h"
#include "registry-sim/base/visible_print.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    BUCKETS         = STATE_CONNECTIONS,
    NOTE_AGAIN_MS   = 10000,
    MS              = 1000,
    HOLD_PART       = 10 /* of a second's tokens, before a held user is read again */,
    CONNECTED_PART  = 20 /* of them, which new connections leave to the existing ones */,
    UNREAD_AGAIN_MS = 50
};

struct quotas {
    unsigned            count;
    struct quota_bucket bucket[BUCKETS]; /* the last is shared by all other users */
    uint64_t            noted_ms[STATE_QUOTAS];
};

static const struct quota_rule quota_rules[QUOTAS] = {
#define QUOTA_SHARE(id, uses, words_, total_, part_, least_, advice_) \
    [QUOTA_##id] = {.words = words_, .advice = advice_, .total = total_, .part = part_, .least = least_},
#define QUOTA_RATE(id, words_, second_, burst_, second_more_, burst_more_, advice_) \
    [QUOTA_##id] = {.words       = words_, \
                    .advice      = advice_, \
                    .rate        = true, \
                    .second      = second_, \
                    .burst       = burst_, \
                    .second_more = second_more_, \
                    .burst_more  = burst_more_},
#include "autologger/control/quota.def"
#undef QUOTA_SHARE
#undef QUOTA_RATE
};
_Static_assert((int)QUOTA_REQUESTS == (int)QUOTA_RATE_FIRST && (int)QUOTA_BYTES == (int)QUOTA_RATE_FIRST + 1,
               "the rates are the last rows");

const struct quota_rule *quota_rule(unsigned what) { return &quota_rules[what < QUOTAS ? what : 0]; }

uint64_t quota_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * MS + (uint64_t)t.tv_nsec / 1000000;
}

uint64_t quota_work_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- shares ---- */

bool quota_fits(const struct quota_rule *r, uint64_t total, const struct quota_use *use, bool owner, uint64_t more,
                uint64_t taken)
{
    const uint64_t kept = !owner && r->part ? total / r->part : 0, own = use->own + more;
    if (more > total || (taken && use->all + taken > total - kept))
        return false;
    const uint64_t left = total > use->others ? total - use->others : 0;
    return owner || own <= r->least || own <= left / 2;
}

bool quota_allows(struct control_server *v, unsigned what, uint32_t uid, uint64_t more)
{
    struct quota_use use;
    if (access_may_control(uid)) /* the tables themselves report that they are full */
        return true;
    quota_uses(v, what, uid, &use);
    if (quota_fits(&quota_rules[what], quota_total(v, what), &use, false, more, more))
        return true;
    quota_refuse(v, what, uid);
    return false;
}

/* ---- reports ---- */

/* Sessions that have begun since get the condition too; the daemon's log has it once, so that a hostile user cannot
 * fill it. */
static void quota_note(struct control_server *v, unsigned what, uint32_t uid, bool first)
{
    char item[80], text[200];
    snprintf(item, sizeof item, "%s of uid %u", quota_rules[what].words, uid);
    if (quota_rules[what].rate)
        snprintf(text, sizeof text, "uid %u sends more %s than one user may: they are read later, %llu a second", uid,
                 quota_rules[what].words, (unsigned long long)quota_rules[what].second);
    else
        snprintf(text, sizeof text, "uid %u is at its limit of %s: a user may have half of what others leave of %llu",
                 uid, quota_rules[what].words, (unsigned long long)quota_total(v, what));
    for (unsigned s = 0; s < SHM_SESSIONS; s++)
        if (v->table->slot[s])
            server_note_once(v->table->slot[s], W_NO_SYSTEM_RESOURCES, item, text, quota_rules[what].advice);
    if (first)
        visible_line(stderr, "autologgerd: %s. Do: %s", text, quota_rules[what].advice);
}

void quota_refuse(struct control_server *v, unsigned what, uint32_t uid)
{
    unsigned       i   = 0;
    const uint64_t now = quota_now_ms();
    while (i < STATE_QUOTAS - 1 && v->state->quota[i].refused &&
           (v->state->quota[i].uid != uid || v->state->quota[i].what != what))
        i++;
    const bool others       = i == STATE_QUOTAS - 1;
    v->state->quota[i].uid  = others ? STATE_REFUSED_OTHERS : uid;
    v->state->quota[i].what = what;
    v->state->quota[i].refused++;
    if (!v->quotas || (v->quotas->noted_ms[i] && now - v->quotas->noted_ms[i] < NOTE_AGAIN_MS))
        return;
    quota_note(v, what, uid, !v->quotas->noted_ms[i]);
    v->quotas->noted_ms[i] = now;
}

/* ---- rates ---- */

static uint64_t second_of(unsigned rate, bool more)
{
    return more ? quota_rules[QUOTA_RATE_FIRST + rate].second_more : quota_rules[QUOTA_RATE_FIRST + rate].second;
}
static uint64_t burst_of(unsigned rate, bool more)
{
    return more ? quota_rules[QUOTA_RATE_FIRST + rate].burst_more : quota_rules[QUOTA_RATE_FIRST + rate].burst;
}

void quota_bucket_begin(struct quota_bucket *b, uint32_t uid, bool more, uint64_t now_ms)
{
    *b = (struct quota_bucket){.uid = uid, .used = true, .more = more, .at_ms = now_ms};
    for (unsigned r = 0; r < QUOTA_RATES; r++)
        b->left[r] = (int64_t)burst_of(r, more);
}

void quota_bucket_fill(struct quota_bucket *b, uint64_t now_ms)
{
    enum { LONGEST_MS = 3600 * MS };
    const uint64_t past = now_ms > b->at_ms ? now_ms - b->at_ms : 0, ms = past < LONGEST_MS ? past : LONGEST_MS;
    for (unsigned r = 0; r < QUOTA_RATES; r++) {
        const int64_t most = (int64_t)burst_of(r, b->more), gained = (int64_t)(second_of(r, b->more) * ms / MS);
        b->left[r] = b->left[r] + gained < most ? b->left[r] + gained : most;
    }
    b->at_ms = now_ms;
}

void quota_bucket_take(struct quota_bucket *b, uint64_t requests, uint64_t bytes)
{
    b->left[(int)QUOTA_REQUESTS - (int)QUOTA_RATE_FIRST] -= (int64_t)requests;
    b->left[(int)QUOTA_BYTES - (int)QUOTA_RATE_FIRST] -= (int64_t)bytes;
}

unsigned quota_bucket_empty(const struct quota_bucket *b, uint64_t *ms)
{
    unsigned what = QUOTAS;
    *ms           = 0;
    for (unsigned r = 0; r < QUOTA_RATES; r++) {
        const uint64_t second = second_of(r, b->more);
        if (b->left[r] > 0)
            continue;
        const uint64_t wait = ((uint64_t)-b->left[r] + second / HOLD_PART) * MS / second + 1;
        what                = wait > *ms ? QUOTA_RATE_FIRST + r : what;
        *ms                 = wait > *ms ? wait : *ms;
    }
    return what;
}

/* Its last use is so long ago that a new bucket would be the same. */
static bool quota_is_full(const struct quota_bucket *b, uint64_t now)
{
    struct quota_bucket then = *b;
    quota_bucket_fill(&then, now);
    for (unsigned r = 0; r < QUOTA_RATES; r++)
        if (then.left[r] < (int64_t)burst_of(r, b->more))
            return false;
    return true;
}

static struct quota_bucket *bucket_of(struct quotas *q, uint32_t uid, bool more, uint64_t now)
{
    struct quota_bucket *idle = NULL;
    for (unsigned i = 0; i < q->count; i++) {
        struct quota_bucket *b = &q->bucket[i];
        if (b->uid == uid && b->more == more) {
            quota_bucket_fill(b, now);
            return b;
        }
        if (!idle && i + 1 < BUCKETS && quota_is_full(b, now))
            idle = b;
    }
    if (!idle && q->count < BUCKETS)
        idle = &q->bucket[q->count++];
    if (idle)
        quota_bucket_begin(idle, uid, more, now);
    else
        quota_bucket_fill(idle = &q->bucket[BUCKETS - 1], now);
    return idle;
}

/* Root and users who may control sessions have buckets of their own: another program of the user, without that right,
 * can't empty them. */
static bool has_more(const struct control_server *v, int fd, uint32_t uid)
{
    /* DefaultTraceSecurityGuid */
    static const struct guid anything = {0x0811c1af, 0x7a07, 0x4a06, {0x82, 0xed, 0x86, 0x94, 0x55, 0xcd, 0xf7, 0x13}};
    return access_granted(v->hooks.rights, fd, uid, &anything, ACCESS_GUID_ENABLE);
}

static bool leaves_enough(const struct quota_bucket *b)
{
    return b->left[0] > (int64_t)(second_of(0, b->more) / CONNECTED_PART);
}

bool quota_may_connect(struct control_server *v, int fd, uint32_t uid)
{
    const uint64_t now = quota_now_ms();
    if (!v->quotas)
        return true;
    struct quota_bucket *b = bucket_of(v->quotas, uid, access_may_control(uid), now);
    if (!leaves_enough(b) && !b->more && has_more(v, fd, uid))
        b = bucket_of(v->quotas, uid, true, now);
    if (!leaves_enough(b) && !access_may_control(uid)) {
        quota_refuse(v, QUOTA_REQUESTS, uid);
        return false;
    }
    quota_bucket_take(b, 1, 0);
    return true;
}

static struct quota_bucket *bucket_for(struct control_server *v, unsigned c, uint64_t now)
{
    const uint32_t       uid = v->state->connection[c].uid;
    struct quota_bucket *b   = bucket_of(v->quotas, uid, v->more[c] == QUOTA_MORE || access_may_control(uid), now);
    uint64_t             ms;
    if (b->more || v->more[c] == QUOTA_NO_MORE || quota_bucket_empty(b, &ms) == QUOTAS)
        return b;
    v->more[c] = has_more(v, v->fd[c], uid) ? QUOTA_MORE : QUOTA_NO_MORE; /* checked only when needed */
    return v->more[c] == QUOTA_MORE ? bucket_of(v->quotas, uid, true, now) : b;
}

/* It requests more than it reads. */
static bool reads_too_little(struct control_server *v, unsigned c, uint64_t now)
{
    enum { LITTLE = 4096 };
    const uint32_t uid = v->state->connection[c].uid;
    if (access_may_control(uid) || quota_unread(v, c) <= LITTLE || quota_allows(v, QUOTA_ANSWERS, uid, 0))
        return false;
    v->held_until_ms[c] = now + UNREAD_AGAIN_MS;
    return true;
}

bool quota_may_read(struct control_server *v, unsigned c)
{
    const uint64_t now = quota_now_ms();
    uint64_t       ms;
    v->held_until_ms[c] = 0;
    if (!v->quotas)
        return true;
    struct quota_bucket *b    = bucket_for(v, c, now);
    const unsigned       what = quota_bucket_empty(b, &ms);
    if (what == QUOTAS)
        return !reads_too_little(v, c, now);
    v->held_until_ms[c] = now + ms;
    if (now >= b->held_until_ms) /* all connections of the user wait for the same tokens */
        quota_refuse(v, what, v->state->connection[c].uid);
    b->held_until_ms = now + ms;
    return false;
}

void quota_spend(struct control_server *v, unsigned c, unsigned weight, size_t bytes)
{
    if (v->quotas)
        quota_bucket_take(bucket_for(v, c, quota_now_ms()), weight, bytes);
}

struct quotas *quotas_create(void) { return calloc(1, sizeof(struct quotas)); }
void           quotas_destroy(struct quotas *q) { free(q); }
