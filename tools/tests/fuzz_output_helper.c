/* Any bytes as requests of a command without rights to its output helper, one behind another: only the names that the
 * command was called with, and allowed names in its own folder, are made; existing files stay as they were. */
#include "tools/files/output_helper.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { REQUESTS = 16 };
static char        folder[] = "/tmp/al-fuzz-outputs-XXXXXX", target[64], temporary[64], made[64], other[64], link_[64];
static struct stat was;

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* Removes the files in `made`; no name may lead out of it. */
static void made_empty(void)
{
    DIR *d = opendir(made);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (*e->d_name == '.')
            continue;
        must(strspn(e->d_name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(e->d_name));
        must(unlinkat(dirfd(d), e->d_name, 0) == 0);
    }
    if (d)
        closedir(d);
    rmdir(made);
}

static void away(void)
{
    made_empty();
    unlink(target);
    unlink(temporary);
    unlink(other);
    unlink(link_);
    rmdir(folder);
}

static void begin(void)
{
    must(mkdtemp(folder));
    snprintf(target, sizeof target, "%s/target", folder);
    snprintf(temporary, sizeof temporary, "%s/temporary", folder);
    snprintf(made, sizeof made, "%s/made", folder);
    snprintf(other, sizeof other, "%s/other", folder);
    snprintf(link_, sizeof link_, "%s/link", folder);
    FILE *f = fopen(other, "we");
    must(f && fputs("of somebody", f) >= 0 && fclose(f) == 0 && stat(other, &was) == 0);
    must(symlink("other", link_) == 0);
    atexit(away);
}

static void only_what_may_be(void)
{
    static const char *const names[] = {".", "..", "target", "temporary", "made", "other", "link"};
    struct stat              st;
    must(stat(other, &st) == 0 && st.st_ino == was.st_ino && st.st_size == was.st_size &&
         st.st_mtim.tv_nsec == was.st_mtim.tv_nsec && st.st_nlink == 1);
    DIR *d = opendir(folder);
    must(d);
    for (struct dirent *e; (e = readdir(d));) {
        bool known = false;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            known = known || strcmp(e->d_name, names[i]) == 0;
        must(known);
    }
    closedir(d);
}

static void one(struct output_helper *h, const uint8_t *data, size_t size)
{
    struct output_ask   ask = {0};
    struct output_reply reply;
    memcpy(&ask, data, size < sizeof ask ? size : sizeof ask);
    ask.what %= 2 * OUTPUT_ASKED; /* most numbers are none */
    ask.which %= 2 * OUTPUTS_MOST;
    if (size && data[0] & 0x80) {
        ask.flags = O_WRONLY | O_CREAT | O_EXCL;
        ask.mode  = 0640;
    }
    const int fd = output_helper_reply(h, &ask, &reply);
    must(reply.passed == (fd >= 0));
    if (fd >= 0) {
        const int how = fcntl(fd, F_GETFL) & O_ACCMODE; /* 3: for ioctl alone */
        /* a write to an existing file would be noticed */
        must(write(fd, "x", 1) == 1 || (how != O_WRONLY && how != O_RDWR));
        close(fd);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool begun;
    if (!begun)
        begin();
    begun                  = true;
    struct output_helper h = {.output = {{target, temporary, -1, false, false}, {made, NULL, -1, false, false}},
                              .count  = 2};
    if (size && data[0] & 1) /* an attacker has put a link there */
        must(symlink("other", temporary) == 0);
    for (unsigned n = 0; n < REQUESTS && size; n++) {
        const size_t used = size < sizeof(struct output_ask) ? size : sizeof(struct output_ask);
        one(&h, data, used);
        data += used;
        size -= used;
    }
    only_what_may_be();
    if (h.output[1].folder >= 0)
        close(h.output[1].folder);
    made_empty();
    unlink(temporary);
    unlink(target);
    return 0;
}
