/* words_kernel.c - kernel flags and call stacks in words; see words_parts.h. */
#include "autologger/kernel/tables/flags.h"
#include "autologger/plan/words_parts.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STACK_FILE_MAX = 65536 };

wstatus words_parse_kernel_flags(const struct asked *a, struct regvalue *out, struct reason *why)
{
    uint32_t mask[GROUP_MASK_WORDS];
    uint8_t  bytes[sizeof mask];
    wstatus  st = group_mask_parse(a->text, mask, why);

    for (size_t i = 0; i < sizeof bytes && st == W_SUCCESS; i++)
        bytes[i] = (uint8_t)(mask[i / 4] >> i % 4 * 8);
    return st ? st : words_bytes(out, REG_TYPE_BINARY, bytes, sizeof bytes, why);
}

char *words_print_kernel_flags(const struct regvalue *v)
{
    uint32_t mask[GROUP_MASK_WORDS];

    if (group_mask_from_bytes(v->data, v->size, mask, NULL) != W_SUCCESS)
        return NULL;
    size_t size = group_mask_format(mask, NULL, 0) + 1;
    char  *text = malloc(size);
    if (text)
        group_mask_format(mask, text, size);
    return text;
}

static wstatus set_hooks(const uint16_t *hooks, unsigned count, struct regvalue *out, struct reason *why)
{
    uint8_t bytes[HOOK_MAX * 4] = {0};

    for (unsigned i = 0; i < count; i++) {
        bytes[4 * i]     = (uint8_t)hooks[i];
        bytes[4 * i + 1] = (uint8_t)(hooks[i] >> 8);
    }
    return words_bytes(out, REG_TYPE_BINARY, bytes, 4 * (size_t)count, why);
}

/* The names in one line of a stack file; '!' starts a comment. */
static wstatus stack_line(char *line, uint16_t hooks[HOOK_MAX], unsigned *count, struct reason *why)
{
    uint16_t found[HOOK_MAX];
    unsigned n  = 0;
    wstatus  st = W_SUCCESS;

    line[strcspn(line, "!\r\n")] = '\0';
    size_t used                  = strlen(line);
    while (used > 0 && (isspace((unsigned char)line[used - 1]) || line[used - 1] == '+'))
        line[--used] = '\0'; /* a '+' at the end joins the next line */
    if (line[strspn(line, " \t+")])
        st = hooks_parse(line + strspn(line, " \t+"), found, &n, why);
    if (st == W_SUCCESS && *count + n > HOOK_MAX)
        return reason_set(why, W_INVALID_USER_BUFFER, "more than %d stack names", HOOK_MAX);
    for (unsigned i = 0; i < n && st == W_SUCCESS; i++)
        hooks[(*count)++] = found[i];
    return st;
}

static wstatus parse_stack_file(const struct asked *a, struct regvalue *out, struct reason *why)
{
    const char *name = a->text + 1 + strspn(a->text + 1, " \t");
    char        path[4096], line[1024];
    uint16_t    hooks[HOOK_MAX];
    unsigned    count = 0;
    size_t      total = 0;
    wstatus     st    = W_SUCCESS;

    snprintf(path, sizeof path, "%s%s%s", *name == '/' || !a->base_dir ? "" : a->base_dir,
             *name == '/' || !a->base_dir ? "" : "/", name);
    FILE *file = fopen(path, "re");
    if (!file)
        return reason_set(why, wstatus_from_errno(errno), "the stack file '%.256s' can't be opened: %s", path,
                          strerror(errno));
    for (unsigned number = 1; st == W_SUCCESS && fgets(line, sizeof line, file); number++) {
        struct reason inner = {0};
        total += strlen(line);
        if (strlen(line) == sizeof line - 1 || total > STACK_FILE_MAX)
            st = reason_set(why, W_INVALID_PARAMETER, "%.200s:%u: the line or the file is too long", name, number);
        else if ((st = stack_line(line, hooks, &count, &inner)) != W_SUCCESS)
            reason_set(why, st, "%.200s:%u: %.256s", name, number, inner.text);
    }
    if (st == W_SUCCESS && ferror(file))
        st = reason_set(why, W_INVALID_DATA, "the stack file '%.256s' can't be read", path);
    fclose(file);
    if (st == W_SUCCESS && count == 0)
        st = reason_set(why, W_INVALID_PARAMETER, "the stack file '%.256s' names no stack", path);
    return st ? st : set_hooks(hooks, count, out, why);
}

wstatus words_parse_hooks(const struct asked *a, struct regvalue *out, struct reason *why)
{
    uint16_t hooks[HOOK_MAX];
    unsigned count;

    if (*a->text == '@')
        return parse_stack_file(a, out, why);
    wstatus st = hooks_parse(a->text, hooks, &count, why);
    return st ? st : set_hooks(hooks, count, out, why);
}

char *words_print_hooks(const struct regvalue *v)
{
    uint16_t hooks[HOOK_MAX];
    unsigned count;

    if (hooks_from_bytes(v->data, v->size, hooks, &count, NULL) != W_SUCCESS)
        return NULL;
    size_t size = hooks_format(hooks, count, NULL, 0) + 1;
    char  *text = malloc(size);
    if (text)
        hooks_format(hooks, count, text, size);
    return text;
}
