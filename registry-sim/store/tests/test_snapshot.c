/* The sealed snapshot: what goes in comes out, damage is found wherever it is, nothing is written through it, and
 * whether it is current is answered exactly. Proves: REG-18. */
#include "registry-sim/store/tests/dumped.h"

#include "registry-sim/base/os_fake.h"
#include "registry-sim/store/snapshot_format.h"
#include "registry-sim/win32/sha1.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

struct packed {
    uint8_t *bytes;
    size_t   size;
};

static struct packed pack(struct regstore *s)
{
    struct packed p;
    struct reason why = {0};
    assert_int_equal(snapshot_pack(s, &small_head, &p.bytes, &p.size, &why), 0);
    return p;
}

static wstatus open_bytes(const void *bytes, size_t size, struct regstore **out, struct snapshot_head *head,
                          struct reason *why)
{
    return regstore_open_snapshot_bytes(bytes, size, "small", out, head, why);
}

static void round_trip(void **state)
{
    struct regstore     *s = small_store(), *sealed;
    struct snapshot_head head;
    struct reason        why = {0};
    uint8_t              content[SNAPSHOT_HASH];
    (void)state;
    assert_int_equal(change_number_bump(s, NULL, &why), 0);
    assert_int_equal(change_number_bump(s, NULL, &why), 0);
    struct packed p = pack(s);
    assert_int_equal(open_bytes(p.bytes, p.size, &sealed, &head, &why), 0);
    char *before = dump_dup(s, WMI), *after = dump_dup(sealed, WMI);
    assert_true(strlen(before) > 500);
    assert_string_equal(before, after);
    free(before);
    free(after);
    assert_int_equal(head.change_number, 2);
    assert_int_equal(head.time, 1234567);
    assert_string_equal(head.store_path, small_head.store_path);
    assert_string_equal(head.log_dir, small_head.log_dir);
    assert_int_equal(snapshot_content_hash(s, content, &why), 0);
    assert_memory_equal(content, head.content, sizeof content);
    /* a snapshot of a snapshot is the same again, bit by bit */
    struct packed again = pack(sealed);
    assert_int_equal(again.size, p.size);
    assert_memory_equal(again.bytes, p.bytes, p.size);
    free(again.bytes);
    uint64_t number = 0;
    assert_int_equal(change_number_get(sealed, &number, &why), 0);
    assert_int_equal(number, 2);
    free(p.bytes);
    regstore_close(sealed);
    regstore_close(s);
}

static void same_store_same_bytes(void **state)
{
    struct regstore *s = small_store();
    (void)state;
    struct packed a = pack(s), b = pack(s);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.bytes, b.bytes, a.size);
    free(a.bytes);
    free(b.bytes);
    regstore_close(s);
}

