/* chunks.h - manifests that a provider writes into its own trace: .NET's EventSource does, as XML in events 0xFFFE of
 * one or several pieces (a head of 8 bytes: Format 1, MajorVersion, MinorVersion, Magic 0x5B, TotalChunks, ChunkNumber;
 * then bytes of UTF-8). Assembles the pieces of one provider in one program. A repeated piece is left out; a piece that
 * does not follow its predecessor begins a new manifest, or is left out. Bounded: CHUNKS_OPEN manifests at a time,
 * MANIFEST_FILE_MAX bytes each.
 * Threads: one. Ownership: zeros at first, chunks_finish at the end.
 * Not for: reading the XML (manifest.h). */
#ifndef AUTOLOGGER_SCHEMA_CHUNKS_H
#define AUTOLOGGER_SCHEMA_CHUNKS_H
#include "autologger/etl/reader.h"
#include "autologger/schema/text.h"

enum { CHUNKS_OPEN = 32, CHUNKS_KNOWN = 1024, CHUNKS_EVENT = 0xFFFE };
struct chunks_open {
    struct guid provider;
    uint32_t    process;
    uint16_t    total, next; /* total 0: free */
    struct text xml;
};
struct chunks {
    struct chunks_open open[CHUNKS_OPEN];
    /* hashes of complete ones: a program writes its manifest at each start */
    uint64_t    known[CHUNKS_KNOWN];
    unsigned    known_count;
    struct text whole;
};

/* May the event be a piece? */
static inline bool chunks_is(const struct etl_event *e)
{
    return e->kind == ETL_KIND_EVENT && e->id == CHUNKS_EVENT && !e->metadata;
}
/* Takes a piece. True: a new manifest is complete; it is in c->whole until the next call. */
bool chunks_see(struct chunks *c, const struct etl_event *e);
void chunks_finish(struct chunks *c);
#endif
