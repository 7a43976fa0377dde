#include "autologger/session/backup_owner.h"

#include "registry-sim/win32/sha256.h"

#include <string.h>

static bool has_kernel_events(const struct session *s) { return s->state->kernel || s->state->tracepoint_count; }

static void rights_of(const struct session *s, uint8_t out[SHA256_SIZE])
{
    memset(out, 0, SHA256_SIZE);
    if (s->env->rights_digest)
        s->env->rights_digest(s->env->rights_ctx, &s->state->guid, has_kernel_events(s), out);
}

/* False: no key. */
static bool backup_owner_seal_of(const struct session *s, const struct backup_mark *m, uint8_t out[SHA256_SIZE])
{
    struct backup_mark sealed = *m;
    _Static_assert(sizeof m->seal == SHA256_SIZE && sizeof m->rights == SHA256_SIZE, "digests");
    sealed.delivered = sealed.check = 0;
    memset(sealed.seal, 0, sizeof sealed.seal);
    memset(out, 0, SHA256_SIZE);
    if (s->env->machine_key)
        hmac_sha256(s->env->machine_key, SHA256_SIZE, &sealed, sizeof sealed, out);
    return s->env->machine_key != NULL;
}

void backup_owner_set(const struct session *s, struct backup_mark *m)
{
    m->magic   = BACKUP_MAGIC;
    m->session = s->state->guid;
    m->owner   = s->state->owner.set ? s->state->owner.uid : 0;
    m->flags   = has_kernel_events(s) ? BACKUP_KERNEL : 0;
    rights_of(s, m->rights);
    backup_owner_seal_of(s, m, m->seal);
}

const char *backup_owner_other(const struct session *s, const struct backup_mark *m)
{
    uint8_t seal[SHA256_SIZE], rights[SHA256_SIZE];
    if (!backup_owner_seal_of(s, m, seal) || !sha256_equal(seal, m->seal))
        return "its mark was not made with this machine's key";
    rights_of(s, rights);
    return !guid_equal(&m->session, &s->state->guid) ? "it is another session's"
           : m->owner != (s->state->owner.set ? s->state->owner.uid : 0)
               ? "another user started the session that wrote it"
           : m->flags != (has_kernel_events(s) ? (uint32_t)BACKUP_KERNEL : 0)
               ? "one has events of the kernel, and the other has not"
           : !sha256_equal(rights, m->rights) ? "other users than then may read the session"
                                              : NULL;
}
