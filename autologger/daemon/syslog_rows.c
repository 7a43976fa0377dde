#include "autologger/daemon/syslog_rows.h"

#include "registry-sim/base/visible_print.h"
#include "registry-sim/win32/visible.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    ENTRY_SIZE      = 16384,
    MESSAGE_SIZE    = 8192,
    SEVERITY_ERROR  = 3,
    SEVERITY_NOTICE = 5,
    SEVERITY_INFO   = 6,
    FACILITY_DAEMON = 3
};

const struct syslog_sockets syslog_sockets_default = {"/run/systemd/journal/socket", "/dev/log"};

struct syslog_rows_entry {
    char   bytes[ENTRY_SIZE];
    size_t size;
};
struct syslog_rows_sink {
    int  fd;
    bool journal; /* else the lines of /dev/log */
};

/* ---- the journal's protocol: NAME=value, or, since a value may have several lines, NAME, its length, the value
 * ---- */

static void syslog_rows_put(struct syslog_rows_entry *e, const void *data, size_t size)
{
    if (e->size + size <= sizeof e->bytes) {
        memcpy(e->bytes + e->size, data, size);
        e->size += size;
    }
}

static void syslog_rows_field(struct syslog_rows_entry *e, const char *name, const char *value)
{
    size_t  length = strlen(value);
    uint8_t little[8];
    if (!length || e->size + strlen(name) + length + 10 > sizeof e->bytes)
        return;
    syslog_rows_put(e, name, strlen(name));
    if (!strchr(value, '\n')) {
        syslog_rows_put(e, "=", 1);
    } else {
        for (unsigned i = 0; i < sizeof little; i++)
            little[i] = (uint8_t)((uint64_t)length >> 8 * i);
        syslog_rows_put(e, "\n", 1);
        syslog_rows_put(e, little, sizeof little);
    }
    syslog_rows_put(e, value, length);
    syslog_rows_put(e, "\n", 1);
}

/* For text that others chose. */
static void field_of(struct syslog_rows_entry *e, const char *name, const char *value)
{
    char shown[2048];
    visible_escape(value, strlen(value), shown, sizeof shown);
    syslog_rows_field(e, name, shown);
}

static void field_number(struct syslog_rows_entry *e, const char *name, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    syslog_rows_field(e, name, text);
}

/* ---- the messages ---- */

struct syslog_rows_message {
    char   text[MESSAGE_SIZE];
    size_t length;
};
static void syslog_rows_say(struct syslog_rows_message *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void syslog_rows_say(struct syslog_rows_message *m, const char *format, ...)
{
    va_list args;
    FILE   *end = fmemopen(m->text + m->length, sizeof m->text - m->length, "w");
    if (!end)
        return;
    va_start(args, format);
    visible_vprintf(end, format, args);
    va_end(args);
    fclose(end);
    m->text[sizeof m->text - 1] = 0;
    m->length += strlen(m->text + m->length);
}

static const char *row_word(const struct result_row *r) { return result_row_word(r); }

/* The file that has its events, "" = none. */
static const char *row_trace(const struct result_row *r)
{
    return *r->provider ? "" : *r->merged_path ? r->merged_path : r->file_created ? r->log_path : "";
}

static void row_message(const struct result_row *r, struct syslog_rows_message *m)
{
    syslog_rows_say(m, "%s", r->session);
    if (*r->provider)
        syslog_rows_say(m, " / %s", *r->name ? r->name : r->provider);
    syslog_rows_say(m, ": %s", row_word(r));
    if (r->status)
        syslog_rows_say(m, ", Status %u %s: %s%s%s", r->status, wstatus_name(r->status),
                        *r->reason ? r->reason : wstatus_text(r->status), strstr(r->reason, " Do: ") ? "" : ". Do: ",
                        strstr(r->reason, " Do: ") ? "" : wstatus_advice(r->status));
    else if (r->start)
        syslog_rows_say(m, ", %" PRIu64 " event%s", r->written, r->written == 1 ? "" : "s");
    if (*row_trace(r))
        syslog_rows_say(m, ", file %s", row_trace(r));
    if (r->start && !*r->provider && result_lost(r))
        syslog_rows_say(m, ", %" PRIu64 " lost", result_lost(r));
    if (r->status && *r->source_file)
        syslog_rows_say(m, " (%s:%u)", r->source_file, r->source_line);
    for (unsigned i = 0; i < r->conditions.count; i++) {
        const struct condition *c = &r->conditions.items[i];
        syslog_rows_say(m, "\n%s %u %s: %s%s%s", c->note ? "note" : "condition", c->number, c->item, c->reason,
                        *c->advice ? ". Do: " : "", c->advice);
    }
}

/* ---- sending ---- */

static struct syslog_rows_sink sink_open(const struct syslog_sockets *to)
{
    struct syslog_rows_sink s = {socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), true};
    for (unsigned i = 0; s.fd >= 0 && i < 2; i++) {
        struct sockaddr_un at = {.sun_family = AF_UNIX};
        s.journal             = i == 0;
        snprintf(at.sun_path, sizeof at.sun_path, "%s", s.journal ? to->journal : to->syslog);
        if (connect(s.fd, (const struct sockaddr *)&at, sizeof at) == 0)
            return s;
    }
    if (s.fd >= 0)
        close(s.fd);
    s.fd = -1;
    return s;
}

