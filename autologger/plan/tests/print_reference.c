/* Writes the reference page to standard output: autologger_plan_reference > docs/reference/values.md */
#include "autologger/plan/reference.h"

int main(void)
{
    plan_reference(stdout);
    return fflush(stdout) != 0;
}
