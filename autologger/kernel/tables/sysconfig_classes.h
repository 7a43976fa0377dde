/* sysconfig_classes.h - which classes of the system configuration a session's mask enables. Pure. */
#ifndef AUTOLOGGER_KERNEL_SYSCONFIG_CLASSES_H
#define AUTOLOGGER_KERNEL_SYSCONFIG_CLASSES_H
#include <stdbool.h>
#include <stdint.h>

/* Bits of the mask's word 6 */
enum {
    SYSCFG_SYSTEM   = 1,
    SYSCFG_GRAPHICS = 2,
    SYSCFG_STORAGE  = 4,
    SYSCFG_NETWORK  = 8,
    SYSCFG_SERVICES = 16,
    SYSCFG_PNP      = 32
};

/* Without NO_SYSCONFIG: the classes that word 6 names, or all when it names none. */
static inline bool sysconfig_wanted(const uint32_t *mask, uint32_t class)
{
    return !(mask[0] & 0x10000000u) && (!mask[6] || (mask[6] & class));
}
/* The CPU class is also enabled by CPU_CONFIG, a flag of its own. */
static inline bool sysconfig_cpu_wanted(const uint32_t *mask)
{
    return sysconfig_wanted(mask, SYSCFG_SYSTEM) || (!(mask[0] & 0x10000000u) && (mask[2] & 0x00010000u));
}
#endif
