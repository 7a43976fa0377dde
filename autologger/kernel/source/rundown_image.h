/* rundown_image.h - the images of the start: which file is behind each executable mapping of the walk of /proc. Each
 * file, by device and number, is asked of a helper once (elf_helper.h), and the walk goes on meanwhile; images wait for
 * the answer. At the end the walk waits for the rest as long as elf_patience() says: what is not known by then has the
 * mapping as its place, and the stamp 1.
 * Threads: one. Ownership: create/destroy. Not for: the walk (rundown.c). */
#ifndef AUTOLOGGER_KERNEL_RUNDOWN_IMAGE_H
#define AUTOLOGGER_KERNEL_RUNDOWN_IMAGE_H
#include "autologger/kernel/source/drain.h"

enum { RUNDOWN_TRIES = 3 };
/* fills in time and the path's length */
typedef void (*rundown_put)(void *ctx, struct raw_image *image, const char *path);
struct rundown_images;
struct rundown_images *rundown_images_create(struct drain *d, rundown_put put, void *ctx); /* NULL: no memory */
void                   rundown_images_destroy(struct rundown_images *r);                   /* NULL is fine */
void                   rundown_image(struct rundown_images *r, uint32_t pid, const struct proc_mapping *m);
/* Puts those that are known by now; `last`: all. */
void rundown_images_put(struct rundown_images *r, bool last);
#endif
