/* What a manifest declares, asked by provider: fields by type and by value, events, one event's description; lists by
 * source; a compiled manifest. D-68. Proves:  (what TDH tells of a known provider). */
#include "autologger/include/tdh.h"

#include "autologger/schema/manifest_pack.h"
#include "autologger/schema/tests/manifest_text.h"
#include "registry-sim/win32/utf16.h"

#include <unistd.h>

static const char shop_path[] = AL_SOURCE_DIR "/autologger/schema/tests/shop.man";
static GUID       shop        = {0x1db28f2e, 0x8f80, 0x4027, {0x8c, 0x5a, 0xa1, 0x1f, 0x7f, 0x10, 0xf6, 0x2d}};

static const char *wide_at(const void *block, ULONG offset)
{
    static char  out[4][256];
    static int   turn;
    const WCHAR *text = (const WCHAR *)(const void *)((const char *)block + offset);
    size_t       n    = 0;
    while (text[n])
        n++;
    turn = (turn + 1) % 4;
    utf16le_to_utf8(text, 2 * n, out[turn], sizeof out[turn]);
    return out[turn];
}
static WCHAR *path_of(const char *path)
{
    static WCHAR wide[512];
    memset(wide, 0, sizeof wide);
    utf8_to_utf16le(path, strlen(path), wide, sizeof wide - 2);
    return wide;
}
static int setup(void **state)
{
    (void)state;
    return (int)TdhLoadManifest(path_of(shop_path));
}
static int teardown(void **state)
{
    (void)state;
    return (int)TdhUnloadManifest(path_of(shop_path));
}

/* "name=value: message; ..." in a buffer of the size that the first call returns. */
static const char *fields_text(EVENT_FIELD_TYPE type, const ULONGLONG *value, TDHSTATUS wanted)
{
    static char               text[1024];
    _Alignas(8) static BYTE   block[4096];
    PPROVIDER_FIELD_INFOARRAY a    = (PPROVIDER_FIELD_INFOARRAY)block;
    ULONG                     size = 0, used;
    TDHSTATUS                 st   = value ? TdhQueryProviderFieldInformation(&shop, *value, type, NULL, &size)
                                           : TdhEnumerateProviderFieldInformation(&shop, type, NULL, &size);
    *text                          = 0;
    if (wanted) {
        assert_int_equal(st, wanted);
        return text;
    }
    assert_int_equal(st, ERROR_INSUFFICIENT_BUFFER);
    assert_uint_in_range(size, sizeof *a, sizeof block);
    memset(block, 0xEE, sizeof block);
    used = size - 1;
    st   = value ? TdhQueryProviderFieldInformation(&shop, *value, type, a, &used)
                 : TdhEnumerateProviderFieldInformation(&shop, type, a, &used);
    assert_int_equal(st, ERROR_INSUFFICIENT_BUFFER);
    assert_int_equal(used, size);
    st = value ? TdhQueryProviderFieldInformation(&shop, *value, type, a, &used)
               : TdhEnumerateProviderFieldInformation(&shop, type, a, &used);
    assert_int_equal(st, 0);
    assert_int_equal(a->FieldType, type);
    assert_int_equal(block[size], 0xEE);
    for (ULONG i = 0; i < a->NumberOfElements; i++) {
        const PROVIDER_FIELD_INFO *f = &a->FieldInfoArray[i];
        assert_true(f->NameOffset < size && f->DescriptionOffset < size);
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s=0x%llx%s%s; ", wide_at(block, f->NameOffset),
                 (unsigned long long)f->Value, f->DescriptionOffset ? ": " : "",
                 f->DescriptionOffset ? wide_at(block, f->DescriptionOffset) : "");
    }
    return text;
}

