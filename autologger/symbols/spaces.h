/* spaces.h - the images of each process over time, from the Image events of a whole trace.
 * A rundown's images were there before the trace began. An address belongs to the latest image that holds it.
 * Threads: one. Ownership: zeros at first, finish. Not for: the contents of an image (elf_names.h). */
#ifndef AUTOLOGGER_SYMBOLS_SPACES_H
#define AUTOLOGGER_SYMBOLS_SPACES_H
#include "autologger/consumer/classic_event.h"
#include "autologger/kernel/source/idmap.h"

struct space_image {
    uint64_t base, size;
    int64_t  from, to; /* raw times; `to` is not included */
    size_t   file;     /* the caller's number for it */
};
struct spaces {
    struct idmap process; /* pid + 1 -> struct space */
};
/* False: no memory. `file`: the caller's number. */
bool spaces_see(struct spaces *s, uint16_t hook, int64_t time, const struct image_fields *image, size_t file);
const struct space_image *spaces_find(const struct spaces *s, uint32_t pid, int64_t time, uint64_t address);
void                      spaces_finish(struct spaces *s);
#endif
