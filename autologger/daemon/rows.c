#include "autologger/daemon/rows.h"

#include "registry-sim/base/cursor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROWS_HALF = 8 << 20, ROWS_SIZE = 2 * ROWS_HALF + 4096 };
#define ROWS_MAGIC UINT32_C(0x31524C41)

struct rows_header {
    uint32_t magic, row_size, condition_size, current, list_size;
};
struct rows {
    int                 fd;
    struct rows_header *h;
};

static uint8_t *half(const struct rows *r, uint32_t which)
{
    return (uint8_t *)r->h + 4096 + (size_t)(which & 1) * ROWS_HALF;
}

static wstatus rows_map(int fd, struct rows **out, struct reason *why)
{
    struct rows *r = calloc(1, sizeof *r);
    if (!r)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the result rows");
    r->h = mmap(NULL, ROWS_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (r->h == MAP_FAILED) {
        free(r);
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "cannot map the result rows: %s", strerror(errno));
    }
    r->fd = fd;
    *out  = r;
    return W_SUCCESS;
}

wstatus rows_create(struct os *os, struct rows **out, struct reason *why)
{
    int fd = os->shm_create(os, "autologger-rows", ROWS_SIZE, 0);
    if (fd < 0)
        return reason_set(why, wstatus_from_errno(-fd), "cannot create the result rows: %s", strerror(-fd));
    wstatus st = rows_map(fd, out, why);
    if (st) {
        close(fd);
        return st;
    }
    *(*out)->h = (struct rows_header){ROWS_MAGIC, sizeof(struct result_row), sizeof(struct condition), 0,
                                      sizeof(struct result_list)};
    return W_SUCCESS;
}

wstatus rows_store(struct rows *r, const struct result_list *list, struct reason *why)
{
    uint32_t      other = !(r->h->current & 1);
    struct writer w     = wr_make(half(r, other), ROWS_HALF);

    wr_u32(&w, list->count);
    wr_bytes(&w, list, sizeof *list);
    for (unsigned i = 0; i < list->count; i++) {
        wr_bytes(&w, &list->rows[i], sizeof list->rows[i]);
        wr_u32(&w, list->rows[i].conditions.count);
        wr_bytes(&w, list->rows[i].conditions.items, list->rows[i].conditions.count * sizeof(struct condition));
    }
    if (!wr_ok(&w))
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "too many result rows to keep");
    __atomic_store_n(&r->h->current, other, __ATOMIC_RELEASE);
    return W_SUCCESS;
}

wstatus rows_adopt(int fd, struct rows **out, struct result_list *list, struct reason *why)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || st.st_size != ROWS_SIZE)
        return reason_set(why, W_INVALID_DATA, "the result rows handed over have the wrong size");
    wstatus status = rows_map(fd, out, why);
    if (status)
        return status;
    struct rows  *r = *out;
    struct cursor c = cur_make(half(r, r->h->current), ROWS_HALF);
    if (r->h->magic != ROWS_MAGIC || r->h->row_size != sizeof(struct result_row) ||
        r->h->condition_size != sizeof(struct condition) || r->h->list_size != sizeof(struct result_list))
        return reason_set(why, W_INVALID_DATA, "the result rows handed over are of another version");
    uint32_t count = cur_u32(&c);
    cur_copy(&c, list, sizeof *list);
    list->rows  = NULL; /* the pointer was the predecessor's */
    list->count = list->capacity = 0;
    for (uint32_t i = 0; i < count && cur_ok(&c); i++) {
        struct result_row *row = result_add(list);
        if (!row)
            return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the result rows");
        cur_copy(&c, row, sizeof *row);
        memset(&row->conditions, 0, sizeof row->conditions); /* its pointer was the predecessor's */
        uint32_t n = cur_u32(&c);
        for (uint32_t k = 0; k < n && cur_ok(&c); k++) {
            struct condition x;
            cur_copy(&c, &x, sizeof x);
            condition_add(&row->conditions, x.number, x.note, x.item, x.source_file, x.source_line, x.advice, "%s",
                          x.reason);
        }
    }
    return cur_ok(&c) ? W_SUCCESS : reason_set(why, W_INVALID_DATA, "the result rows handed over are damaged");
}

void rows_destroy(struct rows *r)
{
    if (!r)
        return;
    munmap(r->h, ROWS_SIZE);
    if (r->fd >= 0)
        close(r->fd);
    free(r);
}

int rows_fd(const struct rows *r) { return r->fd; }
