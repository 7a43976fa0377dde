/* channel_service.c - see channel_service.h. */
#include "tools/channels/channel_service.h"
#include "autologger/consumer/live.h"
#include "autologger/control/client.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/channels/channel_event.h"
#include "tools/channels/channel_list.h"
#include "tools/files/describe.h"
#include "tools/live/session_start.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHANNEL_VERB "autologger channels"
enum { DRAIN_SECONDS = 60, SEND_TRIES = 40, SEND_TRIES_AT_END = 4 };
struct channel_service {
    const struct channel_service_options *options;
    char                                  folder[PUBLISHERS_PATH]; /* of installed manifests */
    struct channel_list                   list, before;            /* before: of the last reading */
    struct describe                       describe;
    struct channel_events                 events;
    int                                   journal;
    struct live_losses                    lost; /* that the journal knows of */
    uint64_t                              written;
    bool                                  opened;
};

static _Atomic(struct live *) channel_reader;                            /* for signals and the watcher */
static pthread_mutex_t        channel_guard = PTHREAD_MUTEX_INITIALIZER; /* the watcher uses no closed reader */
static volatile sig_atomic_t  channel_ends;
static _Atomic bool           channel_changed;

static void channel_wake(void)
{
    struct live *l = atomic_load(&channel_reader);
    if (l)
        live_stop(l);
}

/* Runs in the thread that opens and closes the reader. */
static void channel_on_signal(int number)
{
    (void)number;
    channel_ends = 1;
    channel_wake();
}

static void channel_reader_set(struct live *l)
{
    pthread_mutex_lock(&channel_guard);
    atomic_store(&channel_reader, l);
    pthread_mutex_unlock(&channel_guard);
}

/* ---- what is enabled ---- */

static wstatus channel_load(struct channel_service *s, struct reason *why)
{
    const struct cmdline c     = {.store = s->options->store, .store_given = true};
    struct regstore     *store = NULL;
    wstatus              st    = store_access_open(&c, false, &store, why);
    channel_list_finish(&s->before);
    s->before = s->list;
    s->list   = (struct channel_list){0};
    st        = st ? st : channel_list_load(store, s->folder, &s->list, why);
    regstore_close(store);
    return st;
}

/* The bits of all channels of this provider that are on. */
static uint64_t channel_mask(const struct channel_list *list, const struct guid *guid)
{
    uint64_t mask = 0;
    for (unsigned i = 0; i < list->count; i++)
        if (list->row[i].on && guid_equal(&list->row[i].guid, guid))
            mask |= list->row[i].keyword;
    return mask;
}

/* Starts the session; one that a dead service left goes on, with the events that wait there. */
static wstatus channel_session_start(struct control_client *c, struct reason *why)
{
    struct ctl_update_answer *answer = calloc(1, sizeof *answer);
    struct regstore          *store  = NULL;
    struct guid               id     = guid_from_name(CHANNEL_SESSION);
    char                      guid[GUID_TEXT_SIZE];
    wstatus                   st = answer ? regstore_open_memory(&store, why) : W_NOT_ENOUGH_MEMORY;
    st                           = st ? st : session_value_set(store, CHANNEL_SESSION, NULL, "Start", "yes", why);
    st = st ? st : session_value_set(store, CHANNEL_SESSION, NULL, "Guid", guid_format(&id, guid), why);
    st = st ? st : session_value_set(store, CHANNEL_SESSION, NULL, "LogFileMode", "REAL_TIME", why);
    st = st ? st : session_value_set(store, CHANNEL_SESSION, NULL, "FlushTimer", "1", why);
    st = st ? st : session_start_declared(c, store, "Autologger\\" CHANNEL_SESSION, answer, why);
    regstore_close(store);
    free(answer);
    return st == W_ALREADY_EXISTS ? W_SUCCESS : st;
}

/* Each provider once: enabled for its channels that are on, or disabled. */
static void channel_enable_all(struct channel_service *s, struct control_client *c)
{
    struct reason why = {0};
    for (unsigned i = 0; i < s->list.count; i++) {
        const struct guid        *guid = &s->list.row[i].guid;
        struct ctl_enable_request r    = {.provider = *guid, .any = channel_mask(&s->list, guid)};
        bool                      done = false;
        for (unsigned k = 0; k < i && !done; k++)
            done = guid_equal(&s->list.row[k].guid, guid);
        if (done)
            continue;
        r.code           = r.any ? CTL_CODE_ENABLE : CTL_CODE_DISABLE;
        const wstatus st = control_enable(c, &r, CHANNEL_SESSION, 0, &why);
        if (st && (r.any || st != W_WMI_GUID_NOT_FOUND)) /* else it was not enabled */
            visible_printf(stderr, CHANNEL_VERB ": %s: %s\n", s->list.row[i].provider, why.text);
    }
}

