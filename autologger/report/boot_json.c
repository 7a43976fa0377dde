#include "autologger/report/boot_json.h"

#include "autologger/analysis/boot_device.h"
#include "autologger/report/json_write.h"
#include "registry-sim/win32/filetime.h"

#include <stdlib.h>
#include <string.h>

enum { CELLS_MOST = 60000, WAITS_MOST = 4000, TEXTS_MOST = 6000 };

static void boot_json_times(yajl_gen g, const char *name, const int64_t time[BOOT_STATES])
{
    jw_open(g, name);
    for (unsigned i = 0; i < BOOT_STATES; i++)
        if (time[i])
            jw_ms(g, boot_state_words[i], time[i]);
    jw_close(g);
}

static void boot_json_head(yajl_gen g, const struct report *r)
{
    const struct boot *b = r->boot;
    char               when[FILETIME_TEXT_SIZE];

    jw_text(g, "file", r->file);
    jw_flag(g, "ofBoot", !b->live);
    jw_text(g, "began", filetime_format(b->began, when));
    jw_text(g, "bootId", b->boot_id);
    jw_text(g, "kernel", b->release);
    jw_text(g, "commandLine", b->command_line);
    jw_int(g, "cpus", b->cpus);
    jw_ms(g, "first", b->first);
    jw_ms(g, "last", b->last);
    jw_ms(g, "userStart", b->user);
    jw_ms(g, "finish", b->finish);
    jw_flag(g, "bySystemd", b->by_systemd);
    jw_open(g, "systemd"); /* seconds by systemd's clock, as in systemd-analyze time */
    if (b->by_systemd) {
        const int64_t *at = b->systemd;
        jw_real(g, "kernel", (double)(at[0] ? at[0] : at[1]) / 1e9, 4);
        if (at[0])
            jw_real(g, "initrd", (double)(at[1] - at[0]) / 1e9, 4);
        jw_real(g, "userspace", (double)(at[2] - at[1]) / 1e9, 4);
        jw_ms(g, "apart", b->finish - at[2]); /* difference of that clock and the trace's at the end, ms */
    }
    jw_close(g);
}

static void finding(yajl_gen g, const struct report *r, const struct boot_finding *f)
{
    jw_text(g, "rule", f->rule);
    jw_text(g, "sentence", f->sentence);
    jw_list(g, "numbers");
    for (unsigned i = 0; i < 3; i++) {
        jw_open(g, NULL);
        jw_text(g, "what", f->number[i].what);
        jw_text(g, "value", f->number[i].value);
        jw_close(g);
    }
    jw_end(g);
    jw_text(g, "next", f->next);
    jw_ms(g, "cost", f->cost);
    jw_ms(g, "start", f->start);
    jw_ms(g, "end", f->end);
    jw_text(g, "unit", f->unit == BOOT_NONE ? NULL : r->boot->unit[f->unit].name);
    jw_int(g, "process", f->process);
}

static void boot_json_verdict(yajl_gen g, const struct report *r)
{
    jw_open(g, "verdict");
    if (r->verdict->findings)
        finding(g, r, &r->verdict->finding[0]);
    else
        jw_text(g, "sentence", r->verdict->sentence);
    jw_list(g, "others");
    for (unsigned i = 1; i < r->verdict->findings; i++) {
        jw_open(g, NULL);
        finding(g, r, &r->verdict->finding[i]);
        jw_close(g);
    }
    jw_end(g);
    jw_close(g);
}

