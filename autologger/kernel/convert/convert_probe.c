/* convert_probe.c - drivers that take devices, the reasons for deferred probes, and firmware requests, as events of our
 * own (Autologger-Device). The kernel reports the end of a call without its arguments: it ends the thread's last begun
 * call of its kind. See convert.h. */
#include "autologger/kernel/convert/describe.h"
#include "autologger/kernel/convert/snapshot.h"

#include <stdlib.h>
#include <string.h>

#define PROVIDER "Autologger-Device"
enum {
    OPEN_MOST   = 256 /* calls at a time; beyond that the oldest loses its names */,
    TEXTS       = 3,
    TEXT_MOST   = 96,
    PAYLOAD_MAX = 4096
};
struct convert_probe_open_call {
    uint64_t time;
    uint32_t tid, kind; /* kind: of its start */
    char     text[TEXTS][TEXT_MOST];
};
struct part_probes {
    uint64_t                       count;
    struct convert_probe_open_call call[OPEN_MOST]; /* in the order of their starts */
};

static struct part_probes *convert_probe_part(struct convert *c)
{
    if (!c->probes)
        c->probes = calloc(1, sizeof *c->probes);
    return c->probes;
}

static void call_remove(struct part_probes *p, uint64_t i)
{
    memmove(&p->call[i], &p->call[i + 1], (p->count - i - 1) * sizeof *p->call);
    p->count--;
}

static void call_begin(struct convert *c, const struct sample *s, unsigned texts)
{
    struct part_probes *p = convert_probe_part(c);
    if (!p)
        return;
    if (p->count == OPEN_MOST)
        call_remove(p, 0);
    struct convert_probe_open_call *call = &p->call[p->count++];
    *call = (struct convert_probe_open_call){.time = s->time, .tid = s->tid, .kind = s->source->kind};
    for (unsigned i = 0; i < texts; i++) {
        const char  *text;
        const size_t n = sample_text(s, i, &text);
        memcpy(call->text[i], text, n < TEXT_MOST ? n : TEXT_MOST - 1);
    }
}

/* The names are empty if the start is not known. */
static void call_end(struct convert *c, const struct sample *s, uint32_t kind, struct convert_probe_open_call *out)
{
    struct part_probes *p = c->probes;
    for (uint64_t i = p ? p->count : 0; i > 0; i--)
        if (p->call[i - 1].tid == s->tid && p->call[i - 1].kind == kind) {
            *out = p->call[i - 1];
            call_remove(p, i - 1);
            return;
        }
    *out = (struct convert_probe_open_call){.time = s->time};
}

void convert_probe(struct convert *c, const struct sample *s)
{
    static const struct shape probe[] = {
        {PROVIDER, "DeviceProbeStart", {{"Device", SHAPE_TEXT}, {"Driver", SHAPE_TEXT}, {"Bus", SHAPE_TEXT}}},
        {PROVIDER,
         "DeviceProbeEnd",
         {{"Device", SHAPE_TEXT},
          {"Driver", SHAPE_TEXT},
          {"Bus", SHAPE_TEXT},
          {"Result", SHAPE_INT32},
          {"DurationNs", SHAPE_UINT64}}}};
    static const struct shape firmware[] = {
        {PROVIDER, "FirmwareStart", {{"Name", SHAPE_TEXT}, {"Device", SHAPE_TEXT}}},
        {PROVIDER,
         "FirmwareEnd",
         {{"Name", SHAPE_TEXT}, {"Device", SHAPE_TEXT}, {"Result", SHAPE_INT32}, {"DurationNs", SHAPE_UINT64}}}};
    const uint32_t kind    = s->source->kind;
    const bool     begins  = kind == SRC_PROBE_START || kind == SRC_FIRMWARE_START,
               of_firmware = kind == SRC_FIRMWARE_START || kind == SRC_FIRMWARE_END;
    const unsigned texts   = of_firmware ? 2 : 3;
    uint8_t        bytes[PAYLOAD_MAX];
    struct writer  w = wr_make(bytes, sizeof bytes);
    if (begins) {
        call_begin(c, s, texts);
        for (unsigned i = 0; i < texts; i++)
            wr_sample_text(&w, s, i);
    } else {
        struct convert_probe_open_call call;
        call_end(c, s, of_firmware ? SRC_FIRMWARE_START : SRC_PROBE_START, &call);
        for (unsigned i = 0; i < texts; i++)
            wr_text(&w, call.text[i], TEXT_MOST);
        wr_u32(&w, (uint32_t)sample_field(s, F_PROBED_RESULT));
        wr_u64(&w, s->time > call.time ? s->time - call.time : 0);
    }
    describe(c, &(struct actor){s->cpu, shown_pid(c, s->pid, s->tid), s->tid},
             &(of_firmware ? firmware : probe)[!begins], s->time, &w);
}

