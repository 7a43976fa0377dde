/* Any bytes as .reg: no crash, no leak, no hang; what imports is exported and imports again as the same tree. */
#include "registry-sim/text/tests/trees.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void same_again(struct regstore *s, bool utf16, const char *tree)
{
    static struct regstore *again;
    void                   *text;
    size_t                  size;
    wstatus                 st = reg_export(s, "HKLM", utf16, &text, &size, NULL);
    if (st == W_NOT_SUPPORTED || st == W_FILE_NOT_FOUND) /* a line break in a key's name; nothing below HKLM */
        return;
    if (st != W_SUCCESS || (!again && regstore_open_memory(&again, NULL) != W_SUCCESS))
        abort();
    tree_clear(again);
    if (reg_import(again, text, size, "again", 0, NULL, NULL) != W_SUCCESS)
        abort();
    char *back = tree_dup(again);
    if (strcmp(back, tree) != 0)
        abort();
    free(back);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct regstore *s;
    struct diag_sink        sink = {0};
    if (!s && regstore_open_memory(&s, NULL) != W_SUCCESS)
        abort();
    tree_clear(s);
    wstatus st = reg_import(s, data, size, "f", size % 2 ? REG_IMPORT_LENIENT : 0, &sink, NULL);
    if ((st == W_SUCCESS) != (sink.errors == 0))
        abort();
    char *tree = tree_dup(s);
    if (st == W_SUCCESS) {
        same_again(s, false, tree);
        same_again(s, true, tree);
    } else if (*tree) {
        abort(); /* imported by half */
    }
    free(tree);
    return 0;
}
