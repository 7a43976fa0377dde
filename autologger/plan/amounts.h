/* amounts.h - numbers and amounts as people write them: 64, 0x40, "1024 KB", "5 min". Pure; threads: any. */
#ifndef AUTOLOGGER_PLAN_AMOUNTS_H
#define AUTOLOGGER_PLAN_AMOUNTS_H
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>

/* Reads decimal or 0x digits at *text and moves it behind them and any blanks. False: no number, or over 64 bits. */
bool amount_number(const char **text, uint64_t *out);
/* Whole text = one number. W_INVALID_PARAMETER with the reason. */
wstatus amount_parse_number(const char *text, uint64_t *out, struct reason *why);
/* Number and unit; without a unit it is in `base`. Sizes: B KB MB GB, result in bytes. Times: ms s min h, in ms. */
wstatus amount_parse_size(const char *text, const char *base, uint64_t *bytes, struct reason *why);
wstatus amount_parse_time(const char *text, const char *base, uint64_t *milliseconds, struct reason *why);
#endif
