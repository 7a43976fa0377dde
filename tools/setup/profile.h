/* profile.h - ready-made configurations by name: the shipped ones and those of the user.
 * A profile is NAME.ini or NAME.reg in one of the profile folders; the first folder that has the name wins, in this
 * order: $AUTOLOGGER_PROFILES (folders joined by ':'), etc/autologger/profiles and usr/share/autologger/profiles of the
 * machine that --root names, $XDG_CONFIG_HOME/autologger/profiles (~/.config), /etc/autologger/profiles,
 * /usr/share/autologger/profiles, and config/profiles of the source that this program was built from.
 * Threads: one. Ownership: profile_list_finish; paths are copied into the caller's buffers. Not for: reading them
 * (dialect.h). */
#ifndef TOOLS_PROFILE_H
#define TOOLS_PROFILE_H
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>

enum { PROFILE_PATH = 1024, PROFILE_NAME = 64, PROFILE_SUMMARY = 160 };

struct profile {
    char name[PROFILE_NAME];
    char path[PROFILE_PATH];
    char summary[PROFILE_SUMMARY]; /* its first comment, without "; name: " */
    bool shipped;                  /* not the user's or the machine's own */
    bool hidden;                   /* an earlier folder has the same name */
};
struct profile_list {
    struct profile *items; /* malloc, in name order; hidden ones after those that hide them */
    unsigned        count;
};
/* All profiles of all folders; `root`: another machine's root folder, or NULL. W_OUTOFMEMORY. */
wstatus profile_list_load(const char *root, struct profile_list *out, struct reason *why);
void    profile_list_finish(struct profile_list *list);
/* Resolves FILE or PROFILE to a path. A word without '/' and '.' is looked for in the folders first. Any other word, or
 * one not found there that is a file, is a path already. W_FILE_NOT_FOUND, with what was looked for: neither exists. */
wstatus profile_resolve(const char *word, const char *root, char path[PROFILE_PATH], struct reason *why);
/* Where a profile of this user is kept: $AUTOLOGGER_PROFILES' first folder, else $XDG_CONFIG_HOME/autologger/profiles,
 * else the machine's for root and ~/.config/autologger/profiles for others.
 * W_BAD_PATHNAME when there is no home folder. */
wstatus profile_own_path(const char *name, char path[PROFILE_PATH], struct reason *why);
/* A name of letters, digits, '-' and '_', at most PROFILE_NAME - 1 of them. */
bool profile_name_fits(const char *name);
#endif
