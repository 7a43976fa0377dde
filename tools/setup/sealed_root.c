/* sealed_root.c - see sealed_root.h. */
#include "tools/setup/sealed_root.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { LUKS_BINARY = 4096, LUKS_HEADER_MAX = 4 << 20 };

/* The JSON part of a LUKS2 header, malloc; NULL when it is none. */
static char *luks_json(const char *path)
{
    uint8_t head[16];
    char   *json = NULL;
    int     fd   = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    if (pread(fd, head, sizeof head, 0) == sizeof head && !memcmp(head, "LUKS\xBA\xBE\0\2", 8)) {
        uint64_t size = 0;
        for (int i = 8; i < 16; i++)
            size = size << 8 | head[i];
        if (size > LUKS_BINARY && size <= LUKS_HEADER_MAX && (json = malloc(size - LUKS_BINARY + 1))) {
            ssize_t n           = pread(fd, json, size - LUKS_BINARY, LUKS_BINARY);
            json[n > 0 ? n : 0] = 0;
        }
    }
    close(fd);
    return json;
}

/* "UUID=x", "/dev/sda2" -> a path below the root */
static bool device_path(const struct machine *m, const char *device, char out[MACHINE_PATH])
{
    static const char *const tags[][2] = {
        {"UUID=", "by-uuid"}, {"LABEL=", "by-label"}, {"PARTUUID=", "by-partuuid"}, {"PARTLABEL=", "by-partlabel"}};
    char path[MACHINE_PATH];
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        if (!strncasecmp(device, tags[i][0], strlen(tags[i][0]))) {
            snprintf(path, sizeof path, "/dev/disk/%s/%.255s", tags[i][1], device + strlen(tags[i][0]));
            machine_path(m, path, out);
            return true;
        }
    if (device[0] != '/')
        return false;
    machine_path(m, device, out);
    return true;
}

/* One line of crypttab: name, device, key, options. */
static bool line_seals(const struct machine *m, const char *line, char *what, size_t size)
{
    char name[128], device[256], key[256], options[512] = "", path[MACHINE_PATH];
    if (sscanf(line, " %127s %255s %255s %511s", name, device, key, options) < 2 || name[0] == '#')
        return false;
    if (strstr(options, "tpm2-device=")) {
        snprintf(what, size, "the volume %s is unlocked by the TPM (tpm2-device in /etc/crypttab)", name);
        return true;
    }
    char *json = device_path(m, device, path) ? luks_json(path) : NULL;
    bool  tpm = json && strstr(json, "\"systemd-tpm2\""), clevis = json && strstr(json, "\"clevis\"");
    free(json);
    if (tpm)
        snprintf(what, size, "the volume %s is unlocked by the TPM (a systemd-tpm2 token in its header)", name);
    else if (clevis)
        snprintf(what, size, "the volume %s is unlocked by clevis, perhaps with the TPM (a token in its header)", name);
    return tpm || clevis;
}

bool sealed_root_find(const struct machine *m, char *what, size_t size)
{
    bool  found = false;
    char *table = machine_read(m, "/etc/crypttab", NULL), *arguments = machine_read(m, "/proc/cmdline", NULL);
    char *rest = NULL;
    for (char *line = table ? strtok_r(table, "\n", &rest) : NULL; line && !found; line = strtok_r(NULL, "\n", &rest))
        found = line_seals(m, line, what, size);
    if (!found && arguments && strstr(arguments, "rd.luks.options=") && strstr(arguments, "tpm2-device=")) {
        snprintf(what, size, "a volume is unlocked by the TPM (rd.luks.options on the kernel command line)");
        found = true;
    }
    free(table);
    free(arguments);
    return found;
}
