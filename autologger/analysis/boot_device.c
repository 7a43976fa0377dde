#include "autologger/analysis/boot_device.h"

#include "autologger/analysis/boot_build.h"

#include <stdlib.h>
#include <string.h>

enum { CHAIN_MOST = 16, EACH_MOST = 8192 /* of each list: each device is compared with all entries */ };

/* ---- reading ---- */

static bool has_room(struct boot_builder *w, unsigned count)
{
    w->b->left_out += count >= EACH_MOST;
    return count < EACH_MOST;
}

static void probe_begin(struct boot_builder *w, const struct etl_event *e, int64_t at)
{
    struct boot_probe *p = has_room(w, w->b->probes) ? BOOT_GROW(w, probe, probes, room_probe) : NULL;
    if (!p)
        return;
    const uintptr_t outer = (uintptr_t)idmap_get(&w->open_probes, e->thread_id + UINT64_C(1));
    *p                    = (struct boot_probe){.device  = boot_keep(w, boot_field(w, "Device")),
                                                .driver  = boot_keep(w, boot_field(w, "Driver")),
                                                .bus     = boot_keep(w, boot_field(w, "Bus")),
                                                .process = boot_process_of(w, e->process_id),
                                                .thread  = e->thread_id,
                                                .start   = at,
                                                .open    = true,
                                                .outer   = (int)outer - 1};
    w->failed |= !idmap_put(&w->open_probes, e->thread_id + UINT64_C(1), (void *)(uintptr_t)w->b->probes);
}

/* Probes nest within a thread. The lost result of an inner probe shows at the end of an outer one, whose device
 * differs. */
static void probe_end(struct boot_builder *w, const struct etl_event *e, int64_t at)
{
    enum { DEEP_MOST = 16 };
    const char *device = boot_field(w, "Device");
    int         found  = (int)(uintptr_t)idmap_get(&w->open_probes, e->thread_id + UINT64_C(1)) - 1;
    const int   newest = found;
    for (unsigned deep = 0; found != BOOT_NONE && strncmp(w->b->probe[found].device, device, strlen(device)) != 0;
         deep++)
        found = deep < DEEP_MOST ? w->b->probe[found].outer : BOOT_NONE;
    if (!*device || found == BOOT_NONE)
        return; /* it began before the file */
    for (int i = newest; i != found; i = w->b->probe[i].outer) {
        w->b->probe[i].open    = false;
        w->b->probe[i].unknown = true;
        w->b->probe[i].end     = at;
    }
    struct boot_probe *p = &w->b->probe[found];
    p->open              = false;
    p->end               = at;
    p->result            = (int32_t)strtol(boot_field(w, "Result"), NULL, 10);
    if (p->outer == BOOT_NONE)
        idmap_remove(&w->open_probes, e->thread_id + UINT64_C(1));
    else
        w->failed |= !idmap_put(&w->open_probes, e->thread_id + UINT64_C(1), (void *)(uintptr_t)(p->outer + 1));
}

static void firmware_end(struct boot_builder *w, const struct etl_event *e, int64_t at)
{
    struct boot_firmware *f =
        !has_room(w, w->b->firmware_requests) ? NULL : BOOT_GROW(w, firmware_request, firmware_requests, room_firmware);
    const int64_t n = boot_ns(boot_field_number(w, "DurationNs"), 1);
    if (f)
        *f = (struct boot_firmware){.name   = boot_keep(w, boot_field(w, "Name")),
                                    .device = boot_keep(w, boot_field(w, "Device")),
                                    .thread = e->thread_id,
                                    .start  = at - n,
                                    .end    = at,
                                    .result = (int32_t)strtol(boot_field(w, "Result"), NULL, 10)};
}

static void deferral(struct boot_builder *w, int64_t at)
{
    struct boot_deferral *d = !has_room(w, w->b->deferrals) ? NULL : BOOT_GROW(w, deferral, deferrals, room_deferral);
    if (d)
        *d = (struct boot_deferral){boot_keep(w, boot_field(w, "Device")), boot_keep(w, boot_field(w, "Reason")),
                                    boot_keep(w, boot_field(w, "Supplier")), at};
}

void boot_device_see(struct boot_builder *w, const struct etl_event *e, const struct decoded *names, int64_t at)
{
    if (strcmp(names->event, "Uevent") == 0) /* many, and not needed here */
        return;
    if (!boot_fields_read(w, e, names)) {
        w->b->trust.undecoded++;
        return;
    }
    if (strcmp(names->event, "DeviceProbeStart") == 0)
        probe_begin(w, e, at);
    else if (strcmp(names->event, "DeviceProbeEnd") == 0)
        probe_end(w, e, at);
    else if (strcmp(names->event, "FirmwareEnd") == 0)
        firmware_end(w, e, at);
    else if (strcmp(names->event, "DeviceDeferred") == 0)
        deferral(w, at);
}

