/* service_stop.c - how sessions end. See service_parts.h.
 * The controlling thread asks a session to end and goes on: its logger may wait for storage that is slow, or that never
 * answers again, its drain thread for a process that can't be looked at. The session stays in the table until its
 * logger has ended; then the requester is answered. Only the end of the daemon, and of a boot, wait. */
#include "autologger/daemon/service_parts.h"
#include "registry-sim/base/visible_print.h"

#include <sys/eventfd.h>
#include <unistd.h>

enum { PATIENCE_MS = 5000, LOOK_MS = 20 };

wstatus service_stop(void *ctx, struct session *s, struct reason *why)
{
    struct service *v = ctx;
    (void)why;
    if (s->stopping)
        return W_SUCCESS;
    service_kernel_finish(v, true); /* its sources may still be being opened */
    server_session_gone(v->server, s);
    if (s->private_fd >= 0)
        close(s->private_fd); /* its program has ended: it would wake the loop as long as the session exists */
    s->private_fd = -1;
    session_stop_begin(s);
    for (unsigned i = 0; i < SHM_SESSIONS; i++)
        if (session_is_part(v->table.slot[i], s))
            service_stop(v, v->table.slot[i], why);
    eventfd_write(v->env.changed_fd, 1); /* it may have ended before the loop looked */
    return W_SUCCESS;
}

/* Removes a session that has ended. */
static void leave_table(struct service *v, struct session *s)
{
    struct ctl_session_info final;
    struct reason           why;
    const bool              row = *s->state->key; /* a session that a controller started has nothing to save */
    if (v->options.ended)
        v->options.ended(&v->table, s);
    server_session_ended(v->server, s, v->ending);
    session_info(s, &final);
    if (row) {
        boot_update(&v->table, s, &v->results);
        boot_conclude(&v->results, s->state->key, v->env.cpus);
        service_rows_keep(v); /* before the session is gone: a successor could not ask it any more */
    }
    server_session_stopped(v->server, s, &final);
    table_remove(&v->table, s);
    if (row)
        service_save(v, &why);
    server_held(v->server); /* a client that is told of the end finds the saved results */
}

/* True: it has ended and is removed. Its parts go first: their counters are added to it. */
static bool stop_end(struct service *v, struct session *s, int wait_ms)
{
    if (!session_stop_end(s, wait_ms))
        return false;
    for (unsigned i = 0; i < SHM_SESSIONS; i++)
        if (session_is_part(v->table.slot[i], s) && !stop_end(v, v->table.slot[i], wait_ms))
            return false;
    leave_table(v, s);
    return true;
}

static bool is_stopping(const struct session *s) { return s && s->stopping; }

void service_stop_step(struct service *v)
{
    for (unsigned i = 0; i < SHM_SESSIONS; i++)
        if (is_stopping(v->table.slot[i]))
            stop_end(v, v->table.slot[i], 0);
}

void service_stop_private(struct service *v)
{
    struct reason   why;
    struct session *s;
    while (v->options.gone && (s = v->options.gone(&v->table, v->epoll_fd)))
        service_stop(v, s, &why);
}

void service_stop_asked(struct service *v)
{
    struct reason why;
    for (unsigned i = 0; i < SHM_SESSIONS; i++)
        if (v->table.slot[i] && v->table.slot[i]->state->stop_asked)
            service_stop(v, v->table.slot[i], &why);
}

/* True for sessions that are being ended: all, or the declared ones. */
static bool service_stop_is_awaited(const struct session *s, bool declared_only)
{
    return is_stopping(s) && (!declared_only || *s->state->key);
}

/* Waits for them, at most `patience_ms`. True: none is left. */
static bool wait_for_all(struct service *v, bool declared_only, uint64_t patience_ms)
{
    const uint64_t until = v->env.os->raw_ns(v->env.os) + patience_ms * UINT64_C(1000000);
    bool           all;
    do {
        all = true;
        for (unsigned i = 0; i < SHM_SESSIONS; i++)
            if (service_stop_is_awaited(v->table.slot[i], declared_only) && !stop_end(v, v->table.slot[i], LOOK_MS))
                all = false;
    } while (!all && v->env.os->raw_ns(v->env.os) < until);
    return all;
}

static void wait_on(struct service *v, bool declared_only)
{
    while (!wait_for_all(v, declared_only, PATIENCE_MS))
        ;
}

void service_settle(struct service *v) { wait_on(v, false); }

static void say_waiting(const struct service *v, bool declared_only)
{
    for (unsigned i = 0; i < SHM_SESSIONS; i++)
        if (service_stop_is_awaited(v->table.slot[i], declared_only) && !atomic_load(&v->table.slot[i]->stop))
            visible_line(
                stderr,
                "autologgerd: session %s does not end: what the kernel recorded is still being taken. Do: look for a process whose memory map "
                "or command line cannot be read at once (ps hangs at it, too)",
                v->table.slot[i]->state->name);
        else if (service_stop_is_awaited(v->table.slot[i], declared_only))
            visible_line(
                stderr,
                "autologgerd: session %s does not end: it waits for the storage of %s. Do: look at that file system",
                v->table.slot[i]->state->name, session_log_path(v->table.slot[i]->state));
}

void service_stop_all(struct service *v, bool declared_only)
{
    struct reason why;
    bool          all = true;
    service_kernel_finish(v, true);
    for (unsigned kernel = 0; kernel < 2; kernel++) {
        for (unsigned i = 0; i < SHM_SESSIONS; i++) {
            struct session *s = v->table.slot[i];
            if (s && s->state->kernel == kernel && (!declared_only || *s->state->key))
                service_stop(v, s, &why);
        }
        all = wait_for_all(v, declared_only, PATIENCE_MS);
    }
    if (all)
        return;
    say_waiting(v, declared_only);
    wait_on(v, declared_only); /* what does not end is killed with the machine's stop; what ends later is whole */
}
