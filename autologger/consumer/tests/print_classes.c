/* Writes the reference page to standard output: autologger_classes_reference > docs/reference/classes.md */
#include "autologger/consumer/classes_page.h"

int main(void)
{
    classes_page(stdout);
    return 0;
}
