#include "autologger/symbols/symbols.h"

#include "autologger/schema/classic.h"
#include "autologger/consumer/decoded.h"
#include "autologger/consumer/stack_keys.h"
#include "autologger/symbols/elf_names.h"
#include "autologger/symbols/saved.h"
#include "autologger/symbols/spaces.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES_MAX = 1024 };

struct symbols_file { /* one that was mapped somewhere */
    char             *path;
    struct build_id   build_id;
    char              build_id_text[41];
    uint64_t          key, size;
    uint32_t          stamp;
    struct elf_names *names;       /* NULL: not looked for yet */
    uint64_t          frames_lost; /* because it was not found */
};
struct symbols {
    struct elf_search     search;
    bool                  lines;
    struct symbols_file  *file;
    size_t                files, capacity;
    struct spaces         spaces;
    struct stack_keys     keys;
    struct saved          saved;
    struct idmap          build_ids; /* of images, by the part in Image events */
    struct quality        quality;
    struct symbols_counts counts;
    struct image_fields   image;
    /* is_linux: a Linux file was mapped, or its names saved; is_foreign: the kernel has images that Linux does not
     * have */
    bool is_linux, is_foreign;
    bool failed; /* no memory */
};

/* ---- reading the trace ---- */

static size_t symbols_file_of(struct symbols *s, const struct image_fields *image)
{
    uint64_t key = build_id_key(image->stamp, image->checksum);

    for (size_t i = s->files; i-- > 0;)
        if (s->file[i].key == key && s->file[i].stamp == image->stamp && s->file[i].size == image->size &&
            strcmp(s->file[i].path, image->path) == 0)
            return i;
    if (s->files == s->capacity) {
        size_t n     = s->capacity ? s->capacity * 2 : 64;
        void  *grown = realloc(s->file, n * sizeof *s->file);
        if (!grown) {
            s->failed = true;
            return 0;
        }
        s->file     = grown;
        s->capacity = n;
    }
    struct symbols_file *f = &s->file[s->files];
    *f = (struct symbols_file){.path = strdup(image->path), .key = key, .size = image->size, .stamp = image->stamp};
    if (!f->path) {
        s->failed = true;
        return 0;
    }
    return s->files++;
}

static void build_id_keep(struct symbols *s, uint64_t key, const struct build_id *id)
{
    struct build_id *kept = idmap_get(&s->build_ids, key);
    if (!kept && (!(kept = malloc(sizeof *kept)) || !idmap_put(&s->build_ids, key, kept))) {
        free(kept);
        s->failed = true;
        return;
    }
    *kept = *id;
}

static bool is_vmlinux(const char *path) { return *path == '/' && strncmp(image_base_name(path), "vmlinux", 7) == 0; }

static void learn(struct symbols *s, const struct etl_event *e)
{
    struct stack_fields stack;
    struct build_id     id;
    uint64_t            key;

    if (stack_keys_see(&s->keys, e)) {
        s->failed |= s->keys.failed;
    } else if (stack_keys_stack(&s->keys, e, &stack)) {
        quality_expect(&s->quality, stack.trigger, e->cpu);
    } else if (image_event_read(e, &s->image)) {
        size_t file = symbols_file_of(s, &s->image);
        s->counts.images += s->image.process_id != 0;
        s->is_linux |= s->image.path[0] == '/';
        s->is_foreign |= !s->image.process_id && s->image.path[0] == '\\'; /* "\SystemRoot\system32\ntoskrnl.exe" */
        if (!s->failed && !spaces_see(&s->spaces, classic_hook(e), e->raw_time, &s->image, file))
            s->failed = true;
    } else if (build_id_event(e, &key, &id) || build_id_version(e, &key, &id)) {
        build_id_keep(s, key, &id);
    } else if (!saved_see(&s->saved, e)) {
        s->failed = true;
    }
}

