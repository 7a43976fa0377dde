"""Writing: typed events without a manifest (Provider), and events of a manifest (EventProvider)."""
import ctypes
import datetime
import hashlib
import struct
import threading
import uuid

CRITICAL, ERROR, WARNING, INFORMATIONAL, VERBOSE = 1, 2, 3, 4, 5
FILETIME_EPOCH = datetime.datetime(1601, 1, 1, tzinfo=datetime.timezone.utc)
LIBRARY = "libautologger.so.0"
METADATA_EVENT, METADATA_PROVIDER = 1, 2  # kinds of EVENT_DATA_DESCRIPTOR
CHANNEL_TRACELOGGING = 11
# in-types of TraceLogging's metadata; 0x20: an array with its count, 0x80: an out-type follows
ANSI, INT8, UINT8, INT16, UINT16, INT32, UINT32, INT64, UINT64, FLOAT, DOUBLE, BOOL32, BINARY, GUID, FILETIME, HEX32, HEX64 = (
    2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 17, 20, 21)
COUNTED_ANSI = 23
ARRAY, OUT_FOLLOWS, OUT_UTF8 = 0x40, 0x80, 35

_lock = threading.Lock()
_library = []


def library(path=None):
    """libautologger, loaded once. `path`: another file than the installed one, before the first provider."""
    with _lock:
        if not _library:
            api = ctypes.CDLL(path or LIBRARY)
            api.EventRegister.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint64)]
            api.EventUnregister.argtypes = [ctypes.c_uint64]
            api.EventSetInformation.argtypes = [ctypes.c_uint64, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32]
            api.EventProviderEnabled.argtypes = [ctypes.c_uint64, ctypes.c_uint8, ctypes.c_uint64]
            api.EventProviderEnabled.restype = ctypes.c_uint8
            api.EventEnabled.argtypes = [ctypes.c_uint64, ctypes.c_void_p]
            api.EventEnabled.restype = ctypes.c_uint8
            api.EventWriteTransfer.argtypes = [ctypes.c_uint64, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint32, ctypes.c_void_p]
            for name in ("EventRegister", "EventUnregister", "EventSetInformation", "EventWriteTransfer"):
                getattr(api, name).restype = ctypes.c_uint32
            _library.append(api)
        return _library[0]


class EventDescriptor(ctypes.Structure):
    """Id, version, channel, level, opcode, task, keywords: the order of the managed class."""

    _fields_ = [("Id", ctypes.c_uint16), ("Version", ctypes.c_uint8), ("Channel", ctypes.c_uint8), ("Level", ctypes.c_uint8),
                ("Opcode", ctypes.c_uint8), ("Task", ctypes.c_uint16), ("Keywords", ctypes.c_uint64)]


class _Data(ctypes.Structure):
    _fields_ = [("Ptr", ctypes.c_uint64), ("Size", ctypes.c_uint32), ("Type", ctypes.c_uint32)]


def guid_of(name):
    """The GUID that a provider's name stands for: as EventSource and TraceLogging make it."""
    digest = hashlib.sha1(bytes.fromhex("482c2db2c39047c887f81a15bfc130fb") + name.upper().encode("utf-16-be")).digest()
    raw = bytearray(digest[:16])
    raw[7] = (raw[7] & 0x0F) | 0x50
    return uuid.UUID(bytes_le=bytes(raw))


def _guid(value):
    return value if isinstance(value, uuid.UUID) else uuid.UUID(str(value))


class _Registered:
    """A provider that is registered while the object lives; close() ends it earlier."""

    def __init__(self, guid):
        self.api = library()
        self.guid = _guid(guid)
        self.handle = ctypes.c_uint64()
        status = self.api.EventRegister(self.guid.bytes_le, None, None, ctypes.byref(self.handle))
        if status:
            raise OSError(status, "EventRegister")

    def enabled(self, level=0, keyword=0):
        """True: a session wants events of this level and keyword."""
        return bool(self.api.EventProviderEnabled(self.handle, level, keyword))

    def _send(self, descriptor, parts, activity=None, related=None):
        kept = [ctypes.create_string_buffer(bytes(data), len(data)) for data, _ in parts]
        data = (_Data * len(parts))(*[_Data(ctypes.addressof(k), len(k.raw) if len(p) else 0, kind) for k, (p, kind) in zip(kept, parts)])
        return self.api.EventWriteTransfer(self.handle, ctypes.byref(descriptor), activity and _guid(activity).bytes_le,
                                           related and _guid(related).bytes_le, len(parts), data)

    def close(self):
        """No more events; safe to call twice."""
        if self.handle.value:
            self.api.EventUnregister(self.handle)
            self.handle = ctypes.c_uint64()

    Close = close

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def __del__(self):
        if getattr(self, "handle", None) is not None:
            self.close()


def _plain(value):
    """A value as a manifest's payload has it."""
    if isinstance(value, bool):
        return struct.pack("<I", value)
    if isinstance(value, int) and not isinstance(value, _Typed):
        return struct.pack("<i" if -2**31 <= value < 2**31 else "<q" if value < 2**63 else "<Q", value)
    if isinstance(value, str):
        return (value + "\0").encode("utf-16-le", "surrogatepass")
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)  # as the template has it
    return _typed(value)[2]


