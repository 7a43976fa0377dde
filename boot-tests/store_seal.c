/* store_seal - the sealed snapshot of a store, for tests that boot without `apply`: store_seal STORE SNAPSHOT
 * LOG_DIR */
#include "registry-sim/store/snapshot.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    struct regstore     *store = NULL;
    struct snapshot_head head  = {0};
    struct reason        why   = {0};

    if (argc != 4)
        return 100;
    wstatus st = regstore_open(argv[1], false, &store, &why);
    snprintf(head.store_path, sizeof head.store_path, "%s", argv[1]);
    snprintf(head.log_dir, sizeof head.log_dir, "%s", argv[3]);
    st = st ? st : snapshot_seal(os_linux(), store, &head, argv[2], &why);
    regstore_close(store);
    if (st)
        fprintf(stderr, "store_seal: %s\n", why.text);
    return st ? 1 : 0;
}
