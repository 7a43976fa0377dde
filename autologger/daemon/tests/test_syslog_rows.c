/* The rows of a boot in the system's log: against private sockets, in both protocols.
 * D-27: what the kernel withheld is lost, too. Proves: REG-11, ANA-12. */
#include "autologger/daemon/syslog_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

struct log {
    char dir[64], journal[96], syslog[96];
    int  journal_fd, syslog_fd;
};

static int listen_at(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int                fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

static void log_open(struct log *l, bool journal, bool syslog)
{
    strcpy(l->dir, "/tmp/autologger-log-XXXXXX");
    assert_non_null(mkdtemp(l->dir));
    snprintf(l->journal, sizeof l->journal, "%s/journal", l->dir);
    snprintf(l->syslog, sizeof l->syslog, "%s/log", l->dir);
    l->journal_fd = journal ? listen_at(l->journal) : -1;
    l->syslog_fd  = syslog ? listen_at(l->syslog) : -1;
}

static void log_close(struct log *l)
{
    unlink(l->journal);
    unlink(l->syslog);
    assert_int_equal(rmdir(l->dir), 0);
    if (l->journal_fd >= 0)
        close(l->journal_fd);
    if (l->syslog_fd >= 0)
        close(l->syslog_fd);
}

/* The value of a field of an entry in the journal's protocol; NULL unless it occurs exactly once. */
static const char *value_of(const char *entry, size_t size, const char *name, char *out, size_t room)
{
    const char *end   = entry + size;
    bool        found = false;
    for (const char *p = entry; p < end;) {
        size_t      length = strcspn(p, "=\n");
        const char *key    = p, *value;
        uint64_t    bytes  = 0;
        if (p[length] == '=') {
            value = p + length + 1;
            bytes = (uint64_t)((const char *)memchr(value, '\n', (size_t)(end - value)) - value);
        } else {
            for (unsigned i = 0; i < 8; i++)
                bytes |= (uint64_t)(uint8_t)p[length + 1 + i] << 8 * i;
            value = p + length + 9;
        }
        assert_true(value + bytes < end && value[bytes] == '\n');
        if (length == strlen(name) && memcmp(key, name, length) == 0) {
            if (found)
                return NULL;
            found = true;
            snprintf(out, room, "%.*s", (int)bytes, value);
        }
        p = value + bytes + 1;
    }
    return found ? out : NULL;
}

static struct result_list rows_make(void)
{
    struct result_list list = {.boot_id = "b-1"};
    struct result_row *r    = result_add(&list);
    strcpy(r->session, "web");
    r->start       = true;
    r->written     = 12;
    r->withheld    = 4;
    r->overwritten = 5;
    r              = result_add(&list);
    strcpy(r->session, "web");
    strcpy(r->provider, "{0}");
    strcpy(r->name, "Contoso\nPRIORITY=0"); /* a declaration may contain any name */
    r->start = true;
    condition_add(&r->conditions, W_WMI_GUID_NOT_FOUND, true, "Contoso", "", 0, "start it", "nobody registered it");
    r = result_add(&list);
    strcpy(r->session, "wrong");
    r->start       = true;
    r->status      = W_INVALID_PARAMETER;
    r->source_line = 7;
    strcpy(r->reason, "MaxFileSize is wrong");
    strcpy(r->source_file, "boot.ini");
    return list;
}

static void the_journal_gets_an_entry_a_row(void **state)
{
    struct log         l;
    char               entry[4][8192], v[1024];
    size_t             size[4];
    struct result_list list = rows_make();
    (void)state;
    log_open(&l, true, true);
    struct syslog_sockets to = {l.journal, l.syslog};
    assert_int_equal(syslog_rows_send(&list, &to), 4);
    for (int i = 0; i < 4; i++) {
        ssize_t n = recv(l.journal_fd, entry[i], sizeof entry[i], 0);
        assert_true(n > 0);
        size[i] = (size_t)n;
        assert_string_equal(value_of(entry[i], size[i], "MESSAGE_ID", v, sizeof v), SYSLOG_ROWS_MESSAGE_ID);
        assert_string_equal(value_of(entry[i], size[i], "AUTOLOGGER_BOOT", v, sizeof v), "b-1");
    }
    assert_string_equal(value_of(entry[0], size[0], "MESSAGE", v, sizeof v), "web: note, 12 events, 4 lost");
    assert_string_equal(value_of(entry[0], size[0], "AUTOLOGGER_LOST", v, sizeof v), "4");
    assert_string_equal(value_of(entry[0], size[0], "AUTOLOGGER_OVERWRITTEN", v, sizeof v), "5");
    assert_string_equal(value_of(entry[0], size[0], "PRIORITY", v, sizeof v), "5"); /* a session with losses */
    assert_string_equal(value_of(entry[0], size[0], "AUTOLOGGER_EVENTS", v, sizeof v), "12");
    assert_null(value_of(entry[0], size[0], "AUTOLOGGER_PROVIDER", v, sizeof v));
    /* Y2: the name with a line break is one value, and the priority occurs once */
    assert_string_equal(value_of(entry[1], size[1], "AUTOLOGGER_PROVIDER", v, sizeof v), "Contoso\\nPRIORITY=0");
    assert_string_equal(value_of(entry[1], size[1], "PRIORITY", v, sizeof v), "5");
    assert_non_null(strstr(value_of(entry[1], size[1], "MESSAGE", v, sizeof v),
                           "\nnote 4200 Contoso: nobody registered it. Do: start it"));
    assert_string_equal(value_of(entry[2], size[2], "PRIORITY", v, sizeof v), "3");
    assert_string_equal(value_of(entry[2], size[2], "AUTOLOGGER_STATUS", v, sizeof v), "87");
    assert_string_equal(value_of(entry[2], size[2], "AUTOLOGGER_RESULT", v, sizeof v), "failed");
    assert_string_equal(value_of(entry[2], size[2], "AUTOLOGGER_LINE", v, sizeof v), "7");
    assert_string_equal(
        value_of(entry[2], size[2], "MESSAGE", v, sizeof v),
        "wrong: failed, Status 87 ERROR_INVALID_PARAMETER: MaxFileSize is wrong. Do: correct the value named in the "
        "reason (boot.ini:7)");
    assert_non_null(strstr(value_of(entry[3], size[3], "MESSAGE", v, sizeof v), "2 with a note, 1 failed"));
    assert_true(recv(l.syslog_fd, entry[0], sizeof entry[0], 0) < 0); /* one log is enough */
    result_list_finish(&list);
    log_close(&l);
}

static void without_a_journal_there_are_lines(void **state)
{
    struct log         l;
    char               line[4096];
    struct result_list list = rows_make();
    (void)state;
    log_open(&l, false, true);
    struct syslog_sockets to = {l.journal, l.syslog};
    assert_int_equal(syslog_rows_send(&list, &to), 4);
    ssize_t n           = recv(l.syslog_fd, line, sizeof line - 1, 0);
    line[n > 0 ? n : 0] = 0;
    assert_string_equal(line, "<29>autologger: web: note, 12 events, 4 lost");
    n                   = recv(l.syslog_fd, line, sizeof line - 1, 0);
    line[n > 0 ? n : 0] = 0;
    assert_null(strchr(line, '\n'));
    assert_non_null(strstr(line, "<29>autologger: web / Contoso\\nPRIORITY=0: note"));
    result_list_finish(&list);
    log_close(&l);
}

static void nobody_is_waited_for(void **state)
{
    struct log         l;
    struct result_list list = rows_make();
    (void)state;
    log_open(&l, false, false);
    struct syslog_sockets to = {l.journal, l.syslog};
    assert_int_equal(syslog_rows_send(&list, &to), 0);
    log_close(&l);
    log_open(&l, true, false); /* never read: full after a while, further lines are dropped */
    unsigned sent = 4;
    for (int i = 0; i < 1000 && sent == 4; i++)
        sent = syslog_rows_send(&list, &(struct syslog_sockets){l.journal, l.syslog});
    assert_true(sent < 4);
    result_list_finish(&list);
    log_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_journal_gets_an_entry_a_row),
        cmocka_unit_test(without_a_journal_there_are_lines),
        cmocka_unit_test(nobody_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
