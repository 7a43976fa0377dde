/* ctf.c - a trace as CTF 1.8: a folder with `metadata` (TSDL) and a stream file for each processor, event by event.
 * Numbers are numbers, everything else text. Each shape (provider, event, names and types of its fields) is an event
 * class, declared in the metadata, which is written last. See convert.h. */
#include "autologger/export/convert.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { PACKET = 256 << 10, PACKET_HEAD = 4 + 16 + 4 + 8 * 5, CTF_FIELDS = 4096, IDENTIFIER = 200 };
#define FILETIME_UNIX UINT64_C(116444736000000000)

enum ctf_type { CTF_UNSIGNED, CTF_HEX, CTF_SIGNED, CTF_REAL, CTF_TEXT };
static const char *const ctf_words[] = {"u64", "x64", "s64", "f64", "string"};

struct ctf_stream {
    FILE    *file;
    uint8_t *data;
    size_t   filled, capacity;
    uint64_t first, last, lost;
    bool     has;
};
struct ctf {
    struct os             *os;
    struct trace          *t;
    struct convert_counts *counts;
    const char            *folder;
    uint8_t                uuid[16]; /* of this export: readers take traces of one UUID for parts of one trace */
    struct ctf_stream     *stream;
    unsigned               streams;
    struct traced          machine;
    struct idmap           classes; /* hash of a shape -> number + 1 */
    struct text            metadata, shape, declared;
    struct field_sink      sink;
    struct text            values; /* of the event being written */
    unsigned               fields;
    wstatus                status;
    struct reason         *why;
    bool                   failed;
};

/* --- streams --- */

static void ctf_put(struct ctf *c, struct ctf_stream *s, const void *data, size_t size)
{
    if (s->filled + size > s->capacity) {
        size_t   capacity = (s->filled + size) * 2 > PACKET * 2 ? (s->filled + size) * 2 : PACKET * 2;
        uint8_t *more     = realloc(s->data, capacity);
        if (!more) {
            c->failed = true;
            return;
        }
        s->data     = more;
        s->capacity = capacity;
    }
    if (size)
        memcpy(s->data + s->filled, data, size);
    s->filled += size;
}

static void flush_packet(const struct ctf *c, struct ctf_stream *s)
{
    uint32_t magic = UINT32_C(0xC1FC1FC1), zero = 0;
    uint64_t bits[5] = {s->first, s->last, s->filled * 8, s->filled * 8, s->lost};

    if (!s->has)
        return;
    memcpy(s->data, &magic, 4);
    memcpy(s->data + 4, c->uuid, sizeof c->uuid);
    memcpy(s->data + 20, &zero, 4);
    memcpy(s->data + 24, bits, sizeof bits);
    fwrite(s->data, 1, s->filled, s->file);
    s->filled = 0;
    s->has    = false;
}

/* NULL: c->status says why. */
static FILE *ctf_file_make(struct ctf *c, const char *name)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/%s", c->folder, name);
    const int fd    = c->os->open(c->os, path, O_WRONLY | O_CREAT | O_EXCL, 0666);
    FILE     *f     = fd < 0 ? NULL : fdopen(fd, "wb");
    const int error = fd < 0 ? -fd : errno;
    if (!f && fd >= 0)
        c->os->close(c->os, fd);
    if (!f)
        c->status = reason_set(c->why, wstatus_from_errno(error), "%s: %s", path, strerror(error));
    return f;
}

static struct ctf_stream *ctf_stream_at(struct ctf *c, unsigned cpu)
{
    char name[16];

    if (cpu >= c->streams) {
        struct ctf_stream *more = realloc(c->stream, (cpu + 1ul) * sizeof *more);
        if (!more) {
            c->failed = true;
            return NULL;
        }
        memset(more + c->streams, 0, (cpu + 1ul - c->streams) * sizeof *more);
        c->stream  = more;
        c->streams = cpu + 1;
    }
    struct ctf_stream *s = &c->stream[cpu];
    if (!s->file) {
        snprintf(name, sizeof name, "cpu_%u", cpu);
        if (!(s->file = ctf_file_make(c, name)))
            return NULL;
    }
    return s;
}

/* --- events --- */

/* A field's declaration. Identifiers begin with a '_', which readers remove; a number tells equal ones apart. */
static void ctf_declare(struct ctf *c, enum ctf_type type, const char *name)
{
    char   line[IDENTIFIER + 32];
    size_t n = 0;

    line[n++] = ' ';
    line[n++] = '_';
    for (; *name && n < IDENTIFIER; name++)
        line[n++] = isalnum((unsigned char)*name) && (unsigned char)*name < 0x80 ? *name : '_';
    snprintf(line + n, sizeof line - n, ";\n");
    if (strstr(text_get(&c->declared), line))
        snprintf(line + n, sizeof line - n, "_%u;\n", c->fields);
    text_printf(&c->declared, "\t\t%s%s", ctf_words[type], line);
}

static enum ctf_type ctf_type_of(const struct field *f)
{
    const enum value_kind kind = f->field ? (enum value_kind)f->field->kind : VALUE_KINDS;

