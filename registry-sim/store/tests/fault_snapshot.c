/* Writing and opening a snapshot when memory or the volume fails at every possible call: the old file stays whole until
 * the new one is, the status says what failed, nothing is left behind. */
#include "registry-sim/store/tests/dumped.h"

#include "registry-sim/base/os_fake.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* The linker sends the calls of our libraries here (-Wl,--wrap). */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *p, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *p, size_t size);
char *__wrap_strdup(const char *text);

static long countdown; /* 0: off; else the allocation that fails */
static bool failed;

static bool fails(void)
{
    if (countdown && --countdown == 0) {
        failed = true;
        return true;
    }
    return false;
}
void *__wrap_malloc(size_t size) { return fails() ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) { return fails() ? NULL : __real_calloc(count, size); }
void *__wrap_realloc(void *p, size_t size) { return fails() ? NULL : __real_realloc(p, size); }
char *__wrap_strdup(const char *text) { return fails() ? NULL : __real_strdup(text); }

#define SNAPSHOT "/lib/autologger/boot.snapshot"

static void memory_fails_in_turn(void **state)
{
    struct regstore *s = small_store(), *sealed;
    uint8_t         *bytes, *kept;
    size_t           size;
    long             n = 0, m = 0;
    (void)state;
    assert_int_equal(snapshot_pack(s, &small_head, &kept, &size, NULL), 0);
    do {
        failed     = false;
        countdown  = ++n;
        wstatus st = snapshot_pack(s, &small_head, &bytes, &size, NULL);
        countdown  = 0;
        assert_int_equal(st, failed ? W_NOT_ENOUGH_MEMORY : W_SUCCESS);
        free(bytes);
    } while (failed);
    do {
        failed     = false;
        countdown  = ++m;
        wstatus st = regstore_open_snapshot_bytes(kept, size, "small", &sealed, NULL, NULL);
        countdown  = 0;
        assert_int_equal(st, failed ? W_NOT_ENOUGH_MEMORY : W_SUCCESS);
        regstore_close(sealed);
    } while (failed);
    assert_true(n > 100 && m > 10); /* the wrap is at work */
    free(kept);
    regstore_close(s);
}

/* True when the file holds what `s` declares now. */
static bool holds(struct os_fake *fake, struct regstore *s)
{
    struct regstore     *sealed;
    struct snapshot_head head;
    bool                 current = false;
    size_t               size;
    const uint8_t       *bytes = os_fake_bytes(fake, SNAPSHOT, &size);
    assert_non_null(bytes);
    assert_int_equal(regstore_open_snapshot_bytes(bytes, size, "file", &sealed, &head, NULL), 0); /* always whole */
    assert_int_equal(snapshot_is_current(&head, s, &current, NULL), 0);
    regstore_close(sealed);
    return current;
}

static void the_volume_fails_in_turn(void **state)
{
    static const enum os_fake_call calls[] = {FAKE_OPEN, FAKE_PWRITE, FAKE_FSYNC, FAKE_RENAME};
    struct os_fake                *fake    = os_fake_create();
    struct regstore               *s       = small_store();
    struct reason                  why;
    unsigned                       failures = 0;
    (void)state;
    os_fake_put_folder(fake, "/lib/autologger");
    assert_int_equal(snapshot_seal(&fake->os, s, &small_head, SNAPSHOT, &why), 0);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        for (unsigned at = 1;; at++) {
            add_dword(s, WMI "\\GlobalLogger", "FlushTimer", ++failures, 3);
            assert_false(holds(fake, s));
            fake->fail[calls[i]].at    = at;
            fake->fail[calls[i]].error = EIO;
            wstatus st                 = snapshot_seal(&fake->os, s, &small_head, SNAPSHOT, &why);
            bool    met                = fake->fail[calls[i]].at == 0;
            fake->fail[calls[i]].at    = 0;
            assert_int_equal(os_fake_open_files(fake), 0);
            if (st == W_SUCCESS) {
                assert_true(holds(fake, s));
                assert_false(met);
                break;
            }
            assert_non_null(strstr(why.text, SNAPSHOT));
            holds(fake, s); /* old or new, but whole */
            size_t size;
            assert_null(os_fake_bytes(fake, SNAPSHOT ".new", &size));
            assert_true(at < 10);
        }
    }
    /* two opens, a write, two fsyncs, a rename; and four that went through */
    assert_true(failures >= 4 + 2 + 1 + 2 + 1);
    regstore_close(s);
    os_fake_destroy(fake);
}

static void a_full_volume_keeps_the_old_one(void **state)
{
    struct os_fake        *fake = os_fake_create();
    struct regstore       *s    = small_store();
    struct os_fake_volume *lib  = os_fake_mount(fake, "/lib", 3000, false);
    struct reason          why;
    uint64_t               used = 0;
    (void)state;
    os_fake_put_folder(fake, "/lib/autologger");
    assert_int_equal(snapshot_seal(&fake->os, s, &small_head, SNAPSHOT, &why), 0);
    used          = lib->used;
    lib->capacity = used + 100;
    add_dword(s, WMI "\\GlobalLogger", "FlushTimer", 1, 3);
    assert_int_equal(snapshot_seal(&fake->os, s, &small_head, SNAPSHOT, &why), W_DISK_FULL);
    assert_false(holds(fake, s));
    assert_int_equal(lib->used, used);
    lib->read_only = true;
    assert_int_equal(snapshot_seal(&fake->os, s, &small_head, SNAPSHOT, &why), W_WRITE_PROTECT);
    regstore_close(s);
    os_fake_destroy(fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(memory_fails_in_turn),
                                       cmocka_unit_test(the_volume_fails_in_turn),
                                       cmocka_unit_test(a_full_volume_keeps_the_old_one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
