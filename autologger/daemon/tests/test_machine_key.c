/* The machine's key is made once, for its owner alone, and read again; an invalid key is refused and not replaced. */
#include "autologger/daemon/machine_key.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/autologger-test-key-XXXXXX", store[64], key[64], link_to[64];

static void made_once(void **state)
{
    uint8_t     first[MACHINE_KEY_SIZE], again[MACHINE_KEY_SIZE], none[MACHINE_KEY_SIZE] = {0};
    struct stat st;
    (void)state;
    assert_int_equal(machine_key_read(store, first, NULL), W_FILE_NOT_FOUND);
    assert_int_equal(machine_key_load(store, first, NULL), W_SUCCESS);
    assert_int_equal(machine_key_read(store, again, NULL), W_SUCCESS);
    assert_memory_equal(first, again, sizeof first);
    assert_int_equal(machine_key_load(store, again, NULL), W_SUCCESS);
    assert_memory_equal(first, again, sizeof first);
    assert_memory_not_equal(first, none, sizeof first);
    assert_int_equal(stat(key, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(st.st_nlink, 1);
    assert_int_equal(unlink(key), 0);
    assert_int_equal(machine_key_load(store, again, NULL), W_SUCCESS);
    assert_memory_not_equal(first, again, sizeof first); /* a new key, as of another machine */
}

static void what_is_no_key(void **state)
{
    uint8_t       out[MACHINE_KEY_SIZE];
    struct reason why;
    (void)state;
    assert_int_equal(chmod(key, 0640), 0);
    assert_int_equal(machine_key_load(store, out, &why), W_INVALID_DATA);
    assert_non_null(strstr(why.text, key));
    assert_int_equal(chmod(key, 0600) + truncate(key, 31), 0);
    assert_int_equal(machine_key_load(store, out, &why), W_INVALID_DATA);
    assert_int_equal(truncate(key, 32), 0);
    assert_int_equal(machine_key_load(store, out, &why), W_SUCCESS);
    if (geteuid() == 0) {
        assert_int_equal(chown(key, 1, 1), 0);
        assert_int_equal(machine_key_load(store, out, &why), W_INVALID_DATA);
    }
    assert_int_equal(rename(key, link_to) + symlink(link_to, key), 0);
    assert_true(machine_key_load(store, out, &why) != W_SUCCESS);
    assert_int_equal(unlink(key) + unlink(link_to), 0);
    assert_int_equal(mkdir(key, 0700), 0);
    assert_true(machine_key_load(store, out, &why) != W_SUCCESS);
    assert_int_equal(rmdir(key), 0);
}

static void no_folder(void **state)
{
    uint8_t       out[MACHINE_KEY_SIZE];
    struct reason why;
    (void)state;
    assert_true(machine_key_load("/nowhere/at/all/registry.db", out, &why) != W_SUCCESS);
    assert_non_null(strstr(why.text, "/nowhere/at/all/key"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(made_once), cmocka_unit_test(what_is_no_key),
                                       cmocka_unit_test(no_folder)};
    if (!mkdtemp(folder))
        return 1;
    snprintf(store, sizeof store, "%s/registry.db", folder);
    snprintf(key, sizeof key, "%s/key", folder);
    snprintf(link_to, sizeof link_to, "%s/elsewhere", folder);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(folder);
    return failed;
}
