/* Fuzz target: any bytes are compressed, and libfwnt expands them to the same; the same bytes as a compressed buffer of
 * each method expand or are refused, and nothing else happens. */
#include "autologger/etl/buffers.h"
#include "autologger/etl/xpress.h"

#include <libfwnt.h>
#include <stdlib.h>
#include <string.h>

static void there_and_back(const uint8_t *data, size_t size)
{
    size_t   room = size * 9 / 8 + 64, got = size;
    uint8_t *out = malloc(room), *back = malloc(size ? size : 1);
    size_t   n = xpress_compress(data, size, out, room);

    if (!n || (size && (libfwnt_lzxpress_decompress(out, n, back, &got, NULL) != 1 || got != size ||
                        memcmp(back, data, size) != 0)))
        abort();
    free(out);
    free(back);
}

static void as_a_buffer(const uint8_t *data, size_t size)
{
    enum { HEAD = sizeof(struct etl_buffer_header), FILLED = 4096 };
    static const uint16_t formats[] = {ETL_LZNT1, ETL_XPRESS, ETL_XPRESS_HUFF};
    uint8_t              *file      = calloc(1, HEAD + size);
    struct etl_room       room      = {0};

    memcpy(file + HEAD, data, size);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct etl_buffer  one = {.stored = (uint32_t)(HEAD + size), .filled = FILLED, .compressed = true};
        struct etl_buffers b   = {.source      = {.fd = -1, .data = file, .size = HEAD + size},
                                  .list        = &one,
                                  .count       = 1,
                                  .compression = formats[i]};
        etl_buffers_unload(&b, 0, etl_buffers_load(&b, 0, &room));
        free(b.damage);
    }
    free(room.data);
    free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 1 << 16)
        return 0;
    there_and_back(data, size);
    as_a_buffer(data, size);
    return 0;
}
