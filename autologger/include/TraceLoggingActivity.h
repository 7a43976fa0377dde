/* TraceLoggingActivity.h - activities: a start event, the events that belong to it, and a stop event, connected by an
 * id. C++14 and later.
 *
 *   TraceLoggingActivity<g_provider> request;
 *   TraceLoggingWriteStart(request, "Request", TraceLoggingString(url, "url"));
 *   TraceLoggingWriteTagged(request, "Parsed", TraceLoggingUInt32(size, "size"));
 *   TraceLoggingWriteStop(request, "Request", TraceLoggingUInt32(status, "status"));
 *
 *   TraceLoggingActivity        an id of its own; for work that moves from thread to thread
 *   TraceLoggingThreadActivity  from start to stop the id is the thread's: whatever the thread writes belongs to it
 * Both take the provider, a keyword and a level (5) as template arguments; keywords of single events are added, levels
 * replace it. A start event's related activity is that of SetRelatedActivity, else the thread's own activity. While no
 * session listens, no id is made, and the stop writes nothing. An object that is started and not stopped writes
 * "ActivityStoppedAutomatically" in its destructor. Threads: each object one at a time; a thread activity is stopped on
 * its own thread. Not for: C (TraceLoggingWriteActivity). */
#ifndef AUTOLOGGER_TRACELOGGINGACTIVITY_H
#define AUTOLOGGER_TRACELOGGINGACTIVITY_H
#include "TraceLoggingProvider.h"
#ifdef __cplusplus

class _tlgActivityState
{
  public:
    const GUID *Id() const { return started_ ? &id_ : nullptr; }
    void        SetRelatedActivityId(const GUID &id)
    {
        related_       = id;
        related_given_ = true;
    }
    void SetRelatedActivityId(const GUID *id)
    {
        if (id)
            SetRelatedActivityId(*id);
    }
    template <typename Activity> void SetRelatedActivity(const Activity &activity)
    {
        SetRelatedActivityId(activity.Id());
    }

    /* for the macros below */
    const GUID *_tlgRelated() const
    {
        static const GUID none = {0, 0, 0, {0, 0, 0, 0, 0, 0, 0, 0}};
        return memcmp(&related_, &none, sizeof none) != 0 ? &related_ : nullptr;
    }

  protected:
    _tlgActivityState() = default;
    void Begin()
    {
        if (!related_given_)
            EventActivityIdControl(EVENT_ACTIVITY_CTRL_GET_ID, &related_);
        EventActivityIdControl(EVENT_ACTIVITY_CTRL_CREATE_ID, &id_);
        started_ = true;
    }
    bool End()
    {
        const bool was = started_;
        started_       = false;
        return was;
    }
    void Take(_tlgActivityState &other)
    {
        *this          = other;
        other.started_ = false;
    }

    GUID id_            = {0, 0, 0, {0, 0, 0, 0, 0, 0, 0, 0}};
    GUID related_       = {0, 0, 0, {0, 0, 0, 0, 0, 0, 0, 0}};
    bool related_given_ = false;
    bool started_       = false;
};

/* The common part of both kinds. The handle comes from TRACELOGGING_DEFINE_PROVIDER or _DECLARE_PROVIDER. */
template <const TraceLoggingHProvider &provider, ULONGLONG keyword, UCHAR level>
class _tlgActivity : public _tlgActivityState
{
  public:
    enum : ULONGLONG { Keyword = keyword };
    enum : UCHAR { Level = level };
    static TraceLoggingHProvider Provider() { return provider; }
    static bool                  IsEnabled() { return TraceLoggingProviderEnabled(provider, level, keyword); }
};

/* (activity, "name", options and fields...) */
#define TraceLoggingWriteStart(activity, ...) \
    do { \
        auto &_tlg_a = (activity); \
        _TLG_WRITE(_tlg_a.Provider(), _TLG_ACTIVITY(Level), _TLG_ACTIVITY(Keyword), 1, \
                   (_tlg_a._tlgBegin(), \
                    EventWriteTransfer(_tlg_r, &_tlg_event, _tlg_a.Id(), _tlg_a._tlgRelated(), _tlg_n, _tlg_d)), \
                   _TLG_FIRST(__VA_ARGS__, 0), __VA_ARGS__); \
    } while (0)