static void boot_json_trust(yajl_gen g, const struct boot *b)
{
    const struct boot_trust *t = &b->trust;
    jw_open(g, "trust");
    jw_int(g, "events", (int64_t)t->events);
    jw_int(g, "lost", (int64_t)t->lost);
    jw_int(g, "buffersLost", (int64_t)t->buffers_lost);
    jw_text(g, "firstLoss", t->first_loss);
    jw_int(g, "damaged", (int64_t)t->damaged);
    jw_int(g, "undecoded", (int64_t)t->undecoded);
    jw_text(g, "clock", t->clock);
    jw_int(g, "clockErrorNs", (int64_t)t->clock_error_ns);
    jw_int(g, "stacksComplete", (int64_t)t->stacks_complete);
    jw_int(g, "stacksCut", (int64_t)t->stacks_cut);
    jw_int(g, "stacksUnknown", (int64_t)t->stacks_unknown);
    jw_int(g, "stacksMissing", (int64_t)t->stacks_missing);
    jw_int(g, "frames", (int64_t)t->frames);
    jw_int(g, "framesNamed", (int64_t)t->frames_named);
    jw_ms(g, "ownCpu", t->own_cpu);
    jw_ms(g, "ownCpuUntilDone", t->own_cpu_boot);
    jw_flag(g, "switches", b->switches);
    jw_ms(g, "seenFrom", b->seen_from);
    jw_flag(g, "wakeups", b->wakeups);
    jw_flag(g, "samples", b->samples);
    jw_ms(g, "shortestWait", b->wait_least);
    jw_int(g, "leftOut", (int64_t)b->left_out);
    jw_close(g);
}

static void boot_json_phases(yajl_gen g, const struct boot *b)
{
    jw_list(g, "phases");
    for (unsigned i = 0; i < b->phases; i++) {
        jw_open(g, NULL);
        jw_text(g, "name", b->phase[i].name);
        jw_ms(g, "start", b->phase[i].start);
        jw_ms(g, "end", b->phase[i].end);
        jw_close(g);
    }
    jw_end(g);
}

static void boot_json_path(yajl_gen g, const struct report *r)
{
    static const char *const kinds[] = {"kernel", "process", "unit", "queue"};
    jw_list(g, "criticalPath");
    for (unsigned i = 0; i < r->path->steps; i++) {
        const struct boot_step *s = &r->path->step[i];
        jw_open(g, NULL);
        jw_text(g, "kind", kinds[s->kind]);
        jw_text(g, "what", s->what);
        jw_text(g, "why", s->why);
        jw_ms(g, "start", s->start);
        jw_ms(g, "end", s->end);
        jw_int(g, "depth", s->depth);
        jw_int(g, "process", s->process);
        jw_text(g, "unit", s->unit == BOOT_NONE ? NULL : r->boot->unit[s->unit].name);
        boot_json_times(g, "time", s->time);
        jw_close(g);
    }
    jw_end(g);
}

static void boot_json_units(yajl_gen g, const struct boot *b)
{
    jw_list(g, "units");
    for (unsigned i = 0; i < b->units; i++) {
        const struct boot_unit *u = &b->unit[i];
        jw_open(g, NULL);
        jw_text(g, "name", u->name);
        jw_ms(g, "queued", u->queued);
        jw_ms(g, "activating", u->activating);
        jw_ms(g, "active", u->active);
        jw_ms(g, "done", boot_unit_done(u));
        jw_ms(g, "inactive", u->inactive);
        jw_ms(g, "length", boot_unit_length(u));
        jw_ms(g, "jobWait", u->job_wait);
        jw_text(g, "job", u->job_result);
        jw_text(g, "state", u->state);
        jw_text(g, "result", u->result);
        jw_flag(g, "failed", u->failed);
        jw_int(g, "processes", (int64_t)u->processes);
        jw_int(g, "read", (int64_t)u->read);
        jw_int(g, "written", (int64_t)u->written);
        boot_json_times(g, "time", u->time);
        jw_text(g, "after", u->after);
        jw_close(g);
    }
    jw_end(g);
}

/* What processes of slow-starting units were seen waiting for. */
static void looks(yajl_gen g, const struct boot *b)
{
    jw_list(g, "seenWaiting");
    for (unsigned i = 0; i < b->looks; i++) {
        const struct boot_look *k = &b->look[i];
        jw_open(g, NULL);
        jw_int(g, "unit", k->unit);
        jw_int(g, "pid", k->pid);
        jw_ms(g, "at", k->at);
        jw_text(g, "for", boot_look_words[k->kind]);
        jw_text(g, "object", k->object);
        jw_flag(g, "guessed", k->guessed);
        jw_int(g, "holder", k->holder);
        jw_close(g);
    }
    jw_end(g);
}

