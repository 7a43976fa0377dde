/* parts.c - private sessions of several processes (PRIVATE_LOGGER without PRIVATE_IN_PROC). The requested session, the
 * whole, is in the provider's entry of the directory and in the connections' masks. A program gets the streams of its
 * part, a session of its own that is in no entry. So processes do not use up a provider's eight places, and the end of
 * a part concerns no other program.
 * Invariant: a part belongs to one process, and has its whole as long as it lives (daemon/private.c ends it otherwise).
 * Threads: one (controlling). See server_parts.h. */
#include "autologger/control/peer.h"
#include "autologger/control/server_parts.h"
#include "autologger/kernel/source/reach.h"
#include "registry-sim/base/visible_print.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Parts take places of sessions: the most for one whole, and how many stay free for others. */
enum { PARTS_OF_ONE = 16, PLACES_LEFT = 16 };

static struct session *part_find(const struct control_server *v, const struct session *whole,
                                 const struct state_connection *who, unsigned *all)
{
    struct session *found = NULL;
    *all                  = 0;
    for (unsigned i = 0; i < SHM_SESSIONS; i++) {
        struct session *s = v->table->slot[i];
        if (!session_is_part(s, whole))
            continue;
        (*all)++;
        if (peer_is(who, s->state->private_pid, s->state->private_process, s->state->private_start))
            found = s;
    }
    return found;
}

/* ---- selection of processes ---- */

/* Is `path` in `list`, which is joined by ';'? By its file name, or by the whole path. */
static bool listed(const char *list, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (size_t n; *list; list += n + (list[n] == ';')) {
        n = strcspn(list, ";");
        if (n && ((strlen(name) == n && !memcmp(name, list, n)) || (strlen(path) == n && !memcmp(path, list, n))))
            return true;
    }
    return false;
}

static bool is_for(int proc_fd, const struct state_processes *p, uint32_t pid)
{
    bool    pid_meant = !p->pid_count;
    char    link[32], path[4096];
    ssize_t n;
    for (unsigned i = 0; i < p->pid_count && i < STATE_WHOLE_PIDS; i++)
        pid_meant |= p->pid[i] == pid;
    if (!pid_meant || !*p->names)
        return pid_meant;
    snprintf(link, sizeof link, proc_fd > 0 ? "%u/exe" : "/proc/%u/exe", pid);
    n = reach_link(proc_fd, link, path, sizeof path);
    return n > 0 && listed(p->names, path);
}

/* ---- a part begins ---- */

static wstatus parts_room_for(const struct session_table *t, const struct session *whole, unsigned parts,
                              struct reason *why)
{
    const unsigned most = t->most && t->most < SHM_SESSIONS ? t->most : SHM_SESSIONS, places = table_count(t);
    const uint64_t left = t->ceiling > t->memory_used ? t->ceiling - t->memory_used : 0;
    if (parts >= PARTS_OF_ONE)
        return reason_set(why, W_NO_SYSTEM_RESOURCES, "%u processes have a part of it already, at most %d can", parts,
                          PARTS_OF_ONE);
    if (places + PLACES_LEFT >= most)
        return reason_set(why, W_NO_SYSTEM_RESOURCES,
                          "%u of %u places of sessions are taken, and %d are left to others", places, most,
                          PLACES_LEFT);
    if (whole->state->memory_bytes > left)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory is left of what all sessions may have");
    return W_SUCCESS;
}

/* Adds the session of `plan` for that process. A start may be under way, whose rights and owner do not apply to it. */
static wstatus parts_add(struct control_server *v, struct session *whole, const struct plan *plan,
                         const struct state_connection *who, struct session **out, struct reason *why)
{
    struct session_table        *t   = v->table;
    struct session_env          *env = t->env;
    const struct state_processes one = {
        .kind = STATE_PART, .of = whole->state->generation, .begun = whole->state->processes.begun + 1};
    const struct session_table before = *t;
    const struct session_env   around = *env;

    t->may_add     = NULL;
    env->processes = &one;
    env->program   = who;
    env->asks      = whole->state->owner.set ? &whole->state->owner : NULL;
    wstatus st     = table_add(t, plan, out, why);
    t->may_add     = before.may_add;
    env->processes = around.processes;
    env->program   = around.program;
    env->asks      = around.asks;
    return st;
}

/* The first process has the file that was named; the others' names end with their pid, as on Windows. */
static wstatus part_make(struct control_server *v, struct session *whole, const struct state_connection *who,
                         struct session **out, struct reason *why)
{
    const uint32_t              pid = who->pid;
    const struct state_session *w   = whole->state;
    char name[STATE_NAME + 32], path[sizeof w->other_path + 16], file[sizeof w->file_name + 16], own[16] = "",
                                                                                                 none[1] = "";
    struct plan plan = {.name            = name,
                        .key             = none,
                        .guid            = w->guid,
                        .memory_bytes    = w->memory_bytes,
                        .clock_type      = w->clock_type,
                        .log_file_mode   = w->log_file_mode,
                        .max_file_size   = w->max_file_size,
                        .flush_timer     = w->flush_timer,
                        .flush_threshold = w->flush_threshold};
    if (w->processes.begun)
        snprintf(own, sizeof own, "_%u", pid);
    snprintf(name, sizeof name, "%s (process %u)", w->name, pid);
    snprintf(path, sizeof path, "%s%s", w->other_path, own);
    snprintf(file, sizeof file, "%s%s", w->file_name, own);
    plan.file_name             = *w->other_path ? file : NULL; /* BUFFERING has no file */
    plan.log_path              = *w->other_path ? path : NULL;
    plan.given.buffer_kb       = w->buffer_kb;
    plan.given.minimum_buffers = w->minimum_buffers;
    plan.given.maximum_buffers = w->maximum_buffers;
    if (strlen(path) >= sizeof w->log_path || strlen(file) >= sizeof w->file_name)
        return reason_set(why, W_FILENAME_EXCED_RANGE, "the file's name is too long with the number behind it");
    wstatus st = parts_add(v, whole, &plan, who, out, why);
    if (st)
        return st;
    atomic_store(&(*out)->sids, atomic_load(&whole->sids));
    if (v->state->fs_ready)
        session_fs_ready(*out); /* its file is created at once */
    st = session_start(*out, why);
    if (st)
        table_remove(v->table, *out);
    else
        whole->state->processes.begun++;
    return st;
}

