/* placeholder */
#include "tools/verb.h"
int cmd_bench(int argc, char **argv) { (void)argc; (void)argv; return VERB_FAILED; }
