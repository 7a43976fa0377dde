/* xml_reader of a build without libxml2: refuses all documents, with a reason. */
#include "autologger/schema/xml_reader.h"

wstatus xml_walk(const char *text, size_t length, const struct xml_walker *walker, struct reason *why)
{
    (void)text, (void)length, (void)walker;
    return reason_set(
        why, W_NOT_SUPPORTED,
        "this build has no reader of XML. Do: use the binary form, which autologger mc of the packages makes");
}
