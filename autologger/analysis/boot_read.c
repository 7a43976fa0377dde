#include "autologger/analysis/boot_build.h"
#include "autologger/analysis/boot_run.h"

#include "autologger/kernel/source/bootenv.h"
#include "autologger/schema/classic.h"
#include "autologger/wire/merged.h"

#include <stdlib.h>
#include <string.h>

const char *const boot_state_words[BOOT_STATES] = {
#define S(name, word, about) word,
#include "autologger/analysis/boot_states.def"
#undef S
};

enum { CLOCK_TSC = 3, NS_OF_FILETIME = 100, FRAMES_ROOM = 1024 };

/* ---- shared by the parts ---- */

int64_t boot_ns(uint64_t value, uint64_t scale)
{
    const uint64_t most = (uint64_t)BOOT_LONGEST_NS / scale;
    return (int64_t)((value < most ? value : most) * scale);
}

int64_t boot_time(const struct boot_builder *w, const struct etl_event *e)
{
    const uint64_t base = (uint64_t)w->base;
    if (w->b->live && e->filetime < base) /* an event about an earlier time */
        return 0;
    return e->filetime >= base ? boot_ns(e->filetime - base, NS_OF_FILETIME)
                               : -boot_ns(base - e->filetime, NS_OF_FILETIME);
}

char *boot_keep(struct boot_builder *w, const char *text)
{
    char *copy = strdup(text);
    w->failed |= !copy;
    return copy;
}

uint64_t boot_hash(const void *bytes, size_t size, uint64_t seed)
{
    const uint8_t *p = bytes;
    uint64_t       h = UINT64_C(1469598103934665603) ^ seed * UINT64_C(0x9E3779B97F4A7C15); /* FNV-1a */
    for (size_t i = 0; i < size; i++)
        h = (h ^ p[i]) * UINT64_C(1099511628211);
    return h ^ h >> 29;
}

void *boot_grow(struct boot_builder *w, void **list, unsigned *count, size_t *room, size_t size)
{
    if (*count == *room) {
        const size_t n     = *room ? *room * 2 : 64;
        void        *grown = realloc(*list, n * size);
        if (!grown) {
            w->failed = true;
            return NULL;
        }
        *list = grown;
        *room = n;
    }
    void *at = (char *)*list + *count * size;
    memset(at, 0, size);
    ++*count;
    return at;
}

static void boot_read_field_take(void *self, const struct field *f)
{
    struct boot_fields *to = self;
    if (to->count == FIELD_NAMES)
        return;
    struct boot_field *at = &to->field[to->count];
    if (!(at->text = strndup(f->text, f->length)))
        return;
    strncpy(at->name, f->name, sizeof at->name - 1);
    to->count++;
}

static void fields_clear(struct boot_fields *f)
{
    while (f->count)
        free(f->field[--f->count].text);
}

bool boot_fields_read(struct boot_builder *w, const struct etl_event *e, const struct decoded *names)
{
    uint32_t used;
    fields_clear(&w->fields);
    return decoded_fields(e, names, &w->fields.sink, &used) == DECODE_OK;
}

const char *boot_field(const struct boot_builder *w, const char *name)
{
    for (unsigned i = 0; i < w->fields.count; i++)
        if (strcmp(w->fields.field[i].name, name) == 0)
            return w->fields.field[i].text;
    return "";
}

uint64_t boot_field_number(const struct boot_builder *w, const char *name)
{
    return strtoull(boot_field(w, name), NULL, 0);
}

/* ---- reading ---- */

static void sample_see(struct boot_builder *w, const struct etl_event *e)
{
    struct cursor p = cur_make(e->payload, e->payload_size);
    cur_u64(&p); /* instruction */
    const uint32_t   tid = cur_u32(&p);
    struct boot_cpu *c   = boot_cpu_at(w, e->cpu);
    w->b->samples        = true;
    if (c && cur_ok(&p)) {
        c->sample_raw    = e->raw_time;
        c->sample_thread = tid;
    }
}

