/* Makes the page of a recorded boot: page_of_facts FILE.facts PAGE [BEFORE.facts | --session]. Data that the facts lack
 * are made up: a stack for each wait, samples for processes that ran, marks, a line of the kernel's log, initcalls,
 * memory. Prints the number of items that the page has to show, as JSON. */
#include "autologger/analysis/tests/boot_facts.h"
#include "autologger/report/compare_view.h"
#include "autologger/report/page.h"

#include <yajl/yajl_gen.h>

static const enum boot_state shown[5] = {BOOT_CHILD, BOOT_SLEEP, BOOT_OTHER, BOOT_DISK, BOOT_LOCK};

static void cell(struct boot *b, int stack, unsigned process, int64_t at, bool waiting, double weight)
{
    b->cell               = facts_grow(b->cell, &b->cells, sizeof *b->cell);
    b->cell[b->cells - 1] = (struct boot_cell){stack, (int)process, (unsigned)(at / b->cell_width), waiting, weight};
}

static void stacks(struct boot *b)
{
    static const char *const names[]     = {"vmlinux!__schedule",
                                            "vmlinux!schedule",
                                            "vmlinux!do_wait",
                                            "vmlinux!hrtimer_nanosleep",
                                            "vmlinux!ep_poll",
                                            "libc.so.6!__libc_start_call_main",
                                            "sleep!main",
                                            "vmlinux!io_schedule",
                                            "ext4!ext4_file_read_iter",
                                            "vmlinux!flock_lock_inode_wait"};
    static const int         shape[5][5] = {
                {0, 1, 2, 5, 6}, {0, 1, 3, 5, 6}, {0, 1, 4, 5, 6}, {0, 1, 7, 8, 5}, {0, 1, 9, 5, 6}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        b->frame    = facts_grow(b->frame, &b->frames, sizeof *b->frame);
        b->frame[i] = strdup(names[i]);
    }
    for (unsigned i = 0; i < 5; i++) {
        int *copy   = malloc(sizeof shape[i]);
        b->stack    = facts_grow(b->stack, &b->stacks, sizeof *b->stack);
        b->stack[i] = (struct boot_stack){memcpy(copy, shape[i], sizeof shape[i]), 5, 5, (int)shown[i]};
    }
    b->cell_width = 128000000;
    for (unsigned i = 0; i < b->waits; i++)
        for (int k = 0; k < 5; k++)
            if (shown[k] == b->wait[i].state) {
                b->wait[i].stack = k;
                cell(b, k, (unsigned)b->wait[i].process, b->wait[i].start, true,
                     (double)(b->wait[i].end - b->wait[i].start));
            }
    for (unsigned i = 0; i < b->processes; i++)
        if (b->process[i].time[BOOT_RUNNING] > 20000000)
            cell(b, (int)(i % 5), i, b->process[i].start, false, (double)b->process[i].time[BOOT_RUNNING] / 1e6);
}

static void moments(struct boot *b)
{
    static const char *const texts[][2] = {{NULL, "systemd[1]: Reached target <Multi-User> & more."},
                                           {"autologger-mark", "update begins"},
                                           {"Contoso-Demo", "Computed value=42"}};
    for (unsigned i = 0; i < 3; i++) {
        b->text    = facts_grow(b->text, &b->texts, sizeof *b->text);
        b->text[i] = (struct boot_text){b->user + (i + 1) * INT64_C(1000000000), BOOT_NONE,
                                        texts[i][0] ? strdup(texts[i][0]) : NULL, strdup(texts[i][1])};
    }
    for (unsigned i = 0; i < 40; i++) {
        char name[32];
        snprintf(name, sizeof name, "made_up_init_%u", i);
        b->initcall    = facts_grow(b->initcall, &b->initcalls, sizeof *b->initcall);
        b->initcall[i] = (struct boot_initcall){strdup(name), i * INT64_C(50000000), (i + 1) * INT64_C(1000000), 0};
    }
    for (unsigned i = 0; i < 20; i++) {
        b->memory = facts_grow(b->memory, &b->memories, sizeof *b->memory);
        b->memory[i] =
            (struct boot_memory){i * b->last / 20, UINT64_C(1) << 30, (UINT64_C(1) << 30) - i * (UINT64_C(20) << 20)};
    }
}

