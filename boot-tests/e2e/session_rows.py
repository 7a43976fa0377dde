"""What sessions are, row by row: modes as StartTrace takes them, sizes and buffers, clocks, what is too large, who writes to the disk and who does
not, how many there may be, and the experiment of a first trace.
Proves: COR-05, COR-08, COR-11, COR-16, SES-08, SES-09, SES-10, SES-11, SES-12, SES-15, SES-17, SPC-10, SPC-11, SEC-12; the number of sessions."""
import json
import os
import signal
import struct
import subprocess
import time

if os.path.isdir("/dev/shm"):  # each file that begins is synced: some hundred here
    os.environ["TMPDIR"] = "/dev/shm"
from harness import BUILD, Machine, check

PROVIDER = "{5ca1ab1e-7e57-0001-8000-000000000001}"
ETL_HEADER = 72


def tally(path):
    with open(path, "rb") as f:
        return struct.unpack("<QQQ", f.read(24))


def query(m, name):
    return json.loads(m.tool("query", name, "--json").stdout)


def stop(m, name):
    return json.loads(m.tool("stop", name, "--json").stdout)


def by_programs(m):
    """COR-08, COR-11: provider, controller and consumer in one process; the table of modes; all places taken at once. SES-11, SES-12: larger than the
    buffer is 234 and counted, 64 KB and more is 534."""
    r = subprocess.run([os.path.join(BUILD, "tests", "trace_modes")], env=m.env, capture_output=True, text=True, timeout=120)
    print(r.stdout.strip(), r.stderr.strip())
    check(r.returncode == 0, "trace_modes")


def who_has_the_places():
    """EtwMaxLoggers, also over the daemon's death; the error names the sessions."""
    with Machine("[HKLM/SYSTEM/CurrentControlSet/Control/WMI]\nEtwMaxLoggers = 32\n") as m:
        m.start()
        for i in range(32):
            if i == 16:
                os.kill(m.daemon_pid(), signal.SIGKILL)
                m.wait_ready()
            m.tool("start", f"busy-{i}", "--set", "LogFileMode=REAL_TIME", "--set", "MaximumBuffers=2", "--set", "BufferSize=4KB")
        r = m.tool("start", "more", "-o", "more.etl", expect=None)
        check(r.returncode and "all 32 places" in r.stderr and "busy-0, busy-1" in r.stderr and "EtwMaxLoggers" in r.stderr and "1450" in r.stderr, r.stderr)
        m.tool("stop", "busy-7")
        m.tool("start", "more", "-o", "more.etl")
        m.shutdown()


def buffers(m):
    """SES-08: asked and given; SES-09: a burst is lost where there are few buffers, and kept where there are enough."""
    cpus = os.sysconf("SC_NPROCESSORS_CONF")
    m.tool("start", "small", "-o", "small.etl", "--provider", PROVIDER, "--set", "BufferSize=4KB", "--set", "MinimumBuffers=64", "--set",
           "MaximumBuffers=2")
    q = query(m, "small")
    check(q["maximum_buffers"] == q["minimum_buffers"] == max(64, 2 * cpus), "Maximum is never below Minimum", q)
    stop(m, "small")
    lost = {}
    for name, least, most in (("few", 2 * cpus, 2 * cpus), ("right", 1024, 1024)):
        m.tool("start", name, "-o", f"{name}.etl", "--provider", PROVIDER, "--set", "BufferSize=16KB", "--set", f"MinimumBuffers={least}", "--set",
               f"MaximumBuffers={most}")
        begin = time.time()
        p, t = m.writer(0 if name == "few" else 1, 20000, wait_ms=500)
        pid = m.daemon_pid()
        time.sleep(0.3)  # it has registered
        os.kill(pid, signal.SIGSTOP)  # nobody writes out: what is there must be enough
        time.sleep(0.7)
        os.kill(pid, signal.SIGCONT)
        check(p.wait(60) == 0, "writer")
        info = stop(m, name)
        attempted, _, refused = tally(t)
        lost[name] = info["events_lost"]
        check(info["events_written"] + lost[name] == attempted == 20000 and lost[name] == refused, name, info, tally(t))
        print(name, "buffers:", info["events_written"], "written", lost[name], "lost", f"{time.time() - begin:.1f} s")
    check(lost["right"] == 0, "the right minimum loses nothing:", lost)


def never_blocks(m):
    """COR-05: the thread that writes is stopped, and with it all of the daemon: who logs goes on, at once, with a loss or without."""
    m.tool("start", "slow", "-o", "slow.etl", "--provider", PROVIDER, "--set", "BufferSize=16KB", "--set", "MaximumBuffers=16", "--set", "MinimumBuffers=8")
    p, t = m.writer(2, 200000, wait_ms=700)
    time.sleep(0.5)  # it has registered
    pid = m.daemon_pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        check(p.wait(60) == 0, "a writer waited for a thread that is stopped")
    finally:
        os.kill(pid, signal.SIGCONT)
    info = stop(m, "slow")
    attempted, written, refused = tally(t)
    check(attempted == 200000 and info["events_written"] + info["events_lost"] == attempted and info["events_lost"] == refused > 0, info, tally(t))
    print("stopped daemon:", attempted, "attempted,", refused, "refused, none waited")