/* The driver's own text; only its first argument is known, if it is a text. */
static void wr_reason(struct writer *w, const struct sample *s)
{
    const char *format, *argument;
    size_t n = sample_text(s, F_DEFERRED_FORMAT, &format), of_argument = sample_text(s, F_DEFERRED_ARGUMENT, &argument);
    const char *hole = memchr(format, '%', n);
    while (n && format[n - 1] == '\n')
        n--;
    if (hole && of_argument && (size_t)(hole - format) + 1 < n && hole[1] == 's') {
        wr_bytes(w, format, (size_t)(hole - format));
        wr_bytes(w, argument, of_argument);
        wr_bytes(w, hole + 2, n - (size_t)(hole + 2 - format));
    } else {
        wr_bytes(w, format, n);
    }
    wr_u8(w, 0);
}

/* Only the driver core's own reason is known to name the missing device. */
static bool names_supplier(const struct sample *s)
{
    static const char words[] = "supplier %s not ready";
    const char       *format;
    return sample_text(s, F_DEFERRED_FORMAT, &format) >= sizeof words - 1 &&
           memcmp(format, words, sizeof words - 1) == 0;
}

void convert_deferred(struct convert *c, const struct sample *s)
{
    static const struct shape shape = {
        PROVIDER, "DeviceDeferred", {{"Device", SHAPE_TEXT}, {"Reason", SHAPE_TEXT}, {"Supplier", SHAPE_TEXT}}};
    uint8_t       bytes[PAYLOAD_MAX];
    struct writer w = wr_make(bytes, sizeof bytes);
    wr_sample_text(&w, s, F_DEFERRED_DEVICE);
    wr_reason(&w, s);
    if (names_supplier(s))
        wr_sample_text(&w, s, F_DEFERRED_ARGUMENT);
    else
        wr_u8(&w, 0);
    describe(c, &(struct actor){s->cpu, shown_pid(c, s->pid, s->tid), s->tid}, &shape, s->time, &w);
}

/* ---- for a successor ---- */

void part_probes_finish(struct convert *c)
{
    free(c->probes);
    c->probes = NULL;
}

void part_probes_put(const struct convert *c, struct sink *s)
{
    const uint64_t count = c->probes ? c->probes->count : 0;
    snapshot_put(s, &count, sizeof count);
    if (count)
        snapshot_put(s, c->probes->call, count * sizeof *c->probes->call);
}

bool part_probes_get(struct convert *c, struct cursor *cur)
{
    const uint64_t count = cur_u64(cur);
    if (!count)
        return true;
    const void *calls = count <= OPEN_MOST ? cur_take(cur, count * sizeof(struct convert_probe_open_call)) : NULL;
    if (!calls || !convert_probe_part(c))
        return false;
    memcpy(c->probes->call, calls, count * sizeof(struct convert_probe_open_call));
    c->probes->count = count;
    for (uint64_t i = 0; i < count; i++)
        for (unsigned k = 0; k < TEXTS; k++)
            c->probes->call[i].text[k][TEXT_MOST - 1] = 0;
    return true;
}
