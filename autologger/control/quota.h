/* quota.h - how much of what all users share one of them may have, and who was at that limit. The table is quota.def.
 * Invariants  Q1 no user has more than half of what other users left of a shared table, but for the least of its row.
 * Q2 a part of each table is
 *   root's. Q3 what is held is counted from the state when it is asked for, and registrations when it is adopted: a
 *   successor counts the same.
 *   Q4 who was refused or read later is counted by user and row in the daemon's state, and named: in CTL_STATE, and as
 *   a condition of each session that runs.
 * The owner (access_may_control) is root, or the daemon's own user: Q1 is not for it, Q2 neither.
 * Threads: the controlling one. Not for: places of connections, of which the last are kept for controllers
 * (places.h). */
#ifndef AUTOLOGGER_CONTROL_QUOTA_H
#define AUTOLOGGER_CONTROL_QUOTA_H
#include "autologger/wire/shm.h"
#include "autologger/wire/state.h"
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>

struct control_server;
struct session;

enum quota {
#define QUOTA_SHARE(id, uses, words, total, part, least, advice) QUOTA_##id,
#define QUOTA_RATE(id, words, second, burst, second_more, burst_more, advice) QUOTA_##id,
#include "autologger/control/quota.def"
#undef QUOTA_SHARE
#undef QUOTA_RATE
    QUOTAS
};
enum { QUOTA_RATES = 2, QUOTA_RATE_FIRST = QUOTAS - QUOTA_RATES };

struct quota_rule {
    const char *words, *advice;
    bool        rate;
    uint64_t    total, part, least;                     /* of a share */
    uint64_t    second, burst, second_more, burst_more; /* of a rate */
};
struct quota_use {
    uint64_t own, others, all; /* others: of users, without the owner's */
};

const struct quota_rule *quota_rule(unsigned what);

/* ---- shares ---- */

/* May a user who has `use->own` of `total` have `more`, of which `taken` is not in use by anybody yet? */
bool quota_fits(const struct quota_rule *r, uint64_t total, const struct quota_use *use, bool owner, uint64_t more,
                uint64_t taken);
/* What a user has, and how much there is. */
void     quota_uses(const struct control_server *v, unsigned what, uint32_t uid, struct quota_use *out);
uint64_t quota_total(const struct control_server *v, unsigned what);
/* May that user have `more` of it? A refusal is counted (Q4). */
bool quota_allows(struct control_server *v, unsigned what, uint32_t uid, uint64_t more);
/* The same of a provider's place; one that the user pays for already, or that somebody else's session enables, costs
 * nothing. */
bool quota_provider(struct control_server *v, uint32_t uid, const struct guid *provider);
/* Who pays for what a session enables. */
uint32_t quota_payer(const struct session *s);
/* May that connection have one more request that is answered later? Few at a time. */
bool quota_may_wait(struct control_server *v, unsigned c);
/* Was refused. */
void quota_refuse(struct control_server *v, unsigned what, uint32_t uid);
/* Bytes that were sent to that connection and not read yet; from now on these count. */
uint32_t quota_unread(struct control_server *v, unsigned c);

/* ---- rates ---- */

/* One user's tokens, and what it has gained since it was looked at. `more`: of the owner, or of a user who controls
 * sessions. */
struct quota_bucket {
    uint32_t uid;
    bool     used, more;
    uint64_t at_ms, held_until_ms;
    int64_t  left[QUOTA_RATES]; /* below 0: what was taken beyond */
};
void quota_bucket_begin(struct quota_bucket *b, uint32_t uid, bool more, uint64_t now_ms);
void quota_bucket_fill(struct quota_bucket *b, uint64_t now_ms);
void quota_bucket_take(struct quota_bucket *b, uint64_t requests, uint64_t bytes);
/* The rate that is used up, QUOTAS: none; *ms gets how long the next tokens take. */
unsigned quota_bucket_empty(const struct quota_bucket *b, uint64_t *ms);

/* False: the user connects so often that this connection is not taken. `fd`: says whose it is. */
bool quota_may_connect(struct control_server *v, int fd, uint32_t uid);
/* False: nothing is read from that connection until v->held_until_ms of it. */
bool quota_may_read(struct control_server *v, unsigned c);
/* A request of that weight and size was read. One more for each QUOTA_WORK_NS of the thread's processor time that it
 * took: what a request costs can depend on how much all users have. At 2,000 a second a user has a fifth of the
 * thread. */
enum { QUOTA_WORK_NS = 100000 };
void     quota_spend(struct control_server *v, unsigned c, unsigned weight, size_t bytes);
uint64_t quota_now_ms(void);
uint64_t quota_work_ns(void); /* processor time of this thread */

struct quotas;
struct quotas *quotas_create(void); /* NULL: no memory */
void           quotas_destroy(struct quotas *q);
#endif