static void reads_as_a_store(void **state)
{
    struct regstore   *s = small_store(), *sealed;
    struct regvalue    value;
    struct regkey_info info, live;
    uint32_t           number;
    char              *text;
    (void)state;
    struct packed p = pack(s);
    assert_int_equal(open_bytes(p.bytes, p.size, &sealed, NULL, NULL), 0);
    assert_int_equal(
        regstore_get_dword(sealed, "HKLM/System/CurrentControlSet/control/wmi/AUTOLOGGER/Web", "START", &number, NULL),
        0);
    assert_int_equal(number, 1);
    assert_int_equal(regstore_get(sealed, WMI "\\Autologger\\web", "none", &value), 0);
    assert_int_equal(value.type, 77);
    assert_int_equal(value.size, 0);
    assert_int_equal(regstore_get_string_dup(sealed, WMI "\\Autologger\\\xc3\xa4PFEL\xf0\x9f\x8d\x8f", "", &text, NULL),
                     0);
    assert_string_equal(text, "default value");
    free(text);
    assert_int_equal(regstore_key_info(sealed, WMI "\\autologger\\EMPTY", &info), 0);
    assert_string_equal(info.name, "empty");
    assert_string_equal(info.source_file, "other.ini");
    assert_int_equal(info.source_line, 12);
    assert_int_equal(regstore_key_info(s, WMI "\\autologger\\EMPTY", &live), 0);
    assert_int_equal(info.last_write, live.last_write);
    /* missing keys and values, and keys that are not packed */
    assert_int_equal(regstore_get(sealed, WMI "\\Autologger\\web", "nothing", &value), W_FILE_NOT_FOUND);
    assert_int_equal(regstore_key_info(sealed, WMI "\\nothing", &info), W_FILE_NOT_FOUND);
    assert_true(regstore_key_exists(sealed, "HKLM\\SYSTEM\\ControlSet001\\Control"));
    assert_false(regstore_key_exists(sealed, "HKLM\\SOFTWARE\\else"));
    assert_false(regstore_key_exists(sealed, "HKLM\\SOFTWARE")); /* no change number yet */
    assert_int_equal(regstore_get(sealed, "HKLM\\SYSTEM\\CurrentControlSet\\Control", "beside", &value),
                     W_FILE_NOT_FOUND);
    assert_int_equal(regstore_key_info(sealed, "nonsense\\path", &info), W_INVALID_PARAMETER);
    free(p.bytes);
    regstore_close(sealed);
    regstore_close(s);
}

static wstatus stop_at_second(void *ctx, const struct regkey_info *info)
{
    (void)info;
    return ++*(int *)ctx == 2 ? W_CANCELLED : W_SUCCESS;
}

static void writes_are_refused(void **state)
{
    struct regstore *s = small_store(), *sealed;
    struct reason    why;
    int              seen = 0;
    (void)state;
    struct packed p = pack(s);
    assert_int_equal(open_bytes(p.bytes, p.size, &sealed, NULL, NULL), 0);
#define REFUSED(call) \
    memset(&why, 0, sizeof why); \
    assert_int_equal(call, W_WRITE_PROTECT); \
    assert_non_null(strstr(why.text, "boot snapshot small is read-only"))
    REFUSED(regstore_begin(sealed, &why));
    REFUSED(regstore_commit(sealed, &why));
    REFUSED(regstore_create_key(sealed, WMI "\\x", NULL, 0, &why));
    REFUSED(regstore_delete_key(sealed, WMI "\\GlobalLogger", &why));
    REFUSED(regstore_set_dword(sealed, WMI "\\GlobalLogger", "Start", 0, &why));
    REFUSED(regstore_delete_value(sealed, WMI "\\GlobalLogger", "Start", &why));
    REFUSED(regstore_rename_value(sealed, WMI "\\GlobalLogger", "Start", "Stop", &why));
    REFUSED(change_number_bump(sealed, NULL, &why));
    regstore_rollback(sealed);
    assert_int_equal(regstore_enum_keys(sealed, WMI "\\Autologger", stop_at_second, &seen), W_CANCELLED);
    assert_int_equal(seen, 2);
    free(p.bytes);
    regstore_close(sealed);
    regstore_close(s);
}

/* ---- damage ---- */

