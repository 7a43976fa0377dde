#include "autologger/schema/manifest_file.h"
#include "autologger/schema/manifest_pack.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

wstatus file_bytes_map(const char *path, struct file_bytes *out, struct reason *why)
{
    struct stat st;
    int         fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    *out = (struct file_bytes){NULL, 0};
    if (fd < 0)
        return reason_set(why, wstatus_from_errno(errno), "%s cannot be opened: %s", path, strerror(errno));
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return reason_set(why, W_INVALID_DATA, "%s is no file", path);
    }
    if (st.st_size > 0) {
        void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED) {
            int error = errno;
            close(fd);
            return reason_set(why, wstatus_from_errno(error), "%s cannot be read: %s", path, strerror(error));
        }
        *out = (struct file_bytes){data, (size_t)st.st_size};
    }
    close(fd);
    return W_SUCCESS;
}

void file_bytes_unmap(struct file_bytes *f)
{
    if (f->data)
        munmap((void *)(uintptr_t)f->data, f->size);
    f->data = NULL;
}

wstatus manifest_unpack_all(const void *data, size_t size, const char *origin, manifest_taker *take, void *ctx, struct reason *why)
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
        for (bytes += used, size -= used; size && !*bytes; bytes++) /* what the linker put between */
            size--;
    } while (size);
    return W_SUCCESS;
}

wstatus manifest_file_binary(const char *path, manifest_taker *take, void *ctx, struct reason *why)
{
    struct file_bytes f;
    size_t            offset = 0, length;
    wstatus           st = file_bytes_map(path, &f, why);

    if (st)
        return st;
    length = f.size;
    if (f.size >= SELFMAG && memcmp(f.data, ELFMAG, SELFMAG) == 0 && !elf_section_find(f.data, f.size, MANIFEST_SECTION, &offset, &length))
        st = reason_set(why, W_NOT_FOUND, "%s has no manifest (no section " MANIFEST_SECTION "). Do: link it with the C file that autologger mc makes", path);
    else if (!offset && !manifest_is_packed(f.data, f.size))
        st = reason_set(why, W_INVALID_DATA, "%s is neither the binary form of a manifest nor a program that holds one", path);
    if (!st)
        st = manifest_unpack_all((const uint8_t *)f.data + offset, length, path, take, ctx, why);
    file_bytes_unmap(&f);
    return st;
}
