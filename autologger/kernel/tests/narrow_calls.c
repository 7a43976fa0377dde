/* A program of 32 bits without a C library, for live_narrow.c: waits for a byte on its standard input, then makes a
 * known number of system calls, of each kind that has its own way to the kernel's function. Exit code: the step that
 * failed, or 0. */
enum { TIMES = 50, PAGE = 4096 };
enum {
    EXIT            = 1,
    READ            = 3,
    GETUID          = 24,
    BRK             = 45,
    GETPPID         = 64,
    MUNMAP          = 91,
    UNAME           = 122,
    MREMAP          = 163,
    MMAP2           = 192,
    FSTAT64         = 197,
    GETUID32        = 199,
    MADVISE         = 219,
    CLOCK_GETTIME   = 265,
    CLOCK_GETTIME64 = 403
};
enum { READ_WRITE = 3, PRIVATE_ANONYMOUS = 0x22, MAY_MOVE = 1, DONT_NEED = 4, MONOTONIC = 1 };

static long call(long number, long a, long b, long c, long d, long e)
{
    long r;
    __asm__ volatile("int $0x80" : "=a"(r) : "0"(number), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e) : "memory");
    return r;
}

static int failed(long result) { return (unsigned long)result > -4096ul; }

static int once(void)
{
    static char text[400];
    if (failed(call(GETPPID, 0, 0, 0, 0, 0)) || failed(call(GETUID, 0, 0, 0, 0, 0)) ||
        failed(call(GETUID32, 0, 0, 0, 0, 0)))
        return 1;
    if (failed(call(UNAME, (long)text, 0, 0, 0, 0)) || failed(call(FSTAT64, 0, (long)text, 0, 0, 0)))
        return 2;
    if (failed(call(CLOCK_GETTIME, MONOTONIC, (long)text, 0, 0, 0)) ||
        failed(call(CLOCK_GETTIME64, MONOTONIC, (long)text, 0, 0, 0)))
        return 3;
    long at = call(MMAP2, 0, 3 * PAGE, READ_WRITE, PRIVATE_ANONYMOUS, -1);
    if (failed(at) || failed(call(MADVISE, at, PAGE, DONT_NEED, 0, 0)))
        return 4;
    at = call(MREMAP, at, 3 * PAGE, 5 * PAGE, MAY_MOVE, 0);
    return failed(at) || failed(call(MUNMAP, at, 5 * PAGE, 0, 0, 0)) ? 5 : 0;
}

void _start(void);
void _start(void)
{
    char byte;
    int  bad = call(READ, 0, (long)&byte, 1, 0, 0) == 1 ? 0 : 6;
    for (int i = 0; i < TIMES && !bad; i++)
        bad = once();
    long heap = call(BRK, 0, 0, 0, 0, 0);
    if (!bad && (call(BRK, heap + 16 * PAGE, 0, 0, 0, 0) != heap + 16 * PAGE || call(BRK, heap, 0, 0, 0, 0) != heap))
        bad = 7;
    call(EXIT, bad, 0, 0, 0, 0);
}
