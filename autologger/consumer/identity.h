/* identity.h - the identity of files that a merge adds to Image events. One set directly before each Image event, with
 * its time, CPU, process and thread: FileVersion (once for each distinct size and time stamp), ImageID, DbgID_RSDS (or
 * NoDbgId). The build id is that of the file that was mapped: the kernel session wrote it (wire/names.h), or the file
 * at the path has one that begins with the 8 bytes in the Image event. No other source is trusted. An Image event that
 * has its set (a file that is merged again) gets no second one.
 * Threads: one. Ownership: create/destroy. Not for: writing buffers (merge). */
#ifndef AUTOLOGGER_CONSUMER_IDENTITY_H
#define AUTOLOGGER_CONSUMER_IDENTITY_H
#include "autologger/etl/reader.h"

/* Receives the events that a merge adds. */
struct added_events {
    wstatus (*put)(void *ctx, uint16_t cpu, const void *record, uint32_t size, int64_t time, struct reason *why);
    void *ctx;
};
struct identity_counts {
    uint64_t images;        /* Image events */
    uint64_t with_build_id; /* of these: in the added set, or in the one that they came with */
    uint64_t no_file;       /* of these: no file, so nothing to identify ("[vdso]", memory of a compiler) */
    uint64_t added;         /* events */
};
struct build_id {
    uint8_t size, bytes[20]; /* size 0: none */
};

struct identity;
struct identity *identity_create(void);                 /* NULL: no memory */
void             identity_destroy(struct identity *id); /* NULL is fine */
/* Takes every event in order; puts the events that belong before it to `to` first. */
wstatus identity_see(struct identity *id, const struct etl_event *e, const struct added_events *to, struct reason *why);
const struct identity_counts *identity_counts(const struct identity *id);

/* Reads a BuildId event of the kernel session: the build id, and the 8 bytes that stand in Image events. */
bool build_id_event(const struct etl_event *e, uint64_t *key, struct build_id *out);
/* The key by which an Image event finds its build id: the part of it that the event carries; 0: the event has none. */
uint64_t build_id_key(uint32_t stamp, uint32_t checksum);
/* Hexadecimal; "" where there is none. */
char *build_id_text(const struct build_id *id, char out[41]);
#endif
