#include "autologger/daemon/early/alraw.h"
#include "autologger/daemon/machine_key.h"

#include "autologger/wire/alraw.h"
#include "autologger/wire/state.h"
#include "registry-sim/base/crc32.h"
#include "registry-sim/base/os.h"
#include "registry-sim/win32/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ITEM_BYTES_MAX = 1 << 30, ITEMS_MAX = KEPT_MAX };

struct alraw {
    int                fd;
    uint64_t           pos;
    uint8_t           *room; /* one segment with its header */
    uint32_t           items;
    const uint8_t     *key; /* NULL: no seal is made or checked */
    struct hmac_sha256 seal;
};

static wstatus alraw_failed(const char *path, int error, struct reason *why)
{
    return reason_set(why, wstatus_from_errno(error), "%s: %s", path, strerror(error));
}

/* The head is sealed last. */
static void sealed_take(struct alraw *a, const void *data, size_t size)
{
    if (a->key && a->pos)
        hmac_sha256_update(&a->seal, data, size);
}

static void alraw_seal_of(struct alraw *a, struct alraw_head head, uint8_t out[SHA256_SIZE])
{
    memset(head.seal, 0, sizeof head.seal);
    head.crc = 0;
    hmac_sha256_update(&a->seal, &head, sizeof head);
    hmac_sha256_final(&a->seal, out);
}

/* ---- writing ---- */

/* 0 or -errno. */
static int alraw_put(struct alraw *a, const void *data, size_t size)
{
    sealed_take(a, data, size);
    int e = os_pwrite_all(os_linux(), a->fd, data, size, a->pos);
    a->pos += size;
    return e;
}

/* The next part of a memory that is not a hole, at most one segment. False: none. */
static bool part_next(int fd, uint64_t size, uint64_t *from, uint64_t *bytes)
{
    off_t data = lseek(fd, (off_t)*from, SEEK_DATA);
    if (data < 0 || (uint64_t)data >= size)
        return false;
    off_t hole = lseek(fd, data, SEEK_HOLE);
    *from      = (uint64_t)data;
    *bytes     = (hole < 0 || (uint64_t)hole > size ? size : (uint64_t)hole) - *from;
    if (*bytes > ALRAW_SEGMENT_MAX)
        *bytes = ALRAW_SEGMENT_MAX;
    return true;
}

/* In one walk over the memory: counts the segments (a NULL) or writes them. 0 or -errno. */
static int segments(struct alraw *a, int fd, uint64_t size, uint32_t *count)
{
    int e  = 0;
    *count = 0;
    for (uint64_t from = 0, bytes; !e && part_next(fd, size, &from, &bytes); from += bytes, (*count)++) {
        struct alraw_segment s = {.offset = from, .size = (uint32_t)bytes};
        if (!a)
            continue;
        memset(a->room, 0, sizeof s);
        if (pread(fd, a->room + sizeof s, bytes, (off_t)from) != (ssize_t)bytes)
            return -EIO;
        /* the sum covers the header with a sum of 0 */
        memcpy(a->room, &s, sizeof s);
        s.crc = crc32_of(a->room, sizeof s + bytes);
        memcpy(a->room, &s, sizeof s);
        e = alraw_put(a, a->room, sizeof s + bytes);
    }
    return e;
}

static int alraw_item_put(struct alraw *a, const struct kept_item *item)
{
    struct alraw_item head = {.magic = ALRAW_ITEM, .name_bytes = (uint16_t)(strlen(item->name) + 1)};
    struct stat       st;
    uint8_t           bytes[sizeof head + KEPT_NAME];
    uint32_t          count;
    int               e = 0;

    if (fstat(item->fd, &st) < 0)
        return 0;
    if (S_ISREG(st.st_mode) && st.st_size <= ITEM_BYTES_MAX)
        head.kind = ALRAW_MEMORY;
    else if (strncmp(item->name, "event.", 6) == 0)
        head.kind = ALRAW_EVENT;
    else
        return 0;
    head.size = head.kind == ALRAW_MEMORY ? (uint64_t)st.st_size : 0;
    if (head.kind == ALRAW_MEMORY)
        e = segments(NULL, item->fd, head.size, &head.segments);
    memcpy(bytes, &head, sizeof head);
    memcpy(bytes + sizeof head, item->name, head.name_bytes);
    head.crc = crc32_of(bytes, sizeof head + head.name_bytes);
    memcpy(bytes, &head, sizeof head);
    e = e ? e : alraw_put(a, bytes, sizeof head + head.name_bytes);
    if (!e && head.kind == ALRAW_MEMORY)
        e = segments(a, item->fd, head.size, &count);
    a->items++;
    return e;
}

