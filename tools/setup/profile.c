/* profile.c - see profile.h. */
#include "tools/setup/profile.h"
#include "registry-sim/base/nearest.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOLDERS_MAX = 16 };

struct folders {
    struct folder {
        char path[PROFILE_PATH];
        bool shipped;
    } at[FOLDERS_MAX];
    unsigned count;
};
static const char *const endings[] = {".ini", ".reg"};
enum { ENDINGS = sizeof endings / sizeof *endings };

static void folder_add(struct folders *f, bool shipped, const char *format, const char *base, int length)
{
    if (f->count == FOLDERS_MAX)
        return;
    struct folder *at = &f->at[f->count];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    int n = snprintf(at->path, sizeof at->path, format, length, base);
#pragma GCC diagnostic pop
    at->shipped = shipped;
    if (n > 0 && (size_t)n < sizeof at->path - PROFILE_NAME - 8)
        f->count++;
}

/* A build tree is two folders below its source: SOURCE/build/release/autologger. */
static void build_tree_add(struct folders *f)
{
    char    self[PROFILE_PATH];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0)
        return;
    self[n] = 0;
    for (unsigned up = 0; up < 3; up++) {
        char *slash = strrchr(self, '/');
        if (!slash)
            return;
        *slash = 0;
        struct stat st;
        char        cache[PROFILE_PATH + 32];
        snprintf(cache, sizeof cache, "%s/config/profiles", self);
        if (up && !stat(cache, &st) && S_ISDIR(st.st_mode)) {
            folder_add(f, true, "%.*s/config/profiles", self, (int)strlen(self));
            return;
        }
    }
}

static void own_add(struct folders *f)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (config && *config)
        folder_add(f, false, "%.*s/autologger/profiles", config, (int)strlen(config));
    else if (home && *home)
        folder_add(f, false, "%.*s/.config/autologger/profiles", home, (int)strlen(home));
}

static void folders_find(struct folders *f, const char *root)
{
    const char *given = getenv("AUTOLOGGER_PROFILES");
    f->count          = 0;
    while (given && *given) {
        size_t n = strcspn(given, ":");
        if (n)
            folder_add(f, false, "%.*s", given, (int)n);
        given += n + (given[n] == ':');
    }
    if (root && *root) {
        folder_add(f, false, "%.*s/etc/autologger/profiles", root, (int)strlen(root));
        folder_add(f, true, "%.*s/usr/share/autologger/profiles", root, (int)strlen(root));
    }
    own_add(f);
    folder_add(f, false, "/etc/autologger/profiles%.*s", "", 0);
    folder_add(f, true, "/usr/share/autologger/profiles%.*s", "", 0);
    build_tree_add(f);
}

bool profile_name_fits(const char *name)
{
    static const char fine[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    size_t            n      = strlen(name);
    return n > 0 && n < PROFILE_NAME && strspn(name, fine) == n;
}

/* "boot.ini" -> "boot". False: not a profile. */
static bool profile_name_of(const char *file, char name[PROFILE_NAME])
{
    size_t n = strlen(file);
    for (unsigned i = 0; i < ENDINGS; i++) {
        size_t end = strlen(endings[i]);
        if (n > end && n - end < PROFILE_NAME && !strcmp(file + n - end, endings[i])) {
            memcpy(name, file, n - end);
            name[n - end] = 0;
            return profile_name_fits(name);
        }
    }
    return false;
}

/* The first line when it is a comment; "; boot: the default." -> "the default." */
static void summary_read(struct profile *p)
{
    char  line[256];
    FILE *from    = fopen(p->path, "r");
    p->summary[0] = 0;
    if (!from)
        return;
    if (fgets(line, sizeof line, from) && line[0] == ';') {
        const char *text = line + 1 + strspn(line + 1, " ");
        size_t      n    = strlen(p->name);
        if (!strncmp(text, p->name, n) && text[n] == ':')
            text += n + 1 + strspn(text + n + 1, " ");
        snprintf(p->summary, sizeof p->summary, "%.*s", (int)strcspn(text, "\r\n"), text);
    }
    fclose(from);
}

static wstatus folder_read(const struct folder *f, struct profile_list *l, struct reason *why)
{
    DIR     *d      = opendir(f->path);
    wstatus  st     = W_SUCCESS;
    unsigned before = l->count;
    for (struct dirent *e; d && !st && (e = readdir(d));) {
        char name[PROFILE_NAME];
        if (!profile_name_of(e->d_name, name))
            continue;
        struct profile *items = realloc(l->items, (l->count + 1) * sizeof *items);
        if (!items) {
            st = reason_set(why, W_OUTOFMEMORY, "not enough memory");
            break;
        }
        l->items          = items;
        struct profile *p = &items[l->count++];
        memset(p, 0, sizeof *p);
        memcpy(p->name, name, sizeof p->name);
        snprintf(p->path, sizeof p->path, "%.900s/%.100s", f->path, e->d_name);
        p->shipped = f->shipped;
        for (unsigned i = 0; i < before; i++)
            p->hidden |= !strcmp(items[i].name, name);
        summary_read(p);
    }
    if (d)
        closedir(d);
    return st;
}

static int profile_by_name(const void *a, const void *b)
{
    const struct profile *x = a, *y = b;
    int                   order = strcmp(x->name, y->name);
    if (order)
        return order;
    return x->hidden != y->hidden ? x->hidden - y->hidden : strcmp(x->path, y->path);
}

wstatus profile_list_load(const char *root, struct profile_list *out, struct reason *why)
{
    struct folders f;
    wstatus        st = W_SUCCESS;
    *out              = (struct profile_list){0};
    folders_find(&f, root);
    for (unsigned i = 0; i < f.count && !st; i++)
        st = folder_read(&f.at[i], out, why);
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, profile_by_name);
    return st;
}

