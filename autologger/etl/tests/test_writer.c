/* The file writer: re-use of a target, limits, resume, files after a crash.
 * D-10: a file that is being written has one writer.
 * Proves: SES-01 (sequential, MaxFileSize honoured), COR-23 (no foreign file is replaced, none is shared). */
#include "autologger/etl/tests/build.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char    folder[32], path[64];
static uint8_t buffer[8192];

static int setup(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/al-etl-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/x.etl", folder);
    return 0;
}
static int teardown(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static void put_file(const char *name, const void *data, size_t size)
{
    FILE *f = fopen(name, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    fclose(f);
}
static long file_size(void)
{
    struct stat st;
    return stat(path, &st) < 0 ? -1 : (long)st.st_size;
}
static uint32_t fill_buffer(int64_t time, uint32_t value)
{
    struct etl_event_header h = build_event(time, sizeof value);
    memcpy(buffer + 72, &h, sizeof h);
    memcpy(buffer + 72 + sizeof h, &value, sizeof value);
    return 72 + h.size;
}
static unsigned count_events(struct etl_file_header *header, unsigned *damage)
{
    struct etl_reader *r;
    struct etl_event   e;
    struct reason      why;
    unsigned           n = 0;
    assert_int_equal(etl_reader_open(path, &r, &why), W_SUCCESS);
    while (etl_next(r, &e))
        n++;
    *header = *etl_reader_header(r);
    etl_reader_damage(r, damage);
    etl_reader_close(r);
    return n;
}

static void foreign_targets_are_refused(void **state)
{
    struct etl_file_info info = build_info(4096);
    struct etl_writer   *w;
    struct reason        why;
    char                 other[64], text[16];
    (void)state;

    put_file(path, "my diary, 1998\n", 15);
    assert_int_equal(etl_writer_create(os_linux(), path, &info, 0, &w, &why), W_ALREADY_EXISTS);
    assert_non_null(strstr(why.text, "not an .etl"));
    FILE *f = fopen(path, "rb");
    assert_int_equal(fread(text, 1, sizeof text, f), 15);
    fclose(f);
    assert_memory_equal(text, "my diary, 1998\n", 15);
    unlink(path);

    snprintf(other, sizeof other, "%s/real", folder);
    put_file(other, "", 0);
    assert_int_equal(symlink(other, path), 0);
    assert_int_equal(etl_writer_create(os_linux(), path, &info, 0, &w, &why), W_ALREADY_EXISTS);
    unlink(path);
    unlink(other);
    assert_int_equal(symlink(other, path), 0); /* not through a dangling link either */
    assert_int_equal(etl_writer_create(os_linux(), path, &info, 0, &w, &why), W_ALREADY_EXISTS);
    assert_int_not_equal(access(other, F_OK), 0);
    unlink(path);

    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(etl_writer_create(os_linux(), path, &info, 0, &w, &why), W_ALREADY_EXISTS);
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(etl_writer_create(os_linux(), path, &info, 0, &w, &why), W_BAD_PATHNAME);
    rmdir(path);
    snprintf(other, sizeof other, "%s/no/x.etl", folder);
    assert_int_equal(etl_writer_create(os_linux(), other, &info, 0, &w, &why), W_PATH_NOT_FOUND);
    put_file(path, "", 0);
    snprintf(other, sizeof other, "%s/x", path);
    assert_int_equal(etl_writer_create(os_linux(), other, &info, 0, &w, &why), W_DIRECTORY);
    assert_int_equal(etl_writer_create(os_linux(), path, &info, 0, &w, &why), W_SUCCESS); /* empty: accepted */
    etl_writer_destroy(w);
    assert_int_equal(etl_writer_create(os_linux(), path, &info, 0, &w, &why), W_SUCCESS); /* so is an .etl */
    etl_writer_destroy(w);
    assert_int_equal(file_size(), 4096);
}

static int no_locks(struct os *os, int fd, bool on)
{
    (void)os, (void)fd, (void)on;
    return -EOPNOTSUPP;
}

/* D-10: COR-23: a file has one writer, over a hard link, too; its contents stay. A descriptor inherited by a child does
 * not hold the lock. */
static void a_file_has_one_writer(void **state)
{
    struct etl_file_info info = build_info(4096);
    struct etl_writer   *w, *x;
    struct reason        why;
    struct os            lockless = *os_linux();
    char                 other[80];
    (void)state;

    assert_int_equal(etl_writer_create(os_linux(), path, &info, 0, &w, &why), W_SUCCESS);
    assert_true(etl_writer_locked(w));
    snprintf(other, sizeof other, "%s/link.etl", folder);
    assert_int_equal(link(path, other), 0);
    assert_int_equal(etl_writer_create(os_linux(), path, &info, 0, &x, &why), W_SHARING_VIOLATION);
    assert_int_equal(etl_writer_create(os_linux(), other, &info, 0, &x, &why), W_SHARING_VIOLATION);
    assert_non_null(strstr(why.text, other));
    assert_int_equal(etl_writer_copy(w, other, 0, 0, 0, &why), W_SHARING_VIOLATION); /* onto itself */
    assert_int_equal(file_size(), 4096);

    const pid_t child = fork(); /* lives until it is killed below */
    if (child == 0)
        _exit(pause());
    struct etl_write_state published = etl_writer_state(w);
    etl_writer_destroy(w);
    assert_int_equal(etl_writer_create(os_linux(), other, &info, 0, &w, &why), W_SUCCESS);
    etl_writer_destroy(w);
    assert_int_equal(etl_writer_resume(os_linux(), path, &info, &published, 0, &w, &why), W_SUCCESS);
    assert_int_equal(etl_writer_create(os_linux(), path, &info, 0, &x, &why), W_SHARING_VIOLATION);
    etl_writer_destroy(w);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);

    lockless.lock = no_locks; /* a file system without locks must not make a boot fail */
    assert_int_equal(etl_writer_create(&lockless, path, &info, 0, &w, &why), W_SUCCESS);
    assert_false(etl_writer_locked(w));
    etl_writer_destroy(w);
    unlink(other);
}

static void wrong_infos_are_refused(void **state)
{
    struct etl_writer *w;
    struct reason      why;
    (void)state;
    for (int i = 0; i < 5; i++) {
        struct etl_file_info info = build_info(4096);
        if (i == 0)
            info.buffer_size = 4000;
        if (i == 1)
            info.buffer_size = 17 << 20;
        if (i == 2)
            info.processors = 0;
        if (i == 3)
            info.clock_type = 4;
        if (i == 4)
            info.buffer_size = 2048;
        assert_int_equal(etl_writer_create(os_linux(), path, &info, 0, &w, &why), W_INVALID_PARAMETER);
        assert_int_equal(file_size(), -1);
    }
}

static void the_size_limit_holds(void **state)
{
    struct etl_file_info   info = build_info(4096);
    struct etl_writer     *w;
    struct reason          why;
    struct etl_file_header header;
    unsigned               damage;
    (void)state;

    info.log_file_mode |= ETL_MODE_KBYTES | ETL_MODE_REAL_TIME;
    info.max_file_size = 13; /* room for three buffers */
    assert_int_equal(etl_writer_create(os_linux(), path, &info, 0, &w, &why), W_SUCCESS);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(etl_writer_put(w, buffer, fill_buffer(2000000 + i, 1), 0, 3000000, &why),
                         i < 2 ? W_SUCCESS : W_LOG_FILE_FULL);
        assert_int_equal(file_size(), 4096 * (i < 2 ? 2 + i : 3)); /* it grows by whole buffers, and never shrinks */
    }
    assert_int_equal(etl_writer_state(w).buffers_lost, 2);
    assert_int_equal(file_size(), 3 * 4096);
    assert_int_equal(etl_writer_finish(w, BUILD_START_TIME + 5, UINT64_C(5000000000), false, &why), W_SUCCESS);
    etl_writer_destroy(w);
    assert_int_equal(count_events(&header, &damage), 3);
    assert_int_equal(header.raw.buffers_lost, 2);
    assert_true(header.raw.events_lost == UINT32_MAX);                                 /* saturates */
    assert_int_equal(header.raw.log_file_mode, ETL_MODE_SEQUENTIAL | ETL_MODE_KBYTES); /* real time is not stored */
}