class EventProvider(_Registered):
    """System.Diagnostics.Eventing.EventProvider: WriteEvent, IsEnabled, WriteMessageEvent."""

    def WriteEvent(self, descriptor, *values, activity=None, related=None):
        """Writes the values one after another: int as Int32, str as UnicodeString; wrap other types, as UInt64(5). Returns the error, 0: written, or no
        session listens."""
        return self._send(descriptor, [(_plain(v), 0) for v in values], activity, related)

    def IsEnabled(self, level=0, keywords=0):
        return self.enabled(level, keywords)

    def WriteMessageEvent(self, message, level=0, keywords=0):
        """A text without a manifest."""
        wide = ctypes.create_string_buffer((message + "\0").encode("utf-16-le"))
        self.api.EventWriteString.argtypes = [ctypes.c_uint64, ctypes.c_uint8, ctypes.c_uint64, ctypes.c_void_p]
        return self.api.EventWriteString(self.handle, level, keywords, ctypes.addressof(wide))


class _Typed:
    """A number of a certain width; the classes are below."""


def _number(name, base, in_type, form):
    return type(name, (_Typed, base), {"in_type": in_type, "form": form, "__doc__": f"A value that is written as {name}."})


Int8, UInt8 = _number("Int8", int, INT8, "<b"), _number("UInt8", int, UINT8, "<B")
Int16, UInt16 = _number("Int16", int, INT16, "<h"), _number("UInt16", int, UINT16, "<H")
Int32, UInt32 = _number("Int32", int, INT32, "<i"), _number("UInt32", int, UINT32, "<I")
Int64, UInt64 = _number("Int64", int, INT64, "<q"), _number("UInt64", int, UINT64, "<Q")
HexInt32, HexInt64 = _number("HexInt32", int, HEX32, "<I"), _number("HexInt64", int, HEX64, "<Q")
Float32 = _number("Float32", float, FLOAT, "<f")


class _TooLarge(Exception):
    """An event can't hold it."""


def _count(n):
    if n > 65535:
        raise _TooLarge
    return struct.pack("<H", n)


def _name(text):
    """A name in the metadata, where a NUL ends it."""
    if "\0" in text:
        raise ValueError(f"{text!r}: a name has no NUL")
    return text.encode("utf-8", "surrogateescape") + b"\0"


def _typed(value):
    """(in-type, out-type or 0, bytes) of one value."""
    if isinstance(value, _Typed):
        return value.in_type, 0, struct.pack(value.form, value)
    if isinstance(value, bool):
        return BOOL32, 0, struct.pack("<I", value)
    if isinstance(value, int):
        return (INT64, 0, struct.pack("<q", value)) if value < 2**63 else (UINT64, 0, struct.pack("<Q", value))
    if isinstance(value, float):
        return DOUBLE, 0, struct.pack("<d", value)
    if isinstance(value, str):
        raw = value.encode("utf-8", "surrogateescape")
        return COUNTED_ANSI, OUT_UTF8, _count(len(raw)) + raw
    if isinstance(value, (bytes, bytearray, memoryview)):
        raw = bytes(value)
        return BINARY, 0, _count(len(raw)) + raw
    if isinstance(value, uuid.UUID):
        return GUID, 0, value.bytes_le
    if isinstance(value, datetime.datetime):
        since = value.astimezone(datetime.timezone.utc) - FILETIME_EPOCH
        return FILETIME, 0, struct.pack("<Q", (since.days * 86400 + since.seconds) * 10**7 + since.microseconds * 10)
    raise TypeError(f"{type(value).__name__} has no type of an event's field. Do: str(), or one of Int8 ... UInt64, Float32")


def _field(name, value):
    """(metadata, data) of a field; a list or tuple is an array of values of one type."""
    array = isinstance(value, (list, tuple))
    typed = [_typed(v) for v in value] if array else [_typed(value)]
    kinds = {t[:2] for t in typed} or {(INT64, 0)}
    if len(kinds) > 1:
        raise TypeError(f"{name}: the values of an array have one type")
    in_type, out_type = kinds.pop()
    data = b"".join(t[2] for t in typed)
    meta = _name(name) + bytes([in_type | (ARRAY if array else 0) | (OUT_FOLLOWS if out_type else 0)]) + (bytes([out_type]) if out_type else b"")
    return meta, (_count(len(typed)) if array else b"") + data


class Provider(_Registered):
    """A provider of typed events: names and types of the fields are in the event itself.

    `guid`: by default the one that the name stands for (guid_of)."""

    def __init__(self, name, guid=None):
        traits = _name(name)
        super().__init__(guid or guid_of(name))
        self.name = name
        self.traits = struct.pack("<H", 2 + len(traits)) + traits
        self.api.EventSetInformation(self.handle, 2, self.traits, len(self.traits))

    def write(self, event, /, *, level=VERBOSE, keyword=0, opcode=0, activity=None, related=None, fields=None, **more):
        """Writes an event; `fields` (a dict) and further arguments are its fields, in their order. Returns the error, 0: written, or no session listens.

        int: Int64, float: Double, str: text in UTF-8, bytes, bool, uuid.UUID, datetime.datetime; Int8 ... UInt64, HexInt32, Float32; lists of them."""
        if not (0 <= level <= 255 and 0 <= opcode <= 255 and 0 <= keyword < 2**64):
            raise ValueError("level and opcode are 0 to 255, keyword is a number of 64 bits")
        if not self.api.EventProviderEnabled(self.handle, level, keyword):
            return 0
        meta, data = b"", b""
        try:
            for name, value in {**(fields or {}), **more}.items():
                m, d = _field(name, value)
                meta, data = meta + m, data + d
        except _TooLarge:
            return 534
        meta = b"\0" + _name(event) + meta  # no tags
        meta = struct.pack("<H", 2 + len(meta)) + meta
        if len(meta) + len(data) > 65000:
            return 534  # ERROR_ARITHMETIC_OVERFLOW
        descriptor = EventDescriptor(0, 0, CHANNEL_TRACELOGGING, level, opcode, 0, keyword)
        return self._send(descriptor, [(self.traits, METADATA_PROVIDER), (meta, METADATA_EVENT), (data, 0)], activity, related)
