#include "autologger/report/page_parts.h"

#define TAKE(symbol, file) \
    __asm__(".pushsection .rodata\npage_file_" #symbol ":\n.incbin \"" PAGE_FOLDER file "\"\npage_file_" #symbol \
            "_end:\n.byte 0\n.popsection\n"); \
    extern const char page_file_##symbol[], page_file_##symbol##_end[]
#define PART(symbol) \
    { \
        page_file_##symbol, page_file_##symbol##_end \
    }

TAKE(style, "report.css");
TAKE(body, "body.html");
TAKE(data, "data.js");
TAKE(lanes, "lanes.js");
TAKE(rows, "rows.js");
TAKE(flame, "flame.js");
TAKE(detail, "detail.js");
TAKE(tables, "tables.js");
TAKE(main, "main.js");

const struct page_part page_style = PART(style), page_body = PART(body);
const struct page_part page_scripts[]    = {PART(data),   PART(lanes),  PART(rows), PART(flame),
                                            PART(detail), PART(tables), PART(main)};
const unsigned         page_script_count = sizeof page_scripts / sizeof *page_scripts;