static int alraw_all_put(struct alraw *a, const struct kept *k, const char *boot_id)
{
    struct alraw_head head = {.magic = ALRAW_MAGIC, .version = STATE_VERSION};
    const uint32_t    end  = ALRAW_END;
    int               e    = alraw_put(a, &head, sizeof head); /* not complete: file_bytes is 0 */

    for (unsigned i = 0; !e && i < k->count; i++)
        e = alraw_item_put(a, &k->item[i]);
    e = e ? e : alraw_put(a, &end, sizeof end);
    e = e ? e : os_linux()->fsync(os_linux(), a->fd);
    if (e)
        return e;
    head.sealed      = a->key != NULL;
    head.items       = a->items;
    head.file_bytes  = a->pos;
    head.realtime_ns = os_linux()->realtime_ns(os_linux());
    snprintf(head.boot_id, sizeof head.boot_id, "%s", boot_id);
    if (a->key)
        alraw_seal_of(a, head, head.seal);
    head.crc = crc32_of(&head, offsetof(struct alraw_head, crc));
    a->pos   = 0;
    e        = alraw_put(a, &head, sizeof head);
    return e ? e : os_linux()->fsync(os_linux(), a->fd);
}

wstatus alraw_write(const char *path, const struct kept *k, const uint8_t *key, const char *boot_id, uint64_t *bytes,
                    struct reason *why)
{
    struct alraw a = {.room = malloc(sizeof(struct alraw_segment) + ALRAW_SEGMENT_MAX), .key = key};
    char         part[4096];
    int          e = 0;

    *bytes = 0;
    if (!a.room)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory to write %s", path);
    if (snprintf(part, sizeof part, "%s.part", path) >= (int)sizeof part)
        e = -ENAMETOOLONG;
    if (key)
        hmac_sha256_init(&a.seal, key, MACHINE_KEY_SIZE);
    a.fd = e ? -1 : open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (!e && a.fd < 0)
        e = -errno;
    e = e ? e : alraw_all_put(&a, k, boot_id);
    struct stat st;
    if (!e && fstat(a.fd, &st) == 0)
        *bytes = (uint64_t)st.st_size;
    if (a.fd >= 0)
        close(a.fd);
    if (!e && rename(part, path) < 0)
        e = -errno;
    if (e && a.fd >= 0)
        unlink(part);
    free(a.room);
    if (e == -ENOENT)
        return reason_set(why, W_PATH_NOT_FOUND, "%s: its folder does not exist", path);
    return e ? alraw_failed(path, -e, why) : W_SUCCESS;
}

/* ---- reading ---- */

static wstatus alraw_damaged(const char *path, const struct alraw *a, const char *what, struct reason *why)
{
    return reason_set(why, W_INVALID_DATA, "%s: damaged at byte %llu: %s", path, (unsigned long long)a->pos, what);
}

static bool get(struct alraw *a, void *out, size_t size)
{
    if (pread(a->fd, out, size, (off_t)a->pos) != (ssize_t)size)
        return false;
    sealed_take(a, out, size);
    a->pos += size;
    return true;
}

static bool segment_get(struct alraw *a, int memory, uint64_t size)
{
    struct alraw_segment s;
    uint32_t             crc;

    if (!get(a, &s, sizeof s) || !s.size || s.size > ALRAW_SEGMENT_MAX || s.offset > size || s.size > size - s.offset ||
        !get(a, a->room + sizeof s, s.size))
        return false;
    crc   = s.crc;
    s.crc = 0;
    memcpy(a->room, &s, sizeof s);
    return crc == crc32_of(a->room, sizeof s + s.size) &&
           os_pwrite_all(os_linux(), memory, a->room + sizeof s, s.size, s.offset) == 0;
}

