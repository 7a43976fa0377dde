/* Merging: counts, order over CPUs and files, one clock and one anchor, no file left behind.
 * Proves: CTL-10, MRG-02 (count in = count out), MRG-09 (time order), MRG-10 and SES-16 (other clocks refused, no
 * file), CON-04 (several files as one). */
#include "autologger/consumer/merge.h"
#include "autologger/etl/tests/build.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <dirent.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[32], kernel_path[64], user_path[64], target[64];

static void save(struct image *m, const char *path)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(m->data, 1, m->size, f), m->size);
    fclose(f);
    image_free(m);
}

/* 1,500 events a file on two CPUs, interleaved in time, values rising per (file, CPU). */
static void save_file(const char *path, bool kernel, const struct etl_file_info *info, int64_t from)
{
    struct image m    = image_start(info);
    uint32_t     lost = kernel ? 2 : 5, lost_buffers = 1;

    memcpy(m.data + HEADER_AT_EVENTS_LOST, &lost, 4);
    memcpy(m.data + HEADER_AT_BUFFERS_LOST, &lost_buffers, 4);
    for (uint32_t b = 0; b < 30; b++) {
        image_buffer(&m, (uint16_t)(b % 2), 1 + b);
        for (uint32_t i = 0; i < 50; i++) {
            int64_t  time  = from + (b / 2) * 100000 + i * 1000 + (b % 2) * 10 + kernel;
            uint32_t value = (b / 2) * 50 + i;
            if (kernel)
                image_kernel(&m, time, 0x030B, 2, 0, &value, 4);
            else
                image_event(&m, time, value);
        }
    }
    save(&m, path);
}

static int setup(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/al-merge-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(kernel_path, sizeof kernel_path, "%s/k.etl", folder);
    snprintf(user_path, sizeof user_path, "%s/u.etl", folder);
    snprintf(target, sizeof target, "%s/m.etl", folder);
    struct etl_file_info info = build_info(8192);
    info.logger_name          = "user";
    save_file(user_path, false, &info, 2000000);
    info.logger_name = "kernel";
    info.start_raw += 5000; /* a later anchor on the same line */
    info.start_time += 5000;
    info.processors = 6;
    save_file(kernel_path, true, &info, 2000000);
    return 0;
}
static int teardown(void **state)
{
    (void)state;
    unlink(kernel_path);
    unlink(user_path);
    unlink(target);
    return rmdir(folder); /* fails when a temporary file was left */
}

static void two_files_in_order(void **state)
{
    const char         *files[] = {user_path, kernel_path};
    struct merge_counts c;
    struct reason       why;
    struct etl_reader  *r;
    struct etl_event    e;
    unsigned            damage, n = 0;
    int64_t             last       = INT64_MIN;
    uint32_t            next[2][2] = {{0}}; /* kind, CPU */
    (void)state;

    assert_int_equal(merge_files(os_linux(), files, 2, target, &c, &why), W_SUCCESS);
    assert_int_equal(c.in, 2 * 1501);
    assert_int_equal(c.headers_dropped, 1);
    assert_int_equal(c.out, c.in - c.headers_dropped);
    assert_true(c.inversions == 0 && c.damage == 0 && c.events_lost == 7 && c.buffers_lost == 2);
    assert_int_equal(etl_reader_open(target, &r, &why), W_SUCCESS);
    const struct etl_file_header *h = etl_reader_header(r);
    assert_string_equal(h->logger_name, "kernel"); /* the kernel file leads, also as the second argument */
    assert_string_equal(h->file_name, "m.etl");
    assert_int_equal(h->raw.processors, 6);
    assert_int_equal(h->raw.events_lost, 7);
    assert_int_equal(h->raw.buffers_lost, 2);
    assert_true(h->raw.end_time > h->raw.start_time);
    assert_true(h->start_raw == 1000000 && h->raw.start_time == (int64_t)BUILD_START_TIME); /* the earlier anchor */
    while (etl_next(r, &e)) {
        assert_true(e.raw_time >= last);
        last = e.raw_time;
        if (n++ == 0) {
            assert_int_equal(e.hook, 0);
            continue;
        }
        uint32_t value;
        memcpy(&value, e.payload, 4);
        assert_true(e.cpu < 2);
        assert_int_equal(value, next[e.kind == ETL_KIND_EVENT][e.cpu]++);
    }
    assert_int_equal(n, c.out);
    assert_int_equal(next[0][0] + next[0][1] + next[1][0] + next[1][1], 3000);
    etl_reader_damage(r, &damage);
    assert_int_equal(damage, 0);
    assert_int_equal(h->buffers_found, h->raw.buffers_written);
    etl_reader_close(r);
    /* merging over an earlier result is fine, merging a result again too */
    assert_int_equal(merge_files(os_linux(), files, 2, target, &c, &why), W_SUCCESS);
    assert_int_equal(merge_files(os_linux(), (const char *[]){target}, 1, user_path, &c, &why), W_SUCCESS);
    assert_int_equal(c.in, 3001);
    assert_int_equal(c.out, 3001);
}

