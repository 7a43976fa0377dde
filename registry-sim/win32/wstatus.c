#include "registry-sim/win32/wstatus.h"

#include "registry-sim/win32/visible.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct wstatus_row win32_wstatus_table[] = {
#define S(number, name, text, advice) {number, "ERROR_" #name, text, advice},
#include "registry-sim/win32/wstatus.def"
#undef S
};

static const struct {
    int     error;
    wstatus status;
} from_errno[] = {
    {EPERM, W_ACCESS_DENIED},
    {ENOENT, W_FILE_NOT_FOUND},
    {EACCES, W_ACCESS_DENIED},
    {EEXIST, W_ALREADY_EXISTS},
    {ENOTDIR, W_DIRECTORY},
    {EISDIR, W_BAD_PATHNAME},
    {EINVAL, W_INVALID_PARAMETER},
    {ENOMEM, W_NOT_ENOUGH_MEMORY},
    {ENOSPC, W_DISK_FULL},
    {EDQUOT, W_DISK_FULL},
    {EROFS, W_WRITE_PROTECT},
    {EBUSY, W_BUSY},
    {EMFILE, W_NO_SYSTEM_RESOURCES},
    {ENFILE, W_NO_SYSTEM_RESOURCES},
    {ENAMETOOLONG, W_FILENAME_EXCED_RANGE},
    {ELOOP, W_BAD_PATHNAME},
    {EFBIG, W_LOG_FILE_FULL},
    {ENOSYS, W_NOT_SUPPORTED},
    {EOPNOTSUPP, W_NOT_SUPPORTED},
    {ETIMEDOUT, W_TIMEOUT},
    {EBADF, W_INVALID_HANDLE},
    {EFAULT, W_NOACCESS},
    {ECANCELED, W_CANCELLED},
    {ENXIO, W_BAD_PATHNAME},
};

const struct wstatus_row *wstatus_find(wstatus number)
{
    for (size_t i = 0; i < sizeof win32_wstatus_table / sizeof *win32_wstatus_table; i++)
        if (win32_wstatus_table[i].number == number)
            return &win32_wstatus_table[i];
    return NULL;
}

const struct wstatus_row *wstatus_table(size_t *count)
{
    *count = sizeof win32_wstatus_table / sizeof *win32_wstatus_table;
    return win32_wstatus_table;
}

const char *wstatus_name(wstatus number)
{
    const struct wstatus_row *row = wstatus_find(number);
    return row ? row->name : "(unknown status)";
}

const char *wstatus_text(wstatus number)
{
    const struct wstatus_row *row = wstatus_find(number);
    return row ? row->text : "a status that this version does not know";
}

const char *wstatus_advice(wstatus number)
{
    const struct wstatus_row *row = wstatus_find(number);
    return row ? row->advice : "look the number up among the Win32 system error codes";
}

wstatus wstatus_from_errno(int error)
{
    if (error == 0)
        return W_SUCCESS;
    for (size_t i = 0; i < sizeof from_errno / sizeof *from_errno; i++)
        if (from_errno[i].error == error)
            return from_errno[i].status;
    return W_INVALID_OPERATION;
}

wstatus reason_set(struct reason *why, wstatus status, const char *format, ...)
{
    if (why) {
        char    text[2 * sizeof why->text]; /* so that no character is cut where `why` ends */
        va_list args;
        va_start(args, format);
        vsnprintf(text, sizeof text, format, args);
        va_end(args);
        visible_escape(text, strlen(text), why->text, sizeof why->text);
        why->status = status;
    }
    return status;
}
