/* Any bytes as the trace of a boot: read, path, verdict, page. Nothing may crash, hang or grow. The input is a sequence
 * of kernel and self-describing records (a size of 2 bytes, then the record), put into buffers of a valid file, so that
 * code behind the reader is reached; inputs that begin like an .etl are used unchanged. */
#include "autologger/etl/header.h"
#include "autologger/report/boot_text.h"
#include "autologger/report/page.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BUFFER = 65536, HEAD = 72 };

/* Puts the records, with rising times, into one buffer of a file. */
static size_t wrap(const uint8_t *data, size_t size, uint8_t out[2 * BUFFER])
{
    const struct etl_file_info info   = {.logger_name   = "fuzz",
                                         .file_name     = "fuzz.etl",
                                         .buffer_size   = BUFFER,
                                         .processors    = 2,
                                         .log_file_mode = 1,
                                         .clock_type    = 1,
                                         .perf_freq     = 1000000000,
                                         .boot_time     = UINT64_C(134000000000000000),
                                         .start_time    = UINT64_C(134000000000000000)};
    uint32_t                   filled = HEAD;
    uint8_t                   *b      = out + BUFFER;

    etl_header_build(&info, out);
    memset(b, 0xFF, BUFFER);
    for (int64_t time = 1000; size > 2;) {
        const int64_t step = 1000 + data[1] * INT64_C(4096);
        size_t        n    = 24 + data[0] * 2u;
        n                  = n < size ? n : size;
        if (n < 24 || filled + n + 8 > BUFFER)
            break;
        uint8_t *p = b + filled;
        memcpy(p, data, n);
        const uint16_t length = (uint16_t)n;
        p[2]                  = data[2] & 1 ? 0x11 : 0x02; /* perfinfo, system */
        p[3]                  = 0xC0;
        memcpy(p + 4, &length, 2);
        memcpy(p + (p[2] == 0x11 ? 8 : 16), &time, 8);
        filled += (uint32_t)((n + 7) & ~(size_t)7);
        data += n;
        size -= n;
        time += step;
    }
    etl_buffer_seal(b, BUFFER, filled, 0, 1, 1, 1000000, 0);
    return 2 * BUFFER;
}

static void all(const char *path, FILE *sink)
{
    struct boot        *b = NULL;
    struct boot_path   *p = NULL;
    struct boot_verdict v;
    struct reason       why;

    if (boot_read(path, NULL, &b, &why) == W_SUCCESS && boot_path_create(b, &p, &why) == W_SUCCESS) {
        boot_verdict_make(b, p, &v);
        const struct report r = {.boot = b, .path = p, .verdict = &v, .file = "fuzz.etl"};
        boot_text(&r, sink);
        page_write(&r, sink, &why);
    }
    boot_path_destroy(p);
    boot_destroy(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t file[2 * BUFFER];
    static FILE   *sink;
    char           path[64];
    const int      fd = memfd_create("boot", MFD_CLOEXEC);

    if (!sink)
        sink = fopen("/dev/null", "w");
    if (fd < 0 || !sink)
        return 0;
    const bool    whole = etl_header_like(data, size);
    const size_t  n     = whole ? size : wrap(data, size, file);
    const ssize_t put   = write(fd, whole ? data : file, n);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (put == (ssize_t)n)
        all(path, sink);
    close(fd);
    return 0;
}
