/* page_parts.h - the page's own files (page/), unchanged from the source, in the order in which they are written.
 * Constant data. Not for: the parts that differ by report (page.c). */
#ifndef AUTOLOGGER_REPORT_PAGE_PARTS_H
#define AUTOLOGGER_REPORT_PAGE_PARTS_H
#include <stddef.h>

struct page_part {
    const char *begin, *end;
};
extern const struct page_part page_style, page_body;
extern const struct page_part page_scripts[];
extern const unsigned         page_script_count;
#endif
