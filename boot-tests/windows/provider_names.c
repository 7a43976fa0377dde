/* The calls of a tool that lists a provider, in C and in C++: asks for the size, then for the rest. provider_names
 * MANIFEST PROGRAM: a line for each keyword and event of the manifest's provider. PROGRAM holds no manifest. Exit: 1
 * with the line that failed. */
#include <windows.h>
#include <evntrace.h>
#include <tdh.h>
#include <TraceLoggingProvider.h>

TRACELOGGING_DEFINE_PROVIDER(names, "Contoso.Names",
                             (0x5ea7c0de, 0x0018, 0x4a5b, 0x8c, 0x6d, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11),
                             TraceLoggingOptionMicrosoftTelemetry());
static GUID shop = {0x5ea7c0de, 0x0019, 0x4a5b, {0x8c, 0x6d, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11}};
#define CHECK(x) \
    do { \
        if (!(x)) \
            return __LINE__; \
    } while (0)

static LPWSTR wide(const char *text)
{
    LPWSTR w = (LPWSTR)calloc(strlen(text) + 1, sizeof(WCHAR));
    for (size_t i = 0; w && text[i]; i++)
        w[i] = (WCHAR)text[i];
    return w;
}
static void put(const void *base, ULONG offset)
{
    for (const WCHAR *w = (const WCHAR *)((const BYTE *)base + offset); *w; w++)
        putchar((char)*w);
}

static int keywords(void)
{
    PPROVIDER_FIELD_INFOARRAY found;
    ULONG                     size = 0, i;
    CHECK(TdhEnumerateProviderFieldInformation(&shop, EventKeywordInformation, NULL, &size) ==
          ERROR_INSUFFICIENT_BUFFER);
    CHECK((found = (PPROVIDER_FIELD_INFOARRAY)malloc(size)) != NULL);
    CHECK(TdhEnumerateProviderFieldInformation(&shop, EventKeywordInformation, found, &size) == ERROR_SUCCESS);
    for (i = 0; i < found->NumberOfElements; i++) {
        put(found, found->FieldInfoArray[i].NameOffset);
        printf(" 0x%llx\n", (unsigned long long)found->FieldInfoArray[i].Value);
    }
    free(found);
    return 0;
}

static int event(PEVENT_DESCRIPTOR d)
{
    ULONG             size = 0, i;
    PTRACE_EVENT_INFO info;
    CHECK(TdhGetManifestEventInformation(&shop, d, NULL, &size) == ERROR_INSUFFICIENT_BUFFER);
    CHECK((info = (PTRACE_EVENT_INFO)malloc(size)) != NULL);
    CHECK(TdhGetManifestEventInformation(&shop, d, info, &size) == ERROR_SUCCESS &&
          info->DecodingSource == DecodingSourceXMLFile);
    printf("%u", info->EventDescriptor.Id);
    for (i = 0; i < info->TopLevelPropertyCount; i++) {
        putchar(' ');
        put(info, info->EventPropertyInfoArray[i].NameOffset);
    }
    putchar('\n');
    free(info);
    return 0;
}

static int events(void)
{
    PPROVIDER_EVENT_INFO found;
    ULONG                size = 0, i;
    int                  failed;
    CHECK(TdhEnumerateManifestProviderEvents(&shop, NULL, &size) == ERROR_INSUFFICIENT_BUFFER);
    CHECK((found = (PPROVIDER_EVENT_INFO)malloc(size)) != NULL);
    CHECK(TdhEnumerateManifestProviderEvents(&shop, found, &size) == ERROR_SUCCESS);
    for (i = 0; i < found->NumberOfEvents; i++)
        if ((failed = event(&found->EventDescriptorsArray[i])) != 0)
            return failed;
    free(found);
    return 0;
}

/* The provider is listed among those of manifests, and nowhere else. */
static int source(void)
{
    PPROVIDER_ENUMERATION_INFO found;
    ULONG                      size = 0, i, here = 0;
    CHECK(TdhEnumerateProvidersForDecodingSource(DecodingSourceXMLFile, NULL, 0, &size) == ERROR_INSUFFICIENT_BUFFER);
    CHECK((found = (PPROVIDER_ENUMERATION_INFO)malloc(size)) != NULL);
    CHECK(TdhEnumerateProvidersForDecodingSource(DecodingSourceXMLFile, found, size, &size) == ERROR_SUCCESS);
    for (i = 0; i < found->NumberOfProviders; i++)
        here += memcmp(&found->TraceProviderInfoArray[i].ProviderGuid, &shop, sizeof shop) == 0;
    free(found);
    CHECK(here == 1);
    CHECK(TdhEnumerateProvidersForDecodingSource(DecodingSourceWPP, NULL, 0, &size) == ERROR_NOT_SUPPORTED);
    return 0;
}

static int all(char **argv)
{
    LPWSTR manifest = wide(argv[1]), binary = wide(argv[2]);
    int    failed;
    CHECK(manifest && binary && TraceLoggingRegister(names) == S_OK);
    TraceLoggingUnregister(names);
    CHECK(TdhLoadManifestFromBinary(binary) == ERROR_NOT_FOUND && TdhLoadManifest(manifest) == ERROR_SUCCESS);
    if ((failed = keywords()) != 0 || (failed = events()) != 0 || (failed = source()) != 0)
        return failed;
    CHECK(TdhUnloadManifest(manifest) == ERROR_SUCCESS && events() != 0);
    free(manifest);
    free(binary);
    return 0;
}

int main(int argc, char **argv)
{
    int failed = argc == 3 ? all(argv) : 2;
    if (failed)
        printf("line %d\n", failed);
    return failed != 0;
}
