/* enrich.c - notes on raw records, from /proc and ELF files, made while draining. See drain.h. */
#include "autologger/kernel/source/drain.h"
#include "autologger/kernel/source/sources.h"
#include "registry-sim/base/cursor.h"

#include <linux/perf_event.h>
#include <string.h>

static const char *enrich_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* The BPF program's copy of the exec between `from` and `until`, even if it arrived just now. */
static bool exec_kept(struct drain *d, const struct drain_exec *x, uint64_t until, struct argv_exec *out)
{
    if (argv_take(d->argv, x->pid, x->time, until, out))
        return true;
    argv_poll(d->argv);
    return argv_take(d->argv, x->pid, x->time, until, out);
}

/* The command line of an exec. The BPF program's copy belongs to this exec, even when the process is gone or runs
 * another program by now; /proc has more of a long one. The exec record may arrive a moment before the BPF program has
 * run, and a moment later /proc may show the next exec: so the copy is looked up once more after /proc was read, and
 * takes precedence. */
static void command_find(struct drain *d, const struct drain_exec *x, uint64_t until, bool alive, bool *kept,
                         struct argv_exec *k, char *out, size_t size)
{
    if ((!*kept || k->cut) && alive)
        proc_command_line(d->proc, x->pid, out, size);
    if (!*kept && (*kept = exec_kept(d, x, until, k)) && !k->cut)
        *out = 0;
    if (*kept && !*out)
        command_line_join(k->text, k->size, out, size);
    if (!*out && d->wants_commands)
        d->log->work->no_command_line++;
}

/* Is the process still the program that was executed? By the name that the exec gives it. */
static bool same_program(const struct proc_stat *st, const char *file_name)
{
    return !file_name || strncmp(st->comm, enrich_base_name(file_name), sizeof st->comm - 1) == 0;
}

static void note_exec(struct drain *d, const struct drain_exec *x, uint64_t until, const char *file_name)
{
    struct raw_process r = {.own = {RAW_NOTE_EXEC, 0, 0, x->time, x->pid, x->tid}};
    struct argv_exec   k = {0};
    struct proc_stat   st;
    uint64_t           affinity;
    char              *exe = d->text, *command = d->text + DRAIN_TEXT / 2;
    bool               kept = exec_kept(d, x, until, &k), alive = proc_stat(d->proc, x->pid, 0, &st);
    *exe = *command = 0;
    if (alive) {
        r.ppid        = st.ppid;
        r.session     = st.session;
        r.start_ticks = st.start_ticks;
        if (same_program(&st, file_name))
            proc_exe(d->proc, x->pid, exe, DRAIN_TEXT / 2);
        if (!kept) /* the most expensive file of /proc */
            proc_status(d->proc, x->pid, 0, &r.uid, &affinity);
        if (!k.width_known && proc_is_narrow(d->proc, x->pid))
            r.flags |= RAW_PROCESS_32BIT;
    }
    command_find(d, x, until, alive, &kept, &k, command, DRAIN_TEXT / 2);
    if (!alive)
        r.flags |= kept ? RAW_PROCESS_NO_SESSION : RAW_PROCESS_NO_COMMAND; /* unknown values stay those of the parent */
    if (kept) {
        r.uid = k.uid;
        r.flags |= k.is32 ? RAW_PROCESS_32BIT : 0;
    }
    const char *texts[2] = {*exe ? enrich_base_name(exe) : file_name ? enrich_base_name(file_name) : "", command};
    r.name_size          = (uint16_t)(strlen(texts[0]) + 1);
    r.command_size       = (uint16_t)(strlen(texts[1]) + 1);
    own_add(d, d->notes, &r, sizeof r, texts, 2);
}

void enrich_exec(struct drain *d, uint32_t pid, uint32_t tid, uint64_t time, bool gone, const char *file_name)
{
    struct drain_exec  x = {pid, tid, time};
    struct raw_process r = {
        .own = {RAW_NOTE_EXEC, 0, 0, time, pid, tid}, .flags = RAW_PROCESS_NO_COMMAND, .command_size = 1};
    if (!gone) {
        note_exec(d, &x, UINT64_MAX, file_name);
        return;
    }
    const char *texts[2] = {file_name, ""};
    r.name_size          = (uint16_t)(strlen(file_name) + 1);
    d->log->work->no_command_line += d->wants_commands;
    own_add(d, d->notes, &r, sizeof r, texts, 2);
}

static void pending_add(struct drain *d, uint32_t pid, uint32_t tid, uint64_t time)
{
    struct drain_exec x = {pid, tid, time};
    if ((!d->has_exec && !d->argv) || d->pending_count == PENDING_EXECS)
        note_exec(d, &x, UINT64_MAX, NULL);
    else
        d->pending[d->pending_count++] = x;
}

/* The exec tracepoint fires once the new program is in place: its file name is known, and /proc shows the new command
 * line. */
