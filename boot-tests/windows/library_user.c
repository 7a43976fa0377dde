#include <dlfcn.h>
#include <stddef.h>

int main(int argc, char **argv)
{
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    int (*answer)(void);
    if (!library)
        return 1;
    *(void **)&answer = dlsym(library, "Answer");
    if (!answer || answer() != 42)
        return 2;
    return dlclose(library);
}
