/* The store, in memory and in a file. Proves: REG-17, REG-18. */
#include "registry-sim/store/regstore.h"
#include "registry-sim/win32/filetime.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define WMI "HKLM\\SYSTEM\\CurrentControlSet\\Control\\WMI"

struct fixture {
    char             folder[32];
    char             path[64];
    struct regstore *store; /* in memory */
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    strcpy(f->folder, "/tmp/al-store-XXXXXX");
    if (!mkdtemp(f->folder))
        return -1;
    snprintf(f->path, sizeof f->path, "%s/r.db", f->folder);
    *state = f;
    return regstore_open_memory(&f->store, NULL) == W_SUCCESS ? 0 : -1;
}

static unsigned files_in(const char *folder, bool remove)
{
    unsigned       count = 0;
    struct dirent *e;
    DIR           *d = opendir(folder);
    while (d && (e = readdir(d)))
        if (*e->d_name != '.') {
            count++;
            if (remove)
                unlinkat(dirfd(d), e->d_name, 0);
        }
    if (d)
        closedir(d);
    return count;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    regstore_close(f->store);
    chmod(f->folder, 0700);
    files_in(f->folder, true);
    rmdir(f->folder);
    free(f);
    return 0;
}

static wstatus join_key(void *ctx, const struct regkey_info *info)
{
    strcat(ctx, info->name);
    strcat(ctx, " ");
    return W_SUCCESS;
}
static wstatus join_value(void *ctx, const struct regvalue *value)
{
    strcat(ctx, value->name);
    strcat(ctx, " ");
    return W_SUCCESS;
}

static void values_of_any_type_keep_their_bytes(void **state)
{
    struct regstore      *s       = ((struct fixture *)*state)->store;
    static const uint8_t  bytes[] = {1, 2, 3, 0, 0xFF, 0xD8, 7, 0, 9};
    static const uint32_t types[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0x1234, 0xFFFFFFFF};
    struct regvalue       got;

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (uint32_t size = 0; size <= sizeof bytes; size++) {
            struct regvalue v = {.name        = "v",
                                 .type        = types[i],
                                 .data        = size ? bytes : NULL,
                                 .size        = size,
                                 .source_file = "a.reg",
                                 .source_line = 7 + size};
            assert_int_equal(regstore_set(s, WMI "\\x", &v, NULL), 0);
            assert_int_equal(regstore_get(s, WMI "\\X", "V", &got), 0);
            assert_int_equal(got.type, types[i]);
            assert_int_equal(got.size, size);
            assert_memory_equal(got.data, bytes, size);
            assert_string_equal(got.name, "v");
            assert_string_equal(got.source_file, "a.reg");
            assert_int_equal(got.source_line, 7 + size);
        }
    assert_int_equal(regstore_get(s, WMI "\\x", "w", &got), W_FILE_NOT_FOUND);
    assert_int_equal(regstore_get(s, WMI "\\y", "v", &got), W_FILE_NOT_FOUND);
}

static void names_ignore_case_and_keep_it(void **state)
{
    struct regstore   *s = ((struct fixture *)*state)->store;
    struct regkey_info info;
    struct regvalue    v;
    char               list[200] = "";

    assert_int_equal(regstore_set_dword(s, "HKLM\\Größe\\b", "Жук", 1, NULL), 0);
    assert_int_equal(regstore_set_dword(s, "hkey_local_machine\\GRÖßE\\A", "x", 1, NULL), 0);
    assert_int_equal(regstore_set_dword(s, "HKLM/größe/B", "жУК", 2, NULL), 0);
    assert_int_equal(regstore_create_key(s, "HKLM\\grÖße\\a/c", NULL, 0, NULL), 0);
    assert_int_equal(regstore_key_info(s, "HKLM\\GRÖßE", &info), 0);
    assert_string_equal(info.name, "Größe");
    assert_int_equal(regstore_get(s, "HKLM\\größe\\b", "ЖУК", &v), 0);
    assert_string_equal(v.name, "Жук");
    assert_int_equal(v.data[0], 2);
    assert_int_equal(regstore_enum_keys(s, "HKLM\\größe", join_key, list), 0);
    assert_string_equal(list, "A a/c b "); /* in folded order */
    assert_int_equal(regstore_enum_keys(s, "HKLM\\nothing", join_key, list), W_FILE_NOT_FOUND);
    list[0] = 0;
    regstore_set_dword(s, "HKLM\\v", "zeta", 0, NULL);
    regstore_set_dword(s, "HKLM\\v", "", 0, NULL);
    regstore_set_dword(s, "HKLM\\v", "Beta", 0, NULL);
    regstore_set_dword(s, "HKLM\\v", "alpha", 0, NULL);
    assert_int_equal(regstore_enum_values(s, "HKLM\\V", join_value, list), 0);
    assert_string_equal(list, " alpha Beta zeta ");
}

