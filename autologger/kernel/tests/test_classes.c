/* The classes of written.def that no other test fills in full: raw records in which each part is recognized
 * by its value go in, and each field of each class is read back as `dump` shows it (tools/dev/read_back.h). Proves:
 * issue 4, every class that is written is read back field by field. */
#include "autologger/kernel/source/filetap_record.h"
#include "autologger/kernel/tests/convert_fixture.h"

enum { /* rows of the table of calls */
       CALL_NONE,
#define CALL(row, number, kind, fd, path, dir, path2, dir2, flags, amount, offset, info) CALL_##row,
#include "autologger/kernel/source/filecalls.def"
#undef CALL
       CALL_END
};
enum { SHELL = 500, PROGRAM = 600, DEV = 8 << 20 | 1, STOP = 8000 };

static int setup(void **state)
{
    (void)state;
    fixture_begin(&(struct klog_config){.mask       = {0x06001F0F, 0x44286, 0x8040, 0x8, 0x10, 0x20, 0x40, 0x2},
                                        .hooks      = {0x0F2E},
                                        .hook_count = 1,
                                        .clock      = {1, CLOCK_READ_RAW, 1000000000}});
    return 0;
}

static void machine(uint64_t time)
{
    struct raw_system sys = {.own              = {RAW_SYSTEM, 0, 0, time, 0, 0},
                             .mhz              = 2500,
                             .cpus             = 2,
                             .page_bytes       = 4096,
                             .memory_bytes     = 3u << 30,
                             .profile_interval = 5000,
                             .host             = "box",
                             .release          = "6.1.0-test",
                             .boot_id          = "01234567-89ab-cdef-0123-456789abcdef"};
    for (unsigned i = 0; i < RAW_SOFTIRQS; i++)
        sys.softirq[i] = UINT64_C(0xffffffff81001000) + i;
    maker_own(&maker, &sys, sizeof sys, NULL, NULL);
}

static void end(void)
{
    struct raw_own stop = {RAW_STOP, 0, 0, STOP, 0, 0};
    maker_own(&maker, &stop, sizeof stop, NULL, NULL);
    maker_chunk(&maker, 0, RAW_CHUNK_OWN);
    maker_pass(&maker, 90000, UINT64_MAX);
    run();
}

static void process(uint64_t time, uint32_t type, uint32_t pid, uint32_t flags, const char *name, const char *command)
{
    struct raw_process p = {.own = {type, 0, 0, time, pid, pid}, .ppid = 1, .session = 7, .uid = 1000, .flags = flags};
    maker_own(&maker, &p, sizeof p, name, command);
}

static void lives_of_processes(void **state)
{
    struct raw_thread first = {.own = {RAW_THREAD, 0, 0, 1020, SHELL, SHELL}, .prio = 120, .affinity = 3, .name = "sh"};
    struct raw_image  kern  = {.own      = {RAW_IMAGE, 0, 0, 1030, 0, 0},
                               .base     = UINT64_C(0xffffffff81000000),
                               .size     = 0x2000000,
                               .stamp    = 9,
                               .checksum = 10};
    struct raw_image  shell = {.own          = {RAW_IMAGE, 0, 0, 1040, SHELL, SHELL},
                               .base         = 0x400000,
                               .size         = 0x9000,
                               .default_base = 0x400000,
                               .stamp        = 11,
                               .checksum     = 12};
    struct raw_image  elf   = {.own          = {RAW_NOTE_IMAGE, 0, 0, 3100, PROGRAM, PROGRAM},
                               .base         = 0x500000,
                               .size         = 0x8000,
                               .default_base = 0x500000,
                               .stamp        = 42,
                               .checksum     = 43};
    struct raw_process code = {.own = {RAW_NOTE_EXIT, 0, 0, 4000, PROGRAM, PROGRAM}, .exit_code = 3 << 8};
    (void)state;
    machine(1000);
    process(1010, RAW_PROCESS, SHELL, RAW_PROCESS_32BIT, "sh", "sh -i");
    maker_own(&maker, &first, sizeof first, NULL, NULL);
    maker_own(&maker, &kern, sizeof kern, "/boot/vmlinux", NULL);
    maker_own(&maker, &shell, sizeof shell, "/bin/sh", NULL);
    process(3000, RAW_NOTE_EXEC, PROGRAM, RAW_PROCESS_32BIT, "program", "program --all");
    maker_own(&maker, &elf, sizeof elf, NULL, NULL);
    maker_own(&maker, &code, sizeof code, "", "");
    maker_chunk(&maker, 0, RAW_CHUNK_OWN);
    maker_task(&maker, 0, PERF_RECORD_FORK, 2000, PROGRAM, SHELL, PROGRAM, SHELL);
    maker_comm(&maker, 0, 3000, PROGRAM, PROGRAM, "prog", true);
    maker_mmap(&maker, 0, 3100, PROGRAM, 0x501000, 0x2000, "/usr/bin/prog");
    maker_comm(&maker, 0, 3200, PROGRAM, PROGRAM, "renamed", false);
    maker_task(&maker, 0, PERF_RECORD_EXIT, 4000, PROGRAM, SHELL, PROGRAM, SHELL);
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    end();
}

