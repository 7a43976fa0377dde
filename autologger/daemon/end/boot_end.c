#include "autologger/daemon/end/boot_end.h"

#include "autologger/daemon/early/guard.h"
#include "autologger/daemon/end/boot_watch.h"
#include "autologger/daemon/end/merge_job.h"
#include "autologger/daemon/end/unmerged.h"
#include "autologger/daemon/sleep_watch.h"
#include "autologger/plan/boot_settings.h"
#include "registry-sim/base/visible_print.h"
#include "registry-sim/store/change_number.h"
#include "registry-sim/store/snapshot.h"
#include "registry-sim/text/winpath.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define MS UINT64_C(1000000)
enum { GIVE_UP_MS = 300000 /* limit for idleness, when only the guard waits for it */ };
#define SHUTDOWN_MERGE_BYTES (UINT64_C(256) << 20)

struct boot_end {
    struct boot_end_options o;
    struct os              *os;
    struct boot_part        part;
    struct boot_host        host;
    /* refused: a merge failed, and is not tried again */
    bool                 attached, began, gave_up, had_sessions, refused;
    bool                 rows_final; /* only the removal of merged files is left to do */
    bool                 once;       /* the configuration is for one boot */
    bool                 used_up_told;
    uint64_t             change; /* the configuration that the guard is about */
    struct boot_settings settings;
    struct guard         guard;
    struct boot_watch   *watch;
    struct sleep_watch   sleep;
    int                  timer_fd;
    struct merge_parts   parts;
    struct merge_job     job;
    struct unmerged      unmerged; /* of earlier boots */
};

const char *boot_time_text(uint64_t milliseconds, char out[32])
{
    if (milliseconds && milliseconds % 60000 == 0)
        snprintf(out, 32, "%" PRIu64 " min", milliseconds / 60000);
    else if (milliseconds % 1000 == 0)
        snprintf(out, 32, "%" PRIu64 " s", milliseconds / 1000);
    else
        snprintf(out, 32, "%.1f s", (double)milliseconds / 1000);
    return out;
}

static struct state_boot *state(const struct boot_end *b) { return &b->host.state->boot; }

static void boot_end_complain(const struct reason *why) { visible_line(stderr, "autologgerd: %s", why->text); }

/* ---- may it be traced? ---- */

static void marker_path(const struct boot_end *b, char *out, size_t size)
{
    snprintf(out, size, "%s/booted", b->o.runtime_dir);
}

/* The runtime folder does not outlive the boot, but a daemon that is started a second time finds the first one's
 * mark. */
static bool marked(const struct boot_end *b, const char *boot_id)
{
    char path[1100], line[80] = "";
    marker_path(b, path, sizeof path);
    FILE *f = fopen(path, "re");
    if (f) {
        if (!fgets(line, sizeof line, f))
            *line = 0;
        fclose(f);
    }
    line[strcspn(line, "\n")] = 0;
    return *line && strcmp(line, boot_id) == 0;
}

static void boot_end_mark(const struct boot_end *b)
{
    char path[1100];
    marker_path(b, path, sizeof path);
    FILE *f = fopen(path, "we");
    if (!f || fprintf(f, "%s\n", b->host.state->boot_id) < 0)
        visible_line(stderr, "autologgerd: %s: %s", path, strerror(errno));
    if (f)
        fclose(f);
}

static void guard_save(struct boot_end *b)
{
    struct reason why;
    if (guard_write(AT_FDCWD, b->o.guard_path, &b->guard, &why) != W_SUCCESS)
        boot_end_complain(&why);
}

static wstatus boot_end_found(void *ctx, const struct regkey_info *info)
{
    (void)info;
    *(bool *)ctx = true;
    return W_CANCELLED;
}

static bool anything_declared(struct regstore *store)
{
    bool any = regstore_key_exists(store, WINPATH_WMI "\\GlobalLogger");
    regstore_enum_keys(store, WINPATH_WMI "\\Autologger", boot_end_found, &any);
    return any;
}

static void settings_take(struct boot_end *b, struct regstore *store)
{
    struct reason why;
    boot_settings_finish(&b->settings);
    boot_settings_read(store, &b->settings, &why); /* the rows tell what is wrong there; the defaults hold */
}

