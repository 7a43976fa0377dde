/* Sessions that the early program saves when no daemon comes are read back exactly, and damage is found: every bit,
 * every length. A file whose checksums fit, but not the machine's seal, is refused: another machine's, one without a
 * seal, one that was changed. */
// timeout: 120
#include "autologger/daemon/early/alraw.h"

#include "autologger/wire/alraw.h"
#include "registry-sim/base/crc32.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static char path[256];

static int memory(size_t size, size_t at, const void *data, size_t bytes)
{
    int fd = memfd_create("test", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)size), 0);
    assert_int_equal(pwrite(fd, data, bytes, (off_t)at), bytes);
    return fd;
}

static const struct kept_item *find(const struct kept *k, const char *name)
{
    for (unsigned i = 0; i < k->count; i++)
        if (strcmp(k->item[i].name, name) == 0)
            return &k->item[i];
    fail_msg("no %s", name);
    return NULL;
}

static const uint8_t *const seals[] = {NULL, (const uint8_t *)"the key of a machine, 32 bytes. ",
                                       (const uint8_t *)"another key, also of 32 bytes... "};

/* Memory with holes comes back with the same bytes; sockets and the like are not saved. */
static void memory_comes_back(void **state)
{
    enum { BIG = 5 << 20, AT = 3 << 20 };
    struct kept   from, to;
    char          id[64], block[8192], out[8192];
    uint64_t      bytes;
    struct reason why = {0};
    struct stat   st;
    (void)state;

    for (size_t i = 0; i < sizeof block; i++)
        block[i] = (char)(i * 7 + 1);
    assert_true(kept_init(&from));
    assert_true(kept_init(&to));
    kept_add(&from, "raw", memory(BIG, AT, block, sizeof block), 0);
    kept_add(&from, "daemon", memory(100, 0, block, 100), 0);
    kept_add(&from, "event.0.0", eventfd(0, 0), 0);
    kept_add(&from, "conn.1", open("/dev/null", O_RDONLY), 0);
    assert_int_equal(alraw_write(path, &from, seals[1], "boot-1", &bytes, &why), W_SUCCESS);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, bytes);
    assert_uint_in_range(bytes, sizeof block + 100, 64 * 1024); /* holes take no room */
    assert_int_equal(alraw_read(path, seals[1], &to, id, &why), W_SUCCESS);
    assert_string_equal(id, "boot-1");
    assert_int_equal(to.count, 3);
    assert_int_equal(fstat(find(&to, "raw")->fd, &st), 0);
    assert_int_equal(st.st_size, BIG);
    assert_int_equal(pread(find(&to, "raw")->fd, out, sizeof out, AT), sizeof out);
    assert_memory_equal(out, block, sizeof out);
    assert_int_equal(pread(find(&to, "raw")->fd, out, 1, 17), 1);
    assert_int_equal(out[0], 0);
    assert_int_equal(pread(find(&to, "daemon")->fd, out, 200, 0), 100);
    assert_memory_equal(out, block, 100);
    find(&to, "event.0.0");
    kept_finish(&from);
    kept_finish(&to);
}

static void put(const uint8_t *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, data, size), size);
    close(fd);
}

/* A changed or cut file is refused, with the damage and its place, and no descriptor is handed out; with a seal and
 * without. */
