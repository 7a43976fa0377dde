/* option.c - see option.h. */
#include "tools/windows/option.h"
#include "registry-sim/base/nearest.h"
#include "registry-sim/base/visible_print.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { VALUES_MOST = 64 };

const char *windows_dash(const char *word, struct translation *t)
{
    static const char *const dashes[] = {"\xe2\x80\x93", "\xe2\x88\x92"}; /* EN DASH, MINUS SIGN */
    for (unsigned i = 0; i < sizeof dashes / sizeof *dashes; i++)
        if (strncmp(word, dashes[i], strlen(dashes[i])) == 0)
            return translation_text(t, "-%s", word + strlen(dashes[i]));
    return word;
}

/* The option of this word, or NULL; *value: what follows its colon, or NULL. */
static const struct windows_option *option_find(const struct windows_syntax *syntax, const char *word,
                                                const char **value)
{
    *value = NULL;
    if (*word != '-' && *word != '/')
        return NULL;
    const char *name = word + 1;
    size_t      n    = strlen(name);
    if (syntax->colon && n > strcspn(name, ":")) {
        n      = strcspn(name, ":");
        *value = name + n + 1;
    }
    for (const struct windows_option *o = syntax->option; o->word; o++)
        if (strncasecmp(o->word, name, n) == 0 && !o->word[n])
            return o;
    return NULL;
}

static void option_unknown(const struct windows_syntax *syntax, const char *word, struct translation *t)
{
    struct nearest near = nearest_make(word + 1, 2);
    for (const struct windows_option *o = syntax->option; o->word; o++)
        nearest_try(&near, o->word);
    if (near.found)
        translation_fault(t, "%s is not known. Do: -%s, or see autologger windows %s --help", word, near.found,
                          t->personality);
    else
        translation_fault(t, "%s is not known. Do: see autologger windows %s --help", word, t->personality);
}

static bool option_of_autologger(const char *word)
{
    return word[0] == '-' && word[1] == '-' && isalpha((unsigned char)word[2]);
}

/* True: "--runtime-dir DIR", whose value is the next word. */
static bool option_has_value(const char *word)
{
    return strcmp(word, "--runtime-dir") == 0 || strcmp(word, "--store") == 0;
}

/* No value: an option, known or not. */
static bool option_looks_so(const struct windows_syntax *syntax, const char *word)
{
    const char *ignored;
    return option_find(syntax, word, &ignored) || option_of_autologger(word) ||
           (word[0] == '-' && isalpha((unsigned char)word[1]));
}

/* Takes the option at word[*at] with its values; *at: the last word that was used. */
static void option_take(const struct windows_syntax *syntax, const struct windows_option *option, const char *joined,
                        unsigned count, const char *const *word, unsigned *at, void *into, struct translation *t)
{
    char    *value[VALUES_MOST];
    unsigned n = 0;
    if (syntax->note)
        syntax->note(into, option);
    if (joined)
        value[n++] = (char *)(uintptr_t)joined;
    while (!syntax->colon && n < option->most && n < VALUES_MOST && *at + 1 < count &&
           !option_looks_so(syntax, word[*at + 1]))
        value[n++] = (char *)(uintptr_t)word[++*at];
    if (n < option->least)
        translation_fault(t, "-%s needs %s. Do: see autologger windows %s --help", option->word, option->values,
                          t->personality);
    else if (n > option->most)
        translation_fault(t, "-%s takes no value", option->word);
    else
        option->take(into, option, value, n, t);
}

void windows_options_read(const struct windows_syntax *syntax, unsigned count, char *const *given, void *into,
                          struct windows_passed *passed, struct translation *t)
{
    const char **word = calloc(count + 1, sizeof *word);
    const char  *joined;
    if (!word)
        translation_no_memory(t);
    for (unsigned i = 0; i < count && !t->fault; i++)
        word[i] = windows_dash(given[i], t);
    for (unsigned i = 0; i < count && !t->fault; i++) {
        const struct windows_option *option = option_find(syntax, word[i], &joined);
        if (option)
            option_take(syntax, option, joined, count, word, &i, into, t);
        else if (option_of_autologger(word[i]) && passed->count + 1 < WINDOWS_PASSED) {
            passed->word[passed->count++] = word[i];
            if (option_has_value(word[i]) && i + 1 < count)
                passed->word[passed->count++] = word[++i];
        } else if (word[i][0] == '-' && word[i][1])
            option_unknown(syntax, word[i], t);
        else
            syntax->word(into, (char *)(uintptr_t)word[i], t);
    }
    free(word);
}

void windows_option_ignore(void *into, const struct windows_option *option, char *const *value, unsigned count,
                           struct translation *t)
{
    (void)into, (void)option, (void)value, (void)count, (void)t;
}

void windows_option_refuse(void *into, const struct windows_option *option, char *const *value, unsigned count,
                           struct translation *t)
{
    (void)into, (void)value, (void)count;
    translation_fault(t, "-%s is not there: %s", option->word, option->as);
}

void windows_options_print(const struct windows_syntax *syntax, FILE *to)
{
    for (const struct windows_option *o = syntax->option; o->word; o++) {
        char form[64];
        snprintf(form, sizeof form, "%c%s%s%s", syntax->colon ? '/' : '-', o->word,
                 *o->values ? (syntax->colon ? ":" : " ") : "", o->values);
        if (strlen(form) > 22)
            visible_printf(to, "  %s\n  %-22s %s\n", form, "", o->help);
        else
            visible_printf(to, "  %-22s %s\n", form, o->help);
    }
}
