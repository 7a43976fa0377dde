/* payload_type.c - how values lie in a payload, by in-type; see payload_filter.h. */
#include "autologger/wire/payload_filter.h"

struct payload_type payload_type_of(uint8_t in)
{
    static const struct payload_type types[] = {
        [1]  = {PAYLOAD_FORM_WIDE, PAYLOAD_END_NUL16, 2},                  /* UnicodeString */
        [2]  = {PAYLOAD_FORM_TEXT, PAYLOAD_END_NUL, 1},                    /* AnsiString */
        [3]  = {PAYLOAD_FORM_SIGNED, PAYLOAD_END_WIDTH, 1},                /* Int8 */
        [4]  = {PAYLOAD_FORM_UNSIGNED, PAYLOAD_END_WIDTH, 1},              /* UInt8 */
        [5]  = {PAYLOAD_FORM_SIGNED, PAYLOAD_END_WIDTH, 2},                /* Int16 */
        [6]  = {PAYLOAD_FORM_UNSIGNED, PAYLOAD_END_WIDTH, 2},              /* UInt16 */
        [7]  = {PAYLOAD_FORM_SIGNED, PAYLOAD_END_WIDTH, 4},                /* Int32 */
        [8]  = {PAYLOAD_FORM_UNSIGNED, PAYLOAD_END_WIDTH, 4},              /* UInt32 */
        [9]  = {PAYLOAD_FORM_SIGNED, PAYLOAD_END_WIDTH, 8},                /* Int64 */
        [10] = {PAYLOAD_FORM_UNSIGNED, PAYLOAD_END_WIDTH, 8},              /* UInt64 */
        [11] = {PAYLOAD_FORM_REAL, PAYLOAD_END_WIDTH, 4},                  /* Float */
        [12] = {PAYLOAD_FORM_REAL, PAYLOAD_END_WIDTH, 8},                  /* Double */
        [13] = {PAYLOAD_FORM_UNSIGNED, PAYLOAD_END_WIDTH, 4},              /* Boolean */
        [14] = {PAYLOAD_FORM_NONE, PAYLOAD_END_LENGTH, 1},                 /* Binary */
        [15] = {PAYLOAD_FORM_GUID, PAYLOAD_END_WIDTH, 16},                 /* GUID */
        [16] = {PAYLOAD_FORM_UNSIGNED, PAYLOAD_END_WIDTH, sizeof(void *)}, /* Pointer, of this program */
        [17] = {PAYLOAD_FORM_UNSIGNED, PAYLOAD_END_WIDTH, 8},              /* FILETIME */
        [18] = {PAYLOAD_FORM_NONE, PAYLOAD_END_WIDTH, 16},                 /* SYSTEMTIME */
        [19] = {PAYLOAD_FORM_NONE, PAYLOAD_END_SID, 0},                    /* SID */
        [20] = {PAYLOAD_FORM_UNSIGNED, PAYLOAD_END_WIDTH, 4},              /* HexInt32 */
        [21] = {PAYLOAD_FORM_UNSIGNED, PAYLOAD_END_WIDTH, 8},              /* HexInt64 */
        [22] = {PAYLOAD_FORM_WIDE, PAYLOAD_END_COUNTED, 0},                /* CountedString */
        [23] = {PAYLOAD_FORM_TEXT, PAYLOAD_END_COUNTED, 0},                /* CountedAnsiString */
        [24] = {PAYLOAD_FORM_NONE, PAYLOAD_END_UNKNOWN, 0},                /* a struct */
        [25] = {PAYLOAD_FORM_NONE, PAYLOAD_END_COUNTED, 0},                /* CountedBinary */
    };
    return in && in < sizeof types / sizeof *types ? types[in]
                                                   : (struct payload_type){PAYLOAD_FORM_NONE, PAYLOAD_END_UNKNOWN, 0};
}