static void boot_json_processes(yajl_gen g, const struct boot *b)
{
    jw_list(g, "processes");
    for (unsigned i = 0; i < b->processes; i++) {
        const struct boot_process *p = &b->process[i];
        jw_open(g, NULL);
        jw_int(g, "pid", p->pid);
        jw_int(g, "parent", p->exec_of != BOOT_NONE ? p->exec_of : p->parent);
        jw_text(g, "label", p->label);
        jw_text(g, "command", p->command);
        jw_int(g, "unit", p->unit);
        jw_ms(g, "start", p->there ? b->first : p->start);
        jw_ms(g, "end", p->end);
        jw_flag(g, "there", p->there);
        jw_flag(g, "lives", p->lives);
        jw_int(g, "exit", p->lives ? 0 : p->exit_status);
        jw_int(g, "read", (int64_t)p->read);
        jw_int(g, "written", (int64_t)p->written);
        jw_int(g, "switches", (int64_t)p->switches);
        boot_json_times(g, "time", p->time);
        jw_list(g, "wokenBy");
        for (unsigned k = 0; k < BOOT_WAKERS && p->waker[k].times; k++) {
            jw_open(g, NULL);
            jw_int(g, "process", p->waker[k].process);
            jw_int(g, "times", (int64_t)p->waker[k].times);
            jw_ms(g, "waited", p->waker[k].waited);
            jw_close(g);
        }
        jw_end(g);
        jw_close(g);
    }
    jw_end(g);
}

static void moments(yajl_gen g, const struct boot *b)
{
    jw_list(g, "initcalls");
    for (unsigned i = 0; i < b->initcalls; i++) {
        jw_open(g, NULL);
        jw_text(g, "name", b->initcall[i].name);
        jw_ms(g, "start", b->initcall[i].start);
        jw_ms(g, "length", b->initcall[i].length);
        jw_int(g, "result", b->initcall[i].result);
        jw_close(g);
    }
    jw_end(g);
    jw_list(g, "modules");
    for (unsigned i = 0; i < b->modules; i++) {
        jw_open(g, NULL);
        jw_text(g, "name", b->module[i].name);
        jw_ms(g, "at", b->module[i].at);
        jw_close(g);
    }
    jw_end(g);
    jw_list(g, "events"); /* marks, the kernel's log (provider null), events of programs */
    for (unsigned i = 0; i < b->texts && i < TEXTS_MOST; i++) {
        jw_open(g, NULL);
        jw_ms(g, "at", b->text[i].at);
        jw_text(g, "provider", b->text[i].provider);
        jw_text(g, "text", b->text[i].text);
        jw_int(g, "process", b->text[i].process);
        jw_close(g);
    }
    jw_end(g);
}

static void probes_of(yajl_gen g, const struct boot *b, const struct boot_device *d)
{
    jw_list(g, "probes");
    for (unsigned i = 0; i < b->probes; i++) {
        const struct boot_probe *p = &b->probe[i];
        if (strcmp(p->device, d->name) != 0 || strcmp(p->bus, d->bus) != 0)
            continue;
        const struct boot_firmware *request;
        const int64_t               firmware = boot_probe_firmware(b, p, &request);
        jw_open(g, NULL);
        jw_text(g, "driver", p->driver);
        jw_ms(g, "start", p->start);
        jw_ms(g, "end", p->end);
        jw_int(g, "process", p->process);
        if (!p->open && !p->unknown)
            jw_int(g, "result", p->result);
        if (request) {
            jw_ms(g, "firmwareTook", firmware);
            jw_text(g, "firmware", request->name);
            jw_int(g, "firmwareResult", request->result);
        }
        jw_close(g);
    }
    jw_end(g);
}

