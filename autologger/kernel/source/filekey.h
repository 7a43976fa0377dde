/* filekey.h - the number of a file in kernel events (FileKey, FileObject of name events): the same for the same device
 * and inode in every event. Bit 63 is set, as Windows' keys are kernel addresses; the low four bits are 0. Pure; any
 * thread. Not for: names (two files of a device may have had one inode number after another). */
#ifndef AUTOLOGGER_KERNEL_FILEKEY_H
#define AUTOLOGGER_KERNEL_FILEKEY_H
#include <stdint.h>

/* A device number as the kernel's own records have it (s_dev, or st_dev made from statx's two parts; not glibc's
 * dev_t) */
static inline uint32_t file_dev(uint32_t major, uint32_t minor) { return major << 20 | (minor & 0xFFFFF); }

/* 0 for "no file": inode 0 */
static inline uint64_t file_key(uint32_t dev, uint64_t ino)
{
    uint64_t h = ino * UINT64_C(0x9E3779B97F4A7C15) ^ ((uint64_t)dev << 32 | dev);
    if (!ino)
        return 0;
    h = (h ^ h >> 32) * UINT64_C(0xD6E8FEB86659FD93); /* mixed twice: neighbouring inodes lie far apart */
    h = (h ^ h >> 32) * UINT64_C(0xD6E8FEB86659FD93);
    return ((h ^ h >> 32) | UINT64_C(1) << 63) & ~UINT64_C(15);
}
#endif
