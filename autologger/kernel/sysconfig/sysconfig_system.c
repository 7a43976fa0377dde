/* sysconfig_system.c - processors, power states, the maker's names, and the version of the system. See sysconfig.h. */
#include "autologger/kernel/sysconfig/sysconfig_parts.h"
#include "autologger/wire/hooks.h"
#include "registry-sim/win32/filetime.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HIGHEST_PAGE = 4096 };

/* ---- /proc/cpuinfo ---- */

struct processor {
    uint32_t index, family, model, stepping, mhz;
    bool     nx, pae;
    char     name[128], vendor[16];
};

/* "key\t: value": the value, or NULL when the line has another key. */
static const char *sysconfig_system_value_of(const char *line, const char *key)
{
    size_t n = strlen(key);
    if (strncmp(line, key, n) != 0)
        return NULL;
    n += strspn(line + n, "\t "); /* "model" is not "model name" */
    return line[n] == ':' ? line + n + 1 + (line[n + 1] == ' ') : NULL;
}

static bool sysconfig_system_has_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = strstr(text, word); p; p = strstr(p + 1, word))
        if ((p == text || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\n' || !p[n]))
            return true;
    return false;
}

static void sysconfig_system_line_read(struct processor *p, const char *line)
{
    const struct {
        const char *key;
        uint32_t   *to;
    } numbers[] = {{"cpu family", &p->family}, {"model", &p->model}, {"stepping", &p->stepping}, {"cpu MHz", &p->mhz}};
    const char *v;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if ((v = sysconfig_system_value_of(line, numbers[i].key)))
            *numbers[i].to = (uint32_t)strtoul(v, NULL, 10);
    if ((v = sysconfig_system_value_of(line, "model name")))
        snprintf(p->name, sizeof p->name, "%.*s", (int)strcspn(v, "\n"), v);
    if ((v = sysconfig_system_value_of(line, "vendor_id")))
        snprintf(p->vendor, sizeof p->vendor, "%.*s", (int)strcspn(v, "\n"), v);
    if ((v = sysconfig_system_value_of(line, "flags"))) {
        p->nx  = sysconfig_system_has_word(v, "nx");
        p->pae = sysconfig_system_has_word(v, "pae");
    }
}

/* Uses the base frequency where the kernel knows it: /proc/cpuinfo has the current one. */
static void frequency_fix(const struct sysconfig *s, struct processor *p)
{
    char path[96];
    snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%u/cpufreq/base_frequency", p->index);
    uint64_t khz = fact_number(s, path);
    if (khz)
        p->mhz = (uint32_t)(khz / 1000);
}

static void processors_each(struct sysconfig *s, void (*fn)(struct sysconfig *s, const struct processor *p, void *ctx),
                            void             *ctx)
{
    char             line[8192];
    struct processor p     = {0};
    bool             begun = false;
    int              fd    = openat(s->root, "proc/cpuinfo", O_RDONLY | O_CLOEXEC);
    FILE            *f     = fd < 0 ? NULL : fdopen(fd, "r");
    while (f && fgets(line, sizeof line, f)) {
        const char *v = sysconfig_system_value_of(line, "processor");
        if (!v) {
            sysconfig_system_line_read(&p, line);
            continue;
        }
        if (begun) {
            frequency_fix(s, &p);
            fn(s, &p, ctx);
        }
        p     = (struct processor){.index = (uint32_t)strtoul(v, NULL, 10)};
        begun = true;
    }
    if (begun) {
        frequency_fix(s, &p);
        fn(s, &p, ctx);
    }
    if (f)
        fclose(f);
    else if (fd >= 0)
        close(fd);
}

/* True if the processor shares its core with another one. */
static bool has_sibling(const struct sysconfig *s, uint32_t cpu)
{
    char path[96], text[64];
    snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", cpu);
    return fact_text(s, path, text, sizeof text) && strpbrk(text, ",-");
}

struct processors {
    struct processor first;
    uint32_t         count;
    uint64_t         siblings;
};

static void processor_count(struct sysconfig *s, const struct processor *p, void *ctx)
{
    struct processors *all = ctx;
    if (!all->count++)
        all->first = *p;
    if (p->index < 64 && has_sibling(s, p->index))
        all->siblings |= UINT64_C(1) << p->index;
}

/* ---- SMBIOS ---- */

/* The speed of the first memory module, in MT/s: type 17 of the SMBIOS table. */
static uint32_t memory_speed(const struct sysconfig *s)
{
    enum { TYPE_MEMORY_DEVICE = 17, AT_SPEED = 0x15, AT_CONFIGURED = 0x20, TABLE = 65536 };
    uint8_t *table = malloc(TABLE);
    size_t   size  = table ? fact_bytes(s, "sys/firmware/dmi/tables/DMI", table, TABLE) : 0;
    uint16_t speed = 0;
    for (size_t at = 0; at + 4 <= size && table[at + 1] >= 4 && at + table[at + 1] <= size && !speed;) {
        const uint8_t *t = table + at;
        if (t[0] == TYPE_MEMORY_DEVICE && t[1] >= AT_CONFIGURED + 2)
            memcpy(&speed, t + AT_CONFIGURED, 2);
        if (t[0] == TYPE_MEMORY_DEVICE && !speed && t[1] >= AT_SPEED + 2)
            memcpy(&speed, t + AT_SPEED, 2);
        at += t[1];
        while (at + 1 < size && (table[at] || table[at + 1])) /* its texts */
            at++;
        at += 2;
    }
    free(table);
    return speed == 0xFFFF ? 0 : speed;
}

/* ---- classes ---- */

static uint64_t memory_kb(const struct sysconfig *s)
{
    char        text[FACT_TEXT];
    const char *at = fact_text(s, "proc/meminfo", text, sizeof text) ? strstr(text, "MemTotal:") : NULL;
    return at ? strtoull(at + 9, NULL, 10) : 0;
}

static uint16_t architecture(void)
{
#if defined __x86_64__
    return 9;
#elif defined __aarch64__
    return 12;
#else
    return 0xFFFF; /* Windows' value for unknown */
#endif
}

void config_cpu(struct sysconfig *s)
{
    struct processors all = {0};
    char              host[256], domain[256];
    struct writer    *w = config_begin(s);
    processors_each(s, processor_count, &all);
    fact_text(s, "proc/sys/kernel/hostname", host, sizeof host);
    fact_text(s, "proc/sys/kernel/domainname", domain, sizeof domain);
    wr_u32(w, all.first.mhz);
    wr_u32(w, all.count);
    wr_u32(w, (uint32_t)(memory_kb(s) >> 10));
    wr_u32(w, (uint32_t)sysconf(_SC_PAGESIZE));
    wr_u32(w, 65536); /* allocation granularity, as in Windows */
    config_text_fixed(w, host, 256);
    config_text_fixed(w, strcmp(domain, "(none)") == 0 ? "" : domain, 134);
    wr_u64(w, all.siblings);
    wr_u64(w, UINT64_C(0x7fffffffffff) - HIGHEST_PAGE);
    wr_u16(w, architecture());
    wr_u16(w, (uint16_t)all.first.family);
    wr_u16(w, (uint16_t)(all.first.model << 8 | (all.first.stepping & 0xFF)));
    wr_u8(w, all.first.nx);
    wr_u8(w, all.first.pae);
    wr_u32(w, memory_speed(s));
    config_put(s, HOOK_CONFIG_CPU, 3);
}

static void processor_put(struct sysconfig *s, const struct processor *p, void *ctx)
{
    unsigned *count = ctx;
    if (++*count > SYSCONFIG_MOST) {
        s->left_out++;
        return;
    }
    char identifier[64] = "";
    if (*p->vendor) /* x86 only: other processors have no such numbers */
        snprintf(identifier, sizeof identifier, "Family %u Model %u Stepping %u", p->family, p->model, p->stepping);
    struct writer *w = config_begin(s);
    wr_u32(w, p->index);
    wr_u32(w, 0); /* Windows' own feature bits */
    wr_u32(w, p->mhz);
    config_text_fixed(w, p->name, 64);
    config_text_fixed(w, p->vendor, 16);
    config_text_fixed(w, identifier, 128);
    config_put(s, HOOK_CONFIG_PROCESSOR, 2);
}

/* S0 low-power idle, from the flags in ACPI's FADT: "always on, always connected" in Windows. */
static bool low_power_idle(const struct sysconfig *s)
{
    enum { AT_FLAGS = 112, LOW_POWER_S0 = 1 << 21 };
    uint8_t  table[AT_FLAGS + 4];
    uint32_t flags;
    if (fact_bytes(s, "sys/firmware/acpi/tables/FACP", table, sizeof table) < sizeof table)
        return false;
    memcpy(&flags, table + AT_FLAGS, sizeof flags);
    return flags & LOW_POWER_S0;
}

static void power_put(struct sysconfig *s)
{
    char           state[128], sleep[128];
    struct writer *w = config_begin(s);
    fact_text(s, "sys/power/state", state, sizeof state);
    fact_text(s, "sys/power/mem_sleep", sleep, sizeof sleep);
    wr_u8(w, sysconfig_system_has_word(state, "standby") || strstr(sleep, "shallow"));
    wr_u8(w, 0); /* S2: Linux does not use it */
    wr_u8(w, strstr(sleep, "deep") != NULL);
    wr_u8(w, sysconfig_system_has_word(state, "disk"));
    wr_u8(w, fact_there(s, "sys/firmware/acpi")); /* S5: can switch itself off */
    wr_u8(w, low_power_idle(s));
    wr_u16(w, 0);
    config_put(s, HOOK_CONFIG_POWER, 2);
}

static void platform_put(struct sysconfig *s)
{
    static const char *const names[] = {"sys_vendor", "product_name", "bios_date", "bios_version"};
    char                     path[64], text[256];
    if (!fact_there(s, "sys/class/dmi/id"))
        return; /* a machine without SMBIOS */
    struct writer *w = config_begin(s);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "sys/class/dmi/id/%s", names[i]);
        fact_text(s, path, text, sizeof text);
        config_text(w, text);
    }
    config_put(s, HOOK_CONFIG_PLATFORM, 2);
}

