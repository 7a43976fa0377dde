/* Any bytes as a security descriptor: nothing beyond them is read, and an unsound one grants nothing. */
#include "registry-sim/win32/security.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool always(void *ctx, const struct sid *s)
{
    (void)ctx;
    return s->size >= SID_HEAD;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct security_entry e, list[8];
    unsigned              n       = 0;
    const bool            valid   = security_valid(data, size);
    const bool            granted = security_granted(data, size, 0x1FE1, always, NULL);
    if (granted && !valid)
        abort();
    while (security_entry_get(data, size, n, &e) && n < 8)
        list[n++] = e;
    if (n && !valid)
        abort();
    uint8_t *out;
    size_t   made;
    if (n && security_build(list, n, &out, &made) == W_SUCCESS) {
        if (!security_valid(out, made))
            abort();
        free(out);
    }
    return 0;
}