    if (f->hex)
        return CTF_HEX;
    if (f->json != JSON_BARE || (f->length && isalpha((unsigned char)*f->text)))
        return CTF_TEXT;
    if (kind == VALUE_F32 || kind == VALUE_F64)
        return CTF_REAL;
    return kind == VALUE_I8 || kind == VALUE_I16 || kind == VALUE_I32 || kind == VALUE_I64 ? CTF_SIGNED : CTF_UNSIGNED;
}

static void ctf_take(void *self, const struct field *f)
{
    struct ctf *c = self;
    uint64_t    n;
    double      d;

    if (c->fields++ >= CTF_FIELDS)
        return;
    enum ctf_type type = ctf_type_of(f);
    ctf_declare(c, type, f->path);
    switch (type) {
    case CTF_UNSIGNED:
    case CTF_HEX:
        n = strtoull(f->text, NULL, type == CTF_HEX ? 16 : 10);
        text_add(&c->values, &n, 8);
        break;
    case CTF_SIGNED:
        n = (uint64_t)strtoll(f->text, NULL, 10);
        text_add(&c->values, &n, 8);
        break;
    case CTF_REAL:
        d = strtod(f->text, NULL);
        text_add(&c->values, &d, 8);
        break;
    case CTF_TEXT:
        text_add(&c->values, f->text, strnlen(f->text, f->length)); /* it ends at a NUL */
        text_add(&c->values, "", 1);
        break;
    }
}

/* A text of TSDL: quoted, without characters that end it. */
static void add_quoted(struct text *t, const char *text)
{
    size_t at = t->length + 1;
    text_add(t, "\"", 1);
    text_utf8(t, text, strlen(text));
    for (; at < t->length; at++)
        if (t->data[at] == '"' || t->data[at] == '\\' || (unsigned char)t->data[at] < ' ')
            t->data[at] = '_';
    text_add(t, "\"", 1);
}

/* The number of the event's class, which is declared when it is new. */
static uint32_t ctf_class_of(struct ctf *c, const struct trace_event *x)
{
    char     guid[GUID_TEXT_SIZE];
    uint64_t h = UINT64_C(1469598103934665603); /* FNV-1a */

    text_cut(&c->shape, 0);
    const char *provider = x->names.provider ? x->names.provider : guid_format(&x->e.provider, guid);
    text_utf8(&c->shape, provider, strlen(provider));
    text_printf(&c->shape, ":%s", x->names.event);
    for (const char *p = text_get(&c->shape); *p; p++)
        h = (h ^ (uint8_t)*p) * UINT64_C(1099511628211);
    for (const char *p = text_get(&c->declared); *p; p++)
        h = (h ^ (uint8_t)*p) * UINT64_C(1099511628211);
    uintptr_t had = (uintptr_t)idmap_get(&c->classes, h ? h : 1);
    if (had)
        return (uint32_t)(had - 1);
    uint32_t number = (uint32_t)c->counts->classes++;
    c->failed |= !idmap_put(&c->classes, h ? h : 1, (void *)(uintptr_t)(number + 1ul));
    text_printf(&c->metadata, "event {\n\tname = ");
    add_quoted(&c->metadata, text_get(&c->shape));
    text_printf(&c->metadata, ";\n\tid = %" PRIu32 ";\n\tstream_id = 0;\n\tfields := struct {\n", number);
    text_add(&c->metadata, text_get(&c->declared), c->declared.length);
    text_printf(&c->metadata, "\t};\n};\n");
    return number;
}

static void ctf_write_event(struct ctf *c, const struct trace_event *x)
{
    uint32_t           used, id, zero = 0;
    uint64_t           at = trace_ns(c->t, x->file, x->e.raw_time);
    uint32_t           ids[3];
    struct ctf_stream *s = ctf_stream_at(c, x->e.cpu);

    if (!s)
        return;
    text_cut(&c->values, 0);
    text_cut(&c->declared, 0);
    c->fields = 0;
    if (decoded_fields(&x->e, &x->names, &c->sink, &used) != DECODE_OK) {
        text_printf(&c->declared, "\t\tstring _payload;\n");
        text_hex(&c->values, x->e.payload + used, x->e.payload_size - used);
        text_add(&c->values, "", 1);
    }
    id     = ctf_class_of(c, x);
    ids[0] = traced_process_of(&c->machine, &x->e);
    ids[1] = traced_thread_of(&c->machine, &x->e);
    ids[2] = x->e.level | (uint32_t)x->e.opcode << 8;
    if (s->has && s->filled > PACKET)
        flush_packet(c, s);
    if (!s->has) {
        s->filled = 0;
        for (unsigned i = 0; i < PACKET_HEAD; i += 4)
            ctf_put(c, s, &zero, 4);
        s->first = s->last = at > s->last ? at : s->last;
        s->has             = true;
    }
    s->last = at > s->last ? at : s->last; /* time never goes back in a stream */
    ctf_put(c, s, &id, 4);
    ctf_put(c, s, &s->last, 8);
    ctf_put(c, s, ids, sizeof ids);
    ctf_put(c, s, text_get(&c->values), c->values.length);
    c->counts->events++;
}

