/* invariant.h - conditions that hold by construction, checked where the code relies on them.
 * In checked builds (Debug, sanitizers, fuzzers: AL_CHECKED) a broken invariant ends the program with file, line and
 * the condition. In release builds it is counted and the program goes on: the code after it must be safe without it.
 * The daemon turns the count into a condition of each session (session_invariant_look).
 * Threads: any. Not for: what input, users or the system can break: that is an error with a Status. Nor for the
 * provider library, which lives in other people's programs. */
#ifndef REGISTRY_SIM_BASE_INVARIANT_H
#define REGISTRY_SIM_BASE_INVARIANT_H
#include <stdbool.h>
#include <stdint.h>

#define INVARIANT(condition) \
    (__builtin_expect(!!(condition), 1) ? (void)0 : invariant_broken(#condition, __FILE__, __LINE__))

__attribute__((cold, noinline)) void invariant_broken(const char *condition, const char *file, int line);
/* Broken invariants of this process so far. */
uint64_t invariant_count(void);
/* The first of them, "file.c:12: a <= b"; "" while there is none. Static. */
const char *invariant_first(void);
/* Tests: counts also in a checked build, and starts from 0. */
void invariant_count_only(bool on);
#endif