/* The configuration that the guard is about, and whether it is for one boot: the applied one, if it was sealed for the
 * early program, for the two must agree; else the store's. Takes the settings, too. */
static uint64_t boot_end_configuration(struct boot_end *b, struct regstore *store)
{
    struct snapshot_head head;
    struct boot_settings sealed_settings;
    struct regstore     *sealed = NULL;
    struct reason        why;
    char                 path[1100], *slash;
    uint8_t              hash[SNAPSHOT_HASH] = {0};
    uint64_t             number              = 0, content;

    settings_take(b, store);
    b->once = b->settings.once;
    snprintf(path, sizeof path, "%s", b->o.store_path);
    slash = strrchr(path, '/');
    snprintf(slash ? slash + 1 : path, sizeof path - (slash ? (size_t)(slash + 1 - path) : 0), "boot.snapshot");
    if (regstore_open_snapshot(path, &sealed, &head, &why) == W_SUCCESS) {
        boot_settings_read(sealed, &sealed_settings, &why);
        b->once |= sealed_settings.once;
        boot_settings_finish(&sealed_settings);
        regstore_close(sealed);
        return head.change_number;
    }
    change_number_get(store, &number, NULL); /* an unreadable number is 0: always the same */
    snapshot_content_hash(store, hash, NULL);
    memcpy(&content, hash, sizeof content);
    return number + content;
}

/* The boot's number in Status, history and guard; 0 = unknown. */
static uint32_t boot_end_number_of(struct regstore *store, const char *boot_id)
{
    struct reason why;
    uint32_t      number = 0;
    return result_number_of(store, boot_id, &number, &why) == W_SUCCESS ? number : 0;
}

static enum boot_may boot_end_may_start(void *ctx, const char *boot_id, struct regstore *store, struct reason *why)
{
    struct boot_end *b = ctx;

    if (marked(b, boot_id))
        return BOOT_AGAIN;
    if (!anything_declared(store))
        return BOOT_START;
    uint64_t change = b->change = boot_end_configuration(b, store);
    guard_read(AT_FDCWD, b->o.guard_path, &b->guard);
    if (*b->guard.note)
        visible_line(stderr, "autologgerd: %s", b->guard.note);
    /* used up: the rows of the traced boot stay, and `status` says of which boot they are */
    if (guard_traced(&b->guard, boot_id) || (b->once && guard_used_up(&b->guard, change)))
        return BOOT_AGAIN;
    if (!guard_verdict(&b->guard, change, b->once, guard_limit(b->once), boot_id, why))
        return BOOT_OFF;
    if (guard_count_try(&b->guard, change, boot_end_number_of(store, boot_id), boot_id))
        guard_save(b);
    return BOOT_START;
}

/* ---- the marks ---- */

static void marks_note(struct boot_end *b)
{
    const struct boot_done *d     = boot_watch_done(b->watch);
    uint64_t                start = b->host.state->start_raw_ns;
    state(b)->target_ns           = d->target_ns;
    state(b)->idle_ns             = d->idle_ns;
    b->host.rows->target_ms       = d->target_ns > start ? (d->target_ns - start) / MS : 0;
    b->host.rows->boot_done_ms    = d->idle_ns > start ? (d->idle_ns - start) / MS : 0;
}

/* The boot finished: clears its try in the guard, and consumes a configuration for one boot. */
static void guard_release(struct boot_end *b)
{
    bool changed = guard_clear(&b->guard, b->host.state->boot_id);
    changed |= changed && b->once && guard_consume(&b->guard, b->host.state->boot_id);
    if (changed)
        guard_save(b);
}

static uint64_t stop_at(const struct boot_end *b)
{
    if (state(b)->phase != BOOT_WAITING || !b->settings.stops || !b->had_sessions)
        return UINT64_MAX;
    if (!b->settings.after_boot_done)
        return b->host.state->start_raw_ns + b->settings.stop_after_ms * MS;
    return state(b)->idle_ns ? state(b)->idle_ns + b->settings.stop_after_ms * MS : UINT64_MAX;
}

static bool waits_for_boot_done(const struct boot_end *b) { return b->settings.stops && b->settings.after_boot_done; }