static void the_control_set_has_two_names(void **state)
{
    struct regstore *s         = ((struct fixture *)*state)->store;
    uint32_t         v         = 0;
    char             list[200] = "";

    assert_int_equal(regstore_set_dword(s, WMI "\\GlobalLogger", "Start", 1, NULL), 0);
    assert_int_equal(regstore_get_dword(s, "HKLM/system/controlset001/control/wmi/globallogger", "start", &v, NULL), 0);
    assert_int_equal(v, 1);
    assert_int_equal(regstore_set_dword(s, "HKLM\\SYSTEM\\ControlSet001\\Control\\WMI\\GlobalLogger", "Start", 5, NULL),
                     0);
    assert_int_equal(regstore_get_dword(s, WMI "\\GlobalLogger", "Start", &v, NULL), 0);
    assert_int_equal(v, 5);
    regstore_enum_keys(s, "HKLM\\SYSTEM", join_key, list);
    assert_string_equal(list, "ControlSet001 ");
    assert_false(regstore_key_exists(s, "HKLM\\SOFTWARE\\CurrentControlSet"));
}

static void keys_can_be_deleted_and_values_renamed(void **state)
{
    struct regstore *s = ((struct fixture *)*state)->store;
    struct reason    why;
    struct regvalue  v;

    regstore_set_dword(s, WMI "\\a\\b\\c", "x", 1, NULL);
    regstore_set_dword(s, WMI "\\a\\b", "y", 1, NULL);
    regstore_set_dword(s, WMI "\\ab", "x", 1, NULL);
    assert_int_equal(regstore_rename_value(s, WMI "\\a\\b", "Y", "Z", NULL), 0);
    assert_int_equal(regstore_get(s, WMI "\\a\\b", "y", &v), W_FILE_NOT_FOUND);
    assert_int_equal(regstore_get(s, WMI "\\a\\b", "z", &v), 0);
    assert_int_equal(regstore_rename_value(s, WMI "\\a\\b", "z", "z", NULL), 0); /* spelling only */
    regstore_set_dword(s, WMI "\\a\\b", "q", 1, NULL);
    assert_int_equal(regstore_rename_value(s, WMI "\\a\\b", "z", "Q", &why), W_ALREADY_EXISTS);
    assert_int_equal(regstore_rename_value(s, WMI "\\a\\b", "none", "Q", &why), W_FILE_NOT_FOUND);
    assert_int_equal(regstore_delete_value(s, WMI "\\a\\b", "Q", NULL), 0);
    assert_int_equal(regstore_delete_value(s, WMI "\\a\\b", "Q", &why), W_FILE_NOT_FOUND);
    assert_int_equal(regstore_delete_key(s, WMI "\\A\\", NULL), 0);
    assert_false(regstore_key_exists(s, WMI "\\a\\b\\c"));
    assert_true(regstore_key_exists(s, WMI "\\ab"));
    assert_int_equal(regstore_delete_key(s, WMI "\\a", NULL), W_FILE_NOT_FOUND);
    assert_int_equal(regstore_delete_key(s, "HKLM", &why), W_ACCESS_DENIED);
    /* in a path with a backslash a slash is an ordinary character */
    assert_int_equal(regstore_create_key(s, "HKLM\\/\\b/", NULL, 0, NULL), 0);
    assert_int_equal(regstore_delete_key(s, "HKLM\\/\\b/", &why), 0);
    assert_true(regstore_key_exists(s, "HKLM\\/"));
    assert_int_equal(regstore_delete_key(s, "HKLM\\/", &why), 0);
    assert_false(regstore_key_exists(s, "HKLM\\/"));
}

