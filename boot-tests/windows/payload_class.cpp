// A provider class without EventSetInformation: each event carries the provider's and its own metadata as its first two
// data descriptors, so on channel 11 both stand at the beginning of the payload. The class follows its enablement by
// the callback alone and tests level and keywords by itself; 0 means "all" for neither. Standard C++14.
#include <windows.h>
#include <evntprov.h>

#include <cstddef>
#include <string>
#include <utility>

namespace payload
{

enum : char { kWide = 1, kAnsi = 2, kInt32 = 7, kUInt64 = 10, kDouble = 12, kPointer = 21 };

// Bytes that are joined at compile time.
template <std::size_t N> struct Block {
    char byte[N];
};
template <std::size_t N, std::size_t... I> constexpr Block<N> Copy(const char (&s)[N], std::index_sequence<I...>)
{
    return {{s[I]...}};
}
template <std::size_t N> constexpr Block<N> Text(const char (&s)[N]) { return Copy(s, std::make_index_sequence<N>()); }
template <std::size_t A, std::size_t B, std::size_t... I, std::size_t... J>
constexpr Block<A + B> Append(const Block<A> &a, std::index_sequence<I...>, const Block<B> &b,
                              std::index_sequence<J...>)
{
    return {{a.byte[I]..., b.byte[J]...}};
}
template <std::size_t A, std::size_t B> constexpr Block<A + B> operator+(const Block<A> &a, const Block<B> &b)
{
    return Append(a, std::make_index_sequence<A>(), b, std::make_index_sequence<B>());
}

// A block of metadata begins with its own size.
template <std::size_t N> constexpr Block<N + 2> Sized(const Block<N> &rest)
{
    return Block<2>{{static_cast<char>((N + 2) & 0xFF), static_cast<char>((N + 2) >> 8)}} + rest;
}
template <std::size_t N> constexpr Block<N + 1> Field(const char (&name)[N], char type)
{
    return Text(name) + Block<1>{{type}};
}
constexpr Block<0 + 1> kNoTags = {{0}};

constexpr EVENT_DESCRIPTOR Descriptor(USHORT id, UCHAR level, ULONGLONG keyword)
{
    return EVENT_DESCRIPTOR{id, 0, 11, level, 0, 0, keyword};
}

inline void Describe(EVENT_DATA_DESCRIPTOR &d, const std::string &s)
{
    EventDataDescCreate(&d, s.c_str(), static_cast<ULONG>(s.size() + 1));
}
inline void Describe(EVENT_DATA_DESCRIPTOR &d, const WCHAR *s)
{
    ULONG n = 0;
    while (s[n])
        n++;
    EventDataDescCreate(&d, s, (n + 1) * static_cast<ULONG>(sizeof *s));
}
template <typename T> void Describe(EVENT_DATA_DESCRIPTOR &d, const T &value)
{
    EventDataDescCreate(&d, &value, sizeof value);
}

class Provider
{
  public:
    Provider(const GUID &id, const char *metadata, std::size_t size)
        : metadata_(metadata), size_(static_cast<ULONG>(size))
    {
        status_ = EventRegister(&id, OnChange, this, &handle_);
    }
    Provider(const Provider &)            = delete;
    Provider &operator=(const Provider &) = delete;
    ~Provider() { EventUnregister(handle_); }
    bool  Enabled() const { return enabled_; }
    ULONG Status() const { return status_; }

  protected:
    template <std::size_t N, typename... Values>
    void Write(const EVENT_DESCRIPTOR &event, const Block<N> &metadata, const Values &...values)
    {
        if (!enabled_ || event.Level > level_ || (event.Keyword != 0 && (event.Keyword & keywords_) == 0))
            return;
        EVENT_DATA_DESCRIPTOR data[sizeof...(values) + 2];
        EventDataDescCreate(&data[0], metadata_, size_);
        data[0].Type = EVENT_DATA_DESCRIPTOR_TYPE_PROVIDER_METADATA;
        EventDataDescCreate(&data[1], metadata.byte, N);
        data[1].Type        = EVENT_DATA_DESCRIPTOR_TYPE_EVENT_METADATA;
        ULONG     count     = 2;
        const int in_turn[] = {0, (Describe(data[count++], values), 0)...};
        (void)in_turn;
        const ULONG status = EventWrite(handle_, &event, count, data);
        status_            = status_ ? status_ : status;
    }

  private:
    static VOID NTAPI OnChange(LPCGUID, ULONG code, UCHAR level, ULONGLONG any, ULONGLONG, PEVENT_FILTER_DESCRIPTOR,
                               PVOID context)
    {
        Provider *self = static_cast<Provider *>(context);
        if (code == EVENT_CONTROL_CODE_CAPTURE_STATE)
            return;
        self->level_    = level;
        self->keywords_ = any;
        self->enabled_  = code == EVENT_CONTROL_CODE_ENABLE_PROVIDER;
    }
    const char        *metadata_;
    ULONG              size_;
    volatile bool      enabled_  = false;
    volatile UCHAR     level_    = 0;
    volatile ULONGLONG keywords_ = 0;
    REGHANDLE          handle_   = 0;
    ULONG              status_   = ERROR_SUCCESS;
};

} // namespace payload

// {5EA7C0DE-000D-4A5B-8C6D-111111111111}
static const GUID     kId   = {0x5ea7c0de, 0x000d, 0x4a5b, {0x8c, 0x6d, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11}};
constexpr static auto kName = payload::Sized(payload::Text("Contoso.Payload"));

class SortProvider : public payload::Provider
{
  public:
    SortProvider() : Provider(kId, kName.byte, sizeof kName) {}
    void Began(INT32 val, const std::string &msg, const void *address)
    {
        using namespace payload;
        constexpr static auto event = Descriptor(100, 0, 0);
        constexpr static auto meta = Sized(kNoTags + Text("Began") + Field("MyIntVal", kInt32) + Field("MyMsg", kAnsi) +
                                           Field("Address", kPointer));
        Write(event, meta, val, msg, address);
    }
    void Sorted(ULONGLONG count, double seconds)
    {
        using namespace payload;
        constexpr static auto event = Descriptor(101, 5, 0x2);
        constexpr static auto meta =
            Sized(kNoTags + Text("Sorted") + Field("Count", kUInt64) + Field("Seconds", kDouble));
        Write(event, meta, count, seconds);
    }
    void Ended(const WCHAR *why)
    {
        using namespace payload;
        constexpr static auto event = Descriptor(102, 4, 0x8000000000000000);
        constexpr static auto meta  = Sized(kNoTags + Text("Ended") + Field("Why", kWide));
        Write(event, meta, why);
    }
    void Nothing()
    {
        using namespace payload;
        constexpr static auto event = Descriptor(103, 1, 0);
        constexpr static auto meta  = Sized(kNoTags + Text("Nothing"));
        Write(event, meta);
    }
};

int main()
{
    SortProvider provider;
    for (int waited = 0; !provider.Enabled() && waited < 500; waited++)
        Sleep(10);
    provider.Began(-5, "three fields", reinterpret_cast<const void *>(0x1234));
    provider.Sorted(1000000, 0.5);
    provider.Ended(L"all of it");
    provider.Nothing();
    return static_cast<int>(provider.Status());
}