/* The event with a file's build id may come after the file's image. */
static void files_identify(struct symbols *s)
{
    for (size_t i = 0; i < s->files; i++) {
        struct symbols_file   *f     = &s->file[i];
        const struct build_id *known = f->key ? idmap_get(&s->build_ids, f->key) : NULL;
        if (known)
            f->build_id = *known;
        else if (f->key) /* its beginning */
            memcpy(f->build_id.bytes, &f->key, f->build_id.size = sizeof f->key);
        build_id_text(&f->build_id, f->build_id_text);
    }
}

wstatus symbols_open(const char *trace, const struct symbols_options *options, struct symbols **out, struct reason *why)
{
    struct etl_reader *r;
    struct etl_event   e;
    struct symbols    *s = calloc(1, sizeof *s);

    *out = NULL;
    if (!s)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for symbols");
    wstatus st = etl_reader_open(trace, &r, why);
    if (st) {
        free(s);
        return st;
    }
    s->search = (struct elf_search){options->folders, options->folder_count};
    s->lines  = options->lines;
    while (!s->failed && etl_next(r, &e))
        learn(s, &e);
    etl_reader_close(r);
    quality_ready(&s->quality);
    files_identify(s);
    s->counts.kernel = saved_finish_reading(&s->saved);
    s->is_linux |= s->counts.kernel != KERNEL_NONE || *s->saved.boot_id;
    if (s->failed || s->quality.failed) {
        symbols_close(s);
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the images of %s", trace);
    }
    *out = s;
    return W_SUCCESS;
}

void symbols_close(struct symbols *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->files; i++) {
        elf_names_destroy(s->file[i].names);
        free(s->file[i].path);
    }
    for (size_t i = 0; i < s->build_ids.capacity; i++)
        free(s->build_ids.slot[i].value);
    idmap_finish(&s->build_ids);
    spaces_finish(&s->spaces);
    stack_keys_finish(&s->keys);
    saved_finish(&s->saved);
    free(s->counts.list);
    free(s->counts.rows);
    quality_finish(&s->quality);
    free(s->file);
    free(s);
}

/* ---- one frame ---- */

/* A frame in no saved function: in a module of the Image events, in vmlinux where Linux was traced, else in an unknown
 * kernel. */
static void kernel_module_frame(struct symbols *s, int64_t time, uint64_t address, bool exact, struct frame_name *out)
{
    const struct space_image *image = spaces_find(&s->spaces, 0, time, address - !exact);
    const char               *path  = image ? s->file[image->file].path : NULL;

    out->state = s->counts.kernel == KERNEL_NONE ? FRAME_NO_FILE : FRAME_NO_NAME;
    if (path && !is_vmlinux(path)) {
        out->path   = path;
        out->module = image_base_name(path);
        out->offset = address - image->base;
    } else if (path || (s->is_linux && !s->is_foreign)) {
        out->module   = "vmlinux";
        out->build_id = saved_kernel_build_id(&s->saved);
    } else {
        out->module = "kernel";
        out->state  = FRAME_NO_IMAGE;
    }
}

static void kernel_frame(struct symbols *s, int64_t time, uint64_t address, bool exact, struct frame_name *out)
{
    const struct kernel_module *m;
    const char                 *name;
    uint64_t                    start;

    out->build_id = "";
    if ((name = saved_find(&s->saved, address - !exact, &m, &start))) {
        out->state    = FRAME_NAMED;
        out->module   = m->name;
        out->function = name;
        out->offset   = address - start;
        return;
    }
    kernel_module_frame(s, time, address, exact, out);
}

static bool vdso_frame(struct symbols *s, const struct space_image *image, uint64_t address, bool exact,
                       struct frame_name *out)
{
    const struct kernel_module *m;
    uint64_t                    start;
    const char                 *name;
    if (strcmp(out->path, "[vdso]") != 0 || !(name = saved_find(&s->saved, address - image->base - !exact, &m, &start)))
        return false;
    out->state    = FRAME_NAMED;
    out->function = name;
    out->offset   = address - image->base - start;
    return true;
}

static void user_frame(struct symbols *s, uint32_t pid, int64_t time, uint64_t address, bool exact,
                       struct frame_name *out)
{
    uint64_t                  start, at = address - !exact;
    const struct space_image *image = spaces_find(&s->spaces, pid, time, at);

