"""Probes of drivers in a trace against the kernel's own output of the same boot (initcall_debug)."""
import re
import statistics

LINE = re.compile(r"\[ *(\d+\.\d+)\] probe of (.+) returned (-?\d+) after (\d+) usecs")
# The kernel's own length begins before the event's and ends after it, so an emulated processor that stands still between the two makes the kernel's
# longer, never the event's.
MEDIAN_US, SHORTER_US, FEW = 300, 1000, 5  # one in FEW may have stood still


def printed(text):
    """[(device, result, microseconds)] in the order of their ends."""
    return [(m[2], int(m[3]), int(m[4])) for m in map(LINE.search, text.splitlines()) if m]


def compare(events, text):
    """(the number of probes in both, the differences). events: those of DeviceProbeEnd, in order. The kernel turns the sign of a result that it
    prints of the driver's own; the trace begins later than the kernel's text."""
    have   = [(e["Device"], e["Result"], e["DurationNs"] / 1000) for e in events]
    wanted = printed(text)[-len(have):] if have else []
    wrong  = [f"the kernel printed {len(wanted)} of {len(have)}"] if len(wanted) < len(have) else []
    apart  = []
    for (name, result, us), (said, code, took) in zip(have, wanted):
        if name != said or result != code:
            wrong.append(f"{name} {result}, printed was {said} {code}")
        apart.append(took - us)
    stood = sum(a > 20000 for a in apart)
    if apart:
        words = f"the kernel's lengths are {statistics.median(apart):.0f} us longer (median), {min(apart):.0f} to {max(apart):.0f} us"
        print(f"{len(apart)} probes: {words}")
        if abs(statistics.median(apart)) > MEDIAN_US or min(apart) < -SHORTER_US or stood > len(apart) // FEW:
            wrong.append(words)
    return len(have), wrong[:3]
