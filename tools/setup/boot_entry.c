/* boot_entry.c - finding the boot loader, writing and removing the entry. See boot_entry.h. */
#include "tools/setup/boot_entry.h"
#include "autologger/kernel/phase/kphase.h"
#include "autologger/kernel/tables/flags.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRY_NAME "autologger.conf"

static const char *const boot_partitions[] = {"/efi", "/boot/efi", "/boot"};
enum { PARTITIONS = sizeof boot_partitions / sizeof *boot_partitions };
static const struct {
    const char *config, *custom, *tool;
} grubs[] = {
    {"/boot/grub/grub.cfg", "/boot/grub/custom.cfg", "grub-reboot"},
    {"/boot/grub2/grub.cfg", "/boot/grub2/custom.cfg", "grub2-reboot"},
};
enum { GRUBS = sizeof grubs / sizeof *grubs };

const char *boot_loader_name(enum boot_loader loader)
{
    static const char *const names[] = {"an unknown boot loader", "GRUB", "systemd-boot",
                                        "systemd-boot with a unified kernel image"};
    return names[loader];
}

/* An EFI variable of the boot loader interface as ASCII; "" when there is none. */
static void efi_text(const struct machine *m, const char *name, char *out, size_t size)
{
    char   path[256];
    size_t length = 0, n = 0;
    snprintf(path, sizeof path, "/sys/firmware/efi/efivars/%s-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f", name);
    char *data = machine_read(m, path, &length);
    /* 4 bytes of attributes, then UTF-16 */
    for (size_t i = 4; data && i + 1 < length && n + 1 < size && data[i]; i += 2)
        out[n++] = data[i + 1] ? '?' : data[i];
    out[n] = 0;
    free(data);
}

/* The Type #1 entry of the running kernel below `partition`: the one that was selected, else one that names the
 * release. */
static bool systemd_source(const struct machine *m, const char *partition, char out[MACHINE_PATH])
{
    char selected[256], path[MACHINE_PATH], full[MACHINE_PATH];
    bool found = false;
    efi_text(m, "LoaderEntrySelected", selected, sizeof selected);
    snprintf(path, sizeof path, "%s/loader/entries/%s", partition, selected);
    if (selected[0] && !strchr(selected, '/') && strcmp(selected, ENTRY_NAME) && strstr(selected, ".conf") &&
        machine_has(m, path)) {
        snprintf(out, MACHINE_PATH, "%.1000s", path);
        return true;
    }
    snprintf(path, sizeof path, "%s/loader/entries", partition);
    DIR *d = opendir(machine_path(m, path, full));
    for (struct dirent *e; d && m->kernel[0] && (e = readdir(d));) {
        size_t n = strlen(e->d_name);
        if (n < 6 || strcmp(e->d_name + n - 5, ".conf") || !strcmp(e->d_name, ENTRY_NAME))
            continue;
        snprintf(path, sizeof path, "%s/loader/entries/%.255s", partition, e->d_name);
        char *text = machine_read(m, path, NULL);
        if (text && strstr(text, m->kernel) && (!found || strcmp(path, out) < 0)) {
            snprintf(out, MACHINE_PATH, "%.1000s", path);
            found = true;
        }
        free(text);
    }
    if (d)
        closedir(d);
    return found;
}

static bool has_uki(const struct machine *m, const char *partition)
{
    char path[MACHINE_PATH], full[MACHINE_PATH];
    bool found = false;
    snprintf(path, sizeof path, "%s/EFI/Linux", partition);
    DIR *d = opendir(machine_path(m, path, full));
    for (struct dirent *e; d && (e = readdir(d));)
        found |= strstr(e->d_name, ".efi") != NULL;
    if (d)
        closedir(d);
    return found;
}

