/* symbols_view.h - how many frames of stacks have names, for people and as one JSON line. Threads: one. */
#ifndef TOOLS_SYMBOLS_VIEW_H
#define TOOLS_SYMBOLS_VIEW_H
#include "autologger/symbols/symbols.h"

#include <stdio.h>

/* Prints why no frame of a program has a module, when the trace has no images. */
void symbols_no_images(const struct symbols_counts *n, FILE *to);
/* As text: the share of frames with a name, the quality of the stacks, and the symbol files that were not found. */
void symbols_print(const struct symbols_counts *n, FILE *to);
/* {"symbols": {...}} */
void symbols_print_json(const struct symbols_counts *n, FILE *to);
#endif
