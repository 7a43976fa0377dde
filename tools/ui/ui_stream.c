#include "tools/ui/ui_stream.h"

#include "registry-sim/text/textbuf.h"
#include "tools/ui/ui_run.h"

#include <ctype.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    STREAMS_MOST = 16,
    LINES_MOST   = 1 << 20, /* bytes of one message, unless a line is longer */
    LINE_MOST    = 64 << 20,
    GATHER_MS    = 100,
    BEAT_MS      = 5000,
    END_MS       = 2000,
    EXACT_DIGITS = 15
};

struct ui_stream {
    pid_t          pid;
    int            fd;
    struct textbuf in, out;           /* lines that came; a message that is going */
    size_t         gone;              /* bytes of `out` that went */
    bool           ended, told, line; /* line: a whole one is there */
};

static pid_t running[STREAMS_MOST]; /* 0: a free place */

/* Notes one process in the place of another. False: there is no such place. */
static bool running_put(pid_t old, pid_t pid)
{
    for (unsigned i = 0; i < STREAMS_MOST; i++) {
        pid_t there = old;
        if (__atomic_compare_exchange_n(&running[i], &there, pid, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return true;
    }
    return false;
}

void ui_streams_end(void)
{
    for (unsigned i = 0; i < STREAMS_MOST; i++) {
        const pid_t pid = __atomic_load_n(&running[i], __ATOMIC_ACQUIRE);
        if (pid > 0)
            kill(pid, SIGTERM);
    }
}

struct ui_stream *ui_stream_create(const char *session)
{
    struct ui_stream *s = calloc(1, sizeof *s);
    if (!s || (s->pid = ui_watch(session, &s->fd)) < 0) {
        free(s);
        return NULL;
    }
    if (!running_put(0, s->pid)) { /* too many pages */
        ui_stream_destroy(s);
        return NULL;
    }
    return s;
}

/* Reads what comes within a moment: a page draws ten times a second at most. */
static void lines_gather(struct ui_stream *s)
{
    char room[65536];
    int  wait = BEAT_MS;
    while (s->in.size < LINES_MOST || !s->line) {
        if (s->in.size > LINE_MOST) {
            textbuf_clear(&s->in);
            textbuf_puts(&s->in, "an event is too long to be shown\n");
            s->line = true;
            return;
        }
        struct pollfd p = {.fd = s->fd, .events = POLLIN};
        if (poll(&p, 1, wait) <= 0)
            return;
        const ssize_t n = read(s->fd, room, sizeof room);
        if (n <= 0) {
            s->ended = true;
            return;
        }
        textbuf_put(&s->in, room, (size_t)n);
        s->line |= memchr(room, '\n', (size_t)n) != NULL;
        wait = GATHER_MS;
    }
}

/* A line of JSON. A page's numbers are exact to 15 digits: longer ones go as texts. */
static void line_put(struct textbuf *out, const char *line, size_t n)
{
    bool text = false;
    for (size_t at = 0; at < n;) {
        size_t end = at;
        if (!text && (isdigit((unsigned char)line[at]) || line[at] == '-')) {
            while (end < n && strchr("+-.eE0123456789", line[end]))
                end++;
            const bool exact =
                end - at <= EXACT_DIGITS || memchr(line + at, '.', end - at) || memchr(line + at, 'e', end - at);
            textbuf_put(out, exact ? "" : "\"", !exact);
            textbuf_put(out, line + at, end - at);
            textbuf_put(out, exact ? "" : "\"", !exact);
            at = end;
            continue;
        }
        do {
            if (line[end] == '\\' && text && end + 1 < n)
                end++;
            else if (line[end] == '"')
                text = !text;
            end++;
        } while (end < n && (text || !(isdigit((unsigned char)line[end]) || line[end] == '-')));
        textbuf_put(out, line + at, end - at);
        at = end;
    }
}

/* "data: [line,line]\n\n" of the whole lines; what is no JSON is a message of its own kind. */
static void message_make(struct ui_stream *s)
{
    size_t at  = 0;
    bool   any = false;
    for (char *end; at < s->in.size && (end = memchr(s->in.data + at, '\n', s->in.size - at));
         at = (size_t)(end - s->in.data) + 1) {
        const size_t n = (size_t)(end - s->in.data) - at;
        if (n && s->in.data[at] == '{') {
            textbuf_puts(&s->out, any ? "," : "data: [");
            line_put(&s->out, s->in.data + at, n);
            any = true;
        } else if (n) {
            textbuf_puts(&s->out, any ? "]\n\nevent: said\ndata: " : "event: said\ndata: ");
            textbuf_put(&s->out, s->in.data + at, n);
            textbuf_puts(&s->out, "\n\n");
            any = false;
        }
    }
    if (any)
        textbuf_puts(&s->out, "]\n\n");
    if (at) {
        memmove(s->in.data, s->in.data + at, s->in.size - at);
        s->in.size -= at;
    }
    s->line = false;
}

ssize_t ui_stream_read(struct ui_stream *s, char *out, size_t room)
{
    while (s->gone == s->out.size) {
        textbuf_clear(&s->out);
        s->gone = 0;
        if (s->ended && s->told)
            return -1;
        if (!s->ended)
            lines_gather(s);
        if (s->ended)
            textbuf_puts(&s->in, "\n"); /* the last line */
        message_make(s);
        if (s->ended) {
            textbuf_puts(&s->out, "event: ended\ndata: \n\n");
            s->told = true;
        } else if (!s->out.size) {
            textbuf_puts(&s->out, ": still there\n\n"); /* a page that is gone is noticed */
        }
        if (s->out.bad || s->in.bad)
            return -1;
    }
    const size_t left = s->out.size - s->gone, n = left < room ? left : room;
    memcpy(out, s->out.data + s->gone, n);
    s->gone += n;
    return (ssize_t)n;
}

void ui_stream_destroy(struct ui_stream *s)
{
    if (!s)
        return;
    running_put(s->pid, 0);
    kill(s->pid, SIGTERM);
    close(s->fd);
    const struct timespec moment = {0, 20000000};
    pid_t                 ended  = 0;
    for (int ms = 0; ms < END_MS && (ended = waitpid(s->pid, NULL, WNOHANG)) == 0; ms += 20)
        nanosleep(&moment, NULL);
    if (ended == 0) { /* it waits for a daemon that does not answer */
        kill(s->pid, SIGKILL);
        waitpid(s->pid, NULL, 0);
    }
    textbuf_finish(&s->in);
    textbuf_finish(&s->out);
    free(s);
}
