/* journal_record.h - one message for systemd's journal, in its native protocol (systemd.io/JOURNAL_NATIVE_PROTOCOL).
 * Invariants: names of fields have capital letters, digits and '_', begin with a letter and have at most 64 characters;
 * values may have any bytes.
 * Threads: one. Ownership: record_finish frees. Not for: reading the journal (channel_query.h). */
#ifndef TOOLS_CHANNELS_JOURNAL_RECORD_H
#define TOOLS_CHANNELS_JOURNAL_RECORD_H
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>
#include <stddef.h>

#define JOURNAL_SOCKET "/run/systemd/journal/socket"
struct journal_message {
    char  *data;
    size_t size, room;
    bool   bad; /* no memory */
};
void record_field(struct journal_message *r, const char *name, const void *value, size_t size);
void record_text(struct journal_message *r, const char *name, const char *text);
/* A field whose name is `prefix` and `name`, with '_' for other characters. */
void record_named(struct journal_message *r, const char *prefix, const char *name, const char *text);
void record_finish(struct journal_message *r);
/* Connects to the journal's socket. W_FILE_NOT_FOUND: the machine has no such socket. */
wstatus journal_connect(const char *path, int *fd, struct reason *why);
/* Sends it, in a file in memory if it is too large for a datagram. The record stays. */
wstatus journal_send(int fd, const struct journal_message *r, struct reason *why);
#endif
