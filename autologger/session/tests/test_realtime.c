/* Real-time sessions: the backup file, delivery, acknowledgement, over restarts and reboots; limits and losses.
 * Proves: LGT-07, LGT-13, SES-22. */
#include "autologger/session/backup.h"
#include "autologger/session/tests/adopting.h"

#include <fcntl.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>

struct live {
    struct fixture   f;
    struct plan_text text;
    struct session  *s;
    struct program   w;
    uint64_t         numbers; /* count of events written; also their payload */
    const char      *name;    /* NULL: live/one */
};

/* A session without threads: the test runs the logger. The folder stays over "reboots". */
static void live_start(struct live *l, bool boot, uint32_t maximum, uint32_t size_mb, bool with_file, bool forget)
{
    unsigned            slot, entry;
    struct enable_terms all = {0};
    struct reason       why = {0};
    char                dir[64];

    memcpy(dir, l->f.dir, sizeof dir);
    fixture_init(&l->f, false);
    if (!boot) {
        rmdir(l->f.dir);
        memcpy(l->f.dir, dir, sizeof dir);
    }
    l->f.env.log_dir  = l->f.dir;
    l->f.env.realtime = &realtime_delivery;
    struct plan plan  = plan_make(&l->f, &l->text, l->name ? l->name : "live/one", 8, 2 * l->f.env.cpus, maximum);
    snprintf(l->text.path, sizeof l->text.path, "%s/live.etl", l->f.dir);
    plan.log_path        = with_file ? l->text.path : NULL;
    plan.log_file_mode   = ETL_MODE_REAL_TIME;
    plan.flush_timer     = 1;
    plan.max_file_size   = size_mb;
    plan.forget_realtime = forget;
    assert_int_equal(table_add(&l->f.table, &plan, &l->s, &why), 0);
    assert_int_equal(session_enable(l->s, &test_provider, "key", &all, &slot, &entry, &why), 0);
    assert_int_equal(session_start(l->s, &why), 0);
    program_attach(&l->w, l->s, (uint32_t)geteuid(), slot, entry);
    session_fs_ready(l->s);
}

static void live_new(struct live *l, uint32_t maximum, uint32_t size_mb, bool with_file, bool forget)
{
    memset(l, 0, sizeof *l);
    live_start(l, true, maximum, size_mb, with_file, forget);
}

/* The end of a boot: only the folder stays. */
static void power_off(struct live *l)
{
    session_stop(l->s);
    table_finish(&l->f.table);
    directory_destroy(l->f.table.directory);
    close(l->f.env.changed_fd);
}

static void live_finish(struct live *l) { fixture_finish(&l->f); }

/* Writes `count` numbered events of about `bytes`, and has the logger flush them. */
static void produce(struct live *l, unsigned count, unsigned bytes)
{
    uint64_t payload[512] = {0};
    for (unsigned i = 0; i < count; i++) {
        payload[0] = l->numbers;
        if (program_write(&l->w, payload, bytes) == 0)
            l->numbers++;
        if (i % 16 == 15)
            logger_pass(l->s->logger, false, false);
    }
    logger_pass(l->s->logger, false, true);
}

/* ---- a consumer by hand ---- */

struct reader {
    uint32_t id;
    uint64_t next, done;
    uint64_t events, bad, last;
    uint64_t seen[8192];
    bool     window; /* its last buffer was that of a window */
};
static struct {
    struct ctl_consume_answer a;
    uint8_t                   bytes[CTL_MAX];
} answer;

static wstatus reader_attach(struct live *l, struct reader *r, uint32_t id)
{
    memset(r, 0, sizeof *r);
    memset(&answer, 0, sizeof answer);
    r->id      = id;
    wstatus st = realtime_delivery.attach(l->s, id, &answer.a);
    r->next = r->done = answer.a.sequence;
    return st;
}

static void events_take(struct reader *r, const uint8_t *data, size_t size)
{
    struct etl_event_header h;
    for (size_t at = sizeof(struct etl_buffer_header); at < size;) {
        int n = etl_record_size(data + at, size - at);
        if (n <= 0)
            break;
        memcpy(&h, data + at, sizeof h);
        if (h.header_type == ETL_EVENT64 && r->events < sizeof r->seen / sizeof *r->seen)
            memcpy(&r->seen[r->events], data + at + sizeof h, sizeof r->seen[0]);
        r->events += h.header_type == ETL_EVENT64;
        at += ((size_t)n + 7) & ~(size_t)7;
    }
}

