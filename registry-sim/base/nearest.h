/* nearest.h - the known word nearest to a misspelt one, for "did you mean".
 * The distance counts inserted, removed, changed and swapped letters, without case (ASCII). A candidate that differs in
 * more than half of the word is not suggested. Pure; threads: any. Ownership: words are borrowed. */
#ifndef REGISTRY_SIM_BASE_NEAREST_H
#define REGISTRY_SIM_BASE_NEAREST_H

struct nearest {
    const char *word, *found; /* found: the best so far, or NULL */
    unsigned    distance;     /* what the next candidate must stay below */
};
struct nearest nearest_make(const char *word, unsigned limit); /* accepts candidates at a distance of at most `limit` */
void           nearest_try(struct nearest *n, const char *candidate);
#endif
