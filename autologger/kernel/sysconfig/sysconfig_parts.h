/* sysconfig_parts.h - what the collectors of sysconfig.h share: small files below a root, an event being made, and
 * putting it.
 * Threads: one. Ownership: struct sysconfig lives for one collection. Not for: anybody else. */
#ifndef AUTOLOGGER_KERNEL_SYSCONFIG_PARTS_H
#define AUTOLOGGER_KERNEL_SYSCONFIG_PARTS_H
#include "autologger/kernel/sysconfig/sysconfig.h"
#include "registry-sim/base/cursor.h"

enum { SYSCONFIG_BODY = 16384, FACT_TEXT = 4096, FACT_NAMES = 4096 };
struct sysconfig {
    int             root; /* of the tree */
    bool            live; /* it is this machine */
    const uint32_t *mask;
    klog_put        put;
    void           *ctx;
    unsigned        left_out;
    struct writer   w; /* the event being made */
    uint8_t         body[SYSCONFIG_BODY];
};

/* Begins a body; puts it under its hook. `w` is what is written to. */
struct writer *config_begin(struct sysconfig *s);
void           config_put(struct sysconfig *s, uint16_t hook, uint8_t version);
/* with the short header, as Windows has it for 0B11 */
void config_put_perf(struct sysconfig *s, uint16_t hook, uint8_t version);
void config_put_ex(struct sysconfig *s, uint8_t opcode); /* SystemConfigEx */
/* An event about the disk `dev` (as the kernel counts devices): the converter writes its DiskNumber at `at`. */
void config_put_disk(struct sysconfig *s, uint16_t hook, uint8_t version, uint32_t dev, uint16_t at);
void config_put_described(struct sysconfig *s, unsigned event); /* enum bootenv_event */

/* UTF-16 with its NUL; and cut or filled to exactly `units` of them, NUL included. */
void config_text(struct writer *w, const char *text);
void config_text_fixed(struct writer *w, const char *text, unsigned units);
void config_zeros(struct writer *w, size_t count);

/* A small file below the root, without blanks and line ends at its end. False: there is none; `out` is "". */
bool fact_text(const struct sysconfig *s, const char *path, char *out, size_t size);
/* The bytes as they are; 0 when there are none. */
size_t fact_bytes(const struct sysconfig *s, const char *path, void *out, size_t size);
/* Its number (0x for others than decimal); 0 when there is none. */
uint64_t fact_number(const struct sysconfig *s, const char *path);
/* What a link points to. */
bool fact_link(const struct sysconfig *s, const char *path, char *out, size_t size);
bool fact_there(const struct sysconfig *s, const char *path);
/* Calls fn for each name of a folder, in the order of names and numbers, at most SYSCONFIG_MOST; more are counted as
 * left out. */
void fact_each(struct sysconfig *s, const char *folder, void (*fn)(struct sysconfig *s, const char *name, void *ctx),
               void *ctx);
/* The value of KEY=value in a file of such lines, without quotes. */
bool fact_setting(const struct sysconfig *s, const char *path, const char *key, char *out, size_t size);
/* The last part of a path. */
const char *fact_base(const char *path);

void config_cpu(struct sysconfig *s);
void config_system(struct sysconfig *s);
void config_storage(struct sysconfig *s);
void config_network(struct sysconfig *s);
void config_services(struct sysconfig *s);
void config_devices(struct sysconfig *s);
void config_graphics(struct sysconfig *s);
void config_boot(struct sysconfig *s);
void config_modules(struct sysconfig *s); /* with LOADER */
#endif
