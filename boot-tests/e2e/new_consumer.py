"""A new consumer of a real-time session gets earlier events at once, though the session's FlushTimer is an hour and no buffer is full; so does a
second one, while the first reads. A buffer never claims to hold more than its size.
D-11. Proves: LGT-03."""
import os
import subprocess
import time

from harness import BUILD, Machine, check

DECLARED = """[Autologger/live]
BufferSize = 64 KB
MinimumBuffers = 16
MaximumBuffers = 64
LogFileMode = REAL_TIME
FlushTimer = 3600
[Autologger/live/numbered]
Guid = {5ca1ab1e-7e57-0001-8000-000000000001}
"""
SECONDS = 10  # without a flush the events would come after an hour


class Consumer:
    def __init__(self, machine, number):
        self.path = os.path.join(machine.dir, f"consumer-{number}")
        with open(self.path, "w") as f:
            self.p = subprocess.Popen([os.path.join(BUILD, "tests", "trace_consumer"), "live"], env=machine.env, stdout=f)
        machine.processes.append(self.p)

    def numbers(self, writer):
        with open(self.path) as f:
            rows = [line.split() for line in f.read().split("\n")[:-1]]  # the last line may be incomplete
        check(not [r for r in rows if r[0] in ("overfull", "late", "torn", "lost", "error")], "the consumer says", rows[:5])
        return [int(r[1]) for r in rows if r[0] == str(writer)]

    def wait_for(self, writer, count):
        begin = time.time()
        while len(self.numbers(writer)) < count:
            check(time.time() < begin + SECONDS, len(self.numbers(writer)), "of", count, "events came within", SECONDS, "s")
            time.sleep(0.05)
        check(self.numbers(writer) == list(range(count)), "they are not those that were written")


def write(machine, number, count):
    p, _ = machine.writer(number, count, enabled=True)
    check(p.wait(60) == 0, "the writer ended with", p.returncode)


with Machine(DECLARED) as m:
    m.start()
    write(m, 0, 1000)
    first = Consumer(m, 0)
    first.wait_for(0, 1000)
    write(m, 1, 10)
    second = Consumer(m, 1)
    first.wait_for(1, 10)  # the flush is for all consumers
    write(m, 2, 5000)      # several buffers, of several processors: a window of them
    m.tool("flush", "live")
    for consumer in (first, second):
        consumer.wait_for(2, 5000)
    m.shutdown()
