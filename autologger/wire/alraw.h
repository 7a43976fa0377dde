/* alraw.h - the file that the early program writes when no daemon comes (.alraw): all the memory that it keeps, as it
 * stands.
 *
 *   struct alraw_head | items: struct alraw_item, name, segments: struct alraw_segment, bytes | ... | ALRAW_END
 *
 * Native byte order: `autologger recover` reads it on the same machine, with a program of the same state version. A
 * file whose `file_bytes` is 0 was not completed. A daemon takes paths and rights from this memory again, so the file
 * has a seal: the HMAC-SHA-256, by the key of the machine, of all that follows the head, then of the head with seal and
 * crc of 0. Holes of a memory item are left out: bytes that no segment covers are 0.
 * Each crc is the CRC-32 of its struct with a crc of 0 and of the bytes up to the next struct; the head's: see it. */
#ifndef AUTOLOGGER_WIRE_ALRAW_H
#define AUTOLOGGER_WIRE_ALRAW_H
#include <stdint.h>

#define ALRAW_MAGIC UINT64_C(0x32305741524C41A1)
#define ALRAW_MAGIC_1 UINT64_C(0x31305741524C41A1) /* of 0.1 before it had a seal */
#define ALRAW_ITEM UINT32_C(0x4D455449)
#define ALRAW_END UINT32_C(0x21444E45)
enum { ALRAW_SEGMENT_MAX = 1 << 20, ALRAW_MEMORY = 1, ALRAW_EVENT = 2 };

struct alraw_head {
    uint64_t magic;
    uint32_t version; /* STATE_VERSION */
    uint32_t items;
    uint64_t file_bytes;  /* of the complete file */
    uint64_t realtime_ns; /* when it was written, since 1970 */
    char     boot_id[64];
    uint8_t  seal[32];
    uint32_t sealed; /* 0: there was no key when it was written */
    uint32_t crc;    /* of all before it */
};
struct alraw_item {
    uint32_t magic;
    uint16_t kind, name_bytes; /* name with its NUL */
    uint64_t size;             /* of the memory */
    uint32_t segments;
    uint32_t crc; /* of this struct before it, then the name */
};
struct alraw_segment {
    uint64_t offset;
    uint32_t size;
    uint32_t crc; /* of offset, size and the bytes */
};
#endif
