/* resources.h - use of resources, as in tracerpt's reports: processor time by process, reads and writes of files with
 * their bytes and time, disks, connections. Built on the state machine over the kernel's events (traced.h).
 * Bytes of files are those that calls returned (OperationEnd) if the end is in the trace, else those requested; time is
 * from the call to its end. Bytes of disks are those of finished transfers.
 * Invariants: the reads and writes of all files are the FileIo Read and Write events; those of all disks the DiskIo
 * Read and Write events; those of all ends the Send and Recv events. Processor time: traced.h.
 * Memory: distinct files, processes, disks and ends. Threads: one. Ownership: create/destroy. */
#ifndef AUTOLOGGER_ANALYSIS_RESOURCES_H
#define AUTOLOGGER_ANALYSIS_RESOURCES_H
#include "autologger/analysis/trace.h"
#include "autologger/analysis/traced.h"

struct use {                     /* of one direction */
    uint64_t count, bytes, time; /* 100 ns; 0 for connections */
};
struct resource_row {
    char      *name; /* path, process, "disk 0", "TCP 127.0.0.1:80 - 127.0.0.1:4000" */
    uint32_t   pid;  /* in rows of processes and of ends; else TRACED_NOBODY */
    struct use read, written;
    uint64_t   opens;         /* files */
    uint64_t   cpu, switches; /* processes: 100 ns */
    uint64_t   failed;        /* files: calls that failed */
};
enum resource_table { RESOURCE_PROCESSES, RESOURCE_FILES, RESOURCE_DISKS, RESOURCE_ENDS, RESOURCE_TABLES };
struct resources {
    struct {
        struct resource_row *row;
        size_t               rows;
    } table[RESOURCE_TABLES];             /* most used first */
    uint64_t events, start, end;          /* FILETIME */
    uint64_t cpu_time, idle, unknown_cpu; /* of all processors; idle and unknown are parts of it */
    unsigned cpus;
    bool     has_files, has_disks, has_network, has_cpu; /* the trace has such events */
};
extern const char *const resource_words[RESOURCE_TABLES]; /* "processes", "files", "disks", "network" */
wstatus                  resources_create(struct trace *t, struct resources **out, struct reason *why);
void                     resources_destroy(struct resources *r);
#endif
