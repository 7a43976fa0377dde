#include "autologger/analysis/images.h"

#include "autologger/analysis/fields.h"
#include "autologger/consumer/classic_event.h"
#include "autologger/consumer/identity.h"
#include "autologger/kernel/source/idmap.h"
#include "autologger/schema/classic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct images_run {
    struct images      *i;
    struct idmap        rows;      /* hash -> index + 1 */
    struct idmap        seen;      /* row and process -> itself */
    struct idmap        build_ids; /* build_id_key -> struct build_id, of the kernel's session */
    size_t              capacity;
    struct fields       fields;
    struct image_fields image;
    char                guid[48], version[64]; /* from the events just before the Image event */
    uint64_t            guid_base;
    uint32_t            guid_pid;
    bool                failed;
};

static uint64_t images_hash(const char *path, uint32_t checksum, uint32_t stamp, uint64_t size)
{
    /* FNV-1a */
    uint64_t h =
        UINT64_C(1469598103934665603) ^ ((uint64_t)checksum << 32 | stamp) ^ size * UINT64_C(0x9E3779B97F4A7C15);
    for (; *path; path++)
        h = (h ^ (uint8_t)*path) * UINT64_C(1099511628211);
    return h ? h : 1;
}

static struct image_row *images_row_at(struct images_run *r)
{
    const struct image_fields *m  = &r->image;
    uint64_t                   h  = images_hash(m->path, m->checksum, m->stamp, m->size);
    struct images             *i  = r->i;
    uintptr_t                  at = (uintptr_t)idmap_get(&r->rows, h);
    if (at)
        return &i->row[at - 1];
    if (i->rows == r->capacity) {
        size_t capacity = r->capacity ? r->capacity * 2 : 64;
        void  *more     = realloc(i->row, capacity * sizeof *i->row);
        if (!more)
            return NULL;
        i->row      = more;
        r->capacity = capacity;
    }
    struct image_row row = {
        .path = strdup(m->path), .version = strdup(""), .size = m->size, .checksum = m->checksum, .stamp = m->stamp};
    if (!row.path || !row.version || !idmap_put(&r->rows, h, (void *)(uintptr_t)(i->rows + 1))) {
        free(row.path);
        free(row.version);
        return NULL;
    }
    i->row[i->rows] = row;
    return &i->row[i->rows++];
}

static void on_image(struct images_run *r)
{
    struct image_row *row = images_row_at(r);

    if (!row) {
        r->failed = true;
        return;
    }
    r->i->loads++;
    row->loads++;
    uint64_t key = (uint64_t)(row - r->i->row) << 32 | r->image.process_id;
    if (!idmap_get(&r->seen, key + 1)) {
        row->processes++;
        r->failed |= !idmap_put(&r->seen, key + 1, r);
    }
    if (*r->guid && r->guid_base == r->image.base && r->guid_pid == r->image.process_id && !*row->build_id)
        snprintf(row->build_id, sizeof row->build_id, "%s", r->guid);
    if (*r->version && !*row->version) {
        char *copied = strdup(r->version);
        if (copied) {
            free(row->version);
            row->version = copied;
        }
    }
    *r->guid = *r->version = 0;
}

static void on_identity(struct images_run *r, const struct trace_event *x)
{
    static const char *const rsds[]    = {"GuidSig", "Age", "ImageBase", "ProcessId", NULL};
    static const char *const version[] = {"FileVersion", NULL};

    if (x->names.hook == HOOK_IMAGE_ID_DBG_ID_RSDS && fields_read(&r->fields, &x->e, &x->names, rsds)) {
        snprintf(r->guid, sizeof r->guid, "%.38s %s", fields_text(&r->fields, 0), fields_text(&r->fields, 1));
        r->guid_base = fields_number(&r->fields, 2);
        r->guid_pid  = (uint32_t)fields_number(&r->fields, 3);
    } else if (x->names.hook == HOOK_IMAGE_ID_FILE_VERSION && fields_read(&r->fields, &x->e, &x->names, version)) {
        snprintf(r->version, sizeof r->version, "%s", fields_text(&r->fields, 0));
    }
}

static void images_see(struct images_run *r, const struct trace_event *x)
{
    struct build_id id;
    uint64_t        key;

    if (x->names.hook >> 8 == CLASSIC_IMAGE_ID >> 8) {
        on_identity(r, x);
    } else if (image_event_read(&x->e, &r->image) &&
               (x->names.hook == HOOK_IMAGE_LOAD || x->names.hook == HOOK_IMAGE_DC_START)) {
        on_image(r);
    } else if (build_id_event(&x->e, &key, &id) && key && !idmap_get(&r->build_ids, key)) {
        struct build_id *kept = malloc(sizeof *kept);
        if (kept)
            *kept = id;
        if (!kept || !idmap_put(&r->build_ids, key, kept)) {
            free(kept);
            r->failed = true;
        }
    }
}

static int by_path(const void *a, const void *b)
{
    const struct image_row *x = a, *y = b;
    int                     d = strcmp(x->path, y->path);
    return d ? d : x->checksum < y->checksum ? -1 : x->checksum > y->checksum;
}

static void images_run_end(struct images_run *r)
{
    for (size_t k = 0; k < r->i->rows; k++) {
        struct image_row      *row = &r->i->row[k];
        const struct build_id *id  = idmap_get(&r->build_ids, build_id_key(row->stamp, row->checksum));
        if (id) { /* the whole id; the events of a merge have its first 16 bytes */
            char text[41];
            snprintf(row->build_id, sizeof row->build_id, "%s", build_id_text(id, text));
        }
        r->i->with_build_id += *row->build_id != 0;
        r->i->processes += row->processes;
    }
    if (r->i->rows)
        qsort(r->i->row, r->i->rows, sizeof *r->i->row, by_path);
    for (size_t k = 0; k < r->build_ids.capacity; k++)
        free(r->build_ids.slot[k].value);
    idmap_finish(&r->build_ids);
    idmap_finish(&r->rows);
    idmap_finish(&r->seen);
    r->failed |= fields_failed(&r->fields);
    fields_finish(&r->fields);
}

wstatus images_create(struct trace *t, struct images **out, struct reason *why)
{
    const struct trace_event *x;
    struct images_run        *r = calloc(1, sizeof *r);

    *out = NULL;
    if (!r || !(r->i = calloc(1, sizeof *r->i))) {
        free(r);
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for images");
    }
    while (!r->failed && trace_next(t, &x))
        images_see(r, x);
    images_run_end(r);
    bool failed = r->failed;
    *out        = r->i;
    free(r);
    if (!failed)
        return W_SUCCESS;
    images_destroy(*out);
    *out = NULL;
    return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for images");
}

void images_destroy(struct images *i)
{
    for (size_t k = 0; i && k < i->rows; k++) {
        free(i->row[k].path);
        free(i->row[k].version);
    }
    if (i)
        free(i->row);
    free(i);
}
