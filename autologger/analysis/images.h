/* images.h - the image summary: every file that programs ran, with its identity (size, checksum, build id, version),
 * how often it was loaded and by how many processes. The identity comes from the events that a merge adds before each
 * Image event, else from the kernel's session (wire/names.h); without both only the checksum of the Image event is
 * known.
 * Invariant: `loads` over all rows = Image Load and DCStart events. Memory: distinct images. Threads: one. Ownership:
 * create/destroy. */
#ifndef AUTOLOGGER_ANALYSIS_IMAGES_H
#define AUTOLOGGER_ANALYSIS_IMAGES_H
#include "autologger/analysis/trace.h"

struct image_row {
    char    *path, *version;         /* version "": unknown */
    char     build_id[48];           /* hex, or a GUID and age as in Windows; "" */
    uint64_t size, loads, processes; /* processes: several of one id count once */
    uint32_t checksum, stamp;
};
struct images {
    struct image_row *row; /* by path */
    size_t            rows;
    uint64_t          loads, with_build_id, processes;
};
wstatus images_create(struct trace *t, struct images **out, struct reason *why);
void    images_destroy(struct images *i);
#endif