static void the_free_floor_holds(void **state)
{
    struct etl_file_info info = build_info(4096);
    struct etl_writer   *w;
    struct reason        why;
    (void)state;
    assert_int_equal(etl_writer_create(os_linux(), path, &info, UINT64_C(1) << 62, &w, &why), W_DISK_FULL);
    assert_int_equal(file_size(), -1); /* no file stays behind */
}

/* A volume with room for one more buffer, and a second writer that puts while the first one writes its buffer. */
static struct {
    struct etl_writer *second;
    uint64_t           free_bytes;
    wstatus            got;
} race;

static int one_more(struct os *os, const char *of, struct os_space *out)
{
    (void)os, (void)of;
    *out = (struct os_space){.free_bytes = race.free_bytes};
    return 0;
}

static ssize_t second_comes(struct os *os, int fd, const void *data, size_t size, uint64_t at)
{
    struct etl_writer *w = race.second;
    (void)os;
    race.second = NULL;
    if (w) {
        struct reason why;
        uint8_t       other[4096];
        memcpy(other, buffer, sizeof other);
        race.got = etl_writer_put(w, other, fill_buffer(2000000, 1), 0, 3000000, &why);
    }
    return os_linux()->pwrite(os_linux(), fd, data, size, at);
}

static void two_writers_leave_the_floor(void **state)
{
    enum { FLOOR = 1 << 20 };
    struct etl_file_info info = build_info(4096);
    struct etl_writer   *w;
    struct reason        why;
    struct os            os = *os_linux();
    char                 second[sizeof path + 8];
    (void)state;
    snprintf(second, sizeof second, "%s.second", path);
    os.space  = one_more;
    os.pwrite = second_comes;
    for (int room = 1; room <= 2; room++) {
        race.free_bytes = FLOOR + 64 * 4096;
        assert_int_equal(etl_writer_create(&os, path, &info, FLOOR, &w, &why), W_SUCCESS);
        struct etl_writer *other;
        assert_int_equal(etl_writer_create(&os, second, &info, FLOOR, &other, &why), W_SUCCESS);
        race.second           = other;
        race.free_bytes       = FLOOR + (uint64_t)room * 4096;
        const uint32_t filled = fill_buffer(2000000, 1);
        assert_int_equal(etl_writer_put(w, buffer, filled, 0, 3000000, &why), W_SUCCESS);
        assert_null(race.second); /* the second has put */
        assert_int_equal(race.got, room == 1 ? W_DISK_FULL : W_SUCCESS);
        /* no write is in progress now */
        assert_int_equal(etl_writer_put(other, buffer, fill_buffer(2000000, 1), 0, 3000000, &why), W_SUCCESS);
        etl_writer_destroy(w);
        etl_writer_destroy(other);
        assert_int_equal(unlink(second), 0);
        unlink(path);
    }
}

