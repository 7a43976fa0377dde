/* set_configuration.c - see set_configuration.h. */
#include "tools/sets/set_configuration.h"
#include "registry-sim/text/dialect.h"
#include "tools/base/json_out.h"
#include "tools/base/machine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { OUTPUT_MOST = 4 << 20, FILE_MOST = 1 << 20, SETTING_MOST = 4096, SETTING_DEPTH = 8 };

/* The lines of a command, as an array; or why there are none. */
static void configuration_command(struct json *j, const char *name, const char *const *argv, const char *const *other)
{
    struct machine machine;
    struct reason  why = {0};
    char          *out = calloc(1, OUTPUT_MOST), *rest;
    wstatus        st  = out ? machine_open(NULL, &machine, &why) : W_NOT_ENOUGH_MEMORY;
    if (!st && other && !machine_has_command(&machine, argv[0]))
        argv = other;
    st = st ? st : machine_run(&machine, argv, out, OUTPUT_MOST, true, &why);
    if (st) {
        json_object(j, name);
        json_text(j, "missing", why.text);
        json_object_end(j);
    } else {
        json_array(j, name);
        for (char *line = strtok_r(out, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
            json_text(j, NULL, line);
        json_array_end(j);
    }
    free(out);
}

/* The text of a small file, malloc; NULL: errno says why. */
static char *configuration_file(const char *path, size_t most)
{
    const int   fd   = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat is   = {0};
    char       *text = fd >= 0 && fstat(fd, &is) == 0 && S_ISREG(is.st_mode) ? malloc(most + 1) : NULL;
    size_t      n    = 0;
    if (fd >= 0 && !S_ISREG(is.st_mode))
        errno = EINVAL;
    while (text && n < most) {
        const ssize_t got = read(fd, text + n, most - n);
        if (got < 0) {
            free(text);
            text = NULL;
        }
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    const int error = errno;
    if (fd >= 0)
        close(fd);
    if (text)
        text[n] = 0;
    errno = error;
    return text;
}

/* Secret settings stay out: net.ipv4.tcp_fastopen_key, net.ipv6.conf.*.stable_secret. */
static bool configuration_secret(const char *name)
{
    const char *end = strrchr(name, '_');
    return end && (strcmp(end, "_key") == 0 || strcmp(end, "_secret") == 0);
}

/* Settings below /proc/sys, as "kernel.panic": "0". */
static void configuration_settings(struct json *j, const char *folder, const char *name, unsigned depth)
{
    DIR *d = opendir(folder);
    for (const struct dirent *e; d && (e = readdir(d));) {
        char path[1024], below[512];
        if (*e->d_name == '.' || depth > SETTING_DEPTH)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        snprintf(below, sizeof below, "%s%s%s", name, *name ? "." : "", e->d_name);
        if (e->d_type == DT_DIR) {
            configuration_settings(j, path, below, depth + 1);
            continue;
        }
        if (configuration_secret(e->d_name))
            continue;
        char *text = configuration_file(path, SETTING_MOST);
        if (text) {
            text[strcspn(text, "\n")] = 0;
            json_text(j, below, text);
        }
        free(text);
    }
    if (d)
        closedir(d);
}

static void configuration_key(struct json *j, struct regstore *store, const char *key)
{
    void         *text = NULL;
    size_t        size = 0;
    struct reason why  = {0};
    const wstatus st   = reg_export(store, key, false, &text, &size, &why);
    char         *copy = st ? NULL : strndup(text, size);
    json_object(j, NULL);
    json_text(j, "key", key);
    json_text(j, copy ? "reg" : "missing", copy ? copy : why.text);
    json_object_end(j);
    free(copy);
    free(text);
}

static void configuration_path(struct json *j, const char *path)
{
    struct stat is;
    char       *text = configuration_file(path, FILE_MOST);
    json_object(j, NULL);
    json_text(j, "path", path);
    if (text && stat(path, &is) == 0) {
        json_number(j, "size", (uint64_t)is.st_size);
        json_number(j, "modified", (uint64_t)is.st_mtime);
        if (strlen(text) < (size_t)is.st_size && strlen(text) < FILE_MOST)
            json_text(j, "missing", "it is no text");
        else
            json_text(j, "text", text);
        json_flag(j, "cut", is.st_size > FILE_MOST);
    } else
        json_text(j, "missing", strerror(errno));
    json_object_end(j);
    free(text);
}

/* Each word of Configuration that begins with `prefix`. */
static void configuration_each(struct json *j, const char *list, const char *prefix, struct regstore *store)
{
    for (char word[1024]; set_word_next(&list, word, sizeof word);)
        if (strncasecmp(word, prefix, strlen(prefix)) == 0) {
            if (store)
                configuration_key(j, store, word + strlen(prefix));
            else
                configuration_path(j, word + strlen(prefix));
        }
}

static bool configuration_wants(const char *list, const char *what)
{
    for (char word[1024]; set_word_next(&list, word, sizeof word);)
        if (strcasecmp(word, what) == 0)
            return true;
    return false;
}

wstatus set_configuration_write(const struct collector_set *s, struct regstore *store, const char *path,
                                struct reason *why)
{
    static const char *const units[]    = {"systemctl",   "list-units", "--all",  "--plain",
                                           "--no-legend", "--no-pager", "--full", NULL};
    static const char *const packages[] = {"dpkg-query", "-W", "-f", "${Package} ${Version} ${Architecture}\\n", NULL};
    static const char *const rpms[]     = {"rpm", "-qa", NULL};
    const char              *list       = collector_set_text(s, VALUE_SET_CONFIGURATION);
    struct utsname           system     = {0};
    FILE                    *to         = fopen(path, "wxe");
    struct json             *j          = to ? json_create(to, true) : NULL;
    if (!j) {
        const int error = errno;
        if (to)
            fclose(to);
        return reason_set(why, wstatus_from_errno(error), "%s: %s", path, strerror(error));
    }
    uname(&system);
    json_object(j, NULL);
    json_text(j, "set", s->name);
    json_text(j, "host", system.nodename);
    json_text(j, "kernel", system.release);
    json_text(j, "version", system.version);
    if (configuration_wants(list, "Units"))
        configuration_command(j, "units", units, NULL);
    if (configuration_wants(list, "Packages"))
        configuration_command(j, "packages", packages, rpms);
    if (configuration_wants(list, "Sysctl")) {
        json_object(j, "sysctl");
        configuration_settings(j, "/proc/sys", "", 0);
        json_object_end(j);
    }
    json_array(j, "registry");
    configuration_each(j, list, "Registry:", store);
    json_array_end(j);
    json_array(j, "files");
    configuration_each(j, list, "File:", NULL);
    json_array_end(j);
    json_object_end(j);
    json_destroy(j);
    if (fclose(to))
        return reason_set(why, wstatus_from_errno(errno), "%s: %s", path, strerror(errno));
    return W_SUCCESS;
}
