// timeout: 600
/* The power is cut while the store is written: whatever the disk then holds, the store opens, is sound, has every
 * committed change whole, and the change under way whole or not at all. 200 cuts; with AL_FULL 5,000. */
#include "registry-sim/store/regstore.h"
#include "registry-sim/store/tests/power_vfs.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define ROOT "HKLM\\SOFTWARE\\power"
enum { LIVE = 20, LARGEST = 9000 }; /* keys at one time; bytes of a value */

static char     folder[64], path[96], cut_folder[64];
static unsigned committed; /* changes whose commit has returned */
static unsigned cuts, cuts_wanted;
static unsigned came_through, taken_back; /* of the changes under way */
static uint64_t seed = 1;

static unsigned chance(unsigned below)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (unsigned)(seed >> 33) % below;
}

/* ---- the changes ---- */

static unsigned value_size(unsigned i) { return i * 2654435761u % LARGEST; }

static void key_of(unsigned i, char out[64]) { snprintf(out, 64, ROOT "\\k%05u", i); }

/* Change i adds key i, removes key i - LIVE, and writes two numbers that say so. */
static void change(struct regstore *s, unsigned i)
{
    static uint8_t bytes[LARGEST];
    char           key[64];
    assert_int_equal(regstore_begin(s, NULL), 0);
    key_of(i, key);
    memset(bytes, (int)i, sizeof bytes);
    assert_int_equal(
        regstore_set(s, key, &(struct regvalue){.name = "data", .type = 3, .data = bytes, .size = value_size(i)}, NULL),
        0);
    assert_int_equal(regstore_set_dword(s, key, "number", i, NULL), 0);
    if (i > LIVE) {
        key_of(i - LIVE, key);
        assert_int_equal(regstore_delete_key(s, key, NULL), 0);
    }
    assert_int_equal(regstore_set_dword(s, ROOT, "changes", i, NULL), 0);
    assert_int_equal(regstore_set_qword(s, ROOT, "sum", (uint64_t)i * (i + 1) / 2, NULL), 0);
    assert_int_equal(regstore_commit(s, NULL), 0);
    committed = i;
}

/* ---- after a cut ---- */

static void file_write(const char *name, const uint8_t *data, int64_t size)
{
    char to[400];
    snprintf(to, sizeof to, "%s/%s", cut_folder, name);
    FILE *f = fopen(to, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, (size_t)size, f), size);
    fclose(f);
}

static void disk_materialise(void)
{
    for (unsigned i = 0; i < disk.names; i++) {
        const struct disk_file *f = chance(2) ? disk.now[i] : disk.synced[i];
        char                    at[400];
        snprintf(at, sizeof at, "%s/%s", cut_folder, disk.name[i]);
        unlink(at);
        if (!f)
            continue;
        int64_t  size;
        uint8_t *data = disk_image(f, &size, chance);
        file_write(disk.name[i], data, size);
        free(data);
    }
}

static wstatus key_count(void *ctx, const struct regkey_info *info)
{
    (void)info;
    ++*(unsigned *)ctx;
    return W_SUCCESS;
}

/* The store holds exactly what it held after change `changes`. */
static void state_check(struct regstore *s, unsigned changes)
{
    unsigned first = changes > LIVE ? changes - LIVE + 1 : 1, count = 0;
    uint64_t sum = 0;
    assert_int_equal(regstore_get_qword(s, ROOT, "sum", &sum, NULL), 0);
    assert_int_equal(sum, (uint64_t)changes * (changes + 1) / 2);
    assert_int_equal(regstore_enum_keys(s, ROOT, key_count, &count), 0);
    assert_int_equal(count, changes - first + 1);
    for (unsigned i = first; i <= changes; i++) {
        struct regvalue v;
        uint32_t        number;
        char            key[64];
        key_of(i, key);
        assert_int_equal(regstore_get_dword(s, key, "number", &number, NULL), 0);
        assert_int_equal(number, i);
        assert_int_equal(regstore_get(s, key, "data", &v), 0);
        assert_int_equal(v.size, value_size(i));
        for (uint32_t k = 0; k < v.size; k++)
            if (v.data[k] != (uint8_t)i)
                fail_msg("byte %u of key %u is wrong after %u changes", k, i, changes);
    }
}