/* How devices got their drivers; none without probes in the trace. */
static void devices(yajl_gen g, const struct boot *b)
{
    unsigned            count;
    bool                failed;
    struct boot_device *all = boot_devices_make(b, &count, &failed);
    jw_list(g, "devices");
    for (unsigned i = 0; i < count; i++) {
        jw_open(g, NULL);
        jw_text(g, "name", all[i].name);
        jw_text(g, "bus", all[i].bus);
        jw_text(g, "driver", all[i].driver);
        jw_ms(g, "start", all[i].first);
        jw_ms(g, "ready", all[i].ready);
        jw_int(g, "deferrals", all[i].deferrals);
        jw_ms(g, "waited", all[i].waited);
        jw_text(g, "supplier", all[i].supplier);
        jw_text(g, "reason", all[i].reason);
        probes_of(g, b, &all[i]);
        jw_close(g);
    }
    jw_end(g);
    free(all);
}

static void boot_json_disks(yajl_gen g, const struct boot *b)
{
    jw_list(g, "disks");
    for (unsigned i = 0; i < b->disks; i++) {
        const struct boot_disk *d = &b->disk[i];
        jw_open(g, NULL);
        jw_int(g, "number", d->number);
        jw_int(g, "reads", (int64_t)d->reads);
        jw_int(g, "writes", (int64_t)d->writes);
        jw_int(g, "read", (int64_t)d->read);
        jw_int(g, "written", (int64_t)d->written);
        jw_ms(g, "busy", d->busy);
        jw_ms(g, "waited", d->waited);
        jw_ms(g, "longest", d->longest);
        jw_close(g);
    }
    jw_end(g);
}

static void boot_json_images(yajl_gen g, const struct boot *b)
{
    jw_list(g, "images");
    for (unsigned i = 0; i < b->images; i++) {
        jw_open(g, NULL);
        jw_text(g, "path", b->image[i].path);
        jw_text(g, "buildId", b->image[i].build_id);
        jw_close(g);
    }
    jw_end(g);
}

/* ---- only for pictures ---- */

static void lanes(yajl_gen g, const struct boot *b)
{
    static const char *const names[BOOT_LANES] = {"cpu", "queue", "read", "write", "disk"};
    jw_open(g, "lanes");
    jw_ms(g, "width", b->lane[0].width);
    const int64_t bins = b->lane[0].width ? b->last / b->lane[0].width + 1 : 0;
    for (unsigned i = 0; i < BOOT_LANES; i++) {
        const bool bytes = i == BOOT_LANE_READ || i == BOOT_LANE_WRITE;
        jw_list(g, names[i]); /* busy processors, threads that wait for one, bytes, share of the time */
        for (int64_t k = 0; k < bins && k < LANE_BINS; k++)
            jw_real(g, NULL,
                    bytes || !b->lane[i].width ? b->lane[i].bin[k] : b->lane[i].bin[k] / (double)b->lane[i].width,
                    bytes ? 0 : 3);
        jw_end(g);
    }
    jw_list(g, "memory");
    for (unsigned i = 0; i < b->memories; i++) {
        jw_open(g, NULL);
        jw_ms(g, "at", b->memory[i].at);
        jw_int(g, "total", (int64_t)b->memory[i].total);
        jw_int(g, "available", (int64_t)b->memory[i].available);
        jw_close(g);
    }
    jw_end(g);
    jw_close(g);
}

static int boot_json_by_length(const void *a, const void *b)
{
    const struct boot_wait *x = *(const struct boot_wait *const *)a, *y = *(const struct boot_wait *const *)b;
    const int64_t           n = x->end - x->start, m = y->end - y->start;
    return (n < m) - (n > m);
}

static void waits(yajl_gen g, const struct boot *b)
{
    const struct boot_wait **list = calloc(b->waits + 1ul, sizeof *list);
    jw_list(g, "waits"); /* the longest: [process, woken by, thread, start, end, state, stack] */
    for (unsigned i = 0; list && i < b->waits; i++)
        list[i] = &b->wait[i];
    if (list)
        qsort(list, b->waits, sizeof *list, boot_json_by_length);
    for (unsigned i = 0; list && i < b->waits && i < WAITS_MOST; i++) {
        yajl_gen_array_open(g);
        jw_int(g, NULL, list[i]->process);
        jw_int(g, NULL, list[i]->waker);
        jw_int(g, NULL, list[i]->thread);
        jw_ms(g, NULL, list[i]->start);
        jw_ms(g, NULL, list[i]->end);
        jw_int(g, NULL, list[i]->state);
        jw_int(g, NULL, list[i]->stack);
        yajl_gen_array_close(g);
    }
    jw_end(g);
    free(list);
}