/* False: the process is selected, and there is no part for it. */
static bool part_ensure(struct control_server *v, struct session *whole, const struct state_connection *who)
{
    const uint32_t          pid = who->pid;
    struct state_processes *p   = &whole->state->processes;
    struct session         *part;
    struct reason           why = {0};
    unsigned                all;
    if (!is_for(v->table->env->proc_fd, p, pid) || part_find(v, whole, who, &all))
        return true;
    wstatus st =
        pid ? parts_room_for(v->table, whole, all, &why)
            : reason_set(&why, W_NOT_SUPPORTED,
                         "the process is of a namespace whose ids are not seen here: when it ends could not be told");
    st = st ? st : part_make(v, whole, who, &part, &why);
    if (!st)
        return true;
    p->refused++;
    p->status = st;
    visible_line(stderr, "autologgerd: session \"%s\": no part for process %u: %s", whole->state->name, pid, why.text);
    return false;
}

/* ---- for the server ---- */

struct session *parts_of(struct control_server *v, unsigned c, struct session *whole)
{
    unsigned all;
    return part_find(v, whole, &v->state->connection[c], &all);
}

void parts_begin(struct control_server *v, struct session *whole)
{
    const int slot =
        whole->state->processes.kind == STATE_WHOLE ? directory_find(v->table->directory, &whole->state->guid) : -1;
    bool none[STATE_CONNECTIONS] = {false}; /* the connection's failure was reported */
    for (unsigned i = 0; slot >= 0 && i < STATE_REGISTRATIONS; i++) {
        const struct state_registration *r = &v->state->registration[i];
        if (r->in_use && r->slot == (uint32_t)slot && !none[r->connection])
            none[r->connection] = !part_ensure(v, whole, &v->state->connection[r->connection]);
    }
}

/* Tells about other providers that the whole enables and this program registered before. */
static void tell_earlier(struct control_server *v, struct session *whole, const struct state_registration *now)
{
    for (unsigned k = 0; k < STATE_ENABLES && *whole->state->enable[k].key; k++)
        for (unsigned i = 0; whole->state->enable[k].in_use && i < STATE_REGISTRATIONS; i++) {
            const struct state_registration *r = &v->state->registration[i];
            if (r->in_use && r != now && r->connection == now->connection && r->slot == whole->state->enable[k].slot &&
                server_attach_registered(v, r, whole))
                server_tell_enable(v, r, whole, whole->state->enable[k].entry, CTL_CODE_ENABLE);
        }
}

/* A program that got no part: later registrations of that provider are ignored. */
static bool got_none(const struct control_server *v, const struct state_registration *now)
{
    for (unsigned i = 0; i < STATE_REGISTRATIONS; i++) {
        const struct state_registration *r = &v->state->registration[i];
        if (r->in_use & STATE_REGISTERED_NO_PART && r->connection == now->connection && r->slot == now->slot)
            return true;
    }
    return false;
}

void parts_registered(struct control_server *v, unsigned registration)
{
    struct state_registration     *r   = &v->state->registration[registration];
    const struct guid              id  = v->table->directory->shm->provider[r->slot].guid;
    const struct state_connection *who = &v->state->connection[r->connection];
    unsigned                       all;
    for (unsigned i = 0; i < SHM_SESSIONS; i++) {
        struct session *whole = v->table->slot[i];
        if (!whole || whole->state->processes.kind != STATE_WHOLE || !guid_equal(&whole->state->guid, &id) ||
            part_find(v, whole, who, &all) || got_none(v, r))
            continue;
        if (!part_ensure(v, whole, who))
            r->in_use |= STATE_REGISTERED_NO_PART;
        else if (part_find(v, whole, who, &all))
            tell_earlier(v, whole, r);
    }
}

void parts_expect(struct control_server *v, const struct session *whole)
{
    for (unsigned i = 0; i < SHM_SESSIONS && atomic_load(&whole->sids); i++)
        if (session_is_part(v->table->slot[i], whole))
            atomic_store(&v->table->slot[i]->sids, true);
}

void parts_living(const struct control_server *v, const struct session *s, struct ctl_session_info *out)
{
    struct ctl_session_info part;
    for (unsigned i = 0; i < SHM_SESSIONS; i++) {
        if (!session_is_part(v->table->slot[i], s))
            continue;
        session_info(v->table->slot[i], &part);
        out->number_of_buffers += part.number_of_buffers;
        out->free_buffers += part.free_buffers;
#define X(sum) out->sum += part.sum;
        STATE_SUMS(X)
#undef X
        out->peak_bytes += part.peak_bytes;
        out->status = out->status ? out->status : part.status;
    }
}
