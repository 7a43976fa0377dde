/* A program of 32 bits without a C library, for live_files.c: ten times, in the working folder, a file is made, written
 * (also beyond 4 GB), cut, read, renamed and removed. Exit code: the step that failed, or 0. */
enum {
    TIMES       = 10,
    OPEN        = 5,
    CLOSE       = 6,
    READ        = 3,
    WRITE       = 4,
    PWRITE64    = 181,
    FTRUNCATE64 = 194,
    RENAME      = 38,
    UNLINK      = 10,
    WRITEV      = 146,
    EXIT        = 1,
    CREATE_NEW  = 0100301 /* O_LARGEFILE, O_CREAT, O_EXCL, O_WRONLY */
};

static long call(long number, long a, long b, long c, long d, long e)
{
    long r;
    __asm__ volatile("int $0x80" : "=a"(r) : "0"(number), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e) : "memory");
    return r;
}

static int once(char digit)
{
    static char name[] = "narrow0", other[] = "other0", text[200];
    struct {
        char         *base;
        unsigned long length;
    } parts[2] = {{text, 30}, {text, 40}};
    name[6] = other[5] = digit;
    long fd            = call(OPEN, (long)name, CREATE_NEW, 0600, 0, 0);
    if (fd < 0 || call(WRITE, fd, (long)text, 100, 0, 0) != 100 || call(WRITEV, fd, (long)parts, 2, 0, 0) != 70)
        return 1;
    if (call(PWRITE64, fd, (long)text, 5, 0x10, 1) != 5) /* at 4 GB and 16 */
        return 2;
    if (call(FTRUNCATE64, fd, 0x20, 1, 0, 0) != 0 || call(CLOSE, fd, 0, 0, 0, 0) != 0)
        return 3;
    fd = call(OPEN, (long)name, 0100000, 0, 0, 0);
    if (fd < 0 || call(READ, fd, (long)text, sizeof text, 0, 0) != sizeof text || call(CLOSE, fd, 0, 0, 0, 0) != 0)
        return 4;
    if (call(RENAME, (long)name, (long)other, 0, 0, 0) != 0 || call(UNLINK, (long)other, 0, 0, 0, 0) != 0)
        return 5;
    return call(OPEN, (long)name, 0, 0, 0, 0) == -2 ? 0 : 6; /* ENOENT */
}

void _start(void);
void _start(void)
{
    int bad = 0;
    for (int i = 0; i < TIMES && !bad; i++)
        bad = once((char)('0' + i));
    call(EXIT, bad, 0, 0, 0, 0);
}
