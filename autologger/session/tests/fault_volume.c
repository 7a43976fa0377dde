/* Sessions on a volume of 1 MB that is full, 25 times (AL_FULL=1: 100), each time at another place: the Status says
 * 112, the file has whole buffers and reads without damage, attempted = written + lost, and a session on another volume
 * is not touched by it. A real volume (tmpfs) in a mount namespace of this process; where that is not allowed the test
 * is skipped. Proves: COR-20, LGT-05. */
// timeout: 120
#include "autologger/session/tests/fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

enum { VOLUME_KB = 1024, EVENTS = 200, ROUNDS = 60, PAYLOAD = 400 };

static bool id_map(const char *path, unsigned inside, unsigned outside)
{
    char text[64];
    int  n  = snprintf(text, sizeof text, "%u %u 1\n", inside, outside);
    int  fd = open(path, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && write(fd, text, (size_t)n) == n;
    if (fd >= 0)
        close(fd);
    return ok;
}

/* A mount namespace of our own: as root, or as root of a user namespace. */
static bool may_mount(void)
{
    const unsigned uid = geteuid(), gid = getegid();
    if (unshare(CLONE_NEWNS) == 0)
        return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return false;
    int deny = open("/proc/self/setgroups", O_WRONLY | O_CLOEXEC);
    if (deny >= 0) {
        ssize_t n = write(deny, "deny", 4);
        close(deny);
        if (n != 4)
            return false;
    }
    return id_map("/proc/self/uid_map", 0, uid) && id_map("/proc/self/gid_map", 0, gid);
}

struct one { /* session */
    struct plan_text t;
    struct session  *s;
    struct program   w;
};

static void one_start(struct fixture *f, struct one *o, const char *name, const char *folder)
{
    unsigned            slot, entry;
    struct enable_terms all  = {0};
    struct reason       why  = {0};
    struct plan         plan = plan_make(f, &o->t, name, 16, 16, 16);

    if (folder)
        snprintf(o->t.path, sizeof o->t.path, "%s/%s.etl", folder, name);
    assert_int_equal(table_add(&f->table, &plan, &o->s, &why), 0);
    assert_int_equal(session_enable(o->s, &test_provider, "key", &all, &slot, &entry, &why), 0);
    assert_int_equal(session_start(o->s, &why), 0);
    session_fs_ready(o->s);
    program_attach(&o->w, o->s, (uint32_t)geteuid(), slot, entry);
}

/* Takes `taken` KB of the volume first, so that it is full at another place each time. */
static void fill(const char *folder, unsigned taken)
{
    static uint8_t block[1024];
    char           path[160];
    snprintf(path, sizeof path, "%s/taken", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    for (unsigned i = 0; i < taken; i++)
        assert_int_equal(write(fd, block, sizeof block), sizeof block);
    close(fd);
}

static void full_once(unsigned round)
{
    struct fixture          f;
    struct one              tight, other;
    struct ctl_session_info info;
    struct reason           why = {0};
    char                    volume[128], options[32];

    fixture_init(&f, false);
    snprintf(volume, sizeof volume, "%s/volume", f.dir);
    snprintf(options, sizeof options, "size=%uk", VOLUME_KB);
    assert_int_equal(mkdir(volume, 0700), 0);
    assert_int_equal(mount("none", volume, "tmpfs", 0, options), 0);
    fill(volume, round * 37 % (VOLUME_KB - 64));
    one_start(&f, &tight, "tight", volume);
    one_start(&f, &other, "other", NULL);
    for (unsigned r = 0; r < ROUNDS; r++) {
        for (unsigned i = 0; i < EVENTS / 4; i++) {
            program_write(&tight.w, &(char[PAYLOAD]){(char)i}, PAYLOAD);
            program_write(&other.w, &(char[PAYLOAD]){(char)i}, PAYLOAD);
        }
        logger_pass(tight.s->logger, false, false);
        logger_pass(other.s->logger, false, false);
    }
    session_stop(tight.s);
    session_stop(other.s);
    session_info(tight.s, &info);
    assert_int_equal(session_file_status(tight.s, &why), W_DISK_FULL);
    assert_non_null(strstr(why.text, "No space left"));
    assert_int_equal(tight.w.attempted, info.events_written + info.lost_ring + info.lost_file);
    assert_true(info.lost_file > 0);
    struct found found = file_read(tight.t.path);
    assert_int_equal(found.events, info.events_written);
    assert_int_equal(found.inversions + found.damage, 0);
    session_info(other.s, &info);
    assert_int_equal(session_file_status(other.s, &why), W_SUCCESS);
    assert_int_equal(info.events_written, other.w.written);
    assert_int_equal(file_read(other.t.path).events, other.w.written);
    assert_int_equal(info.lost_file, 0);
    assert_int_equal(umount2(volume, MNT_DETACH), 0);
    fixture_finish(&f);
}

static void a_full_volume(void **state)
{
    unsigned rounds = getenv("AL_FULL") ? 100 : 25;
    (void)state;
    if (!may_mount()) {
        print_message("no mount namespace of our own: %s\n", strerror(errno));
        skip();
    }
    for (unsigned i = 0; i < rounds; i++)
        full_once(i);
    print_message("full %u times\n", rounds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_full_volume)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
