/* Writes the seeds of fuzz_etl into the folder given: one small .etl for each feature that a reader must know.
 * Not part of the build; corpus/README tells how to run it after a change. */
#include "autologger/consumer/tests/names_maker.h"

#include <stdio.h>

static void save(const char *folder, const char *name, struct image *m)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.etl", folder, name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(m->data, 1, m->size, f) != m->size)
        perror(path);
    if (f)
        fclose(f);
    image_free(m);
}

static struct image start(uint32_t mode)
{
    struct etl_file_info info = build_info(512);
    info.log_file_mode        = mode;
    return image_start(&info);
}

static void tracelogging(const char *folder)
{
    struct image m = start(1);
    image_buffer(&m, 0, 1);
    image_tracelogging(&m, 2000000, "\x0B\0MySource", 11,
                       "\x17\0\0TestEvent\0a\0\x98\x02"
                       "b\0\x01"
                       "c\0\x01",
                       0x17, "H\0\0\0W\0\0\0", 8);
    image_tracelogging(&m, 2000001, "\x0B\0MySource", 11, "\x18\0\0E\0c\0\x24\2\0v\0\x42s\0\xD8\x01x\0\x84\4g\0\x0F",
                       0x18,
                       "\1\2\1\0a\0\1\0\3"
                       "0123456789abcdef",
                       25);
    save(folder, "tracelogging", &m);
}

static void kernel(const char *folder)
{
    static const struct {
        uint16_t    hook;
        uint8_t     version;
        const char *bytes;
        size_t      size;
    } rows[] = {
#define R(hook, version, bytes) {hook, version, bytes, sizeof(bytes) - 1}
        R(0x0301, 4,
          "\1\0\0\0\0\0\0\0\x0A\0\0\0\1\0\0\0\0\0\0\0\3\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0"
          "\0\0\0\1\1\0\0\0\0\0\x12\0\0\0\0sh\0s\0\0\0\0\0\0\0"),
        R(0x1820, 2, "\x80\x84\x1E\0\0\0\0\0\1\0\0\0\2\0\0\0\x10\0\0\0\0\0\0\0\x20\0\0\0\0\0\0\0"),
        R(0x0524, 4, "\7\0\0\0\5\0\0\0\x08\x09\1\0\x20\1\5\2\0\0\0\0\0\0\0\0"),
        R(0x0F49, 3, "\0\0\0\0\x10\x27\0\0\x10\x27\0\0T\0\0\0"),
        R(0x060B, 2, "\1\0\0\0\x10\0\0\0\x7F\0\0\1\x7F\0\0\2\0\x50\x1F\x90\0\0\0\0\0\0\0\0\0\0\0\0"),
#undef R
    };
    struct image m = start(0x02000001);
    image_buffer(&m, 0, 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        image_kernel(&m, 2000000 + (int64_t)i, rows[i].hook, rows[i].version, i == 0 ? 10 : 0, rows[i].bytes,
                     rows[i].size);
    image_buffer(&m, 1, 2);
    image_event(&m, 2000002, 1);
    save(folder, "kernel", &m);
}

static void kinds(const char *folder)
{
    struct image m = start(1);
    image_buffer(&m, 0, 1);
    struct etl_full_header full = {
        .size        = sizeof full + 12,
        .header_type = ETL_FULL64,
        .marker      = ETL_MARKER,
        .type        = 32,
        .time        = 2000000,
        .guid        = {0xb3e675d7, 0x2554, 0x4f18, {0x83, 0x0b, 0x27, 0x62, 0x73, 0x25, 0x60, 0xde}}};
    image_add(&m, &full, sizeof full, "\1\0\0\0\0\0\0\0\1\0\0\0", 12);
    uint8_t message[16] = {16, 0, 0, ETL_MARKER_MESSAGE, 77, 0, 0x08, 0, 1};
    image_add(&m, message, sizeof message, NULL, 0);
    struct etl_event_header h = build_event(2000003, 6);
    h.flags                   = ETL_EVENT_STRING_ONLY;
    h.header_type             = ETL_EVENT32;
    image_add(&m, &h, sizeof h, "h\0i\0\0\0", 6);
    save(folder, "kinds", &m);
}

static void compressed(const char *folder)
{
    struct image m = start(ETL_MODE_SEQUENTIAL | ETL_MODE_COMPRESSED);
    image_buffer(&m, 0, 1);
    image_event(&m, 2000000, 1);
    uint8_t  plain[512], *out = image_last(&m);
    uint32_t filled = m.pos, n = 72;
    memcpy(plain, out, sizeof plain);
    for (uint32_t i = 72; i < filled; i++) { /* literals only */
        if ((i - 72) % 32 == 0) {
            memset(out + n, 0, 4);
            n += 4;
        }
        out[n++] = plain[i];
    }
    memcpy(out, &n, 4);
    out[0x34] = ETL_BUFFER_PROC_INDEX | ETL_BUFFER_COMPRESSED;
    m.size    = 512 + n;
    save(folder, "compressed", &m);
}

static void names(const char *folder)
{
    static const uint8_t id[20]    = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    uint8_t              stack[24] = {0x80, 0x84, 0x1E, 0, 0,    0, 0, 0,    77,   0,    0,    0,
                                      77,   0,    0,    0, 0x20, 1, 0, 0x81, 0xFF, 0xFF, 0xFF, 0xFF};
    struct image         m         = start(0x02000001);
    image_buffer(&m, 0, 1);
    make_build_id(&m, 2000000, id);
    image_buffer(&m, 0, 2);
    make_image(&m, 2000001, 0x030A, 0x1000, 0x5000, 0x04030201, 0x08070605, "\\Device\\HarddiskVolume1\\a.so.1");
    image_buffer(&m, 0, 3);
    image_kernel(&m, 2000002, 0x1820, 2, 0, stack, sizeof stack);
    image_buffer(&m, 0, 4);
    make_named(&m, 2000003, MAKER_BOOT, sizeof MAKER_BOOT - 1,
               "1-2\0"
               "6.1",
               8);
    save(folder, "names", &m);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    tracelogging(argv[1]);
    kernel(argv[1]);
    kinds(argv[1]);
    compressed(argv[1]);
    names(argv[1]);
    return 0;
}
