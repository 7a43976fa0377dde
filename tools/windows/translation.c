/* translation.c - see translation.h. */
#include "tools/windows/translation.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/verb.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SSH_FAILED = 255, NOT_FOUND = 127 };

void translation_no_memory(struct translation *t)
{
    if (!t->fault && (t->fault = strdup("no memory")))
        t->code = VERB_REFUSED;
}

static void translation_fault_set(struct translation *t, int code, const char *format, va_list args)
{
    if (t->fault)
        return;
    t->code = code;
    if (vasprintf(&t->fault, format, args) < 0)
        t->fault = NULL;
    if (!t->fault)
        translation_no_memory(t);
}

void translation_fault(struct translation *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    translation_fault_set(t, VERB_USAGE, format, args);
    va_end(args);
}

void translation_failure(struct translation *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    translation_fault_set(t, VERB_FAILED, format, args);
    va_end(args);
}

void line_begin(struct translation *t, const char *program)
{
    struct translated_line *grown = realloc(t->line, (t->lines + 1) * sizeof *grown);
    if (!grown) {
        translation_no_memory(t);
        return;
    }
    t->line             = grown;
    t->line[t->lines++] = (struct translated_line){0};
    line_word(t, "%s", program);
}

/* Takes `word`, which is malloc'ed. */
static void translation_word_add(struct translation *t, struct translated_line *line, char *word)
{
    char **grown = line && word ? realloc(line->word, (line->words + 2) * sizeof *grown) : NULL;
    if (!grown) {
        free(word);
        translation_no_memory(t);
        return;
    }
    line->word              = grown;
    grown[line->words++]    = word;
    line->word[line->words] = NULL;
}

void line_word(struct translation *t, const char *format, ...)
{
    va_list args;
    char   *word = NULL;
    va_start(args, format);
    if (vasprintf(&word, format, args) < 0)
        word = NULL;
    va_end(args);
    translation_word_add(t, t->lines ? &t->line[t->lines - 1] : NULL, word);
}

void line_append(struct translation *t, unsigned line, const char *word)
{
    translation_word_add(t, &t->line[line], strdup(word));
}

void line_option(struct translation *t, const char *option, const char *value)
{
    if (!value)
        return;
    line_word(t, "%s", option);
    line_word(t, "%s", value);
}

void line_undo(struct translation *t, const char *program, const char *first, const char *second)
{
    if (!t->fault)
        memcpy(t->line[t->lines - 1].undo, (const char *[]){program, first, second, NULL}, sizeof t->line->undo);
}

void line_redirect(struct translation *t, const char *path)
{
    if (t->fault)
        return;
    struct translated_line *line = &t->line[t->lines - 1];
    free(line->to);
    line->to = strdup(path);
    if (!line->to)
        translation_no_memory(t);
}

void translation_file(struct translation *t, char *path, char *text)
{
    t->file = path;
    t->text = text;
}

void line_wrap(struct translation *t, unsigned line, const char *const *before)
{
    unsigned n = 0;
    if (t->fault)
        return;
    while (before[n])
        n++;
    struct translated_line *l     = &t->line[line];
    char                  **grown = calloc(n + l->words + 1, sizeof *grown);
    for (unsigned i = 0; grown && i < n; i++)
        if (!(grown[i] = strdup(before[i])))
            translation_no_memory(t);
    if (!grown) {
        translation_no_memory(t);
        return;
    }
    for (unsigned i = 0; i < l->words; i++)
        grown[n + i] = l->word[i];
    free(l->word);
    l->word = grown;
    l->words += n;
}

