/* What a long write leaves in the page cache: the last part stays, what lies before goes once the disk has it. Proves:
 * issue 5 "merge of 2 files of 1 GB: memory under 256 MB" (of the page cache, too), "at least 0.5x of cp" by a disk
 * that begins early. */
#include "autologger/consumer/write_behind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { STEP = WRITE_BEHIND_STEP, KEPT = WRITE_BEHIND_KEPT };

/* Is the page in memory? Asking does not bring it in. */
static bool cached(int fd, off_t at)
{
    unsigned char there = 0;
    void         *p     = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, at);
    assert_true(p != MAP_FAILED);
    assert_int_equal(mincore(p, 4096, &there), 0);
    munmap(p, 4096);
    return there & 1;
}

/* The pages of a sparse file that was read are in the page cache like written ones, and need no disk. */
static void last_part_stays(void **state)
{
    char                path[] = "/tmp/autologger-behind-XXXXXX";
    int                 fd     = mkstemp(path);
    char               *room   = malloc(STEP);
    struct write_behind b;

    (void)state;
    assert_true(fd >= 0 && room);
    assert_int_equal(ftruncate(fd, (off_t)KEPT + 4 * STEP), 0);
    assert_int_equal(pread(fd, room, STEP, 0), STEP);
    assert_int_equal(pread(fd, room, STEP, 2 * STEP), STEP);
    assert_true(cached(fd, 0) && cached(fd, 2 * STEP));
    write_behind_begin(&b, path);
    write_behind_at(&b, KEPT);
    assert_true(cached(fd, 0)); /* it stays until enough was written */
    assert_int_equal(b.gone, 0);
    write_behind_at(&b, (uint64_t)KEPT + 2 * STEP + 1);
    assert_int_equal(b.started, (uint64_t)KEPT + 2 * STEP);
    assert_true(b.gone >= STEP && b.gone <= 2 * STEP);
    if (cached(fd, 0)) /* a file system in memory keeps it nowhere else */
        print_message("skipped: /tmp keeps everything in memory\n");
    assert_true(cached(fd, 2 * STEP));
    write_behind_end(&b);
    close(fd);
    unlink(path);
    free(room);
}

static void no_file_no_harm(void **state)
{
    struct write_behind b;
    int                 ends[2];

    (void)state;
    write_behind_begin(&b, "/nowhere/at/all");
    assert_int_equal(b.fd, -1);
    write_behind_at(&b, UINT64_MAX);
    write_behind_end(&b);
    assert_int_equal(pipe(ends), 0);
    b = (struct write_behind){.fd = ends[0]}; /* the kernel refuses: no further attempt */
    write_behind_at(&b, 3 * STEP);
    assert_int_equal(b.fd, -1);
    write_behind_end(&b);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(last_part_stays), cmocka_unit_test(no_file_no_harm)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