static void every_flipped_bit(void **state)
{
    struct regstore *s = small_store(), *sealed;
    struct reason    why;
    (void)state;
    struct packed p = pack(s);
    for (size_t bit = 0; bit < p.size * 8; bit++) {
        p.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        memset(&why, 0, sizeof why);
        wstatus st = open_bytes(p.bytes, p.size, &sealed, NULL, &why);
        assert_true(st == W_INVALID_DATA || st == W_NOT_SUPPORTED);
        assert_null(sealed);
        assert_non_null(strstr(why.text, "small"));
        p.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_int_equal(open_bytes(p.bytes, p.size, &sealed, NULL, &why), 0);
    regstore_close(sealed);
    free(p.bytes);
    regstore_close(s);
}

static void every_truncation(void **state)
{
    struct regstore *s = small_store(), *sealed;
    (void)state;
    struct packed p = pack(s);
    for (size_t size = 0; size < p.size; size++)
        assert_int_equal(open_bytes(p.bytes, size, &sealed, NULL, NULL), W_INVALID_DATA);
    uint8_t *longer = calloc(1, p.size + 1);
    memcpy(longer, p.bytes, p.size);
    assert_int_equal(open_bytes(longer, p.size + 1, &sealed, NULL, NULL), W_INVALID_DATA);
    free(longer);
    free(p.bytes);
    regstore_close(s);
}

static void seal(struct packed *p)
{
    struct sha1 sha1;
    sha1_init(&sha1);
    sha1_update(&sha1, p->bytes, p->size - SNAPSHOT_HASH);
    sha1_final(&sha1, p->bytes + p->size - SNAPSHOT_HASH);
}

/* An attacker who knows the format and seals changed bytes: at worst wrong data, never an access out of bounds
 * (ASan). */
static void changed_and_sealed(void **state)
{
    static const uint8_t bytes[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    struct regstore     *s       = small_store(), *sealed;
    unsigned             refused = 0;
    (void)state;
    struct packed p = pack(s);
    for (size_t at = 12; at < p.size - SNAPSHOT_HASH; at++)
        for (size_t i = 0; i < sizeof bytes; i++) {
            uint8_t before = p.bytes[at];
            p.bytes[at]    = bytes[i];
            seal(&p);
            if (open_bytes(p.bytes, p.size, &sealed, NULL, NULL) == W_SUCCESS) {
                free(dump_dup(sealed, "HKLM"));
                regstore_close(sealed);
            } else {
                refused++;
            }
            p.bytes[at] = before;
        }
    assert_true(refused > p.size); /* most structure does matter */
    free(p.bytes);
    regstore_close(s);
}

static void names_are_ascending(void **state)
{
    struct regstore *s   = small_store(), *sealed;
    struct reason    why = {0};
    (void)state;
    add_dword(s, WMI "\\Autologger\\web", "dup2", 1, 5);
    add_dword(s, WMI "\\Autologger\\web", "dup4", 1, 5);
    struct packed p  = pack(s);
    uint8_t      *at = memmem(p.bytes, p.size, "dup2", 5);
    assert_non_null(at);
    for (char c = '1'; c <= '5'; c++) {
        at[3] = (uint8_t)c;
        seal(&p);
        wstatus st = open_bytes(p.bytes, p.size, &sealed, NULL, &why);
        assert_int_equal(st, c < '4' ? W_SUCCESS : W_INVALID_DATA);
        regstore_close(sealed);
    }
    at[1] = 'U', at[3] = '4'; /* the same name in another case */
    seal(&p);
    assert_int_equal(open_bytes(p.bytes, p.size, &sealed, NULL, &why), W_INVALID_DATA);
    assert_non_null(strstr(why.text, "malformed"));
    free(p.bytes);
    regstore_close(s);
}

static void another_version_says_so(void **state)
{
    struct regstore *s   = small_store(), *sealed;
    struct reason    why = {0};
    (void)state;
    struct packed p = pack(s);
    p.bytes[8]      = SNAPSHOT_VERSION + 1;
    seal(&p);
    assert_int_equal(open_bytes(p.bytes, p.size, &sealed, NULL, &why), W_NOT_SUPPORTED);
    assert_non_null(strstr(why.text, "version 2"));
    free(p.bytes);
    regstore_close(s);
}

static void too_much_is_refused(void **state)
{
    struct regstore *s    = small_store(), *sealed;
    size_t           big  = 3 << 20;
    uint8_t         *data = calloc(1, big), *bytes;
    struct reason    why  = {0};
    size_t           size;
    (void)state;
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            regstore_set(s, WMI "\\Autologger\\web",
                         &(struct regvalue){.name = i ? "a" : "b", .type = 3, .data = data, .size = (uint32_t)big},
                         NULL),
            0);
    assert_int_equal(snapshot_pack(s, &small_head, &bytes, &size, &why), W_INVALID_PARAMETER);
    assert_null(bytes);
    assert_non_null(strstr(why.text, "4 MB"));
    assert_int_equal(open_bytes(data, SNAPSHOT_MAX + 1, &sealed, NULL, NULL), W_INVALID_DATA);
    free(data);
    regstore_close(s);
}

static void nothing_declared_is_fine(void **state)
{
    struct regstore     *s, *sealed;
    struct snapshot_head head;
    bool                 current;
    (void)state;
    assert_int_equal(regstore_open_memory(&s, NULL), 0);
    for (int i = 0; i < 3; i++) {
        struct packed p = pack(s);
        assert_int_equal(open_bytes(p.bytes, p.size, &sealed, &head, NULL), 0);
        assert_false(regstore_key_exists(sealed, WMI));
        assert_int_equal(regstore_key_exists(sealed, "HKLM\\SOFTWARE\\autologger"), i > 0);
        assert_int_equal(regstore_key_exists(sealed, "HKLM\\SYSTEM\\ControlSet001"), i > 1);
        assert_int_equal(snapshot_is_current(&head, s, &current, NULL), 0);
        assert_true(current);
        regstore_close(sealed);
        free(p.bytes);
        if (i)
            regstore_create_key(s, "HKLM\\SYSTEM\\CurrentControlSet", NULL, 0, NULL);
        else
            change_number_bump(s, NULL, NULL);
    }
    regstore_close(s);
}

/* ---- is it current? ---- */

static bool current(struct regstore *s, const struct snapshot_head *head)
{
    bool yes = false;
    assert_int_equal(snapshot_is_current(head, s, &yes, NULL), 0);
    return yes;
}

static void staleness_is_exact(void **state)
{
#define PROVIDER WMI "\\Autologger\\web\\{0063715b-eeda-4007-9429-ad526f62696e}"
    struct regstore     *s = small_store(), *sealed;
    struct snapshot_head head;
    struct regvalue      v;
    (void)state;
    struct packed p = pack(s);
    assert_int_equal(open_bytes(p.bytes, p.size, &sealed, &head, NULL), 0);
    regstore_close(sealed);
    free(p.bytes);
    assert_true(current(s, &head));
    /* values that a boot itself writes */
    regstore_set_dword(s, WMI "\\Autologger", "Status", 0, NULL);
    regstore_set_dword(s, WMI "\\GlobalLogger", "Status", 8, NULL);
    regstore_set_dword(s, WMI "\\Autologger\\web", "status", 87, NULL);
    regstore_set_dword(s, WMI "\\Autologger\\web", "FileCounter", 4, NULL);
    regstore_set_dword(s, PROVIDER, "Status", 1450, NULL);
    regstore_set_dword(s, "HKLM\\SOFTWARE\\autologger\\LastBoot", "Rows", 4, NULL);
    assert_true(current(s, &head));
    /* every other change, each alone and undone */
    static const struct {
        const char *key, *name;
    } changes[] = {{WMI, "MaxNonPagedPoolUsage"},  {WMI, "Status"},           {WMI "\\Autologger", "Once"},
                   {WMI "\\Autologger\\web", "a"}, {PROVIDER, "FileCounter"}, {PROVIDER "\\Filters", "Status"},
                   {WMI "\\Security", "x"}};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        bool made = !regstore_key_exists(s, changes[i].key);
        assert_int_equal(regstore_set_dword(s, changes[i].key, changes[i].name, 1, NULL), 0);
        assert_false(current(s, &head));
        regstore_delete_value(s, changes[i].key, changes[i].name, NULL);
        if (made) {
            assert_false(current(s, &head)); /* a key alone is a change */
            regstore_delete_key(s, changes[i].key, NULL);
        }
        assert_true(current(s, &head));
    }
    /* a value's bytes, its type, its place, its spelling */
    add_dword(s, PROVIDER, "Enabled", 0, 8);
    assert_false(current(s, &head));
    add_dword(s, PROVIDER, "Enabled", 1, 8);
    assert_true(current(s, &head));
    add_dword(s, PROVIDER, "Enabled", 1, 9);
    assert_false(current(s, &head));
    add_dword(s, PROVIDER, "Enabled", 1, 8);
    assert_int_equal(regstore_get(s, PROVIDER, "Enabled", &v), 0);
    struct regvalue other = {.name        = "Enabled",
                             .type        = 3,
                             .data        = (const uint8_t *)"\1\0\0",
                             .size        = 4,
                             .source_file = "boot.ini",
                             .source_line = 8};
    regstore_set(s, PROVIDER, &other, NULL);
    assert_false(current(s, &head));
    regstore_close(s);
}

