#include "autologger/controller/named.h"

#include "autologger/controller/properties.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

wstatus session_named(struct control_client *c, const char *name, TRACEHANDLE handle, struct ctl_session_info *out)
{
    struct ctl_session_info *rows  = NULL;
    unsigned                 count = 0;
    struct reason            why;
    if (name && *name) {
        char   *own = NULL;
        wstatus st  = control_query(c, name, out, &why);
        if (st == W_WMI_INSTANCE_NOT_FOUND && asprintf(&own, PRIVATE_NAME, name, (int)getpid()) > 0) {
            st = control_query(c, own, out, &why);
            free(own);
        }
        return st;
    }
    if (name)
        return W_INVALID_PARAMETER;
    if (!handle)
        return W_INVALID_PARAMETER;
    wstatus st = control_query_all(c, &rows, &count, &why);
    if (st)
        return st;
    st = W_WMI_INSTANCE_NOT_FOUND;
    for (unsigned i = 0; i < count && st; i++)
        if (session_handle(&rows[i]) == handle) {
            *out = rows[i];
            st   = W_SUCCESS;
        }
    free(rows);
    return st;
}