static void transactions_are_all_or_nothing(void **state)
{
    struct regstore *s = ((struct fixture *)*state)->store;
    struct reason    why;

    assert_int_equal(regstore_begin(s, NULL), 0);
    assert_int_equal(regstore_begin(s, &why), W_INVALID_OPERATION);
    regstore_set_dword(s, WMI "\\t", "x", 1, NULL);
    regstore_rollback(s);
    assert_false(regstore_key_exists(s, "HKLM"));
    regstore_begin(s, NULL);
    regstore_set_dword(s, WMI "\\t", "x", 1, NULL);
    assert_int_equal(regstore_commit(s, NULL), 0);
    assert_int_equal(regstore_commit(s, &why), W_INVALID_OPERATION);
    assert_true(regstore_key_exists(s, WMI "\\t"));
}

/* All values read in a transaction are of one moment; outside one, each read sees the present state. */
static void a_reader_s_transaction_is_one_view(void **state)
{
    const char      *path = ((struct fixture *)*state)->path;
    struct regstore *writer, *reader;
    struct regvalue  v;
    int              status, go[2];
    char             byte;

    assert_int_equal(pipe(go), 0);
    pid_t pid = fork(); /* another process, forked before SQLite has taken locks here */
    if (pid == 0) {
        struct regstore *other = NULL;
        close(go[1]);
        _exit(read(go[0], &byte, 1) != 1 || regstore_open(path, true, &other, NULL) ||
              regstore_set_dword(other, WMI "\\t", "x", 2, NULL));
    }
    assert_int_equal(regstore_open(path, true, &writer, NULL), 0);
    regstore_set_dword(writer, WMI "\\t", "x", 1, NULL);
    assert_int_equal(regstore_open(path, false, &reader, NULL), 0);
    assert_int_equal(regstore_begin(reader, NULL), 0);
    assert_int_equal(regstore_get(reader, WMI "\\t", "x", &v), 0);
    assert_int_equal(write(go[1], "g", 1), 1);
    usleep(50000);
    assert_int_equal(waitpid(pid, &status, WNOHANG), 0); /* it waits for the reader */
    assert_int_equal(regstore_get(reader, WMI "\\t", "x", &v), 0);
    assert_int_equal(*(const uint8_t *)v.data, 1);
    regstore_rollback(reader);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(regstore_get(reader, WMI "\\t", "x", &v), 0);
    assert_int_equal(*(const uint8_t *)v.data, 2);
    regstore_close(reader);
    regstore_close(writer);
    close(go[0]);
    close(go[1]);
}

static void a_change_moves_the_time_of_its_key(void **state)
{
    struct regstore   *s = ((struct fixture *)*state)->store;
    struct regkey_info info;
    uint64_t           before, sub;

    regstore_create_key(s, WMI "\\a", "f.ini", 3, NULL);
    regstore_key_info(s, WMI "\\a", &info);
    assert_string_equal(info.source_file, "f.ini");
    assert_int_equal(info.source_line, 3);
    before = info.last_write;
    assert_true(before > FILETIME_UNIX_EPOCH);
    usleep(2000);
    regstore_create_key(s, WMI "\\a", NULL, 0, NULL); /* exists: nothing changes */
    regstore_key_info(s, WMI "\\a", &info);
    assert_true(info.last_write == before);
    regstore_set_dword(s, WMI "\\a\\b", "x", 1, NULL); /* a new subkey is a change */
    regstore_key_info(s, WMI "\\a", &info);
    assert_true(info.last_write > before);
    before = info.last_write;
    regstore_key_info(s, WMI "\\a\\b", &info);
    sub = info.last_write;
    usleep(2000);
    regstore_set_dword(s, WMI "\\a\\b", "x", 1, NULL);
    regstore_key_info(s, WMI "\\a\\b", &info);
    assert_true(info.last_write > sub);
    regstore_key_info(s, WMI "\\a", &info);
    assert_true(info.last_write == before);
}

