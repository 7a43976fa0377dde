#include "autologger/symbols/symbols.h"

#include "autologger/consumer/classic.h"
#include "autologger/consumer/decoded.h"
#include "autologger/symbols/elf_names.h"
#include "autologger/symbols/saved.h"
#include "autologger/symbols/spaces.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOOKS = 65536, FRAMES_MAX = 1024 };

struct file { /* one that was mapped somewhere */
    char             *path;
    struct build_id   build_id;
    char              build_id_text[41];
    uint64_t          key, size;
    uint32_t          stamp;
    struct elf_names *names; /* NULL: not looked for yet */
    uint64_t          frames_lost; /* because it was not found */
};
struct symbols {
    struct elf_search        search;
    struct file             *file;
    size_t                   files, capacity;
    struct spaces            spaces;
    struct saved             saved;
    struct idmap             build_ids; /* of images, by what Image events carry of them */
    int64_t                 *trigger; /* raw times of events that have a stack, sorted */
    size_t                   triggers, trigger_capacity;
    uint64_t                 hook_events[HOOKS], hook_stacks[HOOKS]; /* of kernel events that were shown */
    struct symbols_counts    counts;
    struct image_fields      image;
    bool                     failed; /* no memory */
};

/* ---- reading the trace ---- */

static size_t file_of(struct symbols *s, const struct image_fields *image)
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
    struct file *f = &s->file[s->files];
    *f             = (struct file){.path = strdup(image->path), .key = key, .size = image->size, .stamp = image->stamp};
    if (!f->path) {
        s->failed = true;
        return 0;
    }
    return s->files++;
}

