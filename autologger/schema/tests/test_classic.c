/* The table of the built-in classes, and chosen events field by field. D-77: classes of older kernels, and classes of
 * the machine's configuration.
 * Proves: CON-05, LEG-03 (the kernel's classes, field by field). */
#include "autologger/schema/classic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char seen[8192];
static void see(void *self, const struct field *f)
{
    (void)self;
    size_t n = strlen(seen);
    snprintf(seen + n, sizeof seen - n, "%s%s=%s", n ? " " : "", f->path, f->text);
}

static struct etl_event kernel(uint16_t hook, uint8_t version, const void *body, size_t size)
{
    return (struct etl_event){.kind         = ETL_KIND_PERFINFO,
                              .is_64bit     = true,
                              .hook         = hook,
                              .opcode       = (uint8_t)hook,
                              .version      = version,
                              .payload      = body,
                              .payload_size = (uint32_t)size};
}
static enum decode_result decode(const struct etl_event *e, uint32_t *used)
{
    struct field_sink sink = {.emit = see};
    seen[0]                = 0;
    enum decode_result r   = classic_decode(e, &sink, used);
    field_sink_finish(&sink);
    return r;
}

/* Every row is well formed: zeros of just the right length decode wholly, and no shorter payload is read past. */
static void every_row(void **state)
{
    static const uint8_t zeros[8192];
    unsigned             rows = 0;
    uint32_t             need, used;
    (void)state;
    for (unsigned hook = 0; hook < 0xFFFF; hook++)
        for (uint8_t version = 0; version < 7; version++)
            for (int wide = 0; wide < 2; wide++) {
                struct etl_event e = kernel((uint16_t)hook, version, zeros, sizeof zeros);
                e.is_64bit         = wide;
                if (decode(&e, &need) == DECODE_UNKNOWN)
                    continue;
                rows++;
                uint8_t *exact = calloc(1, need ? need : 1); /* ASan sees any byte past it */
                e              = kernel((uint16_t)hook, version, exact, need);
                e.is_64bit     = wide;
                if (decode(&e, &used) != DECODE_OK || used != need)
                    fail_msg("hook %04x version %u: %u of %u bytes", hook, version, used, need);
                free(exact);
                if (need == 0 || need == sizeof zeros)
                    continue;
                exact          = calloc(1, need);
                e.payload      = exact;
                e.payload_size = need - 1;
                assert_int_not_equal(decode(&e, &used), DECODE_UNKNOWN);
                assert_true(used <= need - 1);
                free(exact);
            }
    assert_true(rows > 500);
}

static void process_start(void **state)
{
    static const uint8_t body[] = "\x10\0\0\0\0\x80\xFF\xFF"
                                  "\x0A\0\0\0"
                                  "\1\0\0\0"
                                  "\0\0\0\0"
                                  "\3\1\0\0"
                                  "\0\0\0\0\0\0\0\0"
                                  "\2\0\0\0"
                                  "\1\0\0\0\0\0\0\0"
                                  "\0\0\0\0\0\0\0\0"
                                  "\1\2\0\0\0\0\0\x16\1\0\0\0\xE8\3\0\0"
                                  "sh\0"
                                  "s\0h\0 \0x\0\0\0"
                                  "\0\0"
                                  "\0\0";
    uint32_t             used;
    char                 name[64];
    struct etl_event     e = kernel(0x0301, 4, body, sizeof body - 1);
    (void)state;
    assert_int_equal(decode(&e, &used), DECODE_OK);
    assert_string_equal(seen,
                        "UniqueProcessKey=0xffff800000000010 ProcessId=10 ParentId=1 SessionId=0 ExitStatus=259 "
                        "DirectoryTableBase=0x0 Flags=0x2 UserSID=S-1-22-1-1000 ImageFileName=sh CommandLine=sh x "
                        "PackageFullName= ApplicationId=");
    assert_true(classic_name(0x0301, name, sizeof name));
    assert_string_equal(name, "Process/Start");
    e.payload_size -= 5; /* the payload ends inside CommandLine */
    assert_int_equal(decode(&e, &used), DECODE_MISMATCH);
    assert_non_null(strstr(seen, "ImageFileName=sh"));
    assert_non_null(strstr(seen, "CommandLine=sh x")); /* D-73: the part that is there */
    assert_null(strstr(seen, "PackageFullName"));
    assert_int_equal(e.payload_size - used, 1); /* half a character remains */
    e.payload_size -= 8;                        /* ends inside ImageFileName */
    assert_int_equal(decode(&e, &used), DECODE_MISMATCH);
    assert_null(strstr(seen, "CommandLine"));
}

