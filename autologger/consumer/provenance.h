/* provenance.h - the origin of a merged file: writes the events of wire/merged.h in a merge, and reads them for a view.
 * Counters are those of each file's own header; merge.h has those of the merge. The host is written only on the machine
 * and in the boot that was traced: by the boot id that a kernel session leaves, else by the time of the boot.
 * Threads: one. Ownership: zeros at first, provenance_finish at the end; texts are the list's. Not for: identity of
 * images (identity.h). */
#ifndef AUTOLOGGER_CONSUMER_PROVENANCE_H
#define AUTOLOGGER_CONSUMER_PROVENANCE_H
#include "autologger/consumer/identity.h"

enum { PROVENANCE_SESSIONS = 256, PROVENANCE_HASH = 41 };
struct provenance_session {
    char *name, *file, *of; /* of: MERGED_OF_* of wire/merged.h; "", NULL: not known */
    /* FILETIME; end 0: the file was never finished, and its counters are from an earlier moment */
    uint64_t start, end, events;
    uint32_t mode, buffer_size, buffers, events_lost, buffers_lost, damage;
    bool     finished;
};
struct provenance {
    struct provenance_session *session;
    unsigned                   sessions;
    bool                       host_told, configuration_told;
    char                      *host, *system, *release, *architecture, *program; /* NULL: not known */
    uint32_t                   processors;
    uint64_t                   memory;      /* bytes */
    char                       boot_id[40]; /* "": not known */
    char                      *hash;        /* of the configuration; NULL, "": not known */
    uint64_t                   change_number;
    bool                       failed;        /* no memory */
    struct guid                merged, names; /* the GUIDs of the two providers: hashes, made at the first event */
};

/* Takes in an event of wire/merged.h, or a kernel session's boot id. True: it was one of wire/merged.h. */
bool provenance_see(struct provenance *p, const struct etl_event *event);
void provenance_finish(struct provenance *p);

/* Gives the configuration of the boot with that id ("": not known); false: it is not known. */
typedef bool provenance_configuration(void *ctx, const char *boot_id, uint64_t *change_number,
                                      char hash[PROVENANCE_HASH]);
/* One merged file, after its last event. */
struct provenance_source {
    const struct etl_file_header *header;
    const char                   *path;
    const char                   *of;     /* MERGED_OF_*; NULL: not known */
    uint64_t                      events; /* without its header event */
    unsigned                      damage;
};
/* Writes Session for each of `count` sources, except those marked in `told` (they were merged before, and have their
 * own), and Host and Configuration unless `seen` (all events of all sources) has them. */
wstatus provenance_write(const struct provenance *seen, const struct provenance_source *sources, const bool *told,
                         unsigned count, provenance_configuration *configuration, void *ctx, int64_t time,
                         const struct added_events *to, struct reason *why);
/* Reads the host's values that a process which may open nothing (autologger/sandbox) can no longer read. */
void provenance_prepare(void);
#endif
