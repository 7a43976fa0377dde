/* payload_words.c - see payload_words.h. */
#include "autologger/plan/payload_words.h"
#include "autologger/plan/publishers.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { TEXT_MAX = 8192 };

struct payload_reading {
    const char    *at;
    char          *words; /* room for the taken words */
    const char    *key;
    struct reason *why;
};

static wstatus payload_words_wrong(const struct payload_reading *r, const char *what)
{
    return reason_set(r->why, W_INVALID_PARAMETER, "%s at '%.40s'; as in Start: Size >= 4096 and Name contains 'a b'",
                      what, r->at);
}
static void blanks(struct payload_reading *r) { r->at += strspn(r->at, " \t"); }

/* Takes the next word, up to one of `ends`, or between quotes; "" when it is empty or there is none. NULL: the closing
 * quote is missing. */
static const char *payload_word_take(struct payload_reading *r, const char *ends, bool *quoted)
{
    char *word = r->words, *to = word;
    blanks(r);
    *quoted = *r->at == '\'';
    if (*quoted) {
        for (r->at++; *r->at != '\'' || r->at[1] == '\''; r->at++) {
            r->at += *r->at == '\'';
            if (!*r->at)
                return NULL;
            *to++ = *r->at;
        }
        r->at++;
    } else {
        const size_t n = strcspn(r->at, ends);
        memcpy(to, r->at, n);
        r->at += n;
        for (to += n; to > word && (to[-1] == ' ' || to[-1] == '\t');)
            to--;
    }
    *to      = 0;
    r->words = to + 1;
    return word;
}

/* Skips `word` if it is the next word. */
static bool keyword(struct payload_reading *r, const char *word)
{
    blanks(r);
    const size_t n = strlen(word);
    if (strncasecmp(r->at, word, n) != 0 || (r->at[n] && !strchr(" \t,'", r->at[n])))
        return false;
    r->at += n;
    return true;
}

static bool operator_take(struct payload_reading *r, uint8_t *op)
{
    static const struct {
        const char *sign;
        uint8_t     op;
    } signs[] = {{"==", PAYLOAD_EQ}, {"!=", PAYLOAD_NE}, {"<>", PAYLOAD_NE}, {"<=", PAYLOAD_LE},
                 {">=", PAYLOAD_GE}, {"=", PAYLOAD_EQ},  {"<", PAYLOAD_LT},  {">", PAYLOAD_GT}};
    blanks(r);
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strncmp(r->at, signs[i].sign, strlen(signs[i].sign)) == 0) {
            r->at += strlen(signs[i].sign);
            *op = signs[i].op;
            return true;
        }
    const bool is = keyword(r, "is"), negated = keyword(r, "not");
    if (is)
        *op = negated ? PAYLOAD_IS_NOT : PAYLOAD_IS;
    else if (keyword(r, "between"))
        *op = negated ? PAYLOAD_NOT_BETWEEN : PAYLOAD_BETWEEN;
    else if (keyword(r, "contains"))
        *op = negated ? PAYLOAD_NOT_CONTAINS : PAYLOAD_CONTAINS;
    else if (!negated && keyword(r, "modulo"))
        *op = PAYLOAD_MODULO;
    else
        return false;
    return true;
}

/* Takes "LOW and HIGH" as "LOW,HIGH", stored behind the two words. */
static const char *range_take(struct payload_reading *r)
{
    bool        quoted;
    const char *low = payload_word_take(r, " \t,", &quoted);
    if (!low || !keyword(r, "and"))
        return NULL;
    const char *high = payload_word_take(r, " \t,", &quoted);
    if (!high)
        return NULL;
    char *both = r->words, *to = stpcpy(both, low);
    *to++    = ',';
    r->words = stpcpy(to, high) + 1;
    return both;
}

