/* boot_seal - packs a store into the sealed snapshot of a guest: boot_seal STORE SNAPSHOT. The paths in its head are
 * the guest's. Exit 0 when it was sealed. */
#include "registry-sim/store/snapshot.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    struct regstore     *store = NULL;
    struct reason        why   = {0};
    struct snapshot_head head  = {.store_path = "/var/lib/autologger/registry.db", .log_dir = "/var/log/autologger"};

    if (argc != 3)
        return 100;
    wstatus st = regstore_open(argv[1], false, &store, &why);
    st         = st ? st : snapshot_seal(os_linux(), store, &head, argv[2], &why);
    regstore_close(store);
    if (st)
        fprintf(stderr, "boot_seal: %s\n", why.text);
    return st ? 1 : 0;
}