/* Reads one buffer, in parts of 3,000 bytes; false: no buffer. */
static bool reader_read(struct live *l, struct reader *r)
{
    uint8_t                    whole[8192];
    uint32_t                   have = 0;
    bool                       wait;
    struct ctl_consume_request q = {.done = r->done, .wanted = r->next};
    do {
        q.offset = have;
        memset(&answer.a, 0, sizeof answer.a);
        assert_int_equal(realtime_delivery.next(l->s, r->id, &q, &answer.a, 3000, &wait), 0);
        if (wait)
            return false;
        if (answer.a.sequence != q.wanted) { /* skipped */
            q.wanted = answer.a.sequence;
            have     = 0;
        }
        assert_int_equal(answer.a.offset, have);
        memcpy(whole + have, answer.bytes, answer.a.bytes);
        have += answer.a.bytes;
    } while (have < answer.a.size);
    events_take(r, whole, have);
    r->window = answer.a.flags & CTL_CONSUME_WINDOW;
    r->next   = answer.a.sequence + 1;
    return true;
}

static void reader_acknowledge(struct live *l, struct reader *r)
{
    bool                       wait;
    struct ctl_consume_request q = {.done = r->done = r->next, .what = CTL_CONSUME_ACKNOWLEDGE};
    assert_int_equal(realtime_delivery.next(l->s, r->id, &q, &answer.a, 0, &wait), 0);
    assert_false(wait);
}

