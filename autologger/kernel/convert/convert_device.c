/* convert_device.c - devices that come and go, and modules, as events of our own (Autologger-Device). See convert.h. */
#include "autologger/kernel/convert/describe.h"
#include "autologger/kernel/source/rawrec.h"

#include <stdlib.h>
#include <string.h>

#define PROVIDER "Autologger-Device"
enum { PAYLOAD_MAX = 12288, PROPERTIES_MAX = 8192 };

enum { ACTION, DEVPATH, SUBSYSTEM, DEVTYPE, DEVNAME, DRIVER, TEXTS };
static const char *const keys[TEXTS] = {"ACTION", "DEVPATH", "SUBSYSTEM", "DEVTYPE", "DEVNAME", "DRIVER"};

struct uevent {
    const char *text[TEXTS];
    uint64_t    number;
    char        properties[PROPERTIES_MAX]; /* the other keys, "KEY=value KEY=value" */
};

static const char *convert_device_value_of(const char *line, const char *key)
{
    size_t n = strlen(key);
    return strncmp(line, key, n) == 0 && line[n] == '=' ? line + n + 1 : NULL;
}

static void convert_device_line_read(struct uevent *u, const char *line)
{
    const char *v;
    for (int i = 0; i < TEXTS; i++)
        if ((v = convert_device_value_of(line, keys[i]))) {
            u->text[i] = v;
            return;
        }
    if ((v = convert_device_value_of(line, "SEQNUM"))) {
        u->number = strtoull(v, NULL, 10);
        return;
    }
    size_t have = strlen(u->properties), n = strlen(line);
    if (have + n + 2 > sizeof u->properties)
        return;
    if (have)
        u->properties[have++] = ' ';
    memcpy(u->properties + have, line, n + 1);
}

static void uevent_write(struct convert *c, const char *text, size_t size, uint64_t raw)
{
    static const struct shape shape = {PROVIDER,
                                       "Uevent",
                                       {{"Action", SHAPE_TEXT},
                                        {"DevPath", SHAPE_TEXT},
                                        {"Subsystem", SHAPE_TEXT},
                                        {"DevType", SHAPE_TEXT},
                                        {"DevName", SHAPE_TEXT},
                                        {"Driver", SHAPE_TEXT},
                                        {"Sequence", SHAPE_UINT64},
                                        {"Properties", SHAPE_TEXT}}};
    struct uevent             u     = {0};
    struct writer             w     = wr_make(c->scratch, PAYLOAD_MAX);
    size_t                    at    = strnlen(text, size) + 1; /* "add@/devices/...": repeated by the keys after it */
    for (size_t n; at < size && (n = strnlen(text + at, size - at)) < size - at; at += n + 1)
        if (n)
            convert_device_line_read(&u, text + at);
    for (int i = 0; i < TEXTS; i++)
        wr_text(&w, u.text[i] ? u.text[i] : "", PROPERTIES_MAX);
    wr_u64(&w, u.number);
    wr_text(&w, u.properties, sizeof u.properties);
    describe(c, &(struct actor){0}, &shape, raw, &w);
}

static void lost_write(struct convert *c, uint64_t lost, uint64_t raw)
{
    static const struct shape shape = {PROVIDER, "UeventsLost", {{"Count", SHAPE_UINT64}}};
    uint8_t                   bytes[8];
    struct writer             w = wr_make(bytes, sizeof bytes);
    wr_u64(&w, lost);
    describe(c, &(struct actor){0}, &shape, raw, &w);
}

unsigned device_counts(const uint8_t *record, size_t size)
{
    struct raw_device r = {0};
    memcpy(&r, record, size < sizeof r ? size : sizeof r);
    return r.lost == 0;
}

bool convert_device(struct convert *c, const uint8_t *record, size_t size, uint64_t raw)
{
    struct raw_device r;
    if (size < sizeof r)
        return false;
    memcpy(&r, record, sizeof r);
    if (r.text_size > size - sizeof r)
        return false;
    if (r.lost)
        lost_write(c, r.lost, raw);
    else
        uevent_write(c, (const char *)record + sizeof r, r.text_size, raw);
    return true;
}

void convert_module_free(struct convert *c, const struct sample *s)
{
    static const struct shape shape = {PROVIDER, "ModuleUnload", {{"Name", SHAPE_TEXT}}};
    uint8_t                   bytes[SHAPE_TEXT_MAX + 1];
    struct writer             w = wr_make(bytes, sizeof bytes);
    wr_sample_text(&w, s, F_MODULE_NAME);
    describe(c, &(struct actor){s->cpu, shown_pid(c, s->pid, s->tid), s->tid}, &shape, s->time, &w);
}
