// Events without a manifest and without macros: metadata that constexpr functions make of literals, a base class that
// follows its provider's enablement, and one method for each event. Standard C++14.
#include <windows.h>
#include <evntprov.h>

#include <cstdint>
#include <string>
#include <utility>

namespace etw
{

constexpr UCHAR kChannel = 11;
enum FieldType : char { kAnsi = 2, kInt32 = 7, kUInt64 = 10, kDouble = 12, kPointer = 21 };

template <std::size_t N> struct Bytes {
    template <std::size_t... I> constexpr Bytes(const char (&s)[N], std::index_sequence<I...>) : bytes{s[I]...} {}
    template <std::size_t A, std::size_t B, std::size_t... I, std::size_t... J>
    constexpr Bytes(const Bytes<A> &a, std::index_sequence<I...>, const Bytes<B> &b, std::index_sequence<J...>)
        : bytes{a.bytes[I]..., b.bytes[J]...}
    {
    }
    char bytes[N];
};
template <std::size_t N> constexpr Bytes<N> FromText(const char (&s)[N]) { return {s, std::make_index_sequence<N>()}; }
template <std::size_t A, std::size_t B> constexpr Bytes<A + B> Join(const Bytes<A> &a, const Bytes<B> &b)
{
    return {a, std::make_index_sequence<A>(), b, std::make_index_sequence<B>()};
}
template <std::size_t A> constexpr Bytes<A> JoinAll(const Bytes<A> &a) { return a; }
template <std::size_t A, std::size_t B, typename... More>
constexpr auto JoinAll(const Bytes<A> &a, const Bytes<B> &b, const More &...more)
{
    return JoinAll(Join(a, b), more...);
}
template <std::size_t N> constexpr auto Field(const char (&name)[N], FieldType type)
{
    const char t[1] = {type};
    return Join(FromText(name), FromText(t));
}
template <std::size_t N> constexpr auto Sized(const Bytes<N> &rest)
{
    const char size[2] = {static_cast<char>((N + 2) & 0xFF), static_cast<char>((N + 2) >> 8)};
    return Join(FromText(size), rest);
}
template <std::size_t N, typename... Fields>
constexpr auto EventMetadata(const char (&name)[N], const Fields &...fields)
{
    const char tags[1] = {0};
    return Sized(JoinAll(FromText(tags), FromText(name), fields...));
}
template <std::size_t N> constexpr auto ProviderMetadata(const char (&name)[N]) { return Sized(FromText(name)); }
constexpr EVENT_DESCRIPTOR EventDescriptor(USHORT id, UCHAR level = 0, ULONGLONG keyword = 0, UCHAR opcode = 0,
                                           USHORT task = 0)
{
    return EVENT_DESCRIPTOR{id, 0, kChannel, level, opcode, task, keyword};
}

inline void SetData(EVENT_DATA_DESCRIPTOR &d, const std::string &s)
{
    EventDataDescCreate(&d, s.c_str(), static_cast<ULONG>(s.size() + 1));
}
template <typename T> void SetData(EVENT_DATA_DESCRIPTOR &d, const T &value)
{
    EventDataDescCreate(&d, &value, sizeof value);
}

class Provider
{
  public:
    template <std::size_t N> Provider(const GUID &id, const Bytes<N> &metadata)
    {
        status_ = EventRegister(&id, Callback, this, &handle_);
        if (status_ == ERROR_SUCCESS)
            status_ = EventSetInformation(handle_, EventProviderSetTraits, const_cast<char *>(metadata.bytes), N);
    }
    Provider(const Provider &)            = delete;
    Provider &operator=(const Provider &) = delete;
    virtual ~Provider() { EventUnregister(handle_); }
    ULONG Status() const { return status_; }
    bool  Enabled() const { return enabled_; }

  protected:
    bool IsEventEnabled(const EVENT_DESCRIPTOR &d) const
    {
        if (__builtin_expect(!enabled_, 1))
            return false;
        return (level_ == 0 || d.Level <= level_) && (d.Keyword == 0 || keywords_ == 0 || (d.Keyword & keywords_) != 0);
    }
    template <std::size_t N, typename... Values>
    void LogEventData(const EVENT_DESCRIPTOR &d, const Bytes<N> &metadata, const Values &...values)
    {
        if (!IsEventEnabled(d))
            return;
        EVENT_DATA_DESCRIPTOR data[sizeof...(values) + 1];
        EventDataDescCreate(&data[0], metadata.bytes, N);
        data[0].Type         = EVENT_DATA_DESCRIPTOR_TYPE_EVENT_METADATA;
        std::size_t i        = 1;
        const int   expand[] = {0, (SetData(data[i++], values), 0)...};
        (void)expand;
        status_ = EventWriteTransfer(handle_, &d, nullptr, nullptr, static_cast<ULONG>(i), data);
    }

  private:
    static VOID NTAPI Callback(LPCGUID, ULONG isEnabled, UCHAR level, ULONGLONG any, ULONGLONG,
                               PEVENT_FILTER_DESCRIPTOR, PVOID context)
    {
        auto *self      = static_cast<Provider *>(context);
        self->level_    = level;
        self->keywords_ = any;
        self->enabled_  = isEnabled == EVENT_CONTROL_CODE_ENABLE_PROVIDER;
    }
    volatile bool      enabled_  = false;
    volatile UCHAR     level_    = 0;
    volatile ULONGLONG keywords_ = 0;
    REGHANDLE          handle_   = 0;
    ULONG              status_   = ERROR_SUCCESS;
};

} // namespace etw

// {5EA7C0DE-0004-4A5B-8C6D-111111111111}
static const GUID kProviderId = {0x5ea7c0de, 0x0004, 0x4a5b, {0x8c, 0x6d, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11}};

class SortProvider : public etw::Provider
{
  public:
    SortProvider() : Provider(kProviderId, Name()) {}
    void Log3Fields(INT32 val, const std::string &msg, const void *addr)
    {
        constexpr static auto event_desc = etw::EventDescriptor(100, 4, 0x1);
        constexpr static auto event_meta =
            etw::EventMetadata("my1stEvent", etw::Field("MyIntVal", etw::kInt32), etw::Field("MyMsg", etw::kAnsi),
                               etw::Field("Address", etw::kPointer));
        LogEventData(event_desc, event_meta, val, msg, addr);
    }
    void Sorted(std::uint64_t count, double seconds)
    {
        constexpr static auto event_desc = etw::EventDescriptor(101, 5);
        constexpr static auto event_meta =
            etw::EventMetadata("Sorted", etw::Field("Count", etw::kUInt64), etw::Field("Seconds", etw::kDouble));
        LogEventData(event_desc, event_meta, count, seconds);
    }

  private:
    static const etw::Bytes<sizeof "Contoso.Sort" + 2> &Name()
    {
        constexpr static auto name = etw::ProviderMetadata("Contoso.Sort");
        return name;
    }
};

int main()
{
    SortProvider provider;
    for (int waited = 0; !provider.Enabled() && waited < 500; waited++)
        Sleep(10);
    provider.Log3Fields(-5, "three fields", reinterpret_cast<const void *>(0x1234));
    provider.Sorted(1000000, 0.5);
    return static_cast<int>(provider.Status());
}