static void a_crash_leaves_a_readable_file(void **state)
{
    struct etl_file_info   info = build_info(4096);
    struct etl_writer     *w;
    struct reason          why;
    struct etl_file_header header;
    unsigned               damage;
    (void)state;

    assert_int_equal(etl_writer_create(os_linux(), path, &info, 0, &w, &why), W_SUCCESS);
    for (uint16_t i = 0; i < 3; i++)
        assert_int_equal(etl_writer_put(w, buffer, fill_buffer(2000000 + i, 1), i, 3000000, &why), W_SUCCESS);
    etl_writer_destroy(w); /* no finish */
    assert_int_equal(count_events(&header, &damage), 4);
    assert_int_equal(damage, 0);
    assert_int_equal(header.raw.buffers_written, 4);
    assert_int_equal(header.raw.end_time, 0);
}

static void resume_truncates_and_goes_on(void **state)
{
    struct etl_file_info   info = build_info(4096);
    struct etl_writer     *w;
    struct reason          why;
    struct etl_file_header header;
    unsigned               damage;
    (void)state;

    assert_int_equal(etl_writer_create(os_linux(), path, &info, 0, &w, &why), W_SUCCESS);
    assert_int_equal(etl_writer_put(w, buffer, fill_buffer(2000000, 1), 0, 3000000, &why), W_SUCCESS);
    struct etl_write_state published = etl_writer_state(w);
    assert_int_equal(etl_writer_put(w, buffer, fill_buffer(2000001, 2), 0, 3000000, &why), W_SUCCESS);
    etl_writer_destroy(w); /* its last buffer was written, but not published: the successor writes it again */
    published.buffers_lost = 5;
    assert_int_equal(etl_writer_resume(os_linux(), path, &info, &published, 0, &w, &why), W_SUCCESS);
    assert_int_equal(file_size(), 8192);
    assert_int_equal(etl_writer_put(w, buffer, fill_buffer(2000001, 2), 0, 3000000, &why), W_SUCCESS);
    assert_int_equal(etl_writer_finish(w, BUILD_START_TIME + 5, 7, true, &why), W_SUCCESS);
    etl_writer_destroy(w);
    assert_int_equal(count_events(&header, &damage), 3);
    assert_int_equal(damage, 0);
    assert_int_equal(header.raw.buffers_written, 3);
    assert_int_equal(header.raw.buffers_lost, 5);
    assert_int_equal(header.raw.events_lost, 7);

    struct etl_write_state wrong = {.file_offset = 4096 * 9, .buffers_written = 9};
    assert_int_equal(etl_writer_resume(os_linux(), path, &info, &wrong, 0, &w, &why), W_INVALID_DATA);
    wrong.file_offset = 100;
    assert_int_equal(etl_writer_resume(os_linux(), path, &info, &wrong, 0, &w, &why), W_INVALID_PARAMETER);
    info.buffer_size = 8192;
    wrong            = (struct etl_write_state){.file_offset = 8192, .buffers_written = 1};
    assert_int_equal(etl_writer_resume(os_linux(), path, &info, &wrong, 0, &w, &why), W_INVALID_DATA);
}

