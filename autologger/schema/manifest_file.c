#include "autologger/schema/manifest_file.h"

#include "autologger/schema/manifest_pack.h"

#include <elf.h>
#include <string.h>

wstatus manifest_file(const char *path, struct manifest_problems *problems, manifest_taker *take, void *ctx, struct reason *why)
{
    struct file_bytes f;
    struct manifest  *m;
    wstatus           st = file_bytes_map(path, &f, why);

    if (st)
        return st;
    if (manifest_is_packed(f.data, f.size) || (f.size >= SELFMAG && memcmp(f.data, ELFMAG, SELFMAG) == 0)) {
        file_bytes_unmap(&f);
        return manifest_file_binary(path, take, ctx, why);
    }
    st = manifest_read(f.data ? f.data : "", f.size, path, problems, &m, why);
    file_bytes_unmap(&f);
    return st ? st : take(ctx, m, why);
}