static void refusals(void **state)
{
    const char          *files[] = {kernel_path, user_path};
    struct merge_counts  c;
    struct reason        why;
    struct etl_file_info info;
    (void)state;

    for (int i = 0; i < 4; i++) {
        info = build_info(8192);
        if (i == 0)
            info.clock_type = 2;
        if (i == 1)
            info.perf_freq = 3000000;
        if (i == 2)
            info.start_time += 60 * UINT64_C(10000000); /* another boot */
        if (i == 3)
            info.clock_type = 3;
        save_file(user_path, false, &info, 2000000);
        assert_int_equal(merge_files(os_linux(), files, 2, target, &c, &why), W_INVALID_PARAMETER);
        assert_true(strstr(why.text, kernel_path) && strstr(why.text, user_path));
        assert_int_not_equal(access(target, F_OK), 0);
    }
    info = build_info(8192);
    info.start_time += 300000; /* 30 ms: a slewed clock */
    save_file(user_path, false, &info, 2000000);
    assert_int_equal(merge_files(os_linux(), files, 2, target, &c, &why), W_SUCCESS);
    unlink(target);
    assert_int_equal(merge_files(os_linux(), files, 0, target, &c, &why), W_INVALID_PARAMETER);
    assert_int_equal(merge_files(os_linux(), files, 2, user_path, &c, &why), W_INVALID_PARAMETER);
    files[1] = AL_SOURCE_DIR "/CMakeLists.txt";
    assert_int_equal(merge_files(os_linux(), files, 2, target, &c, &why), W_INVALID_DATA);
    files[1] = user_path;
    FILE *f  = fopen(target, "w");
    fputs("precious", f);
    fclose(f);
    assert_int_equal(merge_files(os_linux(), files, 2, target, &c, &why), W_ALREADY_EXISTS);
}

/* Files of two daemons of one boot (D-09), and files from before and after the date was set (D-05). */
static void one_boot(void **state)
{
    const char          *files[] = {kernel_path, user_path};
    const uint64_t       set     = 60 * UINT64_C(10000000);
    struct merge_counts  c;
    struct reason        why;
    struct etl_file_info info = build_info(8192);
    struct etl_reader   *r;
    (void)state;

    info.perf_freq += info.perf_freq / 50000; /* 20 ppm */
    save_file(user_path, false, &info, 2000000);
    assert_int_equal(merge_files(os_linux(), files, 2, target, &c, &why), W_SUCCESS);
    unlink(target);
    info = build_info(8192);
    info.start_time += set;
    info.boot_time += set;
    save_file(user_path, false, &info, 2000000);
    assert_int_equal(merge_files(os_linux(), files, 2, target, &c, &why), W_INVALID_PARAMETER);
    assert_non_null(strstr(why.text, "--one-boot"));
    assert_int_equal(
        merge_files_with(os_linux(), files, 2, target, &(struct merge_options){.one_boot = true}, &c, &why), W_SUCCESS);
    assert_int_equal(c.out, 3001);
    assert_int_equal(etl_reader_open(target, &r, &why), W_SUCCESS);
    /* neither file was finished: the date of the file that started last counts */
    const struct etl_file_header *h = etl_reader_header(r);
    assert_int_equal(h->raw.start_time, BUILD_START_TIME);
    etl_reader_close(r);
}

static int     writes_left;
static ssize_t some_writes(struct os *os, int fd, const void *data, size_t size, uint64_t offset)
{
    (void)os;
    return writes_left-- > 0 ? os_linux()->pwrite(os_linux(), fd, data, size, offset) : -ENOSPC;
}
static int no_rename(struct os *os, const char *from, const char *to)
{
    (void)os;
    (void)from;
    (void)to;
    return -EACCES;
}

static void a_full_disk_leaves_nothing(void **state)
{
    const char         *files[] = {kernel_path, user_path};
    struct merge_counts c;
    struct reason       why;
    struct os           os = *os_linux();
    wstatus             st = W_DISK_FULL;
    int                 n;
    (void)state;

    os.pwrite = some_writes;
    for (n = 0; n < 40 && st != W_SUCCESS; n++) {
        writes_left = n;
        st          = merge_files(&os, files, 2, target, &c, &why);
        assert_true(st == W_SUCCESS || st == W_DISK_FULL);
        assert_int_equal(access(target, F_OK) == 0, st == W_SUCCESS);
    }
    assert_true(n > 5 && st == W_SUCCESS);
    unlink(target);
    os        = *os_linux();
    os.rename = no_rename;
    assert_int_equal(merge_files(&os, files, 2, target, &c, &why), W_ACCESS_DENIED);
    unsigned entries = 0;
    DIR     *d       = opendir(folder);
    while (readdir(d))
        entries++;
    closedir(d);
    assert_int_equal(entries, 4); /* . and .., the two inputs */
}

