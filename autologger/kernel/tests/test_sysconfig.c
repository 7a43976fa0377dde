/* The system configuration, collected from a tree as /proc, /sys and /etc show a machine, field by field; what a mask
 * chooses; a machine with a thousand of everything; and the converter's part. Proves: MRG-06 (VolumeMapping). */
#include "autologger/kernel/source/bootenv.h"
#include "autologger/kernel/sysconfig/sysconfig.h"
#include "autologger/kernel/tests/raw_maker.h"
#include "autologger/wire/etl.h"
#include "registry-sim/win32/utf16.h"
/* Only a running machine has these: boot-tests/e2e/system_config.py compares them with statx, statvfs, getifaddrs,
 * resolv.conf and lscpu. */
#define READ_BACK_LIVE \
    "InstallDate Hypervisor HypervisorId SectorsPerCluster NumberOfFreeClusters TotalNumberOfClusters IpAddresses DnsServerAddresses"
#include "tools/dev/read_back.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { EVENTS = 20000 };
static char root[64];
static struct event_copy {
    struct raw_config head;
    uint8_t          *body;
} event[EVENTS];
static unsigned count, left_out;

/* ---- a tree ---- */

static void folders(char *path)
{
    for (char *p = path + strlen(root) + 1; (p = strchr(p, '/')); *p++ = '/') {
        *p = 0;
        mkdir(path, 0755);
    }
}

static void file_bytes(const char *name, const void *bytes, size_t size)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", root, name);
    folders(path);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    fclose(f);
}
static void file(const char *name, const char *text) { file_bytes(name, text, strlen(text)); }

static void link_to(const char *name, const char *target)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", root, name);
    folders(path);
    assert_int_equal(symlink(target, path), 0);
}

static void efi_text(const char *name, const char *text)
{
    uint8_t raw[512] = {6};
    char    path[200];
    size_t  n = utf8_to_utf16le(text, strlen(text), raw + 4, sizeof raw - 6);
    snprintf(path, sizeof path, "sys/firmware/efi/efivars/%s-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f", name);
    file_bytes(path, raw, n + 6);
}