static void damage_found(const uint8_t *seal)
{
    struct kept   from, to;
    char          id[64];
    uint8_t       file[4096];
    uint64_t      bytes;
    struct reason why = {0};

    assert_true(kept_init(&from));
    assert_true(kept_init(&to));
    kept_add(&from, "daemon", memory(40, 0, "some bytes", 10), 0);
    assert_int_equal(alraw_write(path, &from, seal, "boot-1", &bytes, &why), W_SUCCESS);
    int fd = open(path, O_RDONLY);
    assert_int_equal(read(fd, file, sizeof file), bytes);
    close(fd);
    for (size_t bit = 0; bit < bytes * 8; bit++) {
        file[bit / 8] ^= (uint8_t)(1u << bit % 8);
        put(file, bytes);
        if (alraw_read(path, seal, &to, id, &why) != W_INVALID_DATA)
            fail_msg("bit %zu was not noticed", bit);
        assert_int_equal(to.count, 0);
        file[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t size = 0; size < bytes; size++) {
        put(file, size);
        assert_int_equal(alraw_read(path, seal, &to, id, &why), W_INVALID_DATA);
        assert_int_equal(to.count, 0);
    }
    kept_finish(&from);
    kept_finish(&to);
}

static void damage_is_found(void **state)
{
    (void)state;
    damage_found(seals[0]);
    damage_found(seals[1]);
}

static void only_the_same_seal_fits(void **state)
{
    struct kept   from, to;
    char          id[64];
    uint64_t      bytes;
    struct reason why;
    (void)state;

    assert_true(kept_init(&from));
    assert_true(kept_init(&to));
    kept_add(&from, "daemon", memory(40, 0, "some bytes", 10), 0);
    for (unsigned w = 0; w < 3; w++) {
        assert_int_equal(alraw_write(path, &from, seals[w], "boot-1", &bytes, NULL), W_SUCCESS);
        for (unsigned r = 0; r < 3; r++) {
            const bool fits = r == 0 || r == w;
            assert_int_equal(alraw_read(path, seals[r], &to, id, &why), fits ? W_SUCCESS : W_ACCESS_DENIED);
            assert_int_equal(to.count, fits ? 1 : 0);
            assert_true(fits || (strstr(why.text, path) && strstr(why.text, "--unsealed")));
            kept_clear(&to);
        }
    }
    kept_finish(&from);
    kept_finish(&to);
}

/* Recomputes the checksums of a changed file with one item of one segment. */
static void checksums_made(uint8_t *file, size_t size)
{
    struct alraw_head    head;
    struct alraw_item    item;
    struct alraw_segment segment;
    const size_t         at_item = sizeof head;
    memcpy(&item, file + at_item, sizeof item);
    const size_t at_segment = at_item + sizeof item + item.name_bytes;
    memset(file + at_item + offsetof(struct alraw_item, crc), 0, sizeof item.crc);
    item.crc = crc32_of(file + at_item, sizeof item + item.name_bytes);
    memcpy(file + at_item, &item, sizeof item);
    memset(file + at_segment + offsetof(struct alraw_segment, crc), 0, sizeof segment.crc);
    memcpy(&segment, file + at_segment, sizeof segment);
    assert_int_equal(at_segment + sizeof segment + segment.size + sizeof(uint32_t), size);
    segment.crc = crc32_of(file + at_segment, sizeof segment + segment.size);
    memcpy(file + at_segment, &segment, sizeof segment);
    memcpy(&head, file, sizeof head);
    head.crc = crc32_of(&head, offsetof(struct alraw_head, crc));
    memcpy(file, &head, sizeof head);
}

/* An attacker who can write the file can make its checksums fit, but not its seal. */
static void a_change_does_not_have_the_seal(void **state)
{
    struct kept   from, to;
    char          id[64];
    uint8_t       file[4096];
    uint64_t      bytes;
    struct reason why;
    (void)state;

    assert_true(kept_init(&from));
    assert_true(kept_init(&to));
    kept_add(&from, "daemon", memory(10, 0, "some bytes", 10), 0);
    assert_int_equal(alraw_write(path, &from, seals[1], "boot-1", &bytes, &why), W_SUCCESS);
    int fd = open(path, O_RDONLY);
    assert_int_equal(read(fd, file, sizeof file), bytes);
    close(fd);
    checksums_made(file, bytes);
    put(file, bytes);
    assert_int_equal(alraw_read(path, seals[1], &to, id, &why), W_SUCCESS); /* unchanged so far */
    kept_clear(&to);
    const size_t name = sizeof(struct alraw_head) + sizeof(struct alraw_item), data = bytes - sizeof(uint32_t) - 10;
    const size_t changed[] = {offsetof(struct alraw_head, realtime_ns),
                              offsetof(struct alraw_head, boot_id),
                              offsetof(struct alraw_head, seal),
                              offsetof(struct alraw_head, seal) + 31,
                              name,
                              name + 5,
                              data,
                              data + 9};
    for (size_t i = 0; i < sizeof changed / sizeof *changed; i++) {
        file[changed[i]] ^= 1;
        checksums_made(file, bytes);
        put(file, bytes);
        assert_int_equal(alraw_read(path, NULL, &to, id, &why), W_SUCCESS); /* the file itself is valid */
        kept_clear(&to);
        assert_int_equal(alraw_read(path, seals[1], &to, id, &why), W_ACCESS_DENIED);
        assert_int_equal(to.count, 0);
        file[changed[i]] ^= 1;
    }
    struct alraw_head head; /* an attacker removes the seal */
    memcpy(&head, file, sizeof head);
    head.sealed = 0;
    memcpy(file, &head, sizeof head);
    checksums_made(file, bytes);
    put(file, bytes);
    assert_int_equal(alraw_read(path, seals[1], &to, id, &why), W_ACCESS_DENIED);
    kept_finish(&from);
    kept_finish(&to);
}

static void what_cannot_be_written_is_said(void **state)
{
    struct kept   from;
    uint64_t      bytes;
    struct reason why = {0};
    (void)state;
    assert_true(kept_init(&from));
    assert_int_equal(alraw_write("/nowhere/at/all.alraw", &from, NULL, "b", &bytes, &why), W_PATH_NOT_FOUND);
    assert_non_null(strstr(why.text, "/nowhere/at/all.alraw"));
    kept_add(&from, "daemon", memory(40, 0, "some bytes", 10), 0);
    assert_int_equal(alraw_write("/dev/full/x", &from, NULL, "b", &bytes, &why), W_DIRECTORY);
    kept_finish(&from);
}

int main(void)
{
    snprintf(path, sizeof path, "/tmp/test_alraw.%d", (int)getpid());
    const struct CMUnitTest tests[] = {cmocka_unit_test(memory_comes_back), cmocka_unit_test(damage_is_found),
                                       cmocka_unit_test(only_the_same_seal_fits),
                                       cmocka_unit_test(a_change_does_not_have_the_seal),
                                       cmocka_unit_test(what_cannot_be_written_is_said)};
    int                     failed  = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
