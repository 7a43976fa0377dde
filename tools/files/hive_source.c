/* hive_source.c - see hive_source.h. */
#include "tools/files/hive_source.h"
#include "autologger/sandbox/sandbox.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define HIVE_LIBRARY "libhivex.so.0"
#define HIVE_HEADER "Windows Registry Editor Version 5.00"
enum { HIVE_TEXT_MOST = 64 << 20, HIVE_DEPTH = 64, HIVE_SECONDS = 60, HIVE_MEMORY = 1 << 30 };
/* How the reading process ends. */
enum { HIVE_READ = 0, HIVE_BAD = 10, HIVE_NOTHING, HIVE_FAILED };

/* libhivex' functions (hivex(3)). Nodes and values are numbers; lists end with 0; results are malloc. */
typedef size_t hive_at;
static struct {
    void *(*open)(const char *file, int flags);
    hive_at (*root)(void *hive);
    hive_at (*child)(void *hive, hive_at node, const char *name);
    hive_at *(*children)(void *hive, hive_at node);
    hive_at *(*values)(void *hive, hive_at node);
    hive_at (*value)(void *hive, hive_at node, const char *name);
    char *(*node_name)(void *hive, hive_at node);
    char *(*value_name)(void *hive, hive_at value);
    char *(*data)(void *hive, hive_at value, int *type, size_t *size);
} hivex;

static const struct hive_function {
    const char *name;
    void       *to; /* a pointer to a function */
} hive_functions[] = {
    {"hivex_open", &hivex.open},
    {"hivex_root", &hivex.root},
    {"hivex_node_get_child", &hivex.child},
    {"hivex_node_children", &hivex.children},
    {"hivex_node_values", &hivex.values},
    {"hivex_node_get_value", &hivex.value},
    {"hivex_node_name", &hivex.node_name},
    {"hivex_value_key", &hivex.value_name},
    {"hivex_value_value", &hivex.data},
};

/* What is read, from the root of each hive. "%" is the control set in use. */
static const struct hive_part {
    const char *hive, *from[8], *to;
} hive_parts[] = {
    {"SYSTEM", {"%", "Control", "WMI", NULL}, "HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Control\\WMI"},
    {"SOFTWARE",
     {"Microsoft", "Windows", "CurrentVersion", "WINEVT", NULL},
     "HKEY_LOCAL_MACHINE\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\WINEVT"},
};

bool hive_is(const char *path)
{
    char        begin[4];
    struct stat what;
    if (stat(path, &what) || !S_ISREG(what.st_mode)) /* a pipe is read once */
        return false;
    FILE *f  = fopen(path, "re");
    bool  is = f && fread(begin, 1, sizeof begin, f) == sizeof begin && memcmp(begin, "regf", 4) == 0;
    if (f)
        fclose(f);
    return is;
}