static struct tap_record call(unsigned row, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    struct tap_record r;
    memset(&r, 0, sizeof r);
    r.call  = (tap_u8)row;
    r.flags = TAP_FILE;
    r.file  = UINT64_C(0xffff888000001000);
    r.ino   = 77;
    r.dev   = DEV;
    r.pos   = 8192;
    memcpy(r.arg, (const uint64_t[]){a, b, c, d}, 32);
    return r;
}

static void file_operations(void **state)
{
    static const char text[] = "/home/anna/old\0/home/anna/new";
    struct tap_record r[]    = {
           call(CALL_openat, 0, 0, 0x241, 0),    call(CALL_read, 3, 0, 4096, 0),    call(CALL_pwrite64, 3, 0, 512, 16384),
           call(CALL_ftruncate, 3, 12288, 0, 0), call(CALL_fsync, 3, 0, 0, 0),      call(CALL_getdents64, 3, 0, 32768, 0),
           call(CALL_fstat, 3, 0, 0, 0),         call(CALL_ioctl, 3, 0x5401, 0, 0), call(CALL_link, 0, 0, 0, 0),
           call(CALL_rename, 0, 0, 0, 0),        call(CALL_unlink, 0, 0, 0, 0),     call(CALL_close, 3, 0, 0, 0)};
    enum { CALLS = sizeof r / sizeof *r };
    (void)state;
    machine(500);
    maker_chunk(&maker, 0, RAW_CHUNK_OWN);
    for (unsigned i = 0; i < CALLS; i++) {
        size_t path = strlen(text) + 1;
        memcpy(r[i].text, text, sizeof text);
        r[i].text_bytes[TAP_TEXT_PATH]  = (tap_u16)path;
        r[i].text_bytes[TAP_TEXT_PATH2] = (tap_u16)(sizeof text - path);
        if (i == CALLS - 1)
            r[i].flags |= TAP_LAST;
        maker_sample(&maker, 0, SRC_FILE_ENTER, 1000 + i * 100, SHELL, SHELL + 1, 0x7000, 3, &r[i],
                     (uint32_t)(TAP_HEAD + sizeof text));
        memset(r[i].text_bytes, 0, sizeof r[i].text_bytes);
        r[i].arg[0] = i == CALLS - 2 ? (tap_u64)-2 : 100 + i;
        maker_sample(&maker, 0, SRC_FILE_EXIT, 1050 + i * 100, SHELL, SHELL + 1, 0, 0, &r[i], TAP_HEAD);
    }
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    end();
}

/* A block request of another disk than the first. */
static void block(unsigned source, uint64_t time, uint64_t sector, uint32_t sectors, const char *rwbs)
{
    struct {
        uint64_t common;
        uint32_t dev, pad;
        uint64_t sector;
        uint32_t nr, bytes;
        uint16_t ioprio;
        char     rwbs[10];
        char     comm[16];
        uint32_t cmd;
    } raw = {.dev = 8u << 20 | 16, .sector = sector, .nr = sectors, .bytes = sectors * 512};
    memcpy(raw.rwbs, rwbs, strlen(rwbs));
    maker_sample(&maker, 0, source, time, SHELL, SHELL + 1, 0, 0, &raw, 60);
}

