/* redact.h - replaces private data in events: arguments of programs, names of users and hosts, addresses of the network
 * and, on request, names of files. Each is replaced, in its place and in its length, by a token: one redactor gives the
 * same text the same token (in all events, in all files of a bundle), and a token does not lead to the text without the
 * redactor's key, which is thrown away.
 * What is replaced
 *   arguments  in fields named CommandLine and the like all but the program; and each argument of 6 or more characters
 *              wherever it stands as a word in any text; values of environment-like texts (NAME=value, password=value)
 *   names      of users with an account here (no system accounts), of /home/NAME in the trace, of this host, of hosts
 *              named in the trace, of scheme://HOST and user@HOST; the texts of fields named user, login, account,
 *              host, computer, domain; words that were given
 *   addresses  IPv4, IPv6 and MAC, in fields and in texts; loopback and "any" stay
 *   paths      each part of a path's name in fields of file names, and text that looks like a path
 * A payload without a description is overwritten with zeros, as are raw bytes that only a program can read; both are
 * counted. Descriptions of events, names of the kernel's functions and build ids stay: they are not private.
 * Invariants: R1 records keep their size, so nothing else in a file moves. R2 without learning first, arguments and
 * names are found only in fields that are named for them. Threads: one. Ownership: create/destroy. Not for: files
 * (relog, merge), numeric user ids, which stay. */
#ifndef AUTOLOGGER_CONSUMER_REDACT_H
#define AUTOLOGGER_CONSUMER_REDACT_H
#include "autologger/consumer/decoded.h"

enum {
    REDACT_ARGUMENTS = 1,
    REDACT_NAMES     = 2,
    REDACT_ADDRESSES = 4,
    REDACT_PATHS     = 8,
    REDACT_USUAL     = 7,
    REDACT_ALL       = 15
};
struct redact_counts {
    uint64_t arguments, names, addresses, paths, environment; /* texts and values that were replaced */
    uint64_t zeroed;                                          /* payloads without a description, or raw bytes */
};
struct redactor;
/* "arguments,names" or "all"; false: a word is not known. */
bool redact_parse(const char *text, unsigned *what);
/* NULL: no memory, or no random key. */
struct redactor *redactor_create(unsigned what);
/* Sets the descriptions of events from now on (borrowed): manifests, and those in the files. Payloads without one are
 * zeroed. */
void redactor_describe(struct redactor *r, struct schema_set *set);
void redactor_destroy(struct redactor *r); /* NULL is fine */
/* Adds a word that is replaced wherever it stands: a name that is not found otherwise. False: no memory. */
bool redactor_word(struct redactor *r, const char *word);
/* Learns private words of an event, which may stand elsewhere without their field: takes all events of all files before
 * the first is replaced. */
void redactor_learn(struct redactor *r, const struct etl_event *e, const struct decoded *names);
/* The same for a whole file. */
wstatus redactor_learn_file(struct redactor *r, const char *path, struct reason *why);
/* Replaces private data in `record`, a copy of e->record. */
void redactor_event(struct redactor *r, const struct etl_event *e, const struct decoded *names, uint8_t *record);
/* The same for a record alone, which a merge copies or adds. False: it is no record. */
bool redactor_record(struct redactor *r, uint8_t *record, uint32_t size);
/* A text of any length (a name in a file's header, a line of a report), in its place. */
void                        redactor_text(struct redactor *r, void *text, size_t size,
                                          unsigned width); /* width 1: UTF-8, 2: UTF-16LE; size in bytes */
const struct redact_counts *redactor_counts(const struct redactor *r);
bool                        redactor_failed(const struct redactor *r); /* no memory: the result must not be used */
#endif
