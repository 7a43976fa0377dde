#include "registry-sim/base/nearest.h"

#include <ctype.h>
#include <string.h>

enum { WORD_MAX = 64 };

static int nearest_folded(const char *s, size_t i) { return tolower((unsigned char)s[i]); }

/* Edit distance where a swap of neighbours counts once; limit + 1 when it is surely larger, and for long words. */
static unsigned edit_distance(const char *a, const char *b, unsigned limit)
{
    size_t   la = strlen(a), lb = strlen(b);
    unsigned d[3][WORD_MAX + 1];

    if (la >= WORD_MAX || lb >= WORD_MAX || (la > lb ? la - lb : lb - la) > limit)
        return limit + 1;
    for (size_t j = 0; j <= lb; j++)
        d[0][j] = (unsigned)j;
    for (size_t i = 1; i <= la; i++) {
        unsigned *now = d[i % 3], *before = d[(i + 2) % 3], *earlier = d[(i + 1) % 3];
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= lb; j++) {
            unsigned best = before[j - 1] + (nearest_folded(a, i - 1) != nearest_folded(b, j - 1));
            if (before[j] + 1 < best)
                best = before[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && nearest_folded(a, i - 1) == nearest_folded(b, j - 2) &&
                nearest_folded(a, i - 2) == nearest_folded(b, j - 1) && earlier[j - 2] + 1 < best)
                best = earlier[j - 2] + 1;
            now[j] = best;
        }
    }
    return d[la % 3][lb];
}

struct nearest nearest_make(const char *word, unsigned limit) { return (struct nearest){word, NULL, limit + 1}; }

void nearest_try(struct nearest *n, const char *candidate)
{
    unsigned distance = edit_distance(n->word, candidate, n->distance);

    if (distance < n->distance && distance * 2 <= strlen(n->word)) {
        n->distance = distance;
        n->found    = candidate;
    }
}