static void odd_buffers(void **state)
{
    struct etl_file_info   info = build_info(4096);
    struct etl_writer     *w;
    struct reason          why;
    struct etl_file_header header;
    unsigned               damage;
    (void)state;

    assert_int_equal(etl_writer_create(os_linux(), path, &info, 0, &w, &why), W_SUCCESS);
    assert_int_equal(etl_writer_put(w, buffer, 72, 0, 0, &why), W_SUCCESS); /* empty: not written */
    assert_int_equal(file_size(), 4096);
    assert_int_equal(etl_writer_put(w, buffer, 71, 0, 0, &why), W_INVALID_PARAMETER);
    assert_int_equal(etl_writer_put(w, buffer, 4097, 0, 0, &why), W_INVALID_PARAMETER);
    assert_int_equal(etl_writer_put(w, buffer, UINT32_MAX, 0, 0, &why), W_INVALID_PARAMETER);
    /* 4 CPUs: 0 to 3; number 4 takes late events */
    assert_int_equal(etl_writer_put(w, buffer, 100, 5, 0, &why), W_INVALID_PARAMETER);
    assert_int_equal(etl_writer_state(w).buffers_lost, 0);
    /* an earlier end than start is corrected */
    assert_int_equal(etl_writer_finish(w, 1, 0, false, &why), W_SUCCESS);
    etl_writer_destroy(w);
    assert_int_equal(count_events(&header, &damage), 1);
    assert_true(header.raw.end_time == header.raw.start_time);
}

static void long_names_are_cut_to_fit(void **state)
{
    struct etl_file_info info = build_info(4096);
    struct etl_writer   *w;
    struct reason        why;
    struct etl_reader   *r;
    char                 name[3001];
    (void)state;

    for (size_t i = 0; i < 3000; i += 4)
        memcpy(name + i, "\xF0\x9F\x90\xA7", 4); /* outside the BMP: two units, never cut in half */
    name[3000]       = 0;
    info.logger_name = name;
    info.file_name   = name;
    assert_int_equal(etl_writer_create(os_linux(), path, &info, 0, &w, &why), W_SUCCESS);
    etl_writer_destroy(w);
    assert_int_equal(etl_reader_open(path, &r, &why), W_SUCCESS);
    size_t n = strlen(etl_reader_header(r)->logger_name);
    assert_true(n > 1000 && n % 4 == 0 && strncmp(etl_reader_header(r)->logger_name, name, n) == 0);
    etl_reader_close(r);
}

static void large_buffers_say_layout_2(void **state)
{
    struct etl_file_info info = build_info(2 << 20);
    uint8_t             *b    = malloc(info.buffer_size);
    (void)state;
    etl_header_build(&info, b);
    assert_true(b[0x6E] == 2 && b[0x6F] == 0);
    info.buffer_size = 1 << 20;
    etl_header_build(&info, b);
    assert_true(b[0x6E] == 1 && b[0x6F] == 5);
    info.processors = 257;
    etl_header_build(&info, b);
    assert_true(b[0x6E] == 2 && b[0x6F] == 0);
    free(b);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(foreign_targets_are_refused),    T(a_file_has_one_writer),        T(wrong_infos_are_refused),
        T(the_size_limit_holds),           T(the_free_floor_holds),         T(two_writers_leave_the_floor),
        T(a_crash_leaves_a_readable_file), T(resume_truncates_and_goes_on), T(odd_buffers),
        T(long_names_are_cut_to_fit),      T(large_buffers_say_layout_2)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
