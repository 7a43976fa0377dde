/* quota.h - how much of a shared resource one user may have, and which users reached that limit. The table is
 * quota.def.
 * Invariants
 *   Q1 no user has more than half of what other users left of a shared table, except for the least of its row.
 *   Q2 a part of each table is root's.
 *   Q3 what is held is counted from the state when needed, and registrations at adoption: a successor counts the same.
 *   Q4 a refusal or delay is counted by user and row in the daemon's state, and reported: in CTL_STATE, and as a
 *      condition of each running session.
 * The owner (access_may_control) is root, or the daemon's own user: Q1 and Q2 do not limit it.
 * Threads: the controlling one. Not for: places of connections, the last of which are kept for controllers
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
    uint64_t own, others, all; /* others: of other users, without the owner */
};

const struct quota_rule *quota_rule(unsigned what);

/* ---- shares ---- */

/* May a user with `use->own` of `total` have `more`, of which nobody uses `taken` yet? */
bool quota_fits(const struct quota_rule *r, uint64_t total, const struct quota_use *use, bool owner, uint64_t more,
                uint64_t taken);
/* What a user has, and the total. */
void     quota_uses(const struct control_server *v, unsigned what, uint32_t uid, struct quota_use *out);
uint64_t quota_total(const struct control_server *v, unsigned what);
/* May that user have `more` of it? A refusal is counted (Q4). */
bool quota_allows(struct control_server *v, unsigned what, uint32_t uid, uint64_t more);
/* The same for a provider's place; one that the user pays for already, or that any session enables, costs nothing. */
bool quota_provider(struct control_server *v, uint32_t uid, const struct guid *provider);
/* The user who pays for what a session enables. */
uint32_t quota_payer(const struct session *s);
/* May that connection have one more request that is answered later? Only a few at a time. */
bool quota_may_wait(struct control_server *v, unsigned c);
/* Counts and reports a refusal. */
void quota_refuse(struct control_server *v, unsigned what, uint32_t uid);
/* Bytes sent to that connection and not yet read; they count from now on. */
uint32_t quota_unread(struct control_server *v, unsigned c);

/* ---- rates ---- */

/* One user's tokens, as of at_ms. `more`: for the owner, or a user who controls sessions. */
struct quota_bucket {
    uint32_t uid;
    bool     used, more;
    uint64_t at_ms, held_until_ms;
    int64_t  left[QUOTA_RATES]; /* below 0: taken in advance */
};
void quota_bucket_begin(struct quota_bucket *b, uint32_t uid, bool more, uint64_t now_ms);
void quota_bucket_fill(struct quota_bucket *b, uint64_t now_ms);
void quota_bucket_take(struct quota_bucket *b, uint64_t requests, uint64_t bytes);
/* The rate that is used up, or QUOTAS: none; *ms gets the time until the next tokens. */
unsigned quota_bucket_empty(const struct quota_bucket *b, uint64_t *ms);

/* False: the user connects so often that this connection is not accepted. `fd`: the connection, for its groups. */
bool quota_may_connect(struct control_server *v, int fd, uint32_t uid);
/* False: nothing is read from that connection until v->held_until_ms of it. */
bool quota_may_read(struct control_server *v, unsigned c);
/* Charges a request of that weight and size, and one more for each QUOTA_WORK_NS of the thread's processor time that it
 * took: a request's cost can depend on how much all users have. At 2,000 a second a user has a fifth of the thread. */
enum { QUOTA_WORK_NS = 100000 };
void     quota_spend(struct control_server *v, unsigned c, unsigned weight, size_t bytes);
uint64_t quota_now_ms(void);
uint64_t quota_work_ns(void); /* processor time of this thread */

struct quotas;
struct quotas *quotas_create(void); /* NULL: no memory */
void           quotas_destroy(struct quotas *q);
#endif
