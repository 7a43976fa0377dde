/* access.c - EventAccessControl, EventAccessQuery, EventAccessRemove. */
#include "autologger/control/client.h"
#include "autologger/include/evntcons.h"
#include "registry-sim/win32/security.h"

#include <stdlib.h>
#include <string.h>

ULONG EventAccessControl(LPGUID Guid, ULONG Operation, PSID Sid, ULONG Rights, BOOLEAN AllowOrDeny)
{
    struct ctl_access_request r      = {.rights = Rights, .deny = !AllowOrDeny};
    struct control_client    *client = NULL;
    struct reason             why;
    struct sid                who;
    if (!Guid || !Sid || !Rights || Operation >= EventSecurityMax)
        return W_INVALID_PARAMETER;
    if (Operation == EventSecuritySetSACL || Operation == EventSecurityAddSACL)
        return W_NOT_SUPPORTED; /* nothing here writes an audit */
    const uint8_t *bytes = Sid; /* its second byte gives its length */
    if (bytes[0] != 1 || bytes[1] > SID_PARTS || !sid_read(bytes, SID_HEAD + 4u * bytes[1], &who))
        return W_INVALID_PARAMETER;
    memcpy(&r.object, Guid, sizeof r.object);
    r.what     = Operation == EventSecuritySetDACL ? CTL_ACCESS_SET : CTL_ACCESS_ADD;
    r.sid_size = who.size;
    memcpy(r.sid, who.bytes, who.size);
    wstatus st = control_open(NULL, &client, &why);
    st         = st ? st : control_access_change(client, &r, &why);
    control_close(client);
    return st;
}

ULONG EventAccessQuery(LPGUID Guid, PSECURITY_DESCRIPTOR Buffer, PULONG BufferSize)
{
    struct control_client *client = NULL;
    struct reason          why;
    struct guid            object;
    uint8_t               *bytes = NULL;
    size_t                 size  = 0;
    bool                   own;
    if (!Guid || !BufferSize || (!Buffer && *BufferSize))
        return W_INVALID_PARAMETER;
    memcpy(&object, Guid, sizeof object);
    wstatus st = control_open(NULL, &client, &why);
    st         = st ? st : control_access_query(client, &object, &own, &bytes, &size, &why);
    control_close(client);
    if (!st && *BufferSize < size)
        st = W_MORE_DATA;
    if (!st)
        memcpy(Buffer, bytes, size);
    if (!st || st == W_MORE_DATA)
        *BufferSize = (ULONG)size;
    free(bytes);
    return st;
}

ULONG EventAccessRemove(LPGUID Guid)
{
    struct ctl_access_request r      = {.what = CTL_ACCESS_REMOVE};
    struct control_client    *client = NULL;
    struct reason             why;
    if (!Guid)
        return W_INVALID_PARAMETER;
    memcpy(&r.object, Guid, sizeof r.object);
    wstatus st = control_open(NULL, &client, &why);
    st         = st ? st : control_access_change(client, &r, &why);
    control_close(client);
    return st;
}
