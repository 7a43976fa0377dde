/* event_verify - compares a trace with the tallies of the event_writers that wrote it.
 * event_verify FILE TALLY...: writer i is the i-th tally (from 0). Prints key=value pairs; exit 0 when nothing is torn,
 * doubled, missing (a bit is set, no event) or invented (number beyond the attempts), and time never goes back on a
 * CPU. */
#include "autologger/etl/reader.h"
#include "boot-tests/numbered.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { WRITERS_MAX = 1024, FEW = 16, CPUS_MAX = 1024 };

struct seen {
    const struct numbered_tally *tally;
    uint8_t                     *bitmap;
};

static bool sound(const struct numbered *n, const uint8_t *fill)
{
    if (n->check != numbered_check(n->writer, n->number) || !numbered_fill_is_sound(n->number, n->fill))
        return false;
    for (uint32_t i = 0; i < n->fill; i++)
        if (fill[i] != numbered_byte(n->writer, n->number, i))
            return false;
    return true;
}

static const struct numbered_tally *tally_map(const char *path)
{
    struct stat st;
    int         fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || (size_t)st.st_size < sizeof(struct numbered_tally))
        return NULL;
    const struct numbered_tally *t = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    return t == MAP_FAILED || sizeof *t + t->capacity / 8 > (size_t)st.st_size ? NULL : t;
}

int main(int argc, char **argv)
{
    struct seen        seen[WRITERS_MAX] = {0};
    static int64_t     last[CPUS_MAX];
    struct etl_reader *r   = NULL;
    struct reason      why = {0};
    struct etl_event   e;
    unsigned long long events = 0, torn = 0, doubled = 0, missing = 0, invented = 0, inversions = 0, unproved = 0;
    int                writers = argc - 2;

    if (writers < 1 || writers > WRITERS_MAX) {
        fprintf(stderr, "event_verify FILE TALLY...\n");
        return 100;
    }
    for (int w = 0; w < writers; w++)
        if (!(seen[w].tally = tally_map(argv[2 + w])) || !(seen[w].bitmap = calloc(1, seen[w].tally->capacity / 8 + 1)))
            return fprintf(stderr, "event_verify: cannot use the tally %s\n", argv[2 + w]), 111;
    if (etl_reader_open(argv[1], &r, &why) != W_SUCCESS)
        return fprintf(stderr, "event_verify: %s\n", why.text), 111;
    while (etl_next(r, &e)) {
        struct numbered n;
        if (e.cpu < CPUS_MAX) {
            inversions += e.raw_time < last[e.cpu];
            last[e.cpu] = e.raw_time;
        }
        if (e.kind != ETL_KIND_EVENT || e.id != NUMBERED_EVENT_ID || e.payload_size < sizeof n)
            continue;
        memcpy(&n, e.payload, sizeof n);
        if (n.magic != NUMBERED_MAGIC)
            continue;
        events++;
        if (e.payload_size != sizeof n + n.fill || !sound(&n, e.payload + sizeof n) || n.writer >= (uint32_t)writers) {
            torn++;
            continue;
        }
        struct seen *s = &seen[n.writer];
        if (n.number >= s->tally->attempted || n.number >= s->tally->capacity) {
            invented++;
            continue;
        }
        uint8_t bit = (uint8_t)(1u << n.number % 8);
        doubled += (s->bitmap[n.number / 8] & bit) != 0;
        s->bitmap[n.number / 8] |= bit;
    }
    for (int w = 0; w < writers; w++) {
        /* missing although an earlier event is there: a session that started late does not explain it */
        unsigned long long gaps  = 0;
        bool               begun = false;
        for (uint64_t i = 0; i < seen[w].tally->capacity; i++) {
            bool must = seen[w].tally->bitmap[i / 8] >> i % 8 & 1, is = seen[w].bitmap[i / 8] >> i % 8 & 1;
            begun |= is;
            missing += must && !is;
            gaps += begun && must && !is;
            if (begun && must && !is && getenv("EVENT_VERIFY_GAPS"))
                fprintf(stderr, "gap writer %d number %llu\n", w, (unsigned long long)i);
            /* written, but the writer was killed before it could set the bit, or another session refused the event */
            unproved += is && !must;
        }
        if (gaps || writers <= FEW)
            printf("gaps%d=%llu ", w, gaps);
    }
    unsigned damage;
    etl_reader_damage(r, &damage);
    printf(
        "events=%llu torn=%llu doubled=%llu missing=%llu invented=%llu unproved=%llu inversions=%llu damage=%u events_lost=%u\n",
        events, torn, doubled, missing, invented, unproved, inversions, damage, etl_reader_header(r)->raw.events_lost);
    etl_reader_close(r);
    for (int w = 0; w < writers; w++)
        free(seen[w].bitmap);
    return torn || doubled || missing || invented || inversions || damage;
}