static void boot_read_kernel_event(struct boot_builder *w, const struct etl_event *e, uint16_t hook)
{
    enum { DISK = 1, PROCESS = 3, THREAD = 5 };
    switch (hook >> 8) {
    case THREAD: boot_thread_see(w, e, hook); break;
    case PROCESS: boot_process_see(w, e, hook); break;
    case DISK:
        if (hook == HOOK_DISK_READ || hook == HOOK_DISK_WRITE)
            boot_disk_see(w, e, hook);
        break;
    default:
        if (hook == HOOK_DEBUG_PRINT)
            boot_log_see(w, e);
        else if (hook == HOOK_PERF_SAMPLE)
            sample_see(w, e);
    }
    if (!w->symbols)
        return;
    if (hook == HOOK_STACK_WALK || hook == HOOK_STACK_KEY_KERNEL || hook == HOOK_STACK_KEY_USER)
        boot_stack_see(w, e);
    else
        symbols_judge(w->symbols, e);
}

static void boot_read_all(struct boot_builder *w, const struct boot_options *o)
{
    enum { STEP = 1 << 16 };
    struct etl_event              e;
    struct decoded                names;
    const struct etl_file_header *h = etl_reader_header(w->reader);

    w->b->first = INT64_MAX;
    while (!w->failed && etl_next(w->reader, &e)) {
        const uint16_t hook = classic_hook(&e);
        if (hook == 0) /* the file's header */
            continue;
        const int64_t at = boot_time(w, &e);
        w->b->trust.events++;
        w->b->first = at < w->b->first ? at : w->b->first;
        w->b->last  = at > w->b->last ? at : w->b->last;
        if (hook != CLASSIC_NONE) {
            boot_read_kernel_event(w, &e, hook);
        } else {
            decoded_names(w->schemas, &e, &names);
            boot_moment_see(w, &e, &names);
        }
        if (o->progress && w->b->trust.events % STEP == 0)
            o->progress(o->progress_ctx, h->file_size ? (double)e.file_offset / (double)h->file_size : 0);
    }
    if (w->b->first == INT64_MAX)
        w->b->first = 0;
}

static void own_cost(struct boot *b)
{
    for (unsigned i = 0; i < b->processes; i++)
        if (strstr(b->process[i].label, "autologger")) {
            b->trust.own_cpu += b->process[i].time[BOOT_RUNNING];
            b->trust.own_cpu_boot += boot_ran(b, (int)i, 0, b->finish).running;
        }
}

static void trust_end(struct boot_builder *w)
{
    const struct etl_file_header *h = etl_reader_header(w->reader);
    struct boot_trust            *t = &w->b->trust;
    struct symbols_counts         n;
    unsigned                      damaged;

    etl_reader_damage(w->reader, &damaged);
    t->damaged      = damaged;
    t->lost         = h->raw.events_lost;
    t->buffers_lost = h->raw.buffers_lost;
    t->clock        = h->raw.clock_type == CLOCK_TSC ? "the processor's counter"
                      : h->raw.clock_type == 2       ? "the time of day"
                                                     : "performance counter";
    if (w->symbols && symbols_counts(w->symbols, &n)) {
        t->stacks_complete = n.complete;
        t->stacks_cut      = n.cut;
        t->stacks_unknown  = n.unknown;
        t->stacks_missing  = n.missing;
    }
    own_cost(w->b);
}

static int by_end(const void *a, const void *b)
{
    const struct boot_wait *x = a, *y = b;
    return (x->end > y->end) - (x->end < y->end);
}

static int by_waited(const void *a, const void *b)
{
    const struct boot_waker *x = a, *y = b;
    return (x->waited < y->waited) - (x->waited > y->waited);
}

static void boot_read_images(struct boot_builder *w)
{
    const char *path, *build_id;
    for (size_t i = 0; w->symbols && symbols_file(w->symbols, i, &path, &build_id); i++) {
        struct boot_image *at = *path == '/' ? BOOT_GROW(w, image, images, room_image) : NULL;
        if (at)
            *at = (struct boot_image){boot_keep(w, path), boot_keep(w, build_id)};
    }
}