static wstatus predicate_parse(struct payload_reading *r, struct payload_asked *out)
{
    bool quoted;
    if (!(out->field = payload_word_take(r, " \t,:=<>!", &quoted)) || !*out->field)
        return payload_words_wrong(r, "there is no field");
    if (!operator_take(r, &out->op))
        return payload_words_wrong(
            r,
            "there is no operator (= != < <= > >= is, is not, contains, not contains, between A and B, not between, modulo)");
    const bool range = out->op == PAYLOAD_BETWEEN || out->op == PAYLOAD_NOT_BETWEEN;
    out->step        = PAYLOAD_BY_NAME;
    out->text        = range ? range_take(r) : payload_word_take(r, " \t,", &quoted);
    return out->text && (*out->text || (!range && quoted))
               ? W_SUCCESS
               : payload_words_wrong(r, range ? "'between' takes two values with 'and'" : "there is no value");
}

static wstatus clause_parse(struct payload_reading *r, struct payload_clause *c, bool *quoted)
{
    bool all = false;
    if (!(c->event = payload_word_take(r, ":", quoted)) || !*c->event || (blanks(r), *r->at != ':'))
        return payload_words_wrong(r, "there is no event with a ':' behind it");
    r->at++;
    for (;;) {
        if (c->predicates == PAYLOAD_PREDICATES)
            return reason_set(r->why, W_INVALID_PARAMETER, "'%.40s' has more than %d predicates", c->event,
                              PAYLOAD_PREDICATES);
        wstatus st = predicate_parse(r, &c->predicate[c->predicates++]);
        if (st)
            return st;
        const bool also = keyword(r, "and"), either = !also && keyword(r, "or");
        if (!also && !either)
            break;
        if ((also && c->flags & PAYLOAD_ANY) || (either && all))
            return payload_words_wrong(r, "'and' and 'or' cannot be mixed in one event");
        all |= also;
        c->flags |= either ? PAYLOAD_ANY : 0;
    }
    blanks(r);
    return !*r->at || *r->at == ',' ? W_SUCCESS : payload_words_wrong(r, "'and', 'or', ',' or the end is expected");
}

/* Adds the clause; each version of the event in a manifest becomes an entry of its own. */
static wstatus clause_add(struct payload_reading *r, struct payload_clause *c, bool quoted, struct payload_bytes *out)
{
    const bool id   = !quoted && strspn(c->event, "0123456789") == strlen(c->event);
    bool       more = true;
    for (unsigned version = 0; more; version++) {
        wstatus st = publisher_event_layout(r->key, id, version, c, &more, r->why);
        if (st == W_NOT_FOUND && !id) { /* no manifest: the event describes itself */
            c->flags |= PAYLOAD_NAMED;
            c->steps = 0;
            more     = false;
            st       = W_SUCCESS;
        }
        st = st ? st : payload_add(out, c, r->why);
        if (st)
            return st;
    }
    return W_SUCCESS;
}

wstatus payload_words_parse(const char *key, const char *text, struct payload_bytes *out, struct reason *why)
{
    const size_t           size = strlen(text);
    char                  *room = size <= TEXT_MAX ? malloc(4 * size + 64) : NULL; /* a range is stored twice */
    struct payload_clause *c    = malloc(sizeof *c);
    struct payload_reading r    = {.at = text, .words = room, .key = key, .why = why};
    wstatus                st   = W_SUCCESS;
    bool                   quoted;

    out->size = 0;
    if (size > TEXT_MAX)
        st = reason_set(why, W_INVALID_PARAMETER, "a payload filter of %zu letters, at most %d are possible", size,
                        TEXT_MAX);
    else if (!room || !c)
        st = reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for a payload filter");
    do {
        if (st)
            break;
        memset(c, 0, sizeof *c);
        r.words = room;
        st      = clause_parse(&r, c, &quoted);
        st      = st ? st : clause_add(&r, c, quoted, out);
    } while (!st && *r.at++ == ',');
    free(c);
    free(room);
    return st;
}