/* ---- the file ---- */

static void the_change_number_counts(void **state)
{
    struct regstore *s;
    uint64_t         number = 9;
    (void)state;
    assert_int_equal(regstore_open_memory(&s, NULL), 0);
    assert_int_equal(change_number_get(s, &number, NULL), 0);
    assert_int_equal(number, 0);
    regstore_begin(s, NULL);
    assert_int_equal(change_number_bump(s, &number, NULL), 0);
    assert_int_equal(number, 1);
    regstore_rollback(s); /* the transaction is the caller's */
    assert_int_equal(change_number_get(s, &number, NULL), 0);
    assert_int_equal(number, 0);
    regstore_set_dword(s, "HKLM\\SOFTWARE\\autologger", "ChangeNumber", 7, NULL);
    assert_int_equal(change_number_get(s, &number, NULL), W_INVALID_PARAMETER);
    regstore_close(s);
}

static void written_and_opened(void **state)
{
    struct regstore     *s = small_store(), *sealed;
    struct snapshot_head head;
    struct reason        why      = {0};
    char                 folder[] = "/tmp/al-snapshot-XXXXXX", path[64];
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/boot.snapshot", folder);
    assert_int_equal(regstore_open_snapshot(path, &sealed, NULL, &why), W_FILE_NOT_FOUND);
    assert_int_equal(regstore_open_snapshot(folder, &sealed, NULL, &why), W_INVALID_DATA);
    for (int i = 0; i < 2; i++) { /* a new file, and in the place of an old one */
        assert_int_equal(snapshot_seal(os_linux(), s, &small_head, path, &why), 0);
        assert_int_equal(regstore_open_snapshot(path, &sealed, &head, &why), 0);
        assert_true(current(s, &head));
        assert_true(head.time > UINT64_C(133000000000000000)); /* the present time, not the one that was passed */
        assert_string_equal(head.log_dir, "/var/log/autologger");
        regstore_close(sealed);
        add_dword(s, WMI "\\GlobalLogger", "FlushTimer", (uint32_t)i + 1, 3);
        assert_false(current(s, &head));
    }
    assert_int_equal(truncate(path, SNAPSHOT_MAX + 1), 0);
    assert_int_equal(regstore_open_snapshot(path, &sealed, NULL, &why), W_INVALID_DATA);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0); /* nothing else is left in the folder */
    regstore_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),
        cmocka_unit_test(same_store_same_bytes),
        cmocka_unit_test(reads_as_a_store),
        cmocka_unit_test(writes_are_refused),
        cmocka_unit_test(every_flipped_bit),
        cmocka_unit_test(every_truncation),
        cmocka_unit_test(changed_and_sealed),
        cmocka_unit_test(names_are_ascending),
        cmocka_unit_test(another_version_says_so),
        cmocka_unit_test(too_much_is_refused),
        cmocka_unit_test(nothing_declared_is_fine),
        cmocka_unit_test(staleness_is_exact),
        cmocka_unit_test(the_change_number_counts),
        cmocka_unit_test(written_and_opened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