static void boot_read_finish(struct boot_builder *w)
{
    struct boot *b     = w->b;
    int64_t      width = 0;

    boot_thread_end(w);
    for (unsigned i = 0; i < b->processes; i++) {
        if (b->process[i].lives)
            b->process[i].end = b->last;
        qsort(b->process[i].waker, BOOT_WAKERS, sizeof *b->process[i].waker, by_waited);
    }
    for (unsigned i = 0; i < BOOT_LANES; i++)
        width = b->lane[i].width > width ? b->lane[i].width : width;
    for (unsigned i = 0; i < BOOT_LANES && width; i++)
        boot_lane_widen(&b->lane[i], width);
    if (b->waits)
        qsort(b->wait, b->waits, sizeof *b->wait, by_end);
    b->cpus = w->cpus;
    boot_unit_end(w);
    boot_device_end(w);
    boot_phase_end(w);
    trust_end(w);
    boot_read_images(w);
}

static void builder_finish(struct boot_builder *w)
{
    for (size_t i = 0; i < w->threads.capacity; i++)
        free(w->threads.slot[i].value);
    struct idmap *maps[] = {&w->threads, &w->pids,   &w->units, &w->open_probes, &w->raw_stacks,
                            &w->stacks,  &w->frames, &w->cells, &w->runs};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        idmap_finish(maps[i]);
    fields_clear(&w->fields);
    field_sink_finish(&w->fields.sink);
    symbols_close(w->symbols);
    if (!w->borrowed)
        schema_set_free(w->schemas);
    etl_reader_close(w->reader);
    free(w->names);
    free(w->cpu);
    free(w->pair);
}

/* The file is of a boot if it has process 1's programs, initcalls, or systemd's end of the boot while it was recorded,
 * or if the session began in the first two minutes. A session that is started later records a running machine; so does
 * a rehearsal, also in these minutes. */
static bool is_of_boot(const struct boot_builder *w)
{
    const int64_t      early = INT64_C(120000000000);
    const struct boot *b     = w->b;

    if (w->of_rehearsal)
        return false;
    if (w->start < early || b->initcalls || (b->by_systemd && b->finish >= w->start))
        return true;
    for (unsigned i = 0; i < b->processes; i++)
        if (b->process[i].pid == 1 && !b->process[i].there && b->process[i].start >= w->start)
            return true;
    return false;
}

static wstatus boot_read_open_all(struct boot_builder *w, const char *path, const struct boot_options *o,
                                  struct reason *why)
{
    wstatus st  = etl_reader_open(path, &w->reader, why);
    w->borrowed = o->schemas != NULL;
    w->schemas  = o->schemas ? o->schemas : schema_set_new();
    w->failed |= !w->schemas;
    if (!st && !o->no_stacks) {
        st       = symbols_open(path, &(struct symbols_options){.folders = o->folders, .folder_count = o->folder_count},
                                &w->symbols, why);
        w->names = malloc(FRAMES_ROOM * sizeof *w->names);
        w->failed |= !w->names;
    }
    if (st)
        return st;
    const struct etl_file_header *h = etl_reader_header(w->reader);
    w->base                         = w->b->live ? h->raw.start_time : h->raw.boot_time;
    w->start                        = h->raw.start_time > h->raw.boot_time
                                          ? boot_ns((uint64_t)(h->raw.start_time - h->raw.boot_time), NS_OF_FILETIME)
                                          : 0;
    w->tick                         = h->raw.perf_freq > 0 ? 1e9 / (double)h->raw.perf_freq : 1;
    w->b->began                     = (uint64_t)w->base;
    w->b->session                   = boot_keep(w, h->logger_name ? h->logger_name : "");
    w->b->wait_least                = 1000000;
    w->cgroup_guid                  = guid_from_name("Autologger-Kernel-Cgroups");
    w->boot_guid                    = guid_from_name("Autologger-Kernel-Boot");
    w->device_guid                  = guid_from_name("Autologger-Device");
    w->memory_guid                  = guid_from_name("Autologger-Kernel-Memory");
    w->environment_guid             = guid_from_name(BOOTENV_PROVIDER);
    w->names_guid                   = guid_from_name("Autologger-Kernel-Names");
    w->loss_guid                    = guid_from_name("Autologger-Loss");
    w->merged_guid                  = guid_from_name(MERGED_PROVIDER);
    w->fields.sink                  = (struct field_sink){.emit = boot_read_field_take, .self = &w->fields};
    return W_SUCCESS;
}

