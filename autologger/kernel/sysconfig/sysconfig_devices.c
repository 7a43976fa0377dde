/* sysconfig_devices.c - devices of PCI and USB, and interrupts. See sysconfig.h. */
#include "autologger/kernel/sysconfig/sysconfig_parts.h"
#include "autologger/wire/hooks.h"
#include "registry-sim/win32/guid.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODE_DRIVER_LOADED = 2, NODE_STARTED = 8, PROBLEM_NO_DRIVER = 28 };

/* Windows' setup classes of PCI base classes. */
static const struct {
    uint8_t     base, sub;
    const char *guid;
} setup_classes[] = {
    /* sub 0xFF: any */
    {0x01, 0x01, "{4d36e96a-e325-11ce-bfc1-08002be10318}"}, /* IDE */
    {0x01, 0x06, "{4d36e96a-e325-11ce-bfc1-08002be10318}"}, /* AHCI */
    {0x01, 0xFF, "{4d36e97b-e325-11ce-bfc1-08002be10318}"}, /* other storage */
    {0x02, 0xFF, "{4d36e972-e325-11ce-bfc1-08002be10318}"}, /* network */
    {0x03, 0xFF, "{4d36e968-e325-11ce-bfc1-08002be10318}"}, /* display */
    {0x04, 0xFF, "{4d36e96c-e325-11ce-bfc1-08002be10318}"}, /* sound */
    {0x06, 0xFF, "{4d36e97d-e325-11ce-bfc1-08002be10318}"}, /* system: bridges */
    {0x07, 0xFF, "{4d36e978-e325-11ce-bfc1-08002be10318}"}, /* ports */
    {0x08, 0xFF, "{4d36e97d-e325-11ce-bfc1-08002be10318}"}, /* system */
    {0x0C, 0x03, "{36fc9e60-c465-11cf-8056-444553540000}"}, /* USB */
    {0x0C, 0xFF, "{4d36e97d-e325-11ce-bfc1-08002be10318}"},
};

static struct guid setup_class(uint32_t class)
{
    struct guid g = {0};
    for (size_t i = 0; i < sizeof setup_classes / sizeof *setup_classes; i++)
        if (setup_classes[i].base == (class >> 16 & 0xFF) &&
            (setup_classes[i].sub == 0xFF || setup_classes[i].sub == (class >> 8 & 0xFF))) {
            guid_parse(setup_classes[i].guid, &g);
            break;
        }
    return g;
}

struct device {
    struct guid class;
    char bus[40], id[256], description[256], friendly[256];
};

static void device_put(struct sysconfig *s, const struct device *d, const char *name)
{
    char path[192], driver[512], place[512];
    snprintf(path, sizeof path, "sys/bus/%s/devices/%.64s/driver", d->bus, name);
    const bool bound = fact_link(s, path, driver, sizeof driver);
    snprintf(path, sizeof path, "sys/bus/%s/devices/%.64s", d->bus, name);
    fact_link(s, path, place, sizeof place);
    const char    *sys = strstr(place, "devices/");
    struct writer *w   = config_begin(s);
    wr_bytes(w, &d->class, sizeof d->class);
    wr_u32(w, 0); /* filters: Linux has none */
    wr_u32(w, 0);
    wr_u32(w, bound ? NODE_DRIVER_LOADED | NODE_STARTED : 0);
    wr_u32(w, bound ? 0 : PROBLEM_NO_DRIVER);
    config_text(w, d->id);
    config_text(w, d->description);
    config_text(w, d->friendly);
    config_text(w, sys ? sys : name);
    config_text(w, bound ? fact_base(driver) : "");
    config_put(s, HOOK_CONFIG_PNP, 5);
}

static uint32_t device_number(const struct sysconfig *s, const char *bus, const char *name, const char *file)
{
    char path[192];
    snprintf(path, sizeof path, "sys/bus/%s/devices/%.64s/%s", bus, name, file);
    return (uint32_t)fact_number(s, path);
}

static void device_text(const struct sysconfig *s, const char *bus, const char *name, const char *file, char *out,
                        size_t size)
{
    char path[192];
    snprintf(path, sizeof path, "sys/bus/%s/devices/%.64s/%s", bus, name, file);
    fact_text(s, path, out, size);
}

