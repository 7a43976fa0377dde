/* autologger_kernel.h - the kernel's part of evntrace.h, which includes it: EnableFlags of system loggers, and the
 * GUIDs of the SDK's header. The file that defines INITGUID before it includes evntrace.h defines the GUIDs, as with
 * the SDK; other files declare them. The SDK's header has no GUIDs of the kernel's event classes: programs define
 * ThreadGuid and its relatives themselves, or include autologger_kernel_guids.h. docs/reference/values.md lists the
 * flags that Linux delivers. */
#ifndef AUTOLOGGER_KERNEL_H
#define AUTOLOGGER_KERNEL_H
#include "autologger_types.h"

/* EVENT_TRACE_PROPERTIES.EnableFlags */
#define EVENT_TRACE_FLAG_PROCESS 0x00000001u
#define EVENT_TRACE_FLAG_THREAD 0x00000002u
#define EVENT_TRACE_FLAG_IMAGE_LOAD 0x00000004u
#define EVENT_TRACE_FLAG_PROCESS_COUNTERS 0x00000008u
#define EVENT_TRACE_FLAG_CSWITCH 0x00000010u
#define EVENT_TRACE_FLAG_DPC 0x00000020u
#define EVENT_TRACE_FLAG_INTERRUPT 0x00000040u
#define EVENT_TRACE_FLAG_SYSTEMCALL 0x00000080u
#define EVENT_TRACE_FLAG_DISK_IO 0x00000100u
#define EVENT_TRACE_FLAG_DISK_FILE_IO 0x00000200u
#define EVENT_TRACE_FLAG_DISK_IO_INIT 0x00000400u
#define EVENT_TRACE_FLAG_DISPATCHER 0x00000800u
#define EVENT_TRACE_FLAG_MEMORY_PAGE_FAULTS 0x00001000u
#define EVENT_TRACE_FLAG_MEMORY_HARD_FAULTS 0x00002000u
#define EVENT_TRACE_FLAG_VIRTUAL_ALLOC 0x00004000u
#define EVENT_TRACE_FLAG_VAMAP 0x00008000u
#define EVENT_TRACE_FLAG_NETWORK_TCPIP 0x00010000u
#define EVENT_TRACE_FLAG_REGISTRY 0x00020000u
#define EVENT_TRACE_FLAG_DBGPRINT 0x00040000u
#define EVENT_TRACE_FLAG_JOB 0x00080000u
#define EVENT_TRACE_FLAG_ALPC 0x00100000u
#define EVENT_TRACE_FLAG_SPLIT_IO 0x00200000u
#define EVENT_TRACE_FLAG_DEBUG_EVENTS 0x00400000u
#define EVENT_TRACE_FLAG_DRIVER 0x00800000u
#define EVENT_TRACE_FLAG_PROFILE 0x01000000u
#define EVENT_TRACE_FLAG_FILE_IO 0x02000000u
#define EVENT_TRACE_FLAG_FILE_IO_INIT 0x04000000u
#define EVENT_TRACE_FLAG_NO_SYSCONFIG 0x10000000u
/* No effect here: memory is always reserved, and there is no WMI to forward to. */
#define EVENT_TRACE_FLAG_ENABLE_RESERVE 0x20000000u
#define EVENT_TRACE_FLAG_FORWARD_WMI 0x40000000u
/* {Offset : 16, Length : 8, 0x80}: the flags are Length ULONGs at Offset, after the struct. */
#define EVENT_TRACE_FLAG_EXTENSION 0x80000000u

#define KERNEL_LOGGER_NAMEA "NT Kernel Logger"
#define KERNEL_LOGGER_NAMEW AUTOLOGGER_WIDE("NT Kernel Logger")
#define GLOBAL_LOGGER_NAMEA "GlobalLogger"
#define GLOBAL_LOGGER_NAMEW AUTOLOGGER_WIDE("GlobalLogger")
#define EVENT_LOGGER_NAMEA "EventLog"
#define EVENT_LOGGER_NAMEW AUTOLOGGER_WIDE("EventLog")
#ifdef UNICODE
#define KERNEL_LOGGER_NAME KERNEL_LOGGER_NAMEW
#define GLOBAL_LOGGER_NAME GLOBAL_LOGGER_NAMEW
#define EVENT_LOGGER_NAME EVENT_LOGGER_NAMEW
#else
#define KERNEL_LOGGER_NAME KERNEL_LOGGER_NAMEA
#define GLOBAL_LOGGER_NAME GLOBAL_LOGGER_NAMEA
#define EVENT_LOGGER_NAME EVENT_LOGGER_NAMEA
#endif

/* {9e814aad-3204-11d2-9a82-006008a86939}, as an initializer */
#define AUTOLOGGER_SYSTEM_TRACE_CONTROL_GUID \
    { \
        0x9e814aad, 0x3204, 0x11d2, { 0x9a, 0x82, 0x00, 0x60, 0x08, 0xa8, 0x69, 0x39 } \
    }

#ifdef INITGUID
#define AUTOLOGGER_SDK_GUID AUTOLOGGER_DEFINE_GUID
#else
#define AUTOLOGGER_SDK_GUID(name, l, w1, w2, b1, b2, b3, b4, b5, b6, b7, b8) AUTOLOGGER_EXTERN const GUID name
#endif
/* EVENT_TRACE_PROPERTIES.Wnode.Guid of "NT Kernel Logger" */
AUTOLOGGER_SDK_GUID(SystemTraceControlGuid, 0x9e814aad, 0x3204, 0x11d2, 0x9a, 0x82, 0x00, 0x60, 0x08, 0xa8, 0x69, 0x39);
/* Header events of a file */
AUTOLOGGER_SDK_GUID(EventTraceGuid, 0x68fdd900, 0x4a3e, 0x11d1, 0x84, 0xf4, 0x00, 0x00, 0xf8, 0x04, 0x64, 0xe3);
/* Events about the machine */
AUTOLOGGER_SDK_GUID(EventTraceConfigGuid, 0x01853a65, 0x418f, 0x4f36, 0xae, 0xfc, 0xdc, 0x0f, 0x1d, 0x2f, 0xd2, 0x35);
/* The rights of every GUID without a descriptor of its own */
AUTOLOGGER_SDK_GUID(DefaultTraceSecurityGuid, 0x0811c1af, 0x7a07, 0x4a06, 0x82, 0xed, 0x86, 0x94, 0x55, 0xcd, 0xf7,
                    0x13);
#undef AUTOLOGGER_SDK_GUID
#endif
