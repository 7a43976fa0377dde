/* boots_view.h - the boots that a store remembers, as a list and two of them side by side, for people and as JSON.
 * Threads: one. Not for: loading them (boot/history, boot/result), the rows of one boot (result_view). */
#ifndef TOOLS_BOOTS_VIEW_H
#define TOOLS_BOOTS_VIEW_H
#include "autologger/boot/history.h"
#include "tools/base/json_out.h"

/* Medians of several boots; of times only over the boots that have them. */
struct boots_median {
    unsigned boots; /* boots with a session; rehearsals are left out if any real boot had one */
    unsigned timed; /* boots that reached boot-done */
    uint64_t target_ms, boot_done_ms, written, lost, peak_bytes;
};
/* Of the newest `most` boots (0 = all). */
struct boots_median boots_median(const struct history *h, unsigned most);

/* A line a boot, newest first, at most `most` (0 = all); then the medians. */
void boots_list_print(const struct history *h, unsigned most, FILE *to);
/* Members of the open object: boots [...], median {...}. */
void boots_list_json(const struct history *h, unsigned most, struct json *j);

/* One boot: its phases with start, length and events. */
void boots_phases_print(const struct result_list *boot, FILE *to);
/* A member: phases [{name, start_ns or null, length_ns or null, events or null}]. */
void boots_phases_json(const struct result_list *boot, struct json *j);
/* Members: number, times, phases of one boot. */
void boots_one_json(const struct result_list *boot, struct json *j);

/* Two boots: figures of the whole boot, then each session and provider of either by its declaration. */
void boots_pair_print(const struct result_list *a, const struct result_list *b, FILE *to);
/* Members: a, b {number, times ...}, rows [{key, session, provider, a {...} or null, b}]. */
void boots_pair_json(const struct result_list *a, const struct result_list *b, struct json *j);
#endif
