/* Filters as a controller sends them: for any bytes, the check reads nothing outside of them, and valid filters can be
 * described and searched. */
#include "autologger/wire/filter.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reason why;
    char          text[300];
    uint32_t      n;
    uint8_t      *copy = malloc(size ? size : 1); /* aligned, and nothing behind it */
    if (!copy)
        return 0;
    if (size)
        memcpy(copy, data, size);
    if (filter_check(copy, size, &why) == 0) {
        const struct filter_block *b = (const void *)copy;
        filter_describe(b, text, sizeof text);
        if (filter_part(b, FILTER_CONTAINER, &n) && !memchr(filter_part(b, FILTER_CONTAINER, &n), 0, n))
            abort();
    }
    free(copy);
    return 0;
}
