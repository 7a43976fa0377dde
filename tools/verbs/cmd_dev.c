/* autologger dev state: what a daemon holds in shared memory, read past the daemon. */
#include "tools/live/daemon_memory.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/json_out.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/view/session_view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_PID = 'p' };

struct dev_arguments {
    struct cmdline common;
    const char    *what;
    pid_t          pid; /* 0: who listens */
};

static error_t dev_parse(int key, char *arg, struct argp_state *state)
{
    struct dev_arguments *a = state->input;
    char                 *end;
    switch (key) {
    case KEY_PID: {
        errno             = 0;
        const long number = strtol(arg, &end, 10);
        if (errno || end == arg || *end || number <= 0 || number > INT32_MAX)
            argp_error(state, "--pid %s: no process number. Do: pgrep autologgerd", arg);
        a->pid = (pid_t)number;
        return 0;
    }
    case ARGP_KEY_ARG:
        if (a->what || strcmp(arg, "state") != 0)
            argp_error(state, "\"%s\": dev shows the state alone. Do: autologger dev state", arg);
        a->what = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->what)
            argp_error(state, "what? Do: autologger dev state");
        return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

/* ---- counts ---- */

/* Programs that are connected; registrations of them. */
static unsigned connections_of(const struct state_daemon *d)
{
    unsigned n = 0;
    for (unsigned i = 0; i < STATE_CONNECTIONS; i++)
        n += d->connection[i].in_use != 0;
    return n;
}

static unsigned registrations_of(const struct state_daemon *d)
{
    unsigned n = 0;
    for (unsigned i = 0; i < STATE_REGISTRATIONS; i++)
        n += d->registration[i].in_use != 0;
    return n;
}

/* What a user's streams of a session say together. Sums of what programs write: they may be anything. */
struct stream_sums {
    uint64_t bytes, lost, aborts, filtered, overwritten;
};

static struct stream_sums sums_of(const struct memory_streams *set)
{
    struct stream_sums s = {0};
    for (uint32_t i = 0; i < set->streams; i++) {
        const struct shm_stream *x = &set->stream[i];
        s.bytes += x->wpos & ~SHM_CLOSED;
        s.lost += x->lost;
        s.aborts += x->aborts;
        s.filtered += x->filtered;
        s.overwritten += shm_oldest_events(x->oldest);
    }
    return s;
}

/* ---- as text ---- */

static void set_print(const struct memory_streams *set)
{
    const struct shm_control *c = &set->control;
    const struct stream_sums  s = sums_of(set);
    visible_printf(stdout, "    uid %u: %s, %u chunks of %u KB: %u free, %u granted, %u linked, %u stalled", c->uid,
                   c->open == 1 ? "open" : "closed", c->chunk_count, 1u << (c->chunk_shift - 10),
                   set->chunks[SHM_CHUNK_FREE], set->chunks[SHM_CHUNK_POOL], set->chunks[SHM_CHUNK_LINKED],
                   set->chunks[SHM_CHUNK_STALLED]);
    if (!set->has_data) {
        printf("; its streams were not found\n");
        return;
    }
    printf("; %u to take\n", set->in_pool);
    printf("      %" PRIu64 " bytes written, %" PRIu64 " lost, %" PRIu64 " filtered, %" PRIu64 " overwritten, %" PRIu64
           " restarts\n",
           s.bytes, s.lost, s.filtered, s.overwritten, s.aborts);
    for (uint32_t i = 0; i < set->streams; i++)
        if (set->stream[i].wpos & ~SHM_CLOSED || set->stream[i].lost) {
            const char *const name = i + 1 == set->streams ? "fallback" : "CPU";
            visible_printf(stdout, "      %s", name);
            if (i + 1 < set->streams)
                printf(" %u", i);
            printf(": position %" PRIu64 ", %" PRIu64 " events, %" PRIu64 " lost\n", set->stream[i].wpos & ~SHM_CLOSED,
                   set->stream[i].tally >> SHM_TALLY_BITS, set->stream[i].lost);
        }
}

static void memory_session_print(const struct daemon_memory *m, const struct memory_session *at)
{
    const struct state_session *s = at->state;
    visible_printf(stdout, "  session %u \"%.*s\": %s, Status %u, generation %u, %u KB x %u to %u%s\n", s->index,
                   STATE_NAME, s->name, session_state_name(s->state), s->status, s->generation, s->buffer_kb,
                   s->minimum_buffers, s->maximum_buffers, s->kernel ? ", kernel events" : "");
    if (at->slot)
        printf("    published %" PRIu64 " times: %u buffers, %" PRIu64 " events written, file offset %" PRIu64
               ", %" PRIu64 " lost by the file\n",
               s->current, at->slot->buffers_written, at->slot->events_written, at->slot->file_offset,
               at->slot->lost_file);
    else
        printf("    nothing was published yet\n");
    for (unsigned i = 0; i < m->sets; i++)
        if (m->set[i]->control.session == s->index && m->set[i]->control.session_generation == s->generation)
            set_print(m->set[i]);
}

static void memory_print(const struct daemon_memory *m)
{
    const struct state_daemon *d = m->state;
    visible_printf(stdout, "process %d (%s): state version %u, %u daemon%s before this one\n", (int)m->pid, m->program,
                   d->version, d->adopted, plural(d->adopted));
    visible_printf(stdout, "  store %.*s, log folder %.*s, boot %.*s\n", (int)sizeof d->store, d->store,
                   (int)sizeof d->log_dir, d->log_dir, (int)sizeof d->boot_id, d->boot_id);
    visible_printf(stdout, "  file system %s, %s%s, %" PRIu64 " file%s made\n", d->fs_ready ? "ready" : "not ready",
                   d->rehearsal ? "a rehearsal" : "no rehearsal", d->boot_done ? ", boot done" : "", d->files_created,
                   plural(d->files_created));
    printf("  %u of %d connections, %u of %d registrations, %u of %d providers\n", connections_of(d), STATE_CONNECTIONS,
           registrations_of(d), STATE_REGISTRATIONS, m->providers, SHM_PROVIDERS);
    for (unsigned i = 0; i < STATE_CONNECTIONS; i++)
        if (d->connection[i].in_use)
            printf("  connection %u: process %u of uid %u, sessions %016" PRIx64 "\n", d->connection[i].id,
                   d->connection[i].pid, d->connection[i].uid, d->connection[i].attached);
    for (unsigned i = 0; i < m->sessions; i++)
        memory_session_print(m, &m->session[i]);
}

/* ---- as JSON ---- */

static void set_json(const struct memory_streams *set, struct json *j)
{
    static const char *const  states[] = {"free", "granted", "linked", "stalled"};
    const struct shm_control *c        = &set->control;
    json_object(j, NULL);
    json_number(j, "uid", c->uid);
    json_flag(j, "open", c->open == 1);
    json_number(j, "chunk_bytes", UINT64_C(1) << c->chunk_shift);
    json_number(j, "chunks", c->chunk_count);
    for (unsigned i = 0; i < sizeof states / sizeof *states; i++)
        json_number(j, states[i], set->chunks[i]);
    json_flag(j, "streams_found", set->has_data);
    json_number(j, "in_pool", set->in_pool);
    json_array(j, "streams");
    for (uint32_t i = 0; i < set->streams; i++) {
        const struct shm_stream *x = &set->stream[i];
        json_object(j, NULL);
        json_flag(j, "fallback", i + 1 == set->streams);
        json_number(j, "position", x->wpos & ~SHM_CLOSED);
        json_number(j, "events", x->tally >> SHM_TALLY_BITS);
        json_number(j, "lost", x->lost);
        json_number(j, "filtered", x->filtered);
        json_number(j, "overwritten", shm_oldest_events(x->oldest));
        json_number(j, "restarts", x->aborts);
        json_object_end(j);
    }
    json_array_end(j);
    json_object_end(j);
}

static void text_json(struct json *j, const char *name, const char *text, size_t room)
{
    char copy[STATE_KEY];
    snprintf(copy, sizeof copy, "%.*s", (int)room, text);
    json_text(j, name, copy);
}

static void memory_session_json(const struct daemon_memory *m, const struct memory_session *at, struct json *j)
{
    const struct state_session *s = at->state;
    json_object(j, NULL);
    json_number(j, "index", s->index);
    text_json(j, "name", s->name, sizeof s->name);
    json_text(j, "state", session_state_name(s->state));
    json_number(j, "status", s->status);
    json_number(j, "generation", s->generation);
    json_flag(j, "kernel", s->kernel != 0);
    json_number(j, "buffer_kb", s->buffer_kb);
    json_number(j, "minimum_buffers", s->minimum_buffers);
    json_number(j, "maximum_buffers", s->maximum_buffers);
    json_number(j, "published", at->slot ? s->current : 0);
    json_number(j, "buffers_written", at->slot ? at->slot->buffers_written : 0);
    json_number(j, "events_written", at->slot ? at->slot->events_written : 0);
    json_number(j, "file_offset", at->slot ? at->slot->file_offset : 0);
    json_number(j, "lost_file", at->slot ? at->slot->lost_file : 0);
    json_array(j, "users");
    for (unsigned i = 0; i < m->sets; i++)
        if (m->set[i]->control.session == s->index && m->set[i]->control.session_generation == s->generation)
            set_json(m->set[i], j);
    json_array_end(j);
    json_object_end(j);
}

static int memory_json(const struct daemon_memory *m)
{
    const struct state_daemon *d = m->state;
    struct json               *j = json_create(stdout, true);
    if (!j)
        return VERB_REFUSED;
    json_object(j, NULL);
    json_number(j, "pid", (uint64_t)m->pid);
    json_text(j, "program", m->program);
    json_number(j, "version", d->version);
    json_number(j, "adopted", d->adopted);
    text_json(j, "store", d->store, sizeof d->store);
    text_json(j, "log_dir", d->log_dir, sizeof d->log_dir);
    text_json(j, "boot_id", d->boot_id, sizeof d->boot_id);
    json_flag(j, "fs_ready", d->fs_ready != 0);
    json_flag(j, "rehearsal", d->rehearsal != 0);
    json_flag(j, "boot_done", d->boot_done != 0);
    json_number(j, "files_created", d->files_created);
    json_number(j, "registrations", registrations_of(d));
    json_number(j, "providers", m->providers);
    json_array(j, "connections");
    for (unsigned i = 0; i < STATE_CONNECTIONS; i++) {
        const struct state_connection *c = &d->connection[i];
        if (!c->in_use)
            continue;
        json_object(j, NULL);
        json_number(j, "id", c->id);
        json_number(j, "pid", c->pid);
        json_number(j, "uid", c->uid);
        json_number(j, "sessions", c->attached);
        json_object_end(j);
    }
    json_array_end(j);
    json_array(j, "sessions");
    for (unsigned i = 0; i < m->sessions; i++)
        memory_session_json(m, &m->session[i], j);
    json_array_end(j);
    json_object_end(j);
    json_destroy(j);
    return VERB_FINE;
}

int cmd_dev(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"pid", KEY_PID, "PID", 0, "this process: the service, or the keeper after the service's death", 0},
        OPT_RUNTIME_DIR,
        OPT_JSON,
        {0}};
    static const struct argp argp = {
        options,
        dev_parse,
        "state",
        CMDLINE_DOC(
            "For those who debug autologger: what a daemon holds in shared memory: connections, sessions, each user's chunks and streams. "
            "It is read past the daemon, so it shows one that hangs, too. Needs root.",
            "  autologger dev state\n  autologger dev state --pid $(pgrep -o autologgerd) --json"),
        NULL,
        NULL,
        NULL};
    struct dev_arguments  a   = {0};
    struct reason         why = {0};
    struct daemon_memory *m   = NULL;
    int                   code;

    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    wstatus st = a.pid ? W_SUCCESS : daemon_memory_find(a.common.runtime_dir, &a.pid, &why);
    st         = st ? st : daemon_memory_open(a.pid, &m, &why);
    if (st)
        return failure_print("autologger dev", st, &why);
    code = VERB_FINE;
    if (a.common.json)
        code = memory_json(m);
    else
        memory_print(m);
    daemon_memory_close(m);
    return code;
}
