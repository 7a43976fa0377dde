/* Which cgroup and unit each process is in: by rundown, fork, exec and moves; no event without an answer; the same
 * after a hand-over. */
#include "autologger/kernel/convert/unit_name.h"
#include "autologger/kernel/tests/convert_fixture.h"

#include <sys/mman.h>

enum { MS = 1000000 };
static const struct klog_config asked = {.mask      = {0x1},
                                         .units     = true,
                                         .raw_bytes = 1 << 20,
                                         .clock     = {1, CLOCK_READ_RAW, 1000000000}};

struct told {
    uint32_t pid;
    uint64_t key, cgroup;
    char     unit[64], path[128], why[16];
};

/* Gets ProcessCgroup event `n`; false: there are fewer. */
static bool nth_told(unsigned n, struct told *t)
{
    for (size_t i = 0; i < out.count; i++) {
        const struct one *e = &out.event[i];
        if (e->type != ETL_EVENT64 || !memmem(e->payload, e->size, "ProcessCgroup", 14) || n-- != 0)
            continue;
        const uint8_t *p = e->payload;
        for (struct etl_ext_item item = {.linkage = 1}; item.linkage & 1; p += item.total)
            memcpy(&item, p, sizeof item);
        memset(t, 0, sizeof *t);
        memcpy(&t->pid, p, 4);
        memcpy(&t->key, p + 4, 8);
        memcpy(&t->cgroup, p + 12, 8);
        const char *text = (const char *)p + 20;
        snprintf(t->unit, sizeof t->unit, "%s", text);
        text += strlen(text) + 1;
        snprintf(t->path, sizeof t->path, "%s", text);
        text += strlen(text) + 1;
        snprintf(t->why, sizeof t->why, "%s", text);
        return true;
    }
    return false;
}

static void expect(unsigned n, uint32_t pid, uint64_t cgroup, const char *unit, const char *path, const char *why)
{
    struct told t;
    assert_true(nth_told(n, &t));
    assert_int_equal(t.pid, pid);
    assert_int_equal(t.cgroup, cgroup);
    assert_string_equal(t.unit, unit);
    assert_string_equal(t.path, path);
    assert_string_equal(t.why, why);
}

static int setup(void **state)
{
    (void)state;
    static const struct raw_field made[] = {{8, 4}, {16, 8}, {24, 4}}, moved[] = {{8, 4}, {16, 8}, {24, 4}, {28, 4}};
    fixture_begin(&asked);
    memcpy(maker.log.header->source[SRC_CGROUP_MKDIR].field, made, sizeof made);
    memcpy(maker.log.header->source[SRC_CGROUP_ATTACH].field, moved, sizeof moved);
    return 0;
}

static void maker_cgroup(uint64_t time, uint32_t root, uint64_t id, const char *path)
{
    struct {
        uint64_t common;
        uint32_t root, level;
        uint64_t id;
        uint32_t where;
        char     path[100];
    } raw     = {.root = root, .id = id};
    raw.where = 28u | (uint32_t)(strlen(path) + 1) << 16;
    snprintf(raw.path, sizeof raw.path, "%s", path);
    maker_sample(&maker, 0, SRC_CGROUP_MKDIR, time, 1, 1, 0, 0, &raw, sizeof raw);
}

static void maker_moved(uint64_t time, uint32_t root, uint64_t id, uint32_t pid, const char *path)
{
    struct {
        uint64_t common;
        uint32_t root, level;
        uint64_t id;
        int32_t  pid;
        uint32_t where;
        char     path[100];
    } raw     = {.root = root, .id = id, .pid = (int32_t)pid};
    raw.where = 32u | (uint32_t)(strlen(path) + 1) << 16;
    snprintf(raw.path, sizeof raw.path, "%s", path);
    maker_sample(&maker, 0, SRC_CGROUP_ATTACH, time, 1, 1, 0, 0, &raw, sizeof raw);
}

static void maker_rundown(uint64_t time, uint32_t pid, uint64_t id, const char *path)
{
    struct raw_process p = {.own = {RAW_PROCESS, 0, 0, time, pid, pid}, .name_size = 5, .command_size = 1};
    struct raw_cgroup  g = {
         .own = {RAW_CGROUP, 0, 0, time + 1, pid, pid}, .id = id, .path_size = (uint32_t)strlen(path) + 1};
    maker_own(&maker, &p, sizeof p, "prog", "");
    maker_own(&maker, &g, sizeof g, path, NULL);
}