static int by_weight(const void *a, const void *b)
{
    const struct boot_cell *x = *(const struct boot_cell *const *)a, *y = *(const struct boot_cell *const *)b;
    return (x->weight < y->weight) - (x->weight > y->weight);
}

/* The cells of the most weight: [stack, process, bin, weight]. */
static void cells(yajl_gen g, const struct boot *b, const char *name, bool waiting, const struct boot_cell **list,
                  unsigned n)
{
    jw_list(g, name);
    for (unsigned i = 0, told = 0; i < n && told < CELLS_MOST; i++) {
        if (list[i]->waiting != waiting || list[i]->weight <= 0)
            continue;
        told++;
        yajl_gen_array_open(g);
        jw_int(g, NULL, list[i]->stack);
        jw_int(g, NULL, list[i]->process);
        jw_int(g, NULL, list[i]->bin);
        jw_real(g, NULL, waiting ? list[i]->weight / 1e6 : list[i]->weight, 2);
        yajl_gen_array_close(g);
    }
    jw_end(g);
    (void)b;
}

static void boot_json_stacks(yajl_gen g, const struct boot *b)
{
    const struct boot_cell **list = calloc(b->cells + 1ul, sizeof *list);
    jw_open(g, "stacks");
    jw_ms(g, "width", b->cell_width);
    jw_list(g, "frames");
    for (unsigned i = 0; i < b->frames; i++)
        jw_text(g, NULL, b->frame[i]);
    jw_end(g);
    jw_list(g, "stacks");
    for (unsigned i = 0; i < b->stacks; i++) {
        yajl_gen_array_open(g);
        for (unsigned k = 0; k < b->stack[i].count; k++)
            yajl_gen_integer(g, b->stack[i].frame[k]);
        yajl_gen_array_close(g);
    }
    jw_end(g);
    for (unsigned i = 0; list && i < b->cells; i++)
        list[i] = &b->cell[i];
    if (list && b->cells)
        qsort(list, b->cells, sizeof *list, by_weight);
    cells(g, b, "onCpu", false, list, list ? b->cells : 0);
    cells(g, b, "waiting", true, list, list ? b->cells : 0);
    jw_close(g);
    free(list);
}

char *boot_json(const struct report *r, bool all, size_t *size)
{
    const unsigned char *text;
    yajl_gen             g    = yajl_gen_alloc(NULL);
    char                *copy = NULL;

    if (!g)
        return NULL;
    yajl_gen_config(g, yajl_gen_beautify, !all);
    yajl_gen_map_open(g);
    boot_json_head(g, r);
    boot_json_verdict(g, r);
    boot_json_trust(g, r->boot);
    boot_json_phases(g, r->boot);
    boot_json_path(g, r);
    boot_json_units(g, r->boot);
    looks(g, r->boot);
    boot_json_processes(g, r->boot);
    moments(g, r->boot);
    devices(g, r->boot);
    boot_json_disks(g, r->boot);
    boot_json_images(g, r->boot);
    if (all) {
        lanes(g, r->boot);
        waits(g, r->boot);
        boot_json_stacks(g, r->boot);
    }
    if (r->configuration) {
        jw_name(g, "configuration");
        r->configuration(r->ctx, g);
    }
    if (r->comparison) {
        jw_name(g, "comparison");
        r->comparison(r->ctx, g);
    }
    yajl_gen_map_close(g);
    if (yajl_gen_get_buf(g, &text, size) == yajl_gen_status_ok && (copy = malloc(*size + 1)))
        memcpy(copy, text, *size + 1);
    yajl_gen_free(g);
    return copy;
}
