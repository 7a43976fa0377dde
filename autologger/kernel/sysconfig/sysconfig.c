/* sysconfig.c - the order of the classes, and the functions that their collectors share. See sysconfig.h. */
#include "autologger/kernel/sysconfig/sysconfig_parts.h"
#include "autologger/wire/etl.h"
#include "registry-sim/win32/utf16.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOADER = 0x4 };
static const struct {
    uint32_t class;
    void (*collect)(struct sysconfig *s);
} collectors[] = {
    {SYSCFG_SYSTEM, config_system},     {SYSCFG_STORAGE, config_storage}, {SYSCFG_NETWORK, config_network},
    {SYSCFG_SERVICES, config_services}, {SYSCFG_PNP, config_devices},     {SYSCFG_GRAPHICS, config_graphics},
    {SYSCFG_SYSTEM, config_boot},
};

static unsigned sysconfig_gather(struct sysconfig *s)
{
    if (sysconfig_cpu_wanted(s->mask))
        config_cpu(s);
    for (size_t i = 0; i < sizeof collectors / sizeof *collectors; i++)
        if (sysconfig_wanted(s->mask, collectors[i].class))
            collectors[i].collect(s);
    if (s->mask[0] & LOADER)
        config_modules(s);
    return s->left_out;
}

static unsigned collect_below(const char *root, bool live, const uint32_t *mask, klog_put put, void *ctx)
{
    struct sysconfig *s    = malloc(sizeof *s);
    int               fd   = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    unsigned          left = 0;
    if (s && fd >= 0) {
        *s   = (struct sysconfig){.root = fd, .live = live, .mask = mask, .put = put, .ctx = ctx};
        left = sysconfig_gather(s);
    }
    if (fd >= 0)
        close(fd);
    free(s);
    return left;
}

unsigned sysconfig_collect(const uint32_t *mask, klog_put put, void *ctx)
{
    return collect_below("/", true, mask, put, ctx);
}

unsigned sysconfig_collect_tree(const char *root, const uint32_t *mask, klog_put put, void *ctx)
{
    return collect_below(root, false, mask, put, ctx);
}

/* ---- events ---- */

struct writer *config_begin(struct sysconfig *s)
{
    s->w = wr_make(s->body, sizeof s->body);
    return &s->w;
}

static void sysconfig_put(struct sysconfig *s, struct raw_config *head)
{
    if (!wr_ok(&s->w)) {
        s->left_out++;
        return;
    }
    head->own.type  = RAW_CONFIG;
    head->body_size = (uint32_t)s->w.pos;
    s->put(s->ctx, head, s->body, s->w.pos);
}

void config_put(struct sysconfig *s, uint16_t hook, uint8_t version)
{
    sysconfig_put(
        s, &(struct raw_config){.hook = hook, .version = version, .header = ETL_SYSTEM64, .disk_at = RAW_NO_DISK});
}

void config_put_perf(struct sysconfig *s, uint16_t hook, uint8_t version)
{
    sysconfig_put(
        s, &(struct raw_config){.hook = hook, .version = version, .header = ETL_PERFINFO64, .disk_at = RAW_NO_DISK});
}

void config_put_ex(struct sysconfig *s, uint8_t opcode)
{
    sysconfig_put(s, &(struct raw_config){.hook = opcode, .header = ETL_FULL64, .disk_at = RAW_NO_DISK});
}

void config_put_disk(struct sysconfig *s, uint16_t hook, uint8_t version, uint32_t dev, uint16_t at)
{
    sysconfig_put(
        s, &(struct raw_config){.hook = hook, .version = version, .header = ETL_SYSTEM64, .dev = dev, .disk_at = at});
}

void config_put_described(struct sysconfig *s, unsigned event)
{
    sysconfig_put(s, &(struct raw_config){.hook = (uint16_t)event, .header = ETL_EVENT64, .disk_at = RAW_NO_DISK});
}

void config_text(struct writer *w, const char *text)
{
    size_t room = w->bad ? 0 : (w->size - w->pos) & ~(size_t)1,
           n    = utf8_to_utf16le(text, strlen(text), w->data + w->pos, room);
    if (n + 2 > room) {
        w->bad = true;
        return;
    }
    w->pos += n;
    wr_u16(w, 0);
}

void config_zeros(struct writer *w, size_t count)
{
    static const uint8_t none[64];
    for (size_t n; count; count -= n) {
        n = count < sizeof none ? count : sizeof none;
        wr_bytes(w, none, n);
    }
}

void config_text_fixed(struct writer *w, const char *text, unsigned units)
{
    uint8_t unit[1024] = {0};
    size_t  most       = (units - 1) * 2 < sizeof unit ? (units - 1) * 2 : sizeof unit;
    size_t  n          = utf8_to_utf16le(text, strlen(text), unit, most);
    n                  = n < most ? n : most;
    wr_bytes(w, unit, n);
    config_zeros(w, units * 2u - n);
}

/* ---- small files ---- */

static int fact_open(const struct sysconfig *s, const char *path)
{
    return openat(s->root, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

size_t fact_bytes(const struct sysconfig *s, const char *path, void *out, size_t size)
{
    int    fd   = fact_open(s, path);
    size_t have = 0;
    for (ssize_t n = 1; fd >= 0 && n > 0 && have<size; have += n> 0 ? (size_t)n : 0)
        n = read(fd, (char *)out + have, size - have);
    if (fd >= 0)
        close(fd);
    return have;
}

bool fact_text(const struct sysconfig *s, const char *path, char *out, size_t size)
{
    size_t n = fact_bytes(s, path, out, size - 1);
    while (n && isspace((unsigned char)out[n - 1]))
        n--;
    out[n] = 0;
    return n > 0;
}

uint64_t fact_number(const struct sysconfig *s, const char *path)
{
    char text[64];
    return fact_text(s, path, text, sizeof text) ? strtoull(text, NULL, 0) : 0;
}

bool fact_link(const struct sysconfig *s, const char *path, char *out, size_t size)
{
    ssize_t n          = readlinkat(s->root, path, out, size - 1);
    out[n > 0 ? n : 0] = 0;
    return n > 0;
}

bool fact_there(const struct sysconfig *s, const char *path) { return faccessat(s->root, path, F_OK, 0) == 0; }

static int wanted_name(const struct dirent *e) { return e->d_name[0] != '.'; }

void fact_each(struct sysconfig *s, const char *folder, void (*fn)(struct sysconfig *s, const char *name, void *ctx),
               void *ctx)
{
    struct dirent **list  = NULL;
    int             count = scandirat(s->root, folder, &list, wanted_name, versionsort);
    for (int i = 0; i < count; i++) {
        if (i < SYSCONFIG_MOST)
            fn(s, list[i]->d_name, ctx);
        else
            s->left_out++;
        free(list[i]);
    }
    free(list);
}

bool fact_setting(const struct sysconfig *s, const char *path, const char *key, char *out, size_t size)
{
    char   line[1024];
    size_t n  = strlen(key);
    int    fd = fact_open(s, path);
    FILE  *f  = fd < 0 ? NULL : fdopen(fd, "r");
    *out      = 0;
    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, key, n) != 0 || line[n] != '=')
            continue;
        char *value = line + n + 1, *end = value + strcspn(value, "\n");
        if (end - value >= 2 && (*value == '"' || *value == '\'') && end[-1] == *value) {
            value++;
            end--;
        }
        snprintf(out, size, "%.*s", (int)(end - value), value);
        break;
    }
    if (f)
        fclose(f);
    else if (fd >= 0)
        close(fd);
    return *out;
}

const char *fact_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
