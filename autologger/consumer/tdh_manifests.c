#include "autologger/consumer/tdh_state.h"

wstatus tdh_manifest_load(struct schema_set *set, const char *path, struct reason *why)
{
    (void)set;
    return reason_set(why, W_NOT_SUPPORTED, "%s: this library is built without manifests", path);
}

wstatus tdh_manifest_parse(struct schema_set *set, const void *data, size_t size, const char *origin, struct reason *why)
{
    (void)set;
    (void)data;
    (void)size;
    return reason_set(why, W_NOT_SUPPORTED, "%s: this library is built without manifests", origin);
}