char *translation_text(struct translation *t, const char *format, ...)
{
    static char none[1];
    va_list     args;
    char       *text  = NULL;
    char      **grown = realloc(t->kept, (t->keeps + 1) * sizeof *grown);
    if (grown)
        t->kept = grown;
    va_start(args, format);
    if (!grown || vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    if (!text) {
        translation_no_memory(t);
        return none;
    }
    return t->kept[t->keeps++] = text;
}

/* ---- as a shell reads it ---- */

static bool word_is_plain(const char *word)
{
    return *word && word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%")] == 0;
}

/* Between single quotes, where a shell needs them; malloc, NULL without memory. */
static char *word_quoted(const char *word)
{
    char  *text = NULL;
    size_t size = 0;
    if (word_is_plain(word))
        return strdup(word);
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return NULL;
    fputc('\'', to);
    for (; *word; word++)
        if (*word == '\'')
            fputs("'\\''", to);
        else
            fputc(*word, to);
    fputc('\'', to);
    if (fclose(to)) {
        free(text);
        return NULL;
    }
    return text;
}

static void word_write(const char *word, FILE *to)
{
    char *quoted = word_quoted(word);
    visible_printf(to, "%s", quoted ? quoted : word);
    free(quoted);
}

static void line_write(const struct translated_line *line, FILE *to)
{
    for (unsigned i = 0; i < line->words; i++) {
        if (i)
            fputc(' ', to);
        word_write(line->word[i], to);
    }
    if (line->to) {
        fputs(" > ", to);
        word_write(line->to, to);
    }
}

/* The line as one text for a shell; malloc, NULL without memory. */
static char *line_quoted(const struct translated_line *line)
{
    char  *text = NULL;
    size_t size = 0;
    FILE  *to   = open_memstream(&text, &size);
    if (!to)
        return NULL;
    bool ok = true;
    for (unsigned i = 0; i < line->words; i++) {
        char *quoted = word_quoted(line->word[i]);
        ok           = ok && quoted && (!i || fputc(' ', to) == ' ') && fwrite(quoted, 1, strlen(quoted), to);
        free(quoted);
    }
    if (!fclose(to) && ok)
        return text;
    free(text);
    return NULL;
}

void translation_print(const struct translation *t, FILE *to)
{
    if (t->file) {
        fputs("cat > ", to);
        word_write(t->file, to);
        visible_printf(to, " <<'END'\n");
        for (const char *p = t->text; *p;) {
            const size_t n = strcspn(p, "\n");
            visible_printf(to, "%.*s\n", (int)n, p);
            p += n + (p[n] != 0);
        }
        fputs("END\n", to);
    }
    for (unsigned i = 0; i < t->lines; i++) {
        if (t->host) {
            char *text = line_quoted(&t->line[i]);
            fputs("ssh -n ", to);
            word_write(t->host, to);
            fputc(' ', to);
            word_write(text ? text : "", to);
            free(text);
        } else
            line_write(&t->line[i], to);
        fputc('\n', to);
    }
}

/* ---- running ---- */

static int verb_line_run(const struct translated_line *line)
{
    const struct verb *verb = verb_find(line->word[1]); /* each line has one */
    char               name[64], typed[VERB_WORD];
    char             **argv = calloc(line->words, sizeof *argv);
    if (!verb || !argv) {
        visible_printf(stderr, "autologger windows: %s: no memory\n", line->word[1]);
        return VERB_REFUSED;
    }
    snprintf(name, sizeof name, "autologger %s", verb_word(verb, typed));
    argv[0] = name;
    for (unsigned i = 2; i < line->words; i++)
        argv[i - 1] = line->word[i];
    const int code = verb->run((int)line->words - 1, argv);
    free(argv);
    return code;
}

/* In the child: becomes the other program. */
static int program_become(const struct translation *t, const struct translated_line *line)
{
    char        ssh[] = "ssh", no_input[] = "-n";
    char       *text  = t->host ? line_quoted(line) : NULL;
    char *const far[] = {ssh, no_input, t->host, text, NULL};
    execvp(t->host ? ssh : line->word[0], t->host ? far : line->word);
    visible_printf(stderr, "%s: %s could not be run: %s\n", t->personality, t->host ? ssh : line->word[0],
                   strerror(errno));
    free(text);
    return VERB_REFUSED;
}

static bool line_is_verb(const struct translation *t, const struct translated_line *line)
{
    return !t->host && strcmp(line->word[0], "autologger") == 0;
}

/* The file that a line's output goes to: made beside its target and renamed, or the target itself if that is no regular
 * file (a pipe, a device). */
struct line_output {
    char *target, *making; /* making NULL: written in place */
    int   fd;
};

static void output_finish(struct line_output *o)
{
    if (o->fd >= 0)
        close(o->fd);
    free(o->target);
    free(o->making);
    *o = (struct line_output){.fd = -1};
}

/* False: errno says why. */
static bool output_open(const char *path, struct line_output *o)
{
    struct stat was;
    const bool  is = stat(path, &was) == 0;
    *o             = (struct line_output){.target = is ? realpath(path, NULL) : strdup(path), .fd = -1};
    if (!o->target || (is && S_ISDIR(was.st_mode))) {
        errno = o->target ? EISDIR : errno;
        return false;
    }
    if (is && !S_ISREG(was.st_mode)) {
        o->fd = open(o->target, O_WRONLY | O_NOCTTY | O_CLOEXEC);
        return o->fd >= 0;
    }
    if (asprintf(&o->making, "%s.%d~", o->target, (int)getpid()) < 0) {
        o->making = NULL;
        return false;
    }
    /* a trace's text is as private as the trace */
    o->fd = open(o->making, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
    if (o->fd >= 0 && is &&
        (fchmod(o->fd, was.st_mode & 07777) || (geteuid() == 0 && fchown(o->fd, was.st_uid, was.st_gid))))
        return false;
    return o->fd >= 0;
}

/* The exit code: that of the line, or of what became of its file. */
static int output_end(const struct translation *t, struct line_output *o, int code)
{
    if (o->making && code != VERB_FINE)
        unlink(o->making);
    else if (o->making && rename(o->making, o->target)) {
        visible_printf(stderr, "%s: %s: %s\n", t->personality, o->target, strerror(errno));
        unlink(o->making);
        code = VERB_REFUSED;
    }
    output_finish(o);
    return code;
}

static int line_run_apart(const struct translation *t, const struct translated_line *line)
{
    int                status = 0;
    struct line_output output = {.fd = -1};
    if (line->to && !output_open(line->to, &output)) {
        visible_printf(stderr, "%s: %s: %s\n", t->personality, line->to, strerror(errno));
        return output_end(t, &output, VERB_REFUSED);
    }
    fflush(NULL);
    const pid_t pid = fork();
    if (pid < 0) {
        visible_printf(stderr, "%s: no process: %s\n", t->personality, strerror(errno));
        return output_end(t, &output, VERB_REFUSED);
    }
    if (pid == 0) {
        if (output.fd >= 0 && dup2(output.fd, STDOUT_FILENO) < 0)
            _exit(VERB_REFUSED);
        const int code = line_is_verb(t, line) ? verb_line_run(line) : program_become(t, line);
        _exit((fflush(NULL) || ferror(stdout)) && code == VERB_FINE ? VERB_REFUSED : code);
    }
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            break;
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : VERB_FAILED;
    if (!line_is_verb(t, line) && (code == SSH_FAILED || code == NOT_FOUND))
        code = VERB_REFUSED;
    return output_end(t, &output, code);
}

/* Takes back, in reverse order, what the lines before this one did. */
static void lines_undo(const struct translation *t, unsigned failed)
{
    while (failed-- > 0) {
        const char *const     *undo = t->line[failed].undo;
        struct translated_line back = {.word = (char **)(uintptr_t)undo, .words = 3};
        if (!undo[0])
            continue;
        const int code = line_run_apart(t, &back);
        visible_printf(stderr, "%s: taken back, as a later step failed: %s %s %s%s\n", t->personality, undo[0], undo[1],
                       undo[2], code == VERB_FINE ? "" : ", and this failed, too");
    }
}

/* True: the file is there, with that text and no other. */
static bool file_is_same(const char *path, const char *text)
{
    const size_t n    = strlen(text);
    char        *read = malloc(n + 1);
    FILE        *from = read ? fopen(path, "re") : NULL;
    const bool   same = from && fread(read, 1, n + 1, from) == n && memcmp(read, text, n) == 0;
    if (from)
        fclose(from);
    free(read);
    return same;
}

/* *made: it was not there before. */
static int file_make(const struct translation *t, bool *made)
{
    const int fd = open(t->file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    FILE     *to = fd < 0 ? NULL : fdopen(fd, "w");
    if (!to && errno == EEXIST) {
        if (file_is_same(t->file, t->text))
            return VERB_FINE;
        visible_printf(stderr, "%s: %s is there, with another text. Do: remove it\n", t->personality, t->file);
        return VERB_FAILED;
    }
    const bool written = to && fwrite(t->text, 1, strlen(t->text), to) == strlen(t->text);
    if (!to || fclose(to) || !written) {
        visible_printf(stderr, "%s: %s: %s\n", t->personality, t->file, strerror(errno));
        if (fd >= 0)
            unlink(t->file);
        return VERB_REFUSED;
    }
    if (!t->passing)
        visible_printf(stderr, "%s: made %s\n", t->personality, t->file);
    *made = true;
    return VERB_FINE;
}

int translation_run(const struct translation *t)
{
    bool made = false;
    int  code = t->file ? file_make(t, &made) : VERB_FINE;
    if (code != VERB_FINE)
        return code;
    if (t->lines == 1 && line_is_verb(t, &t->line[0]) && !t->line[0].to && !made)
        return verb_line_run(&t->line[0]);
    for (unsigned i = 0; i < t->lines && code == VERB_FINE; i++)
        if ((code = line_run_apart(t, &t->line[i])) != VERB_FINE)
            lines_undo(t, i);
    if (made && t->passing)
        unlink(t->file);
    else if (made && code != VERB_FINE && unlink(t->file) == 0)
        visible_printf(stderr, "%s: removed %s\n", t->personality, t->file);
    return code;
}

void translation_finish(struct translation *t)
{
    for (unsigned i = 0; i < t->lines; i++) {
        for (unsigned w = 0; w < t->line[i].words; w++)
            free(t->line[i].word[w]);
        free(t->line[i].word);
        free(t->line[i].to);
    }
    for (unsigned i = 0; i < t->keeps; i++)
        free(t->kept[i]);
    free(t->kept);
    free(t->line);
    free(t->fault);
    *t = (struct translation){.personality = t->personality};
}
