/* XPRESS with Huffman codes: data from the test's own encoder expand here and in libfwnt; damage is refused.
 * Proves: compressed buffers of every method. */
#include "autologger/etl/xpress_huff.h"

#include <libfwnt.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 3 * 65536, CHUNK = 65536 };
static uint8_t plain[MOST], packed[2 * MOST], back[MOST + 1];

/* A flat code: all 512 symbols have 9 bits, and are their own codes. Words stand where the decoder will read them. */
struct packer {
    size_t   pos, word[2];
    uint32_t bits;
    int      count;
};
static void put_word(size_t at, uint32_t v)
{
    packed[at]     = (uint8_t)v;
    packed[at + 1] = (uint8_t)(v >> 8);
}
static void begin(struct packer *p)
{
    memset(packed + p->pos, 0x99, 256);
    p->pos += 256;
    p->word[0] = p->pos;
    p->word[1] = p->pos + 2;
    p->pos += 4;
    p->bits  = 0;
    p->count = 0;
}
/* The decoder reads its next word only when it needs a bit of it: reserve the word's place then. */
static void put(struct packer *p, uint32_t value, int n)
{
    for (int i = n - 1; i >= 0; i--) {
        if (p->count == 16) {
            put_word(p->word[0], p->bits);
            p->word[0] = p->word[1];
            p->word[1] = p->pos;
            p->pos += 2;
            p->bits  = 0;
            p->count = 0;
        }
        p->bits = p->bits << 1 | (value >> i & 1);
        p->count++;
    }
}
static void finish(struct packer *p)
{
    put(p, 0, 16 - p->count);
    put_word(p->word[0], p->bits);
    put_word(p->word[1], 0);
}
static void put_match(struct packer *p, size_t length, size_t offset)
{
    unsigned bits = 0;
    while (offset >> (bits + 1))
        bits++;
    const size_t l = length - 3;
    put(p, (uint32_t)(256 + (bits << 4 | (l < 15 ? l : 15))), 9);
    if (l >= 15 && l - 15 < 255)
        packed[p->pos++] = (uint8_t)(l - 15);
    else if (l >= 15) {
        packed[p->pos++] = 255;
        put_word(p->pos, (uint32_t)l);
        p->pos += 2;
    }
    put(p, (uint32_t)(offset - ((size_t)1 << bits)), (int)bits);
}

/* Text of `size` bytes with repeats of all lengths, and its packed form. No match goes over a chunk's end. */
static size_t make(size_t size, unsigned seed)
{
    struct packer p = {.pos = 0};
    srand(seed);
    for (size_t at = 0; at < size;) {
        if (at % CHUNK == 0)
            begin(&p);
        const size_t end    = (at / CHUNK + 1) * CHUNK < size ? (at / CHUNK + 1) * CHUNK : size;
        size_t       length = 3 + (size_t)rand() % (rand() % 8 ? 20 : 700);
        if (at > 4 && rand() % 3 == 0 && length <= end - at) {
            const size_t offset = 1 + (size_t)rand() % (at < 65535 ? at : 65535);
            put_match(&p, length, offset);
            for (size_t i = 0; i < length; i++, at++)
                plain[at] = plain[at - offset];
        } else {
            plain[at] = (uint8_t)rand();
            put(&p, plain[at++], 9);
        }
        if (at == end)
            finish(&p);
    }
    return p.pos;
}

static void what_was_packed_comes_back(void **state)
{
    static const size_t sizes[] = {1, 2, 100, 4096, 65535, 65536, 65537, MOST};
    unsigned            agreed  = 0;
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (unsigned seed = 1; seed < 20; seed++) {
            const size_t n     = make(sizes[i], seed);
            uint8_t     *exact = malloc(n); /* exact size: a read behind it is found */
            assert_non_null(exact);
            memcpy(exact, packed, n);
            memset(back, 0xEE, sizeof back);
            assert_true(xpress_huff_expand(exact, n, back, sizes[i]));
            assert_memory_equal(back, plain, sizes[i]);
            assert_int_equal(back[sizes[i]], 0xEE);
            size_t got = sizes[i];
            memset(back, 0, sizeof back);
            if (sizes[i] <= CHUNK && libfwnt_lzxpress_huffman_decompress(exact, n, back, &got, NULL) == 1 &&
                got == sizes[i]) {
                assert_memory_equal(back, plain, sizes[i]); /* an independent reader agrees, where it reads them */
                agreed++;
            }
            free(exact);
        }
    assert_true(agreed > 50);
}

static void damage_is_refused(void **state)
{
    (void)state;
    const size_t n = make(4096, 7);
    for (size_t cut = 0; cut < 256; cut++)
        assert_false(xpress_huff_expand(packed, cut, back, 4096)); /* not even a table */
    for (size_t cut = 256; cut < n - 64; cut += 7)
        xpress_huff_expand(packed, cut, back, 4096); /* any result is allowed, within `back` */
    memset(packed, 0x11, 256);                       /* every symbol has one bit: too many */
    assert_false(xpress_huff_expand(packed, n, back, 4096));
    memset(packed, 0xFF, 256); /* 15 bits each: too few */
    assert_false(xpress_huff_expand(packed, n, back, 4096));
    make(4096, 7);
    for (size_t bit = 0; bit < 8 * n; bit += 3) {
        packed[bit / 8] ^= (uint8_t)(1 << bit % 8);
        xpress_huff_expand(packed, n, back, 4096);
        packed[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_was_packed_comes_back),
                                       cmocka_unit_test(damage_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
