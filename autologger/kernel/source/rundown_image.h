/* rundown_image.h - the images of the start: the file of each executable mapping that the walk of /proc finds. A helper
 * (elf_helper.h) is asked about each file, by device and inode, while the walk goes on; the image waits for the answer.
 * At the end the walk waits for the remaining answers as long as elf_patience() says. An image without an answer gets
 * the mapping's place, and the stamp 1.
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
/* Puts the images whose answer has come; `last`: all. */
void rundown_images_put(struct rundown_images *r, bool last);
#endif