static void fields(void **state)
{
    const ULONGLONG network = 0xFFFE, pay = 20 << 16 | 1, check = 30 << 16 | 7, chatty = 16, none = 15, no_bit = 4;
    (void)state;
    assert_string_equal(fields_text(EventKeywordInformation, NULL, 0), "Database=0x1: The database; Network=0x2; ");
    assert_string_equal(fields_text(EventLevelInformation, NULL, 0), "Chatty=0x10: Very much; ");
    assert_string_equal(fields_text(EventTaskInformation, NULL, 0), "Order=0x1: An order; ");
    assert_string_equal(fields_text(EventOpcodeInformation, NULL, 0), "Pay=0x140001; Check=0x1e0000: A check; ");
    assert_string_equal(fields_text(EventKeywordInformation, &network, 0), "Network=0x2; ");
    assert_string_equal(fields_text(EventOpcodeInformation, &pay, 0), "Pay=0x140001; ");
    assert_string_equal(fields_text(EventOpcodeInformation, &check, 0), "Check=0x1e0000: A check; "); /* of all tasks */
    assert_string_equal(fields_text(EventLevelInformation, &chatty, 0), "Chatty=0x10: Very much; ");
    fields_text(EventLevelInformation, &none, ERROR_NOT_FOUND);
    fields_text(EventKeywordInformation, &no_bit, ERROR_NOT_FOUND);
    fields_text(EventInformationMax, NULL, ERROR_NOT_SUPPORTED);
    assert_non_null(strstr(fields_text(EventChannelInformation, NULL, 0), "Contoso-Shop/Analytic=0x"));
}

static void events(void **state)
{
    _Alignas(8) BYTE     block[4096], described[8192];
    PPROVIDER_EVENT_INFO e    = (PPROVIDER_EVENT_INFO)block;
    PTRACE_EVENT_INFO    info = (PTRACE_EVENT_INFO)described;
    ULONG                size = 0;
    (void)state;
    assert_int_equal(TdhEnumerateManifestProviderEvents(&shop, NULL, &size), ERROR_INSUFFICIENT_BUFFER);
    assert_int_equal(size, 8 + 4 * sizeof(EVENT_DESCRIPTOR));
    assert_int_equal(TdhEnumerateManifestProviderEvents(&shop, e, &size), 0);
    assert_int_equal(e->NumberOfEvents, 4);
    const EVENT_DESCRIPTOR *d = e->EventDescriptorsArray;
    assert_true(d[0].Id == 1 && d[0].Level == 4 && d[0].Task == 1 && d[0].Opcode == 1 && (d[0].Keyword & 3) == 3);
    assert_true(d[2].Id == 3 && d[2].Version == 1 && d[2].Level == 16 && d[2].Opcode == 20);
    for (ULONG i = 0; i < 4; i++) {
        EVENT_DESCRIPTOR asked = {.Id = d[i].Id, .Version = d[i].Version}; /* nothing else counts */
        size                   = sizeof described;
        assert_int_equal(TdhGetManifestEventInformation(&shop, &asked, info, &size), 0);
        assert_memory_equal(&info->EventDescriptor, &d[i], sizeof d[i]);
        assert_int_equal(info->DecodingSource, DecodingSourceXMLFile);
        assert_string_equal(wide_at(info, info->ProviderNameOffset), "Contoso-Shop");
        assert_int_equal(info->TopLevelPropertyCount, i < 2 ? 3 : i == 2 ? 6 : 0);
    }
    EVENT_DESCRIPTOR other = {.Id = 3, .Version = 0};
    assert_int_equal(TdhGetManifestEventInformation(&shop, &other, info, &size), ERROR_NOT_FOUND);
}

static void nothing_known(void **state)
{
    GUID             other = shop;
    EVENT_DESCRIPTOR d     = {.Id = 1};
    ULONG            size  = 0;
    (void)state;
    other.Data1++;
    assert_int_equal(TdhEnumerateProviderFieldInformation(&other, EventKeywordInformation, NULL, &size),
                     ERROR_NOT_FOUND);
    assert_int_equal(TdhEnumerateManifestProviderEvents(&other, NULL, &size), ERROR_NOT_FOUND);
    assert_int_equal(TdhGetManifestEventInformation(&other, &d, NULL, &size), ERROR_NOT_FOUND);
    assert_int_equal(TdhEnumerateManifestProviderEvents(NULL, NULL, &size), ERROR_INVALID_PARAMETER);
    assert_int_equal(TdhEnumerateManifestProviderEvents(&shop, NULL, NULL), ERROR_INVALID_PARAMETER);
    assert_int_equal(TdhGetManifestEventInformation(&shop, NULL, NULL, &size), ERROR_INVALID_PARAMETER);
    assert_int_equal(TdhQueryProviderFieldInformation(&shop, 1, EventKeywordInformation, NULL, NULL),
                     ERROR_INVALID_PARAMETER);
}

