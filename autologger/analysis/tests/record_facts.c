/* Prints the facts of a boot's trace, for tests/boots: record_facts boot.etl > NAME.facts */
#include "autologger/analysis/tests/boot_facts.h"

int main(int argc, char **argv)
{
    struct boot  *b;
    struct reason why = {0};
    if (argc != 2 || boot_read(argv[1], NULL, &b, &why)) {
        fprintf(stderr, "record_facts FILE: %s\n", why.text);
        return 1;
    }
    facts_write(stdout, b);
    boot_destroy(b);
    return 0;
}