/* *other: it was read as a boot, and is not of one. */
static wstatus read_as(const char *path, const struct boot_options *o, bool live, struct boot **out, bool *other,
                       struct reason *why)
{
    struct boot_builder w = {.b = calloc(1, sizeof *w.b)};

    *out   = NULL;
    *other = false;
    if (!w.b)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for a boot");
    w.b->live  = live;
    wstatus st = boot_read_open_all(&w, path, o, why);
    if (!st) {
        boot_read_all(&w, o);
        if (!w.failed)
            boot_read_finish(&w);
        *other = !live && !w.failed && !is_of_boot(&w);
        if (w.failed)
            st = reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for what %s has", path);
    }
    builder_finish(&w);
    if (st)
        boot_destroy(w.b);
    else
        *out = w.b;
    return st;
}

wstatus boot_read(const char *path, const struct boot_options *options, struct boot **out, struct reason *why)
{
    static const struct boot_options none;
    const struct boot_options       *o = options ? options : &none;
    bool                             other;
    wstatus                          st = read_as(path, o, false, out, &other, why);

    if (st || !other)
        return st;
    boot_destroy(*out);
    return read_as(path, o, true, out, &other, why);
}

static void parts_free(struct boot *b)
{
    for (unsigned i = 0; i < b->processes; i++) {
        free(b->process[i].name);
        free(b->process[i].command);
        free(b->process[i].label);
    }
    for (unsigned i = 0; i < b->units; i++) {
        struct boot_unit *u = &b->unit[i];
        free(u->name), free(u->result), free(u->state), free(u->after), free(u->job_result);
    }
    for (unsigned i = 0; i < b->looks; i++)
        free(b->look[i].object);
    for (unsigned i = 0; i < b->initcalls; i++)
        free(b->initcall[i].name);
    for (unsigned i = 0; i < b->modules; i++)
        free(b->module[i].name);
    for (unsigned i = 0; i < b->probes; i++)
        free(b->probe[i].device), free(b->probe[i].driver), free(b->probe[i].bus);
    for (unsigned i = 0; i < b->deferrals; i++)
        free(b->deferral[i].device), free(b->deferral[i].reason), free(b->deferral[i].supplier);
    for (unsigned i = 0; i < b->firmware_requests; i++)
        free(b->firmware_request[i].name), free(b->firmware_request[i].device);
    for (unsigned i = 0; i < b->texts; i++)
        free(b->text[i].provider), free(b->text[i].text);
    for (unsigned i = 0; i < b->images; i++)
        free(b->image[i].path), free(b->image[i].build_id);
    for (unsigned i = 0; i < b->frames; i++)
        free(b->frame[i]);
    for (unsigned i = 0; i < b->stacks; i++)
        free((void *)(uintptr_t)b->stack[i].frame);
}

void boot_destroy(struct boot *b)
{
    if (!b)
        return;
    parts_free(b);
    free(b->boot_id), free(b->release), free(b->command_line), free(b->session);
    free(b->process), free(b->unit), free(b->look), free(b->wait), free(b->initcall), free(b->module), free(b->text);
    free(b->probe), free(b->deferral), free(b->firmware_request);
    free(b->disk), free(b->memory), free(b->image), free(b->frame), free(b->stack), free(b->cell), free(b->run);
    free(b);
}