static bool find_systemd(const struct machine *m, struct boot_entry *out)
{
    char path[MACHINE_PATH], source[MACHINE_PATH];
    bool uki = false;
    for (unsigned i = 0; i < PARTITIONS; i++) {
        uki |= has_uki(m, boot_partitions[i]);
        snprintf(path, sizeof path, "%s/loader/entries", boot_partitions[i]);
        if (!machine_has(m, path) || !systemd_source(m, boot_partitions[i], source))
            continue;
        out->loader = LOADER_SYSTEMD;
        snprintf(out->place, sizeof out->place, "%s/loader/entries/" ENTRY_NAME, boot_partitions[i]);
        snprintf(out->tool, sizeof out->tool, "bootctl");
        return true;
    }
    if (uki)
        out->loader = LOADER_UKI;
    return uki;
}

static bool find_grub(const struct machine *m, struct boot_entry *out)
{
    for (unsigned i = 0; i < GRUBS; i++)
        if (machine_has(m, grubs[i].config)) {
            out->loader = LOADER_GRUB;
            snprintf(out->place, sizeof out->place, "%s", grubs[i].custom);
            snprintf(out->tool, sizeof out->tool, "%s", grubs[i].tool);
            return true;
        }
    return false;
}

void boot_entry_find(const struct machine *m, struct boot_entry *out)
{
    char info[128];
    *out = (struct boot_entry){.loader = LOADER_UNKNOWN};
    efi_text(m, "LoaderInfo", info, sizeof info);
    if (!strncmp(info, "systemd-", 8) && find_systemd(m, out))
        return;
    if (!find_grub(m, out))
        find_systemd(m, out);
}

/* The file to copy from: grub.cfg beside custom.cfg, or systemd-boot's entry of the running kernel. */
static bool source_path(const struct machine *m, const struct boot_entry *e, char out[MACHINE_PATH])
{
    if (e->loader == LOADER_GRUB) {
        for (unsigned i = 0; i < GRUBS; i++)
            if (!strcmp(e->place, grubs[i].custom))
                snprintf(out, MACHINE_PATH, "%s", grubs[i].config);
        return true;
    }
    for (unsigned i = 0; i < PARTITIONS; i++) {
        size_t n = strlen(boot_partitions[i]);
        if (!strncmp(e->place, boot_partitions[i], n) && !strncmp(e->place + n, "/loader/", 8))
            return systemd_source(m, boot_partitions[i], out);
    }
    return false;
}

static wstatus text_make(const struct machine *m, const struct boot_entry *e, const char *arguments, char **out,
                         struct reason *why)
{
    char path[MACHINE_PATH];
    *out = NULL;
    if (e->loader == LOADER_UNKNOWN)
        return reason_set(why, W_NOT_SUPPORTED,
                          "no boot loader that can boot an entry once was found (GRUB's grub.cfg or systemd-boot's "
                          "loader/entries). Do: leave out KernelPhase; the trace then begins in the initramfs");
    if (e->loader == LOADER_UKI)
        return reason_set(
            why, W_NOT_SUPPORTED,
            "the kernel is a unified image: its arguments are sealed in it, and an entry of its own would need "
            "another signed image. Do: leave out KernelPhase; the trace then begins in the initramfs");
    if (!machine_has_command(m, e->tool))
        return reason_set(why, W_NOT_SUPPORTED,
                          "%s is not installed: the entry could not be chosen for one boot. Do: install it, or leave "
                          "out KernelPhase",
                          e->tool);
    if (!source_path(m, e, path))
        return reason_set(why, W_NOT_SUPPORTED,
                          "the boot entry of the running kernel was not found. Do: leave out KernelPhase");
    char *source = machine_read(m, path, NULL);
    if (!source)
        return reason_set(why, W_NOT_SUPPORTED, "%s cannot be read. Do: run as root, or leave out KernelPhase", path);
    wstatus st = e->loader == LOADER_GRUB ? grub_entry_make(source, m->kernel, arguments, out, why)
                                          : systemd_entry_make(source, arguments, out, why);
    free(source);
    return st;
}

wstatus boot_entry_check(const struct machine *m, const struct boot_entry *e, const char *arguments, struct reason *why)
{
    char   *text = NULL;
    wstatus st   = text_make(m, e, arguments, &text, why);
    free(text);
    return st;
}