static void probed(struct boot *b, const char *device, int64_t start, int64_t length, int32_t result)
{
    b->probe                = facts_grow(b->probe, &b->probes, sizeof *b->probe);
    b->probe[b->probes - 1] = (struct boot_probe){.device  = strdup(device),
                                                  .driver  = strdup("made-up"),
                                                  .bus     = strdup("platform"),
                                                  .process = BOOT_NONE,
                                                  .start   = start,
                                                  .end     = start + length,
                                                  .result  = result};
}

/* Three devices: one that its driver took, one that had to wait for the first, one that its driver did not take. */
static void devices(struct boot *b)
{
    const int64_t ms = 1000000;
    probed(b, "dev-waits", b->user + 10 * ms, ms, -517);
    probed(b, "dev-first", b->user + 20 * ms, 800 * ms, 0);
    probed(b, "dev-waits", b->user + 900 * ms, 2 * ms, 0);
    probed(b, "dev-other", b->user + 950 * ms, ms, 19);
    b->deferral    = facts_grow(b->deferral, &b->deferrals, sizeof *b->deferral);
    b->deferral[0] = (struct boot_deferral){strdup("dev-waits"), strdup("supplier dev-first not ready"),
                                            strdup("dev-first"), b->user + 10 * ms};
}

static void configuration(void *ctx, struct yajl_gen_t *g)
{
    static const char text[] =
        "{\"declared\": \"[GlobalLogger]\", \"rows\": [{\"name\": \"NT Kernel Logger\", \"status\": 0, \"level\": \"ok\", \"reason\": \"\", \"conditions\": [\"made up\"], \"peakBytes\": 1048576, \"asked\": {\"buffer_kb\": 128, \"minimum_buffers\": 16, \"maximum_buffers\": 96}, \"written\": 5, \"lost\": 0}]}";
    (void)ctx;
    yajl_gen_number(g, text, sizeof text - 1); /* unchanged */
}

static void complete(struct boot *b)
{
    const struct boot_phase phases[] = {{"kernel", 0, b->init < b->user ? b->init : b->user},
                                        {"initramfs", b->init, b->user},
                                        {"user space", b->user, b->finish},
                                        {"settling", b->finish, b->settled}};
    for (unsigned i = 0; i < 4; i++)
        if (phases[i].end > phases[i].start)
            b->phase[b->phases++] = phases[i];
    b->trust.clock = "performance counter";
    b->trust.lost  = 7;
    b->wakeups     = true;
    b->release     = strdup("6.1.0 <made up>");
    b->began       = UINT64_C(134000000000000000);
    for (unsigned i = 0; i < b->processes; i++)
        for (unsigned k = 0; k < BOOT_WAKERS; k++)
            b->process[i].waker[k].process = BOOT_NONE;
    for (unsigned i = 0; i < BOOT_LANES; i++)
        b->lane[i].width = b->lane[BOOT_LANE_CPU].width;
    stacks(b);
    moments(b);
    devices(b);
}

static void comparison(void *ctx, struct yajl_gen_t *g) { compare_json(ctx, "the boot before", "this one", g); }

int main(int argc, char **argv)
{
    struct boot_comparison *c       = NULL;
    const bool              session = argc == 4 && !strcmp(argv[3], "--session"); /* a page without a boot */
    struct boot            *before  = argc == 4 && !session ? facts_read(argv[3]) : NULL;
    struct boot            *b       = argc >= 3 ? facts_read(argv[1]) : NULL;
    struct boot_path       *p;
    struct boot_verdict     v;
    struct reason           why = {0};
    FILE                   *out = b ? fopen(argv[2], "w") : NULL;

    if (!out || boot_path_create(b, &p, &why))
        return 1;
    complete(b);
    b->live = session;
    boot_verdict_make(b, p, &v);
    if (before && boot_comparison_create((const struct boot *const[]){before}, 1, b, 1000000, &c, &why))
        return 1;
    const struct report r  = {.boot          = b,
                              .path          = p,
                              .verdict       = &v,
                              .file          = argv[1],
                              .configuration = configuration,
                              .comparison    = c ? comparison : NULL,
                              .ctx           = c};
    const wstatus       st = page_write(&r, out, &why);
    fclose(out);
    printf("{\"units\": %u, \"processes\": %u, \"steps\": %u, \"phases\": %u}\n", b->units, b->processes, p->steps,
           b->phases);
    boot_comparison_destroy(c);
    boot_path_destroy(p);
    boot_destroy(before);
    boot_destroy(b);
    return st ? 1 : 0;
}
