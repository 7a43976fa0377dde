#include "tools/ui/ui_page.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define TAKE(symbol, file) \
    __asm__(".pushsection .rodata\nui_file_" #symbol ":\n.incbin \"" UI_FOLDER file "\"\nui_file_" #symbol \
            "_end:\n.byte 0\n.popsection\n"); \
    extern const char ui_file_##symbol[], ui_file_##symbol##_end[]
TAKE(style, "ui.css");
TAKE(body, "ui.html");
TAKE(base, "base.js");
TAKE(boots, "boots.js");
TAKE(sessions, "sessions.js");
TAKE(sets, "sets.js");
TAKE(live, "live.js");
TAKE(channels, "channels.js");

static const struct ui_part {
    const char *from, *to;
} ui_parts[] = {
#define TEXT(text) \
    { \
        &(text)[0], &(text)[sizeof(text) - 1] \
    }
#define PART(symbol) \
    { \
        ui_file_##symbol, ui_file_##symbol##_end \
    }
    TEXT(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n<title>autologger</title>\n<style>\n"),
    PART(style),
    TEXT("</style>\n"),
    PART(body),
    TEXT("<script>\n'use strict';\n"),
    PART(base),
    PART(boots),
    PART(sessions),
    PART(sets),
    PART(live),
    PART(channels),
    TEXT("U.begin();\n</script>\n</html>\n")};

char *ui_page_make(const char *secret, size_t *size)
{
    static const char mark[] = "SECRET_OF_THE_TOKEN";
    size_t            n      = strlen(secret);
    for (size_t i = 0; i < sizeof ui_parts / sizeof *ui_parts; i++)
        n += (size_t)(ui_parts[i].to - ui_parts[i].from);
    char *out = malloc(n + 1), *at = out;
    for (size_t i = 0; out && i < sizeof ui_parts / sizeof *ui_parts; i++) {
        const size_t part = (size_t)(ui_parts[i].to - ui_parts[i].from);
        memcpy(at, ui_parts[i].from, part);
        at += part;
    }
    if (!out)
        return NULL;
    *at         = 0;
    char *place = strstr(out, mark);
    if (place) {
        memmove(place + strlen(secret), place + sizeof mark - 1, (size_t)(at - place) - (sizeof mark - 1) + 1);
        memcpy(place, secret, strlen(secret));
        at += (ptrdiff_t)strlen(secret) - (ptrdiff_t)(sizeof mark - 1);
    }
    *size = (size_t)(at - out);
    return out;
}