def file_of_buffers(m):
    """SES-10: BufferSize as given, buffers numbered as they were filled, one after the other."""
    m.tool("start", "order", "-o", "order.etl", "--provider", PROVIDER, "--set", "BufferSize=0x40", "--set", "MaximumBuffers=256")
    p, t = m.writer(3, 30000, rate=60000, enabled=True)
    p.wait(60)
    attempted, _, refused = tally(t)  # a busy machine's thread may come after the first buffers are full, before there are more
    check(attempted == 30000 and refused < 15000, "most has room", attempted, refused)
    end = time.time() + 20
    while True:
        m.tool("flush", "order")
        q = query(m, "order")  # what is free is counted at each look of the thread
        if q["events_written"] + refused == 30000 and q["number_of_buffers"] - q["free_buffers"] <= 1:
            break
        check(time.time() < end, "dirty buffers are written, then free", q)
    info = stop(m, "order")
    check(info["events_lost"] == refused, "lost is what the program was told", refused, info)
    path = os.path.join(m.logs, "order.etl")
    size = os.path.getsize(path)
    check(info["buffer_size"] == 64 if "buffer_size" in info else True, info)
    check(size % 65536 == 0 and size // 65536 == info["buffers_written"], "a file is its buffers:", size, info["buffers_written"])
    with open(path, "rb") as f:
        numbers = []
        for i in range(size // 65536):
            f.seek(i * 65536)
            head = f.read(ETL_HEADER)
            check(struct.unpack_from("<I", head, 0)[0] == 65536, "BufferSize in a buffer's header")
            numbers.append(struct.unpack_from("<Q", head, 24)[0])
    check(numbers == sorted(numbers) and len(set(numbers)) == len(numbers), "buffers are written first in, first out", numbers[:8])


def no_file_no_writes(m):
    """COR-16: a ring keeps the newest, what it overwrites is not lost, and nobody writes to the disk. It has a thread (docs/DIFFERENCES.md)."""
    m.tool("start", "ring", "--provider", PROVIDER, "--set", "LogFileMode=BUFFERING", "--set", "BufferSize=64KB", "--set", "MinimumBuffers=16")
    p, t = m.writer(4, 60000, rate=60000, enabled=True)
    p.wait(60)
    check(query(m, "ring")["log_path"] == "", "no file")
    info = stop(m, "ring")
    attempted, _, refused = tally(t)
    check(info["events_written"] + info["events_lost"] == attempted == 60000 and info["events_lost"] == refused, info, refused)
    check(info["overwritten"] == info["events_written"] > 0, "what is overwritten is not lost", info)
    check(not any("ring" in f for f in os.listdir(m.logs)), "a file was made")


def clocks(m):
    """SES-15, SES-17: system time is FILETIME in the file; no ClockType is the performance counter."""
    for name, args, clock in (("c0", (), 1), ("c2", ("--set", "ClockType=SystemTime"), 2), ("c1", ("--set", "ClockType=QPC"), 1)):
        m.tool("start", name, "-o", f"{name}.etl", "--provider", "Contoso-Web", *args)
        m.tool("write", "Contoso-Web", "Tick")
        now = time.time()
        stop(m, name)
        path = os.path.join(m.logs, f"{name}.etl")
        with open(path, "rb") as f:
            head = f.read(65536)
        # TRACE_LOGFILE_HEADER behind the buffer's header and the event's (32 bytes): ReservedFlags at 272
        check(struct.unpack_from("<I", head, ETL_HEADER + 32 + 272)[0] == clock, name, "ReservedFlags")
        events = [json.loads(line) for line in m.tool("dump", path, "--json").stdout.splitlines()]
        tick = [e for e in events if "Tick" in json.dumps(e)]
        check(len(tick) == 1, name, events)
        if clock == 2:
            raw = [struct.unpack_from("<Q", head, at)[0] for at in range(0, len(head) - 8, 8)]
            wanted = int((now + 11644473600) * 1e7)
            check(any(abs(v - wanted) < 50000000 for v in raw), "no time stamp is a FILETIME of now")


def first_trace(m):
    """SPC-10, SPC-11: start, run programs, each with a provider of its own, stop, decode."""
    m.tool("start", "paint", "-o", "paint.etl", "--provider", "Contoso-Paint", "--provider", "Contoso-Brush")
    m.tool("write", "Contoso-Paint", "Open", "file=picture.png")
    m.tool("write", "Contoso-Brush", "Stroke", "length=12")
    m.tool("write", "Contoso-Paint", "Save")
    stop(m, "paint")
    text = m.tool("dump", os.path.join(m.logs, "paint.etl")).stdout
    order = [text.find(w) for w in ("Contoso-Paint/Open", "Contoso-Brush/Stroke", "Contoso-Paint/Save")]
    check(order == sorted(order) and order[0] > 0, text)


who_has_the_places()
with Machine() as m:
    m.start()
    for part in (by_programs, buffers, never_blocks, file_of_buffers, no_file_no_writes, clocks, first_trace):
        begin = time.time()
        part(m)
        print(f"{part.__name__}: {time.time() - begin:.1f} s")
    m.shutdown()
