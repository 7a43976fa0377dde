/* wpp_trace.h - as a driver's sample has it: two control GUIDs, their flags, and what tracewpp would read. */
#define WPP_CONTROL_GUIDS \
    WPP_DEFINE_CONTROL_GUID(CtlGuid, (5ea7c0de, 0016, 4a5b, 8c6d, 111111111111), \
                            WPP_DEFINE_BIT(FLAG_INIT) WPP_DEFINE_BIT(FLAG_IO) WPP_DEFINE_BIT(FLAG_PNP)) \
    WPP_DEFINE_CONTROL_GUID(OtherGuid, (5ea7c0de, 0017, 4a5b, a24f, 0e5330ce1e05), WPP_DEFINE_BIT(FLAG_OTHER))
// begin_wpp config
// FUNC TraceEvents(LEVEL, FLAGS, MSG, ...);
// FUNC FuncEntry{LEVEL=TRACE_LEVEL_VERBOSE}(FLAGS);
// USEPREFIX(FuncEntry, "--> %!FUNC!");
// CUSTOM_TYPE(dump, ItemListLong(None, Small,
//     Full));
// CUSTOM_TYPE(flags, ItemSetLong(READ, WRITE, EXECUTE));
// end_wpp
