#include "autologger/daemon/end/merge_boot.h"

#include "autologger/etl/reader.h"
#include "autologger/wire/merged.h"
#include "registry-sim/store/change_number.h"
#include "registry-sim/store/snapshot.h"

#include <stdio.h>
#include <string.h>

/* Cuts `tail` out of the file name (not out of its folder). */
static bool merge_boot_cut(char *path, const char *tail)
{
    char *slash = strrchr(path, '/'), *at = strstr(slash ? slash : path, tail);
    if (at)
        memmove(at, at + strlen(tail), strlen(at + strlen(tail)) + 1);
    return at != NULL;
}

/* ".003" of a file that FileMax numbers, else "". */
static const char *merge_boot_number_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && strlen(dot) == 4 && strspn(dot + 1, "0123456789") == 3 ? dot : "";
}

static void target_name(const struct merge_parts *parts, char *out, size_t size)
{
    const struct result_row *row = parts->row[0];
    char                     name[300];

    for (unsigned i = 0; i < (row->kernel ? 1 : parts->count); i++) {
        snprintf(out, size, "%s", parts->row[i]->log_path);
        if (merge_boot_cut(out, row->kernel ? "_km_premerge" : "_um_premerge"))
            return;
    }
    snprintf(out, size, "%s", row->log_path);
    char *slash = strrchr(out, '/');
    snprintf(name, sizeof name, "%.280s-merged.etl%s", row->session, merge_boot_number_of(row->log_path));
    for (char *p = name; *p; p++)
        if (*p == '/')
            *p = '_';
    snprintf(slash ? slash + 1 : out, size - (size_t)(slash ? slash + 1 - out : 0), "%s", name);
}

static void select_rows(struct os *os, struct result_list *rows, bool merged, struct merge_parts *out)
{
    memset(out, 0, sizeof *out);
    out->rehearsal = rows->rehearsal;
    for (unsigned kernel = 2; kernel-- > 0;)
        for (unsigned i = 0; i < rows->count && out->count < MERGE_PARTS; i++) {
            struct result_row *row = &rows->rows[i];
            struct os_stat     st;
            if (*row->provider || !row->start || row->kernel != kernel || !*row->log_path || !row->file_created ||
                (*row->merged_path != 0) != merged || strcmp(row->merged_path, row->log_path) == 0 ||
                os->stat(os, row->log_path, &st) < 0)
                continue;
            if (kernel && !merged && out->count) {
                out->own[out->own_count++] = row;
                continue;
            }
            out->row[out->count++] = row;
            out->bytes += st.size;
        }
}

void merge_parts_select(struct os *os, struct result_list *rows, struct merge_parts *out)
{
    select_rows(os, rows, false, out);
    if (out->count)
        target_name(out, out->target, sizeof out->target);
}

void merge_parts_left(struct os *os, struct result_list *rows, struct merge_parts *out)
{
    select_rows(os, rows, true, out);
}

void merge_configuration_hash(struct regstore *store, uint64_t change_number, char out[PROVENANCE_HASH])
{
    uint8_t  hash[SNAPSHOT_HASH];
    uint64_t now = 0;

    *out = 0;
    if (change_number_get(store, &now, NULL) || now != change_number || snapshot_content_hash(store, hash, NULL))
        return;
    for (unsigned i = 0; i < SNAPSHOT_HASH; i++)
        snprintf(out + 2ul * i, 3, "%02x", hash[i]);
}

void merge_parts_configuration(struct merge_parts *parts, struct regstore *store, const struct result_list *rows)
{
    parts->configured    = true;
    parts->change_number = rows->change_number;
    merge_configuration_hash(store, rows->change_number, parts->configuration);
}

static bool merge_boot_configuration(void *ctx, const char *boot_id, uint64_t *change_number,
                                     char hash[PROVENANCE_HASH])
{
    const struct merge_parts *parts = ctx;
    (void)boot_id;
    *change_number = parts->change_number;
    memcpy(hash, parts->configuration, PROVENANCE_HASH);
    return parts->configured;
}

wstatus merge_parts_run(struct os *os, const struct merge_parts *parts, struct merge_counts *counts, struct reason *why)
{
    const struct merge_options options = {.provenance        = true,
                                          .one_boot          = true,
                                          .configuration     = merge_boot_configuration,
                                          .configuration_ctx = (void *)(uintptr_t)parts,
                                          .of                = parts->rehearsal ? MERGED_OF_REHEARSAL : MERGED_OF_BOOT,
                                          .publishers        = parts->publishers,
                                          .temporary_of      = parts->temporary_of};
    const char                *paths[MERGE_PARTS];
    for (unsigned i = 0; i < parts->count; i++)
        paths[i] = parts->row[i]->log_path;
    return merge_files_with(os, paths, parts->count, parts->target, &options, counts, why);
}

void merge_parts_note(struct merge_parts *parts)
{
    for (unsigned i = 0; i < parts->count; i++)
        snprintf(parts->row[i]->merged_path, sizeof parts->row[i]->merged_path, "%s", parts->target);
    for (unsigned i = 0; i < parts->own_count; i++) {
        struct result_row *row = parts->own[i];
        snprintf(row->merged_path, sizeof row->merged_path, "%s", row->log_path);
        condition_add(
            &row->conditions, W_NOT_SUPPORTED, true, "merge", row->source_file, row->source_line,
            "read it beside the merged file, or merge it yourself: autologger merge",
            "its events stay in a file of their own: session \"%s\" has processes and images, too, and each would be in the merged file twice",
            parts->row[0]->session);
    }
}

/* The file's first event that is none of the format's own: ns since the kernel began by the file's own anchor; 0:
 * none. */
static uint64_t first_event(const char *path)
{
    struct etl_reader *r;
    struct etl_event   e;
    uint64_t           ns = 0;

    if (etl_reader_open(path, &r, NULL) != W_SUCCESS)
        return 0;
    uint64_t boot = (uint64_t)etl_reader_header(r)->raw.boot_time;
    while (!ns && etl_next(r, &e))
        if ((e.kind != ETL_KIND_SYSTEM && e.kind != ETL_KIND_PERFINFO) || e.hook >> 8 != ETL_GROUP_HEADER)
            ns = e.filetime > boot ? (e.filetime - boot) * 100 : 1;
    etl_reader_close(r);
    return ns;
}

void merge_parts_times(const struct merge_parts *parts, struct result_list *rows)
{
    for (unsigned i = 0; i < parts->count; i++) {
        uint64_t *least = parts->row[i]->kernel ? &rows->first_kernel_ns : &rows->first_user_ns;
        uint64_t  ns    = first_event(parts->row[i]->log_path);
        if (ns && (!*least || ns < *least))
            *least = ns;
    }
}

void merge_parts_remove(struct os *os, const struct merge_parts *parts)
{
    for (unsigned i = 0; i < parts->count; i++)
        if (strcmp(parts->row[i]->log_path, parts->row[i]->merged_path) != 0)
            os->unlink(os, parts->row[i]->log_path);
}
