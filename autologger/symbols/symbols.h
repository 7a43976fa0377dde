/* symbols.h - names the frames in a trace's stacks: user frames from the ELF files that were mapped (elf_names.h),
 * kernel frames from the symbols that a merge saved, or, in the boot that was traced, from the running kernel. The
 * trace is first read for images, build ids and kernel symbols, so that a rundown at its end counts for its beginning.
 * Threads: one. Ownership: open/close. Names live until close, frames until the next call.
 * Not for: showing events (consumer/dump.h). */
#ifndef AUTOLOGGER_SYMBOLS_SYMBOLS_H
#define AUTOLOGGER_SYMBOLS_SYMBOLS_H
#include "autologger/consumer/frames.h"
#include "autologger/symbols/quality.h"
#include "registry-sim/win32/wstatus.h"

struct symbols_options {
    const char *const *folders; /* searched for files and debug information first; borrowed */
    unsigned           folder_count;
    bool               lines; /* frames get their source line, where debug information has it */
};
struct symbols;
/* Status of etl_reader_open; W_NOT_ENOUGH_MEMORY without memory. */
wstatus symbols_open(const char *trace, const struct symbols_options *options, struct symbols **out,
                     struct reason *why);
void    symbols_close(struct symbols *s); /* NULL is fine */
/* For dump, which passes every event that it shows: names the event's stack, and counts it. */
struct frame_namer symbols_namer(struct symbols *s);
/* The alternative for each event: counts the quality of stacks, and names only the last frames, which decide it. */
void symbols_judge(struct symbols *s, const struct etl_event *e);

enum symbols_kernel { KERNEL_SAVED, KERNEL_LIVE, KERNEL_NONE };
struct symbols_missing { /* a file that holds frames and was not found */
    const char *path, *build_id;
    uint64_t    frames;
};
struct symbols_counts {
    uint64_t                kernel_frames, kernel_named, user_frames, user_named;
    uint64_t                by_state[FRAME_NO_CODE + 1];
    uint64_t                complete; /* stacks that end where threads begin */
    uint64_t                cut;      /* that end elsewhere */
    uint64_t                unknown;  /* whose last frame has no name because its file is not there */
    uint64_t                missing;  /* events of a kind that has stacks, without one */
    struct quality_row     *rows;     /* the same by kind of event, most stacks first */
    size_t                  row_count;
    enum symbols_kernel     kernel;
    const char             *kernel_why; /* why there are no kernel symbols, or "" */
    uint64_t                images;     /* mapped by programs; 0: the origin of a frame's code is not known */
    struct symbols_missing *list;       /* most frames first */
    size_t                  list_count;
};
/* The stack of a stack event, stored in it or under a key (consumer/stack_keys.h); frames live until close. */
struct stack_fields;
bool symbols_stack(const struct symbols *s, const struct etl_event *e, struct stack_fields *out);
/* Mapped file `i`, each once: its path and what identifies it, "" where nothing does. False: there are no more than
 * `i`. Borrowed. */
bool symbols_file(const struct symbols *s, size_t i, const char **path, const char **build_id);
/* Counts of the events asked for so far; borrowed. False: no memory. */
bool symbols_counts(struct symbols *s, struct symbols_counts *out);
#endif