static wstatus hive_library_load(struct reason *why)
{
    void       *library = dlopen(HIVE_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    const char *missing = library ? NULL : dlerror();
    for (size_t i = 0; !missing && i < sizeof hive_functions / sizeof *hive_functions; i++) {
        void *found = dlsym(library, hive_functions[i].name);
        memcpy(hive_functions[i].to, &found, sizeof found); /* an object's pointer as a function's */
        missing = found ? NULL : hive_functions[i].name;
    }
    if (!missing)
        return W_SUCCESS; /* it stays loaded */
    return reason_set(
        why, W_NOT_SUPPORTED,
        "hives are read by libhivex, which cannot be loaded (%s). Do: apt-get install libhivex0, or export the "
        "key as .reg on Windows",
        missing);
}

/* ---- in the reading process ---- */

struct hive_walk {
    void *hive;
    FILE *to;
    bool  bad;
};

/* A name with a control character would be more than a name in the text. */
static bool hive_name_fits(const char *name)
{
    for (; *name; name++)
        if ((unsigned char)*name < ' ' || *name == 0x7F)
            return false;
    return true;
}

/* A name between quotes. */
static void hive_name_write(FILE *to, const char *name)
{
    fputc('"', to);
    for (; *name; name++) {
        if (*name == '"' || *name == '\\')
            fputc('\\', to);
        fputc(*name, to);
    }
    fputc('"', to);
}

static void hive_value_write(struct hive_walk *w, hive_at value)
{
    int            type = 0;
    size_t         size = 0;
    char          *name = hivex.value_name(w->hive, value);
    unsigned char *data = (unsigned char *)hivex.data(w->hive, value, &type, &size);
    if (!name || (!data && size) || !hive_name_fits(name)) {
        w->bad = true;
    } else {
        if (*name)
            hive_name_write(w->to, name);
        else
            fputc('@', w->to);
        if (type == 3)
            fputs("=hex:", w->to);
        else
            fprintf(w->to, "=hex(%x):", (unsigned)type);
        for (size_t i = 0; i < size; i++)
            fprintf(w->to, i ? ",%02x" : "%02x", data[i]);
        fputc('\n', w->to);
    }
    free(name);
    free(data);
}

static void hive_node_write(struct hive_walk *w, hive_at node, const char *path, unsigned depth)
{
    hive_at *values = hivex.values(w->hive, node), *children = hivex.children(w->hive, node);
    w->bad = w->bad || !values || !children || depth > HIVE_DEPTH;
    if (!w->bad)
        fprintf(w->to, "\n[%s]\n", path); /* visible: text for a parser, not for a terminal */
    for (size_t i = 0; !w->bad && values[i]; i++)
        hive_value_write(w, values[i]);
    for (size_t i = 0; !w->bad && children[i] && !ferror(w->to); i++) {
        char *name = hivex.node_name(w->hive, children[i]), *below = NULL;
        if (!name || !hive_name_fits(name) || asprintf(&below, "%s\\%s", path, name) < 0)
            w->bad = true;
        else
            hive_node_write(w, children[i], below, depth + 1);
        free(name);
        free(below);
    }
    free(values);
    free(children);
}

/* "ControlSet001", by Select\Current. */
static void hive_control_set(void *hive, char out[32])
{
    const hive_at  select = hivex.child(hive, hivex.root(hive), "Select");
    const hive_at  value  = select ? hivex.value(hive, select, "Current") : 0;
    int            type;
    size_t         size = 0;
    unsigned char *data = value ? (unsigned char *)hivex.data(hive, value, &type, &size) : NULL;
    const unsigned set  = data && size == 4 && data[0] && !data[1] ? data[0] : 1;
    snprintf(out, 32, "ControlSet%03u", set);
    free(data);
}

/* The node of a part, or 0. */
static hive_at hive_part_find(void *hive, const struct hive_part *part)
{
    char    set[32];
    hive_at node = hivex.root(hive);
    hive_control_set(hive, set);
    for (size_t i = 0; node && part->from[i]; i++)
        node = hivex.child(hive, node, *part->from[i] == '%' ? set : part->from[i]);
    return node;
}

/* The exit code of the reading process. */
static int hive_convert(const char *path, int fd)
{
    struct hive_walk w     = {.to = fdopen(fd, "w")};
    unsigned         found = 0;
    if (!w.to)
        return HIVE_FAILED;
    sandbox_enter(&(struct sandbox){.kind = SANDBOX_READER, .memory = HIVE_MEMORY, .cpu_seconds = HIVE_SECONDS});
    w.hive = hivex.open(path, 0);
    if (!w.hive)
        return HIVE_BAD;
    fputs(HIVE_HEADER "\n", w.to);
    for (size_t i = 0; i < sizeof hive_parts / sizeof *hive_parts; i++) {
        const hive_at node = hive_part_find(w.hive, &hive_parts[i]);
        found += node != 0;
        if (node)
            hive_node_write(&w, node, hive_parts[i].to, 0);
    }
    if (fclose(w.to))
        return HIVE_FAILED;
    return w.bad ? HIVE_BAD : found ? HIVE_READ : HIVE_NOTHING;
}

/* ---- in this process ---- */

static wstatus hive_text_take(int fd, char **text, size_t *size, struct reason *why)
{
    size_t room = 0;
    *text       = NULL;
    *size       = 0;
    for (;;) {
        if (*size + 65536 > room) {
            char *grown = realloc(*text, room = room * 2 + 131072);
            if (!grown)
                return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the text of a hive");
            *text = grown;
        }
        const ssize_t n = read(fd, *text + *size, room - *size - 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        *size += (size_t)n;
        if (*size > HIVE_TEXT_MOST)
            return reason_set(why, W_INVALID_DATA, "the keys of the hive are larger than %d MB", HIVE_TEXT_MOST >> 20);
    }
    (*text)[*size] = 0;
    return W_SUCCESS;
}

/* The reading process is not trusted: its text may only set values, below the keys of hive_parts. */
static bool hive_text_fits(const char *text)
{
    for (const char *line = text; *line;) {
        const size_t n  = strcspn(line, "\n");
        bool         ok = n == 0 || (line == text && n == strlen(HIVE_HEADER) && memcmp(line, HIVE_HEADER, n) == 0);
        for (size_t i = 0; *line == '[' && !ok && i < sizeof hive_parts / sizeof *hive_parts; i++) {
            const size_t k = strlen(hive_parts[i].to);
            ok             = n > k + 1 && memcmp(line + 1, hive_parts[i].to, k) == 0 && strchr("\\]", line[k + 1]) &&
                 line[n - 1] == ']';
        }
        if (*line == '"' || *line == '@') { /* the data follows the last '=' */
            const char *equal = memrchr(line, '=', n);
            ok                = equal && strncmp(equal + 1, "hex", 3) == 0;
        }
        if (!ok)
            return false;
        line += n + (line[n] != 0);
    }
    return true;
}

static wstatus hive_result(const char *path, int status, struct reason *why)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == HIVE_READ)
        return W_SUCCESS;
    if (WIFEXITED(status) && WEXITSTATUS(status) == HIVE_NOTHING)
        return reason_set(why, W_NOT_FOUND,
                          "%s has neither Control\\WMI nor WINEVT. Do: give the hive SYSTEM or SOFTWARE of a system",
                          path);
    if (WIFEXITED(status) && WEXITSTATUS(status) == HIVE_BAD)
        return reason_set(
            why, W_INVALID_DATA,
            "%s cannot be read as a hive: it is damaged, or was not closed. Do: export the key as .reg on "
            "Windows",
            path);
    return reason_set(why, W_INVALID_DATA, "%s: reading it took more than %d s or %d MB, or failed", path, HIVE_SECONDS,
                      HIVE_MEMORY >> 20);
}

