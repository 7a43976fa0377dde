/* dump_writer.h - how each format of dump.h writes an event: shared by dump.c, which reads and filters, and the
 * formats' files. Nothing else includes it. A format keeps its state in struct dump; `end` frees what `begin` made.
 * Threads: one per dump. */
#ifndef AUTOLOGGER_CONSUMER_DUMP_WRITER_H
#define AUTOLOGGER_CONSUMER_DUMP_WRITER_H
#include "autologger/consumer/decoded.h"
#include "autologger/consumer/event_extras.h"
#include "autologger/consumer/dump.h"
#include "autologger/consumer/process_filter.h"
#include "autologger/consumer/process_units.h"

#include <yajl/yajl_gen.h>

enum { DUMP_FRAMES_MAX = 1024, DUMP_NO_ID = -1, DUMP_LABELS = 64, DUMP_LABEL = 112 };
/* "Provider/Event" of events that describe themselves, by the number of their items (etl_event.items), which determines
 * both names. */
struct dump_label {
    uint64_t items; /* 0: empty */
    size_t   length;
    char     text[DUMP_LABEL];
};

struct dump_match;
struct dump {
    const struct dump_options    *options;
    const struct etl_file_header *header;
    FILE                         *out;
    yajl_gen                      json; /* of DUMP_JSON */
    struct schema_set            *schemas;
    struct field_sink             sink;
    struct text                   line, name, message;
    struct text           ids; /* " cpu 0 pid 1 tid 2 ", of the event before: the next one mostly has the same */
    uint32_t              ids_of[3];
    struct dump_label     labels[DUMP_LABELS];
    struct process_filter process, unit;
    struct actors         actors;
    struct process_units  units;
    struct guid           hashed[DUMP_PROVIDERS_MAX]; /* of the names of providers */
    struct dump_counts   *counts;
    const char           *class_name; /* of the event being written; NULL: no kernel class */
    struct dump_match    *match;      /* NULL: no pattern */
    struct frame_name    *frames;     /* DUMP_FRAMES_MAX of them; NULL: no names are wanted */
};

struct dump_writer {
    bool (*begin)(struct dump *d); /* false: no memory */
    /* Writes one event. Undecodable bytes are written as hex, and the result says so. */
    enum decode_result (*event)(struct dump *d, const struct etl_event *e, const struct decoded *names);
    void (*emit)(void *dump, const struct field *field); /* for the sink */
    void (*end)(struct dump *d);
};
extern const struct dump_writer dump_text, dump_json, dump_xml, dump_csv, dump_wpp;

/* Converts a header's processor times from the file's timer resolution. */
static inline uint64_t dump_milliseconds(const struct dump *d, uint32_t ticks)
{
    return (uint64_t)ticks * d->header->raw.timer_resolution / 10000;
}
/* The frames of the event's stack with their names, into d->frames; 0 when none are wanted. */
unsigned dump_frames(struct dump *d, const struct etl_event *e);
/* Appends " stack=A;B" to d->line, when the event has a stack in its header's items; dump_add_payload appends "
 * payload=HEX" of undecoded bytes. */
void dump_add_stack(struct dump *d, const struct etl_event *e, char between);
/* " userSid=S-1-5-18" and so on, before the stack. */
void dump_add_extras(struct dump *d, const struct etl_event *e);
void dump_add_payload(struct dump *d, const struct etl_event *e, enum decode_result result, uint32_t used);
/* The message of the event with its values, into d->message; false: it has none. */
bool dump_message(struct dump *d, const struct etl_event *e, const struct decoded *names);
/* A value as in text lines, quoted where it would be ambiguous; a name, without characters that break a line. */
void dump_emit_text(void *dump, const struct field *field); /* " path=value" at the end of d->line */
void dump_add_value(struct text *line, const char *p, size_t size);
void dump_add_name(struct text *line, const char *name);
#endif
