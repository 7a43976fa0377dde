/* access_words.h - rights and who has them, in words: "alice=log,query", "group:devs=all".
 * Threads: one. Not for: what a descriptor is (registry-sim/win32/security.h). */
#ifndef TOOLS_ACCESS_WORDS_H
#define TOOLS_ACCESS_WORDS_H
#include "registry-sim/win32/guid.h"
#include "registry-sim/win32/security.h"

enum { ACCESS_WHO = 256, ACCESS_RIGHTS = 160 };

/* "WHO=RIGHT,...": WHO is a user's name or number, group:NAME, everyone, root, or a SID; names are looked up in
 * /etc/passwd and /etc/group. W_INVALID_PARAMETER with what is wrong. */
wstatus access_entry_parse(const char *text, struct security_entry *out, struct reason *why);
/* In the form that access_entry_parse reads; a user or group without a name by number. Return `out`. */
const char *access_who(const struct sid *s, char out[ACCESS_WHO]);
const char *access_rights(uint32_t rights, char out[ACCESS_RIGHTS]);
/* The name of an object that is no program's provider: "default", "kernel"; NULL: another object. And the reverse. */
const char *access_object_name(const struct guid *object);
bool        access_object_parse(const char *name, struct guid *out);
#endif
