#include "autologger/schema/chunks.h"

#include "autologger/schema/manifest.h"
#include "registry-sim/base/cursor.h"

enum { FORMAT_XML = 1, MAGIC = 0x5B, HEAD = 8 };

static uint64_t chunks_hash(const void *data, size_t size)
{
    const uint8_t *p = data;
    uint64_t       h = UINT64_C(1469598103934665603) ^ size; /* FNV-1a */
    for (size_t i = 0; i < size; i++)
        h = (h ^ p[i]) * UINT64_C(1099511628211);
    return h ^ h >> 29;
}

/* True the first time, and when there is no room to remember the manifest. */
static bool chunks_is_new(struct chunks *c, const struct text *xml)
{
    const uint64_t h = chunks_hash(text_get(xml), xml->length);

    for (unsigned i = 0; i < c->known_count; i++)
        if (c->known[i] == h)
            return false;
    if (c->known_count < CHUNKS_KNOWN)
        c->known[c->known_count++] = h;
    return true;
}

/* The open manifest of this program's provider; for a first piece without one a free place, or place 0 when none is
 * free. */
static struct chunks_open *chunks_place(struct chunks *c, const struct etl_event *e, uint16_t number)
{
    struct chunks_open *free_one = &c->open[0];

    for (unsigned i = 0; i < CHUNKS_OPEN; i++) {
        struct chunks_open *o = &c->open[i];
        if (o->total && o->process == e->process_id && guid_equal(&o->provider, &e->provider))
            return o;
        if (!o->total && free_one->total)
            free_one = o;
    }
    return number ? NULL : free_one;
}

/* A repeated piece: several threads of a program may write its manifest at once. A first piece with other bytes begins
 * a new manifest. */
static bool had(const struct chunks_open *o, uint16_t number, uint16_t total, const uint8_t *bytes, size_t size)
{
    if (!o->total || number >= o->next || total != o->total)
        return false;
    return number || (size <= o->xml.length && memcmp(text_get(&o->xml), bytes, size) == 0);
}

static void chunks_drop(struct chunks_open *o)
{
    o->total = 0;
    text_cut(&o->xml, 0);
    o->xml.failed = false;
}

bool chunks_see(struct chunks *c, const struct etl_event *e)
{
    struct cursor p = cur_make(e->payload, e->payload_size);

    if (!chunks_is(e) || e->payload_size < HEAD)
        return false;
    uint8_t format = cur_u8(&p);
    cur_u16(&p); /* version */
    uint8_t             magic = cur_u8(&p);
    uint16_t            total = cur_u16(&p), number = cur_u16(&p);
    struct chunks_open *o =
        format == FORMAT_XML && magic == MAGIC && total && number < total ? chunks_place(c, e, number) : NULL;

    if (!o || had(o, number, total, e->payload + HEAD, e->payload_size - HEAD))
        return false;
    if (number == 0) {
        chunks_drop(o);
        o->provider = e->provider;
        o->process  = e->process_id;
        o->total    = total;
        o->next     = 0;
    }
    if (number != o->next || total != o->total || o->xml.length + (e->payload_size - HEAD) > MANIFEST_FILE_MAX) {
        chunks_drop(o);
        return false;
    }
    text_add(&o->xml, e->payload + HEAD, e->payload_size - HEAD);
    o->next++;
    if (o->next < total)
        return false;
    text_cut(&c->whole, 0);
    c->whole.failed = false;
    text_add(&c->whole, text_get(&o->xml), o->xml.length);
    bool whole = !o->xml.failed && !c->whole.failed && chunks_is_new(c, &o->xml);
    chunks_drop(o);
    return whole;
}

void chunks_finish(struct chunks *c)
{
    for (unsigned i = 0; i < CHUNKS_OPEN; i++)
        text_finish(&c->open[i].xml);
    text_finish(&c->whole);
    *c = (struct chunks){0};
}
