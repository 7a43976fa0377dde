"""A log file has one writer. Of two daemons with one log folder the second has ERROR_SHARING_VIOLATION in its Status, and so has a session whose file
is a hard link to another session's, or that is switched to such a link while it runs; the first session's file is complete and holds all its events.
A killed daemon leaves no lock: its successor goes on with the file, and later another daemon can open it.
D-10. Proves: COR-23."""
import os
import signal

from harness import Machine, check

PROVIDER = "{5ca1ab1e-7e57-0001-8000-000000000001}"
DECLARED = f"[Autologger/one]\nFileName = one.etl\nMinimumBuffers = 16\nMaximumBuffers = 64\n[Autologger/one/numbered]\nGuid = {PROVIDER}\n"
LINKED = DECLARED + "[Autologger/two]\nFileName = two.etl\n"
SHARING_VIOLATION = 32


def row(machine, name):
    return next(s for s in machine.status()["sessions"] if s["name"] == name)


def refused(machine, name, path):
    """The file is opened by the session's own thread, so its Status is in the row when the session has ended."""
    machine.shutdown()
    found = row(machine, name)
    check(found["status"] == SHARING_VIOLATION and path in found["reason"], "of", path, ":", found)


with Machine(DECLARED) as first, Machine(DECLARED) as second:
    second.logs = first.logs
    path = os.path.join(first.logs, "one.etl")
    first.start()
    second.start()
    writer, tally = first.writer(0, 1000, enabled=True)
    check(writer.wait(60) == 0, "the writer ended with", writer.returncode)
    refused(second, "one", path)
    os.kill(first.daemon_pid(), signal.SIGKILL)
    first.wait_ready()
    writer, more = first.writer(1, 1000, enabled=True)
    check(writer.wait(60) == 0, "the writer ended with", writer.returncode)
    first.shutdown()
    got = first.verify(path, [tally, more])
    check(got["events"] == 2000 and got["torn"] == got["doubled"] == got["damage"] == 0, got)
    check(row(first, "one")["status"] == 0, row(first, "one"))

    with Machine(DECLARED) as third:  # no daemon holds the file any more
        third.logs = first.logs
        third.start()
        third.shutdown()
        check(row(third, "one")["status"] == 0, row(third, "one"))

with Machine(LINKED) as m:
    one, two = (os.path.join(m.logs, name) for name in ("one.etl", "two.etl"))
    open(one, "w").close()
    os.link(one, two)
    m.start()
    m.shutdown()
    statuses = sorted(row(m, name)["status"] for name in ("one", "two"))
    check(statuses == [0, SHARING_VIOLATION], "of two sessions with one file:", statuses)

with Machine(DECLARED) as m:  # the link is made later
    one, other = (os.path.join(m.logs, name) for name in ("one.etl", "other.etl"))
    m.start()
    writer, tally = m.writer(0, 1000, enabled=True)
    check(writer.wait(60) == 0, "the writer ended with", writer.returncode)
    os.link(one, other)
    told = m.tool("update", "one", "-o", other, expect=111)
    check("being written" in told.stderr and other in told.stderr, told.stderr)
    m.shutdown()
    got = m.verify(one, [tally])
    check(got["events"] == 1000 and got["torn"] == got["doubled"] == got["damage"] == 0, got)