static wstatus boot_entry_choose(const struct machine *m, const struct boot_entry *e, struct reason *why)
{
    const char *const grub[]    = {e->tool, "autologger", NULL};
    const char *const systemd[] = {e->tool, "set-oneshot", ENTRY_NAME, NULL};
    return machine_run(m, e->loader == LOADER_GRUB ? grub : systemd, NULL, 0, false, why);
}

/* Resets only autologger's own choice; both loaders fall back to the default when an entry is gone. */
static void unchoose(const struct machine *m, const struct boot_entry *e)
{
    char        text[1024];
    bool        second = !strcmp(e->tool, "grub2-reboot");
    const char *editor = second ? "grub2-editenv" : "grub-editenv";
    if (e->loader == LOADER_SYSTEMD) {
        const char *const argv[] = {e->tool, "set-oneshot", "", NULL};
        efi_text(m, "LoaderEntryOneShot", text, sizeof text);
        if (!strcmp(text, ENTRY_NAME))
            machine_run(m, argv, NULL, 0, true, NULL);
        return;
    }
    const char *const list[]  = {editor, "-", "list", NULL};
    const char *const unset[] = {editor, "-", "unset", "next_entry", NULL};
    if (machine_has_command(m, editor) && !machine_run(m, list, text, sizeof text, true, NULL) &&
        strstr(text, "next_entry=autologger\n"))
        machine_run(m, unset, NULL, 0, true, NULL);
}

/* `entry` NULL: removes autologger's entry. */
static wstatus place_write(const struct machine *m, const struct boot_entry *e, const char *entry, bool *was,
                           struct reason *why)
{
    if (e->loader == LOADER_SYSTEMD)
        return entry ? machine_write(m, e->place, entry, strlen(entry), 0644, why)
                     : machine_remove(m, e->place, was, why);
    char   *old  = machine_read(m, e->place, NULL);
    char   *text = grub_custom_make(old, entry);
    wstatus st   = W_SUCCESS;
    *was         = old && strstr(old, "--id autologger {");
    if (!text)
        st = reason_set(why, W_OUTOFMEMORY, "not enough memory");
    else if (!*text && old)
        st = machine_remove(m, e->place, NULL, why);
    else if (*text && (!old || strcmp(old, text)))
        st = machine_write(m, e->place, text, strlen(text), 0644, why);
    free(old);
    free(text);
    return st;
}

wstatus boot_entry_set(const struct machine *m, const struct boot_entry *e, const char *arguments, struct reason *why)
{
    char   *text = NULL;
    bool    was  = false;
    wstatus st   = text_make(m, e, arguments, &text, why);
    if (!st)
        st = place_write(m, e, text, &was, why);
    if (!st && (st = boot_entry_choose(m, e, why)) != W_SUCCESS)
        place_write(m, e, NULL, &was, NULL);
    free(text);
    return st;
}

bool boot_entry_exists(const struct machine *m, const struct boot_entry *e)
{
    if (!e->place[0])
        return false;
    char *text = machine_read(m, e->place, NULL);
    bool  ours = text && (e->loader == LOADER_SYSTEMD || strstr(text, "--id autologger {"));
    free(text);
    return ours;
}

wstatus boot_entry_remove(const struct machine *m, const struct boot_entry *e, bool *was, struct reason *why)
{
    *was = boot_entry_exists(m, e);
    if (!*was)
        return W_SUCCESS;
    unchoose(m, e);
    bool there;
    return place_write(m, e, NULL, &there, why);
}

size_t boot_entry_arguments(const uint32_t *mask, const uint16_t *hooks, unsigned hook_count, bool devices, char *out,
                            size_t size)
{
    struct klog_config config = {.hook_count = hook_count, .devices = devices};
    memcpy(config.mask, mask, sizeof config.mask);
    if (hook_count)
        memcpy(config.hooks, hooks, hook_count * sizeof *hooks);
    size_t n = kphase_arguments(&config, out, size);
    return n < size ? n : 0;
}
