/* words_parts.h - the words of single values, text to bytes and back, by subject: numbers (words_numbers.c), names
 * (words_names.c), kernel events (words_kernel.c), texts and lists (words_texts.c). words.c has the table that says
 * which words a value takes.
 * Threads: one at a time. Ownership: results are malloc. Not for: anything but words.c. */
#ifndef AUTOLOGGER_PLAN_WORDS_PARTS_H
#define AUTOLOGGER_PLAN_WORDS_PARTS_H
#include "autologger/plan/values.h"

enum { WORD_SIZE = 64 };
/* The input of a parse; `row` says how to read the text. */
struct asked {
    const struct value_row *row;
    const char             *text, *base_dir, *key;
};
typedef wstatus parse_fn(const struct asked *asked, struct regvalue *out, struct reason *why);
typedef char   *print_fn(const struct regvalue *value); /* NULL: no memory, or no words for it */

/* ---- building values ---- */
wstatus  words_bytes(struct regvalue *out, uint32_t type, const void *data, size_t size, struct reason *why);
wstatus  words_set_number(const struct asked *a, uint64_t number, struct regvalue *out, struct reason *why);
wstatus  words_set_string(const char *text, struct regvalue *out, struct reason *why);
uint64_t words_number(const struct regvalue *v);
/* The next word of a list joined by `separator`, trimmed; false at the end. An empty or long word comes out as "". */
bool words_next(const char **text, char separator, char word[WORD_SIZE]);

parse_fn words_parse_bits, words_parse_bool, words_parse_clock, words_parse_dwords, words_parse_guid, words_parse_hex,
    words_parse_hooks, words_parse_ids, words_parse_keep, words_parse_kernel_flags, words_parse_kilobytes,
    words_parse_level, words_parse_megabytes, words_parse_mode, words_parse_names, words_parse_number,
    words_parse_property, words_parse_seconds, words_parse_stop_after, words_parse_text, words_parse_user_stacks,
    words_parse_payload;
print_fn words_print_bits, words_print_bool, words_print_clock, words_print_dwords, words_print_hooks, words_print_ids,
    words_print_kernel_flags, words_print_kilobytes, words_print_level, words_print_mode, words_print_names,
    words_print_number, words_print_property, words_print_text, words_print_time, words_print_user_stacks,
    words_print_payload;
#endif
