"""A provider in two sessions, of which the first stops, starts again and stops: the second has each event once, from the first to the last, also
while it is alone and not in the first place. The other session's files hold a part of them, and nothing else.
Proves: API-05."""
import json
import os
import time

from harness import Machine, check

PROVIDER = "{5ca1ab1e-7e57-0001-8000-000000000001}"
EVENTS = 40000
SETTINGS = ("--provider", PROVIDER, "--set", "BufferSize=64KB", "--set", "MaximumBuffers=256", "--set", "MaxFileSize=0")

with Machine() as m:
    m.start()
    for name in ("first", "second"):
        m.tool("start", name, "-o", name + ".etl", *SETTINGS)
    writer, tally = m.writer(0, EVENTS, rate=10000, enabled=True)
    parts = []
    for path in ("first.etl", "again.etl"):
        if parts:
            time.sleep(0.5)
            m.tool("start", "first", "-o", path, *SETTINGS)
        time.sleep(0.7)
        parts.append(json.loads(m.tool("stop", "first", "--json").stdout)["events_written"])
    check(writer.wait(60) == 0, "the writer failed")
    info = json.loads(m.tool("stop", "second", "--json").stdout)
    check(info["events_lost"] == 0 and info["events_written"] == EVENTS, info)
    seen = m.verify(os.path.join(m.logs, "second.etl"), [tally], expect=None)
    check(seen["events"] == EVENTS and not seen["missing"] and not seen["torn"] and not seen["doubled"], seen)
    check(all(0 < n < EVENTS for n in parts), "the first session was there for a part of the time", parts)
    for path, n in zip(("first.etl", "again.etl"), parts):
        seen = m.verify(os.path.join(m.logs, path), [tally], expect=None)
        check(seen["events"] == n and not seen["torn"] and not seen["doubled"], path, seen)
    print("second", EVENTS, "first", parts)
