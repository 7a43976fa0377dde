/* id_words.h - event ids in words: "17, 100-120", "not 17". Pure. Threads: any. Not for: making filters of them
 * (filters.c). */
#ifndef AUTOLOGGER_PLAN_ID_WORDS_H
#define AUTOLOGGER_PLAN_ID_WORDS_H
#include "autologger/wire/filter.h"

/* *in: true lets the ids in; false (behind "not") keeps them out. W_INVALID_PARAMETER with what is wrong. */
wstatus id_words_parse(const char *text, uint16_t ids[FILTER_IDS], unsigned *count, bool *in, struct reason *why);
/* The ids as words, without "not"; malloc. NULL: out of memory. */
char *id_words_print(const uint8_t *bytes, uint32_t size);
#endif