/* Both sources together are all fields. */
static void sources(void **state)
{
    _Alignas(8) static BYTE    block[65536];
    PPROVIDER_ENUMERATION_INFO list = (PPROVIDER_ENUMERATION_INFO)block;
    ULONG                      all, of[2], size = sizeof block;
    (void)state;
    assert_int_equal(TdhEnumerateProviders(list, &size), 0);
    all = list->NumberOfProviders;
    for (ULONG source = 0; source < 2; source++) {
        size = 0;
        assert_int_equal(TdhEnumerateProvidersForDecodingSource((DECODING_SOURCE)source, NULL, 0, &size),
                         ERROR_INSUFFICIENT_BUFFER);
        assert_int_equal(TdhEnumerateProvidersForDecodingSource((DECODING_SOURCE)source, list, size, &size), 0);
        of[source] = list->NumberOfProviders;
        for (ULONG i = 0; i < of[source]; i++)
            assert_int_equal(list->TraceProviderInfoArray[i].SchemaSource, source);
    }
    assert_true(of[0] >= 1 && of[1] > 15);
    assert_int_equal(of[0] + of[1], all);
    assert_int_equal(TdhEnumerateProvidersForDecodingSource(DecodingSourceWPP, list, 0, &size), ERROR_NOT_SUPPORTED);
    assert_int_equal(TdhEnumerateProvidersForDecodingSource(DecodingSourceXMLFile, list, 0, NULL),
                     ERROR_INVALID_PARAMETER);
}

/* The compiled form is read as a binary, the XML and other files are not. */
static void binary(void **state)
{
    char             path[] = "/tmp/tdh-binary-XXXXXX";
    size_t           size;
    char            *xml  = file_text(shop_path, &size);
    struct manifest *m    = read_text(xml, size, W_SUCCESS);
    struct text      out  = {0};
    ULONG            need = 0;
    (void)state;
    assert_int_equal(TdhUnloadManifest(path_of(shop_path)), 0);
    assert_true(manifest_pack_all(m, &out));
    int fd = mkstemp(path);
    assert_int_equal(write(fd, out.data, out.length), (ssize_t)out.length);
    close(fd);
    assert_int_equal(TdhLoadManifestFromBinary(path_of(path)), 0);
    assert_int_equal(TdhEnumerateManifestProviderEvents(&shop, NULL, &need), ERROR_INSUFFICIENT_BUFFER);
    assert_int_equal(TdhUnloadManifest(path_of(path)), 0);
    assert_int_equal(TdhEnumerateManifestProviderEvents(&shop, NULL, &need), ERROR_NOT_FOUND);
    assert_int_equal(TdhLoadManifestFromBinary(path_of(shop_path)), ERROR_INVALID_DATA);
    assert_int_equal(TdhLoadManifestFromBinary(path_of("/proc/self/exe")), ERROR_NOT_FOUND); /* it holds none */
    assert_int_equal(TdhLoadManifestFromBinary(path_of("/nowhere.bin")), ERROR_FILE_NOT_FOUND);
    assert_int_equal(TdhLoadManifestFromBinary(NULL), ERROR_INVALID_PARAMETER);
    unlink(path);
    text_finish(&out);
    manifest_free(m);
    free(xml);
    assert_int_equal(TdhLoadManifest(path_of(shop_path)), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fields), cmocka_unit_test(events),
                                       cmocka_unit_test(nothing_known), cmocka_unit_test(sources),
                                       cmocka_unit_test(binary)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