static uint64_t give_up_at(const struct boot_end *b)
{
    uint64_t most = waits_for_boot_done(b) ? b->settings.max_wait_ms : GIVE_UP_MS;
    return !b->watch || b->gave_up || state(b)->idle_ns || !most ? UINT64_MAX : b->host.state->start_raw_ns + most * MS;
}

static void timer_arm(struct boot_end *b)
{
    uint64_t stop = stop_at(b), give_up = give_up_at(b), at = stop < give_up ? stop : give_up,
             now           = b->os->raw_ns(b->os);
    uint64_t          left = at <= now ? 1 : at - now;
    struct itimerspec t    = {.it_value = {(time_t)(left / 1000000000), (long)(left % 1000000000)}};
    if (at == UINT64_MAX)
        memset(&t, 0, sizeof t);
    timerfd_settime(b->timer_fd, 0, &t, NULL);
}

/* ---- merging ---- */

static void merge_refused(struct boot_end *b, const struct reason *why)
{
    boot_end_complain(why);
    b->refused = true;
    condition_add(&b->parts.row[0]->conditions, why->status, true, "merge", "", 0,
                  "run 'autologger merge' with the files of this boot", "the files of this boot were not merged: %s",
                  why->text);
}

/* The rows are saved before the files are removed: a kill in between loses nothing. */
static void merge_ended(struct boot_end *b, wstatus status, const struct reason *failed)
{
    struct reason why;

    if (status == W_SUCCESS) {
        merge_parts_note(&b->parts);
    } else {
        merge_refused(b, failed);
    }
    b->rows_final = true;
    wstatus saved = b->host.save(b->host.ctx, &why);
    if (status == W_SUCCESS && saved == W_SUCCESS && !b->o.keep_premerge)
        merge_parts_remove(b->os, &b->parts);
    state(b)->phase = BOOT_ENDED;
}

static void merge_begin(struct boot_end *b)
{
    struct epoll_event e = {.events = EPOLLIN};
    struct merge_parts left;
    struct reason      why;
    wstatus            st;

    state(b)->phase = BOOT_MERGING;
    b->rows_final   = false;
    merge_parts_left(b->os, b->host.rows, &left); /* a predecessor was killed before it could remove them */
    if (left.count && !b->o.keep_premerge)
        merge_parts_remove(b->os, &left);
    merge_parts_select(b->os, b->host.rows, &b->parts);
    if (!b->parts.count) {
        state(b)->phase = BOOT_ENDED;
        b->host.save(b->host.ctx, &why);
        return;
    }
    struct regstore *store = NULL;
    if (b->o.store_open(b->o.store_path, false, &store, &why) == W_SUCCESS)
        merge_parts_configuration(&b->parts, store, b->host.rows);
    regstore_close(store);
    if ((st = merge_job_start(&b->job, &b->parts, b->host.rows, &why)) != W_SUCCESS) {
        merge_ended(b, st, &why);
        return;
    }
    e.data.fd = b->job.end_fd;
    /* fails only without memory: then the next event of any kind finds its end */
    epoll_ctl(b->host.epoll_fd, EPOLL_CTL_ADD, b->job.end_fd, &e);
}

static void merge_step(struct boot_end *b, int wait_ms)
{
    struct merge_told told;
    struct reason     why;
    wstatus           status;
    if (state(b)->phase != BOOT_MERGING || !merge_job_ended(&b->job, wait_ms, &status, &told, &why))
        return;
    b->host.rows->phases = told.phases;
    if (status == W_SUCCESS) {
        b->host.rows->first_kernel_ns = told.first_kernel_ns;
        b->host.rows->first_user_ns   = told.first_user_ns;
    }
    merge_ended(b, status, &why);
}

/* ---- the end ---- */

static void end_reason(struct boot_end *b, const char *text)
{
    snprintf(state(b)->stop_reason, sizeof state(b)->stop_reason, "%s", text);
    snprintf(b->host.rows->stop_reason, sizeof b->host.rows->stop_reason, "%s", text);
}

static void end_go_on(struct boot_end *b)
{
    b->host.stop(b->host.ctx);
    merge_begin(b);
}

static void end_begin(struct boot_end *b, const char *reason)
{
    end_reason(b, reason);
    state(b)->phase = BOOT_STOPPING;
    end_go_on(b);
}

