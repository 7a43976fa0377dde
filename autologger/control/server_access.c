/* server_access.c - CTL_ACCESS: queries and changes security descriptors while the daemon runs. A change is stored
 * first, then takes effect. See server.h; a request is hostile input. */
#include "autologger/control/rights.h"
#include "autologger/control/server_parts.h"

#include <stdlib.h>
#include <string.h>

static void server_access_tell(struct control_server *v, unsigned c, const struct ctl_header *to,
                               struct ctl_access_answer *a)
{
    server_reply(v, c, to, a, sizeof *a + a->bytes, W_SUCCESS);
}

static wstatus query(struct control_server *v, unsigned c, const struct ctl_access_request *m)
{
    struct ctl_access_answer *a = (void *)v->out;
    uint8_t                  *bytes;
    size_t                    size;
    bool                      own;
    wstatus                   st = rights_get_dup(v->hooks.descriptors, &m->object, &own, &bytes, &size);
    if (st)
        return st;
    _Static_assert(sizeof *a + SECURITY_MOST <= CTL_MAX, "one message");
    *a = (struct ctl_access_answer){.own = own, .bytes = (uint32_t)size};
    memcpy(a + 1, bytes, size);
    free(bytes);
    server_access_tell(v, c, &m->header, a);
    return W_SUCCESS;
}

static void server_access_list(struct control_server *v, unsigned c, const struct ctl_access_request *m)
{
    struct ctl_access_answer *a    = (void *)v->out;
    struct guid              *at   = (void *)(a + 1);
    const unsigned            room = (CTL_MAX - sizeof *a) / sizeof *at;
    struct guid               g;
    *a = (struct ctl_access_answer){0};
    for (unsigned i = 0; rights_at(v->hooks.descriptors, i, &g); i++, a->total++)
        if (i >= m->start && a->bytes / sizeof *at < room) {
            memcpy(at++, &g, sizeof g);
            a->bytes += (uint32_t)sizeof g;
        }
    server_access_tell(v, c, &m->header, a);
}

static wstatus server_access_change(struct control_server *v, const struct ctl_access_request *m)
{
    struct security_entry entry = {.rights = m->rights, .deny = m->deny != 0};
    uint8_t              *bytes = NULL;
    size_t                size  = 0;
    struct reason         why;
    if (m->sid_size > sizeof m->sid || !sid_read(m->sid, m->sid_size, &entry.who) || !m->rights ||
        m->rights & ~(uint32_t)ACCESS_ALL)
        return W_INVALID_PARAMETER;
    wstatus st =
        rights_changed_dup(v->hooks.descriptors, &m->object, &entry, m->what == CTL_ACCESS_SET, &bytes, &size, &why);
    st = st ? st : v->hooks.access_save(v->hooks.ctx, &m->object, bytes, size, &why);
    st = st ? st : rights_put(v->hooks.descriptors, &m->object, bytes, size, &why);
    free(bytes);
    return st;
}

static wstatus remove_own(struct control_server *v, const struct ctl_access_request *m)
{
    struct reason why;
    wstatus       st = v->hooks.access_save(v->hooks.ctx, &m->object, NULL, 0, &why);
    if (!st && !rights_drop(v->hooks.descriptors, &m->object))
        st = W_FILE_NOT_FOUND;
    return st;
}

/* A caller that may query the object sees its descriptor; changes need every right. */
wstatus server_access(struct control_server *v, unsigned c, const void *message, size_t size)
{
    const struct ctl_access_request *m     = message;
    const bool                       admin = server_may_control(v, c);
    wstatus                          st;
    (void)size;
    if (m->what == CTL_ACCESS_QUERY)
        return server_granted(v, c, &m->object, ACCESS_QUERY) ? query(v, c, m) : W_ACCESS_DENIED;
    if (m->what > CTL_ACCESS_LIST)
        return W_INVALID_PARAMETER;
    if (!admin)
        return W_ACCESS_DENIED;
    if (m->what == CTL_ACCESS_LIST) {
        server_access_list(v, c, m);
        return W_SUCCESS;
    }
    st = m->what == CTL_ACCESS_REMOVE ? remove_own(v, m) : server_access_change(v, m);
    if (!st)
        server_answer(v, c, &m->header, W_SUCCESS);
    return st;
}
