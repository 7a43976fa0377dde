/* boot_moment.c - single moments of a boot: disk transfers, the kernel's log, marks, initcalls, modules, memory; and
 * the file's facts about its machine. See boot_build.h. */
#include "autologger/analysis/boot_build.h"
#include "autologger/kernel/source/bootenv.h"
#include "autologger/wire/merged.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS_MOST = 20000, TEXT_MOST = 400 };

static void boot_moment_text_at(struct boot_builder *w, int64_t at, int process, const char *provider, const char *text)
{
    struct boot_text *t = w->b->texts < TEXTS_MOST ? BOOT_GROW(w, text, texts, room_text) : NULL;
    char              cut[TEXT_MOST];

    if (!t) {
        w->b->left_out++;
        return;
    }
    snprintf(cut, sizeof cut, "%s", text);
    *t = (struct boot_text){at, process, provider ? boot_keep(w, provider) : NULL, boot_keep(w, cut)};
}

void boot_log_see(struct boot_builder *w, const struct etl_event *e)
{
    struct cursor p = cur_make(e->payload, e->payload_size);
    cur_u64(&p); /* component, level */
    const char *message = cur_zstring(&p);
    if (message && cur_ok(&p))
        boot_moment_text_at(w, boot_time(w, e), BOOT_NONE, NULL, message);
}

/* ---- disks ---- */

static struct boot_disk *disk_get(struct boot_builder *w, uint32_t number)
{
    for (unsigned i = 0; i < w->b->disks; i++)
        if (w->b->disk[i].number == number)
            return &w->b->disk[i];
    struct boot_disk *d =
        w->b->disks < sizeof w->disk_until / sizeof *w->disk_until ? BOOT_GROW(w, disk, disks, room_disk) : NULL;
    if (d)
        *d = (struct boot_disk){.number = number};
    return d;
}

static void disk_count(struct boot_builder *w, struct boot_disk *d, int64_t at, int64_t lasted, uint32_t bytes,
                       bool write)
{
    int64_t *until = &w->disk_until[d - w->b->disk];
    int64_t  from  = at - lasted > *until ? at - lasted : *until;

    *(write ? &d->writes : &d->reads) += 1;
    *(write ? &d->written : &d->read) += bytes;
    d->waited += d->waited < INT64_MAX / 2 ? lasted : 0;
    if (lasted > d->longest)
        d->longest = lasted;
    if (from < at) {
        d->busy += at - from;
        boot_lane_span(&w->b->lane[BOOT_LANE_DISK], from, at, 1);
        *until = at;
    }
    boot_lane_add(&w->b->lane[write ? BOOT_LANE_WRITE : BOOT_LANE_READ], at, bytes);
}

void boot_disk_see(struct boot_builder *w, const struct etl_event *e, uint16_t hook)
{
    enum { ADDRESSES = 16, PLACE = 8 };
    if (!e->is_64bit)
        return;
    struct cursor  p      = cur_make(e->payload, e->payload_size);
    const uint32_t number = cur_u32(&p);
    cur_u32(&p); /* flags */
    const uint32_t bytes = cur_u32(&p);
    cur_u32(&p);
    cur_take(&p, PLACE + ADDRESSES);
    const uint64_t    ticks  = cur_u64(&p);
    const uint32_t    thread = cur_u32(&p);
    struct boot_disk *d      = cur_ok(&p) ? disk_get(w, number) : NULL;
    if (!d)
        return;
    disk_count(w, d, boot_time(w, e), boot_ns((uint64_t)fmin((double)ticks * w->tick, 1e15), 1), bytes,
               hook == HOOK_DISK_WRITE);
    const int process = boot_process_of_thread(w, thread);
    if (process != BOOT_NONE)
        *(hook == HOOK_DISK_WRITE ? &w->b->process[process].written : &w->b->process[process].read) += bytes;
}

/* ---- our own providers of the kernel ---- */

static void kernel_boot(struct boot_builder *w, const char *event, int64_t at)
{
    if (strcmp(event, "InitcallFinish") == 0) {
        struct boot_initcall *c = BOOT_GROW(w, initcall, initcalls, room_initcall);
        const int64_t         n = boot_ns(boot_field_number(w, "DurationNs"), 1);
        if (c)
            *c = (struct boot_initcall){boot_keep(w, boot_field(w, "Name")), at - n, n,
                                        (int32_t)strtol(boot_field(w, "Result"), NULL, 10)};
    } else if (strcmp(event, "ModuleLoad") == 0) {
        struct boot_module *m = BOOT_GROW(w, module, modules, room_module);
        if (m)
            *m = (struct boot_module){boot_keep(w, boot_field(w, "Name")), at};
    } else if (strcmp(event, "KernelPhaseEnd") == 0) {
        const uint64_t error = boot_field_number(w, "ErrorNs");
        if (error > w->b->trust.clock_error_ns)
            w->b->trust.clock_error_ns = error;
    }
}