static void stop_by_time(struct boot_end *b)
{
    char text[100], after[32];
    boot_time_text(b->settings.stop_after_ms, after);
    if (!b->settings.after_boot_done)
        snprintf(text, sizeof text, "%s after the start", after);
    else
        snprintf(text, sizeof text, b->settings.stop_after_ms ? "boot-done + %s" : "boot-done", after);
    end_begin(b, text);
}

/* MaxWait is over. When only the idleness is missing, the boot counts as done. */
static void boot_end_give_up(struct boot_end *b)
{
    const struct boot_done *d = boot_watch_done(b->watch);
    char                    text[400], jobs[240] = "", wait[32];

    b->gave_up = true;
    boot_watch_rest(b->watch);
    if (d->target_ns)
        guard_release(b);
    if (!waits_for_boot_done(b) || state(b)->phase != BOOT_WAITING)
        return;
    if (!d->target_ns)
        boot_watch_jobs(b->watch, jobs, sizeof jobs);
    else
        snprintf(jobs, sizeof jobs, "of the %d s in which the machine has to be idle, there were %.1f s",
                 BOOT_IDLE_MS / 1000, (double)d->collected_ns / 1e9);
    snprintf(text, sizeof text, "MaxWait %s: boot-done was not reached%s%s",
             boot_time_text(b->settings.max_wait_ms, wait), *jobs ? ": " : "", jobs);
    end_begin(b, text);
}

/* A boot trace ends when the machine sleeps, whatever StopAfter says. */
static void sleep_step(struct boot_end *b)
{
    char     text[100], slept[32];
    uint64_t ns = sleep_watch_step(&b->sleep);
    if (!ns || state(b)->phase != BOOT_WAITING || !b->had_sessions)
        return;
    snprintf(text, sizeof text, "the machine slept (%s)", boot_time_text((ns + 500 * MS) / (1000 * MS) * 1000, slept));
    end_begin(b, text);
}

static void watch_step(struct boot_end *b)
{
    bool          had_target = state(b)->target_ns, had_idle = state(b)->idle_ns;
    struct reason why;

    boot_watch_step(b->watch);
    marks_note(b);
    if (state(b)->phase == BOOT_ENDED &&
        (had_target != (state(b)->target_ns != 0) || had_idle != (state(b)->idle_ns != 0)))
        b->host.save(b->host.ctx, &why); /* it ended earlier, by StopAfter; else the end saves the marks */
    if ((!had_idle && state(b)->idle_ns) || (b->gave_up && !had_target && state(b)->target_ns))
        guard_release(b);
}

/* True: there are sessions of this boot, or their files are not merged yet. */
static bool traces(const struct boot_end *b)
{
    return state(b)->phase == BOOT_WAITING ? b->had_sessions : state(b)->phase != BOOT_ENDED;
}

/* The last requested boot is over: removes what was put in place for it. */
static void used_up_step(struct boot_end *b)
{
    if (b->used_up_told || !b->o.used_up || !b->once || traces(b) || !guard_used_up(&b->guard, b->change))
        return;
    b->used_up_told = true;
    b->o.used_up(b->o.used_up_ctx);
}

static void boot_end_step(void *ctx)
{
    struct boot_end *b = ctx;
    uint64_t         expired, now;

    if (!b->began)
        return;
    if (b->watch)
        watch_step(b);
    sleep_step(b);
    merge_step(b, 0);
    if (state(b)->phase == BOOT_WAITING && b->had_sessions && b->host.running(b->host.ctx) == 0) {
        end_reason(b, "asked");
        state(b)->phase = BOOT_ENDED;
        struct reason why;
        b->host.save(b->host.ctx, &why);
    }
    if (!traces(b))
        unmerged_step(&b->unmerged, b->host.epoll_fd);
    used_up_step(b);
    if (read(b->timer_fd, &expired, sizeof expired) < 0 && errno != EAGAIN)
        return;
    now = b->os->raw_ns(b->os);
    if (stop_at(b) <= now)
        stop_by_time(b);
    else if (give_up_at(b) <= now)
        boot_end_give_up(b);
    timer_arm(b);
}

/* ---- beginning ---- */

