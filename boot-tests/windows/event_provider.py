"""A provider of a managed language: the class EventProvider of System.Diagnostics.Eventing, over the functions of libautologger.so.0.

Usage: event_provider.py LIBRARY. Writes one event with a number and a text, descriptor (5, 0, 0, 2, 0, 0, 0).
"""
import ctypes
import sys
import uuid


class EventDescriptor(ctypes.Structure):
    _fields_ = [("Id", ctypes.c_uint16), ("Version", ctypes.c_uint8), ("Channel", ctypes.c_uint8), ("Level", ctypes.c_uint8),
                ("Opcode", ctypes.c_uint8), ("Task", ctypes.c_uint16), ("Keywords", ctypes.c_uint64)]


class EventData(ctypes.Structure):
    _fields_ = [("Ptr", ctypes.c_uint64), ("Size", ctypes.c_uint32), ("Reserved", ctypes.c_uint32)]


class EventProvider:
    def __init__(self, library, guid):
        self.api = ctypes.CDLL(library)
        self.handle = ctypes.c_uint64()
        status = self.api.EventRegister(ctypes.c_char_p(guid.bytes_le), None, None, ctypes.byref(self.handle))
        if status:
            raise OSError(status, "EventRegister")

    def WriteEvent(self, descriptor, *values):
        bytes_of = [v.to_bytes(4, "little", signed=True) if isinstance(v, int) else (v + "\0").encode("utf-16-le") for v in values]
        kept = [ctypes.create_string_buffer(b, len(b)) for b in bytes_of]
        data = (EventData * len(values))(*[EventData(ctypes.addressof(k), len(b), 0) for k, b in zip(kept, bytes_of)])
        return self.api.EventWrite(self.handle, ctypes.byref(descriptor), len(values), data)

    def Close(self):
        self.api.EventUnregister(self.handle)


if __name__ == "__main__":
    event1 = EventDescriptor(5, 0, 0, 2, 0, 0, 0)
    provider = EventProvider(sys.argv[1], uuid.UUID("{5ea7c0de-000c-4a5b-8c6d-111111111111}"))
    status = provider.WriteEvent(event1, -7, "managed")
    provider.Close()
    sys.exit(status)