static void typed_access_says_what_is_wrong(void **state)
{
    struct regstore *s = ((struct fixture *)*state)->store;
    struct reason    why;
    uint32_t         d = 0;
    uint64_t         q = 0;
    char            *text, **list;
    const uint8_t   *data;
    uint32_t         size;

    regstore_set_string(s, WMI, "s", "Grüße \xF0\x9F\x9A\x80", NULL);
    assert_int_equal(regstore_get_dword(s, WMI, "s", &d, &why), W_INVALID_PARAMETER);
    assert_string_equal(why.text, "s is REG_SZ (type 1), but must be REG_DWORD");
    assert_int_equal(regstore_get_string_dup(s, WMI, "s", &text, NULL), 0);
    assert_string_equal(text, "Grüße \xF0\x9F\x9A\x80");
    free(text);
    regstore_set_qword(s, WMI, "q", UINT64_C(0x1122334455667788), NULL);
    assert_int_equal(regstore_get_qword(s, WMI, "q", &q, NULL), 0);
    assert_true(q == UINT64_C(0x1122334455667788));
    assert_int_equal(regstore_get_dword(s, WMI, "none", &d, &why), W_FILE_NOT_FOUND);

    struct regvalue v = {.name = "v", .type = REG_TYPE_DWORD, .data = (const uint8_t *)"\1\2\3", .size = 3};
    assert_int_equal(regvalue_get_dword(&v, &d, &why), W_INVALID_PARAMETER);
    assert_string_equal(why.text, "v has 3 bytes, but REG_DWORD needs 4");
    v = (struct regvalue){
        .name = "v", .type = REG_TYPE_DWORD_BIG_ENDIAN, .data = (const uint8_t *)"\1\2\3\4", .size = 4};
    assert_int_equal(regvalue_get_dword_big_endian(&v, &d, NULL), 0);
    assert_int_equal(d, 0x01020304);
    v = (struct regvalue){.name = "v", .type = REG_TYPE_NONE, .data = (const uint8_t *)"\1", .size = 1};
    assert_int_equal(regvalue_get_binary(&v, &data, &size, NULL), 0);
    assert_int_equal(size, 1);
    v = (struct regvalue){.name = "v", .type = REG_TYPE_EXPAND_SZ, .data = (const uint8_t *)"a\0b\0c", .size = 5};
    assert_int_equal(regvalue_get_string_dup(&v, &text, NULL), 0); /* no NUL, odd size */
    assert_string_equal(text, "ab");
    free(text);
    v = (struct regvalue){
        .name = "v", .type = REG_TYPE_MULTI_SZ, .data = (const uint8_t *)"a\0b\0\0\0\xE4\0\0\0\0\0z\0", .size = 14};
    assert_int_equal(regvalue_get_multi_dup(&v, &list, NULL), 0);
    assert_string_equal(list[0], "ab");
    assert_string_equal(list[1], "ä");
    assert_null(list[2]);
    free(list);
    v.size = 3; /* cut short */
    assert_int_equal(regvalue_get_multi_dup(&v, &list, NULL), 0);
    assert_string_equal(list[0], "a");
    assert_null(list[1]);
    free(list);
}

