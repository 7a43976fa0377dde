/* Requests to a writer, of any bytes and any size: accepted paths lie within the message. The memory has the message's
 * size, so a read behind it is found. */
#include "autologger/daemon/parts/writer.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* As a real sender sets them: random sizes seldom fit the message. */
static void sizes_fit(uint8_t *bytes, size_t size, unsigned how)
{
    const size_t first = offsetof(struct writer_request, path);
    if (size <= first || how > 2)
        return;
    uint32_t part[2] = {(uint32_t)(size - first), 0};
    if (how == 2) {
        part[1] = part[0] / 2;
        part[0] -= part[1];
    }
    memcpy(bytes + offsetof(struct writer_request, size), part, sizeof part);
    if (how)
        bytes[first + part[0] - 1] = bytes[size - 1] = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > sizeof(struct writer_request))
        return 0;
    const size_t           n = size - 1;
    struct writer_request *q = malloc(n ? n : 1);
    must(q);
    memcpy(q, data + 1, n);
    sizes_fit((uint8_t *)q, n, data[0] % 4);
    if (writer_request_whole(q, n)) {
        const size_t first  = q->size[0] ? strlen(q->path) + 1 : 0,
                     second = q->size[1] ? strlen(q->path + q->size[0]) + 1 : 0;
        must(first == q->size[0] && second == q->size[1] &&
             offsetof(struct writer_request, path) + first + second == n);
        must(first <= WRITER_PATH && second <= WRITER_PATH && (first || q->what == WRITER_OWNER));
    }
    free(q);
    return 0;
}
