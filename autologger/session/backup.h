/* backup.h - one backup file of a real-time session (wire/backup.h): created, opened after a reboot, read, marked.
 * Threads: the caller's lock.
 * Ownership: the caller closes `fd`.
 * Not for: whose buffers they are (realtime). */
#ifndef AUTOLOGGER_SESSION_BACKUP_H
#define AUTOLOGGER_SESSION_BACKUP_H
#include "autologger/wire/backup.h"
#include "autologger/wire/etl.h"
#include "autologger/etl/writer.h"

struct backup {
    int                fd; /* -1: not open */
    uint64_t           first, end, delivered;
    uint32_t           slots, buffer_size;
    struct backup_mark mark;    /* its owner; the numbers written are those above */
    bool               damaged; /* a buffer could not be read, and this was counted */
};

/* Creates the file, with `header` (buffer_size bytes of *mark) as its header buffer; first, slots and buffer_size are
 * those of the mark. -EEXIST: the file exists. -errno or 0. */
int backup_create(struct os *os, const char *path, const uint8_t *header, const struct backup_mark *mark,
                  struct backup *out);
/* Opens an existing file. 0; W_FILE_NOT_FOUND; W_INVALID_DATA: it is not a backup file, or is damaged. `end` is found
 * from the buffers. */
wstatus backup_open(struct os *os, const char *path, struct backup *out, struct reason *why);
void    backup_close(struct os *os, struct backup *b);
/* Writes the mark. -errno or 0. */
int backup_mark_write(struct os *os, const struct backup *b, uint64_t delivered);
/* Reads the header of buffer `number`; false when that buffer is not (or no longer) there, or is damaged. */
bool backup_head(struct os *os, const struct backup *b, uint64_t number, struct etl_buffer_header *out);
/* Number of events in buffers [from, end). */
uint64_t backup_events(struct os *os, const struct backup *b, uint64_t from);
#endif
