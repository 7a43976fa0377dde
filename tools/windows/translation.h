/* translation.h - the lines of `autologger` that stand for one command line of Windows: made word by word, shown, run.
 * Invariants: after the first fault nothing is added, shown or run. A line that runs on another machine is quoted for
 * its shell.
 * Threads: one. Ownership: translation_finish frees all words. Not for: what an option means (personality.h). */
#ifndef TOOLS_WINDOWS_TRANSLATION_H
#define TOOLS_WINDOWS_TRANSLATION_H
#include <stdbool.h>
#include <stdio.h>

struct translated_line {
    char   **word; /* NULL-terminated; word[0] is the program */
    unsigned words;
    char    *to; /* the file that gets what it prints, whole or not at all; NULL: standard output */
    /* what takes back what it did, if a later line fails; a NULL word: nothing */
    const char *undo[4];
};
struct translation {
    const char             *personality; /* "xperf", for messages */
    struct translated_line *line;
    unsigned                lines;
    char                   *host;        /* the lines run there, by ssh; NULL: here */
    char                   *file, *text; /* a file that is made before the lines run, and what is in it; or NULL */
    bool                    passing;     /* the file is removed when the lines have run */
    char                   *fault;       /* why the command line cannot be translated; NULL: it can */
    int                     code;        /* the exit code of the fault */
    char                  **kept;        /* texts that live as long as the translation */
    unsigned                keeps;
};

/* Begins a line with its program, such as "autologger" or "systemd-run". */
void line_begin(struct translation *t, const char *program);
/* Adds a word to the line. */
void line_word(struct translation *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds an option and its value, if there is a value. */
void line_option(struct translation *t, const char *option, const char *value);
/* What takes back the last line: a program and two words, which live as long as the translation. */
void line_undo(struct translation *t, const char *program, const char *first, const char *second);
/* Adds a word to a line that is there. */
void line_append(struct translation *t, unsigned line, const char *word);
/* What the line prints goes to a file. */
void line_redirect(struct translation *t, const char *path);
/* A file that the lines read: made before they run, unless it is there with the same text. `path` and `text` are the
 * translation's. */
void translation_file(struct translation *t, char *path, char *text);
/* Puts words before those of a line: another program that runs it. `before` ends with NULL. */
void line_wrap(struct translation *t, unsigned line, const char *const *before);
/* A text that lives as long as the translation; "" without memory, and then the translation has a fault. */
char *translation_text(struct translation *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Notes the first mistake: "what. Do: what to do". */
void translation_fault(struct translation *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for what is right, but failed: a file that cannot be read. */
void translation_failure(struct translation *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void translation_no_memory(struct translation *t);
/* Prints the lines as a shell reads them. */
void translation_print(const struct translation *t, FILE *to);
/* Runs the lines in order up to the first that fails, and then takes back those before it; the exit code of the last. A
 * single line runs in this process. */
int  translation_run(const struct translation *t);
void translation_finish(struct translation *t);
#endif