static void trigger_add(struct symbols *s, int64_t time)
{
    if (s->triggers == s->trigger_capacity) {
        size_t n     = s->trigger_capacity ? s->trigger_capacity * 2 : 1024;
        void  *grown = realloc(s->trigger, n * sizeof *s->trigger);
        if (!grown) {
            s->failed = true;
            return;
        }
        s->trigger          = grown;
        s->trigger_capacity = n;
    }
    s->trigger[s->triggers++] = time;
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

static void learn(struct symbols *s, const struct etl_event *e)
{
    struct stack_fields stack;
    struct build_id     id;
    uint64_t            key;

    if (stack_event_read(e, &stack)) {
        if (stack.trigger)
            trigger_add(s, stack.trigger);
    } else if (image_event_read(e, &s->image)) {
        size_t file = file_of(s, &s->image);
        if (!s->failed && !spaces_see(&s->spaces, classic_hook(e), e->raw_time, &s->image, file))
            s->failed = true;
    } else if (build_id_event(e, &key, &id) || build_id_version(e, &key, &id)) {
        build_id_keep(s, key, &id);
    } else if (!saved_see(&s->saved, e)) {
        s->failed = true;
    }
}

static int by_time(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* What an event tells of a build id may come behind the image. */
static void files_identify(struct symbols *s)
{
    for (size_t i = 0; i < s->files; i++) {
        struct file           *f     = &s->file[i];
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
    while (!s->failed && etl_next(r, &e))
        learn(s, &e);
    etl_reader_close(r);
    if (s->triggers)
        qsort(s->trigger, s->triggers, sizeof *s->trigger, by_time);
    files_identify(s);
    s->counts.kernel = saved_finish_reading(&s->saved);
    if (s->failed) {
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
    saved_finish(&s->saved);
    free(s->counts.list);
    free(s->trigger);
    free(s->file);
    free(s);
}

/* ---- one frame ---- */

static void kernel_frame(struct symbols *s, uint64_t address, bool exact, struct frame_name *out)
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
    out->module   = "vmlinux";
    out->state    = s->counts.kernel == KERNEL_NONE ? FRAME_NO_FILE : FRAME_NO_NAME;
    out->build_id = saved_kernel_build_id(&s->saved);
}

static bool vdso_frame(struct symbols *s, const struct space_image *image, uint64_t address, bool exact, struct frame_name *out)
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

static void user_frame(struct symbols *s, uint32_t pid, int64_t time, uint64_t address, bool exact, struct frame_name *out)
{
    uint64_t                  start, at = address - !exact;
    const struct space_image *image = spaces_find(&s->spaces, pid, time, at);

    out->build_id = "";
    if (!image) {
        out->state = FRAME_NO_IMAGE;
        return;
    }
    struct file *f = &s->file[image->file];
    out->path      = f->path;
    out->module    = image_base_name(f->path);
    out->build_id  = f->build_id_text;
    out->offset    = address - image->base;
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

/* `kernel`: before the first frame of the program. Behind it the kernel's addresses are something that lay in the program's memory. */
static void name_frame(struct symbols *s, uint32_t pid, int64_t time, uint64_t address, bool kernel, bool exact, struct frame_name *out)
{
    *out = (struct frame_name){.address = address, .build_id = ""};
    if (kernel)
        kernel_frame(s, address, exact, out);
    else if (address < 4096 || address >> 47)
        out->state = FRAME_NO_CODE;
    else
        user_frame(s, pid, time, address, exact, out);
    *(kernel ? &s->counts.kernel_frames : &s->counts.user_frames) += 1;
    *(kernel ? &s->counts.kernel_named : &s->counts.user_named) += out->state == FRAME_NAMED;
    s->counts.by_state[out->state]++;
}

/* ---- stacks ---- */

/* Where threads begin. */
static bool is_root(const char *function)
{
    static const char *const roots[] = {
        "_start", "__libc_start_main", "__libc_start_call_main", "__libc_start_main_impl", "start_thread", "__clone", "clone", "__clone3", "clone3",
        "_dl_start_user", "_dl_start", "ret_from_fork", "ret_from_fork_asm", "kthread", "secondary_startup_64", "secondary_startup_64_no_verify",
        "common_startup_64", "start_kernel", "x86_64_start_kernel", "x86_64_start_reservations", "cpu_startup_entry", "start_secondary"};
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
        if (strcmp(function, roots[i]) == 0)
            return true;
    return false;
}

static void count_end(struct symbols *s, const struct frame_name *last)
{
    *(last->state == FRAME_NAMED && is_root(last->function) ? &s->counts.complete : &s->counts.cut) += 1;
}

/* Addresses behind the first one are those that calls return to, which may be the beginning of the next function; but where the kernel
 * was entered, the user's address is again the one that was reached. */
static unsigned name_all(struct symbols *s, uint32_t pid, int64_t time, const uint64_t *frames, unsigned count, struct frame_name *out)
{
    bool kernel = true;

    for (unsigned i = 0; i < count; i++) {
        bool entered = kernel && i > 0;
        kernel       = kernel && is_kernel_address(frames[i]);
        name_frame(s, pid, time, frames[i], kernel, i == 0 || (entered && !kernel), &out[i]);
    }
    if (count)
        count_end(s, &out[count - 1]);
    return count;
}

/* A kernel event that is shown: does it have a stack? */
static void count_event(struct symbols *s, const struct etl_event *e)
{
    if ((e->kind != ETL_KIND_SYSTEM && e->kind != ETL_KIND_PERFINFO) || e->hook >> 8 == ETL_GROUP_STACKWALK || !s->triggers)
        return;
    s->hook_events[e->hook]++;
    s->hook_stacks[e->hook] += bsearch(&e->raw_time, s->trigger, s->triggers, sizeof *s->trigger, by_time) != NULL;
}

static unsigned on_stack(void *ctx, const struct etl_event *e, struct frame_name *out, unsigned most)
{
    struct symbols     *s = ctx;
    struct stack_fields stack;
    uint64_t            frames[FRAMES_MAX];
    unsigned            n = 0;

    most = most < FRAMES_MAX ? most : FRAMES_MAX;
    count_event(s, e);
    if (stack_event_read(e, &stack)) {
        if (!stack.trigger)
            return 0; /* the definition of a key: nobody's stack */
        for (; n < stack.count && n < most; n++)
            frames[n] = stack_frame(&stack, n);
        return name_all(s, stack.process_id, e->raw_time, frames, n, out);
    }
    n = e->is_64bit ? decoded_stack(e, frames, most) : 0;
    return name_all(s, e->process_id, e->raw_time, frames, n, out);
}

struct frame_namer symbols_namer(struct symbols *s) { return (struct frame_namer){on_stack, s}; }

/* ---- figures ---- */

static int by_frames(const void *a, const void *b)
{
    const struct symbols_missing *x = a, *y = b;
    return x->frames != y->frames ? (x->frames > y->frames ? -1 : 1) : strcmp(x->path, y->path);
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
    s->counts.missing = 0;
    for (unsigned h = 0; h < HOOKS; h++)
        if (s->hook_stacks[h])
            s->counts.missing += s->hook_events[h] - s->hook_stacks[h];
    s->counts.kernel_why = saved_why(&s->saved);
    *out                 = s->counts;
    return true;
}