static int setup(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "/tmp/sysconfig-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int gone(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

/* Puts the collected events into a raw log, as the drainer does. */
static void put_all(struct maker *maker)
{
    for (unsigned i = 0; i < count; i++) {
        struct raw_config h = event[i].head;
        h.own.time          = 1000 + i;
        h.own.size          = (uint16_t)((sizeof h + h.body_size + 7) & ~7u);
        maker_put(maker, &h, sizeof h);
        maker_put(maker, event[i].body, h.body_size);
        memset(maker->chunk + maker->used, 0, 8);
        maker->used += h.own.size - sizeof h - h.body_size;
        maker->records++;
    }
}

/* Converts them, and reads each class back (the last test). */
static void read_all_back(void)
{
    static struct maker maker;
    struct klog_config  config = {.mask = {1}, .clock = {1, CLOCK_READ_RAW, 1000000000}};
    struct convert      c;
    struct klog_record  r;
    if (count > 1000)
        return; /* too many for a chunk */
    maker_init(&maker, 1, 1 << 20);
    put_all(&maker);
    maker_chunk(&maker, 0, RAW_CHUNK_OWN);
    maker_pass(&maker, 100000, UINT64_MAX);
    assert_int_equal(convert_init(&c, &config, &maker.log, NULL), 0);
    disk_number(&c, 259 << 20); /* takes number 0, so that the collected disks have others */
    for (; convert_peek(&c, 0, &r); convert_pop(&c, 0))
        read_back_see(r.data, r.size);
    convert_finish(&c);
    maker_finish(&maker);
}

static int teardown(void **state)
{
    (void)state;
    read_all_back();
    for (unsigned i = 0; i < count; i++)
        free(event[i].body);
    count = 0;
    return nftw(root, gone, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- the collected events ---- */

static void take(void *ctx, const struct raw_config *head, const void *body, size_t size)
{
    (void)ctx;
    assert_true(count < EVENTS && size == head->body_size);
    event[count].head = *head;
    event[count].body = malloc(size + 1);
    memcpy(event[count++].body, body, size);
}

static void collect(uint32_t word0, uint32_t word6)
{
    const uint32_t mask[GROUP_MASK_WORDS] = {[0] = word0, [6] = word6};
    left_out                              = sysconfig_collect_tree(root, mask, take, NULL);
}

static unsigned having(uint16_t hook, uint8_t header)
{
    unsigned n = 0;
    for (unsigned i = 0; i < count; i++)
        n += event[i].head.hook == hook && event[i].head.header == header;
    return n;
}

static const struct event_copy *nth(uint16_t hook, uint8_t header, unsigned n)
{
    for (unsigned i = 0; i < count; i++)
        if (event[i].head.hook == hook && event[i].head.header == header && n-- == 0)
            return &event[i];
    fail_msg("no event %04x", hook);
    return NULL;
}

/* The text at `at`; *next is where the next one begins. */
static const char *text(const struct event_copy *e, size_t at, size_t *next)
{
    static char out[8][600];
    static int  turn;
    size_t      end = at;
    while (end + 1 < e->head.body_size && (e->body[end] || e->body[end + 1]))
        end += 2;
    assert_true(end + 1 < e->head.body_size);
    turn = (turn + 1) % 8;
    utf16le_to_utf8(e->body + at, end - at, out[turn], sizeof out[turn]);
    if (next)
        *next = end + 2;
    return out[turn];
}
static uint64_t number(const struct event_copy *e, size_t at, size_t size)
{
    uint64_t v = 0;
    assert_true(at + size <= e->head.body_size);
    memcpy(&v, e->body + at, size);
    return v;
}

/* ---- one machine ---- */

#define CPU(n) \
    "processor\t: " n \
    "\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 142\nmodel name\t: Intel(R) Core(TM) i5-8265U CPU @ 1.60GHz\n" \
    "stepping\t: 11\ncpu MHz\t\t: 3200.112\nflags\t\t: fpu pae nx lm\n\n"

static void machine_make(void)
{
    file("proc/cpuinfo", CPU("0") CPU("1") CPU("2"));
    file("proc/meminfo", "MemTotal:       16252928 kB\nMemFree:  1 kB\n");
    file("proc/sys/kernel/hostname", "käse\n");
    file("proc/sys/kernel/domainname", "(none)\n");
    file("proc/sys/kernel/osrelease", "6.1.0-26-amd64\n");
    file("proc/sys/kernel/version", "#1 SMP Debian 6.1.112\n");
    file("proc/cmdline", "root=/dev/sda2 ro quiet\n");
    file("sys/devices/system/cpu/cpu0/cpufreq/base_frequency", "1600000\n");
    file("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0,2\n");
    file("sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "1\n");
    file("sys/devices/system/cpu/cpu2/topology/thread_siblings_list", "0,2\n");
    file("sys/power/state", "freeze standby mem disk\n");
    file("sys/power/mem_sleep", "s2idle [deep]\n");
    file("sys/class/dmi/id/sys_vendor", "LENOVO\n");
    file("sys/class/dmi/id/product_name", "20Q5S00000\n");
    file("sys/class/dmi/id/bios_date", "07/05/2023\n");
    file("sys/class/dmi/id/bios_version", "N2IETA4W (1.82 )\n");
    file("etc/os-release", "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
    uint8_t fadt[116] = {0};
    fadt[112 + 2]     = 0x20; /* bit 21 */
    file_bytes("sys/firmware/acpi/tables/FACP", fadt, sizeof fadt);
    uint8_t dmi[64] = {1, 4, 0, 0, 'x', 0, 0, /* type 1 with a text */ 17, 0x22};
    dmi[7 + 0x15]   = 0x60; /* 2400 */
    dmi[7 + 0x16]   = 0x09;
    dmi[7 + 0x20]   = 0x55; /* runs at 2133 */
    dmi[7 + 0x21]   = 0x08;
    file_bytes("sys/firmware/dmi/tables/DMI", dmi, sizeof dmi);
}

static void cpu_and_power(void **state)
{
    (void)state;
    machine_make();
    collect(0, SYSCFG_SYSTEM);
    const struct event_copy *e = nth(0x0B0A, ETL_SYSTEM64, 0);
    assert_int_equal(e->head.version, 3);
    assert_int_equal(e->head.body_size, 828);
    assert_int_equal(number(e, 0, 4), 1600);
    assert_int_equal(number(e, 4, 4), 3);
    assert_int_equal(number(e, 8, 4), 15872);
    assert_string_equal(text(e, 20, NULL), "käse");
    assert_string_equal(text(e, 532, NULL), "");
    assert_int_equal(number(e, 800, 8), 5); /* processors 0 and 2 share a core */
    assert_int_equal(number(e, 808, 8), UINT64_C(0x7fffffffefff));
    assert_int_equal(number(e, 818, 2), 6);
    assert_int_equal(number(e, 820, 2), 142 << 8 | 11);
    assert_int_equal(number(e, 822, 2), 0x0101);
    assert_int_equal(number(e, 824, 4), 2133);
    assert_int_equal(having(0x0B23, ETL_SYSTEM64), 3);
    e = nth(0x0B23, ETL_SYSTEM64, 2);
    assert_int_equal(e->head.body_size, 428);
    assert_int_equal(number(e, 0, 4), 2);
    assert_int_equal(number(e, 8, 4), 3200); /* without a base frequency: the current one */
    assert_string_equal(text(e, 12, NULL), "Intel(R) Core(TM) i5-8265U CPU @ 1.60GHz");
    e = nth(0x0B10, ETL_SYSTEM64, 0);
    assert_int_equal(e->head.body_size, 8);
    assert_int_equal(number(e, 0, 8), UINT64_C(0x0000010101010001)); /* S1, S3, S4, S5, AoAc */
    size_t at;
    e = nth(0x0B19, ETL_SYSTEM64, 0);
    assert_string_equal(text(e, 0, &at), "LENOVO");
    assert_string_equal(text(e, at, &at), "20Q5S00000");
    assert_string_equal(text(e, at, &at), "07/05/2023");
    assert_string_equal(text(e, at, &at), "N2IETA4W (1.82 )");
    assert_int_equal(at, e->head.body_size);
    e = nth(32, ETL_FULL64, 0);
    assert_string_equal(text(e, 8, &at), "6.1.0-26-amd64 #1 SMP Debian 6.1.112");
    assert_string_equal(text(e, at, &at), "Debian GNU/Linux 12 (bookworm)");
    assert_int_equal(at, e->head.body_size);
    assert_int_equal(left_out, 0);
}

static void storage(void **state)
{
    (void)state;
    file("sys/block/sda/size", "1000215216\n");
    file("sys/block/sda/dev", "8:0\n");
    file("sys/block/sda/queue/logical_block_size", "512\n");
    file("sys/block/sda/queue/write_cache", "write back\n");
    file("sys/block/sda/2:1:3:4/vendor", "ATA     \n");
    file("sys/block/sda/2:1:3:4/model", "SAMSUNG MZ7LN512\n");
    link_to("sys/block/sda/device", "2:1:3:4");
    file("sys/block/sda/sda1/partition", "1\n");
    file("sys/block/sda/sda1/start", "2048\n");
    file("sys/block/sda/sda1/size", "1048576\n");
    file("sys/block/sda/sda1/dev", "8:1\n");
    file("sys/block/sda/sda2/partition", "2\n");
    file("sys/block/sda/sda2/start", "1050624\n");
    file("sys/block/sda/sda2/size", "999164592\n");
    file("sys/block/sda/sda2/dev", "8:2\n");
    file("sys/block/dm-0/size", "999162544\n");
    file("sys/block/dm-0/dev", "253:0\n");
    file("sys/block/dm-0/dm/name", "root\n");
    file("sys/block/loop0/size", "0\n");
    file("sys/block/loop0/dev", "7:0\n");
    file("proc/self/mountinfo", "22 1 253:0 / / rw,relatime shared:1 - ext4 /dev/mapper/root rw\n"
                                "30 22 8:1 / /boot/my\\040efi rw - vfat /dev/sda1 rw\n"
                                "31 22 8:1 /sub /again rw - vfat /dev/sda1 rw\n"
                                "32 22 0:5 / /proc rw - proc proc rw\nnonsense\n");
    collect(0, SYSCFG_STORAGE);
    assert_int_equal(having(0x0B0B, ETL_SYSTEM64), 1);
    const struct event_copy *e = nth(0x0B0B, ETL_SYSTEM64, 0);
    assert_int_equal(e->head.version, 2);
    assert_int_equal(e->head.body_size, 568);
    assert_int_equal(e->head.dev, 8 << 20);
    assert_int_equal(e->head.disk_at, 0);
    assert_int_equal(number(e, 4, 4), 512);
    assert_int_equal(number(e, 16, 8), 1000215216 / (63 * 255));
    assert_true(number(e, 24, 4) == 2 && number(e, 28, 4) == 1 && number(e, 32, 4) == 3 && number(e, 36, 4) == 4);
    assert_string_equal(text(e, 40, NULL), "ATA SAMSUNG MZ7LN512");
    assert_int_equal(number(e, 552, 4), 2);
    assert_int_equal(number(e, 556, 1), 1);
    assert_int_equal(having(0x0B0C, ETL_SYSTEM64), 3);
    e = nth(0x0B0C, ETL_SYSTEM64, 1); /* sda1: dm-0 comes first */
    assert_int_equal(e->head.body_size, 112);
    assert_int_equal(e->head.dev, 8 << 20); /* the disk's number */
    assert_int_equal(e->head.disk_at, 16);
    assert_int_equal(number(e, 0, 8), 1048576);
    assert_int_equal(number(e, 8, 8), 536870912);
    assert_int_equal(number(e, 20, 4), 112);
    assert_int_equal(number(e, 24, 4), 1);
    assert_int_equal(number(e, 40, 4), 1);
    assert_string_equal(text(e, 72, NULL), "vfat");
    e = nth(0x0B0C, ETL_SYSTEM64, 0);
    assert_int_equal(number(e, 24, 4), 2);
    assert_string_equal(text(e, 28, NULL), "C:");
    assert_string_equal(text(e, 72, NULL), "ext4");
    size_t at;
    assert_int_equal(having(35, ETL_FULL64), 2);
    e = nth(35, ETL_FULL64, 1);
    assert_string_equal(text(e, 0, &at), "\\Device\\sda1\\");
    assert_string_equal(text(e, at, NULL), "C:\\boot\\my efi\\");
    e = nth(35, ETL_FULL64, 0);
    assert_string_equal(text(e, 0, &at), "\\Device\\mapper\\root\\");
    assert_string_equal(text(e, at, NULL), "C:\\");
}

static void network_and_devices(void **state)
{
    (void)state;
    size_t at;
    file("sys/class/net/enp0s31f6/ifindex", "2\n");
    file("sys/class/net/enp0s31f6/type", "1\n");
    file("sys/class/net/enp0s31f6/address", "54:e1:ad:01:02:03\n");
    link_to("sys/class/net/enp0s31f6/device/driver", "../../../bus/pci/drivers/e1000e");
    file("sys/class/net/lo/ifindex", "1\n");
    file("sys/class/net/lo/type", "772\n");
    file("sys/class/net/bonding_masters", "");
    file("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n");
    file("proc/sys/net/ipv4/tcp_ehash_entries", "131072\n");
    link_to("sys/bus/pci/devices/0000:00:1f.6", "../../../devices/pci0000:00/0000:00:1f.6");
    file("sys/devices/pci0000:00/0000:00:1f.6/class", "0x020000\n");
    file("sys/devices/pci0000:00/0000:00:1f.6/vendor", "0x8086\n");
    file("sys/devices/pci0000:00/0000:00:1f.6/device", "0x15be\n");
    file("sys/devices/pci0000:00/0000:00:1f.6/subsystem_vendor", "0x17aa\n");
    file("sys/devices/pci0000:00/0000:00:1f.6/subsystem_device", "0x2279\n");
    file("sys/devices/pci0000:00/0000:00:1f.6/revision", "0x11\n");
    link_to("sys/devices/pci0000:00/0000:00:1f.6/driver", "../../../bus/pci/drivers/e1000e");
    file("sys/bus/usb/devices/1-4/idVendor", "046d\n");
    file("sys/bus/usb/devices/1-4/idProduct", "c52b\n");
    file("sys/bus/usb/devices/1-4/product", "USB Receiver\n");
    file("sys/bus/usb/devices/1-4/serial", "SECRET\n");
    file("sys/bus/usb/devices/1-4:1.0/bInterfaceNumber", "00\n");
    file("sys/kernel/irq/16/actions", "i801_smbus,ahci\n");
    file("proc/irq/16/smp_affinity", "00000000,00000000,0000000f,00000000,00000000\n");
    file("sys/kernel/irq/17/actions", "\n");
    collect(0, SYSCFG_NETWORK | SYSCFG_PNP);
    assert_int_equal(having(0x0B0D, ETL_SYSTEM64), 1);
    const struct event_copy *e = nth(0x0B0D, ETL_SYSTEM64, 0);
    assert_int_equal(number(e, 0, 8), UINT64_C(0x030201ade154));
    assert_int_equal(number(e, 8, 4), 6);
    assert_int_equal(number(e, 12, 4), 2);
    assert_string_equal(text(e, 20, &at), "enp0s31f6 (e1000e)");
    e = nth(0x0B11, ETL_PERFINFO64, 0);
    assert_int_equal(number(e, 4, 4), 131072);
    assert_int_equal(number(e, 8, 4), 60999);
    assert_int_equal(having(0x0B16, ETL_SYSTEM64), 2);
    e = nth(0x0B16, ETL_SYSTEM64, 0);
    assert_int_equal(e->head.version, 5);
    assert_int_equal(number(e, 0, 4), 0x4d36e972); /* network */
    assert_int_equal(number(e, 24, 4), 10);        /* a driver is there and runs */
    assert_string_equal(text(e, 32, &at), "PCI\\VEN_8086&DEV_15BE&SUBSYS_227917AA&REV_11\\0000:00:1f.6");
    text(e, at, &at);
    text(e, at, &at);
    assert_string_equal(text(e, at, &at), "devices/pci0000:00/0000:00:1f.6");
    assert_string_equal(text(e, at, &at), "e1000e");
    assert_int_equal(at, e->head.body_size);
    e = nth(0x0B16, ETL_SYSTEM64, 1);
    assert_int_equal(number(e, 28, 4), 28); /* no driver */
    assert_string_equal(text(e, 32, &at), "USB\\VID_046D&PID_C52B\\1-4");
    assert_int_equal(having(0x0B15, ETL_SYSTEM64), 1);
    e = nth(0x0B15, ETL_SYSTEM64, 0);
    assert_int_equal(number(e, 0, 8), 0xf);
    assert_int_equal(number(e, 8, 2), 1); /* processors 64 to 127 */
    assert_int_equal(number(e, 12, 4), 16);
    assert_int_equal(number(e, 16, 4), strlen("i801_smbus,ahci") + 1);
    assert_string_equal(text(e, 20, NULL), "i801_smbus,ahci");
}

static void process_make(const char *pid, const char *name, const char *parent, const char *started)
{
    char path[64], stat[200];
    snprintf(path, sizeof path, "proc/%s/stat", pid);
    snprintf(stat, sizeof stat, "%s (%s) S %s 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 %s 1 1\n", pid, name, parent,
             started);
    file(path, stat);
}

static void services(void **state)
{
    (void)state;
    size_t at;
    file("run/systemd/system/x", "");
    file("usr/lib/systemd/system/ssh.service", "[Unit]\nDescription=OpenBSD Secure Shell server\n");
    file("usr/lib/systemd/system/fstrim.service", "[Unit]\nDescription=Discard unused blocks\n");
    file("usr/lib/systemd/system/getty@.service", "[Unit]\nDescription=Getty on %I\n");
    file("usr/lib/systemd/system/nothing.socket", "");
    link_to("etc/systemd/system/sshd.service", "/usr/lib/systemd/system/ssh.service");
    link_to("etc/systemd/system/masked.service", "/dev/null");
    file("etc/systemd/system/ssh.service", "[Unit]\nDescription=Ours\n");
    file("sys/fs/cgroup/system.slice/ssh.service/cgroup.procs", "701\n700\n702\n");
    file("sys/fs/cgroup/system.slice/system-getty.slice/getty@tty1.service/cgroup.procs", "");
    file("sys/fs/cgroup/system.slice/system-getty.slice/getty@tty1.service/inner/cgroup.procs", "800\n");
    process_make("700", "sshd", "1", "50");
    process_make("701", "other", "1", "60");
    process_make("702", "child", "700", "40");
    process_make("800", "agetty", "1", "70");
    link_to("proc/700/exe", "/usr/sbin/sshd");
    collect(0, SYSCFG_SERVICES);
    assert_int_equal(having(0x0B0F, ETL_SYSTEM64), 3);
    const struct event_copy *e = nth(0x0B0F, ETL_SYSTEM64, 0);
    assert_int_equal(number(e, 0, 4), 0);
    assert_int_equal(number(e, 4, 4), 1);
    assert_string_equal(text(e, 12, &at), "fstrim");
    e = nth(0x0B0F, ETL_SYSTEM64, 1);
    assert_int_equal(number(e, 0, 4), 800);
    assert_int_equal(number(e, 4, 4), 4);
    assert_string_equal(text(e, 12, &at), "getty@tty1");
    assert_string_equal(text(e, at, &at), "Getty on tty1");
    assert_string_equal(text(e, at, &at), "agetty");
    e = nth(0x0B0F, ETL_SYSTEM64, 2);
    assert_int_equal(e->head.version, 3);
    assert_int_equal(number(e, 0, 4), 700); /* the oldest process of the service, not the oldest of all */
    assert_string_equal(text(e, 12, &at), "ssh");
    assert_string_equal(text(e, at, &at), "Ours"); /* /etc comes first */
    assert_string_equal(text(e, at, &at), "sshd");
    text(e, at, &at);
    text(e, at, &at);
    assert_int_equal(at, e->head.body_size);
}

/* ---- times of the firmware and the boot loader ---- */

static void boot_times(uint64_t want_firmware, uint64_t want_loader, const char *source)
{
    uint64_t firmware, loader;
    collect(0, SYSCFG_SYSTEM);
    const uint8_t *p = nth(BOOTENV_TIMES, ETL_EVENT64, 0)->body;
    memcpy(&firmware, p, 8);
    memcpy(&loader, p + 8, 8);
    assert_int_equal(firmware, want_firmware);
    assert_int_equal(loader, want_loader);
    assert_string_equal((const char *)p + 16, source);
    read_all_back();
    for (unsigned i = 0; i < count; i++)
        free(event[i].body);
    count = 0;
}

static void firmware_and_loader(void **state)
{
    (void)state;
    boot_times(0, 0, ""); /* a machine without such times */
    file("sys/firmware/acpi/fpdt/boot/firmware_start_ns", "1000\n");
    file("sys/firmware/acpi/fpdt/boot/bootloader_load_ns", "3200000000\n");
    file("sys/firmware/acpi/fpdt/boot/bootloader_launch_ns", "3300000000\n");
    file("sys/firmware/acpi/fpdt/boot/exitbootservice_start_ns", "4000000000\n");
    file("sys/firmware/acpi/fpdt/boot/exitbootservice_end_ns", "4100000000\n");
    boot_times(3300000000, 800000000, "FPDT");
    efi_text("LoaderTimeInitUSec", "3000000");
    efi_text("LoaderTimeMenuUSec", "3500000");
    efi_text("LoaderTimeExecUSec", "4500000");
    efi_text("LoaderFirmwareInfo", "UEFI 2.70");
    efi_text("LoaderInfo", "systemd-boot 252");
    boot_times(3000000000, 1500000000, "LoaderTime");
    const uint8_t secure[5] = {6, 0, 0, 0, 1};
    file_bytes("sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c", secure, 5);
    link_to("run/autologger/initramfs", "dracut");
    file("proc/sys/kernel/osrelease", "6.1\n");
    file("proc/sys/kernel/version", "#1 SMP\n");
    file("proc/cmdline", "quiet\n");
    file("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
    file("sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
    collect(0, SYSCFG_SYSTEM);
    const char              *p        = (const char *)nth(BOOTENV_LOADER, ETL_EVENT64, 0)->body;
    static const char *const loader[] = {"systemd-boot 252", "UEFI 2.70", "EFI", "on"}, *const kernel[] = {
                                                                                            "6.1", "#1 SMP",    "quiet",
                                                                                            "tsc", "integrity", "",
                                                                                            "",    "dracut"};
    for (size_t i = 0; i < 4; p += strlen(p) + 1)
        assert_string_equal(p, loader[i++]);
    p = (const char *)nth(BOOTENV_KERNEL, ETL_EVENT64, 0)->body;
    for (size_t i = 0; i < 8; p += strlen(p) + 1)
        assert_string_equal(p, kernel[i++]);
    for (unsigned i = 0; i < count; i++)
        free(event[i].body);
    count = 0;
    file("proc/sys/kernel/bootloader_type", "208\n"); /* 0xD0: kexec; the times are those of the boot before */
    boot_times(0, 0, "kexec");
}

static void graphics(void **state)
{
    (void)state;
    size_t at;
    file("sys/class/graphics/fb0/name", "EFI VGA\n"); /* a machine without a known controller */
    file("sys/class/graphics/fb0/virtual_size", "1024,768\n");
    file("sys/class/graphics/fb0/bits_per_pixel", "32\n");
    collect(0, SYSCFG_GRAPHICS);
    const struct event_copy *e = nth(0x0B0E, ETL_SYSTEM64, 0);
    assert_true(e->head.version == 2 && e->head.body_size == 20 + 5 * 512 + 4 && number(e, 4, 4) == 1024 &&
                number(e, 8, 4) == 768 && number(e, 12, 4) == 32);
    assert_string_equal(text(e, 20, &at), "EFI VGA");
    file("sys/bus/pci/devices/0000:00:02.0/class", "0x030000\n");
    file("sys/bus/pci/devices/0000:00:02.0/vendor", "0x1002\n");
    file("sys/bus/pci/devices/0000:00:02.0/device", "0x687f\n");
    file("sys/bus/pci/devices/0000:00:02.0/boot_vga", "1\n");
    file("sys/bus/pci/devices/0000:00:02.0/mem_info_vram_total", "2147483648\n");
    link_to("sys/bus/pci/devices/0000:00:02.0/driver", "../../../bus/pci/drivers/amdgpu");
    file("sys/bus/pci/devices/0000:00:02.0/drm/card0/card0-DP-1/status", "disconnected\n");
    file("sys/bus/pci/devices/0000:00:02.0/drm/card0/card0-HDMI-A-1/status", "connected\n");
    file("sys/bus/pci/devices/0000:00:02.0/drm/card0/card0-HDMI-A-1/modes", "2560x1440\n1920x1080\n");
    file("sys/bus/pci/devices/0000:00:02.0/drm/renderD128/dev", "226:128\n");
    file("sys/bus/pci/devices/0000:00:02.0/graphics/fb0/bits_per_pixel", "32\n");
    file("sys/bus/pci/devices/0000:00:03.0/class", "0x020000\n");
    collect(0, SYSCFG_GRAPHICS);
    /* the frame buffer is not told a second time: the second event is the controller */
    assert_int_equal(having(0x0B0E, ETL_SYSTEM64), 2);
    e = nth(0x0B0E, ETL_SYSTEM64, 1);
    assert_true(number(e, 0, 4) == 2147483648u && number(e, 4, 4) == 2560 && number(e, 8, 4) == 1440 &&
                number(e, 12, 4) == 32 && number(e, 16, 4) == 0);
    assert_string_equal(text(e, 20, NULL), "amdgpu");
    assert_string_equal(text(e, 20 + 2 * 512, NULL), "PCI device 1002:687f, class 030000");
    assert_string_equal(text(e, 20 + 4 * 512, NULL), "PCI\\VEN_1002&DEV_687F\\0000:00:02.0");
    assert_int_equal(number(e, 20 + 5 * 512, 4), 5); /* in use, and the first */
}

/* ---- choice, bounds ---- */

static void classes_are_chosen(void **state)
{
    (void)state;
    machine_make();
    file("proc/sys/net/ipv4/ip_local_port_range", "1 2\n");
    collect(0x10000000, 0);
    assert_int_equal(count, 0);
    collect(0x10000000, SYSCFG_SYSTEM); /* suppressed all the same */
    assert_int_equal(count, 0);
    collect(0, SYSCFG_NETWORK);
    assert_int_equal(count, 1);
    collect(0, SYSCFG_GRAPHICS);
    assert_int_equal(count, 1);
    const uint32_t mask[GROUP_MASK_WORDS] = {[2] = 0x10000, [6] = SYSCFG_GRAPHICS};
    sysconfig_collect_tree(root, mask, take, NULL); /* CPU_CONFIG: the CPU alone */
    assert_int_equal(count, 2);
    assert_int_equal(event[1].head.hook, 0x0B0A);
    collect(0, 0); /* without a choice: everything */
    assert_true(having(0x0B11, ETL_PERFINFO64) == 2 && having(0x0B10, ETL_SYSTEM64) == 1 &&
                having(32, ETL_FULL64) == 1);
}

static void a_thousand_of_each(void **state)
{
    (void)state;
    char name[96], line[64];
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "sys/block/nvme%dn1/size", i);
        file(name, "2048\n");
        snprintf(name, sizeof name, "sys/block/nvme%dn1/dev", i);
        snprintf(line, sizeof line, "259:%d\n", i);
        file(name, line);
        snprintf(name, sizeof name, "sys/class/net/eth%d/ifindex", i);
        snprintf(line, sizeof line, "%d\n", i + 1);
        file(name, line);
    }
    for (int i = 0; i < SYSCONFIG_MOST + 7; i++) {
        snprintf(name, sizeof name, "sys/kernel/irq/%d/actions", i);
        file(name, "dev\n");
    }
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    collect(0, 0);
    clock_gettime(CLOCK_MONOTONIC, &to);
    print_message("%u events in %.1f ms\n", count,
                  (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6);
    assert_int_equal(having(0x0B0B, ETL_SYSTEM64), 1000);
    assert_int_equal(having(0x0B0D, ETL_SYSTEM64), 1000);
    assert_int_equal(having(0x0B15, ETL_SYSTEM64), SYSCONFIG_MOST);
    assert_int_equal(left_out, 7);
    assert_int_equal(nth(0x0B0B, ETL_SYSTEM64, 999)->head.dev, 259 << 20 | 999); /* in the order of names and numbers */
}

static void modules(void **state)
{
    static const char notes[] = "\4\0\0\0\x14\0\0\0\3\0\0\0GNU\0ABCDEFGHIJKLMNOPQRST";
    (void)state;
    file("proc/sys/kernel/osrelease", "6.1.0-26-amd64\n");
    file("proc/modules",
         "snd_hda_intel 61440 2 - Live 0xffffffffc0a01000\nnotes_gone 5000 0 - Live 0xffffffffc0b00000 (OE)\n"
         "hidden 4096 0 - Live 0x0000000000000000\n");
    file("lib/modules/6.1.0-26-amd64/modules.dep",
         "kernel/lib/crc16.ko:\nkernel/sound/pci/hda/snd-hda-intel.ko.xz: kernel/sound/core/snd.ko.xz\n");
    file_bytes("sys/module/snd_hda_intel/notes/.note.gnu.build-id", notes, sizeof notes - 1);
    collect(0x4, SYSCFG_GRAPHICS); /* LOADER */
    assert_int_equal(having(0x1404, ETL_SYSTEM64), 2);
    const struct event_copy *e = nth(0x1404, ETL_SYSTEM64, 0);
    assert_int_equal(e->head.version, 3);
    assert_int_equal(number(e, 0, 8), UINT64_C(0xffffffffc0a01000));
    assert_int_equal(number(e, 8, 8), 61440);
    assert_int_equal(number(e, 16, 4), 0);
    assert_memory_equal(e->body + 24, "ABCD", 4);
    assert_memory_equal(e->body + 20, "EFGH", 4);
    assert_string_equal(
        text(e, 56, NULL),
        "\\Device\\HarddiskVolume1\\lib\\modules\\6.1.0-26-amd64\\kernel\\sound\\pci\\hda\\snd-hda-intel.ko.xz");
    e = nth(0x1404, ETL_SYSTEM64, 1);
    assert_int_equal(number(e, 8, 8), 8192); /* whole pages */
    assert_int_equal(number(e, 20, 4), 0);
    assert_int_equal(number(e, 24, 4), 1);
    assert_string_equal(text(e, 56, NULL), "notes_gone.ko");
    read_all_back();
    for (unsigned i = 0; i < count; i++)
        free(event[i].body);
    count = 0;
    collect(0, SYSCFG_GRAPHICS);
    assert_int_equal(having(0x1404, ETL_SYSTEM64), 0);
}

/* ---- through the converter ---- */

static void converted(void **state)
{
    (void)state;
    static struct maker maker;
    struct klog_config  config = {.mask = {1}, .clock = {1, CLOCK_READ_RAW, 1000000000}};
    struct convert      c;
    struct klog_record  r;
    uint16_t            hooks[16];
    unsigned            n = 0, classic = 0, ex = 0, described = 0;
    machine_make();
    file("sys/block/sda/size", "2048\n");
    file("sys/block/sda/dev", "8:0\n");
    file("sys/block/sdb/size", "2048\n");
    file("sys/block/sdb/dev", "8:16\n");
    collect(0, SYSCFG_SYSTEM | SYSCFG_STORAGE);
    maker_init(&maker, 1, 1 << 20);
    put_all(&maker);
    struct raw_config bad = {.own       = {RAW_CONFIG, 0, sizeof bad, 900, 0, 0},
                             .header    = ETL_EVENT64,
                             .disk_at   = RAW_NO_DISK,
                             .body_size = 60000};
    maker_put(&maker, &bad, sizeof bad); /* lies about its length */
    bad.body_size = 0;
    bad.hook      = 999;
    maker_put(&maker, &bad, sizeof bad); /* there is no such event */
    maker_chunk(&maker, 0, RAW_CHUNK_OWN);
    maker_pass(&maker, 100000, UINT64_MAX);
    assert_int_equal(convert_init(&c, &config, &maker.log, NULL), 0);
    disk_number(&c, 8 << 20 | 16); /* sdb was seen first */
    for (; convert_peek(&c, 0, &r); convert_pop(&c, 0)) {
        struct etl_system_header h;
        memcpy(&h, r.data, sizeof h);
        classic += h.header_type == ETL_SYSTEM64;
        ex += h.header_type == ETL_FULL64;
        described += h.header_type == ETL_EVENT64;
        if (h.header_type == ETL_SYSTEM64 && h.group == 0x0B && h.type == 0x0B) {
            uint32_t number_given;
            memcpy(&number_given, r.data + sizeof h, 4);
            assert_true(n < 16);
            hooks[n++] = (uint16_t)number_given;
        }
    }
    assert_true(n == 2 && hooks[0] == 1 && hooks[1] == 0);
    assert_int_equal(described, 3);
    assert_int_equal(ex, 3);
    assert_int_equal(classic + ex + described, count);
    convert_finish(&c);
    maker_finish(&maker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(cpu_and_power, setup, teardown),
        cmocka_unit_test_setup_teardown(storage, setup, teardown),
        cmocka_unit_test_setup_teardown(modules, setup, teardown),
        cmocka_unit_test_setup_teardown(network_and_devices, setup, teardown),
        cmocka_unit_test_setup_teardown(services, setup, teardown),
        cmocka_unit_test_setup_teardown(firmware_and_loader, setup, teardown),
        cmocka_unit_test_setup_teardown(graphics, setup, teardown),
        cmocka_unit_test_setup_teardown(classes_are_chosen, setup, teardown),
        cmocka_unit_test_setup_teardown(a_thousand_of_each, setup, teardown),
        cmocka_unit_test_setup_teardown(converted, setup, teardown),
        cmocka_unit_test(every_class_is_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
