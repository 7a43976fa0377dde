/* sysconfig_parts.h - shared by the collectors of sysconfig.h: reading small files below a root, building an event and
 * putting it.
 * Threads: one. Ownership: struct sysconfig lives for one collection. Not for: any other file. */
#ifndef AUTOLOGGER_KERNEL_SYSCONFIG_PARTS_H
#define AUTOLOGGER_KERNEL_SYSCONFIG_PARTS_H
#include "autologger/kernel/sysconfig/sysconfig.h"
#include "registry-sim/base/cursor.h"

enum { SYSCONFIG_BODY = 16384, FACT_TEXT = 4096, FACT_NAMES = 4096 };
struct sysconfig {
    int             root; /* of the tree */
    bool            live; /* the tree is that of this machine */
    const uint32_t *mask;
    klog_put        put;
    void           *ctx;
    unsigned        left_out;
    struct writer   w; /* the event being made */
    uint8_t         body[SYSCONFIG_BODY];
};

/* Begins a body and returns its writer; config_put puts it under its hook. */
struct writer *config_begin(struct sysconfig *s);
void           config_put(struct sysconfig *s, uint16_t hook, uint8_t version);
/* with the short header, as in Windows for 0B11 */
void config_put_perf(struct sysconfig *s, uint16_t hook, uint8_t version);
void config_put_ex(struct sysconfig *s, uint8_t opcode); /* SystemConfigEx */
/* An event about the disk `dev` (the kernel's device number): the converter writes its DiskNumber at `at`. */
void config_put_disk(struct sysconfig *s, uint16_t hook, uint8_t version, uint32_t dev, uint16_t at);
void config_put_described(struct sysconfig *s, unsigned event); /* enum bootenv_event */

/* Writes UTF-16 with its NUL; config_text_fixed cuts or fills it to exactly `units` code units, NUL included. */
void config_text(struct writer *w, const char *text);
void config_text_fixed(struct writer *w, const char *text, unsigned units);
void config_zeros(struct writer *w, size_t count);

/* The text of a small file below the root, without trailing blanks and line ends. False: no file or no text; `out` is
 * "". */
bool fact_text(const struct sysconfig *s, const char *path, char *out, size_t size);
/* The file's bytes; returns their number, 0 without a file. */
size_t fact_bytes(const struct sysconfig *s, const char *path, void *out, size_t size);
/* The file's number (decimal, or hexadecimal with 0x); 0 when there is none. */
uint64_t fact_number(const struct sysconfig *s, const char *path);
/* The target of a link. */
bool fact_link(const struct sysconfig *s, const char *path, char *out, size_t size);
bool fact_there(const struct sysconfig *s, const char *path);
/* Calls fn for each name in a folder, in version order, at most SYSCONFIG_MOST; the rest is counted as left out. */
void fact_each(struct sysconfig *s, const char *folder, void (*fn)(struct sysconfig *s, const char *name, void *ctx),
               void *ctx);
/* The value of the first KEY=value line of a file, without quotes. */
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