#define TraceLoggingWriteStop(activity, ...) \
    do { \
        auto      &_tlg_a = (activity); \
        const GUID _tlg_i = _tlg_a.Id() ? *_tlg_a.Id() : GUID{}; \
        if (_tlg_a._tlgEnd()) \
            _TLG_WRITE(_tlg_a.Provider(), _TLG_ACTIVITY(Level), _TLG_ACTIVITY(Keyword), 2, \
                       EventWriteTransfer(_tlg_r, &_tlg_event, &_tlg_i, NULL, _tlg_n, _tlg_d), \
                       _TLG_FIRST(__VA_ARGS__, 0), __VA_ARGS__); \
    } while (0)
/* While the activity is not started, the event has the thread's id, as any other event. */
#define TraceLoggingWriteTagged(activity, ...) \
    do { \
        auto &_tlg_a = (activity); \
        _TLG_WRITE(_tlg_a.Provider(), _TLG_ACTIVITY(Level), _TLG_ACTIVITY(Keyword), 0, \
                   EventWriteTransfer(_tlg_r, &_tlg_event, _tlg_a.Id(), NULL, _tlg_n, _tlg_d), \
                   _TLG_FIRST(__VA_ARGS__, 0), __VA_ARGS__); \
    } while (0)
#define _TLG_ACTIVITY(what) std::remove_reference<decltype(_tlg_a)>::type::what

template <const TraceLoggingHProvider &provider, ULONGLONG keyword = 0, UCHAR level = 5>
class TraceLoggingActivity : public _tlgActivity<provider, keyword, level>
{
  public:
    TraceLoggingActivity() = default;
    TraceLoggingActivity(TraceLoggingActivity &&other) noexcept { this->Take(other); }
    TraceLoggingActivity(const TraceLoggingActivity &)            = delete;
    TraceLoggingActivity &operator=(const TraceLoggingActivity &) = delete;
    ~TraceLoggingActivity() { TraceLoggingWriteStop(*this, "ActivityStoppedAutomatically"); }
    void _tlgBegin() { this->Begin(); }
    bool _tlgEnd() { return this->End(); }
};

template <const TraceLoggingHProvider &provider, ULONGLONG keyword = 0, UCHAR level = 5>
class TraceLoggingThreadActivity : public _tlgActivity<provider, keyword, level>
{
  public:
    TraceLoggingThreadActivity()                                              = default;
    TraceLoggingThreadActivity(const TraceLoggingThreadActivity &)            = delete;
    TraceLoggingThreadActivity &operator=(const TraceLoggingThreadActivity &) = delete;
    ~TraceLoggingThreadActivity() { TraceLoggingWriteStop(*this, "ActivityStoppedAutomatically"); }
    void _tlgBegin()
    {
        this->Begin();
        before_ = this->id_;
        EventActivityIdControl(EVENT_ACTIVITY_CTRL_GET_SET_ID, &before_);
    }
    bool _tlgEnd()
    {
        if (!this->End())
            return false;
        EventActivityIdControl(EVENT_ACTIVITY_CTRL_SET_ID, &before_);
        return true;
    }

  private:
    GUID before_ = {0, 0, 0, {0, 0, 0, 0, 0, 0, 0, 0}};
};

/* Sets the thread's activity id while the object lives. */
class TraceLoggingThreadActivityIdSetter
{
  public:
    explicit TraceLoggingThreadActivityIdSetter(const GUID &id) : before_(id)
    {
        EventActivityIdControl(EVENT_ACTIVITY_CTRL_GET_SET_ID, &before_);
    }
    template <typename Activity>
    explicit TraceLoggingThreadActivityIdSetter(const Activity &activity)
        : TraceLoggingThreadActivityIdSetter(IdOf(activity.Id()))
    {
    }
    TraceLoggingThreadActivityIdSetter(const TraceLoggingThreadActivityIdSetter &)            = delete;
    TraceLoggingThreadActivityIdSetter &operator=(const TraceLoggingThreadActivityIdSetter &) = delete;
    ~TraceLoggingThreadActivityIdSetter() { EventActivityIdControl(EVENT_ACTIVITY_CTRL_SET_ID, &before_); }

  private:
    static GUID IdOf(const GUID *id)
    {
        GUID now = {0, 0, 0, {0, 0, 0, 0, 0, 0, 0, 0}};
        if (id)
            return *id;
        EventActivityIdControl(EVENT_ACTIVITY_CTRL_GET_ID, &now);
        return now;
    }
    GUID before_;
};
#endif
#endif
