/* Any bytes as INI: no crash, no leak, no hang; what imports is exported (or refused by name) and imports again as the
 * same tree. */
#include "registry-sim/text/tests/trees.h"
#include "registry-sim/text/tests/words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void same_again(struct regstore *s, const char *tree)
{
    static struct regstore *again;
    char                   *text;
    size_t                  size;
    wstatus                 st = ini_export(s, "HKLM", &words, &text, &size, NULL);
    if (st == W_NOT_SUPPORTED || st == W_FILE_NOT_FOUND)
        return;
    if (st != W_SUCCESS || (!again && regstore_open_memory(&again, NULL) != W_SUCCESS))
        abort();
    tree_clear(again);
    if (ini_import(again, text, size, "again", &words, NULL, NULL) != W_SUCCESS)
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
    wstatus st = ini_import(s, data, size, "f", &words, &sink, NULL);
    if ((st == W_SUCCESS) != (sink.errors == 0))
        abort();
    char *tree = tree_dup(s);
    if (st == W_SUCCESS)
        same_again(s, tree);
    else if (*tree)
        abort(); /* imported by half */
    free(tree);
    return 0;
}
