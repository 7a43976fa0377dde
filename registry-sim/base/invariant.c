/* invariant.c - see invariant.h. */
#include "registry-sim/base/invariant.h"
#include "registry-sim/base/visible_print.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef AL_CHECKED
static atomic_bool invariant_ends = true;
#else
static atomic_bool invariant_ends;
#endif
static atomic_uint_fast64_t broken;
static atomic_int           first_state; /* 0 none, 1 being written, 2 there */
static char                 first_text[200];

void invariant_broken(const char *condition, const char *file, int line)
{
    const char *name = strrchr(file, '/');
    int         none = 0;
    name             = name ? name + 1 : file;
    if (atomic_load(&invariant_ends)) {
        visible_line(stderr, "%s:%d: broken invariant: %s", name, line, condition);
        abort();
    }
    if (atomic_compare_exchange_strong(&first_state, &none, 1)) {
        snprintf(first_text, sizeof first_text, "%s:%d: %s", name, line, condition);
        atomic_store(&first_state, 2);
    }
    atomic_fetch_add(&broken, 1);
}

uint64_t invariant_count(void) { return atomic_load(&broken); }

const char *invariant_first(void) { return atomic_load(&first_state) == 2 ? first_text : ""; }

void invariant_count_only(bool on)
{
    atomic_store(&invariant_ends, !on);
    atomic_store(&broken, 0);
    atomic_store(&first_state, 0);
}