static void wrong_paths_are_refused(void **state)
{
    struct regstore   *s = ((struct fixture *)*state)->store;
    char               name[300], deep[4 + 600 * 2 + 1] = "HKLM";
    struct reason      why;
    static const char *bad[] = {"", "\\", "HKXX\\a", "HKLM\\\\a", "HKLM\\a\\\\", "SYSTEM\\a"};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(regstore_create_key(s, bad[i], NULL, 0, &why), W_INVALID_PARAMETER);
    memset(name, 'x', sizeof name);
    memcpy(name, "HKLM\\", 5);
    name[5 + 255] = 0;
    assert_int_equal(regstore_create_key(s, name, NULL, 0, &why), 0);
    name[5 + 255] = 'x', name[5 + 256] = 0;
    assert_int_equal(regstore_create_key(s, name, NULL, 0, &why), W_INVALID_PARAMETER);
    for (int i = 0; i < 511; i++)
        strcat(deep, "\\d");
    assert_int_equal(regstore_create_key(s, deep, NULL, 0, &why), 0);
    strcat(deep, "\\d");
    assert_int_equal(regstore_create_key(s, deep, NULL, 0, &why), W_INVALID_PARAMETER);
    assert_int_equal(regstore_delete_key(s, "HKLM\\d", &why), 0); /* the deepest tree can be deleted */
}

static void a_file_keeps_it_and_readers_create_nothing(void **state)
{
    struct fixture  *f = *state;
    struct regstore *s, *reader;
    struct reason    why;
    uint32_t         v = 0;

    assert_int_equal(regstore_open(f->path, false, &s, &why), W_FILE_NOT_FOUND);
    assert_int_equal(files_in(f->folder, false), 0);
    assert_int_equal(regstore_open(f->path, true, &s, &why), 0);
    assert_int_equal(regstore_set_dword(s, WMI, "x", 77, &why), 0);
    assert_int_equal(regstore_open(f->path, false, &reader, &why), 0);
    assert_int_equal(regstore_get_dword(reader, WMI, "x", &v, &why), 0);
    assert_int_equal(v, 77);
    assert_int_equal(files_in(f->folder, false), 1);
    assert_int_equal(regstore_set_dword(reader, WMI, "x", 78, &why), W_ACCESS_DENIED);
    regstore_set_dword(s, WMI, "x", 79, NULL); /* a change is seen by the open reader */
    regstore_get_dword(reader, WMI, "x", &v, NULL);
    assert_int_equal(v, 79);
    regstore_close(reader);
    regstore_close(s);
    assert_int_equal(files_in(f->folder, false), 1);
    snprintf(f->path, sizeof f->path, "%s/none/r.db", f->folder);
    assert_int_equal(regstore_open(f->path, true, &s, &why), W_PATH_NOT_FOUND);
    assert_int_equal(regstore_open(f->folder, true, &s, &why), W_INVALID_DATA);
}

static void put(const char *path, const void *data, size_t size, off_t at)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0 && pwrite(fd, data, size, at) == (ssize_t)size);
    close(fd);
}

static void what_is_not_a_store_is_refused(void **state)
{
    struct fixture   *f = *state;
    struct regstore  *s;
    struct reason     why;
    static const char text[] = "this is a text file, and it is long enough to hold a header of a database, so that its "
                               "contents must decide and not its size alone";

    put(f->path, text, sizeof text, 0);
    assert_int_equal(regstore_open(f->path, false, &s, &why), W_INVALID_DATA);
    assert_int_equal(regstore_open(f->path, true, &s, &why), W_INVALID_DATA);
    unlink(f->path);
    put(f->path, "", 0, 0);
    assert_int_equal(regstore_open(f->path, false, &s, &why), W_INVALID_DATA);
    assert_int_equal(regstore_open(f->path, true, &s, &why), 0); /* empty becomes a store */
    regstore_close(s);
    put(f->path, "\0\0\0\2", 4, 60); /* a later version */
    assert_int_equal(regstore_open(f->path, false, &s, &why), W_NOT_SUPPORTED);
    assert_non_null(strstr(why.text, "version 2"));
    put(f->path, "\0\0\0\1", 4, 60);
    put(f->path, "\2\2", 2, 18); /* write-ahead log: a reader would create files */
    assert_int_equal(regstore_open(f->path, false, &s, &why), W_INVALID_DATA);
    put(f->path, "\1\1", 2, 18);
    assert_int_equal(truncate(f->path, 100), 0); /* only the header is left */
    assert_int_equal(regstore_open(f->path, false, &s, &why), W_INVALID_DATA);
}

