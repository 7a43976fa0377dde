/* The binary form: there and back, cut, changed, several in one section; ELF files.
 * Proves: MAN-15, MAN-16 (what the section holds is read back). */
#include "autologger/schema/tests/manifest_text.h"

#include "autologger/schema/elf_section.h"
#include "autologger/schema/manifest_file.h"
#include "autologger/schema/manifest_pack.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static struct text packed_of(const char *name)
{
    struct manifest *m   = read_file(name);
    struct text      out = {0};
    assert_true(manifest_pack_all(m, &out));
    manifest_free(m);
    return out;
}

static void round_trip(void **state)
{
    static const char *const files[] = {"shop.man", "figure5.man"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct text      first = packed_of(files[i]), second = {0};
        struct manifest *m;
        size_t           used;
        struct reason    why = {0};
        assert_int_equal(manifest_unpack(first.data, first.length, "x", &used, &m, &why), W_SUCCESS);
        assert_int_equal((used + 7) & ~7u, first.length);
        assert_true(manifest_pack_all(m, &second));
        assert_int_equal(first.length, second.length);
        assert_memory_equal(first.data, second.data, first.length);
        if (i == 0) {
            assert_int_equal(m->cultures.count, 2);
            assert_string_equal(manifest_text_get(m, &m->providers.at[0].events.at[1].item.message, 1),
                                "Bestellung %1 von %2 ist fertig.");
        }
        manifest_free(m);
        text_finish(&first);
        text_finish(&second);
    }
}

static void metadata_alone(void **state)
{
    struct manifest *m   = read_file("shop.man"), *back;
    struct text      out = {0};
    size_t           used;
    (void)state;
    manifest_pack(m, &out);
    assert_int_equal(manifest_unpack(out.data, out.length, "x", &used, &back, NULL), W_SUCCESS);
    assert_int_equal(back->cultures.count, 0);
    /* messages are in files of their own */
    assert_null(manifest_text_get(back, &back->providers.at[0].events.at[1].item.message, 0));
    manifest_free(back);
    manifest_free(m);
    text_finish(&out);
}

/* Any cut and any changed bit is detected, except in zeros between blobs. */
static void damage(void **state)
{
    struct text t = packed_of("shop.man");
    (void)state;
    for (size_t n = 0; n < t.length; n++) {
        struct manifest *m = NULL;
        size_t           used;
        uint8_t         *exact = malloc(n ? n : 1);
        memcpy(exact, t.data, n);
        wstatus st = manifest_unpack(exact, n, "x", &used, &m, NULL);
        if (st == W_SUCCESS && m->cultures.count == 2 && used + 7 < t.length)
            fail_msg("cut at %zu", n);
        manifest_free(m);
        free(exact);
    }
    for (size_t bit = 0; bit < t.length * 8; bit++) {
        struct manifest *m = NULL;
        size_t           used;
        t.data[bit / 8] ^= (char)(1 << bit % 8);
        manifest_unpack(t.data, t.length, "x", &used, &m, NULL);
        manifest_free(m);
        t.data[bit / 8] ^= (char)(1 << bit % 8);
    }
    text_finish(&t);
}

static wstatus count(void *ctx, struct manifest *m, struct reason *why)
{
    (void)why;
    ++*(unsigned *)ctx;
    manifest_free(m);
    return W_SUCCESS;
}

static void several(void **state)
{
    struct text t = packed_of("shop.man"), u = packed_of("figure5.man");
    unsigned    n = 0;
    (void)state;
    text_add(&t, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16); /* as a linker aligns */
    text_add(&t, u.data, u.length);
    assert_int_equal(manifest_unpack_all(t.data, t.length, "x", count, &n, NULL), W_SUCCESS);
    assert_int_equal(n, 2);
    text_finish(&t);
    text_finish(&u);
}

/* This program has a section ".text"; a file that is no ELF file, or a cut one, has none. */
static void elf(void **state)
{
    uint64_t    offset, length;
    struct stat st;
    int         fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    (void)state;
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    struct elf_source file = elf_source_file(fd, (uint64_t)st.st_size);
    assert_true(elf_section_find(&file, ".text", &offset, &length));
    assert_true(offset > 0 && length > 0 && offset + length <= file.size);
    assert_false(elf_section_find(&file, MANIFEST_SECTION, &offset, &length));
    uint8_t          *head = malloc(4096);
    struct elf_source cut  = elf_source_memory(head, 4096);
    assert_int_equal(pread(fd, head, 4096, 0), 4096);
    assert_false(elf_section_find(&cut, ".text", &offset, &length)); /* its table is cut off */
    for (size_t i = 0; i < 64 * 8; i++) {
        head[i / 8] ^= (uint8_t)(1 << i % 8);
        elf_section_find(&cut, ".text", &offset, &length);
        head[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    free(head);
    close(fd);
    unsigned      n   = 0;
    struct reason why = {0};
    assert_int_equal(manifest_file_binary("/proc/self/exe", count, &n, &why), W_NOT_FOUND);
    assert_non_null(strstr(why.text, "describes no events"));
    assert_int_equal(manifest_file_binary(AL_TEST_DIR "/shop.man", count, &n, &why), W_INVALID_DATA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(round_trip), cmocka_unit_test(metadata_alone),
                                       cmocka_unit_test(damage), cmocka_unit_test(several), cmocka_unit_test(elf)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
