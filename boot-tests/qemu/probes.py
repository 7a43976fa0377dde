"""Probes of drivers in a trace against the kernel's own output of the same boot (initcall_debug)."""
import re
import statistics

LINE = re.compile(r"\[ *(\d+\.\d+)\] probe of (.+) returned (-?\d+) after (\d+) usecs")
MEDIAN_US, MOST_US = 300, 20000  # an emulated processor may stand still between the two measurements; 76 and 2,009 where nothing else ran


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
        apart.append(abs(us - took))
    if apart and (statistics.median(apart) > MEDIAN_US or max(apart) > MOST_US):
        wrong.append(f"lengths are {statistics.median(apart):.0f} us apart, {max(apart):.0f} us at most")
    elif apart:
        print(f"{len(apart)} probes: lengths {statistics.median(apart):.0f} us apart (median), {max(apart):.0f} us at most")
    return len(have), wrong[:3]