static const struct {
    uint16_t    hook;
    uint8_t     version;
    bool        is_64bit;
    const char *bytes;
    size_t      size;
    const char *name, *text;
    int         result;
} samples[] = {
#define R(hook, v, wide, bytes, name, text, result) \
    { \
        hook, v, wide, bytes, sizeof(bytes) - 1, name, text, result \
    }
    R(0x0524, 4, true, "\7\0\0\0\5\0\0\0\x08\x09\1\0\x20\1\5\2\0\0\0\0\0\0\0\0", "Thread/CSwitch",
      "NewThreadId=7 OldThreadId=5 NewThreadPriority=8 OldThreadPriority=9 PreviousCState=1 SpareByte=0 "
      "OldThreadWaitReason=32 OldThreadWaitMode=1 OldThreadState=5 OldThreadWaitIdealProcessor=2 "
      "NewThreadWaitTime=0 Reserved=0",
      DECODE_OK),
    R(0x0532, 2, true, "\7\0\0\0\1\2\1\0", "Thread/ReadyThread",
      "TThreadId=7 AdjustReason=1 AdjustIncrement=2 Flag=0x1", DECODE_OK),
    R(0x0F2E, 2, true, "\x10\0\0\0\0\0\xFF\xFF\7\0\0\0\1\0\x41\0", "PerfInfo/SampledProfile",
      "InstructionPointer=0xffff000000000010 ThreadId=7 Count=1 Flags=0x41 Rank=0", DECODE_OK),
    R(0x0F2E, 2, false, "\x10\0\0\0\7\0\0\0\1\0\x41\0", "PerfInfo/SampledProfile",
      "InstructionPointer=0x10 ThreadId=7 Count=1 Flags=0x41 Rank=0", DECODE_OK),
    R(0x0F2E, 2, true, "\x10\0\0\0\0\0\xFF\xFF\7\0\0\0\1\0\x41\0xy", "PerfInfo/SampledProfile",
      "InstructionPointer=0xffff000000000010 ThreadId=7 Count=1 Flags=0x41 Rank=0", DECODE_MISMATCH),
    R(0x0F49, 3, true, "\0\0\0\0\x10\x27\0\0\x10\x27\0\0T\0i\0m\0e\0r\0\0\0", "PerfInfo/CollectionStart",
      "Source=0 NewInterval=10000 OldInterval=10000 SourceName=Timer", DECODE_OK),
    R(0x0F44, 2, true, "\5\0\0\0\0\0\0\0\x10\0\0\0\0\0\0\0", "PerfInfo/DPC", "InitialTime=5 Routine=0x10", DECODE_OK),
    R(0x1820, 2, true, "\5\0\0\0\0\0\0\0\1\0\0\0\2\0\0\0\x10\0\0\0\0\0\0\0\x20\0\0\0\0\0\0\0", "StackWalk/Stack",
      "EventTimeStamp=5 StackProcess=1 StackThread=2 Stack=0x10,0x20", DECODE_OK),
    R(0x010A, 3, true,
      "\1\0\0\0\x43\0\6\0\0\x10\0\0\0\0\0\0\0\0\x10\0\0\0\0\0\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\x64\0\0\0\0\0\0\0\7\0\0\0",
      "DiskIo/Read",
      "DiskNumber=1 IrpFlags=0x60043 TransferSize=4096 Reserved=0 ByteOffset=1048576 FileObject=0x1 Irp=0x2 "
      "HighResResponseTime=100 IssuingThreadId=7",
      DECODE_OK),
    R(0x0420, 2, true, "\1\0\0\0\0\0\0\0/\0x\0\0\0", "FileIo/FileCreate", "FileObject=0x1 FileName=/x", DECODE_OK),
    R(0x0548, 2, true, "\1\0\0\0\2\0\0\0n\0\0\0", "Thread/SetName", "ProcessId=1 ThreadId=2 ThreadName=n", DECODE_OK),
    R(0x060B, 2, true, "\1\0\0\0\x10\0\0\0\x7F\0\0\1\x7F\0\0\2\0\x50\x1F\x90\0\0\0\0\0\0\0\0\0\0\0\0", "TcpIp/RecvIPV4",
      "PID=1 size=16 daddr=127.0.0.1 saddr=127.0.0.2 dport=80 sport=8080 seqnum=0 connid=0", DECODE_OK),
    R(0x0599, 2, true, "\1\2\3", "Thread/153", "", DECODE_UNKNOWN),
    R(0x0B16, 1, true, "\1\2\3", "SystemConfig/PnP", "", DECODE_UNKNOWN), /* a version without documentation */
    R(0x0B16, 3, true, "\2\0\0\0\2\0\0\0\2\0\0\0a\0\0\0b\0\0\0c\0\0\0d\0\0\0", "SystemConfig/PnP",
      "IDLength=2 DescriptionLength=2 FriendlyNameLength=2 DeviceID=a DeviceDescription=b FriendlyName=c PdoName=d",
      DECODE_OK),
    R(0x0B16, 2, true, "\2\0\0\0\2\0\0\0\2\0\0\0a\0\0\0b\0\0\0c\0\0\0", "SystemConfig/PnP",
      "IDLength=2 DescriptionLength=2 FriendlyNameLength=2 DeviceID=a DeviceDescription=b FriendlyName=c", DECODE_OK),
    /* D-77: classes of older kernels, and of the machine */
    R(0x030A, 0, true, "\0\0\x10\0\0\0\0\0\0\x20\0\0\0\0\0\0x\0\0\0", "Image/Load",
      "BaseAddress=0x100000 ModuleSize=0x2000 ImageFileName=x", DECODE_OK),
    R(0x030A, 1, false, "\0\0\x10\0\0\x20\0\0\7\0\0\0x\0\0\0", "Image/Load",
      "ImageBase=0x100000 ImageSize=0x2000 ProcessId=7 FileName=x", DECODE_OK),
    R(0x0301, 1, false,
      "\0\x10\0\0\7\0\0\0\1\0\0\0\2\0\0\0\3\1\0\0"
      "\0\0\0\0"
      "a.exe\0",
      "Process/Start",
      "PageDirectoryBase=0x1000 ProcessId=7 ParentId=1 SessionId=2 ExitStatus=259 UserSID= ImageFileName=a.exe",
      DECODE_OK),
    R(0x0303, 0, false,
      "\7\0\0\0\1\0\0\0"
      "\0\0\0\0"
      "a\0",
      "Process/DCStart", "ProcessId=0x7 ParentId=0x1 UserSID= ImageFileName=a", DECODE_OK),
    R(0x0501, 1, false, "\7\0\0\0\x09\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5\0\0\0\6\0\0\0\1", "Thread/Start",
      "ProcessId=7 TThreadId=9 StackBase=0x1 StackLimit=0x2 UserStackBase=0x3 UserStackLimit=0x4 StartAddr=0x5 Win32StartAddr=0x6 WaitMode=1",
      DECODE_OK),
    R(0x0502, 1, false, "\7\0\0\0\x09\0\0\0", "Thread/End", "ProcessId=7 TThreadId=9", DECODE_OK),
    R(0x0504, 0, false, "\x09\0\0\0\7\0\0\0", "Thread/DCEnd", "TThreadId=9 ProcessId=7", DECODE_OK),
    R(0x0005, 1, true, "\1\0\0\0\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x08\0\0\0", "EventTrace/Extension",
      "GroupMask1=0x1 GroupMask2=0x2 GroupMask3=0x0 GroupMask4=0x0 GroupMask5=0x0 GroupMask6=0x0 GroupMask7=0x0 GroupMask8=0x8",
      DECODE_OK),
    R(0x0B12, 2, true,
      "\1\0\2\0\3\0\4\0"
      "\5\0\0\0\0\0\0\0"
      "\6\0\0\0\0\0\0\0"
      "\7\0\0\0\0\0\0\0"
      "\x08\0\0\0\0\0\0\0"
      "\x09\0\0\0\0\0\0\0"
      "\1\0\0\0\2\0\0\0\0\x08\0\0\1\0\2\0"
      "D\0\0\0"
      "U\0\0\0"
      "\0\0"
      "M\0\0\0",
      "SystemConfig/OpticalMedia",
      "DiskNumber=1 BusType=2 DeviceType=3 MediaType=4 StartingOffset=5 Size=6 NumberOfFreeBlocks=7 TotalNumberOfBlocks=8 NextWritableAddress=9 "
      "NumberOfSessions=1 NumberOfTracks=2 BytesPerSector=2048 DiscStatus=1 LastSessionStatus=2 DriveLetter=D FileSystemName=U DeviceName= ManufacturerName=M",
      DECODE_OK),
    R(0x0B18, 2, true, "\1\0\0\0\x0F\0\0\0\0\0\0\0", "SystemConfig/NumaNode", "NodeCount=1 NodeMap=0f00000000000000",
      DECODE_OK),
    R(0x0B1A, 2, true, "\1\0\0\0\x0F\0\0\0", "SystemConfig/ProcGroup", "GroupCount=1 Affinity=0f000000", DECODE_OK),
    R(0x0B1B, 2, true, "\1\0\0\0\0\0\0\0", "SystemConfig/ProcNumber", "ProcessorCount=1 ProcessorNumber=00000000",
      DECODE_OK),
    R(0x0B21, 2, true, "\1\0\0\0\0\0\0\0\3\0\0\0\4\0\0\0", "SystemConfig/DeviceFamily",
      "UAPInfo=0x1 DeviceFamily=3 DeviceForm=4", DECODE_OK),
    R(0x0B22, 2, true, "u\0\0\0f\0\0\0", "SystemConfig/FlightIds", "UpdateId=u FlightIdList=f", DECODE_OK),
    R(0x0B24, 2, true, "\1\0\1\0", "SystemConfig/Virtualization",
      "VbsEnabled=true HvciEnabled=false HyperVisorEnabled=true", DECODE_OK),
    R(0x0B25, 2, true, "\5\0\0\0\0\0\0\0\2\0\0\0\1\0\0\0", "SystemConfig/Boot",
      "BootFlags=0x5 FirmwareType=2 SecureBootEnabled=true SecureBootCapable=false", DECODE_OK),
    /* classes of Windows XP and Server 2003, drivers, telephones: by Microsoft's documentation */
    R(0x0B1F, 2, true,
      "\x00\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x02\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00\x02\x00\x00\x00\x04\x00\x00\x00\x02\x00\x00\x00\x05\x00\x00\x00\x02\x00\x00\x00"
      "\x06\x00\x00\x00\x02\x00\x00\x00\x07\x00\x00\x00\x02\x00\x00\x00\x08\x00\x00\x00\x02\x00\x00\x00\x09\x00\x00\x00\x02\x00\x00\x00\x0A\x00\x00\x00\x02\x00\x00\x00\x0B\x00\x00\x00\x02\x00\x00\x00"
      "\x0C\x00\x00\x00\x02\x00\x00\x00\x0D\x00\x00\x00\x02\x00\x00\x00\x64\x00\x00\x00\x65\x00\x00\x00\x66\x00\x00\x00\x67\x00\x00\x00"
      "\x68\x00\x00\x00\x69\x00\x00\x00\x6A\x00\x00\x00\x6B\x00\x00\x00\x6C\x00\x00\x00\x6D\x00\x00\x00"
      "\x6E\x00\x00\x00\x6F\x00\x00\x00\x70\x00\x00\x00\x71\x00\x00\x00\x72\x00\x00\x00\x73\x00\x00\x00"
      "\x74\x00\x00\x00\x75\x00\x00\x00\x76\x00\x00\x00\x77\x00\x00\x00\x78\x00\x00\x00\x79\x00\x00\x00"
      "\x7A\x00\x00\x00\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0A\x0B\x0C\x0D\x0E\x0F\x44\x00\x00\x00",
      "SystemConfig/Defrag",
      "AlignmentClusters=8589934592 AvgFreeSpaceSize=8589934593 ClustersPerSlab=8589934594 FragmentedDirectoryExtents=8589934595 FragmentedExtents=8589934596 FreeSpaceCount=8589934597 "
      "LargestFreeSpaceSize=8589934598 LastRunActualPurgeClusters=8589934599 LastRunClustersTrimmed=8589934600 LastRunFullDefragTime=8589934601 LastRunTime=8589934602 MFTSize=8589934603 "
      "TotalClusters=8589934604 TotalUsedClusters=8589934605 AvgFragmentsPerFile=100 BytesPerCluster=101 DirectoryCount=102 FragmentedDirectories=103 "
      "FragmentedFiles=104 FragmentedSpace=105 HardwareIssue=106 InUseMFTRecords=107 InUseSlabs=108 LastRunActualPurgeSlabs=109 "
      "LastRunInitialBackedSlabs=110 LastRunPercentFragmentation=111 LastRunPinnedSlabs=112 LastRunPotentialPurgeSlabs=113 LastRunSpaceInefficientSlabs=114 LastRunTrimmedSlabs=115 "
      "LastRunUnknownEvictFailSlabs=116 LastRunVolsnapPinnedSlabs=117 MFTFragmentCount=118 MovableFiles=119 TotalMFTRecords=120 TotalSlabs=121 "
      "UnmovableFiles=122 VolumeId={03020100-0504-0706-0809-0a0b0c0d0e0f} VolumePathNames=D",
      DECODE_OK),
    R(0x0B20, 3, true,
      "\x61\x00\x00\x00\x62\x00\x00\x00\x63\x00\x00\x00\x64\x00\x00\x00\x65\x00\x00\x00\x66\x00\x00\x00"
      "\x67\x00\x00\x00\x68\x00\x00\x00\x69\x00\x00\x00\x6A\x00\x00\x00\x6B\x00\x00\x00\x6C\x00\x00\x00",
      "SystemConfig/MobilePlatform",
      "DeviceManufacturer=a DeviceManufacturerDisplayName=b DeviceModel=c DeviceModelDisplayName=d MobileOperator=e MobileOperatorDisplayName=f "
      "HardwareVersion=g SocVersion=h RadioHardwareVersion=i RadioSoftwareVersion=j BspVersion=k OemSoftwareVersion=l",
      DECODE_OK),
    R(0x0B20, 2, true,
      "\x61\x00\x00\x00\x62\x00\x00\x00\x63\x00\x00\x00\x64\x00\x00\x00\x65\x00\x00\x00\x66\x00\x00\x00"
      "\x67\x00\x00\x00\x68\x00\x00\x00\x69\x00\x00\x00\x6A\x00\x00\x00\x6B\x00\x00\x00\x6C\x00\x00\x00"
      "\x6D\x00\x00\x00\x6E\x00\x00\x00\x6F\x00\x00\x00",
      "SystemConfig/MobilePlatform",
      "BootLoaderVersion=a FirmwareRevision=b FriendlyName=c HardwareRevision=d Manufacturer=e ManufacturerDisplayName=f "
      "ManufacturerModelName=g MobileOperatorDisplayName=h MobileOperatorName=i ModelName=j RadioHardwareRevision=k RadioSoftwareRevision=l "
      "ROMVersion=m SOCVersion=n HardwareVariant=o",
      DECODE_OK),
    R(0x060A, 1, false, "\x07\x00\x00\x00\x10\x00\x00\x00\x7F\x00\x00\x01\x0A\x01\x02\x03\x00\x50\x1F\x90",
      "TcpIp/SendIPV4", "PID=7 size=16 daddr=127.0.0.1 saddr=10.1.2.3 dport=80 sport=8080", DECODE_OK),
    R(0x0610, 1, false, "\x07\x00\x00\x00\x00\x00\x00\x00\x7F\x00\x00\x01\x0A\x01\x02\x03\x00\x50\x1F\x90",
      "TcpIp/ReconnectIPV4", "PID=7 size=0 daddr=127.0.0.1 saddr=10.1.2.3 dport=80 sport=8080", DECODE_OK),
    R(0x060F, 0, false, "\x7F\x00\x00\x01\x0A\x01\x02\x03\x00\x50\x1F\x90\x10\x00\x00\x00\x07\x00\x00\x00",
      "TcpIp/AcceptIPV4", "daddr=127.0.0.1 saddr=10.1.2.3 dport=80 sport=8080 size=16 PID=7", DECODE_OK),
    R(0x080B, 1, false, "\x07\x00\x00\x00\x10\x00\x00\x00\x7F\x00\x00\x01\x0A\x01\x02\x03\x00\x50\x1F\x90",
      "UdpIp/RecvIPV4", "PID=7 size=16 daddr=127.0.0.1 saddr=10.1.2.3 dport=80 sport=8080", DECODE_OK),
    R(0x080A, 0, false,
      "\x07\x00\x00\x00\x0A\x01\x02\x03\x1F\x90\x10\x00\x7F\x00\x00\x01\x00\x50"
      "\x11\x00",
      "UdpIp/SendIPV4",
      "context=0x7 saddr=10.1.2.3 sport=8080 size=16 daddr=127.0.0.1 dport=80 "
      "dsize=17",
      DECODE_OK),
    R(0x090A, 1, false,
      "\x05\x00\x00\x00\x10\x00\x00\x00\x09\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x6B\x00\x00\x00",
      "Registry/Create", "Status=0x5 KeyHandle=0x10 ElapsedTime=9 Index=3 KeyName=k", DECODE_OK),
    R(0x0916, 1, true,
      "\x05\x00\x00\x00\x00\x00\x00\x00\x10\x00\x00\x00\x00\x00\x00\x00\x09\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x6B\x00\x00\x00",
      "Registry/KCBCreate", "Status=0x5 KeyHandle=0x10 ElapsedTime=9 Index=3 KeyName=k", DECODE_OK),
    R(0x0915, 0, true,
      "\x05\x00\x00\x00\x00\x00\x00\x00\x10\x00\x00\x00\x00\x00\x00\x00\x09\x00\x00\x00\x00\x00\x00\x00\x6B\x00\x00\x00",
      "Registry/Flush", "Status=0x5 KeyHandle=0x10 ElapsedTime=9 KeyName=k", DECODE_OK),
    R(0x0400, 0, false, "\x01\x00\x00\x00\x66\x00\x00\x00", "FileIo/Name", "FileObject=0x1 FileName=f", DECODE_OK),
    R(0x0420, 1, false, "\x01\x00\x00\x00\x66\x00\x00\x00", "FileIo/FileCreate", "FileObject=0x1 FileName=f",
      DECODE_OK),
    R(0x0122, 2, true,
      "\x01\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x06\x00\x00\x00",
      "DiskIo/DrvMjFnCall", "MajorFunction=1 MinorFunction=2 RoutineAddr=0x3 FileObject=0x4 Irp=0x5 UniqMatchId=6",
      DECODE_OK),
    R(0x0123, 2, true, "\x05\x00\x00\x00\x00\x00\x00\x00\x06\x00\x00\x00", "DiskIo/DrvMjFnRet", "Irp=0x5 UniqMatchId=6",
      DECODE_OK),
    R(0x0125, 2, true, "\x03\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x06\x00\x00\x00",
      "DiskIo/DrvComplRout", "Routine=0x3 Irp=0x5 UniqMatchId=6", DECODE_OK),
    R(0x0134, 2, true, "\x03\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x06\x00\x00\x00",
      "DiskIo/DrvComplReq", "RoutineAddr=0x3 Irp=0x5 UniqMatchId=6", DECODE_OK),
    R(0x0135, 2, true, "\x05\x00\x00\x00\x00\x00\x00\x00\x06\x00\x00\x00", "DiskIo/DrvComplReqRet",
      "Irp=0x5 UniqMatchId=6", DECODE_OK),
    R(0x1A23, 0, true, "\x07\x00\x00\x00", "ALPC/WaitForReply", "MessageID=7", DECODE_OK),
    R(0x1A24, 0, true, "\x01\x00\x00\x00p\0", "ALPC/WaitForNewMessage", "IsServerPort=1 PortName=p", DECODE_OK),
    R(0x1A25, 0, true, "\x02\x01\x00\x00", "ALPC/Unwait", "Status=0x102", DECODE_OK),
#undef R
};

