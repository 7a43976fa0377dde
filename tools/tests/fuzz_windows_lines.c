/* Any words as a command line of each program of Windows: translated and printed, never run. */
#include "tools/windows/personality.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WORDS = 128 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE              *nowhere;
    unsigned                  count, words = 0;
    const struct personality *all  = personality_table(&count);
    char                     *text = malloc(size + 1), *word[WORDS];
    if (!nowhere)
        nowhere = fopen("/dev/null", "we");
    if (!text || !nowhere)
        abort();
    memcpy(text, data, size);
    text[size] = 0;
    for (char *p = strtok(text, "\n"); p && words < WORDS; p = strtok(NULL, "\n"))
        if (!strstr(p, "/dev") && !strstr(p, "/proc")) /* -pf reads a file */
            word[words++] = p;
    for (unsigned i = 0; i < count; i++) {
        struct translation    t      = {.personality = all[i].name};
        struct windows_passed passed = {0};
        all[i].translate(words, word, &passed, &t);
        if (!t.fault)
            translation_print(&t, nowhere);
        translation_finish(&t);
    }
    free(text);
    return 0;
}
