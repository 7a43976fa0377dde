/* bootenv.h - the events of the provider Autologger-Boot-Environment: how this boot came about. The collecting code
 * writes the fields in the order of the shapes in convert_config.c; texts are UTF-8 with their NUL.
 * Firmware and loader times: EFI variables LoaderTimeInitUSec and LoaderTimeExecUSec (systemd-boot and others), else
 * the ACPI firmware performance table (FPDT). After kexec no times are given: these places then still have the numbers
 * of the boot before. */
#ifndef AUTOLOGGER_KERNEL_BOOTENV_H
#define AUTOLOGGER_KERNEL_BOOTENV_H

#define BOOTENV_PROVIDER "Autologger-Boot-Environment"
enum bootenv_event { BOOTENV_TIMES, BOOTENV_LOADER, BOOTENV_KERNEL, BOOTENV_EVENTS };
#define BOOTENV_TIMES_NAME "BootTimes" /* begins with FirmwareNs and LoaderNs, 8 bytes each; 0: not known */
#endif
