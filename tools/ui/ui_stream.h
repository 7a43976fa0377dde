/* ui_stream.h - the live events of a session for a page: the lines of `watch --json`, as server-sent events. Lines that
 * are there together go as one message, an array: ten messages a second, not ten thousand.
 * Invariant: every line that was read is sent, in its order. Threads: one a stream. Ownership: create/destroy; destroy
 * ends the process. */
#ifndef TOOLS_UI_STREAM_H
#define TOOLS_UI_STREAM_H
#include <stddef.h>
#include <sys/types.h>

struct ui_stream;
struct ui_stream *ui_stream_create(const char *session); /* NULL: it can't be run */
/* Waits for the next bytes of the stream; -1: the session has ended, and all was given. */
ssize_t ui_stream_read(struct ui_stream *s, char *out, size_t room);
void    ui_stream_destroy(struct ui_stream *s); /* NULL is fine */
/* Ends the processes of all streams, for a window that ends. From any thread. */
void ui_streams_end(void);
#endif
