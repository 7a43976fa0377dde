/* Payload filters in words: every text gets an answer; an accepted text gives a valid filter, and the filter's own
 * words give the same filter. */
#include "autologger/plan/payload_words.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct payload_bytes b, again;
    static char                 said[32768];
    struct reason               why;
    char                       *text = malloc(size + 1);
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = 0;
    /* payload_check refuses control characters */
    if (payload_words_parse("x", text, &b, &why) == 0 && payload_check(b.at, b.size, &why) == 0) {
        payload_describe(b.at, b.size, said, sizeof said);
        if (payload_words_parse("x", said, &again, &why) || again.size != b.size || memcmp(again.at, b.at, b.size) != 0)
            abort();
    }
    free(text);
    return 0;
}