/* `cgroup`: the number that newer kernels add to the sample */
static void maker_exec(uint64_t time, uint32_t pid, uint64_t cgroup)
{
    struct {
        uint64_t common;
        uint32_t file, pid;
    } raw = {.pid = pid};
    maker_comm(&maker, 0, time - 10, pid, pid, "new", true);
    maker_sample(&maker, 0, SRC_EXEC, time, pid, pid, 0, 0, &raw, sizeof raw);
    if (!(maker.log.header->source[SRC_EXEC].flags & RAW_SOURCE_CGROUP))
        return;
    maker_u64(&maker, cgroup);
    uint16_t size, *at = (uint16_t *)(void *)(maker.chunk + maker.used - 8 - 64 + 6);
    memcpy(&size, at, 2);
    assert_int_equal(size, 64); /* 8 head, 40 of fields, 4 + 12 of raw */
    size = 72;
    memcpy(at, &size, 2);
}

static void finish_log(uint64_t end)
{
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_pass(&maker, end, end);
}

/* An older systemd: fork, a move, then exec; and a process that only forks. */
static void every_process_has_a_unit_or_none(void **state)
{
    (void)state;
    maker_rundown(1 * MS, 1, 1, "/");
    maker_rundown(1 * MS + 10, 50, 77, "/system.slice/early.service");
    maker_chunk(&maker, 0, RAW_CHUNK_OWN);
    maker_cgroup(2 * MS, 0, 100, "/system.slice/ssh.service");
    maker_cgroup(2 * MS + 1, 3, 100, "/of/version/1");
    maker_task(&maker, 0, PERF_RECORD_FORK, 3 * MS, 200, 1, 200, 1);
    maker_moved(4 * MS, 0, 100, 200, "/system.slice/ssh.service");
    maker_moved(4 * MS + 1, 3, 5, 200, "/of/version/1");
    maker_exec(5 * MS, 200, 0);
    maker_task(&maker, 0, PERF_RECORD_FORK, 6 * MS, 201, 200, 201, 200); /* forks without an exec */
    maker_task(&maker, 0, PERF_RECORD_EXIT, 7 * MS, 201, 200, 201, 200);
    maker_task(&maker, 0, PERF_RECORD_EXIT, 8 * MS, 200, 1, 200, 1);
    finish_log(10 * MS);
    run();
    expect(0, 1, 1, "", "/", "rundown");
    expect(1, 50, 77, "early.service", "/system.slice/early.service", "rundown");
    expect(2, 200, 100, "ssh.service", "/system.slice/ssh.service", "move");
    expect(3, 200, 100, "ssh.service", "/system.slice/ssh.service", "exec");
    expect(4, 201, 100, "ssh.service", "/system.slice/ssh.service", "inherited");
    struct told t;
    assert_false(nth_told(5, &t));
    assert_int_equal(count(0x0301), 3); /* 200 twice, before and after its exec, and 201 */
}

/* The rundown saw a path, but no cgroup file system with its number: the process and its children are in that path
 * nevertheless, and the number is learned when the kernel reports it. */
static void a_path_without_a_number(void **state)
{
    struct told t;
    (void)state;
    maker.log.header->source[SRC_EXEC].flags |= RAW_SOURCE_CGROUP;
    maker_rundown(1 * MS, 1, 0, "/init.scope");
    maker_chunk(&maker, 0, RAW_CHUNK_OWN);
    maker_task(&maker, 0, PERF_RECORD_FORK, 3 * MS, 200, 1, 200, 1);
    maker_task(&maker, 0, PERF_RECORD_EXIT, 4 * MS, 200, 1, 200, 1);
    maker_exec(5 * MS, 1, 42); /* systemd begins anew, in the real root */
    maker_task(&maker, 0, PERF_RECORD_FORK, 6 * MS, 201, 1, 201, 1);
    maker_task(&maker, 0, PERF_RECORD_EXIT, 7 * MS, 201, 1, 201, 1);
    finish_log(10 * MS);
    run();
    expect(0, 1, 0, "init.scope", "/init.scope", "rundown");
    expect(1, 200, 0, "init.scope", "/init.scope", "inherited");
    expect(2, 1, 42, "init.scope", "/init.scope", "exec");
    expect(3, 201, 42, "init.scope", "/init.scope", "inherited");
    assert_false(nth_told(4, &t));
}