/* Providers whose manifests are no longer installed. */
static void channel_disable_gone(struct channel_service *s, struct control_client *c)
{
    struct reason why;
    for (unsigned i = 0; i < s->before.count; i++) {
        struct ctl_enable_request r    = {.provider = s->before.row[i].guid, .code = CTL_CODE_DISABLE};
        bool                      here = false;
        for (unsigned k = 0; k < s->list.count && !here; k++)
            here = guid_equal(&s->list.row[k].guid, &r.provider);
        if (!here)
            control_enable(c, &r, CHANNEL_SESSION, 0, &why);
    }
    channel_list_finish(&s->before);
}

/* Reads the channels, and makes session and descriptions fit them. */
static wstatus channel_apply(struct channel_service *s, struct reason *why)
{
    struct control_client *c    = NULL;
    int                    code = VERB_FINE;
    atomic_store(&channel_changed, false);
    wstatus st = channel_load(s, why);
    st         = st ? st : control_open(s->options->runtime_dir, &c, why);
    st         = st ? st : channel_session_start(c, why);
    if (!st) {
        channel_enable_all(s, c);
        channel_disable_gone(s, c);
    }
    control_close(c);
    if (st)
        return st;
    describe_close(&s->describe);
    s->describe = (struct describe){.store = s->options->store};
    if (!describe_open(&s->describe, CHANNEL_VERB, &code))
        return reason_set(why, W_GEN_FAILURE, "the descriptions of events could not be read");
    s->events.schemas = s->describe.set;
    unsigned on       = 0;
    for (unsigned i = 0; i < s->list.count; i++)
        on += s->list.row[i].on;
    visible_printf(stderr, CHANNEL_VERB ": %u of %u channels are on\n", on, s->list.count);
    if (s->list.unread)
        visible_printf(stderr, CHANNEL_VERB ": %u manifest%s could not be read: %s\n", s->list.unread,
                       plural(s->list.unread), s->list.why.text);
    return W_SUCCESS;
}

/* ---- what is written ---- */

static bool channel_wanted(void *ctx, const char *name)
{
    const struct channel_service *s = ctx;
    const struct channel_row     *r = channel_list_find(&s->list, name);
    return r && r->on;
}

/* Waits for a journal that restarts. */
static wstatus channel_send(struct channel_service *s, const struct journal_message *r, struct reason *why)
{
    wstatus st = W_SUCCESS;
    for (unsigned tries = 0; tries < (channel_ends ? SEND_TRIES_AT_END : SEND_TRIES); tries++) {
        if (s->journal < 0)
            st = journal_connect(s->options->socket, &s->journal, why);
        if (s->journal >= 0 && !(st = journal_send(s->journal, r, why)))
            return W_SUCCESS;
        if (st == W_NOT_ENOUGH_MEMORY)
            return st;
        if (s->journal >= 0 && st != W_RETRY) {
            close(s->journal);
            s->journal = -1;
        }
        nanosleep(&(struct timespec){0, 500000000}, NULL);
    }
    return st;
}

static wstatus channel_losses(struct channel_service *s, struct live *l, struct reason *why)
{
    const struct live_losses now    = live_losses(l);
    struct journal_message   record = {0};
    char                     text[160];
    wstatus                  st = W_SUCCESS;
    if (now.events > s->lost.events || now.buffers > s->lost.buffers || now.files > s->lost.files) {
        snprintf(text, sizeof text, "%" PRIu64 " events of channels were lost (%u buffers, %u backup files)",
                 now.events - s->lost.events, now.buffers - s->lost.buffers, now.files - s->lost.files);
        record_text(&record, "PRIORITY", "4");
        record_text(&record, "SYSLOG_IDENTIFIER", "autologger");
        record_text(&record, "MESSAGE", text);
        st = channel_send(s, &record, why);
        record_finish(&record);
        s->lost = now;
    }
    return st;
}

static wstatus channel_window(struct channel_service *s, struct etl_reader *reader, struct reason *why)
{
    struct etl_event e;
    wstatus          st = W_SUCCESS;
    while (!st && etl_next(reader, &e)) {
        struct journal_message record = {0};
        if (channel_event_record(&s->events, &e, channel_wanted, s, &record)) {
            st = channel_send(s, &record, why);
            s->written += !st;
        }
        record_finish(&record);
    }
    return st;
}

