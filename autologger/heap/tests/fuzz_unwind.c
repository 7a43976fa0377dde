/* Tables of unwinding: any bytes as an index with its sections. The first eight bytes say where the index is, and for which
 * address. */
#include "autologger/heap/unwind.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t where, address;
    if (size < 9)
        return 0;
    memcpy(&where, data, sizeof where);
    memcpy(&address, data + 4, sizeof address);
    const size_t n     = size - 8;
    uint8_t     *bytes = malloc(n);
    if (!bytes)
        return 0;
    memcpy(bytes, data + 8, n);
    const uint64_t low = (uint64_t)(uintptr_t)bytes;
    unwind_rule_find(bytes + where % n, low, low + n,
                     low + (uint64_t)(int64_t)(int32_t)address); /* code is elsewhere */
    free(bytes);
    return 0;
}
