#include "autologger/schema/manifest_file.h"

#include "autologger/schema/elf_section.h"
#include "autologger/schema/manifest_pack.h"
#include "registry-sim/base/opening.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static wstatus manifest_binary_part_read(int fd, const char *path, uint64_t offset, uint64_t size,
                                         struct file_bytes *out, struct reason *why)
{
    if (size > MANIFEST_FILE_MAX)
        return reason_set(why, W_INVALID_DATA, "%s has %llu bytes; a manifest has at most %d MB", path,
                          (unsigned long long)size, MANIFEST_FILE_MAX >> 20);
    out->size = 0;
    if (!(out->data = malloc(size + 1)))
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for %s", path);
    while (out->size < size) {
        ssize_t n = pread(fd, out->data + out->size, size - out->size, (off_t)(offset + out->size));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return reason_set(why, n ? wstatus_from_errno(errno) : W_INVALID_DATA, "%s cannot be read: %s", path,
                              n ? strerror(errno) : "it became shorter");
        out->size += (size_t)n;
    }
    out->data[size] = 0;
    return W_SUCCESS;
}

wstatus file_bytes_read(const char *path, struct file_bytes *out, struct reason *why)
{
    struct stat st;
    char        magic[SELFMAG];
    uint64_t    offset = 0, size;
    int         fd     = opening_file(path, 0);
    wstatus     status = W_SUCCESS;

    *out = (struct file_bytes){NULL, 0, false};
    if (fd < 0)
        return reason_set(why, wstatus_from_errno(errno), "%s cannot be opened: %s", path, strerror(errno));
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return reason_set(why, W_INVALID_DATA, "%s is no file", path);
    }
    size = (uint64_t)st.st_size;
    if (pread(fd, magic, sizeof magic, 0) == (ssize_t)sizeof magic && memcmp(magic, ELFMAG, SELFMAG) == 0) {
        struct elf_source source = elf_source_file(fd, size);
        out->elf                 = true;
        if (!elf_section_find(&source, MANIFEST_SECTION, &offset, &size))
            status = reason_set(why, W_NOT_FOUND,
                                "%s has no manifest (no section " MANIFEST_SECTION
                                "). Do: link it with the C file that autologger mc makes",
                                path);
    }
    if (!status)
        status = manifest_binary_part_read(fd, path, offset, size, out, why);
    close(fd);
    if (status)
        file_bytes_free(out);
    return status;
}

void file_bytes_free(struct file_bytes *f)
{
    free(f->data);
    f->data = NULL;
    f->size = 0;
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

wstatus manifest_file_binary(const char *path, manifest_taker *take, void *ctx, struct reason *why)
{
    struct file_bytes f;
    wstatus           st = file_bytes_read(path, &f, why);

    if (st)
        return st;
    if (!f.elf && !manifest_is_packed(f.data, f.size))
        st = reason_set(why, W_INVALID_DATA, "%s is neither the binary form of a manifest nor a program that holds one",
                        path);
    if (!st)
        st = manifest_unpack_all(f.data, f.size, path, take, ctx, why);
    file_bytes_free(&f);
    return st;
}