/* --- metadata --- */

static void write_metadata(struct ctf *c, struct reason *why)
{
    char     uuid[40];
    uint64_t start = trace_start(c->t);
    FILE    *f     = ctf_file_make(c, "metadata");

    if (!f)
        return;
    for (unsigned i = 0, n = 0; i < 16; i++)
        n += (unsigned)snprintf(uuid + n, sizeof uuid - n, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
                                c->uuid[i]);
    fprintf(
        f,
        "/* CTF 1.8 */\n"
        "typealias integer { size = 32; align = 8; signed = false; } := u32;\n"
        "typealias integer { size = 64; align = 8; signed = false; } := u64;\n"
        "typealias integer { size = 64; align = 8; signed = false; base = 16; } := x64;\n"
        "typealias integer { size = 64; align = 8; signed = true; } := s64;\n"
        "typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } := f64;\n"
        "trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"%s\";\n\tbyte_order = le;\n"
        "\tpacket.header := struct { u32 magic; integer { size = 8; align = 8; signed = false; } uuid[16]; u32 stream_id; };\n};\n"
        "env {\n\ttracer_name = \"autologger\";\n};\n"
        "clock {\n\tname = boot;\n\tfreq = 1000000000;\n\toffset = %" PRIu64 ";\n};\n"
        "typealias integer { size = 64; align = 8; signed = false; map = clock.boot.value; } := time64;\n"
        "stream {\n\tid = 0;\n"
        "\tpacket.context := struct { time64 timestamp_begin; time64 timestamp_end; u64 content_size; u64 packet_size; u64 events_discarded; };\n"
        "\tevent.header := struct { u32 id; time64 timestamp; };\n"
        "\tevent.context := struct { u32 _pid; u32 _tid; integer { size = 8; align = 8; signed = false; } _level; integer { size = 8; align = 8; "
        "signed = false; } _opcode; integer { size = 16; align = 8; signed = false; } _unused; };\n};\n",
        uuid, start > FILETIME_UNIX ? (start - FILETIME_UNIX) * 100 : 0);
    fwrite(text_get(&c->metadata), 1, c->metadata.length, f);
    if (convert_written(f, why) != W_SUCCESS)
        c->status = W_DISK_FULL;
    fclose(f);
}

static void ctf_finish(struct ctf *c)
{
    for (unsigned i = 0; i < c->streams; i++) {
        struct ctf_stream *s = &c->stream[i];
        if (!s->file)
            continue;
        flush_packet(c, s);
        wstatus st = convert_written(s->file, c->why);
        c->status  = c->status ? c->status : st;
        fclose(s->file);
        free(s->data);
    }
    free(c->stream);
    text_finish(&c->metadata);
    text_finish(&c->shape);
    text_finish(&c->declared);
    text_finish(&c->values);
    field_sink_finish(&c->sink);
    idmap_finish(&c->classes);
    traced_finish(&c->machine);
}

/* A random UUID (RFC 4122, version 4). */
static bool uuid_make(uint8_t uuid[16])
{
    if (getrandom(uuid, 16, 0) != 16)
        return false;
    uuid[6] = (uint8_t)((uuid[6] & 0x0F) | 0x40);
    uuid[8] = (uint8_t)((uuid[8] & 0x3F) | 0x80);
    return true;
}

wstatus convert_ctf(struct os *os, struct trace *t, const char *folder, struct convert_counts *counts,
                    struct reason *why)
{
    const struct trace_event *x;
    struct ctf c = {.os = os, .t = t, .counts = counts, .folder = folder, .why = why, .sink.emit = ctf_take};

    *counts     = (struct convert_counts){0};
    c.sink.self = &c;
    errno       = 0;
    if (!uuid_make(c.uuid))
        return reason_set(why, wstatus_from_errno(errno), "no random bytes for the trace's UUID: %s", strerror(errno));
    const int made = os->mkdir(os, folder, 0750);
    if (made < 0)
        return reason_set(why, made == -EEXIST ? W_ALREADY_EXISTS : wstatus_from_errno(-made), "%s: %s", folder,
                          strerror(-made));
    while (!c.status && !c.failed && trace_next(t, &x)) {
        counts->read++;
        traced_see(&c.machine, &x->e, &x->names);
        ctf_write_event(&c, x);
    }
    for (unsigned i = 0; i < trace_files(t) && c.streams; i++) /* in the last packet of the first stream that has one */
        for (unsigned k = 0; k < c.streams; k++)
            if (c.stream[k].has) {
                c.stream[k].lost += trace_header(t, i)->raw.events_lost;
                break;
            }
    if (!c.status)
        write_metadata(&c, why);
    c.failed |= c.machine.failed || c.metadata.failed || c.declared.failed || c.values.failed || c.shape.failed ||
                c.sink.path.failed || c.sink.value.failed;
    ctf_finish(&c);
    if (c.failed)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for events");
    return c.status;
}