static void is_sound(const char *db)
{
    sqlite3      *c;
    sqlite3_stmt *st;
    assert_int_equal(sqlite3_open_v2(db, &c, SQLITE_OPEN_READONLY, real_vfs->zName), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(c, "PRAGMA integrity_check", -1, &st, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(st, 0), "ok");
    sqlite3_finalize(st);
    sqlite3_close(c);
}

static void cut(void)
{
    static struct regstore *s;
    struct reason           why     = {0};
    uint32_t                changes = 0;
    char                    db[128];

    disk_materialise();
    snprintf(db, sizeof db, "%s/r.db", cut_folder);
    /* power is back: the ordinary open repairs the store; the recorded writes are of the time before the cut */
    sqlite3_vfs_register(real_vfs, 1);
    if (regstore_open(db, true, &s, &why) != W_SUCCESS)
        fail_msg("cut %u at step %lu after %u changes: %s", cuts, disk.steps, committed, why.text);
    wstatus st = regstore_get_dword(s, ROOT, "changes", &changes, NULL);
    if (st != W_SUCCESS && (committed || st != W_FILE_NOT_FOUND))
        fail_msg("cut %u at step %lu: nothing is left of %u changes (%u)", cuts, disk.steps, committed, st);
    if (changes != committed && changes != committed + 1)
        fail_msg("cut %u at step %lu: %u changes were committed, %u are there", cuts, disk.steps, committed, changes);
    if (changes)
        state_check(s, changes);
    regstore_close(s);
    is_sound(db);
    sqlite3_vfs_register(sqlite3_vfs_find("noted"), 1);
    came_through += changes > committed;
    taken_back += changes == committed;
    cuts++;
}

/* A cut every few steps, so that each place in a commit is hit, in many states of the store; more often between removal
 * and sync, where the commit is decided. */
static void maybe_cut(void)
{
    if (cuts < cuts_wanted && chance(disk.committing ? 2 : 20) == 0)
        cut();
}

static void no_committed_key_is_lost(void **state)
{
    struct regstore *s;
    struct timespec  begin, end;
    (void)state;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    power_vfs_register();
    assert_int_equal(regstore_open(path, true, &s, NULL), 0);
    disk.step = maybe_cut; /* from the first change on: a new store has nothing to lose */
    for (unsigned i = 1; cuts < cuts_wanted; i++)
        change(s, i);
    disk.step = NULL;
    regstore_close(s);
    clock_gettime(CLOCK_MONOTONIC, &end);
    print_message(
        "%u cuts in %lu steps of %u changes, %.1f s: in %u the change under way had come through, in %u it was taken back\n",
        cuts, disk.steps, committed, (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9,
        came_through, taken_back);
    /* the cuts hit changes under way, on both sides of the commit point */
    assert_true(taken_back > cuts / 2 && came_through > 0);
}

static void clean(const char *at)
{
    static const char *const names[] = {"r.db", "r.db-journal"};
    char                     file[128];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(file, sizeof file, "%s/%s", at, names[i]);
        unlink(file);
    }
    rmdir(at);
}

int main(void)
{
    const char             *full = getenv("AL_FULL"), *asked = getenv("AL_SEED");
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_committed_key_is_lost)};
    const char             *base    = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    cuts_wanted                     = full && *full && strcmp(full, "0") != 0 ? 5000 : 200;
    if (asked && atoi(asked) > 0)
        seed = (uint64_t)atoi(asked);
    snprintf(folder, sizeof folder, "%s/al-power-XXXXXX", base);
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/r.db", folder);
    snprintf(cut_folder, sizeof cut_folder, "%s-cut", folder);
    mkdir(cut_folder, 0700);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    clean(cut_folder);
    clean(folder);
    return failed;
}
