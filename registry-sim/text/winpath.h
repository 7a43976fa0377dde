/* winpath.h - names of keys and files: HKLM paths, the control-set alias, and where a Windows path lives here.
 * Pure; threads: any. Not for: opening anything. */
#ifndef REGISTRY_SIM_TEXT_WINPATH_H
#define REGISTRY_SIM_TEXT_WINPATH_H
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>
#include <stddef.h>

/* The WMI key that all boot sessions live under, in canonical form. */
#define WINPATH_WMI "HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Control\\WMI"

/* Maps the FileName of a session to a path below `log_dir`: "C:\x" -> <log_dir>/c/x, a leading "%SystemRoot%" ->
 * <log_dir>/c/Windows, '/' or '\' both separate, a relative name -> <log_dir>/name, an absolute Linux path stays (it
 * must lie below log_dir or be allowed by `absolute_ok`). ".." and empty parts, control characters, device prefixes
 * (\\?\, UNC) and names over 1,024 characters are refused: W_INVALID_NAME, W_BAD_PATHNAME or W_FILENAME_EXCED_RANGE
 * with the reason. `out` is malloc. */
wstatus winpath_map(const char *file_name, const char *log_dir, bool absolute_ok, char **out, struct reason *why);
#endif