/* A newer systemd: the process is born in its cgroup without a move; the exec's sample has the cgroup. */
static void the_kernel_says_it_at_the_exec(void **state)
{
    struct told t;
    (void)state;
    maker.log.header->source[SRC_EXEC].flags |= RAW_SOURCE_CGROUP;
    maker_rundown(1 * MS, 1, 9, "/init.scope");
    maker_chunk(&maker, 0, RAW_CHUNK_OWN);
    maker_cgroup(2 * MS, 0, 300, "/system.slice/web.service");
    maker_task(&maker, 0, PERF_RECORD_FORK, 3 * MS, 400, 1, 400, 1);
    maker_exec(4 * MS, 400, 300);
    maker_task(&maker, 0, PERF_RECORD_FORK, 5 * MS, 401, 1, 401, 1);
    maker_exec(6 * MS, 401, 12345); /* a cgroup whose creation was not seen: at least its number */
    finish_log(10 * MS);
    run();
    expect(0, 1, 9, "init.scope", "/init.scope", "rundown");
    expect(1, 400, 9, "init.scope", "/init.scope", "inherited"); /* its unit before the exec, from the fork */
    expect(2, 400, 300, "web.service", "/system.slice/web.service", "exec");
    expect(3, 401, 9, "init.scope", "/init.scope", "inherited");
    expect(4, 401, 12345, "", "", "exec");
    assert_false(nth_told(5, &t));
}

static void who_did_not_ask_gets_nothing(void **state)
{
    struct told t;
    (void)state;
    config.units = false;
    maker_task(&maker, 0, PERF_RECORD_FORK, 3 * MS, 400, 1, 400, 1);
    maker_exec(4 * MS, 400, 0);
    maker_task(&maker, 0, PERF_RECORD_EXIT, 8 * MS, 400, 1, 400, 1);
    finish_log(10 * MS);
    run();
    assert_false(nth_told(0, &t));
}

/* A successor knows paths and processes, and repeats no event. */
static void a_successor_goes_on(void **state)
{
    struct convert first, second;
    struct told    t;
    (void)state;
    maker_rundown(1 * MS, 1, 9, "/init.scope");
    maker_chunk(&maker, 0, RAW_CHUNK_OWN);
    maker_cgroup(2 * MS, 0, 300, "/system.slice/web.service");
    maker_task(&maker, 0, PERF_RECORD_FORK, 3 * MS, 400, 1, 400, 1);
    maker_moved(4 * MS, 0, 300, 400, "/system.slice/web.service");
    finish_log(5 * MS);
    assert_int_equal(convert_init(&first, &config, &maker.log, NULL), 0);
    take_all(&first);
    assert_true(convert_settled(&first));
    int fd = memfd_create("snapshot", MFD_CLOEXEC);
    assert_int_equal(convert_snapshot_write(&first, convert_needed(&first), fd, NULL), 0);
    convert_finish(&first);
    assert_int_equal(convert_init(&second, &config, &maker.log, NULL), 0);
    assert_int_equal(convert_snapshot_read(&second, fd, NULL), 0);
    close(fd);
    maker_exec(6 * MS, 400, 0);
    maker_task(&maker, 0, PERF_RECORD_EXIT, 8 * MS, 400, 1, 400, 1);
    finish_log(10 * MS);
    take_all(&second);
    convert_finish(&second);
    expect(0, 1, 9, "init.scope", "/init.scope", "rundown");
    expect(1, 400, 300, "web.service", "/system.slice/web.service", "move");
    expect(2, 400, 300, "web.service", "/system.slice/web.service", "exec");
    assert_false(nth_told(3, &t));
}

static void units_of_cgroups(void **state)
{
    static const char *const rows[][2] = {
        {"/system.slice/ssh.service", "ssh.service"},
        {"/init.scope", "init.scope"},
        {"/", ""},
        {"", ""},
        {"/user.slice/user-1000.slice/user@1000.service/app.slice/x.service", "user@1000.service"},
        {"/user.slice/user-1000.slice/session-3.scope", "session-3.scope"},
        {"/system.slice/system-getty.slice/getty@tty1.service", "getty@tty1.service"},
        {"/system.slice/docker.service/payload", "docker.service"},
        {"/system.slice", ""},
        {"/lxc/one/system.slice/ssh.service", ""}, /* another systemd's */
        {"/system.slice/_cgroup.service", "cgroup.service"},
        {"/.service", ""},
    };
    char name[64];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        unit_of_cgroup(rows[i][0], name, sizeof name);
        assert_string_equal(name, rows[i][1]);
    }
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(every_process_has_a_unit_or_none),       T(a_path_without_a_number), T(the_kernel_says_it_at_the_exec),
        T(who_did_not_ask_gets_nothing),           T(a_successor_goes_on),     cmocka_unit_test(units_of_cgroups),
        cmocka_unit_test(every_class_is_read_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
