"""Traces of autologger, and typed events of Python programs.

    import autologger

    for event in autologger.open("boot.etl"):              # decoded events, in the order of time
        print(event.since_ns, event.provider, event.name, event.fields)

    for event in autologger.live("my-session"):            # a real-time session, until it ends
        print(event["status"])

    web = autologger.Provider("Contoso-Web")                # typed events that need no manifest
    web.write("Request", url="/index", status=200, level=autologger.INFORMATIONAL)

    provider = autologger.EventProvider("{5ea7c0de-000c-4a5b-8c6d-111111111111}")
    provider.WriteEvent(autologger.EventDescriptor(5, 0, 0, 2, 0, 0, 0), -7, "text")   # events of a manifest

An event that no session wants costs a Python call. The library libautologger.so.0 writes them.
"""
from ._events import Event, TraceError
from .provider import (CRITICAL, ERROR, INFORMATIONAL, VERBOSE, WARNING, EventDescriptor, EventProvider, Float32, HexInt32, HexInt64, Int8, Int16, Int32,
                       Int64, Provider, UInt8, UInt16, UInt32, UInt64, guid_of)
from .trace import Trace, live, open

__all__ = ["CRITICAL", "ERROR", "INFORMATIONAL", "VERBOSE", "WARNING", "Event", "EventDescriptor", "EventProvider", "Float32", "HexInt32", "HexInt64",
           "Int16", "Int32", "Int64", "Int8", "Provider", "Trace", "TraceError", "UInt16", "UInt32", "UInt64", "UInt8", "guid_of", "live", "open"]
