/* odd_writers.h - the writers of odd_program; each value is the writer's index in the board. */
#ifndef BOOT_TESTS_ODD_WRITERS_H
#define BOOT_TESTS_ODD_WRITERS_H

enum odd_writer {
    ODD_PARENT,   /* before and after it forks */
    ODD_CHILD,    /* of a fork, without exec */
    ODD_EXECUTED, /* after fork and exec */
    ODD_SPAWNED,  /* after posix_spawn */
    ODD_CLOSED,   /* before and after closefrom */
    ODD_HANDLER,  /* a signal handler, which interrupts the next one */
    ODD_INTERRUPTED,
    ODD_LIBRARY, /* constructor and destructor of a library that the program is linked with */
    ODD_LOADED,  /* of one that is loaded and unloaded, several times */
    ODD_WRITERS
};
#define ODD_BOARD "ODD_BOARD" /* in the environment: the board's path */
enum { ODD_EVENTS = 500, ODD_LIBRARY_EVENTS = 50, ODD_LOADS = 5, ODD_CLOSES = 25 };
#endif
