/* guiddef.h - GUIDs, as the SDK defines and compares them. DEFINE_GUID declares; with INITGUID (initguid.h) it
 * defines. */
#include "autologger_types.h"

#undef DEFINE_GUID
#ifdef INITGUID
#define DEFINE_GUID AUTOLOGGER_DEFINE_GUID
#else
#define DEFINE_GUID(name, l, w1, w2, b1, b2, b3, b4, b5, b6, b7, b8) AUTOLOGGER_EXTERN const GUID name
#endif

#ifndef AUTOLOGGER_GUIDDEF_H
#define AUTOLOGGER_GUIDDEF_H
typedef GUID      IID, CLSID;
static const GUID GUID_NULL __attribute__((unused)) = {0, 0, 0, {0, 0, 0, 0, 0, 0, 0, 0}};
#ifdef __cplusplus
typedef const GUID &REFGUID, &REFIID, &REFCLSID;
FORCEINLINE int     InlineIsEqualGUID(REFGUID a, REFGUID b) { return memcmp(&a, &b, sizeof(GUID)) == 0; }
FORCEINLINE int     IsEqualGUID(REFGUID a, REFGUID b) { return memcmp(&a, &b, sizeof(GUID)) == 0; }
inline bool         operator==(REFGUID a, REFGUID b) { return IsEqualGUID(a, b) != 0; }
inline bool         operator!=(REFGUID a, REFGUID b) { return !IsEqualGUID(a, b); }
#else
typedef const GUID *REFGUID, *REFIID, *REFCLSID;
FORCEINLINE int     InlineIsEqualGUID(REFGUID a, REFGUID b) { return memcmp(a, b, sizeof(GUID)) == 0; }
FORCEINLINE int     IsEqualGUID(REFGUID a, REFGUID b) { return memcmp(a, b, sizeof(GUID)) == 0; }
#endif
#endif
