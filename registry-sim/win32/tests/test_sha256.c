/* SHA-256 against the examples of FIPS 180-4 and NIST's million letters, in one piece and in odd ones; HMAC-SHA-256
 * against RFC 4231. */
#include "registry-sim/win32/sha256.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *hex(const uint8_t digest[SHA256_SIZE])
{
    static char text[2 * SHA256_SIZE + 1];
    for (unsigned i = 0; i < SHA256_SIZE; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    return text;
}

static void examples(void **state)
{
    static const struct {
        const char *text, *digest;
    } rows[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    };
    uint8_t digest[SHA256_SIZE];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t piece = 1; piece < 70; piece += 23) {
            struct sha256 s;
            const size_t  size = strlen(rows[i].text);
            sha256_init(&s);
            for (size_t at = 0; at < size; at += piece)
                sha256_update(&s, rows[i].text + at, size - at < piece ? size - at : piece);
            sha256_final(&s, digest);
            assert_string_equal(hex(digest), rows[i].digest);
        }
}

static void a_million_letters(void **state)
{
    struct sha256 s;
    uint8_t       digest[SHA256_SIZE];
    char          letters[1000];
    (void)state;
    memset(letters, 'a', sizeof letters);
    sha256_init(&s);
    for (unsigned i = 0; i < 1000; i++)
        sha256_update(&s, letters, sizeof letters);
    sha256_final(&s, digest);
    assert_string_equal(hex(digest), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* RFC 4231, 4.2 to 4.4, 4.7, 4.8: keys of 20, 4, 20, 131 and 131 bytes. */
static void keyed(void **state)
{
    /* clang-format off */
    static const struct { uint8_t key_byte; size_t key_size; const char *key,
    *text; uint8_t text_byte; size_t text_size; const char *digest; } rows[] = {
        {0x0b, 20, NULL, "Hi There", 0, 8, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
        {0, 4, "Jefe", "what do ya want for nothing?", 0, 28,
         "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
        {0xaa, 20, NULL, NULL, 0xdd, 50, "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
        {0xaa, 131, NULL, "Test Using Larger Than Block-Size Key - Hash Key First", 0, 54,
         "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
        {0xaa, 131, NULL,
         "This is a test using a larger than block-size key and a larger than block-size data. The key needs to be hashed before being used by the HMAC algorithm.",
         0, 152, "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"},
    };
    /* clang-format on */
    uint8_t key[131], text[152], digest[SHA256_SIZE], other[SHA256_SIZE];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        memset(key, rows[i].key_byte, sizeof key);
        memset(text, rows[i].text_byte, sizeof text);
        if (rows[i].key)
            memcpy(key, rows[i].key, rows[i].key_size);
        if (rows[i].text)
            memcpy(text, rows[i].text, rows[i].text_size);
        hmac_sha256(key, rows[i].key_size, text, rows[i].text_size, digest);
        assert_string_equal(hex(digest), rows[i].digest);
        memcpy(other, digest, sizeof other);
        assert_true(sha256_equal(digest, other));
        other[i] ^= 1;
        assert_false(sha256_equal(digest, other));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(examples), cmocka_unit_test(a_million_letters),
                                       cmocka_unit_test(keyed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
