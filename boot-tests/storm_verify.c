/* storm_verify - compares a trace with what the writers of write_storm reported.
 * storm_verify FILE BOARD: prints key=value pairs. Each event whose call returned 0 is there once, at most one more
 * event of each writer is there (of the call in which it was hit), none is torn, time never goes back on a CPU. Exit 0
 * when all of this holds. */
#include "autologger/etl/reader.h"
#include "boot-tests/numbered.h"
#include "boot-tests/storm_board.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { CPUS_MAX = 1024 };

struct tally {
    unsigned long long events, torn, doubled, missing, beyond, inversions;
};

static const struct storm_board *board_map(const char *path)
{
    struct stat st;
    int         fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || (size_t)st.st_size < sizeof(struct storm_board))
        return NULL;
    const struct storm_board *b = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    return b == MAP_FAILED || sizeof *b + b->writers * sizeof b->entry[0] > (size_t)st.st_size ? NULL : b;
}

static int sound(const struct numbered *n, const uint8_t *fill)
{
    if (n->check != numbered_check(n->writer, n->number) || n->fill != numbered_fill(n->number))
        return 0;
    for (uint32_t i = 0; i < n->fill; i++)
        if (fill[i] != numbered_byte(n->writer, n->number, i))
            return 0;
    return 1;
}

static void look(const struct storm_board *b, uint8_t **seen, const struct etl_event *e, struct tally *t)
{
    struct numbered n;
    if (e->kind != ETL_KIND_EVENT || e->id != NUMBERED_EVENT_ID || e->payload_size < sizeof n)
        return;
    memcpy(&n, e->payload, sizeof n);
    if (n.magic != NUMBERED_MAGIC)
        return;
    t->events++;
    if (e->payload_size != sizeof n + n.fill || !sound(&n, e->payload + sizeof n) || n.writer >= b->writers) {
        t->torn++;
    } else if (n.number > b->entry[n.writer].done) {
        t->beyond++;
    } else {
        t->doubled += seen[n.writer][n.number];
        seen[n.writer][n.number] = 1;
    }
}

/* Counts the missing events, and prints them in runs on standard error. */
static unsigned long long missing_of(uint64_t writer, const uint8_t *seen, uint64_t done)
{
    unsigned long long n = 0;
    for (uint64_t i = 0, begin; i < done; i++) {
        for (begin = i; i < done && !seen[i]; i++)
            n++;
        if (i > begin)
            fprintf(stderr, "writer %llu: %llu to %llu of %llu are missing\n", (unsigned long long)writer,
                    (unsigned long long)begin, (unsigned long long)i - 1, (unsigned long long)done);
    }
    return n;
}

int main(int argc, char **argv)
{
    static int64_t            last[CPUS_MAX];
    struct tally              t   = {0};
    struct etl_reader        *r   = NULL;
    struct reason             why = {0};
    struct etl_event          e;
    const struct storm_board *b         = argc == 3 ? board_map(argv[2]) : NULL;
    uint8_t                 **seen      = b ? calloc(b->writers + 1, sizeof *seen) : NULL;
    unsigned long long        attempted = 0, refused = 0, extra = 0;
    unsigned                  damage;

    if (!seen)
        return fprintf(stderr, "storm_verify FILE BOARD\n"), 100;
    for (uint64_t w = 0; w < b->writers; w++)
        if (!(seen[w] = calloc(1, b->entry[w].done + 1)))
            return 111;
    if (etl_reader_open(argv[1], &r, &why) != W_SUCCESS)
        return fprintf(stderr, "storm_verify: %s\n", why.text), 111;
    while (etl_next(r, &e)) {
        if (e.cpu < CPUS_MAX) {
            t.inversions += e.raw_time < last[e.cpu];
            last[e.cpu] = e.raw_time;
        }
        look(b, seen, &e, &t);
    }
    for (uint64_t w = 0; w < b->writers; w++) {
        attempted += b->entry[w].attempted;
        refused += b->entry[w].refused;
        t.missing += missing_of(w, seen[w], b->entry[w].done);
        extra += seen[w][b->entry[w].done];
        free(seen[w]);
    }
    etl_reader_damage(r, &damage);
    printf(
        "events=%llu torn=%llu doubled=%llu missing=%llu beyond=%llu inversions=%llu damage=%u events_lost=%u attempted=%llu refused=%llu extra=%llu\n",
        t.events, t.torn, t.doubled, t.missing, t.beyond, t.inversions, damage, etl_reader_header(r)->raw.events_lost,
        attempted, refused, extra);
    etl_reader_close(r);
    free(seen);
    return t.torn || t.doubled || t.missing || t.beyond || t.inversions || damage;
}
