"""Three programs writing 1,000,000 events each (two UIDs, sharing CPUs), one of them killed with SIGKILL: every event whose call
had returned success is in the file, none torn, none twice, time in order; attempted = written + lost.
Proves: COR-07, COR-12, COR-18, COR-20, SES-19, API-12."""
import os
import signal
import struct
import time

from harness import Machine, check

DECLARED = """
[Autologger/million]
BufferSize = 1024 KB
MinimumBuffers = 64
MaximumBuffers = 1024
FileName = million.etl
MaxFileSize = 0
[Autologger/million/numbered]
Guid = {5ca1ab1e-7e57-0001-8000-000000000001}
"""
COUNT = 1000000


def attempted_by(tally):
    try:
        with open(tally, "rb") as f:
            return struct.unpack("<Q", f.read(8))[0]
    except (OSError, struct.error):
        return 0


with Machine(DECLARED) as m:
    m.start()
    users = [None, None, 65534 if os.getuid() == 0 else None]
    writers = [m.writer(i, COUNT, user=users[i], enabled=True) for i in range(3)]
    while attempted_by(writers[1][1]) < COUNT // 4:
        time.sleep(0.001)
    writers[1][0].send_signal(signal.SIGKILL)
    for p, _ in writers:
        p.wait(90)
    m.shutdown()
    got = m.verify(os.path.join(m.logs, "million.etl"), [t for _, t in writers])
    tallies = [struct.unpack("<QQQQ", open(t, "rb").read(32)) for _, t in writers]
    attempted = sum(t[0] for t in tallies)
    refused = sum(t[2] for t in tallies)
    print("attempted", attempted, "written", got["events"], "refused", refused, "header EventsLost", got["events_lost"])
    check(tallies[1][0] < COUNT, "the killed writer had already ended: nothing was tested")
    check(got["unproved"] <= 1, "only the killed writer's last event may be unknown")
    check(got["events_lost"] == refused or got["events_lost"] == refused + 1, "EventsLost is what the writers were told")
    # the killed writer's last call may have ended before it wrote
    check(0 <= attempted - got["events"] - refused <= 1, "attempted = written + lost")
    check(os.path.getsize(os.path.join(m.logs, "million.etl")) > 100 << 20, "MaxFileSize 0: more than the usual limit")
    status = m.status()
    row = [s for s in status["sessions"] if s["name"] == "million"][0]
    check(row["written"] == got["events"], "Status says", row["written"], "events written")
