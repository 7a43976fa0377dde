"""A boot's events against those of an unread trace instance of the kernel's own of the same boot; and the times of one and the same event in two
sessions."""
import collections
import difflib
import re
import statistics

LINE = re.compile(r"\s*.+-\d+\s+\[(\d+)\]\s+\S+\s+[\d.]+: (\w+): (.*)")
RUN = 50  # pairs per median: an emulated processor may stand still for a while between the two records of an event


def _numbers(text):
    """The numbers that tell an event from its neighbours, in both forms of a tracepoint's fields: its thread ids, if any."""
    return tuple(int(n) for n in re.findall(r"\b(?:prev_|next_|)pid(?:=|\": )(\d+)", text))


def _threads(fields):
    """The thread ids in any order, also of the kernel logger's context switches."""
    return tuple(sorted(int(n) for n in re.findall(r"\b(?:(?:prev_|next_|)pid|(?:Old|New)ThreadId)\": (\d+)", fields)))


def told(text, event):
    """{processor: [the numbers of each event]} of the kernel's own text."""
    out = collections.defaultdict(list)
    for line in text.splitlines():
        found = LINE.match(line)
        if found and found[2] == event:
            out[int(found[1])].append(_numbers(found[3]))
    return out


def compare(events, event, text):
    """(the number of events in the kernel's own text, the trace's differences). events: (event, processor, raw time, fields)"""
    wanted, have, wrong = told(text, event), collections.defaultdict(list), []
    for name, cpu, _, fields in events:
        if name == event:
            have[cpu].append(_numbers(fields))
    for cpu, numbers in sorted(wanted.items()):
        at = next((i for i, n in enumerate(numbers) if i >= len(have[cpu]) or have[cpu][i] != n), None)
        if at is not None:
            wrong.append(f"on processor {cpu} {len(numbers)} to {len(have[cpu])}, the first that differs is number {at}: "
                         f"{numbers[at]} to {have[cpu][at] if at < len(have[cpu]) else None}")
    return sum(len(n) for n in wanted.values()), wrong


def apart(one, other):
    """The largest distance in microseconds between the times of the same events in two sessions, by the medians of runs of pairs; None: too few. Each
    is a list of (processor, raw time, fields)."""
    sides = collections.defaultdict(lambda: ([], []))
    for side, events in enumerate((one, other)):
        for cpu, raw, fields in events:
            sides[cpu][side].append((_threads(fields), raw))
    runs = []
    for a, b in sides.values():
        blocks = difflib.SequenceMatcher(None, [t for t, _ in a], [t for t, _ in b], autojunk=False).get_matching_blocks()
        off = [abs(a[m.a + i][1] - b[m.b + i][1]) for m in blocks for i in range(m.size)]
        runs += [statistics.median(off[i:i + RUN]) / 1e3 for i in range(0, len(off) - RUN + 1, RUN)]
    return max(runs) if runs else None


def said(events, event, text):
    """(the number of these events, their differences from the lines "EVENT FIELD=VALUE ..." of a text), in order. pid is the header's."""
    lines = re.findall(rf"\b{re.escape(event)} (\w+=.*)", text)
    wanted = [dict(pair.split("=", 1) for pair in line.split()) for line in lines]
    have = [{name: str(value) for name, value in {**e["fields"], "pid": e["pid"]}.items()} for e in events]
    if len(have) != len(wanted):
        return len(have), [f"{len(wanted)} lines were said"]
    wrong = [f"number {i}: {got}, said was {want}" for i, (got, want) in enumerate(zip(have, wanted)) if got != want]
    return len(have), wrong[:3]