static void watch_begin(struct boot_end *b)
{
    const struct boot_watch_options options = {b->o.systemd_dir, b->o.proc_stat, b->os->raw_ns(b->os),
                                               state(b)->target_ns, state(b)->idle_ns};
    struct epoll_event              e       = {.events = EPOLLIN};
    struct reason                   why;

    if (boot_watch_create(b->os, &options, &b->watch, &why) != W_SUCCESS) {
        boot_end_complain(&why);
        return;
    }
    e.data.fd = boot_watch_fd(b->watch);
    epoll_ctl(b->host.epoll_fd, EPOLL_CTL_ADD, e.data.fd, &e);
    marks_note(b);
}

static void timer_begin(struct boot_end *b)
{
    struct epoll_event e = {.events = EPOLLIN};
    e.data.fd = b->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (b->timer_fd < 0 || epoll_ctl(b->host.epoll_fd, EPOLL_CTL_ADD, b->timer_fd, &e) < 0)
        visible_line(stderr, "autologgerd: no timer for StopAfter: %s", strerror(errno));
    e.data.fd = sleep_watch_open(&b->sleep) ? b->sleep.fd : -1;
    if (e.data.fd < 0 || epoll_ctl(b->host.epoll_fd, EPOLL_CTL_ADD, e.data.fd, &e) < 0)
        visible_line(stderr, "autologgerd: a sleep of the machine will not be seen: %s", strerror(errno));
}

/* A boot that the early program began may not be counted yet: that program had no root to write to. */
static void guard_begin(struct boot_end *b, struct regstore *store)
{
    const char *id     = b->host.state->boot_id;
    uint64_t    change = b->change = boot_end_configuration(b, store);

    guard_read(AT_FDCWD, b->o.guard_path, &b->guard);
    bool changed = b->had_sessions && state(b)->phase == BOOT_WAITING && !guard_traced(&b->guard, id) &&
                   !guard_open(&b->guard, id) && guard_count_try(&b->guard, change, 0, id);
    changed |= guard_number(&b->guard, id, boot_end_number_of(store, id)); /* the early program can't know the number */
    if (changed)
        guard_save(b);
}

static void files(void *ctx, const struct boot_host *host)
{
    struct boot_end *b     = ctx;
    struct regstore *store = NULL;
    struct reason    why;

    if (b->attached)
        return;
    b->attached     = true;
    b->host         = *host;
    b->had_sessions = host->running(host->ctx) > 0;
    b->unmerged     = (struct unmerged){.os            = b->os,
                                        .store_path    = b->o.store_path,
                                        .store_open    = b->o.store_open,
                                        .keep_premerge = b->o.keep_premerge,
                                        .job           = {.end_fd = -1}};
    snprintf(host->rows->stop_reason, sizeof host->rows->stop_reason, "%s", state(b)->stop_reason);
    boot_end_mark(b);
    if (b->o.store_open(b->o.store_path, false, &store, &why) == W_SUCCESS) {
        regstore_begin(store, NULL); /* one lock for all values */
        guard_begin(b, store);
        unmerged_look(&b->unmerged, store);
        regstore_close(store);
    }
    unmerged_move(&b->unmerged);
}

static void ready(void *ctx, const struct boot_host *host)
{
    struct boot_end *b = ctx;

    if (b->began)
        return;
    files(ctx, host); /* not yet called in a daemon that took over files */
    b->began = true;
    timer_begin(b);
    bool waits = b->had_sessions && state(b)->phase == BOOT_WAITING && waits_for_boot_done(b);
    if ((waits && !state(b)->idle_ns) || guard_open(&b->guard, host->state->boot_id))
        watch_begin(b);
    if (state(b)->phase == BOOT_STOPPING)
        end_go_on(b);
    else if (state(b)->phase == BOOT_MERGING)
        merge_begin(b);
    if (!traces(b))
        unmerged_step(&b->unmerged, host->epoll_fd);
    timer_arm(b);
}

/* ---- the daemon's end ---- */

static void ending(void *ctx)
{
    struct boot_end *b = ctx;
    if (!b->began || state(b)->phase != BOOT_WAITING || !b->had_sessions)
        return;
    end_reason(b, "shutdown");
    state(b)->phase = BOOT_STOPPING;
}

