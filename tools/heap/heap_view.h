/* heap_view.h - a heap's report, for people and as JSON. Threads: one. */
#ifndef TOOLS_HEAP_VIEW_H
#define TOOLS_HEAP_VIEW_H
#include "autologger/analysis/heap.h"
#include "tools/heap/heap_run.h"

#include <stdio.h>

struct heap_view {
    const char            *file;
    const struct heap_run *run; /* NULL: the file was there before */
    unsigned               rows;
    bool                   peak;
};
void heap_print(struct heap *h, const struct heap_view *v, FILE *to);
void heap_print_json(struct heap *h, const struct heap_view *v, FILE *to);
#endif
