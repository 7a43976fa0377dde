"""FlushThreshold: once that many buffers are full, all events go to the file, without a flush timer; later events wait for the next such moment. With
a flush timer that never comes due it has no effect. `query` returns it as it was set.
D-17 (FlushThreshold), D-12. Proves: SES-21."""
import json
import os
import time

from harness import Machine, check

PROVIDER = "{{5ca1ab1e-7e57-0001-8000-000000000001}}"
SESSION = """[Autologger/{0}]
FileName = {0}.etl
BufferSize = 64 KB
MinimumBuffers = 16
MaximumBuffers = 256
FlushThreshold = 3
{1}
[Autologger/{0}/numbered]
Guid = """ + PROVIDER + "\n"
MANY, FEW = 1500, 5  # events of a writer: some full buffers on its processor and a part of one; a small part of one
WRITERS, ENOUGH = 20, 4


def in_file(m, name, tallies):
    return m.verify(os.path.join(m.logs, name + ".etl"), tallies, expect=None)["events"]


def write(m, number, count):
    writer, tally = m.writer(number, count, enabled=True)
    check(writer.wait(60) == 0, "the writer ended with", writer.returncode)
    time.sleep(0.6)
    return tally


with Machine(SESSION.format("counts", "") + SESSION.format("timed", "FlushTimer = 3600 s\n")) as m:
    m.start()
    tallies, whole = [], {"counts": 0, "timed": 0}
    while whole["counts"] < ENOUGH and len(tallies) < WRITERS:
        tallies.append(write(m, len(tallies), MANY))
        for name in whole:
            whole[name] += in_file(m, name, tallies) == MANY * len(tallies)
    # a logger that looks in the middle of a writer's work leaves the rest to its next look
    check(whole == {"counts": ENOUGH, "timed": 0}, "of", len(tallies), "writers all events were in the file after", whole)
    before = in_file(m, "counts", tallies)
    tallies.append(write(m, len(tallies), FEW))
    check(in_file(m, "counts", tallies) == before, "buffers that are not full were written")
    for name in whole:
        told = json.loads(m.tool("query", name, "--json").stdout)
        check(told["flush_threshold"] == 3, told)
    m.shutdown()
    for name in whole:
        got = m.verify(os.path.join(m.logs, name + ".etl"), tallies)
        check(got["events"] == MANY * (len(tallies) - 1) + FEW and got["torn"] == got["doubled"] == got["damage"] == 0, got)
