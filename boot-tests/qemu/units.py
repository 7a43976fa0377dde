"""The events of systemd's units in a trace, against the output of `systemctl show` in the guest."""
import json
import statistics

EVENTS = {"InactiveExitTimestampMonotonic": ("UnitActivating",), "ActiveEnterTimestampMonotonic": ("UnitActive",),
          "ActiveExitTimestampMonotonic": ("UnitDeactivating",), "InactiveEnterTimestampMonotonic": ("UnitInactive", "UnitFailed"),
          "ExecMainStartTimestampMonotonic": ("UnitMainProcessStart",), "ExecMainExitTimestampMonotonic": ("UnitMainProcessExit",)}
PROVIDER = "systemd-Units"


def shown(text):
    """{unit: {property: value}} of systemctl show's blocks."""
    out = {}
    for block in text.split("\n\n"):
        properties = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        if "Id" in properties:
            out[properties["Id"]] = properties
    return out


def compare(events, text):
    """(the number of compared units, the differences, the largest distance in us between an event's time and its field, the event with it)"""
    told, wrong, marks = {}, [], []
    for event, raw, fields in events:
        fields = json.loads(fields)
        if fields and fields.get("MonotonicUs"):
            if (event, fields["MonotonicUs"]) in told.setdefault(fields["Unit"], set()):
                wrong.append(f"{fields['Unit']} {event} {fields['MonotonicUs']} twice")
            told[fields["Unit"]].add((event, fields["MonotonicUs"]))
            marks.append((raw, fields["MonotonicUs"], f"{fields['Unit']} {event}"))
    units = shown(text)
    for name, properties in units.items():
        for key, names in EVENTS.items():
            us = int(properties.get(key) or 0)
            if us and not any((event, us) in told.get(name, ()) for event in names):
                wrong.append(f"{name} lacks {names[0]} at {us} us: {sorted(told.get(name, ()), key=lambda t: t[1])}")
        if properties["ActiveState"] == "failed" and not any(event == "UnitFailed" for event, _ in told.get(name, ())):
            wrong.append(f"{name} failed, which is not told")
    return (len(units), wrong, *distance(marks))


def distance(marks):
    """The distance of the events' times from a straight line over the times in their fields, in us: of all but the worst fiftieth, and the worst with
    its event. An event that was learned of after younger ones were written has their time, and its own in its field: that is allowed."""
    if len(marks) < 6:
        return 0, "none"
    marks = sorted(marks, key=lambda m: m[1])
    third = len(marks) // 3
    pairs = [(low, high) for low, high in zip(marks[:third], marks[-third:]) if high[1] != low[1]]
    rate = statistics.median((high[0] - low[0]) / (high[1] - low[1]) for low, high in pairs)
    start = statistics.median(raw - us * rate for raw, us, _ in marks)
    off = sorted((abs((raw - start) / rate - us), what) for raw, us, what in marks)
    return off[-1 - len(off) // 50][0], f"{off[-1][1]} ({off[-1][0]:.0f} us, the worst)"


def grouped(events, processes, text):
    """The differences between the ProcessCgroup events, the trace's process starts, and /proc/PID/cgroup in the guest, a line "PID 0::/path" each;
    the number of processes in the trace, and in those lines."""
    told, last, wrong = set(), {}, []
    for _, _, fields in events:
        fields = json.loads(fields)
        told.add(fields["UniqueProcessKey"])
        last[fields["ProcessId"]] = fields["ControlGroup"]
    starts = {}
    for event, _, fields in processes:
        if event in ("Start", "DCStart"):
            fields = json.loads(fields)
            starts[fields["UniqueProcessKey"]] = (fields["ProcessId"], fields["ImageFileName"])
    wrong += [f"process {what} has neither a unit nor none" for key, what in starts.items() if key not in told and what[0] not in (0, 4)]
    seen = 0
    for line in text.splitlines():
        pid, _, cgroup = line.strip().partition(" ")
        path = cgroup.strip().removeprefix("0::")
        if int(pid) in last and path.startswith("/"):
            seen += 1
            if last[int(pid)] != path:
                wrong.append(f"process {pid} is in {path}, told: {last[int(pid)]}")
    return len(starts), seen, wrong
