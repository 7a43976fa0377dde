#include "tools/ui/ui_run.h"

#include "registry-sim/text/textbuf.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <yajl/yajl_gen.h>
#include <yajl/yajl_tree.h>

#define SELF "/proc/self/exe"
#define FILE_PATH "/proc/self/fd/100"
enum { FILE_FD = 100 };
extern char **environ;

static const struct ui_verb {
    const char *name;
    bool        store; /* it takes --store */
} ui_verbs[] = {
#define W(verb, store) {#verb, store},
#include "tools/ui/ui_verbs.def"
#undef W
};
static const char *ui_store; /* NULL: the default */

void ui_run_store(const char *path) { ui_store = path; }

static const struct ui_verb *ui_verb_find(const char *name)
{
    for (size_t i = 0; i < sizeof ui_verbs / sizeof *ui_verbs; i++)
        if (strcmp(name, ui_verbs[i].name) == 0)
            return &ui_verbs[i];
    return NULL;
}

bool ui_request_parse(const char *json, size_t size, struct ui_request *out)
{
    static const char *const words_at[] = {"words", NULL}, *const file_at[] = {"file", NULL};
    char          *text  = strndup(json, size);
    yajl_val       tree  = text ? yajl_tree_parse(text, NULL, 0) : NULL;
    const yajl_val words = tree ? yajl_tree_get(tree, (const char **)words_at, yajl_t_array) : NULL,
                   file  = tree ? yajl_tree_get(tree, (const char **)file_at, yajl_t_string) : NULL;
    bool good            = words && words->u.array.len && words->u.array.len <= UI_WORDS;
    *out                 = (struct ui_request){0};
    for (size_t i = 0; good && i < words->u.array.len; i++) {
        const yajl_val value = words->u.array.values[i];
        good                 = YAJL_IS_STRING(value) && (out->word[i] = strdup(value->u.string));
        out->words += good;
    }
    if (good && file)
        good = (out->file = strdup(file->u.string)) != NULL;
    const bool known = good && ui_verb_find(out->word[0]);
    yajl_tree_free(tree);
    free(text);
    if (!good || !known)
        ui_request_finish(out);
    return good && known;
}

void ui_request_finish(struct ui_request *r)
{
    for (size_t i = 0; i < r->words; i++)
        free(r->word[i]);
    free(r->file);
    *r = (struct ui_request){0};
}

/* Starts this program with these words; its output and messages go to `out` and `err` (-1: to those of this process). */
static pid_t run_begin(char *const *argv, int out, int err, int file)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t          attributes;
    sigset_t                   none;
    pid_t                      pid = -1;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, out, 1);
    if (err >= 0)
        posix_spawn_file_actions_adddup2(&files, err, 2);
    if (file >= 0)
        posix_spawn_file_actions_adddup2(&files, file, FILE_FD);
    errno = posix_spawn(&pid, SELF, &files, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return errno ? -1 : pid;
}

/* The request's file, in memory: for the verb it is descriptor FILE_FD, with a path. */
static int request_file(const struct ui_request *r)
{
    const int    fd = memfd_create("autologger-ui", MFD_CLOEXEC);
    const size_t n  = strlen(r->file);
    if (fd >= 0 && write(fd, r->file, n) != (ssize_t)n) {
        close(fd);
        return -1;
    }
    return fd;
}

static long seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

/* Reads both ends until they are closed. False: too much, or too long. */
static bool run_read(int out, int err, struct textbuf text[2])
{
    struct pollfd p[2] = {{.fd = out, .events = POLLIN}, {.fd = err, .events = POLLIN}};
    const long    end  = seconds_now() + UI_SECONDS;
    char          room[65536];
    while (p[0].fd >= 0 || p[1].fd >= 0) {
        const long left = end - seconds_now();
        if (left <= 0 || poll(p, 2, (int)left * 1000) <= 0)
            return false;
        for (int i = 0; i < 2; i++) {
            if (p[i].fd < 0 || !p[i].revents)
                continue;
            const ssize_t n = read(p[i].fd, room, sizeof room);
            if (n <= 0 && errno != EINTR)
                p[i].fd = -1;
            if (n > 0)
                textbuf_put(&text[i], room, (size_t)n);
            if (text[i].size > UI_OUTPUT_MOST || text[i].bad)
                return false;
        }
    }
    return true;
}

