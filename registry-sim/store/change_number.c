/* change_number.c - see change_number.h. */
#include "registry-sim/store/change_number.h"

#define KEY "HKEY_LOCAL_MACHINE\\SOFTWARE\\autologger"
#define NAME "ChangeNumber"

wstatus change_number_get(struct regstore *store, uint64_t *out, struct reason *why)
{
    struct regvalue value;
    wstatus         st = regstore_get(store, KEY, NAME, &value);

    *out = 0;
    if (st == W_FILE_NOT_FOUND)
        return W_SUCCESS;
    return st == W_SUCCESS ? regvalue_get_qword(&value, out, why)
                           : reason_set(why, st, "the store's change number could not be read");
}

wstatus change_number_bump(struct regstore *store, uint64_t *out, struct reason *why)
{
    uint64_t number;
    wstatus  st = change_number_get(store, &number, why);

    if (st == W_SUCCESS)
        st = regstore_set_qword(store, KEY, NAME, ++number, why);
    if (st == W_SUCCESS && out)
        *out = number;
    return st;
}