static void disks(void **state)
{
    struct tap_record r = call(CALL_pread64, 3, 0, 4096, 0), w = call(CALL_pwrite64, 3, 0, 4096, 0);
    (void)state;
    maker_block(&maker, 0, SRC_RQ_ISSUE, 1000, SHELL, 2048, 8, "R"); /* the first disk */
    maker_block(&maker, 0, SRC_RQ_COMPLETE, 1100, 0, 2048, 8, "R");
    maker_sample(&maker, 0, SRC_FILE_ENTER, 2000, SHELL, SHELL + 1, 0, 0, &r, TAP_HEAD);
    block(SRC_RQ_INSERT, 2100, 4096, 16, "RA");
    block(SRC_RQ_COMPLETE, 2900, 4096, 16, "RA");
    maker_sample(&maker, 0, SRC_FILE_EXIT, 3000, SHELL, SHELL + 1, 0, 0, &r, TAP_HEAD);
    maker_sample(&maker, 0, SRC_FILE_ENTER, 4000, SHELL, SHELL + 1, 0, 0, &w, TAP_HEAD);
    block(SRC_RQ_INSERT, 4100, 8192, 32, "WS");
    block(SRC_RQ_COMPLETE, 4900, 8192, 32, "WS");
    maker_sample(&maker, 0, SRC_FILE_EXIT, 5000, SHELL, SHELL + 1, 0, 0, &w, TAP_HEAD);
    block(SRC_RQ_ISSUE, 6000, 0, 0, "FF");
    block(SRC_RQ_COMPLETE, 6700, 0, 0, "FF");
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    end();
}

static void softirq(unsigned source, uint64_t time, uint32_t vec, uint32_t tid)
{
    struct {
        uint64_t common;
        uint32_t vec, pad;
    } raw = {.vec = vec};
    maker_sample(&maker, 1, source, time, tid, tid, 0, 0, &raw, 12);
}
static void idle(uint64_t time, uint32_t depth)
{
    struct {
        uint64_t common;
        uint32_t depth, cpu;
    } raw = {.depth = depth, .cpu = 1};
    maker_sample(&maker, 1, SRC_CPU_IDLE, time, 0, 0, 0, 0, &raw, sizeof raw);
}

static void processors(void **state)
{
    struct raw_thread worker = {
        .own = {RAW_THREAD, 0, 0, 600, 16, 16}, .prio = 120, .flags = RAW_PROCESS_KERNEL, .name = "ksoftirqd/1"};
    (void)state;
    machine(500);
    maker_own(&maker, &worker, sizeof worker, NULL, NULL);
    process(610, RAW_PROCESS, SHELL, 0, "sh", "sh");
    process(620, RAW_PROCESS, PROGRAM, 0, "p", "p");
    maker_chunk(&maker, 0, RAW_CHUNK_OWN);
    softirq(SRC_SOFTIRQ_RAISE, 1000, 3, SHELL);
    softirq(SRC_SOFTIRQ_ENTRY, 1100, 3, SHELL);
    softirq(SRC_SOFTIRQ_EXIT, 1200, 3, SHELL);
    softirq(SRC_SOFTIRQ_ENTRY, 1300, 1, SHELL);
    softirq(SRC_SOFTIRQ_EXIT, 1400, 1, SHELL);
    softirq(SRC_SOFTIRQ_ENTRY, 1500, 4, 16);
    softirq(SRC_SOFTIRQ_EXIT, 1600, 4, 16);
    idle(2000, 2);
    maker_switch(&maker, 1, 2100, 0, SHELL, 0, 0x5000, 0);
    maker_switch(&maker, 1, 2200, SHELL, PROGRAM, 1, 0x5000, 4);
    maker_chunk(&maker, 1, RAW_CHUNK_PERF);
    end();
}

/* A tracepoint's record: 8 common bytes, then numbers of 8 bytes, then a text whose place the last number gives. */
static void record(unsigned source, uint64_t time, unsigned numbers, const uint64_t *number, const char *text)
{
    struct {
        uint64_t common, number[4];
        char     text[32];
    } raw = {0};
    if (numbers)
        memcpy(raw.number, number, numbers * sizeof *number);
    for (unsigned i = 0; i < numbers; i++)
        maker.log.header->source[source].field[i] = (struct raw_field){(uint16_t)(8 + i * 8), 8};
    if (text) {
        raw.number[numbers]                             = offsetof(__typeof__(raw), text) | (strlen(text) + 1) << 16;
        maker.log.header->source[source].field[numbers] = (struct raw_field){(uint16_t)(8 + numbers * 8), 4};
        memcpy(raw.text, text, strlen(text) + 1);
    }
    maker_sample(&maker, 1, source, time, SHELL, SHELL + 1, 0, 0, &raw, sizeof raw);
}