static int code_of(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void file_read(int fd, struct textbuf *out)
{
    char    room[65536];
    ssize_t n;
    for (off_t at = 0; out->size < UI_OUTPUT_MOST && (n = pread(fd, room, sizeof room, at)) > 0; at += n)
        textbuf_put(out, room, (size_t)n);
}

void ui_run(const struct ui_request *request, struct ui_result *out)
{
    char                 *argv[UI_WORDS + 4] = {"autologger", request->word[0]};
    const struct ui_verb *verb               = ui_verb_find(request->word[0]);
    size_t                n                  = 2;
    struct textbuf        text[2]            = {{0}, {0}};
    int                   o[2] = {-1, -1}, e[2] = {-1, -1};
    *out           = (struct ui_result){.code = -1};
    const int file = request->file ? request_file(request) : -1;
    bool      good = !request->file || file >= 0;
    if (verb && verb->store && ui_store) {
        argv[n++] = "--store";
        argv[n++] = (char *)(uintptr_t)ui_store;
    }
    for (size_t i = 1; i < request->words; i++)
        argv[n++] = file >= 0 && strcmp(request->word[i], "@file") == 0 ? FILE_PATH : request->word[i];
    good            = good && !pipe2(o, O_CLOEXEC) && !pipe2(e, O_CLOEXEC);
    const pid_t pid = good ? run_begin(argv, o[1], e[1], file) : -1;
    for (int i = 0; i < 2; i++)
        if ((i ? e : o)[1] >= 0)
            close((i ? e : o)[1]);
    if (pid > 0) {
        if (!run_read(o[0], e[0], text)) {
            kill(pid, SIGKILL);
            textbuf_puts(&text[1], "it took too long, or said too much");
            code_of(pid);
        } else {
            out->code = code_of(pid);
        }
    } else {
        textbuf_puts(&text[1], "it could not be run: ");
        textbuf_puts(&text[1], strerror(errno));
    }
    for (int i = 0; i < 2; i++)
        if ((i ? e : o)[0] >= 0)
            close((i ? e : o)[0]);
    if (request->page && !out->code) {
        textbuf_clear(&text[0]);
        file_read(file, &text[0]);
    }
    if (file >= 0)
        close(file);
    out->out = text[0].data, out->out_size = text[0].size;
    out->err = text[1].data, out->err_size = text[1].size;
}

void ui_result_finish(struct ui_result *r)
{
    free(r->out);
    free(r->err);
    *r = (struct ui_result){0};
}

/* Is it one JSON document? */
static bool is_json(const struct ui_result *r)
{
    yajl_val tree = r->out_size && (r->out[0] == '{' || r->out[0] == '[') ? yajl_tree_parse(r->out, NULL, 0) : NULL;
    yajl_tree_free(tree);
    return tree != NULL;
}

static void put_text(yajl_gen g, const char *name, const char *text, size_t size)
{
    yajl_gen_string(g, (const unsigned char *)name, strlen(name));
    if (yajl_gen_string(g, (const unsigned char *)(text ? text : ""), size) != yajl_gen_status_ok)
        yajl_gen_string(g, (const unsigned char *)"(no UTF-8)", 10);
}

char *ui_result_json(const struct ui_result *r, size_t *size)
{
    const unsigned char *made;
    char                 code[16];
    const bool           json = is_json(r);
    yajl_gen             g    = yajl_gen_alloc(NULL);
    if (!g)
        return NULL;
    yajl_gen_config(g, yajl_gen_validate_utf8, 1);
    yajl_gen_map_open(g);
    yajl_gen_string(g, (const unsigned char *)"code", 4);
    yajl_gen_number(g, code, (size_t)snprintf(code, sizeof code, "%d", r->code));
    yajl_gen_string(g, (const unsigned char *)"out", 3);
    if (json)
        yajl_gen_number(g, r->out, r->out_size); /* as it is */
    else
        yajl_gen_null(g);
    put_text(g, "text", json ? "" : r->out, json ? 0 : r->out_size);
    put_text(g, "err", r->err, r->err_size);
    yajl_gen_map_close(g);
    yajl_gen_get_buf(g, &made, size);
    char *out = malloc(*size + 1);
    if (out)
        memcpy(out, made, *size);
    yajl_gen_free(g);
    return out;
}

pid_t ui_watch(const char *session, int *fd)
{
    int   p[2];
    char *argv[] = {"autologger", "watch", "--json", "--", (char *)(uintptr_t)session, NULL};
    if (pipe2(p, O_CLOEXEC))
        return -1;
    const pid_t pid = run_begin(argv, p[1], p[1], -1);
    close(p[1]);
    if (pid < 0)
        close(p[0]);
    *fd = p[0];
    return pid;
}