/* One line without control characters: a line end in the text ends nothing here. */
static bool send_line(const struct syslog_rows_sink *s, unsigned severity, const struct syslog_rows_message *m)
{
    char line[MESSAGE_SIZE + 64];
    int  n = snprintf(line, sizeof line, "<%u>autologger: %s", FACILITY_DAEMON << 3 | severity, m->text);
    for (int i = 0; i < n; i++)
        if ((unsigned char)line[i] < ' ')
            line[i] = ' ';
    return send(s->fd, line, (size_t)n, MSG_NOSIGNAL) == n;
}

static bool send_entry(const struct syslog_rows_sink *s, const struct result_list *list, const struct result_row *r,
                       unsigned severity, const struct syslog_rows_message *m)
{
    struct syslog_rows_entry e = {.size = 0};
    if (!s->journal)
        return send_line(s, severity, m);
    syslog_rows_field(&e, "MESSAGE", m->text);
    syslog_rows_field(&e, "MESSAGE_ID", SYSLOG_ROWS_MESSAGE_ID);
    field_number(&e, "PRIORITY", severity);
    syslog_rows_field(&e, "SYSLOG_IDENTIFIER", "autologger");
    syslog_rows_field(&e, "AUTOLOGGER_BOOT", list->boot_id);
    if (r) {
        field_of(&e, "AUTOLOGGER_SESSION", r->session);
        field_of(&e, "AUTOLOGGER_PROVIDER", *r->name ? r->name : r->provider);
        field_number(&e, "AUTOLOGGER_STATUS", r->status);
        syslog_rows_field(&e, "AUTOLOGGER_RESULT", row_word(r));
        field_number(&e, "AUTOLOGGER_EVENTS", r->written);
        field_number(&e, "AUTOLOGGER_OVERWRITTEN", r->overwritten);
        field_number(&e, "AUTOLOGGER_LOST", result_lost(r));
        field_of(&e, "AUTOLOGGER_TRACE", row_trace(r));
        field_of(&e, "AUTOLOGGER_FILE", r->source_file);
        field_number(&e, "AUTOLOGGER_LINE", r->source_line);
    }
    return send(s->fd, e.bytes, e.size, MSG_NOSIGNAL) == (ssize_t)e.size;
}

static unsigned severity_of(const struct result_row *r)
{
    return result_undone(r) ? SEVERITY_ERROR : result_level(r) == RESULT_NOTE ? SEVERITY_NOTICE : SEVERITY_INFO;
}

unsigned syslog_rows_send(const struct result_list *list, const struct syslog_sockets *to)
{
    struct syslog_rows_sink    s    = sink_open(to);
    unsigned                   sent = 0, undone = 0, levels[RESULT_LEVELS] = {0};
    struct syslog_rows_message m = {.length = 0};
    if (s.fd < 0)
        return 0;
    for (unsigned i = 0; i < list->count; i++) {
        const struct result_row   *r   = &list->rows[i];
        struct syslog_rows_message row = {.length = 0};
        row_message(r, &row);
        levels[result_level(r)]++;
        undone += result_undone(r);
        sent += send_entry(&s, list, r, severity_of(r), &row);
    }
    syslog_rows_say(&m, "%s: %u ok, %u with a note, %u failed, %u off. See: autologger status",
                    levels[RESULT_OFF] == list->count ? "boot not traced" : "boot traced", levels[RESULT_OK],
                    levels[RESULT_NOTE], levels[RESULT_FAILED], levels[RESULT_OFF]);
    sent += send_entry(&s, list, NULL, undone ? SEVERITY_ERROR : SEVERITY_INFO, &m);
    close(s.fd);
    return sent;
}
