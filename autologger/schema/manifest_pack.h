/* manifest_pack.h - the binary form of a manifest: autologger mc puts it into a program (section MANIFEST_SECTION of
 * its ELF file), manifest install keeps it, and it is read back into the same struct manifest.
 *
 * A sequence of blobs, each at a multiple of 8: u32 magic, u16 kind, u16 version (1), u32 size of the whole blob
 * without padding, u32 CRC-32 of the content, then the content. Numbers in the content are LEB128; a text is its length
 * + 1 and its bytes (0: none). Kinds:
 *   1 METADATA  providers and all below them; texts that have a translation are ids
 *   2 STRINGS   one culture: its name, and pairs of id and text; belongs to the METADATA before it
 *   3 CLASSES   as METADATA, of a MOF file: its kind is MANIFEST_CLASSES
 *   4 MESSAGES  as METADATA, of a TMF file: its kind is MANIFEST_MESSAGES
 * A section may hold the blobs of several programs one after another, as a linker puts them, with zeros between.
 * Not Windows' own resource (WEVT_TEMPLATE): that has message numbers, whose texts are in another resource.
 * Threads: pure, any. Ownership: see each. */
#ifndef AUTOLOGGER_SCHEMA_MANIFEST_PACK_H
#define AUTOLOGGER_SCHEMA_MANIFEST_PACK_H
#include "autologger/schema/manifest.h"
#include "autologger/schema/text.h"

#define MANIFEST_SECTION ".autologger.manifest"
enum { PACK_MAGIC = 0x4D4C4D41 /* "AMLM" */, PACK_VERSION = 1, PACK_HEADER = 16 };
enum { PACK_METADATA = 1, PACK_STRINGS = 2, PACK_CLASSES = 3, PACK_MESSAGES = 4 };

/* Adds the METADATA blob to `out`. */
void manifest_pack(const struct manifest *m, struct text *out);
/* Adds the STRINGS blob of a culture. */
void manifest_pack_strings(const struct manifest *m, unsigned culture, struct text *out);
/* Both, all cultures. False: out of memory. */
bool manifest_pack_all(const struct manifest *m, struct text *out);
/* Is it the binary form? */
bool manifest_is_packed(const void *data, size_t size);
/* Reads one METADATA with its STRINGS from the beginning of `data`; *used: the bytes up to the next. W_INVALID_DATA
 * with what is wrong, and where; W_NOT_ENOUGH_MEMORY. */
wstatus manifest_unpack(const void *data, size_t size, const char *origin, size_t *used, struct manifest **out,
                        struct reason *why);
#endif