/* Writes what comes until live_next is stopped (W_CANCELLED) or the session has ended (W_SUCCESS). */
static wstatus channel_windows(struct channel_service *s, struct live *l, struct reason *why)
{
    struct etl_reader *reader;
    wstatus            st;
    while (!(st = live_next(l, &reader, why)) && reader && !(st = channel_window(s, reader, why)) &&
           !(st = channel_losses(s, l, why)))
        ;
    return st;
}

/* *ended: the session has ended. */
static wstatus channel_read(struct channel_service *s, bool *ended, struct reason *why)
{
    struct live *l  = NULL;
    wstatus      st = live_open(s->options->runtime_dir, CHANNEL_SESSION, &l, why);
    if (st)
        return st;
    if (!s->opened)
        s->lost = live_losses(l); /* of an earlier service */
    s->opened = true;
    channel_reader_set(l);
    if (channel_ends || atomic_load(&channel_changed))
        live_stop(l); /* it came before there was a reader to wake */
    st     = channel_windows(s, l, why);
    *ended = !st;
    channel_reader_set(NULL);
    live_close(l, !st || st == W_CANCELLED);
    return st == W_CANCELLED ? W_SUCCESS : st;
}

/* Stops the session, and writes what waits there. */
static wstatus channel_end(struct channel_service *s, struct reason *why)
{
    struct control_client  *c = NULL;
    struct live            *l = NULL;
    struct ctl_session_info last;
    wstatus                 st = live_open(s->options->runtime_dir, CHANNEL_SESSION, &l, why);
    st                         = st ? st : control_open(s->options->runtime_dir, &c, why);
    st                         = st ? st : control_stop(c, CHANNEL_SESSION, &last, why);
    control_close(c);
    if (!st) {
        channel_reader_set(l);
        alarm(DRAIN_SECONDS);
        st = channel_windows(s, l, why);
        alarm(0);
        channel_reader_set(NULL);
    }
    live_close(l, !st);
    if (st == W_CANCELLED) {
        visible_printf(stderr, CHANNEL_VERB ": what still waited after %d s did not get to the journal\n",
                       DRAIN_SECONDS);
        st = W_SUCCESS;
    }
    return st;
}

/* ---- the folder of manifests ---- */

static void *channel_watch(void *ctx)
{
    struct channel_service *s  = ctx;
    const int               fd = inotify_init1(IN_CLOEXEC);
    char                    room[4096] __attribute__((aligned(8)));
    if (mkdir(s->folder, 0755) == 0)
        chmod(s->folder, 0755); /* all users read manifests; the unit's umask is another one */
    if (fd < 0 || inotify_add_watch(fd, s->folder, IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE) < 0) {
        visible_printf(stderr, CHANNEL_VERB ": %s: %s. Changes of channels take effect at the next start\n", s->folder,
                       strerror(errno));
        return NULL;
    }
    for (;;) {
        const ssize_t n = read(fd, room, sizeof room);
        if (n < 0 && errno != EINTR)
            return NULL;
        atomic_store(&channel_changed, true);
        pthread_mutex_lock(&channel_guard);
        channel_wake();
        pthread_mutex_unlock(&channel_guard);
    }
}

static void channel_begin(struct channel_service *s)
{
    const struct sigaction action = {.sa_handler = channel_on_signal};
    pthread_t              watcher;
    sigset_t               all, was;
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    sigfillset(&all); /* signals are this thread's */
    pthread_sigmask(SIG_BLOCK, &all, &was);
    if (pthread_create(&watcher, NULL, channel_watch, s) == 0)
        pthread_detach(watcher);
    pthread_sigmask(SIG_SETMASK, &was, NULL);
}

int channel_service_run(const struct channel_service_options *o)
{
    static struct channel_service s;
    struct reason                 why   = {0};
    bool                          ended = false;
    s                                   = (struct channel_service){.options = o, .journal = -1};
    publishers_beside(o->store, s.folder);
    wstatus st = journal_connect(o->socket, &s.journal, &why);
    if (!st)
        channel_begin(&s);
    while (!st && !ended && !channel_ends && !(st = channel_apply(&s, &why)))
        st = channel_read(&s, &ended, &why);
    if (!st && ended && !channel_ends)
        st = reason_set(&why, W_WMI_INSTANCE_NOT_FOUND, "the session %s was stopped by somebody else", CHANNEL_SESSION);
    else if (!st && !ended)
        st = channel_end(&s, &why);
    visible_printf(stderr, CHANNEL_VERB ": %" PRIu64 " events went to the journal\n", s.written);
    if (s.journal >= 0)
        close(s.journal);
    channel_events_finish(&s.events);
    describe_close(&s.describe);
    channel_list_finish(&s.list);
    channel_list_finish(&s.before);
    return st ? failure_print_about(ABOUT_DAEMON, CHANNEL_VERB, st, &why) : VERB_FINE;
}