void profile_list_finish(struct profile_list *list)
{
    free(list->items);
    *list = (struct profile_list){0};
}

/* No such profile: the reason suggests a name and lists all profiles. */
static wstatus nothing_found(const char *word, const char *root, struct reason *why)
{
    struct profile_list l          = {0};
    struct nearest      near       = nearest_make(word, 2);
    char                names[256] = "";
    profile_list_load(root, &l, NULL);
    for (unsigned i = 0; i < l.count; i++)
        if (!l.items[i].hidden) {
            size_t n = strlen(names);
            nearest_try(&near, l.items[i].name);
            snprintf(names + n, sizeof names - n, "%s%s", n ? ", " : "", l.items[i].name);
        }
    wstatus st = reason_set(why, W_FILE_NOT_FOUND,
                            "there is no file and no profile \"%s\"%s%s%s. Do: name a file, or one of: %s", word,
                            near.found ? ", did you mean " : "", near.found ? near.found : "", near.found ? "?" : "",
                            names[0] ? names : "(no profiles are installed)");
    profile_list_finish(&l);
    return st;
}

wstatus profile_resolve(const char *word, const char *root, char path[PROFILE_PATH], struct reason *why)
{
    struct folders f;
    bool           a_name = profile_name_fits(word);
    folders_find(&f, root);
    for (unsigned i = 0; a_name && i < f.count; i++)
        for (unsigned e = 0; e < ENDINGS; e++) {
            snprintf(path, PROFILE_PATH, "%.900s/%s%s", f.at[i].path, word, endings[e]);
            if (!access(path, F_OK))
                return W_SUCCESS;
        }
    if (a_name && access(word, F_OK))
        return nothing_found(word, root, why);
    if (strlen(word) >= PROFILE_PATH)
        return reason_set(why, W_FILENAME_EXCED_RANGE, "the file's name is longer than %d bytes", PROFILE_PATH - 1);
    snprintf(path, PROFILE_PATH, "%s", word);
    return W_SUCCESS;
}

wstatus profile_own_path(const char *name, char path[PROFILE_PATH], struct reason *why)
{
    struct folders f     = {.count = 0};
    const char    *given = getenv("AUTOLOGGER_PROFILES"), *config = getenv("XDG_CONFIG_HOME");
    if (given && strcspn(given, ":"))
        folder_add(&f, false, "%.*s", given, (int)strcspn(given, ":"));
    else if (geteuid() == 0 && !(config && *config))
        folder_add(&f, false, "/etc/autologger/profiles%.*s", "", 0);
    else
        own_add(&f);
    if (!f.count)
        return reason_set(why, W_BAD_PATHNAME,
                          "there is no folder for profiles: neither HOME nor AUTOLOGGER_PROFILES is set");
    snprintf(path, PROFILE_PATH, "%.900s/%s.ini", f.at[0].path, name);
    return W_SUCCESS;
}