static void reader_read_all(struct live *l, struct reader *r)
{
    while (reader_read(l, r))
        ;
    reader_acknowledge(l, r);
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* The reader's events are from .. from + count - 1, each once. */
static void assert_numbers(struct reader *r, uint64_t from, uint64_t count)
{
    assert_int_equal(r->events, count);
    qsort(r->seen, r->events, sizeof r->seen[0], by_number);
    for (uint64_t i = 0; i < count; i++)
        assert_int_equal(r->seen[i], from + i);
}

static const char *backup_path(const struct live *l)
{
    static char path[128];
    char        guid[GUID_TEXT_SIZE];
    /* the Guid from plan_make; the session may be gone */
    struct guid own = guid_from_name(l->name ? l->name : "live/one");
    guid_format(&own, guid);
    snprintf(path, sizeof path, "%s/RtBackup/EtwRT%.36s.etl", l->f.dir, guid + 1);
    return path;
}

static bool exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

static struct ctl_session_info info_of(struct live *l)
{
    struct ctl_session_info info;
    session_info(l->s, &info);
    return info;
}

static void balance(struct live *l)
{
    struct ctl_session_info i = info_of(l);
    assert_int_equal(l->w.attempted, i.events_written + i.lost_ring + i.lost_file);
}

/* ---- tests ---- */

static void nobody_reads_then_one_does(void **state)
{
    struct live   l;
    struct reader r;
    (void)state;
    live_new(&l, 32, 0, false, false);
    produce(&l, 500, 100);
    assert_true(exists(backup_path(&l)));
    assert_int_equal(info_of(&l).state, SESSION_WRITING);
    assert_int_equal(info_of(&l).status, 0);
    assert_int_equal(reader_attach(&l, &r, 7), 0);
    assert_true(reader_read(&l, &r));
    produce(&l, 100, 100);
    reader_read_all(&l, &r);
    assert_numbers(&r, 0, 600);
    logger_pass(l.s->logger, false, true);
    assert_false(exists(backup_path(&l))); /* all is acknowledged */
    produce(&l, 10, 100);
    assert_true(exists(backup_path(&l)));
    reader_read_all(&l, &r);
    assert_int_equal(r.events, 610);
    session_stop(l.s);
    balance(&l);
    live_finish(&l);
}

static void a_reboot_gives_what_was_not_read_once(void **state)
{
    struct live   l;
    struct reader r;
    (void)state;
    live_new(&l, 32, 0, false, false);
    produce(&l, 300, 100);
    reader_attach(&l, &r, 1);
    for (int i = 0; i < 2; i++)
        assert_true(reader_read(&l, &r));
    reader_acknowledge(&l, &r);
    uint64_t before = r.events;
    realtime_delivery.gone(l.s, 1);
    power_off(&l);
    live_start(&l, false, 32, 0, false, false);
    produce(&l, 50, 100);
    assert_int_equal(reader_attach(&l, &r, 2), 0);
    reader_read_all(&l, &r);
    assert_int_equal(before + r.events, 350);
    qsort(r.seen, r.events, sizeof r.seen[0], by_number);
    for (uint64_t i = 1; i < r.events; i++)
        assert_int_not_equal(r.seen[i], r.seen[i - 1]);
    /* a third boot delivers the later events, and no acknowledged ones */
    produce(&l, 20, 100);
    realtime_delivery.gone(l.s, 2);
    power_off(&l);
    live_start(&l, false, 32, 0, false, false);
    reader_attach(&l, &r, 3);
    logger_pass(l.s->logger, false, true);
    reader_read_all(&l, &r);
    assert_numbers(&r, 350, 20);
    session_stop(l.s);
    live_finish(&l);
}

static void full_is_dropped_and_counted(void **state)
{
    struct live   l;
    struct reader r;
    (void)state;
    live_new(&l, 16, 1, false, false); /* 1 MB */
    produce(&l, 4000, 400);
    struct ctl_session_info i = info_of(&l);
    assert_true(i.realtime_buffers_lost > 0 && i.lost_file > 0 && i.events_written > 1500);
    balance(&l);
    struct stat at;
    assert_int_equal(stat(backup_path(&l), &at), 0);
    assert_true(at.st_size <= 1 << 20);
    assert_int_equal(l.s->realtime_reason.status, W_LOG_FILE_FULL);
    /* the oldest events are kept; the reader is told of the others' loss, once */
    assert_int_equal(reader_attach(&l, &r, 1), 0);
    assert_int_equal(answer.a.buffers_lost + answer.a.events_lost, 0);
    assert_true(reader_read(&l, &r));
    assert_int_equal(answer.a.buffers_lost, i.realtime_buffers_lost);
    assert_int_equal(answer.a.events_lost, i.lost_file + i.lost_ring);
    reader_read_all(&l, &r);
    assert_int_equal(r.events, i.events_written);
    realtime_delivery.gone(l.s, 1);
    reader_attach(&l, &r, 2);
    assert_int_equal(answer.a.buffers_lost, i.realtime_buffers_lost); /* told already */
    /* there is room again */
    produce(&l, 100, 400);
    reader_read_all(&l, &r);
    assert_int_equal(r.events, 100);
    session_stop(l.s);
    balance(&l);
    live_finish(&l);
}

static void the_slow_one_misses_buffers_alone(void **state)
{
    struct live   l;
    struct reader fast, slow;
    (void)state;
    live_new(&l, 16, 1, false, false);
    assert_int_equal(reader_attach(&l, &fast, 1), 0);
    assert_int_equal(reader_attach(&l, &slow, 2), 0);
    produce(&l, 50, 400);
    assert_true(reader_read(&l, &slow)); /* without an acknowledgement */
    for (int i = 0; i < 40; i++) {
        produce(&l, 100, 400);
        reader_read_all(&l, &fast);
    }
    assert_int_equal(fast.events, l.numbers);
    balance(&l);
    struct ctl_session_info i = info_of(&l);
    assert_int_equal(i.lost_file, 0); /* a consumer got every event */
    assert_true(i.realtime_buffers_lost > 50);
    uint64_t before = slow.events;
    assert_true(reader_read(&l, &slow));
    assert_int_equal(answer.a.buffers_lost, i.realtime_buffers_lost);
    reader_read_all(&l, &slow);
    assert_true(slow.events < fast.events && slow.events > before + 1000);
    qsort(slow.seen, slow.events, sizeof slow.seen[0], by_number);
    assert_int_equal(slow.seen[slow.events - 1], l.numbers - 1);
    for (uint64_t n = 1; n < slow.events; n++)
        assert_true(slow.seen[n] > slow.seen[n - 1]);
    session_stop(l.s);
    live_finish(&l);
}

static void who_comes_while_others_read(void **state)
{
    struct live   l;
    struct reader first, second, r[9];
    (void)state;
    live_new(&l, 32, 0, false, false);
    reader_attach(&l, &first, 1);
    produce(&l, 300, 100);
    assert_true(reader_read(&l, &first)); /* not acknowledged: the second consumer gets it, too */
    reader_attach(&l, &second, 2);
    reader_read_all(&l, &second);
    assert_numbers(&second, 0, 300);
    realtime_delivery.gone(l.s, 1);
    realtime_delivery.gone(l.s, 2);
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(reader_attach(&l, &r[i], 10 + i), 0);
    assert_int_equal(reader_attach(&l, &r[8], 99), W_NO_SYSTEM_RESOURCES);
    assert_false(reader_read(&l, &r[3])); /* 300 were acknowledged by the second */
    for (unsigned i = 0; i < 1000; i++) {
        realtime_delivery.gone(l.s, 10);
        assert_int_equal(reader_attach(&l, &r[0], 10), 0);
    }
    session_stop(l.s);
    live_finish(&l);
}

static void with_a_file_both_get_all(void **state)
{
    struct live   l;
    struct reader r;
    (void)state;
    live_new(&l, 32, 100, true, false);
    reader_attach(&l, &r, 1);
    produce(&l, 1000, 100);
    reader_read_all(&l, &r);
    assert_numbers(&r, 0, 1000);
    session_stop(l.s);
    struct found found = file_read(l.text.path);
    assert_int_equal(found.events, 1000);
    assert_int_equal(found.damage + found.inversions + found.lost, 0);
    balance(&l);
    live_finish(&l);
}

static void what_is_not_to_be_kept(void **state)
{
    struct live   l;
    struct reader r;
    (void)state;
    live_new(&l, 32, 0, false, true);
    produce(&l, 400, 100);
    reader_attach(&l, &r, 1);
    assert_true(reader_read(&l, &r));
    reader_acknowledge(&l, &r);
    realtime_delivery.gone(l.s, 1);
    session_stop(l.s);
    struct ctl_session_info i = info_of(&l);
    assert_int_equal(i.events_written, r.events);
    assert_int_equal(i.lost_file, 400 - r.events);
    assert_true(i.realtime_buffers_lost > 0);
    assert_false(exists(backup_path(&l)));
    balance(&l);
    live_finish(&l);
}

static void the_rest_goes_with_the_farewell(void **state)
{
    struct live               l;
    struct reader             r;
    struct ctl_consume_answer a = {0};
    int                       fds[REALTIME_FILES];
    unsigned                  count;
    struct backup_mark        m;
    (void)state;
    live_new(&l, 32, 0, false, false);
    produce(&l, 200, 100);
    power_off(&l);
    live_start(&l, false, 32, 0, false, false);
    produce(&l, 100, 100);
    reader_attach(&l, &r, 1);
    session_stop(l.s);
    realtime_delivery.farewell(l.s, 1, false, &a, fds, &count); /* one that must not change the next boot's events */
    assert_int_equal(count, 2);
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(pread(fds[i], &m, sizeof m, (off_t)backup_mark_at(8192)), sizeof m);
        assert_true(backup_mark_sound(&m));
        assert_int_equal(pwrite(fds[i], &m, sizeof m, (off_t)backup_mark_at(8192)), -1);
        close(fds[i]);
    }
    realtime_delivery.farewell(l.s, 1, true, &a, fds, &count);
    assert_int_equal(count, 2); /* the former boot's file, and this one's */
    assert_int_equal(a.flags, CTL_CONSUME_ENDED);
    assert_int_equal(pread(fds[1], &m, sizeof m, (off_t)backup_mark_at(8192)), sizeof m);
    assert_true(backup_mark_sound(&m) && m.first > 0 && m.first < a.sequence);
    assert_int_equal(pwrite(fds[1], &m, sizeof m, (off_t)backup_mark_at(8192)), sizeof m);
    close(fds[0]), close(fds[1]);
    realtime_delivery.leave(l.s, false);
    assert_false(exists(backup_path(&l)));
    live_finish(&l);
}

