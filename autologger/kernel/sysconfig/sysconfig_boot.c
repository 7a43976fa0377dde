/* sysconfig_boot.c - the environment of this boot: firmware, boot loader, kernel, initramfs. Windows has no such
 * classes, so these are self-describing events with names of our own. See sysconfig.h and bootenv.h. */
#include "autologger/kernel/source/bootenv.h"
#include "autologger/kernel/sysconfig/sysconfig_parts.h"
#include "registry-sim/win32/utf16.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined __x86_64__
#include <cpuid.h>
#endif

#define EFIVARS "sys/firmware/efi/efivars/"
#define LOADER_VENDOR "-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"
#define GLOBAL_VENDOR "-8be4df61-93ca-11d2-aa0d-00e098032b8c"
#define FPDT "sys/firmware/acpi/fpdt/boot/"

static void put_utf8(struct writer *w, const char *value) { wr_bytes(w, value, strlen(value) + 1); }

/* An EFI variable that is text: attributes, then UTF-16. */
static bool variable_text(const struct sysconfig *s, const char *name, char *out, size_t size)
{
    uint8_t raw[1024];
    char    path[160];
    snprintf(path, sizeof path, EFIVARS "%s" LOADER_VENDOR, name);
    size_t n = fact_bytes(s, path, raw, sizeof raw);
    *out     = 0;
    if (n <= 4)
        return false;
    utf16le_to_utf8(raw + 4, n - 4, out, size);
    return *out;
}

static uint64_t variable_ns(const struct sysconfig *s, const char *name)
{
    char text[64];
    return variable_text(s, name, text, sizeof text) ? strtoull(text, NULL, 10) * 1000 : 0;
}

/* "[none] integrity confidentiality" */
static void sysconfig_boot_chosen(const char *text, char *out, size_t size)
{
    const char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;
    snprintf(out, size, "%.*s", close ? (int)(close - open) - 1 : 0, close ? open + 1 : "");
}

/* ---- times ---- */

enum { LOADER_KEXEC = 0xD };
static unsigned loader_type(const struct sysconfig *s)
{
    return (unsigned)fact_number(s, "proc/sys/kernel/bootloader_type") >> 4;
}

static void times_put(struct sysconfig *s)
{
    const bool     old  = loader_type(s) == LOADER_KEXEC;
    const uint64_t init = variable_ns(s, "LoaderTimeInitUSec"), menu = variable_ns(s, "LoaderTimeMenuUSec"),
                   exec      = variable_ns(s, "LoaderTimeExecUSec");
    const uint64_t fpdt[]    = {fact_number(s, FPDT "firmware_start_ns"), fact_number(s, FPDT "bootloader_load_ns"),
                                fact_number(s, FPDT "bootloader_launch_ns"),
                                fact_number(s, FPDT "exitbootservice_start_ns"),
                                fact_number(s, FPDT "exitbootservice_end_ns")};
    const bool     by_loader = !old && init && exec > init, by_fpdt = !old && !by_loader && fpdt[2];
    struct writer *w = config_begin(s);
    wr_u64(w, by_loader ? init : by_fpdt ? fpdt[2] : 0);
    wr_u64(w, by_loader ? exec - init : by_fpdt && fpdt[4] > fpdt[2] ? fpdt[4] - fpdt[2] : 0);
    put_utf8(w, by_loader ? "LoaderTime" : by_fpdt ? "FPDT" : old ? "kexec" : "");
    wr_u64(w, init);
    wr_u64(w, menu);
    wr_u64(w, exec);
    for (int i = 0; i < 5; i++)
        wr_u64(w, fpdt[i]);
    config_put_described(s, BOOTENV_TIMES);
}

/* ---- loader and kernel ---- */

/* The loader's name by its EFI variable, else by the number that it gave the kernel (x86's boot protocol). */
static void loader_name(const struct sysconfig *s, char *out, size_t size)
{
    static const char *const names[] = {"LILO",
                                        "Loadlin",
                                        "bootsect",
                                        "Syslinux",
                                        "iPXE",
                                        "ELILO",
                                        "",
                                        "GRUB",
                                        "U-Boot",
                                        "Xen",
                                        "Gujin",
                                        "QEMU",
                                        "Arcturus uCbootloader",
                                        "kexec",
                                        "",
                                        ""};
    if (variable_text(s, "LoaderInfo", out, size))
        return;
    const bool known = fact_there(s, "proc/sys/kernel/bootloader_type");
    snprintf(out, size, "%s", known ? names[loader_type(s) & 15] : "");
}