static void a_writer_waits_for_another(void **state)
{
    struct fixture  *f = *state;
    struct regstore *s;
    uint32_t         v = 0;

    assert_int_equal(regstore_open(f->path, true, &s, NULL), 0);
    regstore_close(s);
    int   ready[2];
    pid_t child = pipe(ready) == 0 ? fork() : -1;
    if (child == 0) {
        if (regstore_open(f->path, true, &s, NULL) || regstore_begin(s, NULL) || write(ready[1], "x", 1) != 1)
            _exit(1);
        usleep(100000);
        regstore_set_dword(s, WMI, "child", 1, NULL);
        _exit(regstore_commit(s, NULL) == W_SUCCESS ? 0 : 1);
    }
    char c;
    int  status;
    assert_true(child > 0 && read(ready[0], &c, 1) == 1);
    assert_int_equal(regstore_open(f->path, true, &s, NULL), 0);
    assert_int_equal(regstore_set_dword(s, WMI, "parent", 1, NULL), 0);
    assert_int_equal(regstore_get_dword(s, WMI, "child", &v, NULL), 0);
    regstore_close(s);
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    close(ready[0]);
    close(ready[1]);
}

static void a_writer_that_dies_leaves_nothing_by_half(void **state)
{
    struct fixture  *f = *state;
    struct regstore *s;
    struct reason    why;
    int              status;

    assert_int_equal(regstore_open(f->path, true, &s, NULL), 0);
    assert_int_equal(regstore_set_dword(s, WMI, "before", 1, NULL), 0);
    regstore_close(s);
    pid_t child = fork();
    if (child == 0) { /* enough data that some of it reaches the file before the end */
        static uint8_t  big[400000];
        struct regvalue v = {.name = "big", .type = REG_TYPE_BINARY, .data = big, .size = sizeof big};
        char            key[64];
        if (regstore_open(f->path, true, &s, NULL) || regstore_begin(s, NULL))
            _exit(1);
        for (int i = 0; i < 20; i++) {
            snprintf(key, sizeof key, WMI "\\%d", i);
            if (regstore_set(s, key, &v, NULL))
                _exit(1);
        }
        _exit(0);
    }
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    assert_int_equal(files_in(f->folder, false), 2);              /* the journal of the dead writer */
    assert_int_equal(regstore_open(f->path, false, &s, &why), 0); /* by a reader too: it may be a boot */
    assert_int_equal(files_in(f->folder, false), 1);
    assert_true(regstore_key_exists(s, WMI));
    assert_false(regstore_key_exists(s, WMI "\\0"));
    assert_int_equal(regstore_set_dword(s, WMI, "after", 1, NULL), W_ACCESS_DENIED);
    regstore_close(s);
    assert_int_equal(regstore_open(f->path, true, &s, &why), 0);
    assert_true(regstore_key_exists(s, WMI));
    regstore_close(s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(values_of_any_type_keep_their_bytes),
        TEST(names_ignore_case_and_keep_it),
        TEST(the_control_set_has_two_names),
        TEST(keys_can_be_deleted_and_values_renamed),
        TEST(transactions_are_all_or_nothing),
        TEST(a_reader_s_transaction_is_one_view),
        TEST(a_change_moves_the_time_of_its_key),
        TEST(typed_access_says_what_is_wrong),
        TEST(wrong_paths_are_refused),
        TEST(a_file_keeps_it_and_readers_create_nothing),
        TEST(what_is_not_a_store_is_refused),
        TEST(a_writer_waits_for_another),
        TEST(a_writer_that_dies_leaves_nothing_by_half),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
