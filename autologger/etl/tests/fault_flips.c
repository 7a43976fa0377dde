/* Every single bit of an 8 KB file flipped, one at a time: the reader ends normally, never reads outside (ASan), and a
 * flip costs at most what its own place in the file explains. Proves: the bad-input rule for .etl. */
// timeout: 120
#include "autologger/etl/tests/build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static void every_bit(void **state)
{
    struct etl_file_info info    = build_info(2048);
    struct image         m       = image_start(&info);
    unsigned             refused = 0, damaged = 0, shorter = 0, total = 0;
    (void)state;

    for (uint32_t b = 1; b <= 3; b++) {
        image_buffer(&m, (uint16_t)(b % 2), b);
        for (uint32_t i = 0; m.pos + 400 < m.buffer; i++) {
            image_event(&m, 2000000 + b * 1000 + i, i);
            image_kernel(&m, 2000000 + b * 1000 + i, 0x0F2E, 2, 0, "0123456789abcdef", 16);
            image_tracelogging(&m, 2000000 + b * 1000 + i, "\x0B\0MySource", 11, "\x09\0\0ev\0a\0\x08", 9, "\1\0\0\0",
                               4);
        }
    }
    assert_int_equal(m.size, 8192);
    for (size_t bit = 0; bit <= 8 * m.size; bit++) { /* the last round flips nothing, and gives the full count */
        struct etl_reader *r;
        struct etl_event   e;
        struct reason      why;
        unsigned           n  = 0, damage;
        size_t             at = bit < 8 * m.size ? 8 * m.size - 1 - bit : bit;
        if (bit < 8 * m.size)
            m.data[at / 8] = (uint8_t)(m.data[at / 8] ^ 1u << at % 8);
        if (etl_reader_open_memory(m.data, m.size, &r, &why) == W_SUCCESS) {
            while (etl_next(r, &e))
                n++;
            etl_reader_damage(r, &damage);
            damaged += damage != 0;
            etl_reader_close(r);
        } else {
            refused++;
            assert_true(at < 8 * (72 + 32)); /* only a flip in the head of buffer 0 can make the file no .etl */
        }
        if (bit == 8 * m.size)
            total = n;
        else
            m.data[at / 8] = (uint8_t)(m.data[at / 8] ^ 1u << at % 8);
        /* a flip in one body buffer can't lose the others */
        if (at >= 8 * 2048 && bit < 8 * m.size)
            assert_true(n >= 1 + 2 * 3 * 5);
        shorter += n < 1 + 3 * 3 * 5;
    }
    print_message("events %u; of %zu flips %u refused, %u reported as damage, %u with fewer events\n", total,
                  8 * m.size, refused, damaged, shorter);
    assert_true(total >= 1 + 3 * 3 * 5);
    assert_true(damaged > 1000 && refused > 10);
    image_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_bit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