static void kernel_phase(void **state)
{
    static const char    level[] = "device", module[] = "virtio_blk";
    const uint64_t       start = UINT64_C(0xffffffff83000010), finish[2] = {start, (uint32_t)-19}, taint = 0x1000;
    struct raw_own       symbol = {RAW_NOTE_SYMBOL, 0, 0, start, 0, 0};
    struct raw_phase_end over   = {.own         = {RAW_PHASE, 0, 0, 5000, 0, 0},
                                   .cpu         = 1,
                                   .offset_ns   = -7,
                                   .error_ns    = 300,
                                   .squeezed_ns = 400,
                                   .first_ns    = 500,
                                   .entries     = 60,
                                   .kept        = 50,
                                   .lost        = 9,
                                   .clock       = "perf"};
    (void)state;
    maker_own(&maker, &symbol, sizeof symbol, "virtio_blk_init", NULL);
    maker_own(&maker, &over, sizeof over, NULL, NULL);
    maker_chunk(&maker, 0, RAW_CHUNK_OWN);
    record(SRC_INITCALL_LEVEL, 1000, 0, NULL, level);
    record(SRC_INITCALL_START, 1100, 1, &start, NULL);
    record(SRC_INITCALL_FINISH, 1400, 2, finish, NULL);
    record(SRC_MODULE_LOAD, 1500, 1, &taint, module);
    record(SRC_MODULE_FREE, 1600, 0, NULL, module);
    maker_chunk(&maker, 1, RAW_CHUNK_PERF);
    maker.log.header->source[SRC_MODULE_LOAD].field[F_MODULE_NAME]   = (struct raw_field){16, 4};
    maker.log.header->source[SRC_MODULE_LOAD].field[F_MODULE_TAINTS] = (struct raw_field){8, 8};
    end();
}

static void memory(void **state)
{
    static const char *const names[] = {"MemTotal",   "MemFree",     "MemAvailable", "Buffers",     "Cached",
                                        "SwapCached", "Active",      "Inactive",     "Unevictable", "Mlocked",
                                        "SwapTotal",  "SwapFree",    "Dirty",        "Writeback",   "AnonPages",
                                        "Mapped",     "Shmem",       "KReclaimable", "SUnreclaim",  "KernelStack",
                                        "PageTables", "CommitLimit", "Committed_AS"};
    struct raw_own           r       = {RAW_MEMORY, 0, 0, 1000, 0, 0};
    char                     text[1024];
    size_t                   at = 0;
    (void)state;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        at += (size_t)sprintf(text + at, "%s: %u kB\n", names[i], 1001 + i);
    maker_own(&maker, &r, sizeof r, text, NULL);
    maker_chunk(&maker, 0, RAW_CHUNK_OWN);
    maker_address(&maker, 1, SRC_FAULT_MAJOR, 2000, SHELL, 0x400010, 0x7000);
    maker_chunk(&maker, 1, RAW_CHUNK_PERF);
    end();
}

static void devices(void **state)
{
    static const char text[] =
        "bind@/devices/pci0/net\0ACTION=bind\0DEVPATH=/devices/pci0/net\0SUBSYSTEM=pci\0DEVTYPE=card\0DEVNAME=net0\0"
        "DRIVER=virtio-pci\0PCI_ID=1AF4:1041\0SEQNUM=77";
    struct {
        struct raw_device head;
        char              text[sizeof text + 8];
    } r = {.head = {.own = {RAW_DEVICE, 0, 0, 1000, 0, 0}, .text_size = sizeof text}};
    (void)state;
    memcpy(r.text, text, sizeof text);
    maker_own(&maker, &r, sizeof r, NULL, NULL);
    maker.drained++; /* this own record counts as drained, unlike the others */
    maker_chunk(&maker, 0, RAW_CHUNK_OWN);
    end();
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(lives_of_processes), T(file_operations), T(disks),   T(processors),
        T(kernel_phase),       T(memory),          T(devices), cmocka_unit_test(every_class_is_read_back)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(out.bytes);
    return failed;
}