static void pci_put(struct sysconfig *s, const char *name, void *ctx)
{
    const uint32_t class = device_number(s, "pci", name, "class"), vendor = device_number(s, "pci", name, "vendor"),
                   device = device_number(s, "pci", name, "device");
    struct device d       = {.class = setup_class(class), .bus = "pci"};
    (void)ctx;
    snprintf(d.id, sizeof d.id, "PCI\\VEN_%04X&DEV_%04X&SUBSYS_%04X%04X&REV_%02X\\%.64s", vendor, device,
             device_number(s, "pci", name, "subsystem_device"), device_number(s, "pci", name, "subsystem_vendor"),
             device_number(s, "pci", name, "revision"), name);
    snprintf(d.description, sizeof d.description, "PCI device %04x:%04x, class %06x", vendor, device, class);
    device_text(s, "pci", name, "label", d.friendly, sizeof d.friendly);
    device_put(s, &d, name);
}

/* Serial numbers stay out of the trace: the instance is named by its place on the bus. */
static void usb_put(struct sysconfig *s, const char *name, void *ctx)
{
    char          vendor[16], product[16];
    struct device d = {.bus = "usb"};
    (void)ctx;
    device_text(s, "usb", name, "idVendor", vendor, sizeof vendor);
    device_text(s, "usb", name, "idProduct", product, sizeof product);
    if (!*vendor)
        return; /* an interface */
    guid_parse("{36fc9e60-c465-11cf-8056-444553540000}", &d.class);
    for (char *p = vendor; *p; p++)
        *p = (char)toupper((unsigned char)*p);
    for (char *p = product; *p; p++)
        *p = (char)toupper((unsigned char)*p);
    snprintf(d.id, sizeof d.id, "USB\\VID_%s&PID_%s\\%.64s", vendor, product, name);
    device_text(s, "usb", name, "manufacturer", d.description, sizeof d.description);
    device_text(s, "usb", name, "product", d.friendly, sizeof d.friendly);
    device_put(s, &d, name);
}

/* "ffffffff,00000001": 32-bit words, the highest first. Returns the mask of the first group of 64 processors that has
 * one set. */
static uint64_t affinity_parse(char *text, uint16_t *group)
{
    uint32_t word[128];
    unsigned count = 0;
    char    *rest  = NULL; /* sessions may end at the same time, each in a thread of its own */
    for (char *p = strtok_r(text, ",", &rest); p && count < 128; p = strtok_r(NULL, ",", &rest))
        word[count++] = (uint32_t)strtoul(p, NULL, 16);
    for (unsigned i = 0; i < count; i += 2) {
        uint64_t mask = word[count - 1 - i] | (i + 1 < count ? (uint64_t)word[count - 2 - i] << 32 : 0);
        *group        = (uint16_t)(i / 2);
        if (mask)
            return mask;
    }
    *group = 0;
    return 0;
}

static void irq_put(struct sysconfig *s, const char *name, void *ctx)
{
    char     path[64], actions[512], affinity[2048];
    uint16_t group;
    (void)ctx;
    snprintf(path, sizeof path, "sys/kernel/irq/%.16s/actions", name);
    if (!fact_text(s, path, actions, sizeof actions))
        return; /* no handler */
    snprintf(path, sizeof path, "proc/irq/%.16s/smp_affinity", name);
    fact_text(s, path, affinity, sizeof affinity);
    struct writer *w = config_begin(s);
    wr_u64(w, affinity_parse(affinity, &group));
    wr_u16(w, group);
    wr_u16(w, 0);
    wr_u32(w, (uint32_t)strtoul(name, NULL, 10));
    wr_u32(w, 0);
    const size_t at = w->pos;
    config_text(w, actions);
    if (wr_ok(w)) {
        uint32_t length = (uint32_t)(w->pos - at) / 2;
        memcpy(w->data + at - 4, &length, sizeof length);
    }
    config_put(s, HOOK_CONFIG_IRQ, 3);
}

void config_devices(struct sysconfig *s)
{
    fact_each(s, "sys/kernel/irq", irq_put, NULL);
    fact_each(s, "sys/bus/pci/devices", pci_put, NULL);
    fact_each(s, "sys/bus/usb/devices", usb_put, NULL);
}
