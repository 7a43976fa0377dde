/* sysconfig_network.c - network cards with their addresses, and TCP's settings. See sysconfig.h. */
#include "autologger/kernel/sysconfig/sysconfig_parts.h"

#include "autologger/wire/hooks.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ADDRESSES_TEXT = 4096, MAC_BYTES = 8, ARPHRD_LOOPBACK_KIND = 772, TIME_WAIT_SECONDS = 60 };

struct cards {
    const struct ifaddrs *addresses;
    char                  dns[512];
};

/* Adds to a list "a;b;c"; an item that does not fit is left out. */
static void list_add(char *list, size_t size, const char *item)
{
    size_t n = strlen(list);
    if (n + strlen(item) + 2 <= size)
        snprintf(list + n, size - n, "%s%s", n ? ";" : "", item);
}

static void name_servers(const struct sysconfig *s, char *out, size_t size)
{
    char  line[512], server[128];
    int   fd = openat(s->root, "etc/resolv.conf", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    FILE *f  = fd < 0 ? NULL : fdopen(fd, "r");
    *out     = 0;
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, " nameserver %127s", server) == 1)
            list_add(out, size, server);
    if (f)
        fclose(f);
    else if (fd >= 0)
        close(fd);
}

static void addresses_of(const struct ifaddrs *all, const char *name, char *out, size_t size)
{
    char text[INET6_ADDRSTRLEN];
    *out = 0;
    for (const struct ifaddrs *a = all; a; a = a->ifa_next) {
        int                 family = a->ifa_addr && strcmp(a->ifa_name, name) == 0 ? a->ifa_addr->sa_family : AF_UNSPEC;
        struct sockaddr_in  v4;
        struct sockaddr_in6 v6;
        if (family == AF_INET) {
            memcpy(&v4, a->ifa_addr, sizeof v4);
            list_add(out, size, inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text));
        } else if (family == AF_INET6) {
            memcpy(&v6, a->ifa_addr, sizeof v6);
            list_add(out, size, inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text));
        }
    }
}

/* "52:54:00:12:34:56": the first byte lowest. Returns the number of bytes. */
static uint32_t mac_parse(const char *text, uint64_t *out)
{
    uint32_t n = 0;
    *out       = 0;
    for (char *end; *text && n < MAC_BYTES; text = end + (*end == ':')) {
        *out |= (uint64_t)(strtoul(text, &end, 16) & 0xFF) << (8 * n++);
        if (end == text || (*end && *end != ':'))
            return 0;
    }
    return n;
}

/* "enp0s3 (e1000)" */
static void description(const struct sysconfig *s, const char *name, char *out, size_t size)
{
    char path[96], driver[512];
    snprintf(path, sizeof path, "sys/class/net/%.64s/device/driver", name);
    if (fact_link(s, path, driver, sizeof driver))
        snprintf(out, size, "%s (%s)", name, fact_base(driver));
    else
        snprintf(out, size, "%s", name);
}

static void card_put(struct sysconfig *s, const char *name, void *ctx)
{
    const struct cards *cards = ctx;
    char                path[96], text[128], what[256], addresses[ADDRESSES_TEXT];
    uint64_t            mac;
    snprintf(path, sizeof path, "sys/class/net/%.64s/ifindex", name);
    const uint32_t index = (uint32_t)fact_number(s, path);
    snprintf(path, sizeof path, "sys/class/net/%.64s/type", name);
    if (!index || fact_number(s, path) == ARPHRD_LOOPBACK_KIND)
        return; /* loopback, or "bonding_masters", which is not a card */
    snprintf(path, sizeof path, "sys/class/net/%.64s/address", name);
    fact_text(s, path, text, sizeof text);
    const uint32_t bytes = mac_parse(text, &mac);
    description(s, name, what, sizeof what);
    addresses_of(cards->addresses, name, addresses, sizeof addresses);
    struct writer *w = config_begin(s);
    wr_u64(w, mac);
    wr_u32(w, bytes);
    wr_u32(w, index);
    wr_u32(w, index);
    config_text(w, what);
    config_text(w, addresses);
    config_text(w, *addresses ? cards->dns : "");
    config_put(s, HOOK_CONFIG_NIC, 2);
}

static void tcp_put(struct sysconfig *s)
{
    char           text[64];
    unsigned       low, high = 0;
    struct writer *w = config_begin(s);
    if (!fact_text(s, "proc/sys/net/ipv4/ip_local_port_range", text, sizeof text) ||
        sscanf(text, "%u %u", &low, &high) != 2)
        return;
    wr_u32(w, 0); /* partitions of the table: Linux has none */
    wr_u32(w, (uint32_t)fact_number(s, "proc/sys/net/ipv4/tcp_ehash_entries"));
    wr_u32(w, high);
    wr_u32(w, TIME_WAIT_SECONDS); /* cannot be set */
    config_put_perf(s, HOOK_CONFIG_NETWORK, 2);
}

void config_network(struct sysconfig *s)
{
    struct cards    cards     = {0};
    struct ifaddrs *addresses = NULL;
    if (s->live && getifaddrs(&addresses) == 0)
        cards.addresses = addresses;
    name_servers(s, cards.dns, sizeof cards.dns);
    fact_each(s, "sys/class/net", card_put, &cards);
    if (addresses)
        freeifaddrs(addresses);
    tcp_put(s);
}
