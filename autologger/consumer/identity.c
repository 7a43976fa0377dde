#include "autologger/consumer/identity.h"

#include "autologger/consumer/classic_event.h"
#include "autologger/consumer/names_event.h"
#include "autologger/kernel/source/idmap.h"
#include "autologger/kernel/source/procfs.h"
#include "autologger/wire/names.h"
#include "registry-sim/base/cursor.h"
#include "registry-sim/base/opening.h"
#include "registry-sim/win32/utf16.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { IMAGE_ID = 0, NO_DBG_ID = 32, DBG_ID_RSDS = 36, FILE_VERSION = 64, RECORD_MOST = 40000, AGE = 1 };
static const struct guid image_id_class = {0xb3e675d7,
                                           0x2554,
                                           0x4f18,
                                           {0x83, 0x0b, 0x27, 0x62, 0x73, 0x25, 0x60, 0xde}};

struct identity {
    struct idmap           build_ids; /* key -> struct build_id */
    struct idmap           versions;  /* size and stamp with a FileVersion */
    struct idmap           sets;      /* CPU + 1 -> raw time of its last ImageID event, + 1 */
    struct identity_counts counts;
    struct image_fields    image;
    uint8_t                record[RECORD_MOST];
};

uint64_t build_id_key(uint32_t stamp, uint32_t checksum) { return checksum ? stamp | (uint64_t)checksum << 32 : 0; }

char *build_id_text(const struct build_id *id, char out[41])
{
    for (unsigned i = 0; i < id->size; i++)
        snprintf(out + i * 2ul, 3, "%02x", id->bytes[i]);
    out[id->size * 2ul] = 0;
    return out;
}

bool build_id_event(const struct etl_event *e, uint64_t *key, struct build_id *out)
{
    struct cursor c = cur_make(e->payload, e->payload_size);

    if (!names_event_is(e, NAMES_BUILD_ID))
        return false;
    uint32_t stamp = cur_u32(&c), checksum = cur_u32(&c), size = cur_u16(&c);
    if (size < 8 || size > sizeof out->bytes)
        return false;
    *key = stamp | (uint64_t)checksum << 32;
    *out = (struct build_id){.size = (uint8_t)size};
    cur_copy(&c, out->bytes, size);
    return cur_ok(&c);
}

struct identity *identity_create(void) { return calloc(1, sizeof(struct identity)); }

void identity_destroy(struct identity *id)
{
    if (!id)
        return;
    for (size_t i = 0; i < id->build_ids.capacity; i++)
        free(id->build_ids.slot[i].value);
    idmap_finish(&id->build_ids);
    idmap_finish(&id->versions);
    idmap_finish(&id->sets);
    free(id);
}

const struct identity_counts *identity_counts(const struct identity *id) { return &id->counts; }

static struct build_id *identity_remember(struct identity *id, uint64_t key, const struct build_id *build_id)
{
    struct build_id *kept = idmap_get(&id->build_ids, key);

    if (!kept) {
        kept = malloc(sizeof *kept);
        if (!kept || !idmap_put(&id->build_ids, key, kept)) {
            free(kept);
            return NULL;
        }
    }
    *kept = *build_id;
    return kept;
}

/* The file in which the running kernel has a build id: its own, or that of the module whose file this is
 * ("snd-hda-intel.ko.xz"). */
static void notes_path(const char *path, char *out, size_t size)
{
    const char *name = image_base_name(path), *end = strstr(name, ".ko");

    snprintf(out, size, "/sys/kernel/notes");
    if (!end)
        return;
    snprintf(out, size, "/sys/module/%.*s/notes/.note.gnu.build-id", (int)(end - name), name);
    for (char *p = out + strlen("/sys/module/"); *p != '/'; p++)
        *p = *p == '-' ? '_' : *p;
}

/* The build id in the file at the path, or of the running kernel; it counts if it begins with the event's bytes. */
static void identity_look_up(const struct image_fields *image, uint64_t key, struct build_id *out)
{
    struct elf_info elf = {0};
    uint8_t         notes[1024];
    char            kernel[4200];

    notes_path(image->path, kernel, sizeof kernel);
    const char *path = image->process_id ? image->path : kernel;
    const int   fd   = opening_regular(path);

    *out = (struct build_id){0};
    if (fd < 0)
        return;
    if (image->process_id) {
        elf_read(fd, &elf);
    } else {
        ssize_t n         = read(fd, notes, sizeof notes);
        elf.build_id_size = n > 0 ? elf_note_build_id(notes, (size_t)n, elf.build_id) : 0;
    }
    close(fd);
    if (elf.build_id_size >= 8 && elf.build_id_size <= sizeof out->bytes &&
        memcmp(elf.build_id, &key, sizeof key) == 0) {
        out->size = (uint8_t)elf.build_id_size;
        memcpy(out->bytes, elf.build_id, elf.build_id_size);
    }
}

static const struct build_id *build_id_of(struct identity *id, const struct image_fields *image)
{
    static const struct build_id none;
    uint64_t                     key = build_id_key(image->stamp, image->checksum);

    if (!key)
        return &none;
    struct build_id *known = idmap_get(&id->build_ids, key);
    if (!known) {
        struct build_id found;
        identity_look_up(image, key, &found);
        known = identity_remember(id, key, &found);
    }
    return known ? known : &none;
}

