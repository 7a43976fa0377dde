/* channel_query.c - see channel_query.h. */
#include "tools/channels/channel_query.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/json_out.h"
#include "tools/base/verb.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>
#include <yajl/yajl_tree.h>

#define DATA_PREFIX "AUTOLOGGER_DATA_"
extern char **environ;

/* Starts journalctl; NULL: it could not be started (errno). */
static FILE *journal_open(const struct channel_query *q, pid_t *pid)
{
    char                       match[700], count[32], folder[1200];
    int                        pipes[2];
    posix_spawn_file_actions_t actions;
    snprintf(match, sizeof match, "AUTOLOGGER_CHANNEL=%s", q->channel);
    snprintf(count, sizeof count, "--lines=%u", q->count);
    snprintf(folder, sizeof folder, "--directory=%s", q->folder ? q->folder : "");
    const char *argv[9];
    unsigned    n = 0;
    argv[n++]     = "journalctl";
    argv[n++]     = "--quiet";
    argv[n++]     = "--no-pager";
    argv[n++]     = "--all"; /* long values, too */
    argv[n++]     = "--output=json";
    argv[n++]     = count;
    if (q->newest_first)
        argv[n++] = "--reverse";
    if (q->folder)
        argv[n++] = folder;
    const char *words[sizeof argv / sizeof *argv + 2];
    memcpy(words, argv, n * sizeof *argv);
    words[n++] = match;
    words[n]   = NULL;
    if (pipe2(pipes, O_CLOEXEC))
        return NULL;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipes[1], STDOUT_FILENO);
    errno = posix_spawnp(pid, words[0], &actions, NULL, (char *const *)(uintptr_t)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    const int error = errno;
    close(pipes[1]);
    FILE *from = error ? NULL : fdopen(pipes[0], "r");
    if (!from)
        close(pipes[0]);
    errno = error;
    return from;
}

/* journalctl writes a value that is no text as an array of bytes, and several values of a field as an array of texts. */
static const char *message_array(yajl_val v, char *out, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < YAJL_GET_ARRAY(v)->len && n + 2 < size; i++) {
        const yajl_val one = YAJL_GET_ARRAY(v)->values[i];
        if (YAJL_IS_INTEGER(one))
            out[n++] = (char)YAJL_GET_INTEGER(one);
        else if (YAJL_IS_STRING(one))
            n += (size_t)snprintf(out + n, size - n, "%s%s", n ? ", " : "", YAJL_GET_STRING(one));
    }
    out[n < size ? n : size - 1] = 0;
    return out;
}

/* A field as text, until the next call; "" where it is missing. */
static const char *message_field(yajl_val message, const char *name)
{
    static char room[8][65536]; /* a row has several fields */
    static int  turn;
    const char *path[] = {name, NULL};
    yajl_val    v      = yajl_tree_get(message, path, yajl_t_any);
    turn               = (turn + 1) % 8;
    return YAJL_IS_STRING(v)  ? YAJL_GET_STRING(v)
           : YAJL_IS_ARRAY(v) ? message_array(v, room[turn], sizeof room[0])
                              : "";
}

static void message_text_print(yajl_val m)
{
    visible_printf(stdout, "%s  %s/%s %s: %s\n", message_field(m, "AUTOLOGGER_TIME"),
                   message_field(m, "AUTOLOGGER_PROVIDER"), message_field(m, "AUTOLOGGER_EVENT"),
                   message_field(m, "AUTOLOGGER_EVENT_ID"), message_field(m, "MESSAGE"));
}

static void message_json_print(yajl_val m, struct json *j)
{
    static const char *const names[][2] = {{"time", "AUTOLOGGER_TIME"},
                                           {"channel", "AUTOLOGGER_CHANNEL"},
                                           {"provider", "AUTOLOGGER_PROVIDER"},
                                           {"guid", "AUTOLOGGER_PROVIDER_GUID"},
                                           {"event", "AUTOLOGGER_EVENT"},
                                           {"id", "AUTOLOGGER_EVENT_ID"},
                                           {"level", "AUTOLOGGER_LEVEL"},
                                           {"keyword", "AUTOLOGGER_KEYWORD"},
                                           {"pid", "AUTOLOGGER_PID"},
                                           {"tid", "AUTOLOGGER_TID"},
                                           {"message", "MESSAGE"}};
    json_object(j, NULL);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        json_text(j, names[i][0], message_field(m, names[i][1]));
    json_object(j, "data");
    for (size_t i = 0; YAJL_IS_OBJECT(m) && i < YAJL_GET_OBJECT(m)->len; i++) {
        const char *name = YAJL_GET_OBJECT(m)->keys[i];
        if (strncmp(name, DATA_PREFIX, strlen(DATA_PREFIX)) == 0)
            json_text(j, name + strlen(DATA_PREFIX), message_field(m, name));
    }
    json_object_end(j);
    json_object_end(j);
}

/* The number of messages. */
static unsigned messages_print(FILE *from, bool as_json)
{
    struct json *j    = as_json ? json_create(stdout, true) : NULL;
    char        *line = NULL;
    size_t       size = 0;
    unsigned     n    = 0;
    if (j)
        json_array(j, NULL);
    while (getline(&line, &size, from) > 0) {
        yajl_val m = yajl_tree_parse(line, NULL, 0);
        if (!m)
            continue;
        n++;
        if (j)
            message_json_print(m, j);
        else
            message_text_print(m);
        yajl_tree_free(m);
    }
    if (j) {
        json_array_end(j);
        json_destroy(j);
    }
    free(line);
    return n;
}

int channel_query_run(const struct channel_query *q)
{
    pid_t pid;
    int   status = 0;
    FILE *from   = journal_open(q, &pid);
    if (!from) {
        visible_printf(stderr, "autologger channels: journalctl could not be run: %s. Do: install systemd\n",
                       strerror(errno));
        return VERB_REFUSED;
    }
    const unsigned n = messages_print(from, q->json);
    fclose(from);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!WIFEXITED(status) || WEXITSTATUS(status)) {
        visible_printf(stderr, "autologger channels: journalctl failed; the list may not be complete\n");
        return VERB_FAILED;
    }
    if (!n && !q->json)
        visible_printf(
            stderr,
            "autologger channels: the journal has no event of %s. Do: autologger channels list; systemctl status "
            "autologger-channels\n",
            q->channel);
    return VERB_FINE;
}
