/* sealed_root.h - is a volume of this machine unlocked by a TPM? Then another initramfs or kernel command line may lock
 * it.
 * Looked at: tpm2-device= in /etc/crypttab, the tokens of the LUKS2 headers that crypttab names (systemd-tpm2, clevis),
 * and rd.luks.options=tpm2-device on the kernel command line.
 * Threads: one. Not for: whether it really would stay locked (that depends on the PCRs it is sealed to). */
#ifndef TOOLS_SEALED_ROOT_H
#define TOOLS_SEALED_ROOT_H
#include "tools/base/machine.h"

/* True with "the volume NAME is unlocked by ..." in `what`. */
bool sealed_root_find(const struct machine *m, char *what, size_t size);
#endif