static void identity_wr_text16(struct writer *w, const char *text)
{
    uint8_t bytes[8192];
    size_t  n = utf8_to_utf16le(text, strlen(text), bytes, sizeof bytes);
    wr_bytes(w, bytes, n < sizeof bytes ? n : sizeof bytes);
    wr_u16(w, 0);
}

/* ELF files have no version of their own: a kernel's is its release, a library's the part of its name behind ".so.". */
static const char *version_of(const struct image_fields *image)
{
    const char *name = image_base_name(image->path), *so = strstr(name, ".so.");

    if (!image->process_id)
        return strncmp(name, "vmlinux-", 8) == 0 ? name + 8 : "";
    return so && strspn(so + 4, "0123456789.") == strlen(so + 4) ? so + 4 : "";
}

static void write_version(struct writer *w, const struct image_fields *image, const struct build_id *build_id)
{
    char text[41];

    wr_u32(w, (uint32_t)image->size);
    wr_u32(w, image->stamp);
    identity_wr_text16(w, image_base_name(image->path));
    identity_wr_text16(w, image->path);
    identity_wr_text16(w, version_of(image));
    for (int i = 0; i < 5; i++) /* BinFileVersion, VerLanguage, ProductName, CompanyName, ProductVersion */
        wr_u16(w, 0);
    identity_wr_text16(w, build_id_text(build_id, text));
    wr_u16(w, 0);
}

static void write_debug_id(struct writer *w, const struct image_fields *image, const struct build_id *build_id)
{
    const char *name     = image_base_name(image->path);
    uint8_t     guid[16] = {0};

    wr_u64(w, image->base);
    wr_u32(w, image->process_id);
    if (!build_id->size)
        return;
    memcpy(guid, build_id->bytes, build_id->size < sizeof guid ? build_id->size : sizeof guid);
    wr_bytes(w, guid, sizeof guid);
    wr_u32(w, AGE);
    wr_bytes(w, name, strlen(name));
    wr_bytes(w, ".debug", sizeof ".debug");
}

static void write_payload(struct writer *w, uint8_t opcode, const struct image_fields *image,
                          const struct build_id *build_id)
{
    if (opcode == FILE_VERSION) {
        write_version(w, image, build_id);
    } else if (opcode != IMAGE_ID) {
        write_debug_id(w, image, build_id);
    } else {
        wr_u64(w, image->base);
        wr_u64(w, image->size);
        wr_u32(w, image->process_id);
        wr_u32(w, image->stamp);
        identity_wr_text16(w, image_base_name(image->path));
    }
}

static wstatus identity_add(struct identity *id, const struct etl_event *e, uint8_t opcode,
                            const struct build_id *build_id, const struct added_events *to, struct reason *why)
{
    struct etl_full_header h = {.header_type = ETL_FULL64,
                                .marker      = ETL_MARKER,
                                .type        = opcode,
                                .version     = opcode == FILE_VERSION ? 0 : 2,
                                .thread_id   = e->thread_id,
                                .process_id  = id->image.process_id,
                                .time        = e->raw_time,
                                .guid        = image_id_class};
    struct writer          w = wr_make(id->record, sizeof id->record);

    wr_bytes(&w, &h, sizeof h);
    write_payload(&w, opcode, &id->image, build_id);
    if (!wr_ok(&w))
        return W_SUCCESS; /* a path of many thousand characters: no room for its identity */
    h.size = (uint16_t)w.pos;
    memcpy(id->record, &h, sizeof h);
    id->counts.added++;
    return to->put(to->ctx, e->cpu, id->record, (uint32_t)w.pos, e->raw_time, why);
}

static wstatus add_set(struct identity *id, const struct etl_event *e, const struct build_id *build_id,
                       const struct added_events *to, struct reason *why)
{
    const struct image_fields *image   = &id->image;
    uint64_t                   version = image->stamp | (uint64_t)(uint32_t)image->size << 32;
    wstatus                    st      = W_SUCCESS;

    if (*image->path == '/' && !idmap_get(&id->versions, version)) {
        if (!idmap_put(&id->versions, version, id))
            return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the identity of images");
        st = identity_add(id, e, FILE_VERSION, build_id, to, why);
    }
    if (st == W_SUCCESS)
        st = identity_add(id, e, IMAGE_ID, build_id, to, why);
    return st == W_SUCCESS ? identity_add(id, e, build_id->size ? DBG_ID_RSDS : NO_DBG_ID, build_id, to, why) : st;
}

wstatus identity_see(struct identity *id, const struct etl_event *e, const struct added_events *to, struct reason *why)
{
    struct build_id build_id;
    uint64_t        key;
    uint64_t        cpu = e->cpu + 1u;

    if (e->kind == ETL_KIND_FULL && guid_equal(&e->provider, &image_id_class)) {
        if (!idmap_put(&id->sets, cpu, (void *)(uintptr_t)((uint64_t)e->raw_time + 1)))
            return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the identity of images");
        return W_SUCCESS;
    }
    if (build_id_event(e, &key, &build_id)) {
        identity_remember(id, key, &build_id);
        return W_SUCCESS;
    }
    if (!image_event_read(e, &id->image))
        return W_SUCCESS;
    const struct build_id *of = build_id_of(id, &id->image);
    id->counts.images++;
    id->counts.with_build_id += of->size != 0;
    id->counts.no_file += id->image.path[0] != '/' || id->image.path[1] == '/';
    if (idmap_get(&id->sets, cpu) == (void *)(uintptr_t)((uint64_t)e->raw_time + 1))
        return W_SUCCESS;
    return add_set(id, e, of, to, why);
}
