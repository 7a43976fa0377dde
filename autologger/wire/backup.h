/* backup.h - the file in which the buffers of a real-time session wait for consumers: EtwRT<Guid of the session>.etl.
 * An .etl with a header buffer, then a ring of slots for buffers; a buffer's number (SequenceNumber) determines its
 * slot. Unlike in other .etl files, the numbers continue over all files of a session. The last bytes of the header
 * buffer, unused in an .etl, are the mark: how far consumers have acknowledged, and whose events these are. It is
 * written by one write of less than a sector. A slot that holds a buffer with a number of another slot was overwritten,
 * or never written.
 * Threads: pure. Not for: who may read (session/realtime). */
#ifndef AUTOLOGGER_WIRE_BACKUP_H
#define AUTOLOGGER_WIRE_BACKUP_H
#include "registry-sim/win32/guid.h"

#include <stdbool.h>
#include <stdint.h>

#define BACKUP_MAGIC UINT64_C(0x32304b5242545241)
enum { BACKUP_MARK_SIZE = 128, BACKUP_SLOTS_MOST = 1 << 24, BACKUP_KERNEL = 1 /* it has events of the kernel */ };

struct backup_mark {
    uint64_t magic;
    uint64_t first;     /* number of the first buffer that the file ever held */
    uint64_t delivered; /* buffers below were acknowledged */
    uint32_t slots, buffer_size;
    /* Whose events these are. Sealed with the machine's key, which readers of the events do not have: a reader can
     * change only `delivered`. */
    struct guid session;
    uint32_t    owner, flags; /* the user who started the session; BACKUP_KERNEL */
    uint8_t     rights[32];   /* SHA-256 of the descriptors that say who may read them */
    uint8_t     seal[32];     /* HMAC-SHA-256 of the mark with `delivered`, `seal` and `check` 0 */
    uint64_t    check;
};
_Static_assert(sizeof(struct backup_mark) == BACKUP_MARK_SIZE, "backup_mark");

static inline uint64_t backup_mark_check(const struct backup_mark *m)
{
    return (m->magic ^ m->first * 3 ^ m->delivered * 5 ^ (uint64_t)m->slots << 32 ^ m->buffer_size) *
           UINT64_C(0x9E3779B97F4A7C15);
}
static inline bool backup_mark_sound(const struct backup_mark *m)
{
    return m->magic == BACKUP_MAGIC && m->check == backup_mark_check(m) && m->slots && m->slots <= BACKUP_SLOTS_MOST &&
           m->buffer_size >= 1024 && m->buffer_size <= 16u << 20;
}
static inline uint64_t backup_mark_at(uint32_t buffer_size) { return buffer_size - BACKUP_MARK_SIZE; }
/* Where buffer `number` stands. */
static inline uint64_t backup_slot_at(uint64_t first, uint32_t slots, uint32_t buffer_size, uint64_t number)
{
    return (uint64_t)buffer_size * (1 + (number - first) % slots);
}
#endif
