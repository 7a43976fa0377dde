/* ui_page.h - the window's page: one document with its style and scripts inside. Threads: any. */
#ifndef TOOLS_UI_PAGE_H
#define TOOLS_UI_PAGE_H
#include <stddef.h>
/* `secret`: the page's scripts know it; "": none. malloc; NULL: no memory. */
char *ui_page_make(const char *secret, size_t *size);
#endif