/* The creation time of the root file system; 0 if it has none. */
static uint64_t install_time(const struct sysconfig *s)
{
    struct statx st;
    if (!s->live || statx(s->root, "", AT_EMPTY_PATH, STATX_BTIME, &st) < 0 || !(st.stx_mask & STATX_BTIME) ||
        st.stx_btime.tv_sec <= 0)
        return 0;
    return filetime_from_unix_ns((uint64_t)st.stx_btime.tv_sec * 1000000000u + st.stx_btime.tv_nsec);
}

static void version_put(struct sysconfig *s)
{
    char           release[128], version[256], lab[400], product[256];
    struct writer *w = config_begin(s);
    fact_text(s, "proc/sys/kernel/osrelease", release, sizeof release);
    fact_text(s, "proc/sys/kernel/version", version, sizeof version);
    if (!fact_setting(s, "etc/os-release", "PRETTY_NAME", product, sizeof product))
        fact_setting(s, "usr/lib/os-release", "PRETTY_NAME", product, sizeof product);
    snprintf(lab, sizeof lab, "%s %s", release, version);
    wr_u64(w, install_time(s));
    config_text(w, lab);
    config_text(w, product);
    config_put_ex(s, 32);
    w = config_begin(s); /* the vendor's folder of libraries, and the vendor's folder as a whole */
    config_text(w, "C:\\usr\\lib");
    config_text(w, "C:\\usr\\");
    config_put_ex(s, 33);
    w = config_begin(s);
    config_text(w, "\\Device\\HarddiskVolume1\\"); /* as in the paths of images: the whole tree is one volume */
    config_put_ex(s, 34);
}

void config_system(struct sysconfig *s)
{
    unsigned count = 0;
    processors_each(s, processor_put, &count);
    power_put(s);
    platform_put(s);
    version_put(s);
}
