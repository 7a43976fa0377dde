/* The C names of a header: each once. */
#include "autologger/schema/mc_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t mc_names_hash(const char *text)
{
    uint32_t h = UINT32_C(2166136261);
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * UINT32_C(16777619);
    return h ^ h >> 15;
}

/* The slot of the name, or the free slot for it. Needs room in the table. */
static unsigned *mc_names_place(struct mc_names *n, const char *text)
{
    unsigned mask = 2 * n->room - 1, i = mc_names_hash(text) & mask;

    while (n->slots[i] && strcmp(n->at[n->slots[i] - 1].text, text) != 0)
        i = (i + 1) & mask;
    return &n->slots[i];
}

static bool mc_names_grow(struct mc_names *n)
{
    unsigned            room  = n->room ? n->room * 2 : 256;
    struct mc_name_row *more  = realloc(n->at, room * sizeof *more);
    unsigned           *slots = calloc(2ul * room, sizeof *slots);

    if (more)
        n->at = more;
    if (!more || !slots) {
        free(slots);
        n->failed = true;
        return false;
    }
    free(n->slots);
    n->slots = slots;
    n->room  = room;
    for (unsigned i = 0; i < n->count; i++)
        *mc_names_place(n, n->at[i].text) = i + 1;
    return true;
}

static void mc_names_tell(struct mc_names *n, bool error, const struct mc_name_row *first, const char *text,
                          uint32_t line)
{
    char what[400];

    *(error ? &n->problems->errors : &n->problems->warnings) += 1;
    if (!n->problems->tell)
        return;
    if (error)
        snprintf(what, sizeof what, "the C name %.200s is taken by line %u", text, first->line);
    else
        snprintf(what, sizeof what,
                 "the C name %.200s is taken by line %u with another value, 0x%llx: the header has that one", text,
                 first->line, (unsigned long long)first->value);
    n->problems->tell(
        n->problems->ctx,
        &(struct manifest_problem){
            .error = error, .file = n->file, .line = line, .what = what, .advice = "give one of them another symbol"});
}

static bool mc_names_add(struct mc_names *n, const char *text, bool constant, uint64_t value, uint32_t line)
{
    if (n->count == n->room && !mc_names_grow(n))
        return false;
    unsigned *at = mc_names_place(n, text);
    if (!*at) {
        char *copy = strdup(text);
        n->failed |= !copy;
        if (!copy)
            return false;
        n->at[n->count] = (struct mc_name_row){copy, value, line, constant};
        *at             = ++n->count;
        return true;
    }
    const struct mc_name_row *first = &n->at[*at - 1];
    if (!constant || !first->constant)
        mc_names_tell(n, true, first, text, line);
    else if (value != first->value)
        mc_names_tell(n, false, first, text, line);
    return false;
}

bool mc_names_constant(struct mc_names *n, const char *text, uint64_t value, uint32_t line)
{
    return mc_names_add(n, text, true, value, line);
}
bool mc_names_object(struct mc_names *n, const char *text, uint32_t line)
{
    return mc_names_add(n, text, false, 0, line);
}

void mc_names_finish(struct mc_names *n)
{
    for (unsigned i = 0; i < n->count; i++)
        free(n->at[i].text);
    free(n->at);
    free(n->slots);
}