static void damage_many(const char *path, off_t at)
{
    char command[300];
    snprintf(command, sizeof command, "printf xxxxxxxx | dd of='%s' bs=1 seek=%ld conv=notrunc status=none", path,
             (long)at);
    assert_int_equal(system(command), 0);
}

static void a_damaged_backup_is_set_aside(void **state)
{
    struct live   l;
    struct reader r;
    char          aside[128];
    (void)state;
    live_new(&l, 32, 0, false, false);
    produce(&l, 200, 100);
    power_off(&l);
    damage_many(backup_path(&l), 8192 - 8); /* its mark */
    live_start(&l, false, 32, 0, false, false);
    logger_pass(l.s->logger, false, true);
    snprintf(aside, sizeof aside, "%.*s.damaged", (int)strlen(backup_path(&l)) - 4, backup_path(&l));
    assert_true(exists(aside));
    reader_attach(&l, &r, 1);
    produce(&l, 10, 100);
    reader_read_all(&l, &r);
    assert_numbers(&r, 200, 10);
    assert_int_equal(answer.a.files_lost, 1);
    /* one damaged buffer: the others are delivered */
    realtime_delivery.gone(l.s, 1);
    produce(&l, 600, 100);
    power_off(&l);
    damage_many(backup_path(&l), 8192 * 3 + 24); /* its number */
    live_start(&l, false, 32, 0, false, false);
    logger_pass(l.s->logger, false, true);
    reader_attach(&l, &r, 1);
    reader_read_all(&l, &r);
    assert_true(r.events < 600 && r.events > 450);
    assert_int_equal(answer.a.buffers_lost, 1);
    assert_int_equal(answer.a.files_lost, 1);
    live_finish(&l);
}

