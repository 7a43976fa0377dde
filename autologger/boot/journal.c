#include "autologger/boot/journal.h"

#include "registry-sim/base/crc32.h"
#include "registry-sim/base/cursor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { JOURNAL_SIZE = 1 << 20, JOURNAL_VERSION = 1 };
#define JOURNAL_MAGIC UINT32_C(0x314A4C41)
#define JOURNAL_KEY "HKEY_LOCAL_MACHINE\\SOFTWARE\\autologger\\Journal"

struct journal_header {
    uint32_t magic, version;
    uint32_t used; /* bytes behind the header; stored last (J1) */
    uint32_t count;
    char     boot_id[64];
};
struct journal_record { /* then key and name, each with its NUL */
    uint32_t size;      /* of the record with its texts */
    uint32_t crc;       /* of the bytes behind this field */
    uint32_t value;
    uint16_t key_size, name_size;
};
struct journal {
    int                    fd;
    struct journal_header *h;
    unsigned               count;
};

static wstatus journal_map(int fd, struct journal **out, struct reason *why)
{
    struct journal *j = calloc(1, sizeof *j);
    if (!j)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the journal");
    j->h = mmap(NULL, JOURNAL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (j->h == MAP_FAILED) {
        free(j);
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "cannot map the journal: %s", strerror(errno));
    }
    j->fd = fd;
    *out  = j;
    return W_SUCCESS;
}

wstatus journal_create(struct os *os, const char *boot_id, struct journal **out, struct reason *why)
{
    int fd = os->shm_create(os, "autologger-journal", JOURNAL_SIZE, 0);
    if (fd < 0)
        return reason_set(why, wstatus_from_errno(-fd), "cannot create the journal: %s", strerror(-fd));
    wstatus st = journal_map(fd, out, why);
    if (st) {
        close(fd);
        return st;
    }
    *(*out)->h = (struct journal_header){.magic = JOURNAL_MAGIC, .version = JOURNAL_VERSION};
    snprintf((*out)->h->boot_id, sizeof(*out)->h->boot_id, "%s", boot_id);
    return W_SUCCESS;
}

/* The record at *pos if it is sound; moves *pos behind it. */
static const struct journal_record *record_at(const struct journal *j, uint32_t *pos)
{
    const uint8_t               *base = (const uint8_t *)(j->h + 1);
    uint32_t                     used = j->h->used, left;
    const struct journal_record *r    = (const void *)(base + *pos);

    if (used > JOURNAL_SIZE - sizeof *j->h || *pos >= used)
        return NULL;
    left = used - *pos;
    if (left < sizeof *r || r->size > left || r->size < sizeof *r + r->key_size + r->name_size || !r->key_size ||
        !r->name_size || r->crc != crc32_of(&r->value, r->size - offsetof(struct journal_record, value)))
        return NULL;
    const char *text = (const char *)(r + 1);
    if (text[r->key_size - 1] || text[r->key_size + r->name_size - 1])
        return NULL;
    *pos += r->size;
    return r;
}

wstatus journal_adopt(int fd, struct journal **out, struct reason *why)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || st.st_size != JOURNAL_SIZE)
        return reason_set(why, W_INVALID_DATA, "the journal handed over has the wrong size");
    wstatus status = journal_map(fd, out, why);
    if (status)
        return status;
    struct journal *j = *out;
    if (j->h->magic != JOURNAL_MAGIC || j->h->version != JOURNAL_VERSION) {
        j->fd = -1;
        journal_destroy(j);
        *out = NULL;
        return reason_set(why, W_INVALID_DATA, "the journal handed over has an unknown version");
    }
    uint32_t pos = 0;
    while (record_at(j, &pos))
        j->count++;
    if (pos == j->h->used)
        return W_SUCCESS;
    reason_set(why, W_INVALID_DATA, "the journal is damaged after %u records; these are kept", j->count);
    j->h->used  = pos;
    j->h->count = j->count;
    return W_INVALID_DATA;
}

void journal_destroy(struct journal *j)
{
    if (!j)
        return;
    munmap(j->h, JOURNAL_SIZE);
    if (j->fd >= 0)
        close(j->fd);
    free(j);
}

int      journal_fd(const struct journal *j) { return j->fd; }
unsigned journal_count(const struct journal *j) { return j->count; }

wstatus journal_dword(struct journal *j, const char *key, const char *name, uint32_t value, struct reason *why)
{
    size_t                key_size = strlen(key) + 1, name_size = strlen(name) + 1;
    size_t                size = (sizeof(struct journal_record) + key_size + name_size + 7) & ~(size_t)7;
    uint8_t              *at   = (uint8_t *)(j->h + 1) + j->h->used;
    struct journal_record r    = {
           .size = (uint32_t)size, .value = value, .key_size = (uint16_t)key_size, .name_size = (uint16_t)name_size};

    if (key_size > 4096 || name_size > 4096 || size > JOURNAL_SIZE - sizeof *j->h - j->h->used)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "the journal is full");
    memset(at, 0, size);
    memcpy(at, &r, sizeof r);
    memcpy(at + sizeof r, key, key_size);
    memcpy(at + sizeof r + key_size, name, name_size);
    r.crc = crc32_of(at + offsetof(struct journal_record, value), size - offsetof(struct journal_record, value));
    memcpy(at, &r, sizeof r);
    j->count++;
    j->h->count = j->count;
    __atomic_store_n(&j->h->used, j->h->used + (uint32_t)size, __ATOMIC_RELEASE);
    return W_SUCCESS;
}

wstatus journal_replay(struct journal *j, struct regstore *store, struct reason *why)
{
    char    *last = NULL;
    uint32_t done = 0, pos = 0, number = 0;
    wstatus  st = regstore_begin(store, why);

    if (st)
        return st;
    if (regstore_get_string_dup(store, JOURNAL_KEY, "BootId", &last, NULL) == W_SUCCESS &&
        strcmp(last, j->h->boot_id) == 0)
        regstore_get_dword(store, JOURNAL_KEY, "Replayed", &done, NULL);
    free(last);
    for (const struct journal_record *r; !st && (r = record_at(j, &pos)); number++)
        if (number >= done) {
            const char *key = (const char *)(r + 1);
            st              = regstore_set_dword(store, key, key + r->key_size, r->value, why);
        }
    st = st ? st : regstore_set_string(store, JOURNAL_KEY, "BootId", j->h->boot_id, why);
    st = st ? st : regstore_set_dword(store, JOURNAL_KEY, "Replayed", number, why);
    if (st) {
        regstore_rollback(store);
        return st;
    }
    return regstore_commit(store, why);
}