wstatus hive_read(const char *path, char **text, size_t *size, struct reason *why)
{
    int     pipes[2], status = 0;
    wstatus st = hive_library_load(why);
    *text      = NULL;
    if (st)
        return st;
    if (pipe2(pipes, O_CLOEXEC))
        return reason_set(why, wstatus_from_errno(errno), "no pipe");
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0)
        _exit(hive_convert(path, pipes[1]));
    close(pipes[1]);
    st = pid < 0 ? reason_set(why, wstatus_from_errno(errno), "no process for a hive")
                 : hive_text_take(pipes[0], text, size, why);
    close(pipes[0]); /* a writer that is left ends by it */
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    st = st ? st : hive_result(path, status, why);
    if (!st && (strlen(*text) != *size || !hive_text_fits(*text)))
        st = reason_set(why, W_INVALID_DATA, "%s cannot be read as a hive: it has more than keys and values", path);
    if (st) {
        free(*text);
        *text = NULL;
    }
    return st;
}

const char *hive_key_of_line(const char *text, unsigned line, char *out, size_t size)
{
    *out = 0;
    for (unsigned i = 1; *text && i <= line; i++) {
        const size_t n = strcspn(text, "\n");
        if (*text == '[')
            snprintf(out, size, "%.*s", (int)n, text);
        text += n + (text[n] != 0);
    }
    return out;
}
