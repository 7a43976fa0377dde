#include "autologger/schema/publishers.h"

#include "autologger/schema/manifest_file.h"
#include "autologger/schema/manifest_model.h"
#include "autologger/schema/manifest_pack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *publishers_folder(void)
{
    const char *given = getenv("AUTOLOGGER_PUBLISHERS");
    return given && *given ? given : PUBLISHERS_DEFAULT;
}

const char *publishers_beside(const char *store, char out[PUBLISHERS_PATH])
{
    const char *given = getenv("AUTOLOGGER_PUBLISHERS"), *slash = strrchr(store, '/');

    if (given && *given)
        snprintf(out, PUBLISHERS_PATH, "%s", given);
    else
        snprintf(out, PUBLISHERS_PATH, "%.*spublishers", slash ? (int)(slash - store + 1) : 0, store);
    return out;
}

const char *publishers_culture(const char *given)
{
    static const char *const names[] = {"LC_ALL", "LC_MESSAGES", "LANG"};
    for (int i = 0; i < 3 && !given; i++) {
        given = getenv(names[i]);
        if (given && !*given)
            given = NULL;
    }
    return given;
}

const char *publishers_path(const char *folder, const struct guid *guid, char out[PUBLISHERS_PATH])
{
    char text[GUID_TEXT_SIZE];
    snprintf(out, PUBLISHERS_PATH, "%s/%s.alm", folder, guid_format(guid, text));
    return out;
}

static wstatus publishers_keep(void *ctx, struct manifest *m, struct reason *why)
{
    struct manifest **out = ctx;
    (void)why;
    if (*out)
        manifest_free(m); /* one file, one manifest */
    else
        *out = m;
    return W_SUCCESS;
}

wstatus publishers_load(const char *folder, const struct guid *guid, struct manifest **out, struct reason *why)
{
    char path[PUBLISHERS_PATH];

    *out       = NULL;
    wstatus st = manifest_file_binary(publishers_path(folder, guid, path), publishers_keep, out, why);
    if (st) {
        manifest_free(*out);
        *out = NULL;
    }
    return st;
}

void publishers_ask(void *ctx, struct schema_set *set, const struct guid *guid)
{
    struct publishers *p = ctx;
    struct manifest   *m;
    struct reason      why = {0};
    wstatus            st  = publishers_load(p->folder, guid, &m, &why);

    if (st == W_FILE_NOT_FOUND || st == W_PATH_NOT_FOUND)
        return;
    if (!st)
        st = manifest_schemas(m, manifest_culture_find(m, p->culture), SCHEMA_MANIFEST, set, &why);
    manifest_free(m);
    if (!st)
        p->read++;
    else if (p->failed++ == 0)
        p->why = why;
}

static bool in_set(const struct schema_set *set, const struct guid *guid)
{
    const struct schema_provider *p;
    enum schema_source            source;

    for (size_t i = 0; (p = schema_set_provider(set, i, &source)); i++)
        if (source == SCHEMA_MANIFEST && guid_equal(&p->guid, guid))
            return true;
    return false;
}

void publishers_ask_all(struct publishers *p, struct schema_set *set)
{
    DIR           *folder = opendir(p->folder);
    struct dirent *d;
    struct guid    guid;
    char           name[GUID_TEXT_SIZE];

    while (folder && (d = readdir(folder))) {
        if (strlen(d->d_name) != GUID_TEXT_SIZE - 1 + 4 || strcmp(d->d_name + GUID_TEXT_SIZE - 1, ".alm") != 0)
            continue;
        snprintf(name, sizeof name, "%s", d->d_name);
        if (guid_parse_braced(name, &guid) && !in_set(set, &guid))
            publishers_ask(p, set, &guid);
    }
    if (folder)
        closedir(folder);
}

static wstatus publishers_failed(const char *what, const char *path, struct reason *why)
{
    int error = errno;
    return reason_set(why, wstatus_from_errno(error), "%s cannot be %s: %s", path, what, strerror(error));
}

wstatus publishers_save(const char *folder, const struct manifest *m, unsigned provider, struct reason *why)
{
    struct manifest one = *m;
    struct text     out = {0};
    char            path[PUBLISHERS_PATH], temporary[PUBLISHERS_PATH + 32];
    wstatus         st = W_SUCCESS;

    one.providers.at    = &m->providers.at[provider];
    one.providers.count = 1;
    publishers_path(folder, &one.providers.at->guid, path);
    snprintf(temporary, sizeof temporary, "%s.new-%d", path, (int)getpid());
    if (!manifest_pack_all(&one, &out)) {
        text_finish(&out);
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the manifest of %s", m->origin);
    }
    if (mkdir(folder, 0755) < 0 && errno != EEXIST) {
        text_finish(&out);
        return publishers_failed("made", folder, why);
    }
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
        st = publishers_failed("written", temporary, why);
    for (size_t done = 0; !st && done < out.length;) {
        ssize_t n = write(fd, out.data + done, out.length - done);
        if (n < 0 && errno != EINTR)
            st = publishers_failed("written", temporary, why);
        done += n > 0 ? (size_t)n : 0;
    }
    if (!st && (fchmod(fd, 0644) < 0 || fsync(fd) < 0)) /* whatever the umask: all users read traces with it */
        st = publishers_failed("written", temporary, why);
    if (fd >= 0 && close(fd) < 0 && !st)
        st = publishers_failed("written", temporary, why);
    if (!st && rename(temporary, path) < 0)
        st = publishers_failed("made", path, why);
    if (st && fd >= 0)
        unlink(temporary);
    text_finish(&out);
    return st;
}

wstatus publishers_remove(const char *folder, const struct guid *guid, struct reason *why)
{
    char path[PUBLISHERS_PATH];
    if (unlink(publishers_path(folder, guid, path)) < 0 && errno != ENOENT && errno != ENOTDIR)
        return publishers_failed("removed", path, why);
    return W_SUCCESS;
}
