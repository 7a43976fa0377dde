/* redact_text.c - finds private data in a text by its form. See redact_words.h. */
#include "autologger/consumer/redact_words.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { TEXT_MOST = 64, WORD_EXTENT = 128 };

static bool is_word(unsigned c) { return c > 0x7F || isalnum((int)c) || c == '_'; }
static bool is_space(unsigned c) { return c == 0 || c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
static bool is_quote(unsigned c) { return c == '"' || c == '\'' || c == '`'; }

/* Units as a text, if they are all ASCII and fit. */
static bool ascii(const struct redact_units *u, size_t from, size_t to, char *out, size_t room)
{
    if (to - from >= room)
        return false;
    for (size_t i = from; i < to; i++) {
        unsigned c = unit_at(u, i);
        if (c > 0x7F)
            return false;
        out[i - from] = (char)c;
    }
    out[to - from] = 0;
    return true;
}

/* --- addresses --- */

static bool is_address_unit(unsigned c) { return c < 0x80 && (isxdigit((int)c) || c == ':' || c == '.'); }

/* An address that identifies nobody. */
static bool everybodys(const char *text)
{
    return strncmp(text, "127.", 4) == 0 || strcmp(text, "0.0.0.0") == 0 || strcmp(text, "::1") == 0 ||
           strcmp(text, "::") == 0 || strcmp(text, "255.255.255.255") == 0;
}

static bool is_mac(const char *text)
{
    if (strlen(text) != 17)
        return false;
    for (int i = 0; i < 17; i++)
        if (i % 3 == 2 ? text[i] != ':' : !isxdigit((unsigned char)text[i]))
            return false;
    return strcmp(text, "00:00:00:00:00:00") != 0;
}

/* An address that begins at `at`; its end, or `at`. Takes the longest run that is an address: "10.0.0.1." ends a
 * sentence, "10.0.0.1:80" has a port. */
static size_t address_at(const struct redact_units *u, size_t at)
{
    uint8_t bytes[16];
    char    text[TEXT_MOST];
    size_t  end = at;

    if (at && (is_word(unit_at(u, at - 1)) || unit_at(u, at - 1) == '.'))
        return at;
    while (end < u->count && end - at < TEXT_MOST - 1 && is_address_unit(unit_at(u, end)))
        end++;
    for (; end > at + 1; end--) {
        if (end < u->count && is_word(unit_at(u, end)))
            continue;
        if (!ascii(u, at, end, text, sizeof text))
            return at;
        if ((strchr(text, '.') && inet_pton(AF_INET, text, bytes) == 1) ||
            (strchr(text, ':') && (inet_pton(AF_INET6, text, bytes) == 1 || is_mac(text))))
            return everybodys(text) ? at : end;
    }
    return at;
}

static void addresses(struct redact_words *w, const struct redact_units *u, struct redact_counts *counts)
{
    for (size_t i = 0; i < u->count; i++) {
        size_t end = is_address_unit(unit_at(u, i)) ? address_at(u, i) : i;
        if (end == i)
            continue;
        words_token(w, u, i, end, TOKEN_ADDRESS);
        counts->addresses++;
        i = end;
    }
}

/* --- NAME=value --- */

/* Names that mark their value as a secret, or that are written like those of the environment. */
static bool is_variable(const char *name)
{
    static const char *const secret[] = {"pass", "pwd", "secret", "token", "key", "credential", "auth", "cookie"};
    bool                     upper    = strlen(name) > 2;

    for (size_t i = 0; i < sizeof secret / sizeof *secret; i++)
        if (strcasestr(name, secret[i]))
            return true;
    for (const char *p = name; *p; p++)
        upper &= isupper((unsigned char)*p) || isdigit((unsigned char)*p) || *p == '_';
    return upper;
}

static void redact_text_environment(struct redact_words *w, const struct redact_units *u, struct redact_counts *counts)
{
    char name[TEXT_MOST];

    for (size_t i = 1; i + 1 < u->count; i++) {
        unsigned c = unit_at(u, i);
        if (c != '=' && c != ':')
            continue;
        size_t from = i, to = i + 1;
        while (from > 0 && i - from < TEXT_MOST - 1 &&
               (is_word(unit_at(u, from - 1)) || (unit_at(u, from - 1) == '-' && c == '=')))
            from--;
        while (from < i && unit_at(u, from) == '-')
            from++;
        if (!ascii(u, from, i, name, sizeof name) || !*name || !is_variable(name))
            continue;
        if (c == ':' && !(to < u->count && unit_at(u, to) == ' ')) /* "password: x", but no path and no port */
            continue;
        to += c == ':';
        unsigned quote = to < u->count && is_quote(unit_at(u, to)) ? unit_at(u, to) : 0;
        size_t   begin = to + (quote != 0);
        for (to = begin;
             to < u->count && (quote ? unit_at(u, to) != quote && unit_at(u, to) : !is_space(unit_at(u, to))); to++)
            ;
        if (to == begin)
            continue;
        words_token(w, u, begin, to, TOKEN_VALUE);
        counts->environment++;
        i = to;
    }
}

/* --- words --- */

static void count_word(struct redact_counts *counts, int kind)
{
    ++*(kind == TOKEN_ARGUMENT ? &counts->arguments
        : kind == TOKEN_PATH   ? &counts->paths
        : kind == TOKEN_VALUE  ? &counts->environment
                               : &counts->names);
}

/* Replaces the longest known word wherever a word can begin. */
static void known_words(struct redact_words *w, const struct redact_units *u, struct redact_counts *counts)
{
    for (size_t i = 0; i < u->count; i++) {
        if (i && is_word(unit_at(u, i - 1)) && is_word(unit_at(u, i)))
            continue;
        size_t best = i;
        int    kind = -1;
        for (size_t end = i + 1; end <= u->count && end - i <= WORD_EXTENT; end++) {
            if (end < u->count && is_word(unit_at(u, end)) && is_word(unit_at(u, end - 1)))
                continue;
            int found = words_find(w, u, i, end);
            if (found >= 0) {
                best = end;
                kind = found;
            }
            if (end < u->count && is_space(unit_at(u, end)))
                break;
        }
        if (kind < 0)
            continue;
        words_token(w, u, i, best, (enum redact_kind)kind);
        count_word(counts, kind);
        i = best - 1;
    }
}

/* Replaces HOST of scheme://HOST, and user and HOST of user@HOST. */
static void hosts(struct redact_words *w, const struct redact_units *u, struct redact_counts *counts)
{
    for (size_t i = 1; i + 1 < u->count; i++) {
        unsigned c      = unit_at(u, i);
        bool     scheme = i >= 2 && c == '/' && unit_at(u, i - 1) == '/' && unit_at(u, i - 2) == ':';
        if (!scheme && c != '@')
            continue;
        size_t from = i + 1, to = from, user = i;
        while (to < u->count && (is_word(unit_at(u, to)) || unit_at(u, to) == '-' || unit_at(u, to) == '.'))
            to++;
        while (!scheme && user > 0 &&
               (is_word(unit_at(u, user - 1)) || unit_at(u, user - 1) == '-' || unit_at(u, user - 1) == '.' ||
                unit_at(u, user - 1) == '+'))
            user--;
        if (!scheme && (user == i || to == from)) /* "@" alone */
            continue;
        if (to > from) {
            words_token(w, u, from, to, TOKEN_NAME);
            counts->names++;
        }
        if (user < i) {
            words_token(w, u, user, i, TOKEN_NAME);
            counts->names++;
        }
        i = to > i ? to - 1 : i;
    }
}

/* --- paths --- */

void redact_path(struct redact_words *w, const struct redact_units *u, size_t from, size_t to,
                 struct redact_counts *counts)
{
    static const char *const keep[] = {"Device", "usr",  "lib", "bin", "etc", "home", "var",
                                       "tmp",    "proc", "sys", "dev", "run", "opt"};
    char                     part[TEXT_MOST];

    for (size_t i = from; i < to;) {
        size_t end  = i;
        bool   kept = false;
        while (end < to && unit_at(u, end) != '/' && unit_at(u, end) != '\\')
            end++;
        if (ascii(u, i, end, part, sizeof part)) {
            kept = strncmp(part, "HarddiskVolume", 14) == 0 || !strcmp(part, ".") || !strcmp(part, "..");
            for (size_t k = 0; k < sizeof keep / sizeof *keep; k++)
                kept |= strcmp(part, keep[k]) == 0;
        }
        if (end > i && !kept) {
            words_token(w, u, i, end, TOKEN_PATH);
            counts->paths++;
        }
        i = end + 1;
    }
}

/* Replaces paths in a text: from '/' or '\' after a space or at the beginning to the next space. */
static void paths(struct redact_words *w, const struct redact_units *u, struct redact_counts *counts)
{
    for (size_t i = 0; i < u->count; i++) {
        unsigned c = unit_at(u, i);
        if ((c != '/' && c != '\\') || (i && !is_space(unit_at(u, i - 1)) && !is_quote(unit_at(u, i - 1)) &&
                                        unit_at(u, i - 1) != '=' && unit_at(u, i - 1) != ':'))
            continue;
        size_t end = i;
        while (end < u->count && !is_space(unit_at(u, end)) && !is_quote(unit_at(u, end)))
            end++;
        redact_path(w, u, i, end, counts);
        i = end;
    }
}

/* --- */

void redact_each_argument(const struct redact_units *u, void (*each)(void *ctx, size_t from, size_t to), void *ctx)
{
    bool first = true;

    for (size_t i = 0; i < u->count;) {
        while (i < u->count && is_space(unit_at(u, i)))
            i++;
        unsigned quote = i < u->count && is_quote(unit_at(u, i)) ? unit_at(u, i) : 0;
        size_t   from = i + (quote != 0), to = from;
        while (to < u->count && (quote ? unit_at(u, to) != quote : !is_space(unit_at(u, to))))
            to++;
        if (!first && to > from)
            each(ctx, from, to);
        first = first && to == from;
        i     = to + (quote != 0);
    }
}

struct redact_text_replacing {
    struct redact_words       *w;
    const struct redact_units *u;
    struct redact_counts      *counts;
};

static void replace_argument(void *ctx, size_t from, size_t to)
{
    struct redact_text_replacing *r = ctx;
    words_token(r->w, r->u, from, to, TOKEN_ARGUMENT);
    r->counts->arguments++;
}

void redact_arguments(struct redact_words *w, const struct redact_units *u, struct redact_counts *counts)
{
    redact_each_argument(u, replace_argument, &(struct redact_text_replacing){w, u, counts});
}

void redact_text(struct redact_words *w, unsigned what, bool variables, const struct redact_units *u,
                 struct redact_counts *counts)
{
    if (what & REDACT_NAMES)
        hosts(w, u, counts);
    if (what & REDACT_ARGUMENTS && variables)
        redact_text_environment(w, u, counts);
    if (what & REDACT_ADDRESSES)
        addresses(w, u, counts);
    if (what & (REDACT_NAMES | REDACT_ARGUMENTS))
        known_words(w, u, counts);
    if (what & REDACT_PATHS)
        paths(w, u, counts);
}