    out->build_id = "";
    if (!image) {
        out->state = FRAME_NO_IMAGE;
        return;
    }
    struct symbols_file *f = &s->file[image->file];
    out->path              = f->path;
    out->module            = image_base_name(f->path);
    out->build_id          = f->build_id_text;
    out->offset            = address - image->base;
    if (vdso_frame(s, image, address, exact, out))
        return;
    out->state = FRAME_NO_IMAGE;
    if (f->path[0] != '/' || f->path[1] == '/') /* "[heap]", "//anon": made at run time */
        return;
    if (!f->names) {
        struct elf_wanted wanted = {f->path, f->build_id, f->stamp, f->size};
        f->names                 = elf_names_create(&wanted, &s->search);
    }
    const char *name = f->names ? elf_names_find(f->names, image->base, at, &start) : NULL;
    if (name && s->lines)
        out->source = elf_names_line(f->names, image->base, at, &out->line);
    if (name) {
        out->state    = FRAME_NAMED;
        out->function = name;
        out->offset   = address - image->base - start;
        return;
    }
    bool found = f->names && elf_names_found(f->names);
    out->state = found ? FRAME_NO_NAME : FRAME_NO_FILE;
    f->frames_lost += !found;
}

/* `kernel`: the frame comes before the program's first one. Kernel addresses behind that are data of the program's
 * memory. */
static void name_frame(struct symbols *s, uint32_t pid, int64_t time, uint64_t address, bool kernel, bool exact,
                       struct frame_name *out)
{
    *out = (struct frame_name){.address = address, .build_id = ""};
    if (kernel)
        kernel_frame(s, time, address, exact, out);
    else if (address < 4096 || address >> 47)
        out->state = FRAME_NO_CODE;
    else
        user_frame(s, pid, time, address, exact, out);
}

/* ---- stacks ---- */

struct chain {
    uint32_t pid;
    int64_t  time;
    uint64_t frames[FRAMES_MAX];
    unsigned count;
    unsigned kernel; /* the number of kernel frames, which come first */
};

/* The stack that an event is, or carries; *trigger: the raw time of the event it belongs to, 0: this one. */
static bool chain_get(const struct symbols *s, const struct etl_event *e, unsigned most, struct chain *out,
                      int64_t *trigger)
{
    struct stack_fields stack;

    most       = most < FRAMES_MAX ? most : FRAMES_MAX;
    out->count = out->kernel = 0;
    if (stack_keys_stack(&s->keys, e, &stack)) {
        out->pid = stack.process_id;
        *trigger = stack.trigger;
        for (; out->count < stack.count && out->count < most; out->count++)
            out->frames[out->count] = stack_frame(&stack, out->count);
    } else {
        out->pid   = e->process_id;
        *trigger   = 0;
        out->count = e->is_64bit ? decoded_stack(e, out->frames, most) : 0;
    }
    out->time = e->raw_time;
    while (out->kernel < out->count && is_kernel_address(out->frames[out->kernel]))
        out->kernel++;
    return out->count > 0;
}

/* All addresses but the first are return addresses, which may be the beginning of the next function; but at the entry
 * into the kernel, the user's address is again the one that was reached. */
static void chain_name(struct symbols *s, const struct chain *c, unsigned i, struct frame_name *out)
{
    name_frame(s, c->pid, c->time, c->frames[i], i < c->kernel, i == 0 || i == c->kernel, out);
}

static void symbols_count_stack(struct symbols *s, const struct etl_event *e, int64_t trigger,
                                struct quality_parts *parts, const struct frame_name *kernel,
                                const struct frame_name *user)
{
    bool thread = false;
    if (kernel)
        parts->kernel = quality_end(kernel, true, &parts->kernel_root);
    if (user)
        parts->user = quality_end(user, false, &thread);
    if (trigger)
        quality_stack(&s->quality, trigger, e->cpu, parts);
    else
        quality_inside(&s->quality, parts);
}

