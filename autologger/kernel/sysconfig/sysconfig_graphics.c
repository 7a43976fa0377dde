/* sysconfig_graphics.c - display controllers: Windows' Video. See sysconfig.h. These are the controllers on the PCI
 * bus, or without one the firmware's frame buffer. No file has the refresh rate. */
#include "autologger/kernel/sysconfig/sysconfig_parts.h"

#include "autologger/wire/hooks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLASS_DISPLAY = 3, IN_USE = 1, PRIMARY = 4, UNITS = 256 };

struct screen {
    uint32_t width, height, depth, connected;
};
struct looked { /* below one folder of /sys */
    char          folder[256];
    struct screen screen;
};

/* "card0-HDMI-A-1": its first mode is the preferred one. */
static void connector(struct sysconfig *s, const char *name, void *ctx)
{
    struct looked *l = ctx;
    char           path[512], text[64];
    snprintf(path, sizeof path, "%s/%.64s/status", l->folder, name);
    if (!fact_text(s, path, text, sizeof text) || strcmp(text, "connected") != 0)
        return;
    snprintf(path, sizeof path, "%s/%.64s/modes", l->folder, name);
    l->screen.connected = 1;
    if (!l->screen.width && fact_text(s, path, text, sizeof text) &&
        sscanf(text, "%ux%u", &l->screen.width, &l->screen.height) != 2)
        l->screen.width = l->screen.height = 0;
}

static void card(struct sysconfig *s, const char *name, void *ctx)
{
    const struct looked *parent = ctx;
    struct looked        l      = {.screen = parent->screen};
    if (strncmp(name, "card", 4) != 0)
        return;
    snprintf(l.folder, sizeof l.folder, "%.180s/%.64s", parent->folder, name);
    fact_each(s, l.folder, connector, &l);
    ((struct looked *)ctx)->screen = l.screen;
}

static void frame_buffer(struct sysconfig *s, const char *name, void *ctx)
{
    struct looked *l = ctx;
    char           path[512], text[64];
    snprintf(path, sizeof path, "%s/%.64s/bits_per_pixel", l->folder, name);
    l->screen.depth = (uint32_t)fact_number(s, path);
    snprintf(path, sizeof path, "%s/%.64s/virtual_size", l->folder, name);
    if (!l->screen.width && fact_text(s, path, text, sizeof text) &&
        sscanf(text, "%u,%u", &l->screen.width, &l->screen.height) != 2)
        l->screen.width = l->screen.height = 0;
}

struct video {
    struct screen screen;
    uint64_t      memory;
    uint32_t      flags;
    char          chip[256], adapter[256], id[256];
};

static void video_put(struct sysconfig *s, const struct video *v)
{
    struct writer *w = config_begin(s);
    wr_u32(w, v->memory > UINT32_MAX ? UINT32_MAX : (uint32_t)v->memory);
    wr_u32(w, v->screen.width);
    wr_u32(w, v->screen.height);
    wr_u32(w, v->screen.depth);
    wr_u32(w, 0);
    config_text_fixed(w, v->chip, UNITS);
    config_text_fixed(w, "", UNITS); /* digital-to-analogue converter */
    config_text_fixed(w, v->adapter, UNITS);
    config_text_fixed(w, "", UNITS); /* the card's own firmware */
    config_text_fixed(w, v->id, UNITS);
    wr_u32(w, v->flags);
    config_put(s, HOOK_CONFIG_VIDEO, 2);
}

static void pci(struct sysconfig *s, const char *name, void *ctx)
{
    unsigned     *count = ctx;
    struct looked l     = {.screen = {0}};
    struct video  v     = {.memory = 0};
    char          path[128], link[512];
    snprintf(path, sizeof path, "sys/bus/pci/devices/%.64s/class", name);
    const uint32_t class = (uint32_t)fact_number(s, path);
    if (class >> 16 != CLASS_DISPLAY)
        return;
    ++*count;
    snprintf(l.folder, sizeof l.folder, "sys/bus/pci/devices/%.64s/drm", name);
    fact_each(s, l.folder, card, &l);
    snprintf(l.folder, sizeof l.folder, "sys/bus/pci/devices/%.64s/graphics", name);
    fact_each(s, l.folder, frame_buffer, &l);
    v.screen = l.screen;
    snprintf(path, sizeof path, "sys/bus/pci/devices/%.64s/mem_info_vram_total", name); /* drivers that know it */
    v.memory = fact_number(s, path);
    snprintf(path, sizeof path, "sys/bus/pci/devices/%.64s/boot_vga", name);
    v.flags = (fact_number(s, path) ? PRIMARY : 0) | (v.screen.width ? IN_USE : 0);
    snprintf(path, sizeof path, "sys/bus/pci/devices/%.64s/driver", name);
    if (fact_link(s, path, link, sizeof link))
        snprintf(v.chip, sizeof v.chip, "%s", fact_base(link));
    snprintf(path, sizeof path, "sys/bus/pci/devices/%.64s/vendor", name);
    const uint32_t vendor = (uint32_t)fact_number(s, path);
    snprintf(path, sizeof path, "sys/bus/pci/devices/%.64s/device", name);
    const uint32_t device = (uint32_t)fact_number(s, path);
    snprintf(v.adapter, sizeof v.adapter, "PCI device %04x:%04x, class %06x", vendor, device, class);
    snprintf(v.id, sizeof v.id, "PCI\\VEN_%04X&DEV_%04X\\%.64s", vendor, device, name);
    video_put(s, &v);
}

void config_graphics(struct sysconfig *s)
{
    unsigned      count = 0;
    struct looked l     = {.folder = "sys/class/graphics"};
    fact_each(s, "sys/bus/pci/devices", pci, &count);
    if (count)
        return;
    frame_buffer(s, "fb0", &l);
    struct video v = {.screen = l.screen, .flags = IN_USE | PRIMARY, .adapter = "frame buffer"};
    fact_text(s, "sys/class/graphics/fb0/name", v.chip, sizeof v.chip);
    if (l.screen.width)
        video_put(s, &v);
}
