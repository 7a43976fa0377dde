/* manifest_file.h - reads descriptions of events from files: the binary form of manifests (also in the ELF files that
 * link it), texts of WPP's messages (tmf.h; also in ELF files), and, in al_manifest, XML and MOF (mof.h).
 * Threads: one per call. Ownership: the taker gets the manifest and frees it. Not for: the folder of installed ones
 * (publishers.h). */
#ifndef AUTOLOGGER_SCHEMA_MANIFEST_FILE_H
#define AUTOLOGGER_SCHEMA_MANIFEST_FILE_H
#include "autologger/schema/manifest.h"

/* Takes a manifest; an error ends the reading and is returned. */
typedef wstatus manifest_taker(void *ctx, struct manifest *m, struct reason *why);

/* All manifests in the bytes, in order. */
wstatus manifest_unpack_all(const void *data, size_t size, const char *origin, manifest_taker *take, void *ctx,
                            struct reason *why);
/* The same for a file: the binary form, messages of WPP, or an ELF file with a section of either. W_FILE_NOT_FOUND and
 * others: it can't be read; W_INVALID_DATA: it holds something else; W_NOT_FOUND: an ELF file without the sections. */
wstatus manifest_file_binary(const char *path, manifest_taker *take, void *ctx, struct reason *why);
/* XML and MOF too (al_manifest). */
wstatus manifest_file(const char *path, struct manifest_problems *problems, manifest_taker *take, void *ctx,
                      struct reason *why);

/* The bytes of a file that may describe events. Of an ELF file: its section of manifests, and its section of messages;
 * data NULL: it has none. Copies, with a NUL behind each. */
struct file_bytes {
    char  *data, *messages;
    size_t size, messages_size;
    bool   elf;
};
wstatus file_bytes_read(const char *path, struct file_bytes *out, struct reason *why);
void    file_bytes_free(struct file_bytes *f);
/* Reads what is no XML and no MOF. */
wstatus manifest_bytes_read(const struct file_bytes *f, const char *path, struct manifest_problems *problems,
                            manifest_taker *take, void *ctx, struct reason *why);
#endif