static void other_events(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        struct etl_event e = kernel(samples[i].hook, samples[i].version, samples[i].bytes, samples[i].size);
        char             name[64];
        uint32_t         used;
        e.is_64bit = samples[i].is_64bit;
        if ((int)decode(&e, &used) != samples[i].result || strcmp(seen, samples[i].text) != 0)
            fail_msg("hook %04x version %u: %u of %u bytes: %s", samples[i].hook, samples[i].version, used,
                     e.payload_size, seen);
        assert_true(classic_name(samples[i].hook, name, sizeof name));
        assert_string_equal(name, samples[i].name);
    }
}

static void classes_by_guid(void **state)
{
    struct etl_event e = {.kind     = ETL_KIND_FULL,
                          .opcode   = 36,
                          .provider = {0xb3e675d7, 0x2554, 0x4f18, {0x83, 0x0b, 0x27, 0x62, 0x73, 0x25, 0x60, 0xde}}};
    char             name[64];
    (void)state;
    assert_int_equal(classic_hook(&e), CLASSIC_IMAGE_ID | 36);
    assert_true(classic_name(classic_hook(&e), name, sizeof name));
    assert_string_equal(name, "ImageID/DbgID_RSDS");
    e.provider = etl_group_guid(0x030A);
    e.opcode   = 10;
    assert_int_equal(classic_hook(&e), 0x030A);
    assert_true(classic_name(0x030A, name, sizeof name));
    assert_string_equal(name, "Image/Load");
    e.provider.data1++;
    assert_int_equal(classic_hook(&e), CLASSIC_NONE);
    assert_false(classic_name(CLASSIC_NONE, name, sizeof name));
    assert_false(classic_name(0x2001, name, sizeof name));
    e.kind = ETL_KIND_EVENT;
    assert_int_equal(classic_hook(&e), CLASSIC_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_row), cmocka_unit_test(process_start),
                                       cmocka_unit_test(other_events), cmocka_unit_test(classes_by_guid)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
