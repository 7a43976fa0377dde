/* boot_figures.h - the lengths of boots side by side: for each phase, unit, initramfs script, process, initcall and disk
 * a value of every boot. Processes are taken by label (several of one label: their sum), others by name. Of a process'
 * life only the part before the end of the boot counts; daemons, which live on, are left out.
 * Threads: one. Ownership: boot_figures_new / free; it copies what it needs, so a boot may go once it is added.
 * Not for: reading boots (boot.h), comparing them (boot_compare.h, boot_gate.h). */
#ifndef AUTOLOGGER_ANALYSIS_BOOT_FIGURES_H
#define AUTOLOGGER_ANALYSIS_BOOT_FIGURES_H
#include "autologger/analysis/boot.h"
#include "autologger/schema/hash_index.h"

enum boot_compare_kind {
    COMPARE_BOOT,
    COMPARE_PHASE,
    COMPARE_UNIT,
    COMPARE_SCRIPT,
    COMPARE_PROCESS,
    COMPARE_INITCALL,
    COMPARE_DISK,
    COMPARE_KINDS
};
extern const char *const boot_compare_words[COMPARE_KINDS];

struct boot_item {
    enum boot_compare_kind kind;
    char                  *name;
    int64_t               *value; /* ns */
    unsigned               count; /* values; boots behind these do not have it */
};
struct boot_figures {
    struct boot_item *item; /* by kind, then by name, once boot_figures_sort was called */
    unsigned          items, room, boots;
    struct hash_index names;
    bool              failed; /* no memory */
};
struct boot_figures *boot_figures_new(void); /* NULL: no memory */
void                 boot_figures_free(struct boot_figures *f);
void                 boot_figures_add(struct boot_figures *f, const struct boot *b); /* as boot number f->boots */
/* One value of the boot that was begun last; several of one item are added up. */
void boot_figures_begin(struct boot_figures *f);
void boot_figures_put(struct boot_figures *f, enum boot_compare_kind kind, const char *name, int64_t ns);
/* Nothing may be added afterwards. */
void boot_figures_sort(struct boot_figures *f);
/* -1: that boot does not have the item. */
static inline int64_t boot_item_value(const struct boot_item *i, unsigned boot)
{
    return boot < i->count ? i->value[boot] : -1;
}
#endif
