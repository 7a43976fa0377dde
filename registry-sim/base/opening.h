/* opening.h - opens traces, and the files that a trace names, for reading. A process without rights
 * (autologger/sandbox) cannot open files: another process opens them for it, and the readers do not notice.
 * Threads: opening_by() before there are other threads, the rest from any. Ownership: descriptors are the caller's; a
 * struct opening is borrowed.
 * Not for: files that are written (base/os.h). */
#ifndef REGISTRY_SIM_BASE_OPENING_H
#define REGISTRY_SIM_BASE_OPENING_H
#include <stdio.h>

/* Opens for reading: a descriptor with CLOEXEC, or -1 with errno. */
struct opening {
    int (*open)(void *ctx, const char *path);
    void *ctx;
};
/* From now on `by` opens the files of this process. NULL: the process itself, the default. */
void opening_by(const struct opening *by);

/* As open(2) with O_RDONLY, O_CLOEXEC, O_NONBLOCK, O_NOCTTY and `flags`; a struct opening does not get the flags. */
int opening_file(const char *path, int flags);
/* Opens only a regular file: a trace may name anything, and devices are not even opened. */
int   opening_regular(const char *path);
FILE *opening_stream(const char *path); /* to be closed with fclose() */
/* For an untrusted caller: opens only a regular file with the ELF magic, not reached through another process' /proc
 * folder, which may lead to file systems that never answer. A struct opening has rules of its own. */
int opening_elf_for(const char *path);
#endif
