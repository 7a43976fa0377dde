/* Requests of a merge without rights to its host, of any bytes, one after another: each descriptor is of a file that
 * the merge may have, checked by the file's real path and its content; only the temporary is made, written, renamed and
 * removed; all other files stay as they were. */
#include "autologger/daemon/end/merge_host.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FILES = 3, REQUESTS = 16 };
/* two inputs, and a secret */
static char        folder[] = "/tmp/al-fuzz-merge-XXXXXX", path[FILES][64], target[64], temporary[80];
static struct stat was[FILES];

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void put(const char *name, const char *text)
{
    FILE *f = fopen(name, "we");
    must(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void away(void)
{
    for (unsigned i = 0; i < FILES; i++)
        unlink(path[i]);
    unlink(target);
    unlink(temporary);
    rmdir(folder);
}

static void begin(void)
{
    must(mkdtemp(folder));
    for (unsigned i = 0; i < FILES; i++) {
        snprintf(path[i], sizeof path[i], "%s/%c", folder, 'a' + (int)i);
        put(path[i], "a trace of somebody");
        must(stat(path[i], &was[i]) == 0);
    }
    snprintf(target, sizeof target, "%s/t", folder);
    snprintf(temporary, sizeof temporary, "%s.merging-%d", target, (int)getpid());
    atexit(away);
}

static bool is_elf(int fd)
{
    char magic[4];
    return pread(fd, magic, sizeof magic, 0) == 4 && memcmp(magic, "\177ELF", 4) == 0;
}

static bool is_of_machine(const char *real)
{
    static const char *const names[] = {"/proc/kallsyms",  "/proc/modules",       "/proc/sys/kernel/random/boot_id",
                                        "/etc/os-release", "/usr/lib/os-release", "/sys/kernel/notes"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(real, names[i]) == 0)
            return true;
    return strncmp(real, "/sys/module/", 12) == 0 && strstr(real, "/notes/.note.gnu.build-id");
}

static void may_be_had(int fd)
{
    char      link[40], real[PATH_MAX];
    const int how = fcntl(fd, F_GETFL) & O_ACCMODE;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t n = readlink(link, real, sizeof real - 1);
    must(n > 0);
    real[n] = 0;
    if (strcmp(real, temporary) == 0)
        return;
    must(how == O_RDONLY);
    must(strcmp(real, path[0]) == 0 || strcmp(real, path[1]) == 0 || strcmp(real, target) == 0 || is_of_machine(real) ||
         (is_elf(fd) && strncmp(real, "/proc/", 6) != 0));
}

static void all_is_as_it_was(void)
{
    struct stat st;
    for (unsigned i = 0; i < FILES; i++)
        must(stat(path[i], &st) == 0 && st.st_ino == was[i].st_ino && st.st_size == was[i].st_size &&
             st.st_mtim.tv_nsec == was[i].st_mtim.tv_nsec && st.st_mode == was[i].st_mode && st.st_nlink == 1);
    DIR *d = opendir(folder);
    must(d);
    for (struct dirent *e; (e = readdir(d));)
        must(*e->d_name == '.' || strlen(e->d_name) == 1 || strcmp(e->d_name, strrchr(temporary, '/') + 1) == 0);
    closedir(d);
}

/* A path: one of the known ones, with bytes of the input behind it. */
static void path_make(char *out, size_t room, unsigned which, const uint8_t *data, size_t size)
{
    static char              other[100];
    static const char *const known[] = {path[0],
                                        path[1],
                                        path[2],
                                        target,
                                        temporary,
                                        other,
                                        folder,
                                        "",
                                        "/bin/true",
                                        "/etc/passwd",
                                        "/etc/shadow",
                                        "/proc/self/mem",
                                        "/proc/self/root",
                                        "/proc/kallsyms",
                                        "/sys/module/",
                                        "/etc/os-release",
                                        "/var/lib/autologger/publishers/",
                                        "/dev/zero",
                                        "/proc/self/fd/0"};
    snprintf(other, sizeof other, "%s.merging-%d", target, (int)getpid() + 1);
    const char  *begin_with = known[which % (sizeof known / sizeof *known)];
    const size_t n = strlen(begin_with), more = size < room - n ? size : room - n; /* also without a NUL */
    memcpy(out, begin_with, n);
    memcpy(out + n, data, more);
}

static size_t one(struct merge_host *h, const uint8_t *data, size_t size)
{
    static struct merge_ask ask;
    struct merge_reply      reply;
    const size_t            first = size > 6 ? data[5] % 64 : 0, second = size > 6 ? data[6] % 64 : 0;
    if (size < 7 || size < 7 + first + second)
        return size;
    memset(&ask, 0, sizeof ask);
    ask.what  = data[0] % (MERGE_ASKED + 2);
    ask.flags = data[1] & 1 ? (int32_t)(O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW) : (int32_t)(data[2] << 12 | data[1]);
    ask.mode  = data[1] & 1 ? 0640 : (uint32_t)data[2] << 4;
    if (ask.what == MERGE_UNWIND) /* starts a program */
        ask.what = MERGE_UNWIND_STOP;
    path_make(ask.path, sizeof ask.path, data[3], data + 7, first);
    path_make(ask.to, sizeof ask.to, data[4], data + 7 + first, second);
    const int fd = merge_host_reply(h, &ask, &reply);
    must(reply.passed == (fd >= 0));
    if (fd >= 0) {
        may_be_had(fd);
        close(fd);
    }
    return 7 + first + second;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool begun;
    if (!begun)
        begin();
    begun                      = true;
    const char *const inputs[] = {path[0], path[1]};
    struct merge_host h        = {.inputs     = inputs,
                                  .count      = 2,
                                  .target     = target,
                                  .publishers = "/var/lib/autologger/publishers",
                                  .bytes      = 1,
                                  .asker_fd   = -1};
    for (unsigned n = 0; n < REQUESTS && size; n++) {
        const size_t used = one(&h, data, size);
        data += used;
        size -= used;
    }
    all_is_as_it_was();
    unlink(temporary);
    unlink(target);
    return 0;
}
