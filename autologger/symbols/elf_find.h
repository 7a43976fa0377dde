/* elf_find.h - finds the file that was mapped, checks that it is that file, and places an image in the file's own
 * addresses. A file counts only by its build id, or by its time where it has none.
 * Threads: one. Ownership: descriptors are the caller's. */
#ifndef AUTOLOGGER_SYMBOLS_ELF_FIND_H
#define AUTOLOGGER_SYMBOLS_ELF_FIND_H
#include "autologger/symbols/elf_names.h"

#include <libelf.h>

enum { ELF_PATH_SIZE = 4400 };
/* Opens the file, or its debug information when only that is there. A descriptor, or -1; `path`: where it was found. */
int elf_file_open(const struct elf_wanted *w, const struct elf_search *search, char path[ELF_PATH_SIZE]);
/* Opens a file with its debug information. */
int elf_debug_open(const struct elf_wanted *w, const struct elf_search *search, char path[ELF_PATH_SIZE]);

struct elf_image_place {
    bool     placed;
    uint64_t low, high; /* of all loaded segments, in the file's addresses */
    uint64_t shift;     /* of the image's first byte, in the file's addresses */
};
/* Places an image of that size. The image of an event is the whole file; of a process that was gone too soon it may be
 * the one executable mapping, which is then recognized by its size. */
struct elf_image_place elf_image_place(Elf *elf, uint64_t image_size);
#endif
