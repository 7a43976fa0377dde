#include "autologger/daemon/kept.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

bool kept_init(struct kept *k)
{
    /* untouched pages of it cost nothing */
    *k = (struct kept){.item = calloc(KEPT_MAX, sizeof *k->item)};
    return k->item != NULL;
}

static void item_release(struct kept_item *e)
{
    if (e->ring)
        munmap(e->ring, e->ring_bytes);
    close(e->fd);
}

void kept_drop(struct kept *k, const char *name)
{
    for (unsigned i = 0; i < k->count; i++)
        if (strcmp(k->item[i].name, name) == 0) {
            item_release(&k->item[i]);
            k->item[i] = k->item[--k->count];
            return;
        }
}

void kept_add(struct kept *k, const char *name, int fd, size_t ring_bytes)
{
    kept_drop(k, name);
    if (k->count == KEPT_MAX || strlen(name) >= KEPT_NAME) {
        close(fd);
        return;
    }
    struct kept_item *e = &k->item[k->count++];
    *e                  = (struct kept_item){.fd = fd, .ring_bytes = ring_bytes};
    strcpy(e->name, name);
    if (ring_bytes) {
        e->ring = mmap(NULL, ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (e->ring == MAP_FAILED)
            e->ring = NULL;
    }
}

void kept_clear(struct kept *k)
{
    while (k->count)
        item_release(&k->item[--k->count]);
}

void kept_finish(struct kept *k)
{
    kept_clear(k);
    free(k->item);
    k->item = NULL;
}