static int memory_get(struct alraw *a, const struct alraw_item *item)
{
    int fd = memfd_create("autologger-recovered", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 && ftruncate(fd, (off_t)item->size) == 0) {
        uint32_t i = 0;
        while (i < item->segments && segment_get(a, fd, item->size))
            i++;
        /* as before: the adopter relies on its size */
        if (i == item->segments && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0)
            return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

static bool item_get(struct alraw *a, struct kept *k)
{
    struct alraw_item item;
    uint8_t           bytes[sizeof item + KEPT_NAME];
    uint32_t          crc;

    if (!get(a, &item, sizeof item) || item.magic != ALRAW_ITEM || !item.name_bytes || item.name_bytes > KEPT_NAME ||
        item.size > ITEM_BYTES_MAX || !get(a, bytes + sizeof item, item.name_bytes) ||
        bytes[sizeof item + item.name_bytes - 1])
        return false;
    crc      = item.crc;
    item.crc = 0;
    memcpy(bytes, &item, sizeof item);
    if (crc != crc32_of(bytes, sizeof item + item.name_bytes))
        return false;
    int fd = item.kind == ALRAW_MEMORY  ? memory_get(a, &item)
             : item.kind == ALRAW_EVENT ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)
                                        : -1;
    if (fd < 0)
        return false;
    kept_add(k, (const char *)bytes + sizeof item, fd, 0);
    return true;
}

static wstatus unsealed(const char *path, const char *what, struct reason *why)
{
    return reason_set(why, W_ACCESS_DENIED,
                      "%s %s: whoever wrote it says which files are written. "
                      "Do: autologger recover --unsealed %s, if you know who that is",
                      path, what, path);
}

static wstatus all_get(struct alraw *a, const char *path, struct kept *k, char boot_id[64], struct reason *why)
{
    struct alraw_head head;
    struct stat       st;
    uint32_t          end = 0;
    uint8_t           seal[SHA256_SIZE];

    const bool whole = get(a, &head, sizeof head);
    if (whole && head.magic == ALRAW_MAGIC_1)
        return reason_set(why, W_INVALID_DATA,
                          "%s is of an older version: use the program of the package that wrote it", path);
    if (!whole || head.magic != ALRAW_MAGIC)
        return reason_set(why, W_INVALID_DATA, "%s is not a file of the early program (.alraw)", path);
    if (!head.file_bytes)
        return reason_set(why, W_INVALID_DATA, "%s was not completed: the machine stopped while it was written", path);
    if (head.crc != crc32_of(&head, offsetof(struct alraw_head, crc)) || fstat(a->fd, &st) < 0 ||
        (uint64_t)st.st_size != head.file_bytes || head.items > ITEMS_MAX)
        return alraw_damaged(path, a, "the header, or the size, is wrong", why);
    if (head.version != STATE_VERSION)
        return reason_set(why, W_INVALID_DATA,
                          "%s has version %u, this program knows %d: use the program of the package that wrote it",
                          path, head.version, STATE_VERSION);
    if (a->key && !head.sealed)
        return unsealed(path, "has no seal", why);
    memcpy(boot_id, head.boot_id, 64);
    boot_id[63] = 0;
    for (uint32_t i = 0; i < head.items; i++)
        if (!item_get(a, k))
            return alraw_damaged(path, a, "a part does not fit its checksum", why);
    if (!get(a, &end, sizeof end) || end != ALRAW_END)
        return alraw_damaged(path, a, "the end is missing", why);
    if (a->key)
        alraw_seal_of(a, head, seal);
    return !a->key || sha256_equal(seal, head.seal) ? W_SUCCESS
                                                    : unsealed(path, "does not have the seal of this machine", why);
}

wstatus alraw_read(const char *path, const uint8_t *key, struct kept *k, char boot_id[64], struct reason *why)
{
    struct alraw a = {.fd = open(path, O_RDONLY | O_CLOEXEC), .key = key};
    if (a.fd < 0)
        return alraw_failed(path, errno, why);
    if (key)
        hmac_sha256_init(&a.seal, key, MACHINE_KEY_SIZE);
    a.room     = malloc(sizeof(struct alraw_segment) + ALRAW_SEGMENT_MAX);
    wstatus st = a.room ? all_get(&a, path, k, boot_id, why)
                        : reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory to read %s", path);
    if (st)
        kept_clear(k);
    free(a.room);
    close(a.fd);
    return st;
}
