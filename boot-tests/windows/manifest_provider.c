/* A provider of events with descriptors, as it is written for Windows: C, wide literals, an enable callback,
 * annotations. */
#include <windows.h>
#include <stdio.h>
#include <evntprov.h>
#include <winmeta.h>

// {5EA7C0DE-0001-4A5B-8C6D-111111111111}
EXTERN_C const GUID DECLSPEC_SELECTANY ProviderGuid = {0x5ea7c0de,
                                                       0x0001,
                                                       0x4a5b,
                                                       {0x8c, 0x6d, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11}};

#define READ_KEYWORD 0x1
#define WRITE_KEYWORD 0x2
#define NUMBER_OF_SCORES 3
#define MAX_PAYLOAD_DESCRIPTORS 5

static const EVENT_DESCRIPTOR TransferEvent = {1, 0, 0x10, WINEVENT_LEVEL_INFO, WINEVENT_OPCODE_START, 1, READ_KEYWORD};
static const EVENT_DESCRIPTOR VerboseEvent  = {2, 0, 0x10, WINEVENT_LEVEL_VERBOSE, 0, 1, WRITE_KEYWORD};

static volatile LONG g_enabled;

static VOID NTAPI EnableCallback(_In_ LPCGUID SourceId, _In_ ULONG IsEnabled, _In_ UCHAR Level,
                                 _In_ ULONGLONG MatchAnyKeyword, _In_ ULONGLONG MatchAllKeyword,
                                 _In_opt_ PEVENT_FILTER_DESCRIPTOR FilterData, _Inout_opt_ PVOID Context)
{
    UNREFERENCED_PARAMETER(SourceId);
    UNREFERENCED_PARAMETER(Level);
    UNREFERENCED_PARAMETER(MatchAnyKeyword);
    UNREFERENCED_PARAMETER(MatchAllKeyword);
    UNREFERENCED_PARAMETER(FilterData);
    UNREFERENCED_PARAMETER(Context);
    if (IsEnabled == EVENT_CONTROL_CODE_ENABLE_PROVIDER)
        InterlockedIncrement(&g_enabled);
}

int __cdecl main(int argc, char *argv[])
{
    DWORD                 status = ERROR_SUCCESS;
    REGHANDLE             RegistrationHandle;
    EVENT_DATA_DESCRIPTOR Descriptors[MAX_PAYLOAD_DESCRIPTORS];
    DWORD                 i                        = 0;
    PWSTR                 pPath                    = L"c:\\path\\folder\\file.ext";
    ULONG                 Scores[NUMBER_OF_SCORES] = {45, 63, 21};
    BOOL                  IsLocal                  = TRUE;
    GUID                  ActivityId;
    ULONGLONG             deadline = GetTickCount64() + 5000;

    UNREFERENCED_PARAMETER(argc);
    UNREFERENCED_PARAMETER(argv);
    status = EventRegister(&ProviderGuid, EnableCallback, NULL, &RegistrationHandle);
    if (ERROR_SUCCESS != status) {
        printf("EventRegister failed with %u.\n", (unsigned)status);
        return 1;
    }
    while (!EventProviderEnabled(RegistrationHandle, 0, 0) && GetTickCount64() < deadline)
        Sleep(10);

    EventActivityIdControl(EVENT_ACTIVITY_CTRL_CREATE_SET_ID, &ActivityId);
    EventDataDescCreate(&Descriptors[i++], pPath, (ULONG)(23 + 1) * sizeof(WCHAR));
    EventDataDescCreate(&Descriptors[i++], &Scores, sizeof(Scores));
    EventDataDescCreate(&Descriptors[i++], &IsLocal, sizeof(BOOL));
    status = EventWrite(RegistrationHandle, &TransferEvent, i, &Descriptors[0]);
    if (ERROR_SUCCESS == status && EventEnabled(RegistrationHandle, &VerboseEvent))
        status = EventWriteTransfer(RegistrationHandle, &VerboseEvent, NULL, &ProviderGuid, 0, NULL);
    if (ERROR_SUCCESS == status)
        status = EventWriteString(RegistrationHandle, WINEVENT_LEVEL_INFO, 0, L"a message");
    if (ERROR_SUCCESS == status)
        status = EventWriteEx(RegistrationHandle, &TransferEvent, 0, 0, NULL, NULL, i, Descriptors);
    EventUnregister(RegistrationHandle);
    printf("%d\n", (int)g_enabled);
    return (int)status;
}