static void exec_done(struct drain *d, const uint8_t *record, size_t size, const struct raw_source *source)
{
    struct cursor c   = cur_make(record + SAMPLE_TID_AT, size - SAMPLE_TID_AT);
    uint32_t      pid = cur_u32(&c), tid = cur_u32(&c);
    uint64_t      time = cur_u64(&c);
    cur_take(&c, SAMPLE_BODY_AT - SAMPLE_TIME_AT - sizeof time);
    if (source->flags & RAW_SOURCE_CHAIN) {
        uint64_t n = cur_u64(&c);
        cur_take(&c, n > 4096 ? SIZE_MAX : n * 8);
    }
    uint32_t       raw_size = cur_u32(&c), where = 0;
    const uint8_t *raw       = cur_take(&c, raw_size);
    char           name[256] = "";
    uint16_t       at        = source->field[F_EXEC_FILENAME].offset;
    if (raw && at != RAW_NO_FIELD && at + 4u <= raw_size) {
        memcpy(&where, raw + at, 4);
        uint32_t from = where & 0xFFFF, n = where >> 16;
        if (from + n <= raw_size && n)
            memcpy(name, raw + from, n < sizeof name - 1 ? n : sizeof name - 1);
    }
    for (unsigned i = 0; i < d->pending_count; i++)
        if (d->pending[i].tid == tid || d->pending[i].pid == pid) {
            d->pending[i].pid = pid;
            d->pending[i].tid = tid;
            note_exec(d, &d->pending[i], time + ARGV_SLACK_NS, name);
            d->pending[i] = d->pending[--d->pending_count];
            return;
        }
}

/* A process that died during the exec: the tracepoint never fires. */
static void exec_dead(struct drain *d, uint32_t pid)
{
    for (unsigned i = 0; i < d->pending_count; i++)
        if (d->pending[i].pid == pid) {
            note_exec(d, &d->pending[i], UINT64_MAX, NULL);
            d->pending[i] = d->pending[--d->pending_count];
            return;
        }
}

static void note_counters(struct drain *d, uint32_t pid, uint32_t tid, uint64_t time)
{
    struct raw_counters r = {.own = {RAW_NOTE_COUNTERS, 0, 0, time, pid, tid}};
    if (counters_take(d->counters, tid, &r))
        own_add(d, d->notes, &r, sizeof r, NULL, 0);
}

static void note_exit(struct drain *d, uint32_t pid, uint64_t time)
{
    struct raw_process r = {.own = {RAW_NOTE_EXIT, 0, 0, time, pid, pid}, .name_size = 1, .command_size = 1};
    struct proc_stat   st;
    if (!argv_exit_take(d->argv, pid, time, &r.exit_code)) {
        if (!proc_stat(d->proc, pid, 0, &st) || st.state != 'Z')
            return;
        r.exit_code = st.exit_code;
    }
    own_add(d, d->notes, &r, sizeof r, (const char *const[]){"", ""}, 2);
}

/* A COMM record is converted together with its note; on a busy machine an exec may take long. */
uint64_t enrich_horizon(const struct drain *d, uint64_t horizon)
{
    uint64_t reached = d->log->work->horizon_ns;
    horizon          = enrich_images_horizon(d, horizon);
    for (unsigned i = 0; i < d->pending_count; i++)
        if (d->pending[i].time <= horizon)
            horizon = d->pending[i].time - 1;
    return horizon > reached ? horizon : reached;
}

void enrich_triggers(struct drain *d, bool last)
{
    uint64_t now = raw_now();
    argv_poll(d->argv);
    counters_poll(d->counters);
    for (size_t i = 0; i < d->trigger_count; i++) {
        const uint8_t           *p = rawlog_at(d->log, d->trigger[i].pos);
        struct perf_event_header h;
        uint64_t                 time;
        uint32_t                 ids[4]; /* COMM: pid, tid; EXIT: pid, ppid, tid, ptid */
        memcpy(&h, p, sizeof h);
        if (h.size < 8 + sizeof ids + TRAILER_SIZE)
            continue;
        memcpy(ids, p + 8, sizeof ids);
        memcpy(&time, p + h.size - 24, sizeof time);
        if (h.type == PERF_RECORD_SAMPLE && h.size > SAMPLE_BODY_AT)
            exec_done(d, p, h.size, &d->log->header->source[d->trigger[i].source]);
        else if (h.type == PERF_RECORD_COMM)
            pending_add(d, ids[0], ids[1], time);
        else if (h.type == PERF_RECORD_EXIT && ids[0] == ids[2]) {
            exec_dead(d, ids[0]);
            note_exit(d, ids[0], time);
        } else if (h.type == PERF_RECORD_MMAP2)
            enrich_image(d, p, h.size, time);
        if (h.type == PERF_RECORD_EXIT && d->counters)
            note_counters(d, ids[0], ids[2], time);
    }
    enrich_images(d, last);
    d->trigger_count    = 0;
    const uint64_t wait = d->has_exec ? EXEC_WAIT_NS : ARGV_WAIT_NS;
    /* an exec whose end was lost, or that takes too long: no file name */
    for (unsigned i = 0; i < d->pending_count;) {
        if (!last && d->pending[i].time + wait > now) {
            i++;
            continue;
        }
        note_exec(d, &d->pending[i], UINT64_MAX, NULL);
        d->pending[i] = d->pending[--d->pending_count];
    }
    argv_expire(d->argv);
}