static void damage_is_counted(void **state)
{
    const char         *files[] = {kernel_path};
    struct merge_counts c;
    struct reason       why;
    (void)state;
    FILE *f = fopen(kernel_path, "r+b");
    fseek(f, 8192 + 72, SEEK_SET);
    fputs("XXXX", f);
    fclose(f);
    assert_int_equal(merge_files(os_linux(), files, 1, target, &c, &why), W_SUCCESS);
    assert_int_equal(c.damage, 1);
    assert_non_null(strstr(c.first_damage, "k.etl: offset 8264: "));
    assert_int_equal(c.in, 1451);
    assert_int_equal(c.out, 1451);
}

static void inversions_are_named(void **state)
{
    struct etl_file_info info    = build_info(8192);
    const char          *files[] = {user_path};
    struct merge_counts  c;
    struct reason        why;
    struct image         m = image_start(&info);
    (void)state;
    image_buffer(&m, 0, 1);
    image_event(&m, 2000010, 1);
    image_event(&m, 2000005, 2);
    save(&m, user_path);
    assert_int_equal(merge_files(os_linux(), files, 1, target, &c, &why), W_SUCCESS);
    assert_int_equal(c.inversions, 1);
    assert_non_null(strstr(c.first_inversion, "u.etl: offset "));
}

/* One file under one or two names: each of its events would be in the result twice. */
static void one_file_counts_once(void **state)
{
    char                link_path[64];
    const char         *same[] = {user_path, kernel_path, user_path}, *linked[] = {user_path, link_path};
    struct merge_counts c;
    struct reason       why;
    (void)state;
    snprintf(link_path, sizeof link_path, "%s/l.etl", folder);
    assert_int_equal(link(user_path, link_path), 0);
    assert_int_equal(merge_files(os_linux(), same, 3, target, &c, &why), W_INVALID_PARAMETER);
    assert_non_null(strstr(why.text, "u.etl is given twice:"));
    assert_int_equal(merge_files(os_linux(), linked, 2, target, &c, &why), W_INVALID_PARAMETER);
    assert_non_null(strstr(why.text, "l.etl is given twice, also as "));
    assert_int_equal(access(target, F_OK), -1);
    unlink(link_path);
}

/* Equal stamps: the lower CPU, then the file that was named first. The files end at different times. */
static void many_files_in_order(void **state)
{
    enum { FILES = 100, ROUNDS = 40 };
    char                 path[FILES][64];
    const char          *files[FILES];
    struct etl_file_info info = build_info(8192);
    struct merge_counts  c;
    struct reason        why;
    struct etl_reader   *r;
    struct etl_event     e;
    unsigned             n = 0;
    (void)state;
    for (unsigned i = 0; i < FILES; i++) {
        struct image m = image_start(&info);
        image_buffer(&m, (uint16_t)(i % 3), 1);
        for (unsigned k = 0; k < ROUNDS - i % 7; k++)
            image_event(&m, 2000000 + 10 * (int64_t)k + i * 37 % FILES / 10, i);
        snprintf(path[i], sizeof path[i], "%s/%u.etl", folder, i);
        save(&m, files[i] = path[i]);
    }
    assert_int_equal(merge_files(os_linux(), files, FILES, target, &c, &why), W_SUCCESS);
    assert_true(c.inversions == 0 && c.damage == 0);
    assert_int_equal(etl_reader_open(target, &r, &why), W_SUCCESS);
    struct etl_event last       = {.raw_time = INT64_MIN};
    uint32_t         last_value = 0, value = 0, count[FILES] = {0};
    for (; etl_next(r, &e); last = e, last_value = value) {
        if (n++ == 0)
            continue; /* the header event */
        memcpy(&value, e.payload, 4);
        count[value]++;
        assert_true(e.raw_time > last.raw_time ||
                    (e.raw_time == last.raw_time && (e.cpu > last.cpu || (e.cpu == last.cpu && value > last_value))));
    }
    for (unsigned i = 0; i < FILES; i++)
        assert_int_equal(count[i], ROUNDS - i % 7);
    assert_int_equal(n, c.out);
    etl_reader_close(r);
    for (unsigned i = 0; i < FILES; i++)
        unlink(path[i]);
}

static void errors_name_the_target(void **state)
{
    const char         *files[] = {user_path};
    char                nowhere[64];
    struct merge_counts c;
    struct reason       why;
    (void)state;
    snprintf(nowhere, sizeof nowhere, "%s/none/m.etl", folder);
    assert_int_equal(merge_files(os_linux(), files, 1, nowhere, &c, &why), W_PATH_NOT_FOUND);
    assert_non_null(strstr(why.text, "none/m.etl: "));
    assert_null(strstr(why.text, "merging"));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {T(two_files_in_order),
                                       T(refusals),
                                       T(one_boot),
                                       T(a_full_disk_leaves_nothing),
                                       T(damage_is_counted),
                                       T(inversions_are_named),
                                       T(one_file_counts_once),
                                       T(many_files_in_order),
                                       T(errors_name_the_target)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