static unsigned symbols_on_stack(void *ctx, const struct etl_event *e, struct frame_name *out, unsigned most)
{
    struct symbols *s = ctx;
    struct chain    c;
    int64_t         trigger;

    quality_event(&s->quality, e);
    if (!chain_get(s, e, most, &c, &trigger))
        return 0;
    struct quality_parts parts = {.kernel_frames = c.kernel, .user_frames = c.count - c.kernel};
    for (unsigned i = 0; i < c.count; i++) {
        bool kernel = i < c.kernel;
        chain_name(s, &c, i, &out[i]);
        s->counts.by_state[out[i].state]++;
        *(kernel ? &parts.kernel_named : &parts.user_named) += out[i].state == FRAME_NAMED;
    }
    symbols_count_stack(s, e, trigger, &parts, c.kernel ? &out[c.kernel - 1] : NULL,
                        c.kernel < c.count ? &out[c.count - 1] : NULL);
    return c.count;
}

void symbols_judge(struct symbols *s, const struct etl_event *e)
{
    struct chain      c;
    struct frame_name kernel, user;
    int64_t           trigger;

    quality_event(&s->quality, e);
    if (!chain_get(s, e, FRAMES_MAX, &c, &trigger))
        return;
    if (c.kernel)
        chain_name(s, &c, c.kernel - 1, &kernel);
    if (c.kernel < c.count)
        chain_name(s, &c, c.count - 1, &user);
    symbols_count_stack(s, e, trigger,
                        &(struct quality_parts){.kernel_frames = c.kernel, .user_frames = c.count - c.kernel},
                        c.kernel ? &kernel : NULL, c.kernel < c.count ? &user : NULL);
}

struct frame_namer symbols_namer(struct symbols *s) { return (struct frame_namer){symbols_on_stack, s}; }

bool symbols_stack(const struct symbols *s, const struct etl_event *e, struct stack_fields *out)
{
    return stack_keys_stack(&s->keys, e, out);
}

bool symbols_file(const struct symbols *s, size_t i, const char **path, const char **build_id)
{
    if (i >= s->files)
        return false;
    *path     = s->file[i].path;
    *build_id = s->file[i].build_id_text;
    return true;
}

/* ---- figures ---- */

static int by_frames(const void *a, const void *b)
{
    const struct symbols_missing *x = a, *y = b;
    return x->frames != y->frames ? (x->frames > y->frames ? -1 : 1) : strcmp(x->path, y->path);
}

/* Sums over all kinds of events. */
static bool quality_sum(struct symbols *s)
{
    struct symbols_counts *n = &s->counts;
    free(n->rows);
    if (!(n->rows = quality_rows(&s->quality, &n->row_count)))
        return false;
    n->kernel_frames = n->kernel_named = n->user_frames = n->user_named = n->complete = n->cut = n->unknown =
        n->missing                                                                             = 0;
    for (size_t i = 0; i < n->row_count; i++) {
        const struct quality_row *r = &n->rows[i];
        n->kernel_frames += r->kernel_frames;
        n->kernel_named += r->kernel_named;
        n->user_frames += r->user_frames;
        n->user_named += r->user_named;
        n->complete += r->whole[STACK_COMPLETE];
        n->cut += r->whole[STACK_CUT];
        n->unknown += r->whole[STACK_END_UNKNOWN];
        n->missing += r->missing;
    }
    return !s->quality.failed;
}

bool symbols_counts(struct symbols *s, struct symbols_counts *out)
{
    free(s->counts.list);
    s->counts.list = calloc(s->files + 1, sizeof *s->counts.list);
    if (!s->counts.list)
        return false;
    s->counts.list_count = 0;
    for (size_t i = 0; i < s->files; i++)
        if (s->file[i].frames_lost)
            s->counts.list[s->counts.list_count++] =
                (struct symbols_missing){s->file[i].path, s->file[i].build_id_text, s->file[i].frames_lost};
    qsort(s->counts.list, s->counts.list_count, sizeof *s->counts.list, by_frames);
    if (!quality_sum(s))
        return false;
    s->counts.kernel_why = saved_why(&s->saved);
    *out                 = s->counts;
    return true;
}
