/* redact_words.h - the words that a redactor replaces, and the tokens that it replaces them with. Shared by redact.c
 * and redact_text.c alone. Words are kept by a hash of their UTF-8 bytes, without case. Threads: one. Ownership: zeros
 * at first, finish. */
#ifndef AUTOLOGGER_CONSUMER_REDACT_WORDS_H
#define AUTOLOGGER_CONSUMER_REDACT_WORDS_H
#include "autologger/consumer/redact.h"
#include "autologger/kernel/source/idmap.h"

enum redact_kind { TOKEN_ARGUMENT, TOKEN_NAME, TOKEN_ADDRESS, TOKEN_PATH, TOKEN_VALUE, TOKEN_KINDS };
enum { WORD_LEAST = 2, WORD_MOST = 256, ARGUMENT_LEAST = 6 };
struct redact_words {
    struct idmap kinds; /* hash of a word -> enum redact_kind + 1 */
    uint64_t     key[2];
    bool         failed;
};
/* A text of units of 1 or 2 bytes: UTF-8, or UTF-16LE. */
struct redact_units {
    uint8_t *data;
    size_t   count;
    unsigned width;
};
static inline unsigned unit_at(const struct redact_units *u, size_t i)
{
    return u->width == 1 ? u->data[i] : (unsigned)(u->data[2 * i] | u->data[2 * i + 1] << 8);
}
static inline void unit_set(const struct redact_units *u, size_t i, char c)
{
    u->data[i * u->width] = (uint8_t)c;
    if (u->width == 2)
        u->data[i * 2 + 1] = 0;
}
/* Adds a word (UTF-8); words that are too short, or too common to be private, are left out. */
void words_add(struct redact_words *w, const char *text, size_t size, enum redact_kind kind);
/* The kind of units [from, to), -1: no such word. */
int words_find(const struct redact_words *w, const struct redact_units *u, size_t from, size_t to);
/* 64 bits of a keyed hash (SipHash-2-4). */
uint64_t words_hash(const struct redact_words *w, const void *data, size_t size);
/* Overwrites units [from, to) with the token of their text: "u7k2q..." */
void words_token(const struct redact_words *w, const struct redact_units *u, size_t from, size_t to,
                 enum redact_kind kind);
void words_finish(struct redact_words *w);

/* redact_text.c: replaces the words in a text, and parts that look private. `environment`: the values of NAME=value,
 * too. */
void redact_text(struct redact_words *w, unsigned what, bool environment, const struct redact_units *u,
                 struct redact_counts *counts);
/* Replaces all words of a command line but the first. */
void redact_arguments(struct redact_words *w, const struct redact_units *u, struct redact_counts *counts);
/* Replaces the parts of a path between '/' or '\'. */
void redact_path(struct redact_words *w, const struct redact_units *u, size_t from, size_t to,
                 struct redact_counts *counts);
/* Calls for each word of a command line but the first: units [from, to). */
void redact_each_argument(const struct redact_units *u, void (*each)(void *ctx, size_t from, size_t to), void *ctx);
#endif
