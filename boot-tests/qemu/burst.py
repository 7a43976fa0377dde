"""A trace against cpu_burst's notes of each call: its own decoder of .etl files, beside the tool's, for threads, times, processors and values."""
import collections
import json
import struct

PROVIDER = "5ca1ab1e-7e57-0001-8000-000000000001"
PROVIDER_BYTES = struct.pack("<IHH8B", 0x5CA1AB1E, 0x7E57, 1, 0x80, 0, 0, 0, 0, 0, 0, 1)
MAGIC, FILL, EVENT_ID = 0x4E554D42, 176, 77
BUFFER_HEAD, EVENT_HEAD, SYSTEM_HEAD = 0x48, 0x50, 0x20
EVENTS, FULL = (0x12, 0x13), (0x0A, 0x14)  # header types whose size is their first field

Call = collections.namedtuple("Call", "user pid tid number before after raw0 raw1 ticks0 ticks1 result")
Event = collections.namedtuple("Event", "cpu pid tid time payload")
Header = collections.namedtuple("Header", "processors events_lost frequency")


def notes(path):
    return [Call(*(int(word) for word in line.split())) for line in path.read_text(encoding="ascii").splitlines()]


def _header(data):
    at = BUFFER_HEAD + SYSTEM_HEAD
    return Header(*struct.unpack_from("<I", data, at + 12), *struct.unpack_from("<I", data, at + 48), *struct.unpack_from("<q", data, at + 256))


def _event(data, at, size, cpu):
    """One event with an EVENT_HEADER of the provider, or None."""
    flags, = struct.unpack_from("<H", data, at + 4)
    tid, pid, time = struct.unpack_from("<IIq", data, at + 8)
    if data[at + 24:at + 40] != PROVIDER_BYTES or struct.unpack_from("<H", data, at + 40)[0] != EVENT_ID:
        return None
    payload, more = at + EVENT_HEAD, flags & 1
    while more:
        total, _, linkage, _ = struct.unpack_from("<HHHH", data, payload)
        payload, more = payload + total, linkage & 1
    return Event(cpu, pid, tid, time, data[payload:at + size])


def decode(path):
    """(the file's header, its numbered events)"""
    data, events, start = path.read_bytes(), [], 0
    while start < len(data):
        size, = struct.unpack_from("<I", data, start)
        cpu, = struct.unpack_from("<H", data, start + 0x28)
        end = start + struct.unpack_from("<I", data, start + 0x30)[0]
        at = start + BUFFER_HEAD
        while at + 8 <= end and data[at:at + 4] != b"\xff\xff\xff\xff":
            kind = data[at + 2]
            length, = struct.unpack_from("<H", data, at if kind in EVENTS + FULL else at + 4)
            found = _event(data, at, length, cpu) if kind == EVENTS[1] else None
            if found:
                events.append(found)
            at += (length + 7) & ~7 if length else end
        start += size
    return _header(data), events


def _payload(user, number):
    check = ((number + 1) * 0x9E3779B97F4A7C15 & (1 << 64) - 1) ^ user
    head = struct.pack("<IIQII", MAGIC, user, number, (check ^ check >> 32) & 0xFFFFFFFF, FILL)
    return head + bytes((user * 31 + number * 7 + i) & 0xFF for i in range(FILL))


def _in_time(call, event, frequency):
    """The event's clock counts the nanoseconds of CLOCK_MONOTONIC_RAW, or the processor's ticks."""
    begin, end = (call.raw0, call.raw1) if frequency == 10 ** 9 else (call.ticks0, call.ticks1)
    return begin <= event.time <= end


def values(calls, events, frequency):
    """The differences, call by call: payload, writer, time and processor."""
    wrong, by_payload = [], collections.defaultdict(list)
    for event in events:
        by_payload[event.payload].append(event)
    for call in calls:
        found = by_payload.pop(_payload(call.user, call.number), [])
        if len(found) != (call.result == 0):
            wrong.append(f"user {call.user} number {call.number}: {len(found)} events, the call gave {call.result}")
            continue
        for event in found:
            if (event.pid, event.tid) != (call.pid, call.tid):
                wrong.append(f"{call}: process and thread {event.pid}, {event.tid}")
            if event.cpu not in (call.before, call.after):
                wrong.append(f"{call}: processor {event.cpu}")
            if not _in_time(call, event, frequency):
                wrong.append(f"{call}: time {event.time}")
    return wrong + [f"{len(found)} events that nobody wrote" for found in by_payload.values()]


def dumped(said, events):
    """The differences between `dump --json` and the decoder here."""
    own = collections.Counter((e.cpu, e.pid, e.tid, e.time) for e in events)
    other = collections.Counter((e["cpu"], e["pid"], e["tid"], e["raw"]) for e in map(json.loads, said.splitlines())
                                if e["provider"].get("guid", "").strip("{}") == PROVIDER)
    return [f"dump has {sum(other.values())} events, the file {sum(own.values())}; {len(own - other)} and {len(other - own)} differ"] if own != other else []


def switched(calls, switches):
    """Threads that the kernel's trace never switched to on a processor on which they wrote. switches: (processor, thread switched to)"""
    pinned = {(c.before, c.tid) for c in calls if c.before == c.after}
    seen = {tid for cpu, tid in pinned if (cpu, tid) in switches}
    return [f"thread {tid} is never switched to on processor {cpu}" for cpu, tid in sorted(pinned) if tid not in seen]


def places(calls):
    """The number of successful calls that began on each processor."""
    return dict(sorted(collections.Counter(c.before for c in calls if c.result == 0).items()))
