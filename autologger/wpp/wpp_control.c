/* Control GUIDs: "#define WPP_CONTROL_GUIDS WPP_DEFINE_CONTROL_GUID(NAME, (1,2,3,4,5), WPP_DEFINE_BIT(FLAG) ...)". The
 * compiler reads them for the program; here they are read for the TMF file. */
#include "autologger/wpp/wpp_private.h"

#include <string.h>

static bool wpp_control_is(const struct wpp_token *t, const char *word)
{
    return t->kind == WPP_NAMED && t->size == strlen(word) && memcmp(t->text, word, t->size) == 0;
}

static bool wpp_control_sign(struct wpp_lexer *l, char sign)
{
    const struct wpp_token t = wpp_next(l);
    return t.kind == WPP_SIGN && t.sign == sign;
}

/* "(1234,5678,...)": five words. False: another form. */
static bool wpp_control_guid(struct wpp_lexer *l, struct text *out)
{
    if (!wpp_control_sign(l, '('))
        return false;
    for (int i = 0; i < 5; i++) {
        const struct wpp_token t = wpp_next(l);
        if (t.kind != WPP_NAMED && t.kind != WPP_OTHER)
            return false;
        if (i)
            text_add(out, "-", 1);
        text_add(out, t.text, t.size);
        if (!wpp_control_sign(l, i < 4 ? ',' : ')'))
            return false;
    }
    return true;
}

static void wpp_control_define(struct wpp_config *c, const struct wpp_token *define)
{
    struct wpp_lexer l = {.at = define->text + 1, .end = define->text + define->size, .line = 1};
    struct wpp_token t = wpp_next(&l);
    if (!wpp_control_is(&t, "define") || (t = wpp_next(&l), !wpp_control_is(&t, "WPP_CONTROL_GUIDS")))
        return;
    for (t = wpp_next(&l); t.kind != WPP_END; t = wpp_next(&l)) {
        const bool control = wpp_control_is(&t, "WPP_DEFINE_CONTROL_GUID");
        if (!control && !wpp_control_is(&t, "WPP_DEFINE_BIT"))
            continue;
        const size_t before = c->controls.length;
        if (!wpp_control_sign(&l, '('))
            return;
        t = wpp_next(&l);
        text_printf(&c->controls, "%s %.*s", control ? "#control" : "#flag", (int)t.size, t.text);
        text_add(&c->controls, " ", control);
        if (t.kind != WPP_NAMED || (control && (!wpp_control_sign(&l, ',') || !wpp_control_guid(&l, &c->controls)))) {
            text_cut(&c->controls, before); /* the compiler will say what is wrong */
            return;
        }
        text_add(&c->controls, "\n", 1);
    }
}

void wpp_controls_scan(struct wpp_config *c, const char *text, size_t size)
{
    struct wpp_lexer l = {text, text + size, 1, true};
    for (struct wpp_token t = wpp_next(&l); t.kind != WPP_END; t = wpp_next(&l))
        if (t.kind == WPP_DEFINE)
            wpp_control_define(c, &t);
}

const char *wpp_config_controls(const struct wpp_config *c) { return text_get(&c->controls); }
