/* snapshot.h - the sealed snapshot: what a boot reads of the store, packed into one read-only file that needs no
 * library, no lock and no writable volume. It holds the key WMI with all below (names, types, bytes, place of
 * declaration, times) and a head. SHA-1 over all of it stands at its end: a flipped bit or a missing byte is found when
 * it is opened. Invariants  N1 at most SNAPSHOT_MAX bytes, checked before anything else is read
 *             N2 packing the same store again gives the same bytes, except for the head's time
 *             N3 names below one key are strictly ascending by their folded form, as regstore.h enumerates
 * Threads: as regstore.h. Ownership: an opened snapshot is a struct regstore, freed by regstore_close; it keeps a copy
 * of the bytes, so the file may change or be removed. Not for: results and Status of a boot, which go to its
 * journal. */
#ifndef REGISTRY_SIM_STORE_SNAPSHOT_H
#define REGISTRY_SIM_STORE_SNAPSHOT_H
#include "registry-sim/base/os.h"
#include "registry-sim/store/regstore.h"

enum { SNAPSHOT_MAX = 4 << 20, SNAPSHOT_TEXT = 1024, SNAPSHOT_HASH = 20 };

struct snapshot_head {
    uint64_t change_number;             /* of the store when it was packed, see change_number.h */
    uint64_t time;                      /* FILETIME of the packing */
    uint8_t  content[SNAPSHOT_HASH];    /* snapshot_content_hash of the store when it was packed */
    char     store_path[SNAPSHOT_TEXT]; /* the store that the snapshot was made of */
    char     log_dir[SNAPSHOT_TEXT];    /* the log folder of that store's boots */
};

/* Packs `from` and puts the file at `path`, whole or not at all: a file beside it, fsync, rename, fsync of the folder.
 * `head` supplies store_path and log_dir; change number and content come from the store, the time is now. The caller
 * holds a transaction when others may write to the store meanwhile.
 * W_INVALID_PARAMETER: more than SNAPSHOT_MAX bytes; else the error of the store or the volume, with its reason. */
wstatus snapshot_seal(struct os *os, struct regstore *from, const struct snapshot_head *head, const char *path,
                      struct reason *why);
/* The same in memory, with the time of `head`. *bytes is malloc. */
wstatus snapshot_pack(struct regstore *from, const struct snapshot_head *head, uint8_t **bytes, size_t *size,
                      struct reason *why);
/* SHA-1 of a boot's configuration: names, types, bytes and places of declaration below WMI, without times and without
 * the values that a boot itself writes (Status; FileCounter of sessions). A snapshot is current exactly when its head
 * holds the same hash. */
wstatus snapshot_content_hash(struct regstore *store, uint8_t out[SNAPSHOT_HASH], struct reason *why);
/* *current: the snapshot gives a boot the present configuration of `store`. */
wstatus snapshot_is_current(const struct snapshot_head *head, struct regstore *store, bool *current,
                            struct reason *why);

/* Opens a snapshot as a read-only store; writes give W_WRITE_PROTECT. `head` may be NULL. W_FILE_NOT_FOUND: no such
 * file, W_INVALID_DATA: damaged or not a snapshot, W_NOT_SUPPORTED: an unknown version. */
wstatus regstore_open_snapshot(const char *path, struct regstore **out, struct snapshot_head *head, struct reason *why);
/* The same from memory; `shown` is the name for reasons. */
wstatus regstore_open_snapshot_bytes(const void *bytes, size_t size, const char *shown, struct regstore **out,
                                     struct snapshot_head *head, struct reason *why);
#endif
