/* translation.c - see translation.h. */
#include "tools/windows/translation.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/verb.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SSH_FAILED = 255, NOT_FOUND = 127 };

static void translation_no_memory(struct translation *t)
{
    if (!t->fault)
        t->fault = strdup("no memory");
}

void translation_fault(struct translation *t, const char *format, ...)
{
    va_list args;
    if (t->fault)
        return;
    va_start(args, format);
    if (vasprintf(&t->fault, format, args) < 0)
        t->fault = NULL;
    va_end(args);
    if (!t->fault)
        translation_no_memory(t);
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

void line_redirect(struct translation *t, const char *path)
{
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
            fputs("ssh ", to);
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
    const struct verb *verb = line->words > 1 ? verb_find(line->word[1]) : NULL;
    char               name[64], typed[VERB_WORD];
    char             **argv = verb ? calloc(line->words, sizeof *argv) : NULL;
    if (!argv) {
        visible_printf(stderr, "autologger windows: no memory\n");
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
    char        ssh[] = "ssh";
    char       *text  = t->host ? line_quoted(line) : NULL;
    char *const far[] = {ssh, t->host, text, NULL};
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

/* In the child: what it prints goes to this file. */
static bool output_take(const char *file)
{
    const int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return false;
    const bool ok = dup2(fd, STDOUT_FILENO) >= 0;
    close(fd);
    return ok;
}

static int line_run_apart(const struct translation *t, const struct translated_line *line)
{
    int   status = 0;
    char *making = NULL;
    if (line->to && asprintf(&making, "%s.%d~", line->to, (int)getpid()) < 0)
        return VERB_REFUSED;
    fflush(NULL);
    const pid_t pid = fork();
    if (pid < 0) {
        visible_printf(stderr, "%s: no process: %s\n", t->personality, strerror(errno));
        free(making);
        return VERB_REFUSED;
    }
    if (pid == 0) {
        if (making && !output_take(making)) {
            visible_printf(stderr, "%s: %s: %s\n", t->personality, line->to, strerror(errno));
            _exit(VERB_REFUSED);
        }
        const int code = line_is_verb(t, line) ? verb_line_run(line) : program_become(t, line);
        _exit(fflush(NULL) && code == VERB_FINE ? VERB_REFUSED : code);
    }
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            break;
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : VERB_FAILED;
    if (!line_is_verb(t, line) && (code == SSH_FAILED || code == NOT_FOUND))
        code = VERB_REFUSED;
    if (making && code != VERB_FINE)
        unlink(making);
    else if (making && rename(making, line->to)) {
        visible_printf(stderr, "%s: %s: %s\n", t->personality, line->to, strerror(errno));
        unlink(making);
        code = VERB_REFUSED;
    }
    free(making);
    return code;
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

static int file_make(const struct translation *t)
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
    visible_printf(stderr, "%s: made %s\n", t->personality, t->file);
    return VERB_FINE;
}

int translation_run(const struct translation *t)
{
    int code = t->file ? file_make(t) : VERB_FINE;
    if (code != VERB_FINE)
        return code;
    if (t->lines == 1 && line_is_verb(t, &t->line[0]) && !t->line[0].to)
        return verb_line_run(&t->line[0]);
    for (unsigned i = 0; i < t->lines && code == VERB_FINE; i++)
        code = line_run_apart(t, &t->line[i]);
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