static void many_boots_that_nobody_reads(void **state)
{
    struct live   l;
    struct reader r;
    (void)state;
    live_new(&l, 32, 0, false, false);
    for (int boot = 0; boot < 7; boot++) {
        produce(&l, 20, 100);
        power_off(&l);
        live_start(&l, false, 32, 0, false, false);
    }
    logger_pass(l.s->logger, false, true);
    reader_attach(&l, &r, 1);
    reader_read_all(&l, &r);
    assert_numbers(&r, 60, 80);               /* four former boots are kept */
    assert_int_equal(answer.a.files_lost, 1); /* reported at this boot; the boots before had no reader */
    live_finish(&l);
}

static void a_folder_that_is_a_link(void **state)
{
    struct live l;
    char        link[96], elsewhere[96];
    (void)state;
    live_new(&l, 32, 0, false, false);
    snprintf(link, sizeof link, "%s/RtBackup", l.f.dir);
    snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", l.f.dir);
    assert_int_equal(mkdir(elsewhere, 0755) + symlink(elsewhere, link), 0);
    produce(&l, 100, 100);
    assert_int_equal(l.s->realtime_reason.status, W_BAD_PATHNAME);
    assert_int_equal(info_of(&l).lost_file, 100);
    session_stop(l.s);
    balance(&l);
    assert_int_equal(rmdir(elsewhere), 0); /* it is empty */
    live_finish(&l);
}

/* Buffers skipped for lack of room were delivered to the slow consumer before: it misses nothing, and leaves valid
 * numbers for the next consumer. */
static void skipped_is_not_missed_by_who_has_it(void **state)
{
    struct live   l;
    struct reader fast, slow, next;
    unsigned      slots;
    (void)state;
    live_new(&l, 16, 1, false, false);
    assert_int_equal(reader_attach(&l, &fast, 1), 0);
    assert_int_equal(reader_attach(&l, &slow, 2), 0);
    while (l.s->state->realtime.current.in_use == 0 || l.s->state->realtime.current.slots * 3 / 4 > slow.next) {
        produce(&l, 10, 400);
        while (reader_read(&l, &slow))
            ;
    }
    slots = l.s->state->realtime.current.slots;
    while (fast.next < slots / 2)
        assert_true(reader_read(&l, &fast));
    reader_acknowledge(&l, &fast);
    for (int i = 0; i < 1000 && l.s->state->realtime.consumer[1].next == 0; i++)
        produce(&l, 10, 400);
    assert_true(l.s->state->realtime.consumer[1].next > 0); /* skipped */
    assert_true(slow.next > l.s->state->realtime.delivered);
    reader_acknowledge(&l, &slow);
    assert_int_equal(info_of(&l).realtime_buffers_lost, 0);
    reader_attach(&l, &next, 3);
    assert_int_equal(answer.a.buffers_lost, 0);
    reader_read_all(&l, &slow);
    assert_numbers(&slow, 0, l.numbers);
    session_stop(l.s);
    balance(&l);
    live_finish(&l);
}

