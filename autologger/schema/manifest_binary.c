#include "autologger/schema/manifest_file.h"

#include "autologger/schema/elf_section.h"
#include "autologger/schema/manifest_pack.h"
#include "autologger/schema/tmf.h"
#include "registry-sim/base/opening.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A part of the file: all of it, or a section. */
struct manifest_binary_part {
    char  **data;
    size_t *size;
};

static wstatus manifest_binary_part_read(int fd, const char *path, uint64_t offset, uint64_t size,
                                         const struct manifest_binary_part *out, struct reason *why)
{
    if (size > MANIFEST_FILE_MAX)
        return reason_set(why, W_INVALID_DATA, "%s has %llu bytes; a manifest has at most %d MB", path,
                          (unsigned long long)size, MANIFEST_FILE_MAX >> 20);
    *out->size = 0;
    if (!(*out->data = malloc(size + 1)))
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for %s", path);
    while (*out->size < size) {
        ssize_t n = pread(fd, *out->data + *out->size, size - *out->size, (off_t)(offset + *out->size));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return reason_set(why, n ? wstatus_from_errno(errno) : W_INVALID_DATA, "%s cannot be read: %s", path,
                              n ? strerror(errno) : "it became shorter");
        *out->size += (size_t)n;
    }
    (*out->data)[size] = 0;
    return W_SUCCESS;
}

static wstatus manifest_binary_elf(int fd, const char *path, uint64_t file, struct file_bytes *out, struct reason *why)
{
    const struct {
        const char                 *name;
        struct manifest_binary_part to;
    } sections[] = {{MANIFEST_SECTION, {&out->data, &out->size}}, {TMF_SECTION, {&out->messages, &out->messages_size}}};
    struct elf_source source = elf_source_file(fd, file);
    wstatus           st     = W_SUCCESS;
    uint64_t          offset, size;

    out->elf = true;
    for (size_t i = 0; i < sizeof sections / sizeof *sections && !st; i++)
        if (elf_section_find(&source, sections[i].name, &offset, &size))
            st = manifest_binary_part_read(fd, path, offset, size, &sections[i].to, why);
    if (!st && !out->data && !out->messages)
        st = reason_set(
            why, W_NOT_FOUND,
            "%s describes no events (no section " MANIFEST_SECTION " or " TMF_SECTION
            "). Do: link it with the C file that autologger mc makes, or build it with the headers of autologger wpp",
            path);
    return st;
}

wstatus file_bytes_read(const char *path, struct file_bytes *out, struct reason *why)
{
    struct stat st;
    char        magic[SELFMAG];
    int         fd = opening_file(path, 0);
    wstatus     status;

    *out = (struct file_bytes){0};
    if (fd < 0)
        return reason_set(why, wstatus_from_errno(errno), "%s cannot be opened: %s", path, strerror(errno));
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return reason_set(why, W_INVALID_DATA, "%s is no file", path);
    }
    if (pread(fd, magic, sizeof magic, 0) == (ssize_t)sizeof magic && memcmp(magic, ELFMAG, SELFMAG) == 0)
        status = manifest_binary_elf(fd, path, (uint64_t)st.st_size, out, why);
    else
        status = manifest_binary_part_read(fd, path, 0, (uint64_t)st.st_size,
                                           &(struct manifest_binary_part){&out->data, &out->size}, why);
    close(fd);
    if (status)
        file_bytes_free(out);
    return status;
}

void file_bytes_free(struct file_bytes *f)
{
    free(f->data);
    free(f->messages);
    *f = (struct file_bytes){0};
}

wstatus manifest_unpack_all(const void *data, size_t size, const char *origin, manifest_taker *take, void *ctx,
                            struct reason *why)
{
    const uint8_t *bytes = data;
    size_t         used;

    do {
        struct manifest *m;
        wstatus          st = manifest_unpack(bytes, size, origin, &used, &m, why);
        if (!st)
            st = take(ctx, m, why);
        if (st)
            return st;
        for (bytes += used, size -= used; size && !*bytes; bytes++) /* the linker's padding */
            size--;
    } while (size);
    return W_SUCCESS;
}

static wstatus manifest_messages(const char *text, size_t size, const char *path, struct manifest_problems *problems,
                                 manifest_taker *take, void *ctx, struct reason *why)
{
    struct manifest *m;
    wstatus          st = tmf_read(text, size, path, problems, &m, why);
    return st ? st : take(ctx, m, why);
}

wstatus manifest_bytes_read(const struct file_bytes *f, const char *path, struct manifest_problems *problems,
                            manifest_taker *take, void *ctx, struct reason *why)
{
    wstatus st = W_SUCCESS;

    if (!f->elf && tmf_is(f->data, f->size))
        return manifest_messages(f->data, f->size, path, problems, take, ctx, why);
    if (!f->elf && !manifest_is_packed(f->data, f->size))
        return reason_set(why, W_INVALID_DATA,
                          "%s is neither the binary form of a manifest nor a program that describes its events", path);
    if (f->data)
        st = manifest_unpack_all(f->data, f->size, path, take, ctx, why);
    if (f->messages && !st)
        st = manifest_messages(f->messages, f->messages_size, path, problems, take, ctx, why);
    return st;
}

wstatus manifest_file_binary(const char *path, manifest_taker *take, void *ctx, struct reason *why)
{
    struct manifest_problems problems = {.forgiving = true};
    struct file_bytes        f;
    wstatus                  st = file_bytes_read(path, &f, why);

    if (st)
        return st;
    st = manifest_bytes_read(&f, path, &problems, take, ctx, why);
    file_bytes_free(&f);
    return st;
}
