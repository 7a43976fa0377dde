/* flags.h - kernel flags, group masks, keyword groups and stack-walk hook ids as tables (flags.def, keywords.def,
 * groups.def, stack_names.def). A mask is eight words. The readers move the eight alias bits of word 0 to their real
 * places. Unknown bits are kept.
 * Pure; any thread. Not for: what this machine can deliver (sources.h); `offer` is what Linux and this version have. */
#ifndef AUTOLOGGER_KERNEL_FLAGS_H
#define AUTOLOGGER_KERNEL_FLAGS_H
#include "registry-sim/win32/guid.h"
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    GROUP_MASK_WORDS        = 8,
    HOOK_MAX                = 256,
    KERNEL_PROFILE_INTERVAL = 10000 /* default sampling interval, 100 ns units */
};

enum kernel_offer {
    KERNEL_OFFER_NOW,    /* delivered */
    KERNEL_OFFER_PARTLY, /* comes with a keyword that is delivered; `source` says what is missing */
    KERNEL_OFFER_NONE,   /* Linux has no counterpart */
};

struct kernel_flag {
    const char       *symbol;  /* PROCESS */
    const char       *keyword; /* PROC_THREAD, or NULL when it has none */
    uint8_t           word;    /* 0..7 */
    uint32_t          bits;    /* within the word */
    const char       *what;
    enum kernel_offer offer;
    const char       *source; /* the Linux source, or why there is none */
};
const struct kernel_flag *kernel_flags(size_t *count); /* every known bit */
struct kernel_keyword {
    const char *name;
    uint8_t     word;
    uint32_t    bits;
};
const struct kernel_keyword *kernel_keywords(size_t *count); /* xperf keywords in canonical order */
struct kernel_group {
    const char *name;
    uint32_t    mask[GROUP_MASK_WORDS];
};
const struct kernel_group *kernel_groups(size_t *count); /* Base, Diag, ... */
struct kernel_hook {
    const char *name;
    uint16_t    hook;
    const char *enabled_by;
};
const struct kernel_hook *kernel_hooks(size_t *count); /* stack-walk keywords */

/* "PROC_THREAD+LOADER+Base" (any case; also "MASK0:0x8000000" and symbols) -> mask. W_INVALID_PARAMETER with the
 * unknown word and a suggestion. */
wstatus group_mask_parse(const char *text, uint32_t mask[GROUP_MASK_WORDS], struct reason *why);
/* Registry bytes -> mask, alias bits of word 0 moved to their real places. W_INVALID_USER_BUFFER when over 40 bytes. */
wstatus group_mask_from_bytes(const uint8_t *data, size_t size, uint32_t mask[GROUP_MASK_WORDS], struct reason *why);
/* Canonical text: keywords in table order joined by '+', then symbols without a keyword, unknown bits as MASKn:0x....
 * group_mask_parse gives the same mask back; an empty mask is "". Returns the length needed, NUL not counted. */
size_t group_mask_format(const uint32_t mask[GROUP_MASK_WORDS], char *out, size_t capacity);
bool   group_mask_has(const uint32_t mask[GROUP_MASK_WORDS], const char *keyword); /* any of its bits */
/* "Profile+CSwitch+0x0501+{class GUID}:type" ('+' or white space between) -> hook ids. W_INVALID_PARAMETER unknown
 * name, W_INVALID_USER_BUFFER more than HOOK_MAX. */
wstatus hooks_parse(const char *text, uint16_t hooks[HOOK_MAX], unsigned *count, struct reason *why);
wstatus hooks_from_bytes(const uint8_t *data, size_t size, uint16_t hooks[HOOK_MAX], unsigned *count,
                         struct reason *why);
size_t  hooks_format(const uint16_t *hooks, unsigned count, char *out, size_t capacity);
/* The class and the type that hooks_parse reads as this hook; false: of no known class. */
bool        hook_class(uint16_t hook, struct guid *out, uint8_t *type);
const char *hook_name(uint16_t hook); /* keyword, or NULL */
/* True if a source of this version gives the call stack of that event (stack_hooks.c). */
bool hook_has_stack(uint16_t hook);
/* The known word nearest to `word` by edit distance (at most 3), or NULL: for "did you mean". */
const char *flag_suggest(const char *word);
#endif
