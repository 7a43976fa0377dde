/* server_none.c - for the early program: it creates nothing for controllers, and only answers about sessions. See
 * server_files.c, server_access.c. */
#include "autologger/control/server_parts.h"

static wstatus server_none_none(void) { return W_NOT_SUPPORTED; }

wstatus server_on_start(struct control_server *v, unsigned c, const void *message, size_t size)
{
    (void)v, (void)c, (void)message, (void)size;
    return server_none_none();
}
wstatus server_on_update(struct control_server *v, unsigned c, const void *message, size_t size)
{
    (void)v, (void)c, (void)message, (void)size;
    return server_none_none();
}
wstatus server_on_snapshot(struct control_server *v, unsigned c, const void *message, size_t size)
{
    (void)v, (void)c, (void)message, (void)size;
    return server_none_none();
}
wstatus server_on_next_file(struct control_server *v, unsigned c, const void *message, size_t size)
{
    (void)v, (void)c, (void)message, (void)size;
    return server_none_none();
}
wstatus held_stop(struct control_server *v, unsigned c, const struct ctl_header *m, struct session *s)
{
    (void)v, (void)c, (void)m, (void)s;
    return server_none_none();
}
wstatus held_flush(struct control_server *v, unsigned c, const struct ctl_header *m, struct session *s)
{
    (void)v, (void)c, (void)m, (void)s;
    return server_none_none();
}
void server_held(struct control_server *v) { (void)v; }
void server_session_stopped(struct control_server *v, struct session *s, const struct ctl_session_info *final)
{
    (void)v, (void)s, (void) final;
}

wstatus server_on_access(struct control_server *v, unsigned c, const void *message, size_t size)
{
    (void)v, (void)c, (void)message, (void)size;
    return server_none_none();
}
wstatus server_on_declaration(struct control_server *v, unsigned c, const void *message, size_t size)
{
    (void)v, (void)c, (void)message, (void)size;
    return server_none_none();
}
wstatus server_on_terms(struct control_server *v, unsigned c, const void *message, size_t size)
{
    (void)v, (void)c, (void)message, (void)size;
    return server_none_none();
}
wstatus server_on_providers(struct control_server *v, unsigned c, const void *message, size_t size)
{
    (void)v, (void)c, (void)message, (void)size;
    return server_none_none();
}
