/* opening.h - files that are opened to be read because a trace is one, or names one. A process without rights
 * (autologger/sandbox) can't open any: it has them opened by another one, and nothing that reads notices.
 * Threads: opening_by() before there are any, the others from any. Ownership: descriptors are the caller's; who opens
 * is borrowed.
 * Not for: files that are written (base/os.h). */
#ifndef REGISTRY_SIM_BASE_OPENING_H
#define REGISTRY_SIM_BASE_OPENING_H
#include <stdio.h>

/* Opens to read; a descriptor with CLOEXEC, or -1 with errno. */
struct opening {
    int (*open)(void *ctx, const char *path);
    void *ctx;
};
/* From now on `by` opens for this process. NULL: the process itself, as at first. */
void opening_by(const struct opening *by);

/* As open(2) with O_RDONLY, O_CLOEXEC, O_NONBLOCK, O_NOCTTY and `flags`; somebody else who opens does not hear of the
 * flags. */
int opening_file(const char *path, int flags);
/* Only a regular file: a trace may name anything, and devices are not even opened. */
int   opening_regular(const char *path);
FILE *opening_stream(const char *path); /* to be closed with fclose() */
/* For somebody who is not trusted: a regular file that begins as an ELF file does, and is not reached through another
 * process' /proc folder, which may lead to file systems that never answer. Somebody else who opens has rules of his
 * own. */
int opening_elf_for(const char *path);
#endif