static void loader_put(struct sysconfig *s)
{
    uint8_t secure[5];
    char    name[256], firmware[256];
    loader_name(s, name, sizeof name);
    variable_text(s, "LoaderFirmwareInfo", firmware, sizeof firmware);
    const bool     told = fact_bytes(s, EFIVARS "SecureBoot" GLOBAL_VENDOR, secure, sizeof secure) == sizeof secure;
    const bool     efi  = fact_there(s, "sys/firmware/efi");
    struct writer *w    = config_begin(s);
    put_utf8(w, name);
    put_utf8(w, firmware);
    put_utf8(w, efi ? "EFI" : fact_there(s, "sys/firmware/devicetree") ? "device tree" : "");
    put_utf8(w, told ? secure[4] ? "on" : "off" : efi ? "not told" : "not there");
    config_put_described(s, BOOTENV_LOADER);
}

/* The hypervisor's id by CPUID; "" on bare metal, for a recorded tree, and on other architectures. */
static void hypervisor_name(const struct sysconfig *s, char out[16])
{
    memset(out, 0, 16);
#if defined __x86_64__
    enum { LEAF_FEATURES = 1, HYPERVISOR_BIT = 1u << 31, LEAF_HYPERVISOR = 0x40000000 };
    unsigned a, b, c, d;
    if (!s->live || !__get_cpuid(LEAF_FEATURES, &a, &b, &c, &d) || !(c & HYPERVISOR_BIT))
        return;
    __cpuid(LEAF_HYPERVISOR, a, b, c, d);
    memcpy(out, &b, 4);
    memcpy(out + 4, &c, 4);
    memcpy(out + 8, &d, 4);
#else
    (void)s;
#endif
}

/* The early program leaves this link: it ran inside the image. */
static void initramfs_name(const struct sysconfig *s, char *out, size_t size)
{
    fact_link(s, "run/autologger/initramfs", out, size);
}

static void kernel_put(struct sysconfig *s)
{
    static const struct {
        const char *id, *name;
    } hypervisors[] = {{"KVMKVMKVM", "KVM"},       {"TCGTCGTCGTCG", "QEMU"}, {"Microsoft Hv", "Hyper-V"},
                       {"VMwareVMware", "VMware"}, {"XenVMMXenVMM", "Xen"},  {"VBoxVBoxVBox", "VirtualBox"},
                       {"bhyve bhyve ", "bhyve"},  {"ACRNACRNACRN", "ACRN"}, {"Linux KVM Hv", "KVM"}};
    char release[128], build[256], command[FACT_TEXT], clock[64], lockdown[128], mode[64], id[16], initramfs[64];
    fact_text(s, "proc/sys/kernel/osrelease", release, sizeof release);
    fact_text(s, "proc/sys/kernel/version", build, sizeof build);
    fact_text(s, "proc/cmdline", command, sizeof command);
    fact_text(s, "sys/devices/system/clocksource/clocksource0/current_clocksource", clock, sizeof clock);
    fact_text(s, "sys/kernel/security/lockdown", lockdown, sizeof lockdown);
    sysconfig_boot_chosen(lockdown, mode, sizeof mode);
    hypervisor_name(s, id);
    initramfs_name(s, initramfs, sizeof initramfs);
    const char *name = id;
    for (size_t i = 0; i < sizeof hypervisors / sizeof *hypervisors; i++)
        if (strcmp(id, hypervisors[i].id) == 0)
            name = hypervisors[i].name;
    struct writer *w       = config_begin(s);
    const char    *texts[] = {release, build, command, clock, mode, name, id, initramfs};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        put_utf8(w, texts[i]);
    config_put_described(s, BOOTENV_KERNEL);
}

void config_boot(struct sysconfig *s)
{
    times_put(s);
    loader_put(s);
    kernel_put(s);
}
