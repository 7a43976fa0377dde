/* names.h - our own events that carry names: which file an image is, which boot it was, and the kernel's symbols. They
 * are TraceLogging events (they describe themselves) of the provider NAMES_PROVIDER:
 *   Boot         BootId, Release: text                       at the start of a kernel session
 *   BuildId      TimeDateStamp, ImageCheckSum: hex32         once for each distinct file, before its first Image event;
 *                BuildId: binary                             the first two are the first 8 bytes of the third
 *   KernelModule Name: text, Base, Size: hex64, BuildId      at the end of a merged file: each part of the kernel that
 *                                                            contains a symbol of the next event; the kernel itself:
 *                                                            "vmlinux"
 *   KernelSymbols Module: text, Symbols: array of            functions that contain addresses of the file's stacks
 *                {Address: hex64, Size: uint32, Name: text}
 * Not for: Windows' own identity events (ImageID: consumer/identity.h). */
#ifndef AUTOLOGGER_WIRE_NAMES_H
#define AUTOLOGGER_WIRE_NAMES_H
#define NAMES_PROVIDER "Autologger-Kernel-Names"
#define NAMES_BOOT "Boot"
#define NAMES_BUILD_ID "BuildId"
#define NAMES_MODULE "KernelModule"
#define NAMES_SYMBOLS "KernelSymbols"
#endif