void boot_device_end(struct boot_builder *w)
{
    for (unsigned i = 0; i < w->b->probes; i++)
        if (w->b->probe[i].open)
            w->b->probe[i].end = w->b->last;
}

/* ---- devices ---- */

bool boot_probe_is_deferred(const struct boot_probe *p)
{
    return !p->open && !p->unknown && (p->result == PROBE_DEFERRED || p->result == -PROBE_DEFERRED);
}

static struct boot_device *device_of(struct boot_device *all, unsigned count, const struct boot_probe *p)
{
    for (unsigned i = 0; i < count; i++)
        if (strcmp(all[i].name, p->device) == 0 && strcmp(all[i].bus, p->bus) == 0)
            return &all[i];
    return NULL;
}

static void probe_take(const struct boot *b, struct boot_device *d, unsigned i)
{
    const struct boot_probe *p = &b->probe[i];
    if (!d->ready)
        d->driver = p->driver;
    if (boot_probe_is_deferred(p)) {
        d->deferrals++;
        if (!d->put_off)
            d->put_off = p->end;
        return;
    }
    if (p->unknown)
        return;
    if (d->longest == BOOT_NONE || p->end - p->start > b->probe[d->longest].end - b->probe[d->longest].start)
        d->longest = (int)i;
    if (!p->open && p->result == 0 && !d->ready) {
        d->ready = p->end;
        if (d->put_off)
            d->waited = p->start > d->put_off ? p->start - d->put_off : 0;
    }
}

static void reasons_take(const struct boot *b, struct boot_device *d)
{
    for (unsigned i = 0; i < b->deferrals; i++)
        if (strcmp(b->deferral[i].device, d->name) == 0 && b->deferral[i].at >= d->first &&
            (!d->ready || b->deferral[i].at <= d->ready)) {
            d->reason   = b->deferral[i].reason;
            d->supplier = b->deferral[i].supplier;
        }
}

struct boot_device *boot_devices_make(const struct boot *b, unsigned *count, bool *failed)
{
    struct boot_device *all = b->probes ? calloc(b->probes, sizeof *all) : NULL;
    *failed                 = b->probes && !all;
    *count                  = 0;
    for (unsigned i = 0; all && i < b->probes; i++) {
        const struct boot_probe *p = &b->probe[i];
        struct boot_device      *d = device_of(all, *count, p);
        if (!d) {
            d  = &all[(*count)++];
            *d = (struct boot_device){.name     = p->device,
                                      .bus      = p->bus,
                                      .driver   = p->driver,
                                      .first    = p->start,
                                      .reason   = "",
                                      .supplier = "",
                                      .longest  = BOOT_NONE};
        }
        probe_take(b, d, i);
    }
    for (unsigned i = 0; i < *count; i++) {
        struct boot_device *d = &all[i];
        if (!d->put_off)
            continue;
        if (!d->ready)
            d->waited = b->finish > d->put_off ? b->finish - d->put_off : 0;
        reasons_take(b, d);
    }
    return all;
}

static const struct boot_device *device_named(const struct boot_device *all, unsigned count, const char *name)
{
    for (unsigned i = 0; *name && i < count; i++)
        if (strcmp(all[i].name, name) == 0)
            return &all[i];
    return NULL;
}

const struct boot_device *boot_device_root(const struct boot_device *all, unsigned count, const struct boot_device *d,
                                           bool *circle)
{
    const struct boot_device *root = d, *next;
    *circle                        = false;
    for (unsigned deep = 0; (next = device_named(all, count, root->supplier)); deep++) {
        if (next == d || deep == CHAIN_MOST) {
            *circle = true;
            return d;
        }
        root = next;
    }
    return root;
}

int64_t boot_probe_firmware(const struct boot *b, const struct boot_probe *p, const struct boot_firmware **longest)
{
    int64_t sum = 0;
    *longest    = NULL;
    for (unsigned i = 0; i < b->firmware_requests; i++) {
        const struct boot_firmware *f = &b->firmware_request[i];
        if (f->thread != p->thread || f->start < p->start || f->end > p->end)
            continue;
        sum += f->end - f->start;
        if (!*longest || f->end - f->start > (*longest)->end - (*longest)->start)
            *longest = f;
    }
    return sum;
}

const struct boot_module *boot_module_of(const struct boot *b, const char *driver, int64_t until)
{
    const struct boot_module *found = NULL;
    for (unsigned i = 0; i < b->modules; i++) {
        const char *m = b->module[i].name, *d = driver;
        while (*m && (*m == *d || (*m == '_' && *d == '-') || (*m == '-' && *d == '_')))
            m++, d++;
        if (!*m && !*d && b->module[i].at <= until && (!found || b->module[i].at > found->at))
            found = &b->module[i];
    }
    return found;
}