static void boot_moment_replace(struct boot_builder *w, char **at, const char *text)
{
    free(*at);
    *at = boot_keep(w, text);
}

static void boot_moment_environment(struct boot_builder *w, const char *event)
{
    if (strcmp(event, BOOTENV_TIMES_NAME) == 0) {
        w->b->firmware = boot_ns(boot_field_number(w, "FirmwareNs"), 1);
        w->b->loader   = boot_ns(boot_field_number(w, "LoaderNs"), 1);
    } else if (strcmp(event, "BootKernel") == 0) {
        boot_moment_replace(w, &w->b->release, boot_field(w, "Release"));
        boot_moment_replace(w, &w->b->command_line, boot_field(w, "CommandLine"));
    }
}

static void loss(struct boot_builder *w, const char *event, int64_t at)
{
    if (strcmp(event, "Lost") != 0 || w->b->trust.first_loss[0])
        return;
    const uint64_t number  = boot_field_number(w, "Cpu");
    char           cpu[24] = "";
    if (number != UINT32_MAX) /* else the processor is not known */
        snprintf(cpu, sizeof cpu, ", CPU %" PRIu64, number);
    snprintf(w->b->trust.first_loss, sizeof w->b->trust.first_loss, "%.3f s%s: %s of %s (%s)", (double)at / 1e9, cpu,
             boot_field(w, "Count"), boot_field(w, "Source"), boot_field(w, "Cause"));
}

static void memory(struct boot_builder *w, const char *event, int64_t at)
{
    struct boot_memory *m = strcmp(event, "MemInfo") == 0 ? BOOT_GROW(w, memory, memories, room_memory) : NULL;
    if (m)
        *m = (struct boot_memory){at, boot_field_number(w, "MemTotal"), boot_field_number(w, "MemAvailable")};
}

/* An event of another provider: its name, and its fields in their order. */
static void own_event(struct boot_builder *w, const struct etl_event *e, const struct decoded *names)
{
    char     text[TEXT_MOST];
    unsigned n    = 0;
    bool     mark = names->provider && strcmp(names->provider, "autologger-mark") == 0;

    if (!mark)
        n = (unsigned)snprintf(text, sizeof text, "%s", names->event);
    else if (w->fields.count)
        snprintf(text, sizeof text, "%s", w->fields.field[0].text);
    for (unsigned i = 0; !mark && i < w->fields.count && n + 2 < sizeof text; i++)
        n += (unsigned)snprintf(text + n, sizeof text - n, " %s=%s", w->fields.field[i].name, w->fields.field[i].text);
    text[sizeof text - 1] = 0;
    if (!mark || w->fields.count)
        boot_moment_text_at(w, boot_time(w, e), boot_process_of(w, e->process_id),
                            names->provider ? names->provider : "?", text);
}

void boot_moment_see(struct boot_builder *w, const struct etl_event *e, const struct decoded *names)
{
    const struct guid *g  = &e->provider;
    const int64_t      at = boot_time(w, e);

    if (guid_equal(g, &w->device_guid)) {
        boot_device_see(w, e, names, at);
        return;
    }
    if (!boot_fields_read(w, e, names)) {
        w->b->trust.undecoded++;
        return;
    }
    if (names->provider && strcmp(names->provider, "systemd-Units") == 0)
        boot_unit_see(w, names->event, at);
    else if (guid_equal(g, &w->cgroup_guid))
        boot_cgroup_see(w);
    else if (guid_equal(g, &w->boot_guid))
        kernel_boot(w, names->event, at);
    else if (guid_equal(g, &w->environment_guid))
        boot_moment_environment(w, names->event);
    else if (guid_equal(g, &w->loss_guid))
        loss(w, names->event, at);
    else if (guid_equal(g, &w->memory_guid))
        memory(w, names->event, at);
    else if (guid_equal(g, &w->merged_guid) && strcmp(names->event, MERGED_SESSION) == 0)
        w->of_rehearsal |= strcmp(boot_field(w, "Of"), MERGED_OF_REHEARSAL) == 0;
    else if (guid_equal(g, &w->names_guid) && strcmp(names->event, "Boot") == 0)
        boot_moment_replace(w, &w->b->boot_id, boot_field(w, "BootId"));
    else if (!names->provider || strncmp(names->provider, "Autologger-", 11) != 0)
        own_event(w, e, names);
}