/* Notes in the store that this boot's files are not merged, or removes the note. */
static void unmerged_set(struct boot_end *b, bool unmerged)
{
    struct regstore *store = NULL;
    struct reason    why;
    wstatus          st = b->o.store_open(b->o.store_path, true, &store, &why);
    st                  = st ? st : (unmerged ? unmerged_note : unmerged_forget)(store, b->host.state->boot_id, &why);
    if (st)
        boot_end_complain(&why);
    regstore_close(store);
}

/* The merge takes too long for a shutdown. */
static void merge_left(struct boot_end *b)
{
    struct reason why;

    merge_job_finish(&b->job);
    state(b)->phase = BOOT_ENDED;
    condition_add(&b->parts.row[0]->conditions, W_BUSY, true, "merge", "", 0,
                  "nothing: the next boot merges them; or now: autologger merge -o TRACE.etl and the files",
                  "there was no time at the shutdown to merge the %u file%s of this boot", b->parts.count,
                  b->parts.count == 1 ? "" : "s");
    b->host.save(b->host.ctx, &why);
}

/* A power-off is not delayed: files that can be merged within moments are, for the next boot may write files of the
 * same names. The note is made before the attempt, which may be killed. */
static void boot_end_ended(void *ctx)
{
    struct boot_end *b = ctx;
    if (!b->began)
        return;
    unmerged_finish(&b->unmerged);
    if (state(b)->phase != BOOT_STOPPING && state(b)->phase != BOOT_MERGING)
        return;
    if (state(b)->phase == BOOT_STOPPING)
        merge_parts_select(b->os, b->host.rows, &b->parts);
    bool any = b->parts.count > 0;
    if (any)
        unmerged_set(b, true);
    if (state(b)->phase == BOOT_STOPPING &&
        (!any || (b->o.shutdown_merge_ms && b->parts.bytes <= SHUTDOWN_MERGE_BYTES)))
        merge_begin(b);
    merge_step(b, (int)b->o.shutdown_merge_ms);
    if (state(b)->phase != BOOT_ENDED)
        merge_left(b);
    else if (any)
        unmerged_set(b, false);
}

static bool boot_end_settled(void *ctx)
{
    const struct boot_end *b = ctx;
    return b->attached && (b->rows_final || !traces(b));
}

/* Merges also sessions that were stopped one by one before. */
static wstatus boot_end_end(void *ctx, struct reason *why)
{
    struct boot_end *b = ctx;
    if (!b->began || (!b->had_sessions && state(b)->phase == BOOT_WAITING))
        return reason_set(why, W_WMI_INSTANCE_NOT_FOUND, "no session of this boot runs or ran");
    if (state(b)->phase == BOOT_WAITING)
        end_begin(b, "asked");
    else if (state(b)->phase == BOOT_ENDED) {
        merge_parts_select(b->os, b->host.rows, &b->parts);
        if (b->parts.count && !b->refused) {
            b->host.state->concluded = 0; /* reported once more, with the merged file */
            merge_begin(b);
        }
    }
    merge_step(b, 0);
    return state(b)->phase == BOOT_ENDED ? W_SUCCESS
                                         : reason_set(why, W_BUSY, "the files of the boot are being merged");
}

struct boot_end *boot_end_create(struct os *os, const struct boot_end_options *options)
{
    struct boot_end *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    b->o        = *options;
    b->os       = os;
    b->timer_fd = -1;
    b->sleep    = (struct sleep_watch){.fd = -1};
    b->job = b->unmerged.job = (struct merge_job){.end_fd = -1};
    b->part                  = (struct boot_part){
                         b, boot_end_may_start, files, ready, boot_end_step, ending, boot_end_ended, boot_end_settled, boot_end_end};
    return b;
}

void boot_end_destroy(struct boot_end *b)
{
    if (!b)
        return;
    merge_job_finish(&b->job);
    unmerged_finish(&b->unmerged);
    sleep_watch_close(&b->sleep);
    boot_watch_destroy(b->watch);
    boot_settings_finish(&b->settings);
    if (b->timer_fd >= 0)
        close(b->timer_fd);
    free(b);
}

const struct boot_part *boot_end_part(const struct boot_end *b) { return &b->part; }