/* A number that fits its slot, but is 2^40 rounds too high: no consumer waits for the numbers in between. */
static void a_number_that_cannot_be(void **state)
{
    struct live   l;
    struct reader r;
    uint64_t      number;
    (void)state;
    live_new(&l, 32, 0, false, false);
    produce(&l, 400, 100);
    const uint64_t slots = l.s->state->realtime.current.slots;
    power_off(&l);
    FILE *file = fopen(backup_path(&l), "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, 8192 * 3 + (long)offsetof(struct etl_buffer_header, sequence_number), SEEK_SET), 0);
    assert_int_equal(fread(&number, sizeof number, 1, file), 1);
    assert_int_equal(number, 2);
    number += slots << 40;
    assert_int_equal(fseek(file, -(long)sizeof number, SEEK_CUR), 0);
    assert_int_equal(fwrite(&number, sizeof number, 1, file), 1);
    assert_int_equal(fclose(file), 0);
    alarm(60);
    live_start(&l, false, 32, 0, false, false);
    produce(&l, 10, 100);
    assert_int_equal(reader_attach(&l, &r, 1), 0);
    reader_read_all(&l, &r);
    alarm(0);
    assert_true(r.events >= 10 && answer.a.buffers_lost > 0 && answer.a.buffers_lost < 64);
    qsort(r.seen, r.events, sizeof r.seen[0], by_number);
    for (uint64_t i = 0; i < 10; i++)
        assert_int_equal(r.seen[r.events - 10 + i], 400 + i);
    session_stop(l.s);
    live_finish(&l);
}

/* The environment of the next boot differs: the owner, the kind, the rights, the machine; or the mark was changed. */
enum other { OTHER_NONE, OTHER_OWNER, OTHER_KIND, OTHER_RIGHTS, OTHER_MACHINE, NO_MACHINE, OTHER_MARK, OTHER_LENGTH };

static void digest_of_others(void *ctx, const struct guid *object, bool kernel, uint8_t out[32])
{
    (void)ctx, (void)object;
    memset(out, kernel ? 2 : 1, 32);
}

static void become_other(struct live *l, enum other what)
{
    static const uint8_t key[32] = "thirty-two bytes of another one";
    if (what == OTHER_OWNER)
        l->s->state->owner = (struct state_owner){.set = 1, .uid = 4242, .gid = 4242};
    if (what == OTHER_KIND)
        l->s->state->tracepoint_count = 1;
    if (what == OTHER_RIGHTS)
        l->f.env.rights_digest = digest_of_others;
    if (what == OTHER_MACHINE || what == NO_MACHINE)
        l->f.env.machine_key = what == NO_MACHINE ? NULL : key;
}

/* A Guid is no secret: another user's session with it, or another kind of session, must not get the waiting events. The
 * file stays. */
static void what_waits_is_for_its_owner_alone(void **state)
{
    (void)state;
    for (enum other what = OTHER_NONE; what < OTHER_LENGTH; what++) {
        struct live        l = {.name = "web"};
        struct reader      r;
        struct backup_mark m;
        char               kept[160];
        live_start(&l, true, 32, 0, false, false);
        produce(&l, 50, 100);
        power_off(&l);
        if (what == OTHER_MARK) { /* changed by a user without the key: a valid mark with a later user */
            const int fd = open(backup_path(&l), O_RDWR);
            assert_int_equal(pread(fd, &m, sizeof m, (off_t)backup_mark_at(8192)), sizeof m);
            m.owner = 4242;
            m.check = backup_mark_check(&m);
            assert_int_equal(pwrite(fd, &m, sizeof m, (off_t)backup_mark_at(8192)), sizeof m);
            close(fd);
        }
        live_start(&l, false, 32, 0, false, false);
        become_other(&l, what);
        snprintf(kept, sizeof kept, "%.*s.kept-1.etl", (int)strlen(backup_path(&l)) - 4, backup_path(&l));
        logger_pass(l.s->logger, false, true);
        if (what == OTHER_KIND)
            l.s->state->tracepoint_count = 0;
        reader_attach(&l, &r, 1);
        produce(&l, 10, 100);
        reader_read_all(&l, &r);
        assert_numbers(&r, what ? 50 : 0, what ? 10 : 60);
        assert_int_equal(exists(kept), what != OTHER_NONE);
        assert_int_equal(l.s->realtime_kept.status, what ? W_ACCESS_DENIED : W_SUCCESS);
        assert_int_equal(strstr(l.s->realtime_kept.text, kept) != NULL, what != OTHER_NONE);
        session_stop(l.s);
        live_finish(&l);
    }
}

static ssize_t bad_pread(struct os *os, int fd, void *data, size_t size, uint64_t offset)
{
    if (size > sizeof(struct etl_buffer_header) && offset / 8192 == 3)
        return -EIO;
    return os_linux()->pread(os, fd, data, size, offset);
}

/* A sector that the disk can't read: later buffers are delivered nevertheless. */
static void a_buffer_that_cannot_be_read(void **state)
{
    struct live   l;
    struct reader r, second;
    struct os     bad = *os_linux();
    (void)state;
    bad.pread = bad_pread;
    live_new(&l, 32, 0, false, false);
    produce(&l, 400, 100);
    l.f.env.os = &bad;
    assert_int_equal(reader_attach(&l, &r, 1), 0);
    assert_int_equal(reader_attach(&l, &second, 2), 0);
    reader_read_all(&l, &r);
    assert_true(r.events < 400 && r.events > 300);
    reader_read_all(&l, &second);
    assert_int_equal(second.events, r.events);
    assert_int_equal(answer.a.buffers_lost, 1);
    assert_int_equal(answer.a.files_lost, 1); /* one for all */
    l.f.env.os = os_linux();
    session_stop(l.s);
    live_finish(&l);
}

static struct {
    struct live   *l;
    struct reader *r;            /* reads when a second buffer is to be written */
    unsigned       calls, fails; /* number of the write that finds the disk full */
} disk;

static ssize_t full_pwrite(struct os *os, int fd, const void *data, size_t size, uint64_t offset)
{
    if (size < 8192 || !offset) /* the mark, the file's header */
        return os_linux()->pwrite(os, fd, data, size, offset);
    if (++disk.calls > 1 && disk.r)
        while (reader_read(disk.l, disk.r))
            ;
    return disk.calls == disk.fails ? -ENOSPC : os_linux()->pwrite(os, fd, data, size, offset);
}

/* The last buffer of a window finds no room. A consumer that waits for the window gets the rest of it, also when it
 * read meanwhile, and from a successor. */
static void without_the_last_of_its_window(void **state)
{
    /* on one processor: two buffers are full, and the last one ends the window */
    enum { AFTERWARDS, MEANWHILE, SUCCESSOR, VARIANTS, EVENTS = 40, BUFFERS = 3 };
    cpu_set_t all, one;
    (void)state;
    sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    for (int variant = 0; variant < VARIANTS; variant++) {
        struct live     l;
        struct reader   r;
        struct session *dead = NULL;
        struct os       full = *os_linux();
        full.pwrite          = full_pwrite;
        live_new(&l, 32, 0, false, false);
        assert_int_equal(reader_attach(&l, &r, 3), 0);
        l.f.env.os = &full;
        disk       = (__typeof__(disk)){&l, variant == MEANWHILE ? &r : NULL, 0, BUFFERS};
        for (unsigned i = 0; i < EVENTS; i++) {
            assert_int_equal(program_write(&l.w, (uint64_t[50]){l.numbers++}, 400), 0);
            if (i % 8 == 7)
                logger_pass(l.s->logger, false, false);
        }
        assert_int_equal(disk.calls, BUFFERS - 1);
        if (variant != SUCCESSOR) /* the successor runs the logger instead */
            logger_pass(l.s->logger, false, true);
        if (variant == SUCCESSOR) {
            dead = l.s;
            l.s  = adopting_successor(&l.f, dead);
            session_fs_ready(l.s);
            logger_pass(l.s->logger, false, false);
            reader_read_all(&l, &r);
            logger_pass(l.s->logger, false, true);
        }
        assert_int_equal(disk.calls, BUFFERS);
        reader_read_all(&l, &r);
        assert_int_equal(r.events, 32);
        assert_true(r.window);
        balance(&l);
        disk.fails = 0; /* the session continues */
        produce(&l, 10, 400);
        reader_read_all(&l, &r);
        assert_int_equal(r.events, 42);
        assert_true(r.window);
        if (dead)
            session_destroy(l.s);
        l.s        = dead ? dead : l.s;
        l.f.env.os = os_linux();
        live_finish(&l);
    }
    sched_setaffinity(0, sizeof all, &all);
}

/* Killed after real time was off, before its consumer was told: the successor has no real time, and reports that. */
static void switched_off_and_killed(void **state)
{
    struct live                l = {.name = NULL};
    struct reader              r;
    struct ctl_consume_request q = {.what = CTL_CONSUME_BUFFER};
    bool                       wait;
    (void)state;
    live_start(&l, true, 32, 0, true, false);
    produce(&l, 200, 100);
    assert_int_equal(reader_attach(&l, &r, 5), 0);
    assert_true(reader_read(&l, &r));
    l.s->state->log_file_mode &= ~(uint32_t)ETL_MODE_REAL_TIME;
    struct session *n = adopting_successor(&l.f, l.s);
    assert_null(n->realtime);
    assert_false(realtime_attached(n, 5));
    assert_int_equal(realtime_delivery.next(n, 5, &q, &answer.a, 100, &wait), W_WMI_INSTANCE_NOT_FOUND);
    assert_false(exists(backup_path(&l)));
    session_destroy(n);
    live_finish(&l);
}

/* ---- with the logger's own thread ---- */

static void *write_on(void *ctx)
{
    struct live *l = ctx;
    for (uint64_t i = 0; i < 3000; i++) {
        uint64_t payload[20] = {i};
        program_write(&l->w, payload, sizeof payload);
        if (i % 64 == 0)
            usleep(2000);
    }
    return NULL;
}

static void readers_beside_the_logger(void **state)
{
    struct live         l = {0};
    struct reader       r[3];
    unsigned            slot, entry;
    struct enable_terms all = {0};
    struct reason       why = {0};
    pthread_t           thread;
    (void)state;
    fixture_init(&l.f, true);
    l.f.env.log_dir      = l.f.dir;
    l.f.env.realtime     = &realtime_delivery;
    l.f.env.consumers_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct plan plan     = plan_make(&l.f, &l.text, "live/one", 8, 16 * l.f.env.cpus, 256);
    plan.log_path        = NULL;
    plan.log_file_mode   = ETL_MODE_REAL_TIME | ETL_MODE_MS_FLUSH_TIMER;
    plan.flush_timer     = 5;
    assert_int_equal(table_add(&l.f.table, &plan, &l.s, &why), 0);
    assert_int_equal(session_enable(l.s, &test_provider, "key", &all, &slot, &entry, &why), 0);
    assert_int_equal(session_start(l.s, &why), 0);
    program_attach(&l.w, l.s, (uint32_t)geteuid(), slot, entry);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(reader_attach(&l, &r[i], i), 0);
    session_fs_ready(l.s);
    assert_int_equal(pthread_create(&thread, NULL, write_on, &l), 0);
    for (int i = 0; i < 30000; i++) {
        reader_read_all(&l, &r[i % 3]);
        if (i % 3 == 2 && r[0].events)
            usleep(1000);
        if (r[0].events >= 3000 && r[1].events >= 3000 && r[2].events >= 3000)
            break;
    }
    pthread_join(thread, NULL);
    session_flush(l.s);
    for (uint32_t i = 0; i < 3; i++)
        reader_read_all(&l, &r[i]);
    session_stop(l.s);
    balance(&l);
    struct ctl_session_info i = info_of(&l);
    assert_int_equal(i.realtime_buffers_lost, 0);
    for (uint32_t k = 0; k < 3; k++) {
        assert_int_equal(r[k].events, l.w.written);
        qsort(r[k].seen, r[k].events, sizeof r[k].seen[0], by_number);
        for (uint64_t n = 1; n < r[k].events; n++)
            assert_true(r[k].seen[n] > r[k].seen[n - 1]);
    }
    close(l.f.env.consumers_fd);
    live_finish(&l);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(nobody_reads_then_one_does),    cmocka_unit_test(a_reboot_gives_what_was_not_read_once),
    cmocka_unit_test(full_is_dropped_and_counted),   cmocka_unit_test(the_slow_one_misses_buffers_alone),
    cmocka_unit_test(who_comes_while_others_read),   cmocka_unit_test(with_a_file_both_get_all),
    cmocka_unit_test(what_is_not_to_be_kept),        cmocka_unit_test(the_rest_goes_with_the_farewell),
    cmocka_unit_test(a_damaged_backup_is_set_aside), cmocka_unit_test(many_boots_that_nobody_reads),
    cmocka_unit_test(a_folder_that_is_a_link),       cmocka_unit_test(skipped_is_not_missed_by_who_has_it),
    cmocka_unit_test(a_number_that_cannot_be),       cmocka_unit_test(what_waits_is_for_its_owner_alone),
    cmocka_unit_test(a_buffer_that_cannot_be_read),  cmocka_unit_test(without_the_last_of_its_window),
    cmocka_unit_test(switched_off_and_killed),       cmocka_unit_test(readers_beside_the_logger),
};

int main(void) { return cmocka_run_group_tests(tests, NULL, NULL); }
